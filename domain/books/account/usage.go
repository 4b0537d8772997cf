package account

import (
	"stayledger/platform/apierr"
	"stayledger/platform/parts"
)

// newUsage returns the usage of accounts, with the reasons in the order in which they are reported. History alone does
// not keep an account active, but locked history and parts still played do.
func newUsage() *parts.Usage {
	return parts.NewUsage(
		"account",
		"journalEntries",
		"lockedJournalEntries",
		"reconciledTransactions",
		"transactions",
		"bankRecords",
		"recurringTemplates",
		"journals",
		"reservations",
		"adjustments",
		"recurringFees",
		"lineMappings",
		"assignments",
		"offsetAccounts",
		"payoutAccounts",
		"accountConnections",
		"payments",
	)
}

// checkDelete refuses to delete an account in use: ERR-72, ERR-73, ERR-74, RSN-03.
func checkDelete(used parts.Used) error {
	if used.Deletion == nil {
		return nil
	}

	// Archiving is suggested only if it would work.
	context := apierr.InUse{LockReasons: used.Deletion}
	if used.Archiving == nil {
		context.SuggestedOnLocked = apierr.Archive
	}

	return errInUse.With(context)
}

// checkArchive refuses to archive an account that still has an assignment, or with locked history.
func checkArchive(used parts.Used) error {
	if used.Archiving == nil {
		return nil
	}

	return errInUse.With(apierr.InUse{LockReasons: used.Archiving})
}
