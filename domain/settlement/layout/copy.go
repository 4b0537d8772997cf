package layout

import (
	"context"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Copy copies the layouts of another team whose accounts map to those of this one; a name that exists is left alone,
// and so is the team's default. Accounts without a counterpart are left out of their columns, and with them the
// formulas that name them and what builds on those.
func Copy(ctx context.Context, tx *db.Tx, from []Design, accounts parts.Counterparts) error {
	if err := hold(ctx, tx); err != nil {
		return err
	}

	copied := make([]Design, len(from))
	for i := range from {
		copied[i] = from[i]
		copied[i].NetRevenueSections = copySections(from[i].NetRevenueSections, accounts)
		copied[i].OtherSections = copySections(from[i].OtherSections, accounts)
	}

	if len(copied) == 0 {
		return nil
	}

	return insert(ctx, tx, copied)
}

func copySections(from []Section, accounts map[id.ID]id.ID) []Section {
	out := []Section{}

	for _, s := range from {
		s.Columns = slices.Clone(s.Columns)
		for i := range s.Columns {
			v := &s.Columns[i].Value
			v.AccountIDs = mapped(v.AccountIDs, accounts)

			v.References = slices.Clone(v.References)
			for j := range v.References {
				if r := &v.References[j]; r.Kind == fee.RefAccount {
					r.ID = accounts[r.ID]
				}
			}
		}

		for s.dropBroken() {
			continue
		}

		if len(s.Columns) > 0 {
			out = append(out, s)
		}
	}

	return out
}

// mapped are the counterparts of accounts, each once. Columns without accounts of their own stay so.
func mapped(ids []id.ID, accounts map[id.ID]id.ID) []id.ID {
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

// dropBroken leaves out columns that name something that is not there, and reports whether there were any. A subtotal
// only loses what is missing, unless it loses all: then it would mean every column before it.
func (s *Section) dropBroken() bool {
	before := len(s.Columns)
	there := func(v id.ID) bool { return s.column(v) != nil }
	keep := []Column{}

	for _, c := range s.Columns {
		whole := true
		for _, r := range c.Value.References {
			whole = whole && !r.ID.IsZero() && (r.Kind != fee.RefColumn || there(r.ID))
		}

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
