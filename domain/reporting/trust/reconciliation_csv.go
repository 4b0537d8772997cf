package trust

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// trustSelection is the selector of the CSV: the filters of GET /reports/trust-reconciliation, and the columns.
type trustSelection struct {
	Filter
	Columns []trustColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// trustColumn is a column of the trust reconciliation.
type trustColumn string

// Enum returns the names of the columns in their own order.
func (trustColumn) Enum() []string { return export.ColumnNames(trustCells(nil)) }

// trustLine is a row of the trust reconciliation. Only the fields that apply to it are set.
type trustLine struct {
	leg, row    string
	status      string
	account     *account.Ref
	listingID   *id.ID
	listing     string
	periodID    *id.ID
	contactID   *id.ID
	contact     string
	reservation *id.ID
	transaction *id.ID
	journal     *id.ID
	bankRecord  *id.ID
	rule        *id.ID
	template    *id.ID
	since       *day.Day
	date        *day.Day
	description string
	cents       money.Cents
}

// The legs, and the other parts of the report.
const (
	legBank        = "bank"
	legBook        = "book"
	legLiabilities = "liabilities"
	legDifference  = "difference"
	legWarnings    = "warnings"
)

// trustCells returns the columns. A nil report is enough to list the names.
func trustCells(t *Reconciliation) []export.GoColumn[trustLine] {
	// Many rows are of no account: their cells are empty.
	ofAccount := func(value func(a *account.Ref) any) func(*trustLine) any {
		return func(l *trustLine) any {
			if l.account == nil {
				return nil
			}

			return value(l.account)
		}
	}

	return []export.GoColumn[trustLine]{
		export.FromRow("date", csv.Date, func(*trustLine) any { return t.Date }),
		export.FromRow("leg", csv.Text, func(l *trustLine) any { return l.leg }),
		export.FromRow("row", csv.Text, func(l *trustLine) any { return l.row }),
		export.FromRow("status", csv.Text, func(l *trustLine) any { return l.status }),
		export.FromRow("accountId", csv.ID, ofAccount(func(a *account.Ref) any { return a.ID })),
		export.FromRow("accountCode", csv.ID, ofAccount(func(a *account.Ref) any { return a.Code })),
		export.FromRow("account", csv.Text, ofAccount(func(a *account.Ref) any { return a.Name })),
		export.FromRow("listingId", csv.ID, func(l *trustLine) any { return orNil(l.listingID) }),
		export.FromRow("listing", csv.Text, func(l *trustLine) any { return l.listing }),
		export.FromRow("ownershipPeriodId", csv.ID, func(l *trustLine) any { return orNil(l.periodID) }),
		export.FromRow("contactId", csv.ID, func(l *trustLine) any { return orNil(l.contactID) }),
		export.FromRow("contact", csv.Text, func(l *trustLine) any { return l.contact }),
		export.FromRow("reservationId", csv.ID, func(l *trustLine) any { return orNil(l.reservation) }),
		export.FromRow("transactionId", csv.ID, func(l *trustLine) any { return orNil(l.transaction) }),
		export.FromRow("journalId", csv.ID, func(l *trustLine) any { return orNil(l.journal) }),
		export.FromRow("bankRecordId", csv.ID, func(l *trustLine) any { return orNil(l.bankRecord) }),
		export.FromRow("bankRuleId", csv.ID, func(l *trustLine) any { return orNil(l.rule) }),
		export.FromRow("recurringTemplateId", csv.ID, func(l *trustLine) any { return orNil(l.template) }),
		export.FromRow("transactionDate", csv.Date, func(l *trustLine) any { return l.date }),
		export.FromRow("since", csv.Date, func(l *trustLine) any { return l.since }),
		export.FromRow("description", csv.Text, func(l *trustLine) any { return l.description }),
		export.FromRow("amount", csv.Amount, func(l *trustLine) any { return l.cents }),
		export.FromRow("currency", csv.Currency, func(*trustLine) any { return string(t.Currency) }),
	}
}

// trustLines returns the rows of the report. The rows of a leg add up to it.
func trustLines(t *Reconciliation, places map[id.ID]string) []trustLine {
	var lines []trustLine

	// First the three legs: bank, books and liabilities.
	for i := range t.Bank.Accounts {
		lines = append(lines, bankLines(&t.Bank.Accounts[i])...)
	}

	for i := range t.Book.Accounts {
		a := &t.Book.Accounts[i]
		lines = append(lines, trustLine{leg: legBook, row: "bookBalance", account: &a.Account, cents: a.CentTotal})
	}

	lines = append(lines, liabilityLines(&t.Liabilities)...)
	lines = append(
		lines, trustLine{leg: legDifference, row: "bankToBook", cents: t.Difference.BankToBook},
		trustLine{leg: legDifference, row: "bookToLiabilities", cents: t.Difference.BookToLiabilities},
	)

	// Last, the warnings. Their items have only the id of an account: look it up among the bank accounts.
	accounts := map[id.ID]*account.Ref{}
	for i := range t.Bank.Accounts {
		accounts[t.Bank.Accounts[i].Account.ID] = &t.Bank.Accounts[i].Account
	}

	for i := range t.Warnings {
		lines = append(lines, warningLines(&t.Warnings[i], accounts, places)...)
	}

	return lines
}

// warningLines returns a row for each place of a finding. The smallest ones, which the report does not show, are
// one row.
func warningLines(w *Warning, accounts map[id.ID]*account.Ref, places map[id.ID]string) []trustLine {
	lines, rest := make([]trustLine, 0, len(w.Items)+1), w.Total
	for i := range w.Items {
		item := &w.Items[i]

		// An item names what it is about by ids: fill in the names that are known.
		line := trustLine{
			leg:         legWarnings,
			row:         string(w.Code),
			status:      string(w.Severity),
			listingID:   item.ListingID,
			periodID:    item.OwnershipPeriodID,
			reservation: item.ReservationID,
			transaction: item.TransactionID,
			journal:     item.JournalID,
			contactID:   item.ContactID,
			bankRecord:  item.BankRecordID,
			rule:        item.BankRuleID,
			template:    item.TemplateID,
			since:       item.Since,
			description: w.Message,
			cents:       item.CentTotal,
		}
		if item.ListingID != nil {
			line.listing = places[*item.ListingID]
		}

		if item.ContactID != nil {
			line.contact = places[*item.ContactID]
		}

		if item.AccountID != nil {
			line.account = accounts[*item.AccountID]
			if line.account == nil {
				line.account = &account.Ref{ID: *item.AccountID, Name: places[*item.AccountID]}
			}
		}

		for _, v := range []*id.ID{
			item.ReservationID, item.TransactionID, item.JournalID, item.BankRecordID, item.BankRuleID, item.TemplateID,
		} {
			if v != nil && places[*v] != "" {
				line.description += ": " + places[*v]
			}
		}

		rest -= item.CentTotal

		lines = append(lines, line)
	}

	// The last row makes the rows add up to the total of the finding.
	if more := w.Count - len(w.Items); more > 0 {
		lines = append(lines, trustLine{
			leg:         legWarnings,
			row:         string(w.Code),
			status:      string(w.Severity),
			description: fmt.Sprintf("%s: %d more", w.Message, more),
			cents:       rest,
		})
	}

	return lines
}

// bankRows are the names of the rows of the bank leg, in their order.
var bankRows = []struct {
	kind bank.ItemKind
	row  string
}{
	{bank.InTransit, "depositsInTransit"},
	{bank.Outstanding, "outstandingPayments"},
	{bank.AtBank, "atBankNotInBooks"},
	{bank.AtOpening, "inTransitAtOpening"},
}

// bankLines returns the rows that add up to the adjusted balance of an account. The largest items have rows of
// their own; the rest of each kind is one row.
func bankLines(a *BankAccount) []trustLine {
	lines := []trustLine{{
		leg:     legBank,
		row:     "statementBalance",
		account: &a.Account,
		date:    a.StatementAt,
		cents:   a.StatementBalance,
	}}

	// Keep what is left of each kind.
	rest := map[bank.ItemKind]money.Cents{
		bank.InTransit:   a.DepositsInTransit,
		bank.Outstanding: a.OutstandingPayments,
		bank.AtBank:      a.AtBankNotInBooks,
		bank.AtOpening:   a.InTransitAtOpening,
	}

	names := map[bank.ItemKind]string{}
	for _, r := range bankRows {
		names[r.kind] = r.row
	}

	// Then the items that the report lists, and after them the rest, in the order of the kinds.
	for i := range a.Uncleared {
		u := &a.Uncleared[i]
		rest[u.Kind] -= u.Open
		lines = append(lines, trustLine{
			leg:         legBank,
			row:         names[u.Kind],
			account:     &a.Account,
			transaction: u.TransactionID,
			date:        &u.Date,
			description: u.Description,
			cents:       u.Open,
		})
	}

	for _, r := range bankRows {
		if cents := rest[r.kind]; cents != 0 {
			lines = append(lines, trustLine{
				leg:         legBank,
				row:         r.row,
				account:     &a.Account,
				description: smaller,
				cents:       cents,
			})
		}
	}

	return lines
}

// smaller describes a row of amounts that have no row of their own.
const smaller = "Smaller amounts together"

// guestFigures returns the parts of a guest split in the order of the report.
func guestFigures(g *GuestSplit) []struct {
	Status report.Occupancy
	*GuestFigure
} {
	return []struct {
		Status report.Occupancy
		*GuestFigure
	}{
		{report.Departed, &g.Departed},
		{report.InHouse, &g.InHouse},
		{report.Upcoming, &g.Upcoming},
		{report.Cancelled, &g.Cancelled},
		{report.Unassigned, &g.Unassigned},
	}
}

// liabilityLines returns the rows of the parties to whom the trust owes. They add up to the leg.
func liabilityLines(l *LiabilityLeg) []trustLine {
	var lines []trustLine

	// First the guests, by where they are in their stay. Money without a stay is not split into deposits and
	// receivables.
	for _, g := range guestFigures(&l.GuestBalances) {
		parts := []struct {
			row    string
			figure *Figure
		}{{"guestDeposits", g.Deposits}, {"guestReceivables", g.Receivables}}
		if g.Status == report.Unassigned {
			parts = parts[:1]
			parts[0].row, parts[0].figure = "guestMoneyUnassigned", &g.Figure
		}

		for _, p := range parts {
			if p.figure != nil && p.figure.CentTotal != 0 {
				lines = append(lines, trustLine{
					leg:    legLiabilities,
					row:    p.row,
					status: string(g.Status),
					cents:  p.figure.CentTotal,
				})
			}
		}
	}

	// Then accounts, owners and the manager.
	for i := range l.Rows {
		lines = append(lines, claimLines(&l.Rows[i])...)
	}

	for i := range l.OwnerBalances.Listings {
		lines = append(lines, ownerLines(&l.OwnerBalances.Listings[i])...)
	}

	lines = append(lines, trustLine{
		leg:   legLiabilities,
		row:   string(ClaimManager),
		cents: l.ManagerBalance.CentTotal,
	})

	// Last, funds that others hold.
	return append(lines, claimLines(&l.FundsHeldElsewhere)...)
}

// claimLines returns a row for each account of a claim.
func claimLines(r *Row) []trustLine {
	lines := make([]trustLine, len(r.Accounts))
	for i := range r.Accounts {
		lines[i] = trustLine{
			leg:     legLiabilities,
			row:     string(r.Claim),
			account: &r.Accounts[i].Account,
			cents:   r.Accounts[i].CentTotal,
		}
	}

	return lines
}

// ownerLines returns the owners' shares of a listing. An amount in which no owner has a share is a row without an
// owner.
func ownerLines(l *OwnerListing) []trustLine {
	var lines []trustLine

	for i := range l.Periods {
		p := &l.Periods[i]

		// All rows of a period have the same listing and period.
		line := trustLine{leg: legLiabilities, row: string(ClaimOwners), listingID: l.ID, periodID: p.ID}
		if l.Name != nil {
			line.listing = *l.Name
		}

		if len(p.Shares) == 0 {
			line.cents = p.CentTotal
			lines = append(lines, line)
		}

		for n := range p.Shares {
			s := &p.Shares[n]
			line.contactID, line.contact, line.cents = &s.ContactID, s.Name, s.CentTotal
			lines = append(lines, line)
		}
	}

	return lines
}

// loadPlaces loads the names of the things that warnings are about, by id.
func loadPlaces(ctx context.Context, tx *db.Tx, warnings []Warning) (map[id.ID]string, error) {
	var ids []id.ID

	// First collect the ids of any kind; ids are unique over all tables.
	for i := range warnings {
		for _, item := range warnings[i].Items {
			for _, v := range []*id.ID{
				item.ListingID,
				item.ReservationID,
				item.TransactionID,
				item.JournalID,
				item.AccountID,
				item.ContactID,
				item.BankRecordID,
				item.BankRuleID,
				item.TemplateID,
			} {
				if v != nil {
					ids = append(ids, *v)
				}
			}
		}
	}

	type place struct {
		ID   id.ID
		Name string
	}

	// Then look all of them up in every table that they can be in.
	rows, err := db.Select[place](ctx, tx, `
		select id, name from listing where team_id = @team and id = any(@ids)
		union all
		select id, concat_ws(', ', nullif(guest_name, ''), check_in || ' – ' || check_out) from reservation where team_id = @team and id = any(@ids)
		union all
		select id, concat_ws(' ', date, nullif(description, '')) from transaction where team_id = @team and id = any(@ids)
		union all
		select id, concat_ws(' ', code, name) from account where team_id = @team and id = any(@ids)
		union all
		select id, name from contact where team_id = @team and id = any(@ids)
		union all
		select id, concat_ws(' ', date, nullif(description, '')) from journal where team_id = @team and id = any(@ids)
		union all
		select id, name from bank_rule where team_id = @team and id = any(@ids)
		union all
		select id, coalesce(nullif(description, ''), 'Recurring ' || type) from transaction_template where team_id = @team and id = any(@ids)
		union all
		`+bank.Titles,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what warnings are about: %w", err)
	}

	out := make(map[id.ID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}

	return out, nil
}

// trustCSV declares EXP-P23, the export of a trust reconciliation.
func trustCSV() export.Declaration[trustSelection] {
	return export.Declaration[trustSelection]{
		Path:    "/reports/trust-reconciliation/csv",
		ID:      "TrustReconciliationCSV",
		Tag:     "Reports",
		Summary: "Export a trust reconciliation as CSV",
		Doc: "The rows of a leg add up to it: bank to the adjusted balance, book, and liabilities down to accounts " +
			"and the shares of owners. The legs difference and warnings are apart.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "trust-reconciliation",
		Check:  report.CheckCurrencyIn(func(s *trustSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *trustSelection) (export.Size, error) {
			return countTrust(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *trustSelection, out *export.Sink) error {
			t, err := loadReconciliation(ctx, tx, &s.Filter)
			if err != nil {
				return err
			}

			// Warnings name their places by id only, so load the names.
			places, err := loadPlaces(ctx, tx, t.Warnings)
			if err != nil {
				return err
			}

			return export.WriteTable(
				out, export.SelectColumns(trustCells(t), s.Columns), export.YieldRows(trustLines(t, places)),
			)
		},
	}
}

// countTrust returns the size of the reconciliation by the two things that it grows with: owners' shares and
// accounts.
func countTrust(ctx context.Context, tx *db.Tx) (export.Size, error) {
	n, err := db.Get[int64](ctx, tx, `
		select (select count(*) from account where team_id = @team) + (select count(*) from listing_ownership_member where team_id = @team)`,
		db.Args{"team": tx.Team})
	if err != nil {
		return export.Size{}, fmt.Errorf("count the rows of a reconciliation: %w", err)
	}

	return export.Size{Rows: n}, nil
}
