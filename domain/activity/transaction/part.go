package transaction

import "stayledger/platform/parts"

// Part returns what transactions add to the service: routes, tasks and tables.
func Part() parts.Part {
	return parts.Part{
		Endpoints: endpoints(),
		Handlers:  Source().Handlers(),
		Tables:    parts.Owns("transaction", "transaction_line"),
	}
}
