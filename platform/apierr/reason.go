package apierr

import "slices"

// Reason names the business rule that refused a request. It is independent of the code and absent, the empty Reason,
// for access, authentication and integration errors. Rules ERR-03 to ERR-07.
type Reason string

// The reasons of the contract, in its order.
const (
	// ReasonAccountClassificationLocked: ledger classification cannot change.
	ReasonAccountClassificationLocked Reason = "accountClassificationLocked"
	// ReasonAccountConnectionAttached: account or bank feed already attached elsewhere.
	ReasonAccountConnectionAttached Reason = "accountConnectionAttached"
	// ReasonAccountInUse: account still used by records, recurring fees or an assignment.
	ReasonAccountInUse Reason = "accountInUse"
	// ReasonAlreadyPaid: bill or statement already has a payment.
	ReasonAlreadyPaid Reason = "alreadyPaid"
	// ReasonAmountExceedsReturnable: amount exceeds what can be returned or replaced.
	ReasonAmountExceedsReturnable Reason = "amountExceedsReturnable"
	// ReasonArchiveRequired: archive or return the original transaction first.
	ReasonArchiveRequired Reason = "archiveRequired"
	// ReasonBankAccountTooManyRecords: too many records to initialize in one request.
	ReasonBankAccountTooManyRecords Reason = "bankAccountTooManyRecords"
	// ReasonBankRecordInactive: bank record is excluded.
	ReasonBankRecordInactive Reason = "bankRecordInactive"
	// ReasonBankRecordNotCsvSource: only CSV-imported bank records can be permanently deleted.
	ReasonBankRecordNotCsvSource Reason = "bankRecordNotCsvSource"
	// ReasonBankRecordBankfeedSource: bank-feed records cannot be deleted; exclude them.
	ReasonBankRecordBankfeedSource Reason = "bankRecordBankfeedSource"
	// ReasonBankRecordReconciled: bank record is reconciled.
	ReasonBankRecordReconciled Reason = "bankRecordReconciled"
	// ReasonBankRecordRuleMatched: matched by a bank rule.
	ReasonBankRecordRuleMatched Reason = "bankRecordRuleMatched"
	// ReasonBankRecordUnassigned: not linked to a bank account.
	ReasonBankRecordUnassigned Reason = "bankRecordUnassigned"
	// ReasonBankRuleRunIncomplete: bank rule run has not finished.
	ReasonBankRuleRunIncomplete Reason = "bankRuleRunIncomplete"
	// ReasonBeforeStatementStartDate: date is before the team's statement start date.
	ReasonBeforeStatementStartDate Reason = "beforeStatementStartDate"
	// ReasonBooksClosed: date is in a closed books period.
	ReasonBooksClosed Reason = "booksClosed"
	// ReasonDailyGlSummaryDisabled: daily GL summary not enabled.
	ReasonDailyGlSummaryDisabled Reason = "dailyGlSummaryDisabled"
	// ReasonDuplicateLast4: last 4 digits used by another bank account or feed.
	ReasonDuplicateLast4 Reason = "duplicateLast4"
	// ReasonDuplicateName: name or code already used.
	ReasonDuplicateName Reason = "duplicateName"
	// ReasonDuplicateUniqueRef: record with this reference already exists.
	ReasonDuplicateUniqueRef Reason = "duplicateUniqueRef"
	// ReasonGeneralLedgerDisabled: team does not use the GL.
	ReasonGeneralLedgerDisabled Reason = "generalLedgerDisabled"
	// ReasonGeneralLedgerStartDateMissing: no GL or statement start date.
	ReasonGeneralLedgerStartDateMissing Reason = "generalLedgerStartDateMissing"
	// ReasonHistoricalImportPending: historical statement import not finished.
	ReasonHistoricalImportPending Reason = "historicalImportPending"
	// ReasonInUse: record still referenced; cannot be deleted.
	ReasonInUse Reason = "inUse"
	// ReasonLastAccessManager: team needs at least one access manager.
	ReasonLastAccessManager Reason = "lastAccessManager"
	// ReasonListingInGroup: set this value on the listing group instead.
	ReasonListingInGroup Reason = "listingInGroup"
	// ReasonListingInGroupAlready: listing already in a group.
	ReasonListingInGroupAlready Reason = "listingInGroupAlready"
	// ReasonListingInactive: listing inactive on the posting date.
	ReasonListingInactive Reason = "listingInactive"
	// ReasonListingMappingAmbiguous: A PMS listing matches more than one existing listing.
	ReasonListingMappingAmbiguous Reason = "listingMappingAmbiguous"
	// ReasonListingMappingRequired: A suggested PMS listing match must be confirmed or overridden.
	ReasonListingMappingRequired Reason = "listingMappingRequired"
	// ReasonMergeDryRunRequired: run the merge as a dry run first.
	ReasonMergeDryRunRequired Reason = "mergeDryRunRequired"
	// ReasonMergePlanChanged: merge plan changed since the dry run.
	ReasonMergePlanChanged Reason = "mergePlanChanged"
	// ReasonNotBankAccount: account is not a bank account.
	ReasonNotBankAccount Reason = "notBankAccount"
	// ReasonOpeningBalanceUpdateInProgress: opening balance being updated; retry.
	ReasonOpeningBalanceUpdateInProgress Reason = "openingBalanceUpdateInProgress"
	// ReasonOpeningTrialBalanceLocked: opening trial balance is locked.
	ReasonOpeningTrialBalanceLocked Reason = "openingTrialBalanceLocked"
	// ReasonOperationsAccountingDisabled: operations Accounting not enabled.
	ReasonOperationsAccountingDisabled Reason = "operationsAccountingDisabled"
	// ReasonPaymentAccountRequiresMarkPaid: credential can record a payment only without a funding account or bank
	// records.
	ReasonPaymentAccountRequiresMarkPaid Reason = "paymentAccountRequiresMarkPaid"
	// ReasonPaymentAttempted: an ACH payment was already attempted.
	ReasonPaymentAttempted Reason = "paymentAttempted"
	// ReasonPaymentReturnInvolved: transaction is part of a payment return.
	ReasonPaymentReturnInvolved Reason = "paymentReturnInvolved"
	// ReasonPaymentReturnNotEligible: payout cannot be returned.
	ReasonPaymentReturnNotEligible Reason = "paymentReturnNotEligible"
	// ReasonBankfeedReplacementUnavailable: replacement feed or target no longer available.
	ReasonBankfeedReplacementUnavailable Reason = "bankfeedReplacementUnavailable"
	// ReasonPmsAccountingStartMissing: PMS connection has no accounting start date.
	ReasonPmsAccountingStartMissing Reason = "pmsAccountingStartMissing"
	// ReasonPreviousStatementsOpen: earlier statements must be published first.
	ReasonPreviousStatementsOpen Reason = "previousStatementsOpen"
	// ReasonProviderPaymentRecoveryInProgress: payment recovery already running.
	ReasonProviderPaymentRecoveryInProgress Reason = "providerPaymentRecoveryInProgress"
	// ReasonProviderPaymentRecoveryUnavailable: payment recovery not available for the transaction.
	ReasonProviderPaymentRecoveryUnavailable Reason = "providerPaymentRecoveryUnavailable"
	// ReasonPayProviderAccountNotReady: funding, category or bank account of the payment provider not ready.
	ReasonPayProviderAccountNotReady Reason = "payProviderAccountNotReady"
	// ReasonPayProviderConnectionInactive: payment provider connection not active.
	ReasonPayProviderConnectionInactive Reason = "payProviderConnectionInactive"
	// ReasonPayProviderPaymentNotSupported: provider cannot pay this transaction type.
	ReasonPayProviderPaymentNotSupported Reason = "payProviderPaymentNotSupported"
	// ReasonPayProviderRecipientNotReady: recipient has no ready ACH payment method.
	ReasonPayProviderRecipientNotReady Reason = "payProviderRecipientNotReady"
	// ReasonReconciliationAmountMismatch: bank record and transaction amounts differ.
	ReasonReconciliationAmountMismatch Reason = "reconciliationAmountMismatch"
	// ReasonReconciliationTransferMismatch: A transfer reconciles only to its source or destination bank record.
	ReasonReconciliationTransferMismatch Reason = "reconciliationTransferMismatch"
	// ReasonRequiredAccountMissing: required account assignment missing.
	ReasonRequiredAccountMissing Reason = "requiredAccountMissing"
	// ReasonReservationLocked: reservation locked by an accounting lock.
	ReasonReservationLocked Reason = "reservationLocked"
	// ReasonReservationUnmatched: source PMS reservation has no match on the target PMS.
	ReasonReservationUnmatched Reason = "reservationUnmatched"
	// ReasonSelfModification: cannot change or remove your own access.
	ReasonSelfModification Reason = "selfModification"
	// ReasonStatementAttachment: journal entries attached to an owner statement.
	ReasonStatementAttachment Reason = "statementAttachment"
	// ReasonStatementExists: owner statement already exists for the period.
	ReasonStatementExists Reason = "statementExists"
	// ReasonStatementFutureExists: A later owner statement exists.
	ReasonStatementFutureExists Reason = "statementFutureExists"
	// ReasonStatementHasBlockingIssues: statement has blocking issues.
	ReasonStatementHasBlockingIssues Reason = "statementHasBlockingIssues"
	// ReasonStatementHasPayouts: statement has linked payouts.
	ReasonStatementHasPayouts Reason = "statementHasPayouts"
	// ReasonStatementInReview: owner statements are in review.
	ReasonStatementInReview Reason = "statementInReview"
	// ReasonStatementNotReadyForPayment: statement not ready for payment.
	ReasonStatementNotReadyForPayment Reason = "statementNotReadyForPayment"
	// ReasonStatementPeriod: A published owner statement locks the period.
	ReasonStatementPeriod Reason = "statementPeriod"
	// ReasonStatementPublished: statement is published.
	ReasonStatementPublished Reason = "statementPublished"
	// ReasonTransactionInactive: transaction is archived.
	ReasonTransactionInactive Reason = "transactionInactive"
	// ReasonTransactionReconciled: transaction reconciled; unreconcile first.
	ReasonTransactionReconciled Reason = "transactionReconciled"
	// ReasonTransactionReconciledElsewhere: reconciled to another bank record.
	ReasonTransactionReconciledElsewhere Reason = "transactionReconciledElsewhere"
)

var reasons = []Reason{
	ReasonAccountClassificationLocked,
	ReasonAccountConnectionAttached,
	ReasonAccountInUse,
	ReasonAlreadyPaid,
	ReasonAmountExceedsReturnable,
	ReasonArchiveRequired,
	ReasonBankAccountTooManyRecords,
	ReasonBankRecordInactive,
	ReasonBankRecordNotCsvSource,
	ReasonBankRecordBankfeedSource,
	ReasonBankRecordReconciled,
	ReasonBankRecordRuleMatched,
	ReasonBankRecordUnassigned,
	ReasonBankRuleRunIncomplete,
	ReasonBeforeStatementStartDate,
	ReasonBooksClosed,
	ReasonDailyGlSummaryDisabled,
	ReasonDuplicateLast4,
	ReasonDuplicateName,
	ReasonDuplicateUniqueRef,
	ReasonGeneralLedgerDisabled,
	ReasonGeneralLedgerStartDateMissing,
	ReasonHistoricalImportPending,
	ReasonInUse,
	ReasonLastAccessManager,
	ReasonListingInGroup,
	ReasonListingInGroupAlready,
	ReasonListingInactive,
	ReasonListingMappingAmbiguous,
	ReasonListingMappingRequired,
	ReasonMergeDryRunRequired,
	ReasonMergePlanChanged,
	ReasonNotBankAccount,
	ReasonOpeningBalanceUpdateInProgress,
	ReasonOpeningTrialBalanceLocked,
	ReasonOperationsAccountingDisabled,
	ReasonPaymentAccountRequiresMarkPaid,
	ReasonPaymentAttempted,
	ReasonPaymentReturnInvolved,
	ReasonPaymentReturnNotEligible,
	ReasonBankfeedReplacementUnavailable,
	ReasonPmsAccountingStartMissing,
	ReasonPreviousStatementsOpen,
	ReasonProviderPaymentRecoveryInProgress,
	ReasonProviderPaymentRecoveryUnavailable,
	ReasonPayProviderAccountNotReady,
	ReasonPayProviderConnectionInactive,
	ReasonPayProviderPaymentNotSupported,
	ReasonPayProviderRecipientNotReady,
	ReasonReconciliationAmountMismatch,
	ReasonReconciliationTransferMismatch,
	ReasonRequiredAccountMissing,
	ReasonReservationLocked,
	ReasonReservationUnmatched,
	ReasonSelfModification,
	ReasonStatementAttachment,
	ReasonStatementExists,
	ReasonStatementFutureExists,
	ReasonStatementHasBlockingIssues,
	ReasonStatementHasPayouts,
	ReasonStatementInReview,
	ReasonStatementNotReadyForPayment,
	ReasonStatementPeriod,
	ReasonStatementPublished,
	ReasonTransactionInactive,
	ReasonTransactionReconciled,
	ReasonTransactionReconciledElsewhere,
}

// Reasons lists the reasons in the contract's order. Warnings such as insufficientOwnerFunds are none.
func Reasons() []Reason {
	return slices.Clone(reasons)
}
