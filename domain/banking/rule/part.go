package rule

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas as those of bank rules.
var (
	_ = api.PublishedUnder[Rule]("bankRule")
	_ = api.PublishedAs[Stored]("BankRule")
)

// Part is bank rules.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Tables: parts.Owns("bank_rule", "bank_rule_version")}
}
