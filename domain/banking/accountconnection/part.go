package accountconnection

import "stayledger/platform/parts"

// Part is the accounts that teams have at their banks.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Tables: parts.Owns("account_connection")}
}
