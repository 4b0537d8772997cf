package statement

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
)

// How many statements are held at a time. Those with their lines are bigger.
const (
	eachChunk   = 500
	detailChunk = 100
)

// eachRows passes all selected rows to each in their order, size at a time. Memory grows by one row for each of
// them.
func eachRows(ctx context.Context, tx *db.Tx, f *Filter, size int, each func([]row) error) error {
	rows, err := selectRows(ctx, tx, f)
	if err != nil {
		return err
	}

	// Only the rows of one chunk are filled with what they are computed from.
	for len(rows) > 0 {
		n := min(len(rows), size)
		if err := each(rows[:n]); err != nil {
			return err
		}

		clear(rows[:n]) // frees what the drafts were drawn from
		rows = rows[n:]
	}

	return nil
}

// Each passes all selected statements to f in their order, without their lines.
func Each(ctx context.Context, tx *db.Tx, filter Filter, f func(*Statement) error) error {
	return eachRows(ctx, tx, &filter, eachChunk, func(rows []row) error {
		statements, err := render(ctx, tx, rows, tx.Actor.SeesAsOwner())
		if err != nil {
			return err
		}

		return handAll(statements, f)
	})
}

// EachDetail passes all selected statements to f in their order, with their lines and tables as the owner or the
// manager sees them.
func EachDetail(ctx context.Context, tx *db.Tx, filter Filter, asOwner bool, f func(*Detail) error) error {
	return eachDetails(ctx, tx, filter, asOwner, func(details []Detail) error { return handAll(details, f) })
}

// eachDetails passes the details of up to a hundred statements at a time to f. Each chunk takes a constant number
// of queries.
func eachDetails(ctx context.Context, tx *db.Tx, filter Filter, asOwner bool, f func([]Detail) error) error {
	return eachRows(ctx, tx, &filter, detailChunk, func(rows []row) error {
		details, err := renderDetails(ctx, tx, rows, asOwner || tx.Actor.SeesAsOwner())
		if err != nil {
			return err
		}

		return f(details)
	})
}

// WithLines is a statement and all entries that its figures add up, none of them hidden.
type WithLines struct {
	Statement
	Lines []Line
}

// EachWithLines passes all selected statements to f in their order, with their lines but without issues and
// drill-downs. Every hundred statements take a constant number of queries.
func EachWithLines(ctx context.Context, tx *db.Tx, filter Filter, f func(*WithLines) error) error {
	return eachRows(ctx, tx, &filter, detailChunk, func(rows []row) error {
		// The owner's view spares the queries for issues and drill-downs.
		statements, err := render(ctx, tx, rows, true)
		if err != nil {
			return err
		}

		// The lines are not filtered: those that the layout hides from owners are among them.
		entries, err := loadEntries(ctx, tx, rows)
		if err != nil {
			return err
		}

		for i := range statements {
			if err := f(&WithLines{statements[i], renderLines(entries[statements[i].ID])}); err != nil {
				return err
			}
		}

		return nil
	})
}

// handAll calls f for each value and stops at the first error.
func handAll[T any](all []T, f func(*T) error) error {
	for i := range all {
		if err := f(&all[i]); err != nil {
			return err
		}
	}

	return nil
}

// Counts is the size of a selection.
type Counts struct {
	Statements int64
	// Periods are ownership periods, once per currency.
	Periods int64
	// Owners are the members of the ownership periods, and Parts their parts in statements: only those named by
	// OwnerIDs when the filter names any.
	Owners, Parts int64
}

// Count counts the selected statements without adding anything up.
func Count(ctx context.Context, tx *db.Tx, f Filter) (Counts, error) {
	q, err := f.query(ctx, tx, false)
	if err != nil {
		return Counts{}, err
	}

	// The query of the list is used as a source, so that both select the same statements.
	where := "true"
	if len(q.Where) > 0 {
		where = strings.Join(q.Where, " and ")
	}

	q.Args["counted_owners"] = f.OwnerIDs

	// Statements are counted per chain first: a chain has the same members for all its months.
	out, err := db.Get[Counts](ctx, tx, `
		with chains as materialized (
			select g.ownership_period_id, g.currency, count(*) as statements from `+q.From+` where `+where+` group by g.ownership_period_id, g.currency
		), parts as (
			select m.contact_id, k.statements from chains k join listing_ownership_member m on m.team_id = @team and m.period_id = k.ownership_period_id
			where @counted_owners::uuid[] is null or m.contact_id = any(@counted_owners)
		)
		select coalesce(sum(statements), 0)::bigint as statements, count(*) as periods,
			(select count(distinct contact_id) from parts) as owners, (select coalesce(sum(statements), 0)::bigint from parts) as parts
		from chains`, q.Args)
	if err != nil {
		return Counts{}, fmt.Errorf("count statements: %w", err)
	}

	return out, nil
}

// CountLines counts the lines of the selected statements.
func CountLines(ctx context.Context, tx *db.Tx, f Filter) (int64, error) {
	rows, err := selectRows(ctx, tx, &f)
	if err != nil {
		return 0, err
	}

	// Opening balances are entries but no lines, as in loadEntries.
	from, args := entriesSQL(tx, rows)

	n, err := db.Get[int64](ctx, tx, `select count(*) from `+from+` e where e.section <> 'balanceStart'`, args)
	if err != nil {
		return 0, fmt.Errorf("count statement lines: %w", err)
	}

	return n, nil
}
