package payment

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/ledger"
	"stayledger/domain/transaction"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// sums are what of a payout came back, and what was paid in its place.
type sums struct {
	Returned money.Cents
	Replaced money.Cents
}

// sumsOf adds up the returns and replacements of a payout that the caller has locked.
func sumsOf(ctx context.Context, tx *db.Tx, original id.ID) (sums, error) {
	s, err := db.Get[sums](ctx, tx, `
		select coalesce(sum(-t.total) filter (where r.kind = 'return'), 0)::bigint as returned,
			coalesce(sum(t.total) filter (where r.kind = 'replacement'), 0)::bigint as replaced
		from payment_return r join transaction t on t.team_id = r.team_id and t.id = r.transaction_id
		where r.team_id = @team and r.original_id = @original and t.status = 'active'`, db.Args{"team": tx.Team, "original": original})
	if err != nil {
		return sums{}, fmt.Errorf("add up returns: %w", err)
	}
	return s, nil
}

// link says what a payout is to another one.
type link struct {
	kind    string
	payment *id.ID
}

// counter books a payout on the contact, listing and statement of another one, negative for money that came back, and links the two.
func counter(ctx context.Context, tx *db.Tx, original *transaction.Transaction, c *transaction.Create, l link) (*transaction.Transaction, error) {
	made, err := transaction.Add(ctx, tx, c, ledger.Lenience{})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `
		insert into payment_return (team_id, transaction_id, original_id, kind, payment_id, created_at)
		values (@team, @transaction, @original, @kind, @payment, @now)`,
		db.Args{"team": tx.Team, "transaction": made.ID, "original": original.ID, "kind": l.kind, "payment": l.payment, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("link a payout: %w", err)
	}
	return made, nil
}

// another is a payout like an original one over another amount.
func another(original *transaction.Transaction, amount money.Cents, at day.Day, description *string) *transaction.Create {
	l := &original.Lines[0]
	fields := transaction.LineFields{
		AccountID: api.Set(l.AccountID), ListingID: opt(l.ListingID), OwnerStatementID: opt(l.OwnerStatementID), Party: opt(l.Party),
		ContactID: opt(l.ContactID),
	}
	return &transaction.Create{
		Type: transaction.Payout, Date: at, Currency: api.Set(original.Currency), AccountID: api.Set(original.AccountID),
		ContactID: opt(original.ContactID), Description: opt(description), Lines: []transaction.LineInput{{Amount: amount, LineFields: fields}},
	}
}

func opt[T any](v *T) api.Opt[T] { return api.Opt[T]{Present: v != nil, Value: v} }

// bookReturn books the money that a provider gave back, as a negative payout on the first open day. What somebody has returned by hand before
// is not returned again.
func (h *held) bookReturn(ctx context.Context, tx *db.Tx) error {
	original, err := transaction.Hold(ctx, tx, h.TransactionID)
	if err != nil {
		return err
	}
	if original.Status != transaction.Active {
		return errInactive
	}
	s, err := sumsOf(ctx, tx, original.ID)
	if err != nil {
		return err
	}
	amount := min(h.Amount, original.Total-s.Returned)
	if amount <= 0 {
		return nil
	}
	_, err = onOpenDay(ctx, tx, day.Of(tx.Now), func(ctx context.Context, tx *db.Tx, at day.Day) (*transaction.Transaction, error) {
		return counter(ctx, tx, original, another(original, -amount, at, new("Returned payment")), link{"return", &h.ID})
	})
	return err
}

// openDayTries bounds how often a later day is tried: closed books, and a published statement after that, need two.
const openDayTries = 5

// onOpenDay books on a day, or on the first later one that no lock holds.
func onOpenDay(ctx context.Context, tx *db.Tx, at day.Day, book func(context.Context, *db.Tx, day.Day) (*transaction.Transaction, error)) (
	made *transaction.Transaction, err error,
) {
	for range openDayTries {
		err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			made, err = book(ctx, tx, at)
			return err
		})
		if !ledger.IsLock(err) {
			return made, err
		}
		later, laterErr := openFrom(ctx, tx, err)
		if laterErr != nil {
			return nil, laterErr
		}
		if later == nil || !later.After(at) {
			return nil, err
		}
		at = *later
	}
	return nil, err
}

// openFrom is the first day that a lock leaves open, nil when it does not tell.
func openFrom(ctx context.Context, tx *db.Tx, lock error) (*day.Day, error) {
	held, ok := apierr.From(lock).Context().(ledger.LockContext)
	switch {
	case !ok:
		return nil, nil
	case held.BooksClosedAt != nil:
		return held.BooksClosedAt, nil
	case len(held.StatementIDs) == 0:
		return nil, nil
	}
	last, err := db.Get[day.Day](ctx, tx, `select max(end_at) from statement where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": held.StatementIDs})
	if err != nil {
		return nil, fmt.Errorf("read the end of statements: %w", err)
	}
	if last.IsZero() {
		return nil, nil
	}
	next := last.AddDays(1)
	return &next, nil
}

// Counter is a return or a replacement by hand.
type Counter struct {
	Amount      api.Opt[money.Cents] `json:"amount,omitzero" minimum:"1" maximum:"9007199254740991" doc:"Cents, positive; absent: all that is left."`
	Date        api.Opt[day.Day]     `json:"date,omitzero" doc:"Absent: the first open day from today on."`
	Description api.Opt[string]      `json:"description,omitzero" maxLength:"1000"`
}

type counterInput struct {
	ID   id.ID   `path:"id"`
	Body Counter `required:"false"`
}

// returnPayout books money of a payout that came back (RSN-05, RSN-40).
func returnPayout(ctx context.Context, tx *db.Tx, in *counterInput) (*transaction.Transaction, error) {
	original, err := counterable(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	last, err := lastAttempt(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}
	if original.Status != transaction.Active || last != nil && (*last != Submitted && *last != Paid && *last != Returned) {
		return nil, errNotEligible
	}
	s, err := sumsOf(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}
	return in.book(ctx, tx, original, original.Total-s.Returned, link{kind: "return"})
}

// replacePayout pays again what came back. Money that has not come back is not paid twice: an original whose payment brought nothing is
// archived first, any other one returned (RSN-05, RSN-06).
func replacePayout(ctx context.Context, tx *db.Tx, in *counterInput) (*transaction.Transaction, error) {
	original, err := counterable(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	s, err := sumsOf(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}
	back := s.Returned
	if original.Status == transaction.Inactive {
		back = original.Total
	}
	if back == 0 {
		return nil, errArchiveRequired
	}
	return in.book(ctx, tx, original, back-s.Replaced, link{kind: "replacement"})
}

// counterable holds a payout that money can come back of: to an owner, and not itself a return.
func counterable(ctx context.Context, tx *db.Tx, one id.ID) (*transaction.Transaction, error) {
	t, err := transaction.Hold(ctx, tx, one)
	if err != nil {
		return nil, err
	}
	if t.Type != transaction.Payout || t.Total <= 0 {
		return nil, errNotEligible
	}
	return t, nil
}

// lastAttempt is the state of a transaction's present payment, nil when it has none.
func lastAttempt(ctx context.Context, tx *db.Tx, one id.ID) (*Status, error) {
	s, err := db.Get[Status](ctx, tx, `select status from payment where team_id = @team and transaction_id = @id and recovered_at is null`,
		db.Args{"team": tx.Team, "id": one})
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the payment of a transaction: %w", err)
	}
	return &s, nil
}

// book books up to what is left; the whole when no amount is given.
func (in *counterInput) book(ctx context.Context, tx *db.Tx, original *transaction.Transaction, left money.Cents, l link) (*transaction.Transaction, error) {
	amount := left
	if in.Body.Amount.Value != nil {
		amount = *in.Body.Amount.Value
	}
	if amount > left || left <= 0 {
		return nil, errExceeds.With(map[string]any{"left": max(left, 0)})
	}
	if l.kind == "return" {
		amount = -amount
	}
	add := func(ctx context.Context, tx *db.Tx, at day.Day) (*transaction.Transaction, error) {
		return counter(ctx, tx, original, another(original, amount, at, in.Body.Description.Value), l)
	}
	var made *transaction.Transaction
	var err error
	if in.Body.Date.Value != nil {
		made, err = add(ctx, tx, *in.Body.Date.Value)
	} else {
		made, err = onOpenDay(ctx, tx, day.Of(tx.Now), add)
	}
	return transaction.Shown(ctx, tx, made, err)
}
