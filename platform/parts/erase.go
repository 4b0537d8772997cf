package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Table is a table with rows of teams. A single noun writes it.
type Table struct {
	Name string
	// Keep is a condition in SQL on the rows r that outlive their team, empty for none. @operation is the operation
	// that erases the team.
	Keep string
	// Archived says what an archive of the team has of the rows.
	Archived Archived
	// Instead are expressions in SQL for columns of rows s that are read back from an archive, by column.
	Instead map[string]string
}

// Archived says what an archive of a team has of a table.
type Archived int

// The answers. The zero value is for what the books are made of.
const (
	// Restored rows are in an archive, and a restored team has them again.
	Restored Archived = iota
	// Shown rows are in an archive to be read: they say what happened in the team that it was made of.
	Shown
	// Left rows are in no archive: sums that follow from other rows, marks of running work, and what lets people in.
	Left
)

// Owns returns tables with rows that all end with their team.
func Owns(names ...string) []Table { return owns(Restored, names) }

// Shows returns tables as Owns does, with rows that archives have to be read.
func Shows(names ...string) []Table { return owns(Shown, names) }

// Keeps returns tables as Owns does, with rows that are in no archive.
func Keeps(names ...string) []Table { return owns(Left, names) }

func owns(archived Archived, names []string) []Table {
	out := make([]Table, len(names))
	for i, name := range names {
		out[i].Name, out[i].Archived = name, archived
	}

	return out
}

// ParentsFirst returns tables in an order in which the foreign keys of the database allow rows to be inserted, apart from
// keys that are cleared when their row goes.
func ParentsFirst(ctx context.Context, tx *db.Tx, tables []Table) ([]Table, error) {
	order, err := childrenFirst(ctx, tx, tables)
	if err != nil {
		return nil, err
	}

	out := make([]Table, len(order))
	for i := range order {
		out[len(out)-1-i] = order[i].Table
	}

	return out, nil
}

// eraseBatch is how many rows a transaction of an erasure deletes: a team can have millions of rows, and the locks and
// the undo work of a transaction must stay bounded, and a batch takes time from other teams before the next rest.
const eraseBatch = 2000

// erasePasses is how often an erasure returns for rows that running work has added meanwhile.
const erasePasses = 10

var (
	errNotDeleted = errors.New("the team is not frozen for its deletion")
	errNotErased  = errors.New("rows of the team keep coming, or hold each other")
)

// Erase removes everything that the nouns have of a team: first what they keep outside of the database, then the
// rows of their tables, children first, in transactions of bounded size. Rows that Table.Keep names stay. It can be
// stopped anywhere and called again. The team must be frozen for its deletion, which the database checks too before
// it lets books and the audit trail go. The operation is the one that deletes the team.
func (p Part) Erase(ctx context.Context, d *db.DB, team, operation id.ID) error {
	scope := db.Scope{Team: team, Operation: operation}

	var order []erasable

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		frozen, err := db.Get[bool](ctx, tx, `select exists (select from team where team_id = @team and freeze_reason = 'deletion')`, db.Args{"team": team})
		if err != nil {
			return fmt.Errorf("read the team: %w", err)
		}

		if !frozen {
			return errNotDeleted
		}

		order, err = childrenFirst(ctx, tx, p.Tables)

		return err
	})
	if err != nil {
		return err
	}

	// From here on nobody else writes in the team.
	if err := d.Settle(ctx, scope); err != nil {
		return err
	}

	// Files first: their rows say where the bytes are.
	if p.Outside != nil {
		if err := p.Outside(ctx, d, team); err != nil {
			return err
		}
	}

	// Repeat until a pass deletes nothing: work that was running may still add rows.
	for range erasePasses {
		var deleted int64

		for i := range order {
			n, err := order[i].erase(ctx, d, scope)
			if err != nil {
				return fmt.Errorf("erase %s: %w", order[i].Name, err)
			}

			deleted += n
		}

		if deleted == 0 {
			return nil
		}
	}

	return errNotErased
}

// erasable is a table in its place.
type erasable struct {
	Table
	parents []string // columns that name another row of the table
}

// erase deletes the team's rows, batch by batch, and returns their number. Rows that other rows of the table refer
// to wait for a later batch.
func (e *erasable) erase(ctx context.Context, d *db.DB, scope db.Scope) (int64, error) {
	conditions := []string{"r.team_id = @team"}
	if e.Keep != "" {
		conditions = append(conditions, "("+e.Keep+") is not true")
	}

	for _, parent := range e.parents {
		conditions = append(conditions, fmt.Sprintf("not exists (select from %s c where c.team_id = @team and c.%s "+
			"= r.id and c.id <> r.id)", e.Name, parent))
	}

	// Delete by place, because tables have different keys.
	where := strings.Join(conditions, " and ")
	sql := fmt.Sprintf("delete from %[1]s where ctid = any(array(select r.ctid from %[1]s r where %[2]s limit "+
		"@batch))", e.Name, where)

	args := db.Args{"team": scope.Team, "batch": eraseBatch}
	if strings.Contains(where, "@operation") {
		args["operation"] = scope.Operation
	}

	var sum int64

	for {
		var deleted int64

		begin := time.Now()

		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			if _, err = tx.Exec(ctx, `select set_config('stayledger.erasing', @team::text, true)`, db.Args{"team": scope.Team.String()}); err != nil {
				return err
			}

			deleted, err = tx.Exec(ctx, sql, args)

			return err
		})
		if sum += deleted; err != nil || deleted == 0 {
			return sum, err
		}

		// Only large teams rest: a table with few rows is done with one batch.
		if deleted == eraseBatch {
			if err := job.Rest(ctx, time.Since(begin)); err != nil {
				return sum, err
			}
		}
	}
}

// childrenFirst returns tables in an order in which the foreign keys of the database allow their rows to be
// deleted.
func childrenFirst(ctx context.Context, tx *db.Tx, tables []Table) ([]erasable, error) {
	type key struct{ Child, Parent, Columns string }

	keys, err := db.Select[key](ctx, tx, `
		select c.conrelid::regclass::text as child, c.confrelid::regclass::text as parent, coalesce(string_agg(a.attname::text, ','), '') as columns
		from pg_constraint c left join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey) and a.attname <> 'team_id'
		where c.contype = 'f' and c.connamespace = 'public'::regnamespace and c.confdeltype <> 'n' -- a key that is cleared holds nothing back
		group by c.oid, c.conrelid, c.confrelid`, nil)
	if err != nil {
		return nil, fmt.Errorf("read the foreign keys: %w", err)
	}

	left := slices.Clone(tables)

	var order []erasable

	for len(left) > 0 {
		// A table that no other one among those left points to.
		at := slices.IndexFunc(left, func(t Table) bool {
			return !slices.ContainsFunc(keys, func(k key) bool {
				return k.Parent == t.Name && k.Child != t.Name && slices.ContainsFunc(left, func(c Table) bool {
					return c.Name == k.Child
				})
			})
		})
		if at < 0 {
			return nil, fmt.Errorf("%w: foreign keys go in a circle among %v", errNotErased, left)
		}

		// A table can also refer to itself.
		e := erasable{Table: left[at]}
		for _, k := range keys {
			if k.Child == e.Name && k.Parent == e.Name {
				e.parents = append(e.parents, k.Columns)
			}
		}

		order, left = append(order, e), slices.Delete(left, at, at+1)
	}

	return order, nil
}
