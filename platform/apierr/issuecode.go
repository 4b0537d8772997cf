package apierr

import (
	"slices"
	"strings"
)

var (
	issueMessages = map[IssueCode]string{}
	issueCodes    []IssueCode
)

// issue adds a code to the closed set, with the one sentence that is shown with it. A sentence holds no value of a
// request.
func issue(code IssueCode, message string) IssueCode {
	if !ValidIssueCode(string(code)) || issueMessages[code] != "" || message == "" || strings.Contains(message, "%") {
		panic("apierr: the issue code " + string(code) + " is malformed, there twice, or without a static sentence")
	}

	issueMessages[code] = message
	// Declarations are grouped by subject, while the description lists the codes by name.
	at, _ := slices.BinarySearch(issueCodes, code)
	issueCodes = slices.Insert(issueCodes, at, code)

	return code
}

// The form of a request: what the description says of it.
var (
	IssueArray                = issue("array", "Value is not a list")
	IssueBoolean              = issue("boolean", "Value is not true or false")
	IssueCursorMismatch       = issue("cursorMismatch", "Cursor does not belong to this request")
	IssueDate                 = issue("date", "Value is not a date")
	IssueDateRange            = issue("dateRange", "Value is not a date range")
	IssueDateTime             = issue("dateTime", "Value is not a date-time")
	IssueDuplicateField       = issue("duplicateField", "Field is given more than once")
	IssueDuplicateParameter   = issue("duplicateParameter", "Query parameter is given more than once")
	IssueEmail                = issue("email", "Value is not an e-mail address")
	IssueEmptyParameter       = issue("emptyParameter", "Query parameter has no value")
	IssueEnum                 = issue("enum", "Value is not one of the allowed values")
	IssueFields               = issue("fields", "Object has too few or too many fields")
	IssueIdempotencyKeyReused = issue("idempotencyKeyReused", "Key was used with another request")
	IssueInteger              = issue("integer", "Value is not an integer in the safe range")
	IssueItems                = issue("items", "List has too few or too many items")
	IssueLength               = issue("length", "Text is too short or too long")
	IssueMalformed            = issue("malformed", "Value is malformed")
	IssueMalformedQuery       = issue("malformedQuery", "Query is malformed")
	IssueNulCharacter         = issue("nulCharacter", "Text or field name holds a NUL character")
	IssueNumber               = issue("number", "Value is not a number")
	IssueObject               = issue("object", "Value is not an object")
	IssuePreconditionFailed   = issue("preconditionFailed", "Precondition is not met")
	IssueRange                = issue("range", "Value, or what it adds up to, is out of range")
	IssueRangeNotSatisfiable  = issue("rangeNotSatisfiable", "Range lies outside the file or is malformed")
	IssueRequired             = issue("required", "Required value is missing")
	IssueString               = issue("string", "Value is not text")
	IssueTooManyValues        = issue("tooManyValues", "Body holds too many values of free form")
	IssueUnique               = issue("unique", "Item is in the list twice")
	IssueUnknownField         = issue("unknownField", "Field is not known")
	IssueUnknownParameter     = issue("unknownParameter", "Query parameter is not declared")
	IssueUnknownVersion       = issue("unknownVersion", "Version is not known")
	IssueUnsafeNumber         = issue("unsafeNumber", "Number is outside the safe range or not in plain notation")
	IssueURL                  = issue("url", "Value is not an address")
	IssueUUID                 = issue("uuid", "Value is not a uuid, nor another value that is allowed here")
)

// What a value means: other values, and the records that it names.
var (
	IssueContradiction    = issue("contradiction", "Value contradicts another one, or what it is given for")
	IssueCurrency         = issue("currency", "Value is not the code of an active currency")
	IssueTimeZone         = issue("timeZone", "Value is not the name of a time zone")
	IssueCurrencyMismatch = issue("currencyMismatch", "Currency is not that of the records that go together here")
	IssueDateInPast       = issue("dateInPast", "Date is before today")
	IssueDateInFuture     = issue("dateInFuture", "Date or month lies in the future")
	IssueDateMismatch     = issue("dateMismatch", "Date is not that of the first entry")
	IssueDateOrder        = issue("dateOrder", "End does not come after the start")
	IssueDateOutOfRange   = issue("dateOutOfRange", "Date is too far back or too far ahead")
	IssueInactive         = issue("inactive", "Record is archived")
	IssueNotFound         = issue("notFound", "Record does not exist, or cannot be used here")
	IssueOverlap          = issue("overlap", "Periods overlap")
	IssueSelectionEmpty   = issue("selectionEmpty", "Nothing is selected")
	IssueTooMany          = issue("tooMany", "Answer would have too many columns")
	IssueTooManyLines     = issue("tooManyLines", "Rows have too many lines altogether")
	IssueZeroAmount       = issue("zeroAmount", "Amount is zero")
)

// Files.
var (
	IssueArchiveTooLarge         = issue("archiveTooLarge", "Document is too large when unpacked")
	IssueContentTypeNotSupported = issue(
		"contentTypeNotSupported",
		"Content is damaged or not of a type that is supported",
	)
	IssueEmptyFile     = issue("emptyFile", "File is empty")
	IssueImageTooLarge = issue("imageTooLarge", "Image has too many pixels")
)

// Accounts, fees, listings, people and connections.
var (
	IssueAccountClassificationLocked = issue("accountClassificationLocked", "Classification, ledger and currency of "+
		"an account in use cannot change")
	IssueAccountConnectionAttached = issue("accountConnectionAttached", "Account or bank feed is attached elsewhere")
	IssueAccountInactive           = issue("accountInactive", "Account is archived")
	IssueAddressNotAllowed         = issue("addressNotAllowed", "Address is not a public https address")
	IssueAlreadyConnected          = issue("alreadyConnected", "Account is that of another active connection")
	IssueBeforeBooksClosed         = issue("beforeBooksClosed", "Softly closed days come after the closed ones")
	IssueContactTypeLocked         = issue("contactTypeLocked", "An owner of a listing stays an owner")
	IssueDuplicateLast4            = issue(
		"duplicateLast4",
		"Last four digits are used by another bank account or feed",
	)
	IssueEmailMissing            = issue("emailMissing", "Contact has no e-mail address")
	IssueFormulaInvalid          = issue("formulaInvalid", "Formula is not valid")
	IssueListingInactive         = issue("listingInactive", "Listing is inactive on this date")
	IssueNonPostingAccount       = issue("nonPostingAccount", "Nothing is posted to this account")
	IssueNotBankAccount          = issue("notBankAccount", "Account is not a bank account")
	IssueNotMember               = issue("notMember", "Contact is not an owner of the statement")
	IssueNotOwner                = issue("notOwner", "Contact is not an owner")
	IssueOwnershipMembersMissing = issue("ownershipMembersMissing", "Ownership period has no members")
	IssueOwnershipPeriodMissing  = issue(
		"ownershipPeriodMissing",
		"Listing has no ownership period on all of these days",
	)
	IssueRoutingNumberInvalid = issue("routingNumberInvalid", "Routing number is not valid")
	IssueSameAccount          = issue("sameAccount", "Two different accounts are needed")
	IssueSplitSum             = issue("splitSum", "Splits do not sum to 100000")
)

// Migrations of legacy teams.
var (
	IssueAccountMappingRequired = issue("accountMappingRequired", "No account is known for lines of this legacy account")
	IssueSourceNotLegacy        = issue("sourceNotLegacy", "Team is no team without a general ledger")
)

// Stays, transactions and journals.
var (
	IssueAccountComputed          = issue("accountComputed", "The account that balances the rest is computed")
	IssueAssignmentMismatch       = issue("assignmentMismatch", "Account is not the one assigned")
	IssueAttachmentLinked         = issue("attachmentLinked", "Attachment is linked to another transaction")
	IssueAttachmentNotFound       = issue("attachmentNotFound", "Attachment is not known")
	IssueAttachmentsNotSupported  = issue("attachmentsNotSupported", "Only an expense has attachments")
	IssueBeforeStatementStartDate = issue("beforeStatementStartDate", "Date is before the statement start date")
	IssueExactlyOneLine           = issue("exactlyOneLine", "A transfer or payout has exactly one line")
	IssueLedgerMismatch           = issue("ledgerMismatch", "Bank account belongs to the other ledger")
	IssueLineTotalDeviation       = issue("lineTotalDeviation", "Lines do not add up to the total")
	IssueListingMismatch          = issue("listingMismatch", "Listing is not the one of the reservation or statement")
	IssueMarkupNotSupported       = issue(
		"markupNotSupported",
		"Only an expense that an owner bears carries a markup",
	)
	IssueNotHistorical              = issue("notHistorical", "Date is not before the general ledger start date")
	IssueOpeningBalanceNotSupported = issue("openingBalanceNotSupported", "An opening balance is a deposit")
	IssuePartyNotSupported          = issue("partyNotSupported", "What guests owe belongs to no party")
	IssuePatternInvalid             = issue("patternInvalid", "Pattern is not valid for its frequency or its days")
	IssuePaymentNotSupported        = issue("paymentNotSupported", "Only an expense is paid apart")
	IssuePaymentStatusMismatch      = issue(
		"paymentStatusMismatch",
		"Only an expense that is owed on a payable can be unpaid",
	)
	IssueReversalFixed         = issue("reversalFixed", "A reversal takes back what its original says")
	IssueStatementNotSupported = issue("statementNotSupported", "Only a payout pays an owner statement")
	IssueTaxNotSupported       = issue("taxNotSupported", "Only an expense carries a tax")
	IssueTooManyEntries        = issue("tooManyEntries", "Transaction has too many entries")
	IssueUnbalanced            = issue("unbalanced", "Debits and credits differ")
)

// Statements, layouts, payouts and payments.
var (
	IssueAccountMismatch             = issue("accountMismatch", "Account is not the one of the payout")
	IssueAccountNotSupported         = issue("accountNotSupported", "A payout is on the account of distributions")
	IssueAccountTwice                = issue("accountTwice", "Another column adds the account up for the same viewer")
	IssueConnectionNotSupported      = issue("connectionNotSupported", "Payouts are recorded without a provider")
	IssueAlreadyPaid                 = issue("alreadyPaid", "Already has a payment")
	IssueArchiveRequired             = issue("archiveRequired", "The original has to be archived or returned first")
	IssueConnectionRequired          = issue("connectionRequired", "A payment by hand has no payment method")
	IssueContactNotSupported         = issue("contactNotSupported", "Only a payout names a contact")
	IssueDuplicateLineRef            = issue("duplicateLineRef", "Reference names another line of the statement")
	IssueDuplicateUniqueRef          = issue("duplicateUniqueRef", "Reference belongs to another record")
	IssueImported                    = issue("imported", "An imported statement has no draft; delete it instead")
	IssueInsufficientFunds           = issue("insufficientFunds", "Payment takes more than there is")
	IssueJournalRecalculationPending = issue("journalRecalculationPending", "Journals are being recalculated")
	IssueLocked                      = issue("locked", "A locked section or column stays as it is")
	IssueNotPublished                = issue("notPublished", "Only a published statement is shown to owners")
	IssueNotSelected                 = issue("notSelected", "Statement is not one of those to pay")
	IssueNotStorable                 = issue("notStorable", "A draft is not stored")
	IssueOutsidePeriod               = issue("outsidePeriod", "Ownership period has no such statement in the month")
	IssuePaymentAttempted            = issue("paymentAttempted", "An ACH payment was already attempted")
	IssuePaymentLimitExceeded        = issue("paymentLimitExceeded", "Payment exceeds a limit of the team")
	IssueRing                        = issue("ring", "Columns build on each other in a ring")
	IssueSameLedger                  = issue("sameLedger", "Account belongs to the ledger that pays")
	IssueStatementExists             = issue("statementExists", "Days overlap those of another statement of the "+
		"ownership period")
	IssueStatementLayoutMissing = issue("statementLayoutMissing", "Listing has no statement layout and the "+
		"team has no default")
	IssueStatementNotReadyForPayment = issue("statementNotReadyForPayment", "Owner statement is not published")
)
