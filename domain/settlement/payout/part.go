package payout

import "stayledger/platform/parts"

// Part returns the part of payouts of statements.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Handlers: handlers(), Tables: parts.Shows("payout_result"), MonthEnd: findUnpaid}
}
