package trust

import (
	"context"
	"time"

	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// managerDocument is the selector of the PDF of manager statements: the filters of their list, and the language.
type managerDocument struct {
	ManagerFilter
	report.DocumentLocale
}

// managerDetailDocument is the selector of the PDF of one manager statement.
type managerDetailDocument struct {
	ManagerPeriod
	report.DocumentLocale
}

// managerStatementPDF declares EXP-P20, the document of one manager statement.
func managerStatementPDF() export.Declaration[managerDetailDocument] {
	return export.Declaration[managerDetailDocument]{
		Path:    "/reports/manager-statements/detail/pdf",
		ID:      "ManagerStatementPDF",
		Tag:     "Reports",
		Summary: "Export a manager statement as PDF",
		Doc: "How the manager's part of the trust rolled forward over a period, its accounts by section, and " +
			"how much of it can be drawn at its end.",
		Format: export.PDF,
		Scopes: []string{"pm-statements:export"},
		Name:   "manager-statement",
		Check:  report.CheckCurrencyIn(func(s *managerDetailDocument) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *managerDetailDocument) (export.Size, error) {
			// The document has at most a row for each account.
			accounts, err := report.CountAccounts(ctx, tx)
			return report.EstimatePages(accounts), err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *managerDetailDocument, out *export.Sink) error {
			d, err := loadManagerStatement(ctx, tx, &s.ManagerPeriod)
			if err != nil {
				return err
			}

			// Date the document by the statement's last day, not by today.
			doc, err := report.DocumentHead(ctx, tx, d.Currency, d.EndAt)
			if err != nil {
				return err
			}

			doc.Locale = s.Locale
			managerStatementDoc(&doc, d)

			return report.WriteDocument(out, &doc)
		},
	}
}

// managerStatementDoc fills in the document of a manager statement: summary, a table per section, and the available
// balance.
func managerStatementDoc(doc *paper.ReportDoc, d *ManagerDetail) {
	doc.Title, doc.Subtitle = "Manager statement", wholeMonths(d.StartAt, d.EndAt, doc.Locale)

	// First the head: the period and how the balance moved over it.
	doc.Facts = []paper.Fact{
		{Label: "From", Value: d.StartAt.String()},
		{Label: "To", Value: d.EndAt.String()},
		{Label: "Currency", Value: doc.Currency},
	}
	for _, line := range d.Summary {
		doc.Summary = append(doc.Summary, paper.SummaryLine{
			Label:    line.Text,
			Cents:    line.Value,
			Emphasis: line.Separated,
		})
	}

	// Then a table for each section that has accounts.
	for i := range d.Sections {
		s := &d.Sections[i]
		if len(s.Accounts) == 0 {
			continue
		}

		// Last, from the balance at the end to the part of it that can be drawn.
		t := paper.ReportTable{
			Title: s.Name,
			Columns: append([]paper.ReportColumn{
				paper.TextColumn("Account"),
				paper.TextColumn("Category"),
			}, paper.AmountColumns("Amount")...),
		}
		for n := range s.Accounts {
			a := &s.Accounts[n]
			t.Rows = append(t.Rows, paper.ReportRow{Cells: []any{
				codeAndName(a.Code, a.Name),
				a.Category.Name,
				a.CentTotal,
			}})
		}

		t.Total = &paper.ReportRow{Cells: []any{"Total", nil, s.CentTotal}}
		doc.Tables = append(doc.Tables, t)
	}

	t := paper.ReportTable{
		Title: "Available balance",
		Columns: append(
			[]paper.ReportColumn{paper.TextColumn("At the end of the period")}, paper.AmountColumns("Amount")...,
		),
	}

	t.Rows = append(t.Rows, paper.ReportRow{Cells: []any{"Balance end", d.Financials.BalanceEnd}})
	for i := range d.AssetsAndLiabilities {
		r := &d.AssetsAndLiabilities[i]
		t.Rows = append(t.Rows, paper.ReportRow{Cells: []any{r.Name, r.CentTotal}})
	}

	t.Total = &paper.ReportRow{Cells: []any{"Available balance", d.Financials.AvailableBalance}}

	doc.Tables = append(doc.Tables, t)

	// Say what a negative balance means: other people's money covers it.
	if d.Financials.AvailableBalance < 0 {
		doc.Notes = append(doc.Notes, "The available balance is negative: money that is held for others covers the "+
			"manager's part.")
	}
}

// wholeMonths names a period of whole months. It returns "" for any other period, which the document shows by its
// days alone.
func wholeMonths(first, last day.Day, locale string) string {
	if first != first.FirstOfMonth() || last != last.LastOfMonth() {
		return ""
	}

	return paper.MonthsText(first, last, locale)
}

// managerStatementsPDF declares EXP-P21, the document of the selected months.
func managerStatementsPDF() export.Declaration[managerDocument] {
	return export.Declaration[managerDocument]{
		Path:    "/reports/manager-statements/pdf",
		ID:      "ManagerStatementsPDF",
		Tag:     "Reports",
		Summary: "Export manager statements as PDF",
		Doc: "A table of the selected months, newest first, with the way from each balance at the start to the " +
			"one at the end.",
		Format: export.PDF,
		Scopes: []string{"pm-statements:export"},
		Name:   "manager-statements",
		Check:  report.CheckCurrencyIn(func(s *managerDocument) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, s *managerDocument) (export.Size, error) {
			all, err := loadManagerMonths(ctx, tx, &s.ManagerFilter)
			return report.EstimatePages(export.Size{Rows: int64(len(all))}), err
		},
		Render: renderManagerStatements,
	}
}

// renderManagerStatements writes the table of the selected months, or a note if there are none.
func renderManagerStatements(ctx context.Context, tx *db.Tx, s *managerDocument, out *export.Sink) error {
	currency, err := report.Currency(ctx, tx, s.Currency)
	if err != nil {
		return err
	}

	all, err := loadManagerMonths(ctx, tx, &s.ManagerFilter)
	if err != nil {
		return err
	}

	// The document is dated by its newest month. Without months it takes the end of the year asked for, or today.
	last := tx.Today()
	if s.Year != nil {
		last = day.Month{Year: int(*s.Year), Month: time.December}.Last()
	}

	if len(all) > 0 {
		last = all[0].EndAt
	}

	doc, err := report.DocumentHead(ctx, tx, currency, last)
	if err != nil {
		return err
	}

	doc.Title, doc.Locale = "Manager statements", s.Locale

	// An empty selection is a document too: it says that no month is selected.
	doc.Facts = []paper.Fact{{Label: "Currency", Value: doc.Currency}}
	if len(all) == 0 {
		doc.Notes = []string{"No month of the manager statements is selected."}
		return report.WriteDocument(out, &doc)
	}

	managerStatementsDoc(&doc, all)

	return report.WriteDocument(out, &doc)
}

// managerStatementsDoc fills in the table of months, which come newest first, and the summary over all of them.
func managerStatementsDoc(doc *paper.ReportDoc, all []ManagerMonth) {
	// The period goes from the last month of the list to the first, because the newest comes first.
	newest, oldest := &all[0], &all[len(all)-1]
	doc.Subtitle = paper.MonthsText(oldest.StartAt, newest.EndAt, doc.Locale)
	doc.Facts = append([]paper.Fact{
		{Label: "From", Value: oldest.StartAt.String()},
		{Label: "To", Value: newest.EndAt.String()},
	}, doc.Facts...)
	t := paper.ReportTable{Columns: append(
		[]paper.ReportColumn{paper.TextColumn("Month")},
		paper.AmountColumns(
			"Balance start",
			"Net revenue",
			"Expenses",
			"Net income",
			"Adjustments",
			"Transfers",
			"Balance end",
		)...,
	)}

	// Movements add up over the months. Balances do not, so the total takes those at both ends.
	var sum ManagerFinancials

	for i := range all {
		f := &all[i].Financials

		t.Rows = append(t.Rows, paper.ReportRow{Cells: []any{
			paper.MonthsText(all[i].StartAt, all[i].EndAt, doc.Locale),
			f.BalanceStart,
			f.NetRevenue,
			f.Expenses,
			f.NetIncome,
			f.Adjustments,
			f.Transfers,
			f.BalanceEnd,
		}})
		for _, add := range []struct{ to, cents *money.Cents }{
			{&sum.NetRevenue, &f.NetRevenue},
			{&sum.Expenses, &f.Expenses},
			{&sum.NetIncome, &f.NetIncome},
			{&sum.Adjustments, &f.Adjustments},
			{&sum.Transfers, &f.Transfers},
		} {
			*add.to += *add.cents
		}
	}

	// The total goes from the oldest balance at the start to the newest at the end.
	start, end := oldest.Financials.BalanceStart, newest.Financials.BalanceEnd
	t.Total = &paper.ReportRow{Cells: []any{
		"Total",
		start,
		sum.NetRevenue,
		sum.Expenses,
		sum.NetIncome,
		sum.Adjustments,
		sum.Transfers,
		end,
	}}
	doc.Tables = []paper.ReportTable{t}
	doc.Summary = []paper.SummaryLine{
		{Label: "Balance start", Cents: start},
		{Label: "Net income", Cents: sum.NetIncome},
		{Label: "Adjustments", Cents: sum.Adjustments},
		{Label: "Transfers", Cents: sum.Transfers},
		{Label: "Balance end", Cents: end, Emphasis: true},
	}
}
