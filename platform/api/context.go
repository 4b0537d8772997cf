package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// ErrorContext has every field that the context of a failure can have. The tag with names the reasons that carry a
// field, or the codes of failures without a reason. No failure carries all of them: the answers of tests are held to
// this list.
type ErrorContext struct {
	// Access.
	RequiredScopes   []string `json:"requiredScopes,omitempty"   with:"FORBIDDEN"           doc:"The scopes that the credential lacks, or one of which it needs."`
	RequiredTeamType *string  `json:"requiredTeamType,omitempty" with:"FORBIDDEN"           doc:"The type of team that the route is for."`
	SelectedTeamID   *id.ID   `json:"selectedTeamId,omitempty"   with:"FORBIDDEN"           doc:"The team that the request selected."`
	SelectedTeamType *string  `json:"selectedTeamType,omitempty" with:"FORBIDDEN"           doc:"The type of that team."`
	PartnerTeamID    *id.ID   `json:"partnerTeamId,omitempty"    with:"FORBIDDEN"           doc:"The team to select instead; null if it has no partner." nullable:"true"`
	DataRegion       *string  `json:"dataRegion,omitempty"       with:"MISDIRECTED_REQUEST" doc:"The region of the data."`
	APIBaseURL       *string  `json:"apiBaseUrl,omitempty"       with:"MISDIRECTED_REQUEST" doc:"The address to send the request to; null if no deployment serves the region." nullable:"true"`
	TeamID           *id.ID   `json:"teamId,omitempty"           with:"MISDIRECTED_REQUEST" doc:"The team to select there."`

	// The record that has what the request wanted.
	ID           *id.ID `json:"id,omitempty"           with:"duplicateUniqueRef duplicateName CONFLICT" doc:"The record that has the reference or the name."`
	ConnectionID *id.ID `json:"connectionId,omitempty" with:"CONFLICT"                    doc:"The connection that has the account."`

	// Locks and use.
	LockReason        *string   `json:"lockReason,omitempty"        with:"booksClosed statementPeriod statementAttachment statementPublished statementInReview reservationLocked openingTrialBalanceLocked selfModification" doc:"What holds the record: statement, a saved owner statement, or period, closed books."`
	LockReasons       *[]string `json:"lockReasons,omitempty"       with:"inUse accountInUse openingTrialBalanceLocked BAD_REQUEST" doc:"What refers to the record."`
	SuggestedOnLocked *string   `json:"suggestedOnLocked,omitempty" with:"inUse accountInUse BAD_REQUEST" doc:"A value of the parameter onLocked with which the request works."`
	SuggestedOnLast   *string   `json:"suggestedOnLast,omitempty"   with:"inUse" doc:"A value of the parameter onLast with which the request works."`
	BooksClosedAt     *day.Day  `json:"booksClosedAt,omitempty"     with:"booksClosed reservationLocked openingTrialBalanceLocked" doc:"The first day that is open to the caller."`
	SoftClosedAt      *day.Day  `json:"softClosedAt,omitempty"      with:"booksClosed reservationLocked openingTrialBalanceLocked" doc:"The same day, when named users may still post before it."`
	StatementStartAt  *day.Day  `json:"statementStartAt,omitempty"  with:"beforeStatementStartDate" doc:"The first day of owner statements."`
	StatementIDs      *[]id.ID  `json:"statementIds,omitempty"      with:"statementExists statementPeriod statementAttachment statementPublished statementInReview statementNotReadyForPayment statementHasPayouts statementHasBlockingIssues alreadyPaid archiveRequired paymentAttempted reservationLocked" doc:"The owner statements in the way."`
	TransactionIDs    *[]id.ID  `json:"transactionIds,omitempty"    with:"alreadyPaid statementHasPayouts archiveRequired" doc:"The transactions in the way."`
	TransactionID     *id.ID    `json:"transactionId,omitempty"     with:"alreadyPaid paymentAttempted" doc:"The transaction in the way."`
	BankRecordIDs     *[]id.ID  `json:"bankRecordIds,omitempty"     with:"bankRecordReconciled transactionReconciled transactionReconciledElsewhere" doc:"The bank records in the way."`
	ListingIDs        *[]id.ID  `json:"listingIds,omitempty"        with:"inUse" doc:"The listings that use the record."`
	ReservationIDs    *[]id.ID  `json:"reservationIds,omitempty"    with:"reservationLocked" doc:"The reservations in the way."`
	ReversedByID      *id.ID    `json:"reversedById,omitempty"      with:"CONFLICT inUse" doc:"The journal that reverses this one."`

	ConflictingPeriodIDs *[]id.ID  `json:"conflictingPeriodIds,omitempty" with:"CONFLICT" doc:"The ownership periods in the way."`
	OwnershipPeriodIDs   *[]id.ID  `json:"ownershipPeriodIds,omitempty"   with:"BAD_REQUEST" doc:"The ownership periods without an owner."`
	OwnershipPeriodID    *id.ID    `json:"ownershipPeriodId,omitempty"    with:"CONFLICT" doc:"The ownership period whose money it is."`
	AccountIDs           *[]id.ID  `json:"accountIds,omitempty"           with:"duplicateLast4" doc:"The bank accounts with these digits."`
	AccountConnectionIDs *[]id.ID  `json:"accountConnectionIds,omitempty" with:"duplicateLast4" doc:"The account connections with these digits."`
	LastDigits           *string   `json:"lastDigits,omitempty"           with:"duplicateLast4" doc:"The last digits that are there already."`
	AccountID            *id.ID    `json:"accountId,omitempty"            with:"accountConnectionAttached" doc:"The bank account that is attached."`
	AccountConnectionID  *id.ID    `json:"accountConnectionId,omitempty"  with:"accountConnectionAttached" doc:"The account connection that is attached."`
	Assignments          *[]string `json:"assignments,omitempty"         with:"requiredAccountMissing" doc:"The assignments without an account."`
	Currencies           *[]string `json:"currencies,omitempty"          with:"BAD_REQUEST" doc:"The currencies without a trust account."`

	// Work under way.
	JournalStatus *string  `json:"journalStatus,omitempty" with:"JOURNAL_RECALCULATION_PENDING" doc:"The state of the journals: stale, recalculating or failed."`
	JournalReason *string  `json:"journalReason,omitempty" with:"JOURNAL_RECALCULATION_PENDING" doc:"Why they are not current." nullable:"true"`
	JournalAction *string  `json:"journalAction,omitempty" with:"JOURNAL_RECALCULATION_PENDING" doc:"What brings them up to date: wait or refresh."`
	OperationIDs  *[]id.ID `json:"operationIds,omitempty"  with:"JOURNAL_RECALCULATION_PENDING historicalImportPending" doc:"The operations to wait for."`
	OperationID   *id.ID   `json:"operationId,omitempty"   with:"LOCKED bankRuleRunIncomplete providerPaymentRecoveryInProgress" doc:"The operation under way."`
	Reservations  *int64   `json:"reservations,omitempty"  with:"JOURNAL_RECALCULATION_PENDING" doc:"How many reservations wait."`
	Transactions  any      `json:"transactions,omitempty"  with:"JOURNAL_RECALCULATION_PENDING UNPROCESSABLE_CONTENT" doc:"How many transactions wait; of a historical import, those that do not balance, each with txnRef and difference."`

	// What to do before.
	BlockingStatementID      *id.ID   `json:"blockingStatementId,omitempty"      with:"previousStatementsOpen statementFutureExists" doc:"The statement in the way."`
	BlockingStatementStartAt *day.Day `json:"blockingStatementStartAt,omitempty" with:"previousStatementsOpen statementFutureExists" doc:"Its first day."`
	BlockingStatementStatus  *string  `json:"blockingStatementStatus,omitempty"  with:"previousStatementsOpen statementFutureExists" doc:"Its status."`
	NextAction               *string  `json:"nextAction,omitempty"               with:"previousStatementsOpen statementFutureExists" doc:"What to do before: publishPreviousStatements or returnStatementsToDraft."`
	Moves                    *[]any   `json:"moves,omitempty"                    with:"statementAttachment booksClosed historicalImportPending CONFLICT" doc:"How many records name the one that would go, by kind."`
	Issues                   *[]any   `json:"issues,omitempty"                   with:"statementHasBlockingIssues" doc:"What is wrong: the issues of the statement, or those of the item of a batch."`

	// Payments.
	Reason            *string      `json:"reason,omitempty"            with:"CONFLICT BAD_REQUEST EXPORT_REQUIRES_POST" doc:"What was found, more closely than the code says. It is no reason of the failure itself."`
	Cause             *string      `json:"cause,omitempty"             with:"payProviderRecipientNotReady payProviderPaymentNotSupported" doc:"Why the payment is not possible."`
	Status            *string      `json:"status,omitempty"            with:"CONFLICT" doc:"The status of the record."`
	Type              *string      `json:"type,omitempty"              with:"payProviderPaymentNotSupported" doc:"The type of the transaction."`
	ContactID         *id.ID       `json:"contactId,omitempty"         with:"payProviderPaymentNotSupported" doc:"Who would be paid."`
	ContactIDs        *[]id.ID     `json:"contactIds,omitempty"        with:"payProviderRecipientNotReady" doc:"Who cannot be paid."`
	DestinationSince  *day.Instant `json:"destinationSince,omitempty"  with:"payProviderRecipientNotReady" doc:"Since when the payment method is there as it is."`
	DestinationBy     *id.ID       `json:"destinationBy,omitempty"     with:"payProviderRecipientNotReady" doc:"The user who added or changed it." nullable:"true"`
	FreeAt            *string      `json:"freeAt,omitempty"            with:"payProviderRecipientNotReady CONFLICT" doc:"From when on it can be paid to, or the day on which the rest of the money is free." nullable:"true"`
	Amount            *money.Cents `json:"amount,omitempty"            with:"payProviderPaymentNotSupported" doc:"The amount that was asked for."`
	Date              *day.Day     `json:"date,omitempty"              with:"payProviderPaymentNotSupported CONFLICT" doc:"The day of the payment, or the first day in the way." nullable:"true"`
	Period            *string      `json:"period,omitempty"            with:"CONFLICT" doc:"The period by which the day was taken."`
	Currency          *string      `json:"currency,omitempty"          with:"CONFLICT payProviderPaymentNotSupported" doc:"The currency of the amounts."`
	Requested         *money.Cents `json:"requested,omitempty"         with:"CONFLICT" doc:"The amount that was asked for."`
	Available         *money.Cents `json:"available,omitempty"         with:"CONFLICT" doc:"What the owners have; null when it was not the question." nullable:"true"`
	Collected         *money.Cents `json:"collected,omitempty"         with:"CONFLICT" doc:"What of it was collected; null when it was not the question." nullable:"true"`
	FundingBalance    *money.Cents `json:"fundingBalance,omitempty"    with:"CONFLICT" doc:"What the funding account holds."`
	FundingAccountID  *id.ID       `json:"fundingAccountId,omitempty"  with:"CONFLICT" doc:"The account that the money would leave."`
	Limit             *string      `json:"limit,omitempty"             with:"CONFLICT" doc:"The limit of the team: perPayment or perDay."`
	Allowed           *money.Cents `json:"allowed,omitempty"           with:"CONFLICT" doc:"What the limit allows."`
	Asked             *money.Cents `json:"asked,omitempty"             with:"CONFLICT" doc:"What was asked for earlier on the same day."`
	Balance           *string      `json:"balance,omitempty"           with:"CONFLICT" doc:"Whose money is not enough: owner or fundingAccount."`
	Released          *money.Cents `json:"released,omitempty"          with:"CONFLICT" doc:"What of the money is free before that."`
	Left              *money.Cents `json:"left,omitempty"              with:"amountExceedsReturnable" doc:"What can still be returned."`
	BankRecordAmount  *money.Cents `json:"bankRecordAmount,omitempty"  with:"reconciliationAmountMismatch" doc:"What of the bank record is open."`
	TransactionAmount *money.Cents `json:"transactionAmount,omitempty" with:"reconciliationAmountMismatch" doc:"What the transactions come to."`
	Difference        *money.Cents `json:"difference,omitempty"        with:"UNPROCESSABLE_CONTENT" doc:"By how much debits exceed credits; negative when credits do."`
	TxnRefs           *[]string    `json:"txnRefs,omitempty"           with:"CONFLICT" doc:"The references that are there already."`

	// Imports of files.
	FaultyRows    *int64  `json:"faultyRows,omitempty"    with:"CONFLICT" doc:"Rows that are faulty."`
	UndecidedRows *int64  `json:"undecidedRows,omitempty" with:"CONFLICT" doc:"Rows that a person has to decide about."`
	Column        *int64  `json:"column,omitempty"        with:"CONFLICT" doc:"The column of the file that reads both ways, from 1."`
	Header        *string `json:"header,omitempty"        with:"CONFLICT" doc:"Its header."`
	MaxRows       *int64  `json:"maxRows,omitempty"       with:"CONFLICT" doc:"How many rows can be imported all or none."`

	// Bounds and forms.
	RecommendedMethod *string `json:"recommendedMethod,omitempty" with:"EXPORT_REQUIRES_POST" doc:"The method with which the selection can be exported."`
	Revision          *int64  `json:"revision,omitempty"       with:"AUDIT_EVENT_REVISED" doc:"The latest revision."`
	MaxRules          *int64  `json:"maxRules,omitempty"       with:"BAD_REQUEST" doc:"How many rules a team can have."`
	MaxRecords        *int64  `json:"maxRecords,omitempty"     with:"bankAccountTooManyRecords" doc:"How many records one request can touch."`
	SuggestedLimit    *int64  `json:"suggestedLimit,omitempty" with:"BAD_REQUEST" doc:"A value of the parameter limit with which the page fits."`
	Position          *int64  `json:"position,omitempty"       with:"BAD_REQUEST" doc:"Where the formula goes wrong, in characters from 1."`
	Problem           *string `json:"problem,omitempty"        with:"BAD_REQUEST" doc:"What is wrong there, to be shown."`
}

// carried lists the labels of the failures that carry each field of a context.
var carried = func() map[string][]string {
	by := map[string][]string{}

	for f := range reflect.TypeFor[ErrorContext]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		by[name] = strings.Fields(f.Tag.Get("with"))
	}

	return by
}()

// describeContext gives the object context of a schema its type. Each field names the failures that carry it.
func describeContext(r huma.Registry, holder *huma.Schema) {
	ref := r.Schema(reflect.TypeFor[ErrorContext](), true, "")
	holder.Properties["context"] = &huma.Schema{Ref: ref.Ref}

	s := r.SchemaFromRef(ref.Ref)
	s.Description = "Details that help to recover. Each field names the reasons that carry it, or the codes of failures without a reason."

	for name, labels := range carried {
		field := s.Properties[name]
		if with := " With `" + strings.Join(labels, "`, `") + "`."; !strings.HasSuffix(field.Description, with) {
			field.Description += with
		}
	}
}

// checkCarried returns an error for a field of a context that a failure of this label does not carry.
func checkCarried(label string, context map[string]any) error {
	for name := range context {
		if !slices.Contains(carried[name], label) {
			return fmt.Errorf("the context of %s has the field %s, which ErrorContext does not give it", label, name)
		}
	}

	return nil
}
