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
		MonthEnd: findUnmatched,
		Exports:  export.RequireBooks(export.Declare(bankRecordsCSV())),
	}
}

// sums are the sums of the movements of an account by day: the view bank_day.
var sums = fold.Sums{Notes: "bank_delta", Function: "bank_fold"}
