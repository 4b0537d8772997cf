// Package payout pays owner statements: it decides how much each member of an ownership is due, records the payouts as
// transactions, and asks a payment provider for those that one can make.
//
// A payout is a transaction with one line of the owners that names its statement; a negative one is paid in by the
// owner. The amount that is suggested for a statement is never more than the amount that is available on it and on
// every later published statement of its ownership period, since each of these contains the unpaid rest of the earlier
// ones. Statements that are paid are locked, so that the second of two requests sees the payouts of the first.
//
// The page docs/decisions/payout.md says what the contract leaves open and how it is answered here.
package payout

import (
	"stayledger/domain/settlement/payee"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Request names the statements to pay and how to pay them.
type Request struct {
	StatementIDs  []id.ID  `json:"statementIds" minItems:"1" maxItems:"5000" doc:"Published owner statements."`
	Date          *day.Day `json:"date,omitempty" doc:"Date of the payouts; today when absent. Through a provider from today (UTC) to 60 days ahead."`
	BankAccountID *id.ID   `json:"bankAccountId,omitempty" doc:"Bank account that pays. Absent: the owner's payoutAccountId, else the account assigned to payout_bankAccount; through a provider, before that one, the connection's own."`
	Amounts       []Amount `json:"amounts,omitempty" maxItems:"5000" doc:"Replace the suggestion of the statements that they name; members who are not named are paid nothing on these."`
	ConnectionID  *id.ID   `json:"connectionId,omitempty" doc:"Payment provider that makes the payouts to owners. Absent: payouts are recorded only."`
	// AllowOverdraft is about what a provider pays; recorded payouts are never refused for it.
	AllowOverdraft bool `json:"allowOverdraft,omitempty" doc:"Have the provider pay although it is more than what is available to the owners, or than what the funding account holds; needs the scope payments:override."`
}

// Amount is the amount that a member is paid on a statement, whatever is available on it.
type Amount struct {
	StatementID id.ID       `json:"statementId"`
	ContactID   id.ID       `json:"contactId" doc:"A member of the ownership period."`
	CentTotal   money.Cents `json:"centTotal" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents; negative when the owner pays in, 0 for no payout."`
}

// day returns the date of the payouts.
func (r *Request) day(tx *db.Tx) day.Day {
	if r.Date != nil {
		return *r.Date
	}

	return tx.Today()
}

// Resolve refuses statements that are named twice and amounts that belong to none of them.
func (r *Request) Resolve() []apierr.Issue {
	var issues []apierr.Issue

	// First the statements, since amounts must name one of them.
	selected := make(map[id.ID]bool, len(r.StatementIDs))
	for i, v := range r.StatementIDs {
		if selected[v] {
			issues = append(issues, apierr.IssueUnique.InBody("statementIds", i))
		}

		selected[v] = true
	}

	// Then the amounts: one for each member of a statement.
	type place struct{ statement, contact id.ID }

	given := map[place]bool{}

	for i := range r.Amounts {
		a := &r.Amounts[i]

		at := place{a.StatementID, a.ContactID}
		switch {
		case !selected[a.StatementID]:
			issues = append(issues, apierr.IssueNotSelected.InBody("amounts", i, "statementId"))
		case given[at]:
			issues = append(issues, apierr.IssueUnique.InBody("amounts", i, "contactId"))
		}

		given[at] = true
	}

	return issues[:min(len(issues), maxIssues)]
}

// maxIssues is the greatest number of statements that a refusal names one by one.
const maxIssues = 100

// Status is the state of a statement in a payout (OPEN-03).
type Status string

// The states.
const (
	Requested Status = "requested"
	Previewed Status = "previewed"
	Recorded  Status = "recorded"
	Skipped   Status = "skipped"
	Failed    Status = "failed"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Requested), string(Previewed), string(Recorded), string(Skipped), string(Failed)}
}

// Entry is the result for one statement.
type Entry struct {
	StatementID id.ID             `json:"statementId"`
	Status      Status            `json:"status"`
	Payouts     []Payout          `json:"payouts"`
	Message     string            `json:"message" doc:"A fixed text of the status and its cause."`
	Issues      []finding.Finding `json:"issues"`
}

// Payout is the amount that one member gets, or pays in.
type Payout struct {
	ContactID     id.ID        `json:"contactId"`
	Provider      *string      `json:"provider" doc:"App of the connection; null when the payout is recorded only."`
	Amount        money.Cents  `json:"amount" doc:"Cents; negative when the owner pays in."`
	TransactionID *id.ID       `json:"transactionId" doc:"Null in a preview."`
	Destination   *Destination `json:"destination" doc:"Where the provider pays to; null without a provider or a method."`
	PaymentID     *id.ID       `json:"paymentId" doc:"The provider payment; null without a provider."`
}

// Destination is the payment method that a provider pays to, with its age and author.
type Destination struct {
	ContactPaymentMethodID id.ID  `json:"contactPaymentMethodId"`
	Last4                  string `json:"last4" doc:"Of the account number."`
	payee.Destination
}

// The issues.
const (
	insufficientOwnerFunds   = "insufficientOwnerFunds"
	insufficientManagerFunds = "insufficientManagerFunds"
)
