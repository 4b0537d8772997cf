package trust

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
)

// managerEntrySelection is the period of a manager statement, and the columns of the entries behind it.
type managerEntrySelection struct {
	ManagerPeriod
	Sort    report.EntrySort     `query:"sort" json:"sort,omitempty" doc:"Default txnAt."`
	Columns []report.EntryColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// managerEntriesCSV declares EXP-P22, the export of the entries behind a manager statement.
func managerEntriesCSV() export.Declaration[managerEntrySelection] {
	return export.Declaration[managerEntrySelection]{
		Path:    "/reports/manager-statements/detail/journal-entries/csv",
		ID:      "ManagerStatementEntriesCSV",
		Tag:     "Reports",
		Summary: "Export the journal entries behind a manager statement as CSV",
		Doc: "One row per entry of the manager in the trust ledger, bank and guest accounts aside. What the amounts " +
			"add up to, with the opposite sign, is the statement's net income, adjustments and transfers.",
		Format: export.CSV,
		Scopes: []string{"pm-statements:export"},
		Name:   "manager-statement-entries",
		Check:  report.CheckCurrencyIn(func(s *managerEntrySelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, s *managerEntrySelection) (export.Size, error) {
			q, err := managerEntryQuery(ctx, tx, &s.ManagerPeriod)
			if err != nil {
				return export.Size{}, err
			}

			return report.CountEntries(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *managerEntrySelection, out *export.Sink) error {
			q, err := managerEntryQuery(ctx, tx, &s.ManagerPeriod)
			if err != nil {
				return err
			}

			// The list is not daily: the server itself chooses how to find and sort the manager's entries.
			return report.WriteEntries(
				ctx, tx, out, report.EntryList{Query: q, Columns: s.Columns, Sort: string(s.Sort)},
			)
		},
	}
}
