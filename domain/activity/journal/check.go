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

// terms are the team's settings that hold for every journal.
type terms struct {
	DefaultCurrency  string
	StatementStartAt *day.Day
}

// loadTerms loads the team's settings.
func loadTerms(ctx context.Context, tx *db.Tx) (*terms, error) {
	t, err := db.Get[terms](ctx, tx, `select default_currency, statement_start_at from team where id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	return &t, nil
}

// checkTerms fills a draft from the team's settings and checks it against them. The argument old is the stored journal,
// nil for a new one.
func (t *terms) checkTerms(j, old *Journal) error {
	// A journal without a currency is in the team's.
	if j.Currency == "" {
		j.Currency = t.DefaultCurrency
	}

	currency, err := money.ParseCurrency(j.Currency)
	if errors.Is(err, money.ErrCurrency) {
		return apierr.BadRequest.At(apierr.IssueCurrency.InBody("currency"))
	}

	j.Currency = string(currency)

	// A date that is stored already may stay, even if the start date was moved past it.
	if t.StatementStartAt != nil && j.Date.Before(*t.StatementStartAt) && (old == nil || old.Date != j.Date) {
		return transaction.ErrBeforeStart.At(apierr.IssueBeforeStatementStartDate.InBody("date")).
			With(map[string]any{"statementStartAt": t.StatementStartAt})
	}

	return j.settle()
}

// references has the records that journals name, as far as the team has them.
type references struct {
	accounts     map[id.ID]accountFact
	assigned     map[account.Assignment]id.ID
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

// accountFact has the facts about an account that decide whether it may be posted to.
type accountFact struct {
	ID              id.ID
	Type            account.Type
	Status          account.Status
	Classification  account.Classification
	BankingCategory *string
	// Currency of a bank account; other accounts take any.
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

// load loads the records that journals name, except listings.
func (n *references) load(ctx context.Context, tx *db.Tx, journals []*Journal) error {
	var accounts, contacts, reservations []id.ID

	for _, j := range journals {
		for i := range j.Lines {
			l := &j.Lines[i]
			accounts, contacts = append(accounts, l.AccountID), append(contacts, ptr.Value(l.ContactID))
			reservations = append(reservations, ptr.Value(l.ReservationID))
		}
	}

	// Absent references are zero ids here; they match no record.
	var (
		chart []accountFact
		rows  []namedRow
	)

	err := tx.Together(ctx, db.LoadBy(&chart, loadAccountFacts, accounts), db.Load(&n.assigned, account.LoadAssigned),
		func(ctx context.Context, tx *db.Tx) (err error) {
			rows, err = db.Select[namedRow](ctx, tx, `
				select 'contact' as kind, id, null::uuid as listing, '' as currency from contact where team_id = @team and id = any(@contacts)
				union all select 'reservation', id, listing_id, currency from reservation where team_id = @team and id = any(@reservations)`,
				db.Args{"team": tx.Team, "contacts": contacts, "reservations": reservations})

			return err
		})
	if err != nil {
		return fmt.Errorf("read what journals name: %w", err)
	}

	n.accounts, n.contacts = map[id.ID]accountFact{}, map[id.ID]bool{}
	n.reservations, n.currencies = map[id.ID]id.ID{}, map[id.ID]string{}

	for _, a := range chart {
		n.accounts[a.ID] = a
	}

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

// loadAccountFacts loads the facts about accounts.
func loadAccountFacts(ctx context.Context, tx *db.Tx, ids []id.ID) ([]accountFact, error) {
	// A bank account without a currency of its own is in the team's.
	return db.Select[accountFact](ctx, tx, `
		select a.id, a.type, a.status, c.classification, a.banking_category, coalesce(a.banking_currency, k.default_currency) as currency
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id join team k on k.team_id = a.team_id
		where a.team_id = @team and a.id = any(@accounts)`, db.Args{"team": tx.Team, "accounts": ids})
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
		a := n.accounts[l.AccountID]
		refuse(a.Type == account.TypeNonPosting, "accountId", apierr.IssueNonPostingAccount)
		refuse(a.Status == account.Inactive && !kept[a.ID], "accountId", apierr.IssueAccountInactive)
		refuse(a.isForeignBank(j.Ledger), "accountId", apierr.IssueLedgerMismatch)
		refuse(
			a.Type == account.TypeBank && a.Currency != j.Currency && (!sameMoney || !kept[a.ID]),
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
		_, chart := n.accounts[l.AccountID]
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
	return slices.ContainsFunc(parts, func(a account.Assignment) bool { return n.assigned[a] == accountID })
}

// isForeignBank reports whether this is a bank account with money of the other ledger. Posting to it would make the
// ledger differ from the balances of its banks.
func (a accountFact) isForeignBank(in Books) bool {
	return a.BankingCategory != nil && (*a.BankingCategory == "operating") != (in == Books(ledger.Operating))
}

// setParty sets the party of a line if the caller does not. Income, cost and payouts always belong to a party: the
// owners if the line has a listing, else the manager.
func (n *references) setParty(l *Line) {
	class := n.accounts[l.AccountID].Classification

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
