package match

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/bank"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// How much Find looks at: open records of the accounts around those that are asked for, since each of them is a rival,
// and transactions that no record has.
const (
	maxRivals     = 30_000
	maxCandidates = 20_000
)

// Find returns the answers for open records within the usual bounds, from the books and records of the team. If
// rivals or candidates were left out, no answer is Unique or None.
func Find(ctx context.Context, tx *db.Tx, open []bank.Open) (map[id.ID]*Answer, error) {
	out := make(map[id.ID]*Answer, len(open))
	if len(open) == 0 {
		return out, nil
	}

	// Other open records can want the same transactions, so they are loaded too.
	near := daysAround(open, Usual().Reach())

	var (
		rivals                   []Record
		candidates               []Candidate
		cutRivals, cutCandidates bool
	)

	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			rivals, cutRivals, err = loadRivals(ctx, tx, open, near)
			return err
		},
		func(ctx context.Context, tx *db.Tx) (err error) {
			candidates, cutCandidates, err = loadCandidates(ctx, tx, near)
			return err
		})
	if err != nil {
		return nil, err
	}

	answers := Suggest(rivals, candidates, Usual())
	for i := range answers {
		a := &answers[i]
		if cutRivals || cutCandidates {
			a.markCut()
		}

		out[a.RecordID] = a
	}

	return out, nil
}

// markCut makes the answer less certain, because its search lacked rivals or candidates.
func (a *Answer) markCut() {
	if a.Result != Ambiguous {
		a.Result = Unknown
	}

	if !slices.Contains(a.Cut, CutCandidates) {
		a.Cut = append(a.Cut, CutCandidates)
	}
}

// IsExplained reports whether transactions match the record: one set of them, or one of several.
func (a *Answer) IsExplained() bool { return a != nil && len(a.Sets) > 0 }

// daysAround returns the accounts of records, and the days that are at most so far from one of them.
func daysAround(open []bank.Open, reach int) bank.Days {
	around := bank.Days{Range: day.Range{From: open[0].Date, To: open[0].Date}}
	for _, r := range open {
		if r.Date.Before(around.From) {
			around.From = r.Date
		}

		if r.Date.After(around.To) {
			around.To = r.Date
		}

		if !slices.Contains(around.Accounts, r.AccountID) {
			around.Accounts = append(around.Accounts, r.AccountID)
		}
	}

	around.From, around.To = around.From.AddDays(-reach), around.To.AddDays(reach+1)

	return around
}

// loadRivals loads the open records that can want the transactions of the given ones, these included, and reports
// whether it left any out.
func loadRivals(ctx context.Context, tx *db.Tx, asked []bank.Open, near bank.Days) ([]Record, bool, error) {
	reach := Usual().Reach()
	far := near
	far.From, far.To = near.From.AddDays(-reach), near.To.AddDays(reach)

	open, err := bank.ListOpen(ctx, tx, far, maxRivals+1)
	if err != nil {
		return nil, false, err
	}

	// One more than the bound was read, to see whether there are more.
	cut := len(open) > maxRivals
	open = open[:min(len(open), maxRivals)]

	// The records of the question take part even if they are beyond the bound.
	isThere := make(map[id.ID]bool, len(open))
	for _, r := range open {
		isThere[r.ID] = true
	}

	for _, r := range asked {
		if !isThere[r.ID] {
			open = append(open, r)
		}
	}

	records := make([]Record, len(open))
	for i, r := range open {
		records[i] = Record{
			ID:          r.ID,
			AccountID:   r.AccountID,
			Currency:    r.Currency,
			Date:        r.Date,
			Amount:      r.Amount,
			Description: r.Description,
		}
		if r.UniqueRef != nil {
			records[i].References = []string{*r.UniqueRef}
		}
	}

	return records, cut, nil
}

// loadCandidates loads the transactions and manual journals of some days that no record is reconciled with: with
// their texts, the stays that they pay for, and the channel of these. It reports whether it left any out.
func loadCandidates(ctx context.Context, tx *db.Tx, near bank.Days) ([]Candidate, bool, error) {
	movables, err := bank.ListMovables(ctx, tx, near, maxCandidates+1)
	if err != nil {
		return nil, false, err
	}

	cut := len(movables) > maxCandidates
	movables = movables[:min(len(movables), maxCandidates)]

	type described struct {
		ID         id.ID
		Text       string
		References []string
		Codes      []string
		Channel    string
	}

	ids := make([]id.ID, len(movables))
	for i := range movables {
		ids[i] = movables[i].TransactionID
	}

	// The text is for ranking only; codes and references can be named by the bank. A transaction for stays of
	// several channels has none.
	rows, err := db.Select[described](ctx, tx, `
		select t.id, concat_ws(' ', t.description, c.name, s.guests) as text, array_remove(array[t.unique_ref], null) as "references",
			coalesce(s.codes, '{}') as codes, case when s.channels = 1 then s.channel else '' end as channel
		from transaction t left join contact c on c.team_id = t.team_id and c.id = t.contact_id
		cross join lateral (
			select string_agg(r.guest_name, ' ') as guests, array_agg(r.confirmation_code) filter (where r.confirmation_code is not null) as codes,
				count(distinct coalesce(r.booking_platform, '')) as channels, coalesce(min(r.booking_platform), '') as channel
			from transaction_line l join reservation r on r.team_id = l.team_id and r.id = l.reservation_id
			where l.team_id = t.team_id and l.transaction_id = t.id) s
		where t.team_id = @team and t.id = any(@ids)
		union all
		select j.id, coalesce(j.description, ''), array_remove(array[j.unique_ref], null), '{}', '' from journal j where j.team_id = @team and j.id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, false, fmt.Errorf("describe transactions: %w", err)
	}

	by := make(map[id.ID]*described, len(rows))
	for i := range rows {
		by[rows[i].ID] = &rows[i]
	}

	// Keep the order in which the amounts were read.
	out := make([]Candidate, 0, len(movables))
	for _, m := range movables {
		if d := by[m.TransactionID]; d != nil {
			out = append(out, Candidate{
				TransactionID: m.TransactionID,
				AccountID:     m.AccountID,
				Currency:      m.Currency,
				Date:          m.Date,
				Amount:        m.Cents,
				Text:          d.Text,
				References:    d.References,
				Codes:         d.Codes,
				Channel:       d.Channel,
			})
		}
	}

	return out, cut, nil
}
