package historic

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// namedRecords holds the records that lines of statements name, as far as the team has them.
type namedRecords struct {
	accounts     map[id.ID]account.Classification // those that are posted to
	reservations map[id.ID]string                 // its currency
	contacts     map[id.ID]bool
}

// loadNames loads the records that lines name.
func loadNames(ctx context.Context, tx *db.Tx, all []*arrival) (*namedRecords, error) {
	type row struct {
		Kind  string
		ID    id.ID
		Class account.Classification
	}

	// First collect the ids: thousands of lines name a few records.
	wanted := map[string]map[id.ID]bool{"accounts": {}, "reservations": {}, "contacts": {}}
	note := func(kind string, v *id.ID) {
		if v != nil {
			wanted[kind][*v] = true
		}
	}

	for _, a := range all {
		for i := range a.Lines {
			note("accounts", a.Lines[i].AccountID)
			note("reservations", a.Lines[i].ReservationID)
			note("contacts", a.Lines[i].ContactID)
		}
	}

	args := db.Args{"team": tx.Team}

	for kind, set := range wanted {
		ids := make([]id.ID, 0, len(set))
		for v := range set {
			ids = append(ids, v)
		}

		args[kind] = ids
	}

	// Then load all kinds with one query. Accounts that nothing is posted to count as unknown.
	rows, err := db.Select[row](ctx, tx, `
		select 'account' as kind, a.id, c.classification as class from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
			where a.team_id = @team and a.id = any(@accounts) and a.type <> 'nonPosting'
		union all select 'reservation', id, currency from reservation where team_id = @team and id = any(@reservations)
		union all select 'contact', id, '' from contact where team_id = @team and id = any(@contacts)`, args)
	if err != nil {
		return nil, fmt.Errorf("read what imported lines name: %w", err)
	}

	// The column class holds the currency of a reservation.
	n := &namedRecords{
		accounts:     map[id.ID]account.Classification{},
		reservations: map[id.ID]string{},
		contacts:     map[id.ID]bool{},
	}

	for _, r := range rows {
		switch r.Kind {
		case "account":
			n.accounts[r.ID] = r.Class
		case "reservation":
			n.reservations[r.ID] = string(r.Class)
		default:
			n.contacts[r.ID] = true
		}
	}

	return n, nil
}

// check refuses lines that name records which the team does not have, and payouts to a contact who is no member of
// the statement's ownership period. Rules HST-18, HST-29, HST-41.
func (n *namedRecords) check(all []*arrival) error {
	var f findings

	for _, a := range all {
		for i := range a.Lines {
			l := &a.Lines[i]
			if l.AccountID != nil && n.accounts[*l.AccountID] == "" {
				f.add(apierr.IssueNotFound, a.path, "lines", i, "accountId")
			}

			// A reservation must be in the currency of the statement.
			if l.ReservationID != nil {
				switch n.reservations[*l.ReservationID] {
				case a.Currency:
				case "":
					f.add(apierr.IssueNotFound, a.path, "lines", i, "reservationId")
				default:
					f.add(apierr.IssueCurrencyMismatch, a.path, "lines", i, "reservationId")
				}
			}

			// Only a member of the ownership period can have been paid.
			switch {
			case l.ContactID == nil:
			case !n.contacts[*l.ContactID]:
				f.add(apierr.IssueNotFound, a.path, "lines", i, "contactId")
			case !a.hasMember(*l.ContactID):
				f.add(apierr.IssueNotMember, a.path, "lines", i, "contactId")
			}
		}
	}

	return f.err()
}

// hasMember reports whether a contact is a member of the statement's ownership period.
func (a *arrival) hasMember(contact id.ID) bool {
	return slices.ContainsFunc(a.period.Members, func(m listing.Member) bool { return m.ContactID == contact })
}

// addEntry adds the entry of a line. The entry's amount is the debit of its account.
func (a *arrival) addEntry(tx *db.Tx, e *ledger.Imported, l *Line, entry ledger.Line) {
	date := a.EndAt
	if l.Date != nil {
		date = *l.Date
	}

	entry.ReservationID, entry.Description = idOrZero(l.ReservationID), l.Description
	entry.ListingID, entry.OwnershipPeriodID = a.ListingID, a.period.ID
	e.Add(tx, ledger.Posting{SourceID: a.id, TxnCode: "historic:" + l.UniqueRef, TxnAt: date, Currency: a.Currency}, entry)
	a.entries++
}

// idOrZero returns the id, or the zero id for nil.
func idOrZero(v *id.ID) id.ID {
	if v == nil {
		return id.Zero
	}

	return *v
}

// deriveEntries adds the entries of a statement to e and adds up its figures. Revenue is a credit; money paid out is a
// debit, as on a live payout.
func (s *arrivals) deriveEntries(tx *db.Tx, a *arrival, names *namedRecords, e *ledger.Imported) {
	f := Financials{CentBalanceStart: a.CentBalanceStart}
	for i := range a.Lines {
		l := &a.Lines[i]
		if l.Type == payout {
			f.CentTransfer -= l.CentTotal
			s.derivePayout(tx, a, l, e)

			continue
		}

		// Lines are owner-facing, so their entries have the opposite sign.
		trigger := triggerFor(names.accounts[*l.AccountID], l.CentTotal)
		if trigger == statement.TriggerHistoricRevenue {
			f.CentNetRevenue += l.CentTotal
		} else {
			f.CentExpenses += l.CentTotal
		}

		a.addEntry(tx, e, l, ledger.Line{
			Ref:       "line",
			Trigger:   trigger,
			AccountID: *l.AccountID,
			CentTotal: -l.CentTotal,
		})
	}

	a.figures = f.complete(a.CentBalanceEnd)
}

// derivePayout adds one entry for the contact who was paid, or one for each member with a part of the amount. Rules
// HST-50, HST-51.
func (s *arrivals) derivePayout(tx *db.Tx, a *arrival, l *Line, e *ledger.Imported) {
	to := ledger.Line{Trigger: statement.TriggerHistoricPayout, AccountID: s.distribution}
	if l.ContactID != nil {
		to.Ref, to.ContactID, to.CentTotal = "payout", *l.ContactID, l.CentTotal
		a.addEntry(tx, e, l, to)

		return
	}

	// Without a contact the members share the payout by split.
	weights := make([]int64, len(a.period.Members))
	for i := range weights {
		weights[i] = a.period.Members[i].Split
	}

	for i, part := range money.Split(l.CentTotal, weights) {
		if part == 0 {
			continue
		}

		to.ContactID, to.CentTotal = a.period.Members[i].ContactID, part
		to.Ref = "member:" + to.ContactID.String()
		a.addEntry(tx, e, l, to)
	}
}

// chunkLines is the greatest number of lines that are written at once.
const chunkLines = 5_000

// splitByLines splits statements into portions of up to chunkLines lines, at least one statement each.
func splitByLines(all []*arrival, lines func(*arrival) int) [][]*arrival {
	var out [][]*arrival

	for len(all) > 0 {
		n, sum := 1, lines(all[0])
		for n < len(all) && sum+lines(all[n]) <= chunkLines {
			sum += lines(all[n])
			n++
		}

		out = append(out, all[:n])
		all = all[n:]
	}

	return out
}

// checkLines refuses lines that name records which the team does not have.
func (s *arrivals) checkLines(ctx context.Context, tx *db.Tx) error {
	for _, part := range splitByLines(s.all, func(a *arrival) int { return len(a.Lines) }) {
		names, err := loadNames(ctx, tx, part)
		if err != nil {
			return err
		}

		if err := names.check(part); err != nil {
			return err
		}
	}

	return nil
}

// savePlaced saves placed statements with their lines.
func (s *arrivals) savePlaced(ctx context.Context, tx *db.Tx, part []*arrival) error {
	names, err := loadNames(ctx, tx, part)
	if err != nil {
		return err
	}

	if err := names.check(part); err != nil {
		return err
	}

	// The entries of all statements are written together.
	var entries ledger.Imported
	for _, a := range part {
		s.deriveEntries(tx, a, names, &entries)
	}

	return saveAll(ctx, tx, part, &entries)
}

// render returns the result for a statement.
func (a *arrival) render() Statement {
	return Statement{
		ID:                a.id,
		UniqueRef:         a.UniqueRef,
		Status:            a.Status,
		Replaced:          a.replaces != nil,
		JournalEntryCount: a.entries,
		ListingID:         a.ListingID,
		OwnershipPeriodID: a.period.ID,
		StartAt:           a.StartAt,
		EndAt:             a.EndAt,
		Currency:          a.Currency,
		Financials:        a.figures,
	}
}
