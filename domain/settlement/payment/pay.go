package payment

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payee"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Pay says how a transaction is paid: over a connection, or, with nothing but a date, by hand.
type Pay struct {
	ConnectionID           api.Opt[id.ID]   `json:"connectionId,omitzero" doc:"The payment provider; absent: the money was paid by hand."`
	FundingAccountID       api.Opt[id.ID]   `json:"fundingAccountId,omitzero" doc:"The bank account that pays; absent: that of the payout, the connection's own or the one assigned to payout_bankAccount."`
	ContactPaymentMethodID api.Opt[id.ID]   `json:"contactPaymentMethodId,omitzero" doc:"Absent: the contact's default method."`
	Date                   api.Opt[day.Day] `json:"date,omitzero" doc:"When the money arrives, and the date of a bill's payment; required by hand, else today when absent. Through a provider from today (UTC) to 60 days ahead."`
	AllowOverdraft         bool             `json:"allowOverdraft,omitempty" doc:"Pay although it is more than what is available to the owner, or than what the funding account holds; needs the scope payments:override."`
}

type payInput struct {
	ID   id.ID `path:"id"`
	Body Pay
}

// payTransaction pays a bill or a payout. It answers with the acknowledgement of a payment that a provider is asked
// for, or with the bill that was paid by hand. A credential that may only record payments can give only a date
// (RSN-37).
func payTransaction(ctx context.Context, tx *db.Tx, in *payInput) (*operation.Answer[transaction.Transaction], error) {
	b := &in.Body
	if !tx.Actor.Has("transactions:pay") &&
		(b.ConnectionID.Present || b.FundingAccountID.Present || b.ContactPaymentMethodID.Present) {
		return nil, errRequiresMark
	}

	if err := CheckOverdraft(tx, b.AllowOverdraft); err != nil {
		return nil, err
	}

	// The lock on outgoing money comes before that of the transaction.
	if b.ConnectionID.Value != nil {
		if err := LockDecisions(ctx, tx); err != nil {
			return nil, err
		}
	}

	// From here on nothing else changes the transaction.
	t, err := transaction.Hold(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if t.Status != transaction.Active {
		return nil, transaction.ErrArchived
	}

	// Without a connection only the books change.
	if b.ConnectionID.Value == nil {
		return payByHand(ctx, tx, t, b)
	}

	if err := checkPayable(ctx, tx, t); err != nil {
		return nil, err
	}

	ack, err := b.request(ctx, tx, t)

	return &operation.Answer[transaction.Transaction]{Started: ack}, err
}

// payByHand books the payment of a bill. Other transactions, and paid bills, moved their money when they were
// booked, so they are refused.
func payByHand(ctx context.Context, tx *db.Tx, t *transaction.Transaction, b *Pay) (*operation.Answer[transaction.Transaction], error) {
	switch {
	case b.ContactPaymentMethodID.Value != nil:
		return nil, apierr.BadRequest.At(apierr.IssueConnectionRequired.InBody("contactPaymentMethodId"))
	case b.Date.Value == nil:
		return nil, apierr.BadRequest.At(apierr.IssueRequired.InBody("date"))

	// A payment through a provider explains better why the bill is paid.
	case t.PaidStatus == transaction.Paid:
		if err := lockUnattempted(ctx, tx, []id.ID{t.ID}); err != nil {
			return nil, err
		}

		return nil, ErrAlreadyPaid
	}

	if err := lockUnattempted(ctx, tx, []id.ID{t.ID}); err != nil {
		return nil, err
	}

	// Show the bill as it is after the booking.
	paid, err := transaction.BookPayment(ctx, tx, t.ID, &transaction.PaymentInput{
		Date:      *b.Date.Value,
		AccountID: b.FundingAccountID,
	})

	paid, err = transaction.ShowOne(ctx, tx, paid, err)
	if err != nil {
		return nil, moveIssues(err)
	}

	issues, err := transaction.CheckOverdraft(ctx, tx, paid)
	if err != nil {
		return nil, err
	}

	paid.Issues = append(paid.Issues, issues...)

	return &operation.Answer[transaction.Transaction]{Done: paid}, nil
}

// moveIssues changes the paths of issues about a bill's payment to those of this request's body. Errors with other
// paths stay as they are.
func moveIssues(err error) error {
	refusal, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		return err
	}

	// Only these errors name fields of the payment.
	var condition *apierr.Error

	switch refusal.Reason() { //nolint:exhaustive // the others have no path into the payment
	case "":
		condition = apierr.BadRequest
	case apierr.ReasonBeforeStatementStartDate:
		condition = transaction.ErrBeforeStart.With(refusal.Context())
	case apierr.ReasonNotBankAccount:
		condition = transaction.ErrNotBank
	}

	// One issue with an unknown path, and the error is returned unchanged.
	issues := refusal.Issues()
	for i := range issues {
		if len(issues[i].Path) != 2 || issues[i].Path[0] != "payment" {
			return err
		}

		issues[i].Path = []any{map[any]string{"accountId": "fundingAccountId", "date": "date"}[issues[i].Path[1]]}
	}

	if condition == nil || len(issues) == 0 {
		return err
	}

	return condition.At(issues...)
}

// checkPayable refuses transactions that no provider pays (RSN-04, RSN-38, RSN-48).
func checkPayable(ctx context.Context, tx *db.Tx, t *transaction.Transaction) error {
	switch context := map[string]any{"currency": t.Currency, "amount": t.Total, "type": t.Type}; {
	case t.Type != transaction.Expense && t.Type != transaction.Payout:
		context["cause"] = "typeNotSupported"
		return errNotSupported.With(context)
	case t.Currency != "usd":
		context["cause"] = causeCurrency
		return errNotSupported.With(context)
	case t.Total <= 0:
		context["cause"] = causeAmount
		return errNotSupported.With(context)
	}

	// First earlier attempts, since they explain why a bill counts as paid.
	if err := lockUnattempted(ctx, tx, []id.ID{t.ID}); err != nil {
		return err
	}

	if t.Type == transaction.Expense && t.PaidStatus == transaction.Paid {
		return ErrAlreadyPaid
	}

	return nil
}

// request asks for the payment. A bill is booked as paid at once, in the same transaction, unless the payment waits
// for approval.
func (b *Pay) request(ctx context.Context, tx *db.Tx, t *transaction.Transaction) (*operation.Acknowledgement, error) {
	contact, err := loadRecipient(ctx, tx, t)
	if err != nil {
		return nil, err
	}

	// A payout is already booked on an account, which has to pay it.
	funding := id.Zero
	if b.FundingAccountID.Value != nil {
		funding = *b.FundingAccountID.Value
	} else if t.Type == transaction.Payout {
		funding = t.AccountID
	}

	// Then the connection, the account and the recipient's method.
	d, err := LoadPayer(ctx, tx, *b.ConnectionID.Value, funding, []id.ID{contact})
	if err != nil {
		return nil, err
	}

	if t.Type == transaction.Payout && d.FundingAccountID != t.AccountID {
		return nil, apierr.BadRequest.At(apierr.IssueAccountMismatch.InBody("fundingAccountId"))
	}

	if b.ContactPaymentMethodID.Value != nil {
		if err := d.chooseMethod(ctx, tx, contact, *b.ContactPaymentMethodID.Value); err != nil {
			return nil, err
		}
	}

	// The checks run in the order that the documentation of the endpoint gives.
	at := tx.Today()
	if b.Date.Value != nil {
		at = *b.Date.Value
	}

	orders := []Order{{TransactionID: t.ID, ContactID: contact, Amount: t.Total, Currency: t.Currency, Date: at}}
	if err := CheckDate(tx, at); err != nil {
		return nil, err
	}

	if err := d.checkOrders(orders); err != nil {
		return nil, err
	}

	// Funds and limits come last, because they change all the time.
	claims, err := loadClaims(ctx, tx, []id.ID{t.ID})
	if err != nil {
		return nil, err
	}

	claims[0].FundingAccountID, claims[0].LeavesOn = d.FundingAccountID, at

	found, limits, err := CheckFunds(ctx, tx, claims, b.AllowOverdraft)
	if err != nil {
		return nil, err
	}

	if err := firstRefusal(found); err != nil {
		return nil, err
	}

	// Now write the payment.
	_, tasks, err := d.Request(ctx, tx, orders, Terms{limits, b.AllowOverdraft})
	if err != nil {
		return nil, err
	}

	// A bill stays open while its payment waits.
	if t.Type == transaction.Expense && !limits.waits(t.Total, t.Currency) {
		if _, err := transaction.BookPayment(ctx, tx, t.ID, &transaction.PaymentInput{
			Date:      at,
			AccountID: api.Set(d.FundingAccountID),
		}); err != nil {
			return nil, moveIssues(err)
		}
	}

	// Last, the operation that sends it.
	target := operation.Resource{Type: operation.Transaction, ID: t.ID, Role: operation.Target}

	return operation.Start(ctx, tx, operation.New{
		Type:    operation.ProviderPayment,
		Primary: &target,
		Resources: []operation.Resource{target, {
			Type: operation.Connection,
			ID:   d.Connection.ID,
			Role: operation.Source,
		}},
		Tasks: tasks,
	})
}

// maxAhead is how many days ahead a provider can be asked to pay: today's funds say little about those of a later
// quarter.
const maxAhead = 60

// CheckDate refuses a date in the past and one too far ahead, for money that is still to leave.
func CheckDate(tx *db.Tx, at day.Day) error {
	switch today := tx.Today(); {
	case at.Before(today):
		return apierr.BadRequest.At(apierr.IssueDateInPast.InBody("date"))
	case at.After(today.AddDays(maxAhead)):
		return apierr.BadRequest.At(apierr.IssueDateOutOfRange.InBody("date"))
	}

	return nil
}

// loadRecipient returns the contact that a transaction pays: its own, else that of its only line. It fails with
// errVendorOwner unless the contact is a vendor or an owner.
func loadRecipient(ctx context.Context, tx *db.Tx, t *transaction.Transaction) (id.ID, error) {
	contact := t.ContactID
	if contact == nil && len(t.Lines) == 1 {
		contact = t.Lines[0].ContactID
	}

	if contact == nil {
		return id.Zero, errVendorOwner
	}

	// Contacts of other types are not paid through a provider.
	kind, err := db.Get[string](ctx, tx, `select type from contact where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": *contact})
	if err != nil {
		return id.Zero, fmt.Errorf("read the recipient of a payment: %w", err)
	}

	if kind != "vendor" && kind != "owner" {
		return id.Zero, errVendorOwner
	}

	return *contact, nil
}

// chooseMethod takes the named method instead of the contact's default. It fails if the method is unknown, or is not a
// verified one of the contact.
func (d *Payer) chooseMethod(ctx context.Context, tx *db.Tx, contact, method id.ID) error {
	// Lock it for sharing, so that the method is not rejected before the payment is written.
	m, err := payee.LockMethod(ctx, tx, method)
	switch {
	case errors.Is(err, apierr.NotFound):
		return notFoundAt("contactPaymentMethodId")
	case err != nil:
		return err
	case m.ContactID != contact || m.Status != payee.Verified:
		return errRecipient.With(map[string]any{"contactIds": []id.ID{contact}, "cause": causeNotVerified})
	}

	d.Methods = map[id.ID]payee.Method{contact: *m}

	return nil
}
