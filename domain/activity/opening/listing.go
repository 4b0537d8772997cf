package opening

import (
	"context"
	"fmt"

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
	Currency api.Opt[string] `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$" doc:"Absent: as it is, at first the team's default currency."`
}

// A listing's opening balance is its oldest active deposit that is marked as one and has nothing but that listing's
// line.
var openingFrom = `transaction t join transaction_line l on l.team_id = t.team_id and l.transaction_id = t.id and l.listing_id is not null
	and ` + account.ActingSQL("l", account.OpeningBalance)

var openingOnly = `t.team_id = @team and t.is_opening_balance and t.status = 'active' and t.type = 'deposit'
	and not exists (select from transaction_line o where o.team_id = t.team_id and o.transaction_id = t.id and o.id <> l.id)
	and not exists (select from transaction u join transaction_line m on m.team_id = u.team_id and m.transaction_id = u.id
		where u.team_id = @team and m.listing_id = l.listing_id and ` + account.ActingSQL("m", account.OpeningBalance) + ` and u.is_opening_balance
			and u.status = 'active' and u.id < t.id)`

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

// loadOpening loads the opening balance of a listing, nil for none.
func loadOpening(ctx context.Context, tx *db.Tx, listingID id.ID) (*Listing, error) {
	q := openingQuery(tx)
	q.And("l.listing_id = @listing", db.Args{"listing": listingID})

	// The query finds at most one for each listing, its oldest.
	found, err := db.Maybe[Listing](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read an opening balance: %w", err)
	}

	return found, nil
}

type putOpening struct {
	ID   id.ID `path:"id"`
	Body PutListing
}

// putOpeningBalance keeps one opening deposit for each listing, dated the day before the first day of the statements.
// Putting it again as it is changes nothing.
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
	stored, err := loadOpening(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := saveOpening(ctx, tx, in, stored, at); err != nil {
		return nil, err
	}

	return loadOpening(ctx, tx, in.ID)
}

// loadOpeningDay returns the day of opening balances, the one before the first day of the statements, and whether somebody
// owns a listing on it. It fails with trial.ErrNoStart.
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

// saveOpening makes the opening deposit of a listing or changes the stored one.
func saveOpening(ctx context.Context, tx *db.Tx, in *putOpening, stored *Listing, at day.Day) error {
	line := transaction.LineInput{Amount: in.Body.Amount}

	line.Assignment, line.ListingID = api.Set(account.OpeningBalance), api.Set(in.ID)
	if stored == nil {
		_, err := transaction.Add(ctx, tx, &transaction.Create{
			Type:             transaction.Deposit,
			Date:             at,
			IsOpeningBalance: true,
			Currency:         in.Body.Currency,
			Description:      api.Set("Opening balance"),
			Lines:            []transaction.LineInput{line},
		}, ledger.Lenience{})

		return err
	}

	// The listing is locked already; the deposit may be changed by itself.
	old, err := transaction.Lock(ctx, tx, stored.TransactionID)
	if err != nil {
		return err
	}

	// An absent currency stays as it is.
	currency := old.Currency
	if in.Body.Currency.Value != nil {
		parsed, err := money.ParseCurrency(*in.Body.Currency.Value)
		if err != nil {
			return apierr.BadRequest.At(apierr.IssueCurrency.InBody("currency"))
		}

		currency = string(parsed)
	}

	// Without a difference nothing is written, so no lock refuses it.
	if old.Date == at && old.Currency == currency && old.Total == in.Body.Amount {
		return nil
	}

	_, err = transaction.Change(
		ctx, tx, stored.TransactionID,
		&transaction.Update{Date: &at, Currency: api.Set(currency), Lines: []transaction.LineInput{line}},
		ledger.Lenience{},
	)

	return err
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

// Begin sets the opening balance of a listing that has none, and returns whether it did: a listing without an owner on the
// day gets none.
func Begin(ctx context.Context, tx *db.Tx, listingID id.ID, amount money.Cents, currency string) (bool, error) {
	stored, err := loadOpening(ctx, tx, listingID)
	if err != nil || stored != nil {
		return false, err
	}

	at, owned, err := loadOpeningDay(ctx, tx, listingID)
	if err != nil || !owned {
		return false, err
	}

	in := &putOpening{ID: listingID, Body: PutListing{Amount: amount, Currency: api.Set(currency)}}

	return true, saveOpening(ctx, tx, in, nil, at)
}
