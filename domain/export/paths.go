package export

// pairs are the exports of the contract, in its order, and those beyond it. A new path is a declaration of its own file and a line here.
func pairs(c Config) []Pair {
	return []Pair{
		Declare(transactionsCSV()),
		Declare(statementsPDF()),
		Declare(statementsPDFBatch()),
		Declare(informationReturnsCSV(c.Box)),
	}
}
