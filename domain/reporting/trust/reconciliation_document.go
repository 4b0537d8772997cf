package trust

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// trustDocument is the selector of the PDF of the trust reconciliation: its filters, and the language.
type trustDocument struct {
	Filter
	report.DocumentLocale
}

// trustPDF declares EXP-P25, the document of a trust reconciliation.
func trustPDF() export.Declaration[trustDocument] {
	return export.Declaration[trustDocument]{
		Path:    "/reports/trust-reconciliation/pdf",
		ID:      "TrustReconciliationPDF",
		Tag:     "Reports",
		Summary: "Export a trust reconciliation as PDF",
		Doc: "The balances of the banks and of the books, the parties that they are owed to, the differences, the " +
			"owners' shares, and the warnings.",
		Format: export.PDF,
		Scopes: []string{"reports:export"},
		Name:   "trust-reconciliation",
		Check:  report.CheckCurrencyIn(func(s *trustDocument) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *trustDocument) (export.Size, error) {
			rows, err := countTrust(ctx, tx)
			return report.EstimatePages(rows), err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *trustDocument, out *export.Sink) error {
			t, err := loadReconciliation(ctx, tx, &s.Filter)
			if err != nil {
				return err
			}

			// Warnings name their places by id only, so load the names.
			places, err := loadPlaces(ctx, tx, t.Warnings)
			if err != nil {
				return err
			}

			// Date the document by the day of the report, not by today.
			doc, err := report.DocumentHead(ctx, tx, t.Currency, t.Date)
			if err != nil {
				return err
			}

			doc.Locale = s.Locale
			trustDoc(&doc, t, places)

			return report.WriteDocument(out, &doc)
		},
	}
}

// trustDoc fills in the document: the three legs side by side, the warnings, and then the details of each leg.
func trustDoc(doc *paper.ReportDoc, t *Reconciliation, places map[id.ID]string) {
	bank, book, owed := t.Bank.AdjustedBalance, t.Book.CentTotal, t.Liabilities.CentTotal

	// First the head: whether the three agree, and the widest difference between any two.
	doc.Title = "Three-way trust reconciliation"
	doc.Facts = []paper.Fact{
		{Label: "At the end of", Value: t.Date.String()},
		{Label: "Currency", Value: doc.Currency},
		{Label: "Result", Value: resultText(bank, book, owed)},
	}
	doc.Summary = []paper.SummaryLine{
		{Label: "Bank, adjusted", Cents: bank},
		{Label: "Books", Cents: book},
		{Label: "Liabilities", Cents: owed},
		{Label: "Difference", Cents: widestDifference(bank-book, book-owed, bank-owed), Emphasis: true},
	}
	legs := paper.ReportTable{
		Title: "The three legs",
		Columns: append(
			[]paper.ReportColumn{paper.TextColumn("Leg")},
			paper.AmountColumns("Balance", "Differs from books by")...,
		),
	}

	// Each leg is compared with the books. One that differs is a warning.
	for _, leg := range []struct {
		name, below string
		cents       money.Cents
	}{
		{"Adjusted bank balance", "What the banks stated, with what they have not seen yet", bank},
		{"Book balance", "The trust's bank accounts in the ledger", book},
		{"Liabilities", "What the trust owes to guests, owners, the manager and others", owed},
	} {
		row := paper.ReportRow{Cells: []any{leg.name, leg.cents, leg.cents - book}, Below: leg.below}
		if leg.cents != book {
			row.Style = paper.WarningRow
		}

		legs.Rows = append(legs.Rows, row)
	}

	// The warnings come before the details, because they need action.
	doc.Tables = append([]paper.ReportTable{legs}, warningsTable(t.Warnings, places)...)
	doc.Tables = append(doc.Tables, banksTable(&t.Bank), renderUncleared(&t.Bank), liabilitiesTable(&t.Liabilities))
	doc.Tables = append(doc.Tables, ownersTables(&t.Liabilities.OwnerBalances)...)
}

// resultText says whether the three balances agree, and if not which ones differ.
func resultText(bank, book, owed money.Cents) string {
	switch {
	case bank == book && book == owed:
		return "All three agree"
	case book != owed:
		return "Books and liabilities differ"
	default:
		return "Bank and books differ"
	}
}

// widestDifference returns the difference farthest from zero. It is zero only if all are.
func widestDifference(differences ...money.Cents) money.Cents {
	var out money.Cents
	for _, d := range differences {
		if max(d, -d) > max(out, -out) {
			out = d
		}
	}

	return out
}

// accountName returns the code and the name of an account.
func accountName(a *account.Ref) string { return codeAndName(a.Code, a.Name) }

// codeAndName returns an account as bookkeepers write it: code and name, or the name alone.
func codeAndName(code *string, name string) string {
	if code == nil || *code == "" {
		return name
	}

	return *code + " " + name
}

// banksTable returns the bank accounts with the steps from the stated to the adjusted balance, and the comparison
// with the books.
func banksTable(leg *BankLeg) paper.ReportTable {
	t := paper.ReportTable{Title: "Bank accounts", Columns: append(
		[]paper.ReportColumn{paper.TextColumn("Account"), paper.DateColumn("Stated on")},
		paper.AmountColumns("Statement", "In transit", "Outstanding", "Bank only", "Adjusted", "Books", "Difference")...,
	)}

	var books, differences money.Cents

	for i := range leg.Accounts {
		a := &leg.Accounts[i]

		// The steps add up to the adjusted balance.
		row := paper.ReportRow{Cells: []any{
			accountName(&a.Account),
			nil,
			a.StatementBalance,
			a.DepositsInTransit,
			a.OutstandingPayments,
			a.AtBankNotInBooks + a.InTransitAtOpening,
			a.AdjustedBalance,
			a.BookBalance.CentTotal,
			a.Difference,
		}}
		if a.StatementAt != nil {
			row.Cells[1] = a.StatementAt.String()
		} else {
			row.Below = "The bank has stated no balance"
		}

		if a.Difference != 0 {
			row.Style = paper.WarningRow
		}

		books, differences = books+a.BookBalance.CentTotal, differences+a.Difference

		t.Rows = append(t.Rows, row)
	}

	// The leg has the totals of the bank's side. Books and differences are added up here.
	t.Total = &paper.ReportRow{Cells: []any{
		"Total",
		nil,
		leg.StatementBalance,
		leg.DepositsInTransit,
		leg.OutstandingPayments,
		leg.AtBankNotInBooks + leg.InTransitAtOpening,
		leg.AdjustedBalance,
		books,
		differences,
	}}

	return t
}

// renderUncleared returns the items that only one of bank and books has yet, by account. It has no rows if there are
// none, and is then left out.
func renderUncleared(leg *BankLeg) paper.ReportTable {
	t := paper.ReportTable{Title: "In transit, outstanding and at the bank only", Columns: append(
		[]paper.ReportColumn{paper.TextColumn("Description"), paper.DateColumn("Date")},
		paper.AmountColumns("Booked", "Not matched")...,
	)}

	for i := range leg.Accounts {
		a := &leg.Accounts[i]
		if len(a.Uncleared) == 0 {
			continue
		}

		t.Rows = append(t.Rows, paper.ReportRow{Style: paper.GroupRow, Cells: []any{accountName(&a.Account)}})

		// The report lists the largest items. The others are one row, so that the total is right.
		rest := a.timing()
		for n := range a.Uncleared {
			u := &a.Uncleared[n]
			t.Rows = append(t.Rows, paper.ReportRow{
				Level: 1,
				Cells: []any{orText(u.Description, "No description"), u.Date.String(), u.Booked.CentTotal, u.Open},
			})
			rest -= u.Open
		}

		if rest != 0 {
			t.Rows = append(t.Rows, paper.ReportRow{Level: 1, Cells: []any{smaller, nil, nil, rest}})
		}

		t.Rows = append(t.Rows, paper.ReportRow{
			Style: paper.SubtotalRow,
			Cells: []any{"Total", nil, nil, a.timing()},
		})
	}

	return t
}

// orText returns a text, or the other one if it is blank.
func orText(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}

	return text
}

// claimName returns the name of a row of the third leg.
func claimName(c Claim) string {
	switch c {
	case ClaimBank:
		return "Bank"
	case ClaimGuests:
		return "Guest balances"
	case ClaimDeferredRevenue:
		return "Deferred revenue"
	case ClaimTaxes:
		return "Taxes"
	case ClaimPayables:
		return "Accounts payable"
	case ClaimSecurityDeposits:
		return "Security deposits"
	case ClaimDueToFrom:
		return "Due to the operating account"
	case ClaimOwners:
		return "Owner balances"
	case ClaimManager:
		return "Manager balance"
	case ClaimHeldElsewhere:
		return "Held by processors and others"
	case ClaimSurplus:
		return "Opening balances of nobody"
	case ClaimOther:
		return "Income and costs of nobody"
	}

	return string(c)
}

// occupancyName returns the name of a state of a stay.
func occupancyName(o report.Occupancy) string {
	switch o {
	case report.Departed:
		return "Departed"
	case report.InHouse:
		return "In house"
	case report.Upcoming:
		return "Upcoming"
	case report.Cancelled:
		return "Cancelled"
	case report.Unassigned:
		return "Without a reservation"
	}

	return string(o)
}

// orEmpty returns an amount, or nil for zero, which leaves the cell empty.
func orEmpty(cents money.Cents) any {
	if cents == 0 {
		return nil
	}

	return cents
}

// liabilitiesTable returns the third leg by claim, with the amounts held and owed below each claim.
func liabilitiesTable(l *LiabilityLeg) paper.ReportTable {
	t := paper.ReportTable{
		Title: "Liabilities",
		Columns: append(
			[]paper.ReportColumn{paper.TextColumn("Held for")},
			paper.AmountColumns("Held", "Owed to the trust", "Balance")...,
		),
	}
	add := func(style paper.RowStyle, level int, cells ...any) {
		t.Rows = append(t.Rows, paper.ReportRow{Style: style, Level: level, Cells: cells})
	}

	// First the guests, with a row for each state of a stay.
	add(paper.PlainRow, 0, claimName(ClaimGuests), nil, nil, l.GuestBalances.CentTotal)

	for _, g := range guestFigures(&l.GuestBalances) {
		if g.Deposits != nil && g.Receivables != nil && (g.Deposits.CentTotal != 0 || g.Receivables.CentTotal != 0) {
			add(
				paper.PlainRow,
				1,
				occupancyName(g.Status),
				orEmpty(g.Deposits.CentTotal),
				orEmpty(g.Receivables.CentTotal),
			)
		} else if g.CentTotal != 0 {
			add(
				paper.PlainRow,
				1,
				occupancyName(g.Status),
				orEmpty(max(g.CentTotal, 0)),
				orEmpty(min(g.CentTotal, 0)),
			)
		}
	}

	// Then the claims with accounts. One without any amount is left out.
	claim := func(r *Row) {
		if r.CentTotal == 0 && len(r.Accounts) == 0 {
			return
		}

		add(paper.PlainRow, 0, claimName(r.Claim), nil, nil, r.CentTotal)

		for i := range r.Accounts {
			a := &r.Accounts[i]
			add(
				paper.PlainRow,
				1,
				accountName(&a.Account),
				orEmpty(max(a.CentTotal, 0)),
				orEmpty(min(a.CentTotal, 0)),
			)
		}
	}
	for i := range l.Rows {
		claim(&l.Rows[i])
	}

	// Then the owners. One listing below zero is a warning, even if the sum is not.
	owners := paper.PlainRow

	for i := range l.OwnerBalances.Listings {
		if l.OwnerBalances.Listings[i].CentTotal < 0 {
			owners = paper.WarningRow
		}
	}

	add(owners, 0, claimName(ClaimOwners), nil, nil, l.OwnerBalances.CentTotal)

	// Last, the manager and the funds that others hold.
	manager := paper.PlainRow
	if l.ManagerBalance.CentTotal < 0 {
		manager = paper.WarningRow
	}

	add(manager, 0, claimName(ClaimManager), nil, nil, l.ManagerBalance.CentTotal)
	claim(&l.FundsHeldElsewhere)
	t.Total = &paper.ReportRow{Cells: []any{"Total", nil, nil, l.CentTotal}}

	return t
}

// ownersTables returns two tables: the shares of owners by listing, and the total of each owner.
func ownersTables(o *OwnerBalances) []paper.ReportTable {
	shares := paper.ReportTable{Title: "Owner balances by listing", Columns: append(
		[]paper.ReportColumn{
			paper.TextColumn("Owner"),
			paper.DateColumn("From"),
			paper.DateColumn("Until"),
			{Head: "Share", Kind: paper.ReportPercent},
		},
		paper.AmountColumns("Balance")...,
	)}

	// First the shares: a group of rows for each listing, with its total.
	for i := range o.Listings {
		l := &o.Listings[i]

		name := "No listing"
		if l.Name != nil {
			name = *l.Name
		}

		shares.Rows = append(shares.Rows, paper.ReportRow{Style: paper.GroupRow, Cells: []any{name}})
		for n := range l.Periods {
			shares.Rows = append(shares.Rows, ownerRows(&l.Periods[n])...)
		}

		shares.Rows = append(shares.Rows, paper.ReportRow{
			Style: paper.SubtotalRow,
			Cells: []any{"Total", nil, nil, nil, l.CentTotal},
		})
	}

	totals := paper.ReportTable{
		Title:   "Owners",
		Columns: append([]paper.ReportColumn{paper.TextColumn("Owner")}, paper.AmountColumns("Balance")...),
	}

	// Then the owners. The rest of the balance is of no owner, which is a warning.
	unexplained := o.CentTotal
	for _, owner := range o.Owners {
		row := paper.ReportRow{Cells: []any{owner.Name, owner.CentTotal}}
		if owner.CentTotal < 0 {
			row.Style = paper.WarningRow
		}

		unexplained -= owner.CentTotal

		totals.Rows = append(totals.Rows, row)
	}

	if unexplained != 0 {
		totals.Rows = append(totals.Rows, paper.ReportRow{
			Style: paper.WarningRow,
			Cells: []any{"Nobody's", unexplained},
		})
	}

	// Both tables have the same total.
	if len(o.Listings) > 0 {
		shares.Total = &paper.ReportRow{Cells: []any{"Owner balances", nil, nil, nil, o.CentTotal}}
		totals.Total = &paper.ReportRow{Cells: []any{"Owner balances", o.CentTotal}}
	}

	return []paper.ReportTable{withoutEmpty(shares), totals}
}

// withoutEmpty returns the table without columns that are empty in every row. The first column stays.
func withoutEmpty(t paper.ReportTable) paper.ReportTable {
	// Go from the last column to the first, so that the indexes of those still to be checked stay valid.
	for i := len(t.Columns) - 1; i > 0; i-- {
		if slices.ContainsFunc(t.Rows, func(r paper.ReportRow) bool {
			return i < len(r.Cells) && r.Cells[i] != nil
		}) {
			continue
		}

		t.Columns = slices.Delete(t.Columns, i, i+1)
		for n := range t.Rows {
			t.Rows[n].Cells = withoutCell(t.Rows[n].Cells, i)
		}

		if t.Total != nil {
			t.Total.Cells = withoutCell(t.Total.Cells, i)
		}
	}

	return t
}

// withoutCell returns the cells without the one at an index. It does not change the slice it was given.
func withoutCell(cells []any, i int) []any {
	if i >= len(cells) {
		return cells
	}

	return slices.Delete(slices.Clone(cells), i, i+1)
}

// ownerRows returns the shares of the owners in a period, or a warning if the period has no owner.
func ownerRows(p *OwnerPeriod) []paper.ReportRow {
	var from, until any
	if p.StartAt != nil {
		from = p.StartAt.String()
	}

	// The end of a period is the first day after it; documents show the last day.
	if p.EndAt != nil {
		until = p.EndAt.AddDays(-1).String()
	}

	if len(p.Shares) == 0 {
		return []paper.ReportRow{{
			Style: paper.WarningRow,
			Level: 1,
			Cells: []any{"Nobody owns this", from, until, nil, p.CentTotal},
		}}
	}

	rows := make([]paper.ReportRow, len(p.Shares))
	for i := range p.Shares {
		s := &p.Shares[i]

		rows[i] = paper.ReportRow{
			Level: 1, Cells: []any{s.Name, from, until, money.Rate(s.Split).Percent(), s.CentTotal},
		}
		if s.CentTotal < 0 {
			rows[i].Style = paper.WarningRow
		}
	}

	return rows
}

// placesShown is how many places of a finding a document names. Of the others it gives the number and the sum.
const placesShown = 10

// warningsTable returns a table of the findings that need a look. It returns none if there are no findings.
func warningsTable(warnings []Warning, places map[id.ID]string) []paper.ReportTable {
	if len(warnings) == 0 {
		return nil
	}

	t := paper.ReportTable{
		Title: "Warnings",
		Columns: append(
			[]paper.ReportColumn{
				paper.TextColumn("Finding"), {Head: "Count", Kind: paper.ReportInteger}, paper.DateColumn("Since"),
			},
			paper.AmountColumns("Amount")...,
		),
	}

	for i := range warnings {
		w := &warnings[i]
		t.Rows = append(t.Rows, paper.ReportRow{
			Style: paper.WarningRow,
			Cells: []any{w.Message, w.Count, nil, w.Total},
		})

		// Name the first places, which are the largest. The others are one row.
		shown := w.Items[:min(len(w.Items), placesShown)]
		rest := w.Total

		for n := range shown {
			var since any
			if shown[n].Since != nil {
				since = shown[n].Since.String()
			}

			t.Rows = append(t.Rows, paper.ReportRow{
				Level: 1,
				Cells: []any{placeName(&shown[n], places), nil, since, shown[n].CentTotal},
			})
			rest -= shown[n].CentTotal
		}

		if more := w.Count - len(shown); more > 0 {
			t.Rows = append(
				t.Rows, paper.ReportRow{Level: 1, Cells: []any{fmt.Sprintf("%d more", more), nil, nil, rest}},
			)
		}
	}

	return []paper.ReportTable{t}
}

// placeName returns the names of the things that an item is about, from the account to the bank record.
func placeName(item *WarningItem, places map[id.ID]string) string {
	var parts []string

	for _, v := range []*id.ID{
		item.BankRuleID,
		item.TemplateID,
		item.AccountID,
		item.ContactID,
		item.ListingID,
		item.ReservationID,
		item.TransactionID,
		item.JournalID,
		item.BankRecordID,
	} {
		if v != nil && strings.TrimSpace(places[*v]) != "" {
			parts = append(parts, strings.TrimSpace(places[*v]))
		}
	}

	if len(parts) == 0 {
		return "Without a listing"
	}

	return strings.Join(parts, ", ")
}
