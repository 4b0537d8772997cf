package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Use is a kind of rows that refer to the records of a noun. The noun that owns the rows declares it in its Part.
type Use struct {
	// Of is the table of the records.
	Of string
	// Reason names the rows to callers; rows of several nouns can have one reason.
	Reason string
	// Columns hold ids of records, as table.column. A row with the id of a record keeps it from being deleted.
	Columns []string
	// SQL replaces the condition that is made from Columns, where not every row counts, or where ids are kept in
	// another form too. It has the arguments @team, @id and, if it names it, @today.
	SQL string
	// Holds reports whether each of the rows keeps the record from being archived, too.
	Holds bool
	// HoldsIf is the condition in SQL that the record cannot be archived, if only some of the rows keep it from that.
	HoldsIf string
}

// checkUses panics if a use is made of a table that the noun does not own.
func (p *Part) checkUses() {
	for i := range p.Uses {
		for _, column := range p.Uses[i].Columns {
			table, _, _ := strings.Cut(column, ".")
			if !slices.ContainsFunc(p.Tables, func(t Table) bool { return t.Name == table }) {
				panic(fmt.Sprintf("parts: a use of %s is declared by a noun that does not own %s", p.Uses[i].Of, table))
			}
		}
	}
}

// deletion returns the condition in SQL that the record cannot be deleted.
func (u *Use) deletion() string {
	if u.SQL != "" {
		return u.SQL
	}

	rows := make([]string, len(u.Columns))
	for i, name := range u.Columns {
		table, column, _ := strings.Cut(name, ".")
		rows[i] = "exists (select from " + table + " where team_id = @team and " + column + " = @id)"
	}

	return orSQL(rows...)
}

// archiving returns the condition in SQL that the record cannot be archived.
func (u *Use) archiving() string {
	if u.Holds {
		return u.deletion()
	}

	return u.HoldsIf
}

// orSQL joins conditions in SQL with "or". It leaves out empty conditions.
func orSQL(conditions ...string) string {
	given := slices.DeleteFunc(slices.Clone(conditions), func(c string) bool { return c == "" })
	if len(given) == 0 {
		return "false"
	}

	return "(" + strings.Join(given, " or ") + ")"
}

// Usage finds the uses of a noun's records, by the uses that all nouns declare.
type Usage struct {
	// Of is the table of the records.
	Of string
	// Reasons are all reasons that can be given, in the order in which callers get them.
	Reasons []string

	isJoined bool
	sql      string // empty if no noun declares a use
	held     string // finds only uses that keep a record from being archived; empty if there are none
}

// NewUsage returns the usage of the records in a table. It finds nothing before the Part that names it is joined.
func NewUsage(of string, reasons ...string) *Usage { return &Usage{Of: of, Reasons: reasons} }

// Used has the reasons why a record cannot be deleted, and why it cannot be archived; nil for none.
type Used struct{ Deletion, Archiving []string }

var errNotJoined = errors.New("the uses of the noun are not joined")

// Load returns what uses a record, found by one query.
func (u *Usage) Load(ctx context.Context, tx *db.Tx, record id.ID) (used Used, err error) {
	return u.load(ctx, tx, record, u.sql)
}

// LoadArchiving returns why a record cannot be archived, without looking for uses that only keep it from being deleted:
// their queries end early if there are many rows, and run long if there are none.
func (u *Usage) LoadArchiving(ctx context.Context, tx *db.Tx, record id.ID) ([]string, error) {
	used, err := u.load(ctx, tx, record, u.held)
	return used.Archiving, err
}

// load returns the uses that a query of Usage finds.
func (u *Usage) load(ctx context.Context, tx *db.Tx, record id.ID, sql string) (used Used, err error) {
	if !u.isJoined {
		return used, fmt.Errorf("find what uses a record of %s: %w", u.Of, errNotJoined)
	}

	if sql == "" {
		return used, nil
	}

	args := db.Args{"team": tx.Team, "id": record}
	if strings.Contains(sql, "@today") {
		args["today"] = tx.Today()
	}

	type row struct {
		Reason              string
		Deletion, Archiving bool
	}

	rows, err := db.Select[row](ctx, tx, sql, args)
	if err != nil {
		return used, fmt.Errorf("find what uses a record of %s: %w", u.Of, err)
	}

	for _, r := range rows {
		if r.Deletion {
			used.Deletion = append(used.Deletion, r.Reason)
		}

		if r.Archiving {
			used.Archiving = append(used.Archiving, r.Reason)
		}
	}

	return used, nil
}

// join sets the queries that find the uses. It panics if a use has a reason that is not among those of the noun,
// because callers would not get it.
func (u *Usage) join(uses []Use) {
	deletion, archiving := map[string][]string{}, map[string][]string{}

	for i := range uses {
		use := &uses[i]
		if use.Of != u.Of {
			continue
		}

		if !slices.Contains(u.Reasons, use.Reason) {
			panic(fmt.Sprintf("parts: %s is no reason why a record of %s is in use", use.Reason, u.Of))
		}

		deletion[use.Reason] = append(deletion[use.Reason], use.deletion())
		archiving[use.Reason] = append(archiving[use.Reason], use.archiving())
	}

	// A row for each reason, in the order of the noun's own list.
	var rows, holding []string

	for i, reason := range u.Reasons {
		if deletion[reason] == nil {
			continue
		}

		holds := orSQL(archiving[reason]...)
		rows = append(rows, fmt.Sprintf("(%d, '%s', %s, %s)", i, reason, orSQL(deletion[reason]...), holds))

		if holds != orSQL() {
			holding = append(holding, fmt.Sprintf("(%d, '%s', false, %s)", i, reason, holds))
		}
	}

	u.isJoined, u.sql, u.held = true, usesSQL(rows), usesSQL(holding)
}

// usesSQL returns the query for rows of reasons, empty for none.
func usesSQL(rows []string) string {
	if rows == nil {
		return ""
	}

	return "select reason, deletion, archiving from (values " + strings.Join(rows, ",\n") +
		") u (n, reason, deletion, archiving) where deletion or archiving order by n"
}
