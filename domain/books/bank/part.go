package bank

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/fold"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part returns what bank records add to the service: routes, tables and the task that folds their sums.
func Part(rules Rules) parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(routes{rules}.endpoints()),
		Every:     []job.Every{sums.Every()},
		Tables: append(
			parts.Owns("bank_reconciliation", "account_excluded_record"),
			append(parts.Keeps("bank_clearing", "bank_day_kept", "bank_delta"), parts.Table{ // they follow from the others
				Name: "bank_record", Instead: map[string]string{"made": "0"}, // reconciliations add to it
			})...,
		),
		Uses: []parts.Use{
			{
				Of: "account", Reason: "reconciledTransactions",
				HoldsIf: `exists (select from bank_reconciliation where team_id = @team and account_id = @id)`,
			},
			{Of: "account", Reason: "bankRecords", Columns: []string{"bank_record.account_id"}},
			{Of: "connection", Reason: "bankRecords", Columns: []string{"bank_record.connection_id"}},
			{Of: "bank_rule", Reason: "bankRecords", Columns: []string{"bank_record.matched_by_bank_rule"}},
		},
		Deletion: parts.Deletion{Of: "bank-record", Do: deleteRecord},
		MonthEnd: findOpen,
		Checks:   []parts.Check{daySums()},
		Exports:  export.RequireBooks(export.Declare(bankRecordsCSV())),
	}
}

// sums are the sums of the movements of an account by day: the view bank_day.
var sums = fold.Sums{Notes: "bank_delta", Function: "bank_fold"}

// daySums returns the check of the kept sums.
func daySums() parts.Check {
	return parts.SQLCheck("bank-day", "the kept sums of bank_day are those of the bank records", "bank_day", `select count(*) from bank_record`, `
		select team_id, concat_ws(' ', account_id, day) as id,
			format('kept %s cents of %s records, there are %s cents of %s', coalesce(k.cents, 0), coalesce(k.records, 0), coalesce(r.cents, 0), coalesce(r.records, 0)) as detail
		from (
			select team_id, account_id, date as day, sum(amount) as cents, count(*) as records from bank_record
			where account_id is not null and status = 'active' and type = 'transaction' group by 1, 2, 3
		) r full join (
			select team_id, account_id, day, sum(cents) as cents, sum(records) as records from bank_day group by 1, 2, 3
			having sum(cents) <> 0 or sum(records) <> 0
		) k using (team_id, account_id, day) where (r.cents, r.records) is distinct from (k.cents, k.records)`)
}
