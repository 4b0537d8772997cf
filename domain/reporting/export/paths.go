// Package export declares the exports of statements and reports. Lists declare theirs next to the list, and package
// record/export serves all of them.
//
// The page docs/decisions/export.md says what the contract leaves open and how it is answered here.
package export

import (
	"stayledger/domain/record/export"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the exports of statements and reports. The box opens the tax identifiers of information
// returns.
func Part(box *seal.Box) parts.Part {
	return parts.Part{Exports: []parts.Export{
		export.Declare(statementsCSV()),
		export.Declare(statementLinesCSV()),
		export.Declare(statementPeriodsCSV()),
		export.Declare(statementsPDF()),
		export.Declare(statementsPDFBatch()),
		export.Declare(guestBalancesCSV()),
		export.Declare(profitCSV()),
		export.Declare(balanceSheetCSV()),
		export.Declare(trialBalanceCSV()),
		export.Declare(journalEntriesCSV()),
		export.Declare(managerStatementsCSV()),
		export.Declare(managerStatementCSV()),
		export.Declare(managerStatementPDF()),
		export.Declare(managerStatementsPDF()),
		export.Declare(managerEntriesCSV()),
		export.Declare(trustCSV()),
		export.Declare(trustByListingCSV()),
		export.Declare(trustPDF()),
		export.Declare(trustByListingPDF()),
		export.Declare(summariesCSV()),
		export.Declare(summaryPartsCSV()),
		export.DeclareAt[queuedRows](summaryDetailCSV()),
		export.DeclareAt[queuedDocument](summaryDetailPDF()),
		export.Declare(summariesPDF()),
		export.Declare(salesTaxCSV()),
		export.Declare(informationReturnsCSV(box)),
	}}
}
