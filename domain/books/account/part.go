package account

import (
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Part is accounts; journals follow their assignments.
func Part(journals ledger.Sources) parts.Part {
	used := newUsage()

	return parts.Part{
		Endpoints: api.RequireBooks(endpoints(journals, used)),
		Tables:    parts.Owns("account", "account_category", "account_assignment"),
		Copy:      &parts.Copy{Name: "accounts", NeedsBooks: true, Standard: InstallStandard, Read: readCopy},
		Uses: []parts.Use{
			{Of: "account", Reason: "assignments", Columns: []string{"account_assignment.account_id"}, Holds: true},
			{Of: "account", Reason: "offsetAccounts", Columns: []string{"account.offset_account_id"}},
		},
		Used:    []*parts.Usage{used},
		Exports: export.RequireBooks(export.Declare(accountsCSV())),
	}
}
