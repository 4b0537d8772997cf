package account

import (
	"context"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Assignment is a part that an account plays in the books; at most one account of the team has each.
type Assignment string

// The assignments, in the contract's order.
const (
	AccountsPayable      Assignment = "accountsPayable"
	AccountsReceivable   Assignment = "accountsReceivable"
	CancellationRevenue  Assignment = "cancellationRevenue"
	DeferredRevenue      Assignment = "deferredRevenue"
	DepositChannelFee    Assignment = "deposit_channelFee"
	DepositCoHostPayout  Assignment = "deposit_coHostPayout"
	DepositMerchantFee   Assignment = "deposit_merchantFee"
	DepositReserve       Assignment = "deposit_reserve"
	DepositVAT           Assignment = "deposit_vat"
	DueToFromTrust       Assignment = "dueToFromTrust"
	ExpenseMarkup        Assignment = "expense_markup"
	ExpenseReimbursement Assignment = "expense_reimbursement"
	ExpenseSalesTax      Assignment = "expense_salesTax"
	OpeningBalance       Assignment = "openingBalance"
	PayoutBankAccount    Assignment = "payout_bankAccount"
	PayoutDistribution   Assignment = "payout_distribution"
	TransferOwnerPayout  Assignment = "transfer_ownerPayout"
)

// Enum lists the assignments.
func (Assignment) Enum() []string {
	return []string{
		string(AccountsPayable), string(AccountsReceivable), string(CancellationRevenue), string(DeferredRevenue),
		string(DepositChannelFee), string(DepositCoHostPayout), string(DepositMerchantFee), string(DepositReserve),
		string(DepositVAT), string(DueToFromTrust), string(ExpenseMarkup), string(ExpenseReimbursement),
		string(ExpenseSalesTax), string(OpeningBalance), string(PayoutBankAccount), string(PayoutDistribution),
		string(TransferOwnerPayout),
	}
}

// needsBank reports whether only a bank account can play the part, because money leaves from it.
func (a Assignment) needsBank() bool { return a == PayoutBankAccount || a == TransferOwnerPayout }

// ErrNotBank refuses an account from or to which no money can move.
var ErrNotBank = apierr.New(apierr.CodeBadRequest, apierr.ReasonNotBankAccount, "Account is not a bank account")

// ErrRequiredMissing is a part of the books without an assigned account.
var ErrRequiredMissing = apierr.New(
	apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing, "A required account assignment is missing",
)

// Missing names the assignments that the caller has to make first.
type Missing struct {
	Assignments []Assignment `json:"assignments"`
}

// LoadAssigned loads the account of each assignment that the team has made; others are absent.
func LoadAssigned(ctx context.Context, tx *db.Tx) (map[Assignment]id.ID, error) {
	b, err := LoadBooks(ctx, tx)
	if err != nil {
		return nil, err
	}

	return b.Assigned, nil
}

// Require refuses if a needed assignment has no account: 400 with the reason requiredAccountMissing and the context
// Missing, in the order asked for.
func Require(have map[Assignment]id.ID, need ...Assignment) error {
	var missing []Assignment
	for _, a := range need {
		if have[a].IsZero() && !slices.Contains(missing, a) {
			missing = append(missing, a)
		}
	}

	if missing == nil {
		return nil
	}

	return ErrRequiredMissing.With(Missing{missing})
}

// Reassignments returns the assignments in which two states of a team differ, in the order of their names.
func Reassignments(before, after map[Assignment]id.ID) []ledger.Reassigned {
	var out []ledger.Reassigned

	for _, name := range Assignment("").Enum() {
		if a := Assignment(name); before[a] != after[a] {
			out = append(out, ledger.Reassigned{Assignment: name, From: before[a], To: after[a]})
		}
	}

	return out
}

// OutdateJournals marks the journals as stale that look up the changed assignments, and has them derived.
func OutdateJournals(ctx context.Context, tx *db.Tx, journals ledger.Sources, changed []ledger.Reassigned) error {
	if changed == nil {
		return nil
	}

	return journals.Outdate(ctx, tx, ledger.Basis{Assignments: changed}, ledger.Outdated{
		Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Team, ID: tx.Team},
	})
}
