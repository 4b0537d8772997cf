package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// contestAmounts asks a person about amounts if the target of a pair states other sums by line type than the source,
// which is in the books.
func contestAmounts(ctx context.Context, tx *db.Tx, targets []id.ID) error {
	if len(targets) == 0 {
		return nil
	}

	pairs, err := db.Select[Pair](ctx, tx, `
		select p.source_id, p.target_id from reservation_pair p join reservation s on s.team_id = @team and s.id = p.source_id and s.status <> 'inactive'
		where p.team_id = @team and p.target_id = any(@targets) and p.is_retired is false order by p.target_id`,
		db.Args{"team": tx.Team, "targets": targets})
	if err != nil {
		return fmt.Errorf("find the pairs of reservations with other amounts: %w", err)
	}

	if len(pairs) == 0 {
		return nil
	}

	sources, others := unzip(pairs)

	lines, err := loadLines(ctx, tx, append(sources, others...))
	if err != nil {
		return err
	}

	said := map[id.ID]intake.Values{}

	for _, p := range pairs {
		is, now := asSaid(lines[p.SourceID]), asSaid(lines[p.TargetID])
		if sameAmounts(is, now) {
			now = is
		}

		said[p.SourceID] = intake.Values{"lines": encode(now)}
	}

	kind := Intake()

	return intake.Contest(ctx, tx, &kind, said)
}

// saidLine is a line as another system says it.
type saidLine struct {
	Type        string      `json:"type"`
	Description *string     `json:"description,omitempty"`
	Amount      money.Cents `json:"amount"`
}

// asSaid returns lines as another system says them.
func asSaid(lines []Line) []saidLine {
	out := make([]saidLine, len(lines))
	for i := range lines {
		out[i] = saidLine{lines[i].Type, lines[i].Description, lines[i].Amount}
	}

	return out
}

// sameAmounts reports whether lines have the same sums by type.
func sameAmounts(a, b []saidLine) bool {
	sums := map[string]money.Cents{}
	for _, l := range a {
		sums[l.Type] += l.Amount
	}

	for _, l := range b {
		sums[l.Type] -= l.Amount
	}

	for _, sum := range sums {
		if sum != 0 {
			return false
		}
	}

	return true
}

// hasOtherAmounts reports whether a draft has other sums by type than the stored reservation.
func (d *draft) hasOtherAmounts() bool {
	return d.relined && !sameAmounts(asSaid(d.before.Lines), asSaid(d.Lines))
}
