package layout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const standardName = "Standard"

// lineAccounts are the accounts on which a team's rents and cleaning fees are posted for owners.
type lineAccounts struct{ rent, cleaning []id.ID }

// Standard returns the built-in design, which places every account. Its sections and columns have the same ids in
// every team.
func Standard() *Design { return standard(lineAccounts{}) }

// standard returns the standard design. It shows rents and cleaning fees in columns of their own if their accounts
// are known.
func standard(on lineAccounts) *Design {
	revenue := accountsColumn("revenue", "Revenue", Value{
		Rest:            true,
		Classifications: []account.Classification{account.Revenue},
	})

	// The stay comes first, then its amounts.
	columns := []Column{
		fieldColumn("guest", "Guest", GuestName),
		fieldColumn("confirmation", "Confirmation", ConfirmationCode),
		fieldColumn("checkIn", "Check-in", CheckIn),
		fieldColumn("checkOut", "Check-out", CheckOut),
		fieldColumn("nights", "Nights", Nights),
	}
	if len(on.rent) > 0 {
		columns = append(columns, accountsColumn("rent", "Rent", Value{AccountIDs: on.rent}))
		revenue.Name = "Other revenue"
	}

	if len(on.cleaning) > 0 {
		columns = append(columns, accountsColumn("cleaning", "Cleaning", Value{AccountIDs: on.cleaning}))
		revenue.Name = "Other revenue"
	}

	// The rest of the revenue, all other accounts as fees, and the sum. The last two are locked, so that every
	// account keeps its place.
	columns = append(columns, revenue, withLock(accountsColumn("fees", "Fees", Value{Rest: true})),
		withLock(Column{
			ID:      standardID("net"),
			Name:    "Net",
			Visible: VisibleAll,
			Type:    SubTotal,
			Value:   Value{ColumnIDs: []id.ID{}},
		}))

	// Expenses are listed with one amount each.
	return &Design{
		Name: standardName, Version: 1, SummaryType: summaryDefault, IsDefault: true,
		NetRevenueSections: []Section{{
			ID:      standardID(netRevenue),
			Name:    "Net revenue",
			Locked:  true,
			Visible: VisibleAll,
			Columns: columns,
		}},
		OtherSections: []Section{{
			ID:      standardID(other),
			Name:    "Expenses",
			Locked:  true,
			Visible: VisibleAll,
			Columns: []Column{
				fieldColumn("date", "Date", Date),
				fieldColumn("description", "Description", Description),
				fieldColumn("account", "Account", Account),
				withLock(accountsColumn("amount", "Amount", Value{Rest: true})),
			},
		}},
	}
}

// standardID returns the permanent id of a part of the standard layout: frozen statements and locks refer to it.
func standardID(part string) id.ID {
	return id.Derive(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), "layout", "standard", part)
}

// fieldColumn returns a column of the standard layout that shows a field.
func fieldColumn(part, name string, field FieldName) Column {
	return Column{ID: standardID(part), Name: name, Visible: VisibleAll, Type: Field, Value: Value{Field: field}}
}

// accountsColumn returns a column of the standard layout that adds up accounts.
func accountsColumn(part, name string, v Value) Column {
	if v.AccountIDs == nil {
		v.AccountIDs = []id.ID{}
	}

	return Column{ID: standardID(part), Name: name, Visible: VisibleAll, Type: Accounts, Value: v}
}

// withLock returns the column with its lock set.
func withLock(c Column) Column {
	c.Locked = true
	return c
}

// loadTeamStandard returns the standard design with the columns of the team's line mappings.
func loadTeamStandard(ctx context.Context, tx *db.Tx) (*Design, error) {
	type row struct {
		LineType  string
		AccountID id.ID
	}

	// Only revenue accounts of the owners count. Rents sort before cleaning fees.
	rows, err := db.Select[row](ctx, tx, `
		select distinct m.line_type, m.account_id from reservation_line_mapping m
		join account a on a.team_id = m.team_id and a.id = m.account_id
		join account_category c on c.team_id = a.team_id and c.id = a.category_id and c.classification = 'revenue'
		where m.team_id = @team and m.line_type in ('rent', 'cleaningFee') and m.status = 'mapped' and m.party = 'owners'
		order by m.line_type desc, m.account_id`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read where rents are posted: %w", err)
	}

	var on lineAccounts

	// An account that is used for both counts as rent.
	for _, r := range rows {
		switch {
		case r.LineType == "rent":
			on.rent = append(on.rent, r.AccountID)
		case !slices.Contains(on.rent, r.AccountID):
			on.cleaning = append(on.cleaning, r.AccountID)
		}
	}

	return standard(on), nil
}

// LoadChosen returns the design for each listing: its own layout, else the team's default, else the standard one.
// Listings with the same layout share it.
func LoadChosen(ctx context.Context, tx *db.Tx, listings []id.ID) (map[id.ID]*Design, error) {
	var (
		out     map[id.ID]*Design
		builtIn *Design
	)

	// Whether a listing needs the standard design is known only afterwards; to wait for that would cost a round trip.
	if err := tx.Together(ctx, db.LoadBy(&out, LoadStored, listings), db.Load(&builtIn, loadTeamStandard)); err != nil {
		return nil, err
	}

	for _, l := range listings {
		if out[l] == nil {
			out[l] = builtIn
		}
	}

	return out, nil
}

// InstallStandard inserts the standard layout as the team's default if the team has no layout.
func InstallStandard(ctx context.Context, tx *db.Tx) error {
	if err := lockTeam(ctx, tx); err != nil {
		return err
	}

	exists, err := db.Get[bool](ctx, tx, `select exists (select from layout where team_id = @team)`, db.Args{"team": tx.Team})
	if err != nil || exists {
		return err
	}

	d, err := loadTeamStandard(ctx, tx)
	if err != nil {
		return err
	}

	return insertDesigns(ctx, tx, []Design{*d})
}
