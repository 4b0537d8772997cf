package opening

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/trial"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Listing is the balance that was held for a listing's owners when the books were opened.
type Listing struct {
	ListingID     id.ID       `json:"listingId"`
	Amount        money.Cents `json:"amount" doc:"Cents; negative when the owners owed."`
	Currency      string      `json:"currency"`
	UpdatedAt     day.Instant `json:"updatedAt"`
	TransactionID id.ID       `json:"transactionId" doc:"The deposit that books it."`
}

// PutListing is the body that sets the opening balance of a listing.
type PutListing struct {
	Amount   money.Cents     `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents held for the owners."`
	Currency api.Opt[string] `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$" doc:"Each currency has an opening balance of its own. Absent: that of the oldest one, at first the team's default currency."`
}

// A listing's opening balance in a currency is its oldest active deposit that is marked as an opening balance and has
// only lines on this listing: a single line, or a line for each owner by name.
var openingFrom = `transaction t join transaction_line l on l.team_id = t.team_id and l.transaction_id = t.id and l.listing_id is not null
	and ` + account.ActingSQL("l", account.OpeningBalance)

var openingOnly = `t.team_id = @team and t.is_opening_balance and t.status = 'active' and t.type = 'deposit'
	and not exists (select from transaction_line o where o.team_id = t.team_id and o.transaction_id = t.id
		and (o.id < l.id or o.listing_id is distinct from l.listing_id or (` + account.ActingSQL("o", account.OpeningBalance) + `) is not true))
	and not exists (select from transaction u join transaction_line m on m.team_id = u.team_id and m.transaction_id = u.id
		where u.team_id = @team and m.listing_id = l.listing_id and ` + account.ActingSQL("m", account.OpeningBalance) + ` and u.is_opening_balance
			and u.status = 'active' and u.currency = t.currency and u.id < t.id)`

// openingQuery returns the list of the opening balances of listings.
func openingQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: "l.listing_id, t.total as amount, t.currency, t.updated_at, t.id as transaction_id", From: openingFrom,
		Where: []string{openingOnly}, Args: db.Args{"team": tx.Team},
		Sorts: page.Sorts{{Name: "listingId", Expr: "l.listing_id"}}, Default: "listingId", ID: "t.id",
	}
}

type listOpenings struct {
	page.Params
	ListingIDs page.IDs `query:"listingIds"`
}

// listOpeningBalances returns a page of opening balances of listings.
func listOpeningBalances(ctx context.Context, tx *db.Tx, in *listOpenings) (*page.Page[Listing], error) {
	q := openingQuery(tx)
	q.IDs("l.listing_id = any(?)", in.ListingIDs)

	return page.List[Listing](ctx, tx, q, in.Params, "")
}

// loadOpening loads the opening balance of a listing in a currency, its oldest one if none is given. It returns nil for
// none.
func loadOpening(ctx context.Context, tx *db.Tx, listingID id.ID, currency *string) (*Listing, error) {
	q := openingQuery(tx)
	q.And("l.listing_id = @listing", db.Args{"listing": listingID})

	if currency != nil {
		q.And("t.currency = lower(@currency)", db.Args{"currency": *currency})
	}

	// The query finds at most one for each currency.
	found, err := db.Select[Listing](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read an opening balance: %w", err)
	}

	if len(found) == 0 {
		return nil, nil //nolint:nilnil // There is none.
	}

	oldest := slices.MinFunc(found, func(a, b Listing) int { return a.TransactionID.Compare(b.TransactionID) })

	return &oldest, nil
}

type putOpening struct {
	ID   id.ID `path:"id"`
	Body PutListing
}

// putOpeningBalance keeps one opening deposit for each listing and currency, dated the day before the first day of the
// statements. Putting it again unchanged does nothing; another amount belongs to all members, by split.
func putOpeningBalance(ctx context.Context, tx *db.Tx, in *putOpening) (*Listing, error) {
	if err := lockListing(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	// The books need a first day, and the listing an owner on it.
	at, owned, err := loadOpeningDay(ctx, tx, in.ID)

	switch {
	case err != nil:
		return nil, err
	case !owned:
		return nil, apierr.BadRequest.At(apierr.IssueOwnershipPeriodMissing.InPath("id"))
	}

	// Then change the stored deposit, or make one.
	currency := in.Body.Currency.Value

	stored, err := loadOpening(ctx, tx, in.ID, currency)
	if err != nil {
		return nil, err
	}

	if stored == nil {
		err = addOpening(
			ctx, tx, &Start{Listing: in.ID, Currency: currency, Shares: []Share{{Amount: in.Body.Amount}}}, at,
		)
	} else {
		err = changeOpening(ctx, tx, in, stored, at)
	}

	if err != nil {
		return nil, err
	}

	return loadOpening(ctx, tx, in.ID, currency)
}

// loadOpeningDay returns the day of opening balances, the one before the first day of the statements, and whether
// somebody owns a listing on it. It fails with trial.ErrNoStart.
func loadOpeningDay(ctx context.Context, tx *db.Tx, listingID id.ID) (at day.Day, owned bool, err error) {
	start, err := db.Get[*day.Day](ctx, tx, `select statement_start_at from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return at, false, fmt.Errorf("read the team: %w", err)
	}

	if start == nil {
		return at, false, trial.ErrNoStart
	}

	at = start.AddDays(-1)
	owned, err = transaction.HasOwnerAtOpening(ctx, tx, listingID, at)

	return at, owned, err
}

// addOpening makes the opening deposit of a listing in a currency. It goes to the bank account for payouts, or to
// another trust account if that has another currency.
func addOpening(ctx context.Context, tx *db.Tx, o *Start, at day.Day) error {
	made := &transaction.Create{
		Type:             transaction.Deposit,
		Date:             at,
		IsOpeningBalance: true,
		Description:      api.Set("Opening balance"),
		Lines:            make([]transaction.LineInput, len(o.Shares)),
	}

	for i, s := range o.Shares {
		line := &made.Lines[i]
		line.Amount, line.Assignment, line.ListingID = s.Amount, api.Set(account.OpeningBalance), api.Set(o.Listing)

		if !s.Owner.IsZero() {
			line.ContactID = api.Set(s.Owner)
		}
	}

	// Without a currency or without an account in it, the deposit is checked as any other.
	if o.Currency != nil {
		made.Currency = api.Set(*o.Currency)

		bank, err := loadBank(ctx, tx, *o.Currency)
		if err != nil {
			return err
		}

		if bank != nil {
			made.AccountID = api.Set(*bank)
		}
	}

	_, err := transaction.Add(ctx, tx, made, ledger.Lenience{})

	return err
}

// changeOpening changes the stored opening deposit of a listing.
func changeOpening(ctx context.Context, tx *db.Tx, in *putOpening, stored *Listing, at day.Day) error {
	// The listing is locked already; the deposit may be changed by itself.
	old, err := transaction.Lock(ctx, tx, stored.TransactionID)
	if err != nil {
		return err
	}

	// Without a difference nothing is written, so no lock refuses it.
	if old.Date == at && old.Total == in.Body.Amount {
		return nil
	}

	line := transaction.LineInput{Amount: in.Body.Amount}
	line.Assignment, line.ListingID = api.Set(account.OpeningBalance), api.Set(in.ID)

	_, err = transaction.Change(
		ctx, tx, stored.TransactionID,
		&transaction.Update{Date: &at, Lines: []transaction.LineInput{line}},
		ledger.Lenience{},
	)

	return err
}

// loadBank loads the trust account that takes an opening balance in a currency, nil if there is none, or if the one for
// payouts does, which is taken anyway.
func loadBank(ctx context.Context, tx *db.Tx, currency string) (*id.ID, error) {
	type bank struct {
		ID   id.ID
		Pays bool
	}

	found, err := db.Maybe[bank](ctx, tx, `
		select a.id, exists (select from account_assignment s where s.team_id = @team and s.account_id = a.id and s.assignment = 'payout_bankAccount') as pays
		from account a where a.team_id = @team and a.type = 'bank' and a.status = 'active' and a.banking_category = 'trust' and a.banking_currency = lower(@currency)
		order by pays desc, a.created_at, a.id limit 1`, db.Args{"team": tx.Team, "currency": currency})
	if err != nil || found == nil || found.Pays {
		return nil, err
	}

	return &found.ID, nil
}

// HasBank reports whether a trust account takes opening balances in a currency.
func HasBank(ctx context.Context, tx *db.Tx, currency string) (bool, error) {
	return db.Get[bool](ctx, tx, `select exists (select from account a where a.team_id = @team and a.type = 'bank' and a.status = 'active'
		and a.banking_category = 'trust' and a.banking_currency = @currency)`, db.Args{"team": tx.Team, "currency": currency})
}

// lockListing locks a listing for a change of its opening balance, without waiting: while another change is under
// way, the caller gets ErrBusy and has to try again (RSN-34). It fails with apierr.NotFound for an unknown listing.
func lockListing(ctx context.Context, tx *db.Tx, listingID id.ID) error {
	args := db.Args{"team": tx.Team, "id": listingID}

	known, err := db.Get[bool](ctx, tx, `select exists (select from listing where team_id = @team and id = @id)`, args)
	if err != nil {
		return fmt.Errorf("read a listing: %w", err)
	}

	if !known {
		return apierr.NotFound
	}

	// A locked row is skipped, so that no row means busy. An unknown listing was refused before.
	locked, err := tx.Exec(ctx, `select from listing where team_id = @team and id = @id for no key update skip locked`, args)
	if err != nil {
		return fmt.Errorf("hold a listing: %w", err)
	}

	if locked == 0 {
		return trial.ErrBusy.RetryAfter(apierr.ServiceUnavailable.Delay())
	}

	return nil
}

// Start is the opening balance of a listing in a currency, the team's default one if it is nil.
type Start struct {
	Listing  id.ID
	Currency *string
	Shares   []Share
}

// Share is a part of an opening balance: an owner's, or with the zero id the part which all owners share by split.
type Share struct {
	Owner  id.ID
	Amount money.Cents
}

// Place is a listing in a currency.
type Place struct {
	ListingID id.ID
	Currency  string
}

// ListPlaces returns where the team has opening balances, for which Begin does nothing.
func ListPlaces(ctx context.Context, tx *db.Tx) ([]Place, error) {
	found, err := db.Select[Place](ctx, tx, `
		select distinct l.listing_id, t.currency from `+openingFrom+` where `+openingOnly, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("find opening balances: %w", err)
	}

	return found, nil
}

// Begin sets the opening balance of a listing that has none in the currency, and returns whether it did: a listing
// without an owner on the day gets none.
func Begin(ctx context.Context, tx *db.Tx, o *Start) (bool, error) {
	stored, err := loadOpening(ctx, tx, o.Listing, o.Currency)
	if err != nil || stored != nil {
		return false, err
	}

	at, owned, err := loadOpeningDay(ctx, tx, o.Listing)
	if err != nil || !owned {
		return false, err
	}

	return true, addOpening(ctx, tx, o, at)
}
