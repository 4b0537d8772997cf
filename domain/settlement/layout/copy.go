package layout

import (
	"context"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

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
