package layout

import (
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/platform/id"
)

// part says how the sections of a kind distribute entries.
type part struct {
	kind     string
	outlines []outline
	// listed are the places of accounts that columns list; rests and rest are the places of those that none lists.
	listed map[id.ID][]place
	rests  map[account.Classification][]place
	rest   []place
}

// place is a column that adds an account up.
type place struct {
	section int
	column  uint64 // its bit: a section has at most 50 columns
}

// outline says how a section is computed.
type outline struct {
	section *Section
	plans   []plan
	// order lists the columns so that each comes after those that it builds on.
	order []int
}

// plan says how a column is computed.
type plan struct {
	// adds are the bits of the accounts columns that it adds up, formulas the positions of the currency formulas.
	adds     uint64
	formulas []int
	formula  fee.Formula
	// The amount depends on the columns in reach and on accounts.
	reach    uint64
	accounts []id.ID
}

// planSections returns how the sections of a kind are computed. It changes nothing in them.
func planSections(kind string, sections []Section) *part {
	p := &part{
		kind:     kind,
		outlines: make([]outline, len(sections)),
		listed:   map[id.ID][]place{},
		rests:    map[account.Classification][]place{},
	}
	for i := range sections {
		// The bit of a column is its position.
		p.outlines[i] = newOutline(&sections[i])
		for j := range sections[i].Columns {
			if c := &sections[i].Columns[j]; c.Type == Accounts {
				p.addPlaces(&c.Value, place{i, 1 << j})
			}
		}
	}

	return p
}

// addPlaces enters the accounts that a column adds up.
func (p *part) addPlaces(v *Value, at place) {
	for _, a := range v.AccountIDs {
		p.listed[a] = append(p.listed[a], at)
	}

	if !v.Rest {
		return
	}

	// A rest without classifications takes whatever the others leave.
	if len(v.Classifications) == 0 {
		p.rest = append(p.rest, at)
	}

	for _, c := range v.Classifications {
		p.rests[c] = append(p.rests[c], at)
	}
}

// findPlaces returns the columns that add an entry up; with none the entry is not part of the layout.
func (p *part) findPlaces(e *Entry) []place {
	// A listed account wins over the rest of its classification, and that over the rest.
	if places := p.listed[e.AccountID]; places != nil {
		return places
	}

	if places := p.rests[account.Classification(e.Classification)]; places != nil {
		return places
	}

	return p.rest
}

// newOutline returns how a section is computed.
func newOutline(s *Section) outline {
	o := outline{section: s, plans: make([]plan, len(s.Columns))}

	visited := make([]bool, len(s.Columns))
	for i := range s.Columns {
		o.planColumn(i, visited)
	}

	return o
}

// planColumn plans a column after those that it builds on. No stored layout contains a ring; if there were one, it
// would be cut where it closes.
func (o *outline) planColumn(at int, visited []bool) {
	if visited[at] {
		return
	}

	visited[at] = true

	// Formulas were checked when the layout was saved, so an error is not expected here.
	c, p := &o.section.Columns[at], &o.plans[at]
	if c.Type.isFormula() {
		formula, err := c.formula()
		if err == nil {
			p.formula = formula
			p.accounts = formulaAccounts(formula)
		}
	}

	// Plan the other columns first, and take over all that their amounts depend on.
	for _, next := range o.section.columnsBelow(at) {
		o.planColumn(next, visited)
		on := &o.plans[next]
		p.reach |= on.reach
		p.accounts = append(p.accounts, on.accounts...)

		if c.Type != SubTotal {
			continue
		}

		// A subtotal adds up entries, not columns, so an entry in two of its columns counts once. Formulas have no
		// entries and are added by their amounts.
		p.adds |= on.adds
		if o.section.Columns[next].Type == FormulaCurrency {
			p.formulas = append(p.formulas, next)
		}

		p.formulas = append(p.formulas, on.formulas...)
	}

	if c.Type == Accounts {
		p.adds, p.reach = 1<<at, 1<<at
	}

	// A formula that is reached twice counts once.
	slices.Sort(p.formulas)
	p.formulas = slices.Compact(p.formulas)

	o.order = append(o.order, at)
}

// formulaAccounts returns the accounts that a formula names.
func formulaAccounts(f fee.Formula) (accounts []id.ID) {
	for _, r := range f.References() {
		if r.Kind == fee.RefAccount {
			accounts = append(accounts, r.ID)
		}
	}

	return accounts
}

// columnsBelow returns the positions of the columns with an amount from which a column is computed.
func (s *Section) columnsBelow(at int) (on []int) {
	// A subtotal without columns adds up all accounts columns before it.
	c := &s.Columns[at]
	if c.Type == SubTotal && len(c.Value.ColumnIDs) == 0 {
		for i := range at {
			if s.Columns[i].Type == Accounts {
				on = append(on, i)
			}
		}

		return on
	}

	// Otherwise the column names the others.
	var ids []id.ID

	switch {
	case c.Type == SubTotal:
		ids = c.Value.ColumnIDs
	case c.Type.isFormula():
		for _, r := range c.Value.References {
			if r.Kind == fee.RefColumn {
				ids = append(ids, r.ID)
			}
		}
	}

	// Ignore names of missing columns and of columns without an amount.
	for _, v := range ids {
		if i := slices.IndexFunc(s.Columns, func(c Column) bool {
			return c.ID == v
		}); i >= 0 && s.Columns[i].Type.isAmount() {
			on = append(on, i)
		}
	}

	return on
}
