package layout

import (
	"context"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// checking is the check of a change with new sections.
type checking struct {
	*change
	accounts map[id.ID]account.Ref
	issues   []apierr.Issue
}

// sectionList holds the new sections of a kind, with the stored ones.
type sectionList struct {
	field    string // of the body
	sections []Section
	stored   []Section
}

// checkSections refuses sections that break rules which the schema cannot express, and resolves the names in formulas.
func (c *change) checkSections(ctx context.Context, tx *db.Tx) error {
	var (
		lists  []sectionList
		before Layout
	)
	if c.before != nil {
		before = *c.before
	}

	// Only kinds of sections that the request gives are checked.
	if c.netRevenue {
		lists = append(lists, sectionList{"netRevenueSections", c.after.NetRevenueSections, before.NetRevenueSections})
	}

	if c.other {
		lists = append(lists, sectionList{"otherSections", c.after.OtherSections, before.OtherSections})
	}

	if len(lists) == 0 {
		return nil
	}

	// First load the accounts that columns and formulas name.
	k := &checking{change: c}
	if err := k.loadAccounts(ctx, tx, lists); err != nil {
		return err
	}

	// Then collect the issues of all sections, so that the caller sees them together.
	k.checkIDs(lists)

	for i := range lists {
		lists[i].checkLocks(k)
		k.checkColumns(&lists[i])
		k.checkAccounts(&lists[i])
	}

	if len(k.issues) > 0 {
		return apierr.BadRequest.At(k.issues...)
	}

	// Last the formulas, which need columns and accounts that were checked before.
	for i := range lists {
		if err := k.checkFormulas(&lists[i]); err != nil {
			return err
		}
	}

	return nil
}

// add adds an issue.
func (k *checking) add(code apierr.IssueCode, path ...any) {
	k.issues = append(k.issues, code.InBody(path...))
}

// loadAccounts loads the accounts that the sections name, by id or in a formula.
func (k *checking) loadAccounts(ctx context.Context, tx *db.Tx, lists []sectionList) (err error) {
	var ids []id.ID

	names := []string{}

	for _, list := range lists {
		// Accounts of the stored sections count too: a formula that stays keeps its references.
		for i := range list.stored {
			ids = append(ids, list.stored[i].linkedAccounts()...)
		}

		for i := range list.sections {
			for j := range list.sections[i].Columns {
				c := &list.sections[i].Columns[j]

				ids = append(ids, c.Value.AccountIDs...)
				if !c.Type.isFormula() {
					continue
				}

				// A formula that cannot be read names nothing; checkFormulas refuses it.
				if f, err := c.formula(); err == nil {
					for _, r := range f.References() {
						names = append(names, r.Name)
					}
				}
			}
		}
	}

	k.accounts, err = loadAccounts(ctx, tx, tx.Team, ids, names)

	return err
}

// checkIDs refuses an id that occurs twice, sections of the kind that does not change included.
func (k *checking) checkIDs(lists []sectionList) {
	seen := map[id.ID]bool{}

	// First note the ids of the kind that stays.
	if !k.netRevenue || !k.other {
		old := k.after.NetRevenueSections
		if k.netRevenue {
			old = k.after.OtherSections
		}

		for i := range old {
			seen[old[i].ID] = true
			for j := range old[i].Columns {
				seen[old[i].Columns[j].ID] = true
			}
		}
	}

	// Sections and columns share one space of ids.
	unique := func(v id.ID, path ...any) {
		if seen[v] {
			k.add(apierr.IssueUnique, path...)
		}

		seen[v] = true
	}

	for _, list := range lists {
		for i := range list.sections {
			s := &list.sections[i]
			unique(s.ID, list.field, i, "id")

			for j := range s.Columns {
				unique(s.Columns[j].ID, list.field, i, "columns", j, "id")
			}
		}
	}
}

// checkLocks refuses sections that lack a locked part of the standard layout, and copies the locks to the new sections.
func (l *sectionList) checkLocks(k *checking) {
	for i := range l.stored {
		was := &l.stored[i]

		// A locked section may move, but it must not go.
		at := slices.IndexFunc(l.sections, func(s Section) bool { return s.ID == was.ID })
		if at < 0 {
			if was.Locked {
				k.add(apierr.IssueLocked, l.field)
			}

			continue
		}

		is := &l.sections[at]

		// The caller cannot set locks.
		is.Locked = was.Locked
		for j := range was.Columns {
			c := &was.Columns[j]
			if !c.Locked {
				continue
			}

			// A locked column keeps its section and its type.
			place := slices.IndexFunc(is.Columns, func(n Column) bool { return n.ID == c.ID })
			switch {
			case place < 0:
				k.add(apierr.IssueLocked, l.field, at, "columns")
			case is.Columns[place].Type != c.Type:
				k.add(apierr.IssueLocked, l.field, at, "columns", place, "type")
			default:
				is.Columns[place].Locked = true
			}
		}
	}
}

// checkColumns refuses values that do not fit the column's type, names that occur twice in a section, and unknown
// columns.
func (k *checking) checkColumns(l *sectionList) {
	for i := range l.sections {
		s := &l.sections[i]
		names := map[string]bool{}

		for j := range s.Columns {
			c := &s.Columns[j]

			// Formulas name columns, so names must be unique within the section.
			if names[c.Name] {
				k.add(apierr.IssueUnique, l.field, i, "columns", j, "name")
			}

			names[c.Name] = true
			at := []any{l.field, i, "columns", j, "value"}

			c.Value.check(c.Type, func(code apierr.IssueCode, path ...any) { k.add(code, slices.Concat(at, path)...) })

			// A subtotal adds up columns with an amount, each once.
			for n, v := range c.Value.ColumnIDs {
				path := slices.Concat(at, []any{"columnIds", n})
				switch on := s.column(v); {
				case on == nil:
					k.add(apierr.IssueNotFound, path...)
				case !on.Type.isAmount():
					k.add(apierr.IssueContradiction, path...)
				case slices.Contains(c.Value.ColumnIDs[:n], v):
					k.add(apierr.IssueUnique, path...)
				}
			}
		}
	}
}

// check refuses fields that are missing or belong to another type of column, and fills in empty lists.
func (v *Value) check(t ColumnType, refuse func(code apierr.IssueCode, path ...any)) {
	// A field of another type would be ignored without notice.
	for _, f := range []struct {
		name  string
		given bool
		of    bool
	}{
		{"field", v.Field != "", t == Field},
		{"accountIds", v.AccountIDs != nil, t == Accounts},
		{"rest", v.Rest, t == Accounts},
		{"classifications", v.Classifications != nil, t == Accounts && v.Rest},
		{"columnIds", v.ColumnIDs != nil, t == SubTotal},
		{"formula", v.Formula != "", t.isFormula()},
	} {
		if f.given && !f.of {
			refuse(apierr.IssueContradiction, f.name)
		}
	}

	// Then the fields that the type requires.
	switch t {
	case Field:
		if v.Field == "" {
			refuse(apierr.IssueRequired, "field")
		}
	case Accounts:
		if v.AccountIDs == nil && !v.Rest {
			refuse(apierr.IssueRequired, "accountIds")
		}

		if v.AccountIDs == nil {
			v.AccountIDs = []id.ID{}
		}
	case SubTotal:
		if v.ColumnIDs == nil {
			v.ColumnIDs = []id.ID{}
		}
	case FormulaCurrency, FormulaPercentage:
		if v.Formula == "" {
			refuse(apierr.IssueRequired, "formula")
		}
	}
}

// viewers says who sees a column.
type viewers struct{ manager, owner bool }

// isShared reports whether the manager or the owner sees both.
func (a viewers) isShared(b viewers) bool { return a.manager && b.manager || a.owner && b.owner }

// checkAccounts refuses unknown accounts, and accounts that the sections show to the same viewer in two columns.
func (k *checking) checkAccounts(l *sectionList) {
	// The same account may be in two columns if no viewer sees both.
	listed, rests := map[id.ID][]viewers{}, map[account.Classification][]viewers{}
	twice := func(before []viewers, to viewers, path ...any) {
		if slices.ContainsFunc(before, to.isShared) {
			k.add(apierr.IssueAccountTwice, path...)
		}
	}

	for i := range l.sections {
		s := &l.sections[i]
		for j := range s.Columns {
			c := &s.Columns[j]
			v := &c.Value

			// A column is visible only in a visible section.
			to := viewers{s.Visible.to(false) && c.Visible.to(false), s.Visible.to(true) && c.Visible.to(true)}
			path := func(more ...any) []any { return slices.Concat([]any{l.field, i, "columns", j, "value"}, more) }

			// Accounts that the column lists.
			for n, a := range v.AccountIDs {
				if _, exists := k.accounts[a]; !exists {
					k.add(apierr.IssueNotFound, path("accountIds", n)...)
				}

				if slices.Contains(v.AccountIDs[:n], a) {
					k.add(apierr.IssueUnique, path("accountIds", n)...)
					continue
				}

				twice(listed[a], to, path("accountIds", n)...)
				listed[a] = append(listed[a], to)
			}

			// Two columns with the same rest would count it twice, as a whole or by classification.
			if v.Rest && len(v.Classifications) == 0 {
				twice(rests[""], to, path("rest")...)
				rests[""] = append(rests[""], to)
			}

			for n, class := range v.Classifications {
				if slices.Contains(v.Classifications[:n], class) {
					k.add(apierr.IssueUnique, path("classifications", n)...)
					continue
				}

				twice(rests[class], to, path("classifications", n)...)
				rests[class] = append(rests[class], to)
			}
		}
	}
}

// checkFormulas resolves the names in formulas. It refuses the first formula that cannot be read, that names
// something unknown, or that leads back to itself.
func (k *checking) checkFormulas(l *sectionList) error {
	for i := range l.sections {
		s := &l.sections[i]

		// Names may be those of before the change.
		former := l.formerColumns(s)
		for j := range s.Columns {
			if s.Columns[j].Type.isFormula() {
				if err := k.bindFormula(s, j, former, []any{l.field, i, "columns", j, "value", "formula"}); err != nil {
					return err
				}
			}
		}

		// Rings can only be found when all formulas of the section are resolved.
		if err := s.checkRings([]any{l.field, i, "columns"}); err != nil {
			return err
		}

		s.useCurrentNames(k.accounts)
	}

	return nil
}

// bindFormula resolves the names in one formula. It fails if one of them is unknown or a column without an amount.
func (k *checking) bindFormula(s *Section, at int, former []Column, path []any) error {
	c := &s.Columns[at]

	f, err := c.Type.grammar().Parse(c.Value.Formula)
	if err != nil {
		return invalid(err, path)
	}

	// Resolve the names, then check each place where one occurs.
	f.Bind(k.deriveMeanings(s, c, former))

	for _, p := range f.Places() {
		on := s.column(p.ID)
		switch {
		case p.ID.IsZero():
			return invalid(&fee.FormulaError{
				Position: p.Position,
				Message:  "the formula names an unknown " + string(p.Kind),
			}, path)
		case p.Kind == fee.RefColumn && !on.Type.isAmount():
			return invalid(&fee.FormulaError{
				Position: p.Position,
				Message:  "the formula names a column without an amount",
			}, path)
		}
	}

	// Ids are stored with the formula, so that renaming does not break it.
	c.Value.References = []Reference{}
	for _, r := range f.References() {
		c.Value.References = append(c.Value.References, Reference{Kind: r.Kind, Name: r.Name, ID: r.ID})
	}

	return nil
}

// formerColumns returns the stored columns that are in the section now, whatever section they were in.
func (l *sectionList) formerColumns(s *Section) (out []Column) {
	for i := range l.stored {
		for _, c := range l.stored[i].Columns {
			if s.column(c.ID) != nil {
				out = append(out, c)
			}
		}
	}

	return out
}

// deriveMeanings returns what the names of a formula can mean; later ones win. The order is: columns by their former
// names and by their present ones, accounts by name and by code, and for an unchanged formula its stored
// references.
func (k *checking) deriveMeanings(s *Section, c *Column, former []Column) (out []fee.Reference) {
	for _, columns := range [][]Column{former, s.Columns} {
		for i := range columns {
			out = append(out, fee.Reference{Kind: fee.RefColumn, Name: columns[i].Name, ID: columns[i].ID})
		}
	}

	for _, a := range k.accounts {
		out = append(out, fee.Reference{Kind: fee.RefAccount, Name: a.Name, ID: a.ID})
	}

	for _, a := range k.accounts {
		if a.Code != nil {
			out = append(out, fee.Reference{Kind: fee.RefAccount, Name: *a.Code, ID: a.ID})
		}
	}

	// An unchanged formula means the same as before, even if names have moved.
	for i := range former {
		if f := &former[i]; f.ID != c.ID || f.Type != c.Type || f.Value.Formula != c.Value.Formula {
			continue
		}

		for _, r := range formulaReferences(former[i].Value.References) {
			_, exists := k.accounts[r.ID]
			if r.Kind == fee.RefColumn {
				exists = s.column(r.ID) != nil
			}

			if exists {
				out = append(out, r)
			}
		}
	}

	return out
}
