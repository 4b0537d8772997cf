package opening

import (
	"context"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Item is an opening balance in a file: of a listing's owners, or of a bank account.
type Item struct {
	ListingID *id.ID      `json:"listingId,omitempty"`
	AccountID *id.ID      `json:"accountId,omitempty"`
	Date      *day.Day    `json:"date,omitempty"`
	Amount    money.Cents `json:"amount"`
	Currency  *string     `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
}

// Resolve refuses an item of both, or of neither.
func (i *Item) Resolve() []apierr.Issue {
	if (i.ListingID == nil) == (i.AccountID == nil) {
		return []apierr.Issue{apierr.IssueContradiction.InBody("listingId")}
	}

	return nil
}

// itemUpdate changes an opening balance. A record of a file always has all of its fields.
type itemUpdate struct {
	ListingID *id.ID       `json:"listingId,omitempty"`
	AccountID *id.ID       `json:"accountId,omitempty"`
	Date      *day.Day     `json:"date,omitempty"`
	Amount    *money.Cents `json:"amount,omitempty"`
	Currency  *string      `json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
}

// Intake says how opening balances from files are taken in. Their values are the fields of Item, and their records
// here are the transactions that book them. Bank rules are applied to the bank records that another first day brings
// back.
func Intake(rules bank.Rules) intake.Kind {
	r := routes{rules}
	door := &intake.Singles[Item, itemUpdate]{
		Create: api.NewForm[Item](), Update: api.NewForm[itemUpdate](),
		Add: intake.AddEach(r.setItem), Change: r.changeItem,
	}

	return intake.Kind{
		Name: "openingBalance", Entity: audit.Transaction, Current: loadItems, Show: loadItems, Save: door.Write,
		Any: intake.AnyIn("transaction"),
	}
}

// setItem sets an opening balance and returns the transaction that books it. The bank account of a starting balance
// that needs no transaction stands for it.
func (r routes) setItem(ctx context.Context, tx *db.Tx, i *Item) (id.ID, error) {
	if i.ListingID != nil {
		in := &putOpening{ID: *i.ListingID, Body: PutListing{Amount: i.Amount, Currency: api.SetIf(i.Currency)}}

		set, err := putOpeningBalance(ctx, tx, in)
		if err != nil {
			return id.ID{}, err
		}

		return set.TransactionID, nil
	}

	in := &bankingInput{
		ID: *i.AccountID, Body: BankingInit{StartingBalanceDate: i.Date, StartingBalanceAmount: &i.Amount},
	}

	begun, err := r.startBanking(ctx, tx, in)
	if err != nil || begun.Transaction == nil {
		return *i.AccountID, err
	}

	return begun.Transaction.ID, nil
}

// changeItem changes the opening balance that a transaction books.
func (r routes) changeItem(ctx context.Context, tx *db.Tx, one id.ID, u *itemUpdate) error {
	now, err := loadItem(ctx, tx, one)
	if err != nil {
		return err
	}

	if u.Amount != nil {
		now.Amount = *u.Amount
	}

	if u.Date != nil {
		now.Date = u.Date
	}

	_, err = r.setItem(ctx, tx, now)

	return err
}

// loadItem returns the opening balance that a transaction books.
func loadItem(ctx context.Context, tx *db.Tx, one id.ID) (*Item, error) {
	found, err := loadStored(ctx, tx, []id.ID{one})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return &found[0].Item, nil
}

// storedItem is an opening balance with the transaction that books it.
type storedItem struct {
	ID id.ID
	Item
}

// loadStored loads opening balances by the transactions that book them, or by bank accounts.
func loadStored(ctx context.Context, tx *db.Tx, ids []id.ID) ([]storedItem, error) {
	found, err := db.Select[storedItem](ctx, tx, `
		select l.transaction_id as id, l.listing_id, null::uuid as account_id, null::date as date, t.total as amount, t.currency
		from `+openingFrom+` where `+openingOnly+` and t.id = any(@ids)
		union all
		select g.id, null, a.id, a.banking_opening_at, a.banking_opening, a.banking_currency
		from unnest(@ids::uuid[]) g (id) join account a on a.team_id = @team and (a.banking_opening_transaction_id = g.id or a.id = g.id)
		where a.banking_opening is not null`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read opening balances: %w", err)
	}

	return found, nil
}

// loadItems returns the values of opening balances.
func loadItems(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := loadStored(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for i := range found {
		if out[found[i].ID], err = intake.Encode(&found[i].Item); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// Undo takes back an opening balance that a file has set. A bank account keeps its first day, and begins with what the
// books have of it.
func Undo(rules bank.Rules) func(ctx context.Context, tx *db.Tx, one id.ID) error {
	return func(ctx context.Context, tx *db.Tx, one id.ID) error {
		now, err := loadItem(ctx, tx, one)
		if err != nil {
			return err
		}

		if now.AccountID == nil {
			return transaction.Delete(ctx, tx, one)
		}

		_, err = routes{rules}.beginBooks(ctx, tx, &bankingInput{ID: *now.AccountID}, true)

		return err
	}
}
