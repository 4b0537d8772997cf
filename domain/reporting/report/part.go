package report

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the endpoints and the exports of the reports. The box opens the tax identifiers of information returns.
func Part(box *seal.Box) parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()), Exports: export.RequireBooks(exports(box)...),
		Tables: parts.Keeps("ledger_listing_kept"), Checks: []parts.Check{checkListings()},
	}
}

// checkListings checks that the sums of all months are those of the months.
func checkListings() parts.Check {
	return parts.SQLCheck("ledger-listing", "the kept sums of ledger_listing are those of ledger_balance", "ledger_listing",
		`select count(*) from ledger_balance`, `
		select team_id, concat_ws(' ', ledger, currency, account_id, nullif(party, ''), listing_id) as id,
			format('kept are %s of debit and %s of credit more', sum(debit), sum(credit)) as detail
		from (
			select team_id, ledger, currency, account_id, party, listing_id, debit, credit from ledger_listing
			union all select team_id, ledger, currency, account_id, party, listing_id, -debit, -credit from ledger_balance) s
		group by team_id, ledger, currency, account_id, party, listing_id having sum(debit) <> 0 or sum(credit) <> 0`)
}
