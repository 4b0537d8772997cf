package payout

import "stayledger/platform/parts"

// Part is payouts of statements.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Handlers: handlers(), Tables: parts.Owns("payout_result")}
}
