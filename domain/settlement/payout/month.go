package payout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// unpaid says how the published statements of a month are open that a run would pay today, or would not because of a
// cause: the code and a sentence. What no one has to pay is not among them.
var unpaid = map[cause]struct{ code, message string }{
	"":                {"ownersUnpaid", "Owners are to be paid"},
	causeNotCollected: {"payoutsNotCollected", "Guests still owe what owners are to be paid"},
	causeNotReleased:  {"payoutsNotReleased", "What owners are to be paid is kept until the guests' stays"},
	causeArchive:      {"payoutsNotReceived", "Payouts are booked that did not arrive"},
	causeUnknown:      {"payoutsUnknown", "The provider does not answer for payouts"},
}

// findUnpaid returns what is left to pay on the published statements of the last month of the days, without what earlier
// ones left open, by currency and by what keeps it from being paid.
func findUnpaid(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]parts.Open, error) {
	last := before.AddDays(-1)

	statements, err := db.Select[id.ID](ctx, tx, `
		select id from statement where team_id = @team and status = 'published' and start_at = @month order by id`,
		db.Args{"team": tx.Team, "month": last.FirstOfMonth()})
	if err != nil {
		return nil, fmt.Errorf("find published statements: %w", err)
	}

	if len(statements) == 0 {
		return nil, nil
	}

	r := &Request{StatementIDs: statements}

	f, err := loadFacts(ctx, tx, r, false)
	if err != nil {
		return nil, err
	}

	// What earlier statements left open is open there and not here. Payments that are planned change it.
	earlier := map[id.ID]money.Cents{}
	for s, p := range f.found {
		earlier[s] = p.BroughtForward()
	}

	b := &book{facts: f, request: r, date: r.day(tx)}
	b.decide()

	return b.group(earlier), nil
}

// group returns what is left to pay by currency and by cause, less what earlier statements have left open.
func (b *book) group(earlier map[id.ID]money.Cents) []parts.Open {
	type kind struct {
		cause    cause
		currency string
	}

	type group struct {
		cents      money.Cents
		statements []id.ID
	}

	groups := map[kind]*group{}

	for _, p := range b.plans {
		if _, is := unpaid[p.cause]; !is {
			continue
		}

		cents := p.total()
		if p.cause != "" {
			cents = computeDue(p.of.Available, p.of.Remaining())
		}

		if cents = max(0, cents-earlier[p.id]); cents == 0 && p.cause == "" {
			continue
		}

		k := kind{p.cause, p.of.Currency}
		if groups[k] == nil {
			groups[k] = &group{}
		}

		groups[k].cents += cents
		groups[k].statements = append(groups[k].statements, p.id)
	}

	out := []parts.Open{}

	for k, g := range groups {
		of := unpaid[k.cause]
		out = append(out, parts.Open{
			Step: parts.OwnersPaid, Code: of.code, Severity: finding.Warning, Message: of.message,
			Count: int64(len(g.statements)), Currency: k.currency, Cents: g.cents,
			List:    parts.ListBy("/statements", "statementIds", g.statements),
			Context: map[string]any{"statementIds": parts.First(g.statements)},
		})
	}

	slices.SortFunc(out, func(a, b parts.Open) int {
		return cmp.Or(strings.Compare(a.Code, b.Code), strings.Compare(a.Currency, b.Currency))
	})

	return out
}
