// Package export declares the exports of nouns that do not declare theirs. Package record/export serves them.
package export

import (
	"stayledger/domain/record/export"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the exports that nouns do not declare themselves. The box opens the tax identifiers of information
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
