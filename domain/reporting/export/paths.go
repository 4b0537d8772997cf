package export

// pairs returns the exports of the contract in its order, and those beyond it. To add a path, write a declaration
// in its own file and add a line here.
func pairs(c Config) []Pair {
	return []Pair{
		Declare(accountsCSV()),
		Declare(bankRecordsCSV()),
		Declare(contactsCSV()),
		Declare(listingsCSV()),
		Declare(reservationsCSV()),
		Declare(mappingsCSV()),
		Declare(transactionsCSV()),
		Declare(statementsCSV()),
		Declare(statementLinesCSV()),
		Declare(statementPeriodsCSV()),
		Declare(statementsPDF()),
		Declare(statementsPDFBatch()),
		Declare(guestBalancesCSV()),
		Declare(profitCSV()),
		Declare(balanceSheetCSV()),
		Declare(trialBalanceCSV()),
		Declare(journalEntriesCSV()),
		Declare(managerStatementsCSV()),
		Declare(managerStatementCSV()),
		Declare(managerStatementPDF()),
		Declare(managerStatementsPDF()),
		Declare(managerEntriesCSV()),
		Declare(trustCSV()),
		Declare(trustByListingCSV()),
		Declare(trustPDF()),
		Declare(trustByListingPDF()),
		Declare(summariesCSV()),
		Declare(summaryPartsCSV()),
		DeclareAt[queuedRows](summaryDetailCSV()),
		DeclareAt[queuedDocument](summaryDetailPDF()),
		Declare(summariesPDF()),
		Declare(salesTaxCSV()),
		Declare(informationReturnsCSV(c.Box)),
	}
}
