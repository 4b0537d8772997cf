package transaction

import "stayledger/platform/parts"

// Part is transactions.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Handlers: Source().Handlers(), Tables: parts.Owns("transaction", "transaction_line")}
}
