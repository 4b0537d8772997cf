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

// Hold locks a transaction until the end and loads it, or fails with apierr.NotFound.
func Hold(ctx context.Context, tx *db.Tx, one id.ID) (*Transaction, error) { return Lock(ctx, tx, one) }

// BookPayment books when and from where a bill was paid, or takes the payment back with nil. It is for callers that
// make the payment themselves: an attempt through a provider does not refuse it, the locks of the ledger do.
func BookPayment(ctx context.Context, tx *db.Tx, bill id.ID, p *PaymentInput) (*Transaction, error) {
	old, err := Lock(ctx, tx, bill)
	if err != nil {
		return nil, err
	}

	// A change of the payment alone names no line, so it has no issues.
	d, _ := newUpdateDraft(old, &Update{Payment: api.Opt[PaymentInput]{Present: true, Value: p}}, tx.NewID)
	if err := save(ctx, tx, nil, []*draft{d}, ledger.Lenience{}); err != nil {
		return nil, err
	}

	return load(ctx, tx, bill)
}

// describes reports whether a change only describes the transaction: its own reference, text and attachments say
// nothing about the money, so they can change even while a payment is under way.
func (u *Update) describes() bool {
	return u.Status == "" && u.Date == nil && !u.Currency.Present && !u.AccountID.Present && !u.ContactID.Present &&
		!u.Payment.Present && u.Lines == nil && u.LinesCreate == nil && u.LinesUpdate == nil && u.LinesDelete == nil
}

// archives reports whether a change archives a transaction and does nothing else.
func (u *Update) archives() bool {
	other := *u
	other.Status = ""

	return u.Status == Inactive && other.describes()
}

// checkPayer refuses to touch the money of a transaction that is part of a return, with 400 paymentReturnInvolved, and
// of one that a provider was asked to pay, with 409 paymentAttempted, until that attempt is recovered. When the
// transaction is archived, a payment that waits for approval does not count as an attempt: it is canceled with the
// transaction. The transaction is locked, so no attempt begins meanwhile (RSN-38, RSN-39).
func checkPayer(ctx context.Context, tx *db.Tx, one id.ID, archive bool) error {
	by, err := loadPayer(ctx, tx, payerQuery{one, archive})
	if err != nil {
		return err
	}

	return by.refusal()
}

// payerQuery names a transaction and says whether it is going to be archived.
type payerQuery struct {
	id      id.ID
	archive bool
}

// payer says which record handles the money of a transaction: a return, a payment or none.
type payer string

// loadPayer loads which record handles the money of a transaction.
func loadPayer(ctx context.Context, tx *db.Tx, a payerQuery) (payer, error) {
	// A return counts on either side: the transaction that was returned and the one that books the return.
	by, err := db.Get[payer](ctx, tx, `
		select case
			when exists (select from payment_return where team_id = @team and transaction_id = @id)
				or exists (select from payment_return where team_id = @team and original_id = @id) then 'return'
			when exists (select from payment where team_id = @team and transaction_id = @id and recovered_at is null
				and not (@archive and status = 'awaitingApproval')) then 'payment'
			else '' end`, db.Args{"team": tx.Team, "id": a.id, "archive": a.archive})
	if err != nil {
		return "", fmt.Errorf("look for payments of a transaction: %w", err)
	}

	return by, nil
}

// refusal returns the error that refuses to touch the money, nil if nothing handles it.
func (p payer) refusal() error {
	switch p {
	case "return":
		return errReturned
	case "payment":
		return ErrAttempted
	}

	return nil
}

var errReturned = apierr.New(
	apierr.CodeBadRequest, apierr.ReasonPaymentReturnInvolved, "The transaction is part of a payment return",
)
