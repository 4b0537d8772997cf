package layout

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// copyable are the layouts of a team, and the listings that have one of them as their own.
type copyable struct {
	designs []Design
	choices []namedChoice
}

// namedChoice names a layout by its name.
type namedChoice struct {
	Name      string
	ListingID id.ID
}

// loadCopyable loads the layouts of a team that the transaction may read, and the listings that have chosen one.
func loadCopyable(ctx context.Context, tx *db.Tx, team id.ID) (copyable, error) {
	designs, err := All(ctx, tx, team)
	if err != nil {
		return copyable{}, err
	}

	choices, err := db.Select[namedChoice](ctx, tx, `
		select y.name, u.listing_id from layout_listing u join layout y on y.team_id = u.team_id and y.id = u.layout_id where u.team_id = @team
		order by u.listing_id`, db.Args{"team": team})
	if err != nil {
		return copyable{}, fmt.Errorf("read the listings of statement layouts: %w", err)
	}

	return copyable{designs, choices}, nil
}

// copyAll copies layouts, and gives them to the counterparts of the listings that have them.
func copyAll(ctx context.Context, tx *db.Tx, from copyable, here parts.Counterparts) error {
	if err := Copy(ctx, tx, from.designs, here); err != nil {
		return err
	}

	var names []string

	listings := map[string][]id.ID{}

	for _, c := range from.choices {
		if l := here[c.ListingID]; !l.IsZero() {
			names, listings[c.Name] = append(names, c.Name), append(listings[c.Name], l)
		}
	}

	if names == nil {
		return nil
	}

	type named struct {
		ID   id.ID
		Name string
	}

	own, err := db.Select[named](ctx, tx, `select id, name from layout where team_id = @team and name = any(@names::text[]) order by name`,
		db.Args{"team": tx.Team, "names": names})
	if err != nil {
		return fmt.Errorf("find the copied layouts: %w", err)
	}

	for _, y := range own {
		if err := saveListings(ctx, tx, y.ID, listings[y.Name]); err != nil {
			return err
		}
	}

	return nil
}

// Copy inserts the layouts of another team, with the counterparts of their accounts in this team. A name that
// exists is left alone, and so is the team's default. Accounts without a counterpart are left out of their columns,
// and so are the formulas that name them and the columns that build on those.
func Copy(ctx context.Context, tx *db.Tx, from []Design, accounts parts.Counterparts) error {
	if err := lockTeam(ctx, tx); err != nil {
		return err
	}

	// The layouts may be shared with the caller, so their sections are copied.
	copied := make([]Design, len(from))
	for i := range from {
		copied[i] = from[i]
		copied[i].NetRevenueSections = copySections(from[i].NetRevenueSections, accounts)
		copied[i].OtherSections = copySections(from[i].OtherSections, accounts)
	}

	if len(copied) == 0 {
		return nil
	}

	return insertDesigns(ctx, tx, copied)
}

// copySections returns sections with the counterparts of their accounts. Sections without columns are left out.
func copySections(from []Section, accounts map[id.ID]id.ID) []Section {
	out := []Section{}

	for _, s := range from {
		s.Columns = slices.Clone(s.Columns)
		for i := range s.Columns {
			// References of formulas are accounts as well. One without a counterpart gets the zero id.
			v := &s.Columns[i].Value
			v.AccountIDs = mapAccounts(v.AccountIDs, accounts)

			v.References = slices.Clone(v.References)
			for j := range v.References {
				if r := &v.References[j]; r.Kind == fee.RefAccount {
					r.ID = accounts[r.ID]
				}
			}
		}

		// Dropping a column can break another one, so repeat until none is broken.
		for s.dropBroken() {
			continue
		}

		if len(s.Columns) > 0 {
			out = append(out, s)
		}
	}

	return out
}

// mapAccounts returns the counterparts of accounts, each once. Nil stays nil, which means no accounts of its own.
func mapAccounts(ids []id.ID, accounts map[id.ID]id.ID) []id.ID {
	if ids == nil {
		return nil
	}

	out := []id.ID{}
	for _, v := range ids {
		if here, ok := accounts[v]; ok && !slices.Contains(out, here) {
			out = append(out, here)
		}
	}

	return out
}

// dropBroken drops columns that name something missing, and reports whether there were any. A subtotal only loses
// the missing columns, unless it loses all: then it would add up every column before it.
func (s *Section) dropBroken() bool {
	before := len(s.Columns)
	there := func(v id.ID) bool { return s.column(v) != nil }
	keep := []Column{}

	for _, c := range s.Columns {
		// A formula needs everything that it names.
		whole := true
		for _, r := range c.Value.References {
			whole = whole && !r.ID.IsZero() && (r.Kind != fee.RefColumn || there(r.ID))
		}

		// A subtotal keeps the columns that are left.
		if ids := c.Value.ColumnIDs; len(ids) > 0 {
			left := []id.ID{}

			for _, v := range ids {
				if there(v) {
					left = append(left, v)
				}
			}

			whole = whole && len(left) > 0
			c.Value.ColumnIDs = left
		}

		if whole {
			keep = append(keep, c)
		}
	}

	s.Columns = keep

	return len(keep) < before
}
