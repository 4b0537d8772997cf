package export

// pairs are the exports of the contract, in its order. A new path is a declaration of its own file and a line here.
func pairs() []Pair {
	return []Pair{
		Declare(transactionsCSV()),
		Declare(statementsPDF()),
		Declare(statementsPDFBatch()),
	}
}
