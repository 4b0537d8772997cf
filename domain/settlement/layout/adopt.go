package layout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Foreign is a layout of another product: its sections, with the accounts here that each column adds up.
type Foreign struct {
	Name              string
	NetRevenue, Other []ForeignSection
}

// ForeignSection is a table of a foreign layout.
type ForeignSection struct {
	Name    string
	Columns []ForeignColumn
}

// ForeignColumn adds up some accounts.
type ForeignColumn struct {
	Name       string
	AccountIDs []id.ID
}

// Adopt makes a layout of a foreign one, and returns its id. What no column of it takes goes to a column of its own in
// each kind of section, so that nothing is missing from a statement. With the id of a layout that it was made before, that
// one is changed if it differs. A name that another layout has gets an addition.
func Adopt(ctx context.Context, tx *db.Tx, made *id.ID, f *Foreign) (id.ID, error) {
	if err := lockTeam(ctx, tx); err != nil {
		return id.Zero, err
	}

	design := Design{
		Name: f.Name, Version: 1, SummaryType: summaryDefault,
		NetRevenueSections: adoptSections(tx, f.NetRevenue, netRevenue), OtherSections: adoptSections(tx, f.Other, other),
	}
	args := db.Args{"team": tx.Team, "id": made, "net": design.NetRevenueSections, "other": design.OtherSections, "now": tx.Now}

	// One that exists keeps what people call it.
	if made != nil {
		same, err := isAdopted(ctx, tx, *made, &design)
		if err != nil || same {
			return *made, err
		}

		n, err := tx.Exec(ctx, `
			update layout set net_revenue_sections = @net, other_sections = @other, version = version + 1, updated_at = @now where team_id = @team and id = @id`, args)
		if err != nil {
			return id.Zero, fmt.Errorf("change a layout: %w", err)
		}

		if n == 1 {
			audit.Note(tx, audit.Updated, audit.StatementLayout, *made, nil, design)
			return *made, nil
		}
	}

	fresh := tx.NewID()
	args["id"], args["name"], args["again"] = fresh, f.Name, f.Name+" ("+fresh.ShortRef()+")"

	_, err := tx.Exec(ctx, `
		insert into layout (team_id, id, name, net_revenue_sections, other_sections, created_at, updated_at)
		select @team, @id, case when exists (select from layout where team_id = @team and name = @name) then @again else @name end, @net, @other, @now, @now`, args)
	if err != nil {
		return id.Zero, fmt.Errorf("make a layout: %w", err)
	}

	audit.Note(tx, audit.Created, audit.StatementLayout, fresh, nil, design)

	return fresh, nil
}

// isAdopted says whether a layout has the sections of a design already, whatever the ids of its sections and columns.
func isAdopted(ctx context.Context, tx *db.Tx, made id.ID, design *Design) (bool, error) {
	type kept struct{ NetRevenueSections, OtherSections []Section }

	found, err := db.Select[kept](ctx, tx, `select net_revenue_sections, other_sections from layout where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": made})
	if err != nil || len(found) == 0 {
		return false, err
	}

	is, err := json.Marshal([][]Section{withoutIDs(found[0].NetRevenueSections), withoutIDs(found[0].OtherSections)})
	if err != nil {
		return false, fmt.Errorf("compare a layout: %w", err)
	}

	wanted, err := json.Marshal([][]Section{withoutIDs(design.NetRevenueSections), withoutIDs(design.OtherSections)})
	if err != nil {
		return false, fmt.Errorf("compare a layout: %w", err)
	}

	return string(is) == string(wanted), nil
}

// withoutIDs returns sections without their ids and those of their columns.
func withoutIDs(from []Section) []Section {
	out := slices.Clone(from)
	for i := range out {
		out[i].ID, out[i].Columns = id.Zero, slices.Clone(out[i].Columns)
		for j := range out[i].Columns {
			out[i].Columns[j].ID = id.Zero
		}
	}

	return out
}

// adoptSections returns sections of a kind with the fields of their rows before their amounts, the last one with a column
// for the rest. An account is in one column of a kind.
func adoptSections(tx *db.Tx, from []ForeignSection, kind string) []Section {
	field := func(name string, f FieldName) Column {
		return Column{ID: tx.NewID(), Name: name, Visible: VisibleAll, Type: Field, Value: Value{Field: f}}
	}

	if len(from) == 0 {
		from = []ForeignSection{{Name: map[string]string{netRevenue: "Net revenue", other: "Expenses"}[kind]}}
	}

	out, taken := make([]Section, len(from)), map[id.ID]bool{}

	for i, f := range from {
		s := Section{ID: tx.NewID(), Name: f.Name, Visible: VisibleAll}

		if kind == netRevenue {
			s.Columns = []Column{field("Guest", GuestName), field("Check-in", CheckIn), field("Check-out", CheckOut)}
		} else {
			s.Columns = []Column{field("Date", Date), field("Description", Description)}
		}

		for _, c := range f.Columns {
			v := Value{AccountIDs: []id.ID{}}

			for _, a := range c.AccountIDs {
				if !taken[a] {
					v.AccountIDs, taken[a] = append(v.AccountIDs, a), true
				}
			}

			s.Columns = append(s.Columns, Column{ID: tx.NewID(), Name: c.Name, Visible: VisibleAll, Type: Accounts, Value: v})
		}

		if i == len(from)-1 {
			rest := Value{AccountIDs: []id.ID{}, Rest: true}
			s.Columns = append(s.Columns, Column{ID: tx.NewID(), Name: "Other", Visible: VisibleAll, Type: Accounts, Value: rest})
		}

		out[i] = s
	}

	return out
}
