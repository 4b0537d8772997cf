package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Hold reads a transaction and keeps others from changing it until the end, or fails with apierr.NotFound.
func Hold(ctx context.Context, tx *db.Tx, one id.ID) (*Transaction, error) { return Lock(ctx, tx, one) }

// BookPayment books when and from where a bill was paid, or takes that back with nil. It is for whoever pays: a payment
// that was attempted through a provider does not hold it, the locks of the ledger do.
func BookPayment(ctx context.Context, tx *db.Tx, bill id.ID, p *PaymentInput) (*Transaction, error) {
	old, err := Lock(ctx, tx, bill)
	if err != nil {
		return nil, err
	}

	d, _ := redrafted(old, &Update{Payment: api.Opt[PaymentInput]{Present: true, Value: p}}, tx.NewID)
	if err := save(ctx, tx, nil, []*draft{d}, ledger.Lenience{}); err != nil {
		return nil, err
	}

	return byID(ctx, tx, bill)
}

// held by a payment, a transaction can still be described: its own reference, text and attachments say nothing of the
// money.
func (u *Update) describes() bool {
	return u.Status == "" && u.Date == nil && !u.Currency.Present && !u.AccountID.Present && !u.ContactID.Present && !u.Payment.Present &&
		u.Lines == nil && u.LinesCreate == nil && u.LinesUpdate == nil && u.LinesDelete == nil
}

// archives reports that a change takes a transaction out of the books and is nothing else.
func (u *Update) archives() bool {
	other := *u
	other.Status = ""

	return u.Status == Inactive && other.describes()
}

// guard refuses to touch the money of a transaction that is part of a return, with 400 paymentReturnInvolved, and of
// one that a provider was asked to pay, with 409 paymentAttempted, until that attempt was put away. To archive it, a
// payment that waits for approval is no attempt yet: it is taken back with the transaction. The transaction is locked,
// so no attempt begins meanwhile (RSN-38, RSN-39).
func guard(ctx context.Context, tx *db.Tx, one id.ID, archive bool) error {
	by, err := paidBy(ctx, tx, asked{one, archive})
	if err != nil {
		return err
	}

	return by.refusal()
}

// asked is the transaction whose payments are looked for, and whether it is to be archived.
type asked struct {
	id      id.ID
	archive bool
}

// payer is what has to do with the money of a transaction: a return, a payment or nothing.
type payer string

func paidBy(ctx context.Context, tx *db.Tx, of asked) (payer, error) {
	by, err := db.Get[payer](ctx, tx, `
		select case
			when exists (select from payment_return where team_id = @team and transaction_id = @id)
				or exists (select from payment_return where team_id = @team and original_id = @id) then 'return'
			when exists (select from payment where team_id = @team and transaction_id = @id and recovered_at is null
				and not (@archive and status = 'awaitingApproval')) then 'payment'
			else '' end`, db.Args{"team": tx.Team, "id": of.id, "archive": of.archive})
	if err != nil {
		return "", fmt.Errorf("look for payments of a transaction: %w", err)
	}

	return by, nil
}

func (p payer) refusal() error {
	switch p {
	case "return":
		return errReturned
	case "payment":
		return ErrAttempted
	}

	return nil
}

var errReturned = apierr.New(apierr.CodeBadRequest, apierr.ReasonPaymentReturnInvolved, "The transaction is part of a payment return")
