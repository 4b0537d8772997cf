package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/trial"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// terms are what the team's settings say about every journal.
type terms struct {
	DefaultCurrency  string
	IsGeneralLedger  bool
	StatementStartAt *day.Day
}

func loadTerms(ctx context.Context, tx *db.Tx) (*terms, error) {
	t, err := db.Get[terms](ctx, tx, `select default_currency, is_general_ledger, statement_start_at from team where id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	return &t, nil
}

// hold fills a draft from the team's settings and holds it to them. What is stored is old, nil for a new journal.
func (t *terms) hold(j, old *Journal) error {
	if !t.IsGeneralLedger {
		return trial.ErrNoLedger
	}

	if j.Currency == "" {
		j.Currency = t.DefaultCurrency
	}

	currency, err := money.ParseCurrency(j.Currency)
	if errors.Is(err, money.ErrCurrency) {
		return apierr.BadRequest.At(apierr.IssueCurrency.InBody("currency"))
	}

	j.Currency = string(currency)
	if t.StatementStartAt != nil && j.Date.Before(*t.StatementStartAt) && (old == nil || old.Date != j.Date) {
		return transaction.ErrBeforeStart.At(apierr.IssueBeforeStatementStartDate.InBody("date")).
			With(map[string]any{"statementStartAt": t.StatementStartAt})
	}

	return j.settle()
}

// named are the things that journals name, as far as the team has them.
type named struct {
	accounts     map[id.ID]accountFact
	assigned     map[account.Assignment]id.ID
	contacts     map[id.ID]bool
	reservations map[id.ID]id.ID  // its listing
	currencies   map[id.ID]string // of reservations
	periods      map[id.ID][]listing.Period
}

type namedRow struct {
	Kind     string
	ID       id.ID
	Listing  id.ID
	Currency string
}

// accountFact is what matters of an account that is posted to.
type accountFact struct {
	ID              id.ID
	Type            account.Type
	Status          account.Status
	Classification  account.Classification
	BankingCategory *string
	// Currency is that of a bank account; others take any.
	Currency string
}

// load reads what journals name.
func load(ctx context.Context, tx *db.Tx, journals []*Journal) (*named, error) {
	n := &named{}
	if err := n.load(ctx, tx, journals); err != nil {
		return nil, err
	}

	return n, n.loadListings(ctx, tx, journals)
}

// load reads what journals name beside their listings.
func (n *named) load(ctx context.Context, tx *db.Tx, journals []*Journal) error {
	var accounts, contacts, reservations []id.ID

	for _, j := range journals {
		for i := range j.Lines {
			l := &j.Lines[i]
			accounts, contacts, reservations = append(accounts, l.AccountID), append(contacts, deref(l.ContactID)), append(reservations, deref(l.ReservationID))
		}
	}

	var (
		chart []accountFact
		rows  []namedRow
	)

	err := tx.Together(ctx, db.LoadOf(&chart, accountFacts, accounts), db.Load(&n.assigned, account.Assigned),
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

	n.accounts, n.contacts, n.reservations, n.currencies = map[id.ID]accountFact{}, map[id.ID]bool{}, map[id.ID]id.ID{}, map[id.ID]string{}
	for _, a := range chart {
		n.accounts[a.ID] = a
	}

	for _, r := range rows {
		if r.Kind == "contact" {
			n.contacts[r.ID] = true
		} else {
			n.reservations[r.ID], n.currencies[r.ID] = r.Listing, r.Currency
		}
	}

	return nil
}

func accountFacts(ctx context.Context, tx *db.Tx, ids []id.ID) ([]accountFact, error) {
	return db.Select[accountFact](ctx, tx, `
		select a.id, a.type, a.status, c.classification, a.banking_category, coalesce(a.banking_currency, k.default_currency) as currency
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id join team k on k.team_id = a.team_id
		where a.team_id = @team and a.id = any(@accounts)`, db.Args{"team": tx.Team, "accounts": ids})
}

// loadListings gives lines the listings of their reservations and reads the ownership periods of all listings.
func (n *named) loadListings(ctx context.Context, tx *db.Tx, journals []*Journal) error {
	ids := []id.ID{}

	for _, j := range journals {
		for i := range j.Lines {
			l := &j.Lines[i]
			if of := n.reservations[deref(l.ReservationID)]; l.ListingID == nil && !of.IsZero() {
				l.ListingID = &of
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
	// A change of ownership locks its listing: it commits before the periods are read, or waits and derives what is
	// written here.
	hold := func(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
		return db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@ids) order by id for key share`,
			db.Args{"team": tx.Team, "ids": ids})
	}

	var (
		found   []id.ID
		periods map[id.ID][]listing.Period
	)
	if err := tx.Together(ctx, db.LoadOf(&found, hold, ids), db.LoadOf(&periods, listing.Periods, ids)); err != nil {
		return fmt.Errorf("read listings and their ownership periods: %w", err)
	}

	for _, l := range found {
		n.periods[l] = periods[l]
	}

	return nil
}

// check holds a draft against the rows that it names and settles whose its lines are. Accounts that the stored journal
// posts to already, and reservations that it names, may stay, whatever has become of them; so may a listing that a
// reservation has left since.
func (j *Journal) check(n *named, old *Journal) error {
	if issues := j.unknown(n); len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	standing := map[id.ID]bool{}
	sameMoney := old != nil && old.Currency == j.Currency
	placed := map[[2]id.ID]bool{} // reservation and listing

	if old != nil {
		for i := range old.Lines {
			standing[old.Lines[i].AccountID] = true

			placed[[2]id.ID{deref(old.Lines[i].ReservationID), deref(old.Lines[i].ListingID)}] = true
			if sameMoney {
				standing[deref(old.Lines[i].ReservationID)] = true
			}
		}
	}

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
		refuse(a.Status == account.Inactive && !standing[a.ID], "accountId", apierr.IssueAccountInactive)
		refuse(a.foreignBank(j.Ledger), "accountId", apierr.IssueLedgerMismatch)
		refuse(a.Type == account.TypeBank && a.Currency != j.Currency && (!sameMoney || !standing[a.ID]), "accountId", apierr.IssueCurrencyMismatch)

		of := n.reservations[deref(l.ReservationID)]
		refuse(!of.IsZero() && of != deref(l.ListingID) && !placed[[2]id.ID{*l.ReservationID, deref(l.ListingID)}], "listingId", apierr.IssueListingMismatch)
		refuse(!of.IsZero() && n.currencies[*l.ReservationID] != j.Currency && !standing[*l.ReservationID], "reservationId", apierr.IssueCurrencyMismatch)
		refuse(l.Party != nil && n.plays(a.ID, noParty...), "party", apierr.IssuePartyNotSupported)
		n.give(l)

		if deref(l.Party) == ledger.Owners {
			refuse(l.ListingID == nil, "listingId", apierr.IssueRequired)
			refuse(l.ListingID != nil && n.owned(l, j.Date) == nil, "listingId", apierr.IssueOwnershipPeriodMissing)
		}
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// unknown are the references to what the team does not have.
func (j *Journal) unknown(n *named) []apierr.Issue {
	var issues []apierr.Issue

	for i := range j.Lines {
		l := &j.Lines[i]
		_, chart := n.accounts[l.AccountID]
		_, place := n.periods[deref(l.ListingID)]

		_, stay := n.reservations[deref(l.ReservationID)]
		for _, r := range []struct {
			field        string
			given, known bool
		}{
			{"accountId", true, chart},
			{"listingId", l.ListingID != nil, place},
			{"reservationId", l.ReservationID != nil, stay},
			{"contactId", l.ContactID != nil, n.contacts[deref(l.ContactID)]},
		} {
			if r.given && !r.known {
				issues = append(issues, apierr.IssueNotFound.InBody("lines", i, r.field))
			}
		}
	}

	return issues
}

func (n *named) plays(accountID id.ID, parts ...account.Assignment) bool {
	return slices.ContainsFunc(parts, func(a account.Assignment) bool { return n.assigned[a] == accountID })
}

// foreignBank reports a bank account whose money is not that of the ledger: with it, the ledger would no longer show
// what its banks hold.
func (a accountFact) foreignBank(in Books) bool {
	return a.BankingCategory != nil && (*a.BankingCategory == "operating") != (in == Books(ledger.Operating))
}

// give says whose a line is when the caller does not: income, cost and what is paid out are always somebody's.
func (n *named) give(l *Line) {
	class := n.accounts[l.AccountID].Classification
	if l.Party != nil || class != account.Revenue && class != account.Expense && !n.plays(l.AccountID, account.PayoutDistribution) {
		return
	}

	party := ledger.Manager
	if l.ListingID != nil {
		party = ledger.Owners
	}

	l.Party = &party
}

// owned is the ownership period of a line's listing on a day, or nil.
func (n *named) owned(l *Line, at day.Day) *listing.Period {
	return listing.Covering(n.periods[deref(l.ListingID)], at)
}
