package cutover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// mostCompared is the largest number of reservations and transactions for which a preview tries the cutover out.
const mostCompared = 5000

// mostNamed is the largest number of reservations listed for a change.
const mostNamed = 100

// JournalChange is how a cutover changes an account in a month. Amounts are debits; credits are negative.
type JournalChange struct {
	AccountID        id.ID           `json:"accountId"`
	AccountName      string          `json:"accountName"`
	AccountCode      *string         `json:"accountCode" doc:"Its number in the chart."`
	Currency         string          `json:"currency"`
	Month            day.Month       `json:"month"`
	Before           money.Cents     `json:"before" doc:"Sum of the entries of all that the cutover touches, before it; credits are negative."`
	After            money.Cents     `json:"after" doc:"Their sum after it."`
	ReservationCount int64           `json:"reservationCount" doc:"Reservations with another sum."`
	Reservations     []StayOfJournal `json:"reservations" doc:"At most 100 of them, the largest differences first."`

	order string // the code of the account
}

// StayOfJournal is the share of a reservation in such a change.
type StayOfJournal struct {
	ReservationID *id.ID      `json:"reservationId" doc:"null for entries that name no reservation."`
	Before        money.Cents `json:"before"`
	After         money.Cents `json:"after"`
}

// errTriedOut undoes the trial of a cutover.
var errTriedOut = errors.New("a cutover was tried out")

// compareBooks tries a cutover out, derives all affected journals, returns how the books then differ, and undoes it
// all. It returns nil for a blocked cutover, and for more than mostCompared reservations and transactions.
func (m *Movers) compareBooks(ctx context.Context, tx *db.Tx, p *plan) (*[]JournalChange, error) {
	from, _ := p.moves(nil)
	old, _ := p.relinks()

	touched, err := transaction.ListByPlace(ctx, tx, from, old)
	if err != nil {
		return nil, err
	}

	stays := p.listOutdated()
	if p.isBlocked() || len(stays)+len(touched) > mostCompared {
		return nil, nil //nolint:nilnil // Nothing is compared.
	}

	sources := slices.Concat(stays, touched)

	// Sum the books, carry the cutover out, derive the journals, and sum again.
	before, err := ledger.SumMonths(ctx, tx, sources)
	if err != nil {
		return nil, err
	}

	var after map[ledger.MonthKey]money.Cents

	err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := m.carryOut(ctx, tx, p); err != nil {
			return err
		}

		// Transactions come first, in the order of locks.
		for _, book := range []struct {
			source *ledger.Source
			ids    []id.ID
		}{{transaction.Source(), touched}, {reservation.Source(), stays}} {
			if _, err := book.source.Book(ctx, tx, book.ids, ledger.Lenience{SkipLocked: true}); err != nil {
				return err
			}
		}

		if after, err = ledger.SumMonths(ctx, tx, sources); err != nil {
			return err
		}

		return errTriedOut
	})
	if !errors.Is(err, errTriedOut) {
		return nil, err
	}

	return listChanges(ctx, tx, before, after)
}

// listChanges returns the accounts, currencies and months in which the sum of a reservation, or of the entries
// without one, differs, even if the total does not. Rows are sorted by the code of the account; each names its 100
// largest differences.
func listChanges(
	ctx context.Context, tx *db.Tx,
	before, after map[ledger.MonthKey]money.Cents,
) (*[]JournalChange, error) {
	found := map[ledger.MonthKey]*JournalChange{}

	// Group the sums of all reservations by account, currency and month.
	all := maps.Clone(before)
	maps.Copy(all, after)

	for k := range all {
		of := k
		of.ReservationID = id.ID{}

		c := found[of]
		if c == nil {
			c = &JournalChange{AccountID: k.AccountID, Currency: k.Currency, Month: k.Month.Month()}
			found[of] = c
		}

		c.Before, c.After = c.Before+before[k], c.After+after[k]
		if before[k] != after[k] {
			c.Reservations = append(c.Reservations, StayOfJournal{k.ReservationID.OrNil(), before[k], after[k]})
		}
	}

	// Groups without a difference are no changes.
	maps.DeleteFunc(found, func(_ ledger.MonthKey, c *JournalChange) bool { return c.Reservations == nil })

	if err := nameAccounts(ctx, tx, found); err != nil {
		return nil, err
	}

	out := make([]JournalChange, 0, len(found))
	for _, c := range found {
		c.countAndTrim()
		out = append(out, *c)
	}

	slices.SortFunc(out, func(a, b JournalChange) int {
		return cmp.Or(cmp.Compare(a.order, b.order), a.AccountID.Compare(b.AccountID),
			cmp.Compare(a.Currency, b.Currency), a.Month.First().Compare(b.Month.First()))
	})

	return &out, nil
}

// countAndTrim counts the reservations of a change, and keeps the largest differences only.
func (c *JournalChange) countAndTrim() {
	for i := range c.Reservations {
		if c.Reservations[i].ReservationID != nil {
			c.ReservationCount++
		}
	}

	slices.SortFunc(c.Reservations, func(a, b StayOfJournal) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.name(), b.name()))
	})

	c.Reservations = c.Reservations[:min(len(c.Reservations), mostNamed)]
}

// size returns the distance between both sums.
func (s *StayOfJournal) size() money.Cents { return max(s.After-s.Before, s.Before-s.After) }

// name returns the id of the reservation as text, "" without one.
func (s *StayOfJournal) name() string {
	if s.ReservationID == nil {
		return ""
	}

	return s.ReservationID.String()
}

// nameAccounts sets the names and codes of the changed accounts.
func nameAccounts(ctx context.Context, tx *db.Tx, changes map[ledger.MonthKey]*JournalChange) error {
	type row struct {
		ID   id.ID
		Name string
		Code *string
	}

	var accounts []id.ID
	for k := range changes {
		accounts = append(accounts, k.AccountID)
	}

	rows, err := db.Select[row](ctx, tx, `select id, name, code from account where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": id.Distinct(accounts)})
	if err != nil {
		return fmt.Errorf("read the accounts that a cutover changes: %w", err)
	}

	names := map[id.ID]*row{}
	for i := range rows {
		names[rows[i].ID] = &rows[i]
	}

	for _, c := range changes {
		a := names[c.AccountID]
		if c.AccountName, c.AccountCode = a.Name, a.Code; a.Code != nil {
			c.order = *a.Code
		}
	}

	return nil
}
