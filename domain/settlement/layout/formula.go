package layout

import (
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/platform/id"
)

// grammar returns the grammar of the formulas of a type of column.
func (t ColumnType) grammar() fee.Grammar {
	return fee.Grammar{
		Names:      fee.RefColumn,
		References: []fee.RefKind{fee.RefColumn, fee.RefAccount},
		Quotient:   t == FormulaPercentage,
	}
}

// formula returns the formula of the column with its names resolved.
func (c *Column) formula() (fee.Formula, error) {
	f, err := c.Type.grammar().Parse(c.Value.Formula)
	if err == nil {
		f.Bind(formulaReferences(c.Value.References))
	}

	return f, err
}

// formulaReferences returns references in the form that formulas bind.
func formulaReferences(references []Reference) []fee.Reference {
	out := make([]fee.Reference, len(references))
	for i, r := range references {
		out[i] = fee.Reference{Kind: r.Kind, Name: r.Name, ID: r.ID}
	}

	return out
}

// useCurrentNames rewrites the formulas of a section with the present names of columns and accounts, and drops
// accounts that no longer exist from the columns.
func (s *Section) useCurrentNames(accounts map[id.ID]account.Ref) {
	for i := range s.Columns {
		c := &s.Columns[i]

		c.Value.AccountIDs = slices.DeleteFunc(c.Value.AccountIDs, func(v id.ID) bool {
			_, exists := accounts[v]
			return !exists
		})
		if c.Type.isFormula() {
			c.rewriteFormula(s, accounts)
		}
	}
}

// rewriteFormula rewrites a formula with the present names. It leaves the formula as it is if two of the names would be
// the same, or if the text would be too long for a formula.
func (c *Column) rewriteFormula(s *Section, accounts map[id.ID]account.Ref) {
	f, err := c.formula()
	if err != nil {
		return
	}

	renamed := slices.Clone(c.Value.References)
	meant := map[Reference]id.ID{}
	references := formulaReferences(c.Value.References)

	// A name that is gone stays as it was written.
	for i := range renamed {
		r := &renamed[i]
		if name := s.currentName(*r, accounts); name != "" {
			r.Name = name
		}

		references[i].Current = r.Name

		// Two things with one name: the text would be ambiguous.
		name := Reference{Kind: r.Kind, Name: r.Name}
		if v, taken := meant[name]; taken && v != r.ID {
			return
		}

		meant[name] = r.ID
	}

	f.Bind(references)

	// Parse the new text again to be sure that it is a formula.
	text := f.Text()
	if _, err := c.Type.grammar().Parse(text); err != nil {
		return
	}

	c.Value.Formula, c.Value.References = text, renamed
}

// currentName returns the present name of a reference, empty when it no longer exists.
func (s *Section) currentName(r Reference, accounts map[id.ID]account.Ref) string {
	if c := s.column(r.ID); c != nil {
		return c.Name
	}

	a := accounts[r.ID]
	if a.Code != nil {
		return *a.Code
	}

	return a.Name
}

// linkedAccounts returns the accounts that columns of a section name, by id or in a formula.
func (s *Section) linkedAccounts() (accounts []id.ID) {
	for i := range s.Columns {
		v := &s.Columns[i].Value

		accounts = append(accounts, v.AccountIDs...)
		for _, r := range v.References {
			if r.Kind != fee.RefColumn {
				accounts = append(accounts, r.ID)
			}
		}
	}

	return accounts
}
