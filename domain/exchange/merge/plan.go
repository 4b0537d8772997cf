package merge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Plan says which records a merge moves, or has moved.
type Plan struct {
	ID        id.ID          `json:"id" doc:"The record that goes into the other."`
	IntoID    id.ID          `json:"intoId" doc:"The record that stays."`
	PlanHash  string         `json:"planHash" doc:"Changes with everything that decides about the merge."`
	Moves     []Move         `json:"moves" doc:"How many records name the one that goes, by kind; kinds without any are left out."`
	BlockedBy *apierr.Reason `json:"blockedBy" doc:"Why the merge is refused; null when it can be done."`
	Applied   bool           `json:"applied" doc:"False in a dry run."`

	hash string // over the rows to change, without the records that block the plan
}

// Move counts the records of a kind that a merge moves.
type Move struct {
	Kind        kind  `json:"kind"`
	Count       int64 `json:"count" doc:"Records, or lines of them, that name the one that goes."`
	LockedCount int64 `json:"lockedCount" doc:"Those that must not move, 0 or the merge is refused; of journalEntries the journals with such entries."`
}

// newPlan counts the rows that a merge moves, by kind, and hashes them together with all rows that must not change
// until then. Locked rows are not counted yet.
func newPlan(ctx context.Context, tx *db.Tx, all []rows, in *input) (*Plan, error) {
	type found struct {
		Kind  kind
		Place int64
		Count int64
		Hash  string
	}

	parts := make([]string, 0, len(all))
	for i := range all {
		parts = append(parts, all[i].sql(i))
	}

	// One round trip for all tables.
	list, err := db.Select[found](ctx, tx, strings.Join(parts, "\nunion all\n")+"\norder by place",
		db.Args{"team": tx.Team, "id": in.ID, "into": in.Body.IntoID})
	if err != nil {
		return nil, fmt.Errorf("plan a merge: %w", err)
	}

	p := &Plan{ID: in.ID, IntoID: in.Body.IntoID, Moves: []Move{}}

	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, in.ID, in.Body.IntoID)

	// Several tables can have rows of one kind.
	for _, f := range list {
		_, _ = fmt.Fprintln(sum, f.Place, f.Count, f.Hash)

		if f.Count == 0 || f.Kind == "" {
			continue
		}

		if at := p.find(f.Kind); at != nil {
			at.Count += f.Count
			continue
		}

		p.Moves = append(p.Moves, Move{Kind: f.Kind, Count: f.Count})
	}

	p.hash = hex.EncodeToString(sum.Sum(nil))

	return p, nil
}

// find returns the move of a kind, nil if no record of the kind moves.
func (p *Plan) find(k kind) *Move {
	if at := slices.IndexFunc(p.Moves, func(m Move) bool { return m.Kind == k }); at >= 0 {
		return &p.Moves[at]
	}

	return nil
}

// count returns how many records of a kind move.
func (p *Plan) count(k kind) int64 {
	if m := p.find(k); m != nil {
		return m.Count
	}

	return 0
}

// hold notes how many records of a kind must not move, and why. The first reason blocks the plan.
func (p *Plan) hold(k kind, many int64, why apierr.Reason) {
	if many == 0 {
		return
	}

	if m := p.find(k); m != nil {
		m.LockedCount = max(m.LockedCount, many)
	}

	if p.BlockedBy == nil {
		p.BlockedBy = &why
	}
}

// holdRecords blocks the plan if statements were made for the listing, whatever is in them, or if imports of
// statements wait.
func (p *Plan) holdRecords() {
	p.hold(kindStatements, p.count(kindStatements), apierr.ReasonStatementAttachment)
	p.hold(kindImports, p.count(kindImports), apierr.ReasonHistoricalImportPending)
}

// holdEntries blocks the plan if statements or closed books hold journals.
func (p *Plan) holdEntries(held ledger.Held) {
	p.hold(kindEntries, held.Attached, apierr.ReasonStatementAttachment)
	p.hold(kindEntries, held.Closed, apierr.ReasonBooksClosed)
	p.hold(kindEntries, held.Sources, apierr.ReasonBooksClosed)
}

// seal sets the hash of the plan, including the records that block it.
func (p *Plan) seal() {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, p.hash)

	for _, m := range p.Moves {
		_, _ = fmt.Fprintln(sum, m.Kind, m.Count, m.LockedCount)
	}

	p.PlanHash = hex.EncodeToString(sum.Sum(nil))
}

// check refuses a merge without a plan, with a changed plan, or with a blocked plan.
func (p *Plan) check(in *input) error {
	switch {
	case in.Body.PlanHash == nil:
		return errDryRunRequired
	case *in.Body.PlanHash != p.PlanHash:
		return errPlanChanged
	}

	return p.refusal()
}

// refusal returns the error of a blocked plan, nil otherwise.
func (p *Plan) refusal() error {
	if p.BlockedBy == nil {
		return nil
	}

	// The errors of the reasons are declared where the locks are.
	for _, refusal := range (apierr.List{ledger.MoveRefusals, statement.ErrImporting}).Conditions() {
		if refusal.Reason() == *p.BlockedBy {
			return refusal.With(map[string]any{"moves": p.Moves})
		}
	}

	return nil
}

// carryOut runs the merge. A dry run needs no hash: it returns a blocked plan, and tries any other plan so that it
// fails like the merge would.
func (p *Plan) carryOut(tx *db.Tx, in *input, do func() error) (*Plan, error) {
	p.seal()

	isDry := tx.IsDryRun()
	if isDry && p.BlockedBy != nil {
		return p, nil
	}

	if !isDry {
		if err := p.check(in); err != nil {
			return nil, err
		}
	}

	p.Applied = !isDry

	return p, do()
}
