package account

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/parts"
)

// Part is accounts; journals follow their assignments.
func Part(journals ledger.Sources) parts.Part {
	return parts.Part{
		Endpoints: endpoints(journals),
		Tables:    parts.Owns("account", "account_category", "account_assignment"),
		Copy:      &parts.Copy{Name: "accounts", Standard: InstallStandard, Read: readCopy},
	}
}
