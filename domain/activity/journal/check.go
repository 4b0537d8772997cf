package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// checkTerms fills a draft from the team's settings and checks it against them. The argument old is the stored journal,
// nil for a new one.
func checkTerms(books *account.Books, j, old *Journal) error {
	// A journal without a currency is in the team's.
	if j.Currency == "" {
		j.Currency = books.DefaultCurrency
	}

	currency, err := money.ParseCurrency(j.Currency)
	if errors.Is(err, money.ErrCurrency) {
		return apierr.BadRequest.At(apierr.IssueCurrency.InBody("currency"))
	}

	j.Currency = string(currency)

	// A date that is stored already may stay, even if the start date was moved past it.
	if books.StatementStartAt != nil && j.Date.Before(*books.StatementStartAt) && (old == nil || old.Date != j.Date) {
		return transaction.ErrBeforeStart.At(apierr.IssueBeforeStatementStartDate.InBody("date")).
			With(map[string]any{"statementStartAt": books.StatementStartAt})
	}

	return j.settle()
}

// references has the records that journals name, as far as the team has them.
type references struct {
	books        *account.Books
	contacts     map[id.ID]bool
	reservations map[id.ID]id.ID  // the listing of each
	currencies   map[id.ID]string // of reservations
	periods      map[id.ID][]listing.Period
}

type namedRow struct {
	Kind     string
	ID       id.ID
	Listing  id.ID
	Currency string
}

// loadReferences loads the records that journals name, listings included.
func loadReferences(ctx context.Context, tx *db.Tx, journals []*Journal) (*references, error) {
	n := &references{}
	if err := n.load(ctx, tx, journals); err != nil {
		return nil, err
	}

	return n, n.loadListings(ctx, tx, journals)
}

// load loads the books and the records that journals name, except listings.
func (n *references) load(ctx context.Context, tx *db.Tx, journals []*Journal) error {
	contacts, reservations := []id.ID{}, []id.ID{}

	for _, j := range journals {
		for i := range j.Lines {
			l := &j.Lines[i]
			if l.ContactID != nil {
				contacts = append(contacts, *l.ContactID)
			}

			if l.ReservationID != nil {
				reservations = append(reservations, *l.ReservationID)
			}
		}
	}

	var rows []namedRow

	err := tx.Together(ctx, db.Load(&n.books, account.LoadBooks), func(ctx context.Context, tx *db.Tx) (err error) {
		if len(contacts)+len(reservations) == 0 {
			return nil
		}

		rows, err = db.Select[namedRow](ctx, tx, `
			select 'contact' as kind, id, null::uuid as listing, '' as currency from contact where team_id = @team and id = any(@contacts)
			union all select 'reservation', id, listing_id, currency from reservation where team_id = @team and id = any(@reservations)`,
			db.Args{"team": tx.Team, "contacts": contacts, "reservations": reservations})

		return err
	})
	if err != nil {
		return fmt.Errorf("read what journals name: %w", err)
	}

	n.contacts, n.reservations, n.currencies = map[id.ID]bool{}, map[id.ID]id.ID{}, map[id.ID]string{}

	// Contacts have no facts but that they exist.
	for _, r := range rows {
		if r.Kind == "contact" {
			n.contacts[r.ID] = true
		} else {
			n.reservations[r.ID], n.currencies[r.ID] = r.Listing, r.Currency
		}
	}

	return nil
}

// loadListings gives lines the listings of their reservations and loads the ownership periods of all listings.
func (n *references) loadListings(ctx context.Context, tx *db.Tx, journals []*Journal) error {
	ids := []id.ID{}

	for _, j := range journals {
		for i := range j.Lines {
			l := &j.Lines[i]
			if place := n.reservations[ptr.Value(l.ReservationID)]; l.ListingID == nil && !place.IsZero() {
				l.ListingID = &place
			}

			if l.ListingID != nil {
				ids = append(ids, *l.ListingID)
			}
		}
	}

	n.periods = map[id.ID][]listing.Period{}

	if len(ids) == 0 {
		return nil
	}

	// A change of ownership locks its listing: it either commits before the periods are read here, or waits and derives
	// the journals written here again.
	hold := func(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
		return db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@ids) order by id for key share`,
			db.Args{"team": tx.Team, "ids": ids})
	}

	var (
		found   []id.ID
		periods map[id.ID][]listing.Period
	)
	if err := tx.Together(ctx, db.LoadBy(&found, hold, ids), db.LoadBy(&periods, listing.Periods, ids)); err != nil {
		return fmt.Errorf("read listings and their ownership periods: %w", err)
	}

	// Only listings of the team count as known.
	for _, l := range found {
		n.periods[l] = periods[l]
	}

	return nil
}

// check checks a draft against the records that it names and sets the parties of its lines. Accounts that the
// stored journal posts to already, and reservations that it names, may stay in whatever state they are now. So may
// a listing that a reservation has left since.
func (j *Journal) check(n *references, old *Journal) error {
	if issues := j.unknownReferences(n); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	// First note what the stored journal, or the original of a reversal, has already.
	kept := map[id.ID]bool{}
	sameMoney := old != nil && old.Currency == j.Currency
	placed := map[[2]id.ID]bool{} // reservation and listing

	if old != nil {
		for i := range old.Lines {
			kept[old.Lines[i].AccountID] = true

			placed[[2]id.ID{ptr.Value(old.Lines[i].ReservationID), ptr.Value(old.Lines[i].ListingID)}] = true
			if sameMoney {
				kept[ptr.Value(old.Lines[i].ReservationID)] = true
			}
		}
	}

	// Then check the lines, and collect the issues of all of them.
	var issues []apierr.Issue

	for i := range j.Lines {
		l := &j.Lines[i]
		refuse := func(wrong bool, field string, code apierr.IssueCode) {
			if wrong {
				issues = append(issues, code.InBody("lines", i, field))
			}
		}
		a := n.books.Accounts[l.AccountID]
		refuse(a.Type == account.TypeNonPosting, "accountId", apierr.IssueNonPostingAccount)
		refuse(a.Status == account.Inactive && !kept[a.ID], "accountId", apierr.IssueAccountInactive)
		refuse(isForeignBank(a, j.Ledger), "accountId", apierr.IssueLedgerMismatch)
		refuse(
			a.Type == account.TypeBank && *a.Currency != j.Currency && (!sameMoney || !kept[a.ID]),
			"accountId", apierr.IssueCurrencyMismatch,
		)

		// A reservation has a listing, so a zero id here means that the line names none.
		place := n.reservations[ptr.Value(l.ReservationID)]
		refuse(
			!place.IsZero() && place != ptr.Value(l.ListingID) && !placed[[2]id.ID{*l.ReservationID, ptr.Value(l.ListingID)}],
			"listingId", apierr.IssueListingMismatch,
		)
		refuse(
			!place.IsZero() && n.currencies[*l.ReservationID] != j.Currency && !kept[*l.ReservationID],
			"reservationId", apierr.IssueCurrencyMismatch,
		)
		refuse(l.Party != nil && n.isAssigned(a.ID, noParty...), "party", apierr.IssuePartyNotSupported)

		// The party is settled before the checks that depend on it.
		n.setParty(l)

		refuse(l.OwnershipPeriodID != nil && n.periodAt(l, j.Date) == nil, "ownershipPeriodId", apierr.IssueNotFound)

		if ptr.Value(l.Party) == ledger.Owners {
			refuse(l.ListingID == nil, "listingId", apierr.IssueRequired)
			refuse(l.ListingID != nil && l.OwnershipPeriodID == nil && n.periodAt(l, j.Date) == nil, "listingId", apierr.IssueOwnershipPeriodMissing)
		}
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// unknownReferences returns an issue for each reference to a record that the team does not have.
func (j *Journal) unknownReferences(n *references) []apierr.Issue {
	var issues []apierr.Issue

	for i := range j.Lines {
		l := &j.Lines[i]
		_, chart := n.books.Accounts[l.AccountID]
		_, place := n.periods[ptr.Value(l.ListingID)]

		_, stay := n.reservations[ptr.Value(l.ReservationID)]

		// Every line has an account; the other references are optional.
		for _, r := range []struct {
			field        string
			given, known bool
		}{
			{"accountId", true, chart},
			{"listingId", l.ListingID != nil, place},
			{"reservationId", l.ReservationID != nil, stay},
			{"contactId", l.ContactID != nil, n.contacts[ptr.Value(l.ContactID)]},
		} {
			if r.given && !r.known {
				issues = append(issues, apierr.IssueNotFound.InBody("lines", i, r.field))
			}
		}
	}

	return issues
}

// isAssigned reports whether an account is the assigned account of one of some assignments.
func (n *references) isAssigned(accountID id.ID, parts ...account.Assignment) bool {
	return slices.ContainsFunc(parts, func(a account.Assignment) bool { return n.books.Assigned[a] == accountID })
}

// isForeignBank reports whether it is a bank account with money of the other ledger. Posting to it would make the
// ledger differ from the balances of its banks.
func isForeignBank(a account.Fact, in Books) bool {
	return a.BankingCategory != nil && (*a.BankingCategory == "operating") != (in == Books(ledger.Operating))
}

// setParty sets the party of a line if the caller does not. Income, cost and payouts always belong to a party: the
// owners if the line has a listing, else the manager.
func (n *references) setParty(l *Line) {
	class := n.books.Accounts[l.AccountID].Classification

	needsParty := class == account.Revenue || class == account.Expense ||
		n.isAssigned(l.AccountID, account.PayoutDistribution)
	if l.Party != nil || !needsParty {
		return
	}

	party := ledger.Manager
	if l.ListingID != nil {
		party = ledger.Owners
	}

	l.Party = &party
}

// periodAt returns the ownership period that a line names, else the one of its listing on a day, or nil.
func (n *references) periodAt(l *Line, at day.Day) *listing.Period {
	periods := n.periods[ptr.Value(l.ListingID)]
	if l.OwnershipPeriodID != nil {
		return listing.FindPeriod(periods, *l.OwnershipPeriodID)
	}

	return listing.Covering(periods, at)
}
