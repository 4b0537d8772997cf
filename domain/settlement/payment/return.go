package payment

import (
	"context"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// sums are the amounts of a payout that came back and that were paid in its place.
type sums struct {
	Returned money.Cents
	Replaced money.Cents
}

// loadSums adds up the returns and replacements of a payout that the caller has locked.
func loadSums(ctx context.Context, tx *db.Tx, original id.ID) (sums, error) {
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

// link says how a payout is related to another one.
type link struct {
	kind    string
	payment *id.ID
}

// addCounterPayout books a payout on the contact, listing and statement of another one, negative for money that came
// back, and links the two.
func addCounterPayout(
	ctx context.Context,
	tx *db.Tx,
	original *transaction.Transaction,
	c *transaction.Create,
	l link,
) (*transaction.Transaction, error) {
	made, err := transaction.Add(ctx, tx, c, ledger.Lenience{})
	if err != nil {
		return nil, err
	}

	// The link lets later returns know how much is left.
	_, err = tx.Exec(ctx, `
		insert into payment_return (team_id, transaction_id, original_id, kind, payment_id, created_at)
		values (@team, @transaction, @original, @kind, @payment, @now)`,
		db.Args{
			"team":        tx.Team,
			"transaction": made.ID,
			"original":    original.ID,
			"kind":        l.kind,
			"payment":     l.payment,
			"now":         tx.Now,
		})
	if err != nil {
		return nil, fmt.Errorf("link a payout: %w", err)
	}

	return made, nil
}

// counterInputFor returns the input for a payout like the original one over another amount.
func counterInputFor(
	original *transaction.Transaction,
	amount money.Cents,
	at day.Day,
	description *string,
) *transaction.Create {
	// A payout has one line.
	l := &original.Lines[0]
	fields := transaction.LineFields{
		AccountID:        api.Set(l.AccountID),
		ListingID:        api.SetIf(l.ListingID),
		OwnerStatementID: api.SetIf(l.OwnerStatementID),
		Party:            api.SetIf(l.Party),
		ContactID:        api.SetIf(l.ContactID),
	}

	return &transaction.Create{
		Type:        transaction.Payout,
		Date:        at,
		Currency:    api.Set(original.Currency),
		AccountID:   api.Set(original.AccountID),
		ContactID:   api.SetIf(original.ContactID),
		Description: api.SetIf(description),
		Lines:       []transaction.LineInput{{Amount: amount, LineFields: fields}},
	}
}

// bookReturn books the money that a provider gave back, as a negative payout on the first open day. Money that a
// person has returned by hand before is not returned again.
func (h *lockedPayment) bookReturn(ctx context.Context, tx *db.Tx) error {
	original, err := transaction.Hold(ctx, tx, h.TransactionID)
	if err != nil {
		return err
	}

	if original.Status != transaction.Active {
		return transaction.ErrArchived
	}

	// The lock on the original keeps these sums as they are.
	s, err := loadSums(ctx, tx, original.ID)
	if err != nil {
		return err
	}

	amount := min(h.Amount, original.Total-s.Returned)
	if amount <= 0 {
		return nil
	}

	// The return belongs to today if the books are open.
	_, err = bookOnOpenDay(ctx, tx,
		tx.Today(),
		func(ctx context.Context, tx *db.Tx, at day.Day) (*transaction.Transaction, error) {
			create := counterInputFor(original, -amount, at, new("Returned payment"))
			return addCounterPayout(ctx, tx, original, create, link{"return", &h.ID})
		},
	)

	return err
}

// openDayTries bounds how often a later day is tried: closed books, and a published statement after that, need two.
const openDayTries = 5

// bookOnOpenDay books on a day, or on the first later one that no lock concerns.
func bookOnOpenDay(
	ctx context.Context,
	tx *db.Tx,
	at day.Day,
	book func(context.Context, *db.Tx, day.Day) (*transaction.Transaction, error),
) (made *transaction.Transaction, err error) {
	// Each lock says from which day on it allows a booking.
	for range openDayTries {
		err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			made, err = book(ctx, tx, at)
			return err
		})
		if !ledger.IsLock(err) {
			return made, err
		}

		// Without a later day there is no use in trying again.
		later := ledger.OpenFrom(err)
		if later == nil || !later.After(at) {
			return nil, err
		}

		at = *later
	}

	return nil, err
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
	original, err := lockCounterable(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// News from a provider would book the same return a second time.
	last, err := loadLastAttempt(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}

	if original.Status != transaction.Active || last != nil && !last.canComeBack() {
		return nil, errNotEligible
	}

	// At most the part that was not returned yet comes back.
	s, err := loadSums(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}

	return in.book(ctx, tx, original, original.Total-s.Returned, link{kind: "return"})
}

// replacePayout pays again the money that came back. Money that has not come back is not paid twice: an original
// with a payment that brought nothing must be archived first, any other one returned. Money that was paid on the
// statement since then cannot be replaced any more (RSN-05, RSN-06).
func replacePayout(ctx context.Context, tx *db.Tx, in *counterInput) (*transaction.Transaction, error) {
	original, err := lockCounterable(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Other payouts on the statement pay the same money, so none may come in between.
	if err := lockChain(ctx, tx, original.ID); err != nil {
		return nil, err
	}

	s, err := loadSums(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}

	// Archived payouts came back as a whole.
	back := s.Returned
	if original.Status == transaction.Inactive {
		back = original.Total
	}

	if back == 0 {
		return nil, ErrArchiveRequired
	}

	// Take off all that was paid in its place.
	again, err := loadPaidAgain(ctx, tx, original.ID)
	if err != nil {
		return nil, err
	}

	return in.book(ctx, tx, original, back-s.Replaced-again, link{kind: "replacement"})
}

// lockChain locks the ownership period of the original's statement. Payouts of that period pay the money that came
// back as well, so they and the replacement must wait for each other.
func lockChain(ctx context.Context, tx *db.Tx, original id.ID) error {
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `
			select from listing_ownership_period where team_id = @team and id in (
				select s.ownership_period_id from transaction_line n join statement s on s.team_id = n.team_id and s.id = n.statement_id
				where n.team_id = @team and n.transaction_id = @id) order by id for no key update`,
			Args: db.Args{"team": tx.Team, "id": original},
		})
	if err != nil {
		return fmt.Errorf("hold the ownership period of a payout: %w", err)
	}

	return nil
}

// loadPaidAgain adds up the other payouts to the same contact on the statement since the money came back. Replacements
// do not count: they belong to payouts of their own.
func loadPaidAgain(ctx context.Context, tx *db.Tx, original id.ID) (money.Cents, error) {
	cents, err := db.Get[money.Cents](ctx, tx, `
		with original as (
			select t.id, n.statement_id, coalesce(n.contact_id, t.contact_id) as contact_id, case when t.status = 'inactive' then t.updated_at else (
				select min(r.created_at) from payment_return r where r.team_id = t.team_id and r.original_id = t.id and r.kind = 'return') end as since
			from transaction t join transaction_line n on n.team_id = t.team_id and n.transaction_id = t.id
			where t.team_id = @team and t.id = @original)
		select coalesce(sum(n.total), 0)::bigint
		from original o join transaction_line n on n.team_id = @team and n.statement_id = o.statement_id
		join transaction t on t.team_id = n.team_id and t.id = n.transaction_id
		where t.type = 'payout' and t.status = 'active' and t.total > 0 and t.id <> o.id and t.created_at >= o.since
			and coalesce(n.contact_id, t.contact_id) = o.contact_id
			and not exists (select from payment_return r where r.team_id = t.team_id and r.transaction_id = t.id)`,
		db.Args{"team": tx.Team, "original": original})
	if err != nil {
		return 0, fmt.Errorf("add up what was paid again: %w", err)
	}

	return cents, nil
}

// lockCounterable locks a payout that money can come back from: one to an owner that is not itself a return.
func lockCounterable(ctx context.Context, tx *db.Tx, one id.ID) (*transaction.Transaction, error) {
	t, err := transaction.Hold(ctx, tx, one)
	if err != nil {
		return nil, err
	}

	if t.Type != transaction.Payout || t.Total <= 0 {
		return nil, errNotEligible
	}

	return t, nil
}

// attempt is the current payment of a transaction.
type attempt struct {
	Status Status
	AppID  connection.AppID
}

// canComeBack reports whether a person may know that the money came back. A provider itself reports about money
// that is under way: if it were returned too early, it could be replaced while the payment still arrives. No
// provider reports about payments that went to a bank in a file.
func (a *attempt) canComeBack() bool {
	return a.Status == Paid || a.Status == Returned || a.Status == Submitted && !payapp.Can(a.AppID, payapp.TellsOutcomes)
}

// loadLastAttempt loads the payment of a transaction that was not put away, nil if there is none.
func loadLastAttempt(ctx context.Context, tx *db.Tx, one id.ID) (*attempt, error) {
	a, err := db.Maybe[attempt](ctx, tx, `
		select p.status, c.app_id from payment p join connection c on c.team_id = p.team_id and c.id = p.connection_id
		where p.team_id = @team and p.transaction_id = @id and p.recovered_at is null`, db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return nil, fmt.Errorf("read the payment of a transaction: %w", err)
	}

	return a, nil
}

// book books the given amount, or all that is left. It fails with errExceeds for more than that.
func (in *counterInput) book(
	ctx context.Context,
	tx *db.Tx,
	original *transaction.Transaction,
	left money.Cents,
	l link,
) (*transaction.Transaction, error) {
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

	// The same booking, on the given day or on the first open one.
	add := func(ctx context.Context, tx *db.Tx, at day.Day) (*transaction.Transaction, error) {
		return addCounterPayout(ctx, tx, original, counterInputFor(original, amount, at, in.Body.Description.Value), l)
	}

	var (
		made *transaction.Transaction
		err  error
	)
	if in.Body.Date.Value != nil {
		made, err = add(ctx, tx, *in.Body.Date.Value)
	} else {
		made, err = bookOnOpenDay(ctx, tx, tx.Today(), add)
	}

	return transaction.ShowOne(ctx, tx, made, err)
}
