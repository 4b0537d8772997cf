package layout

import (
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/platform/id"
)

// grammar of the formulas of a type of column.
func (t ColumnType) grammar() fee.Grammar {
	return fee.Grammar{Names: fee.RefColumn, References: []fee.RefKind{fee.RefColumn, fee.RefAccount}, Quotient: t == FormulaPercentage}
}

// formula is that of the column with what its names stand for.
func (c *Column) formula() (fee.Formula, error) {
	f, err := c.Type.grammar().Parse(c.Value.Formula)
	if err == nil {
		f.Bind(known(c.Value.References))
	}

	return f, err
}

func known(references []Reference) []fee.Reference {
	out := make([]fee.Reference, len(references))
	for i, r := range references {
		out[i] = fee.Reference{Kind: r.Kind, Name: r.Name, ID: r.ID}
	}

	return out
}

// useCurrentNames writes the formulas of a section with what columns and accounts are called now, and leaves accounts
// out of the columns that do not exist any more.
func (s *Section) useCurrentNames(accounts map[id.ID]account.Ref) {
	for i := range s.Columns {
		c := &s.Columns[i]

		c.Value.AccountIDs = slices.DeleteFunc(c.Value.AccountIDs, func(v id.ID) bool { _, exists := accounts[v]; return !exists })
		if c.Type.isFormula() {
			c.rewrite(s, accounts)
		}
	}
}

// rewrite leaves a formula as it was written where the current names could not be told apart, or are too long for a
// formula.
func (c *Column) rewrite(s *Section, accounts map[id.ID]account.Ref) {
	f, err := c.formula()
	if err != nil {
		return
	}

	renamed := slices.Clone(c.Value.References)
	meant := map[Reference]id.ID{}
	references := known(c.Value.References)

	for i := range renamed {
		r := &renamed[i]
		if name := s.current(*r, accounts); name != "" {
			r.Name = name
		}

		references[i].Current = r.Name

		name := Reference{Kind: r.Kind, Name: r.Name}
		if v, taken := meant[name]; taken && v != r.ID {
			return
		}

		meant[name] = r.ID
	}

	f.Bind(references)

	text := f.Text()
	if _, err := c.Type.grammar().Parse(text); err != nil {
		return
	}

	c.Value.Formula, c.Value.References = text, renamed
}

// current is what a reference is called now; empty when what it stands for does not exist any more.
func (s *Section) current(r Reference, accounts map[id.ID]account.Ref) string {
	if c := s.column(r.ID); c != nil {
		return c.Name
	}

	a := accounts[r.ID]
	if a.Code != nil {
		return *a.Code
	}

	return a.Name
}

// linked are the accounts that columns of a section name.
func (s *Section) linked() (accounts []id.ID) {
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
