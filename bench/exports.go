package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// exportRounds is how many adjacent pairs of an export and a COPY are compared.
const exportRounds = 5

// comparedRows are the most rows that an export and a COPY are compared with.
const comparedRows = 1_000_000

// exports compares the CSV of many journal entries, from the request to the file on disk, with a COPY of the same rows
// that is thrown away. It also compares the memory of the process for few entries and for many.
func exports(ctx context.Context, b *bed) ([]Metric, error) {
	teams := b.ledgers()
	few, many := teams[0], teams[len(teams)-1]

	// Rows are compared up to a million, which takes seconds.
	compared := many
	if compared.rows > comparedRows {
		compared = teams[len(teams)-2]
	}

	rows := compared.rows

	var ratios, ours, copies []float64

	// Both sides take turns, so that a busy moment of the machine meets both.
	for range exportRounds {
		took, err := b.exportEntries(ctx, compared)
		if err != nil {
			return nil, err
		}

		base, err := b.copyOut(ctx, compared, rows)
		if err != nil {
			return nil, err
		}

		ours, copies = append(ours, float64(rows)/took.Seconds()), append(copies, float64(rows)/base.Seconds())
		ratios = append(ratios, base.Seconds()/took.Seconds())
	}

	// Then the highest memory for few entries and for many: it must not grow with them.
	small, err := b.exportPeak(ctx, few)
	if err != nil {
		return nil, err
	}

	large, err := b.exportPeak(ctx, many)
	if err != nil {
		return nil, err
	}

	memory := map[string]any{
		"rows":          many.rows,
		"peakMiB":       large.peak,
		"fewRows":       few.rows,
		"peakMiBOfFew":  small.peak,
		"rowsPerSecond": float64(many.rows) / large.took.Seconds(),
	}

	return []Metric{
		atLeast("export_csv_ratio", median(ratios), 1.2, map[string]any{
			"rows":            rows,
			"rowsPerSecond":   median(ours),
			"copiedPerSecond": median(copies),
			"ratios":          ratios,
		}),
		atMost("export_csv_peak_mib", large.peak, memoryGoal, memory),
		atMost("export_csv_peak_growth_mib", large.peak-small.peak, growthGoal, memory),
	}, nil
}

// exportEntries returns how long an operation takes that exports all journal entries of a team, from the request to
// its end.
func (b *bed) exportEntries(ctx context.Context, t tenant) (time.Duration, error) {
	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return 0, err
	}
	defer c.close()

	return c.operate("/reports/journal-entries/csv", "{}")
}

// exportPeakResult is the time and the memory of an export.
type exportPeakResult struct {
	took time.Duration
	peak float64 // MiB resident
}

// exportPeak exports the entries of a team and returns the time and the highest memory.
func (b *bed) exportPeak(ctx context.Context, t tenant) (p exportPeakResult, err error) {
	peak := watchMemory()
	p.took, err = b.exportEntries(ctx, t)
	p.peak = peak()

	return p, err
}

// copyOut returns how long COPY takes to write the rows of the export, in their order, as CSV that is thrown away.
func (b *bed) copyOut(ctx context.Context, t tenant, rows int) (time.Duration, error) {
	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	begin := time.Now()
	tag, err := conn.PgConn().CopyTo(ctx,
		io.Discard,
		strings.ReplaceAll(copyEntriesSQL, "$team", "'"+t.team.String()+"'"),
	)
	took := time.Since(begin)

	// A base with fewer rows would be too fast.
	if err == nil && tag.RowsAffected() != int64(rows) {
		err = fmt.Errorf("copied %d of %d entries", tag.RowsAffected(), rows)
	}

	return took, err
}

// copyEntriesSQL is SQL that copies the columns of the export in its order, without filters.
const copyEntriesSQL = `copy (
	select e.id, e.txn_code, e.ref, e.ledger, e.status, e.txn_at, e.account_id, a.code, a.name, k.name, k.classification,
		nullif(greatest(e.cent_total, 0), 0), nullif(greatest(-e.cent_total, 0), 0), e.cent_total, e.currency, e.party, e.listing_id, l.name,
		e.ownership_period_id, e.contact_id, c.name, e.reservation_id, r.confirmation_code, r.guest_name, e.transaction_id, e.recurring_fee_id, f.name,
		e.statement_id, e.trigger_type, e.description, e.created_at
	from ledger_entry e
	left join account a on a.team_id = $team and a.id = e.account_id
	left join account_category k on k.team_id = $team and k.id = a.category_id
	left join listing l on l.team_id = $team and l.id = e.listing_id
	left join contact c on c.team_id = $team and c.id = e.contact_id
	left join reservation r on r.team_id = $team and r.id = e.reservation_id
	left join fee f on f.team_id = $team and f.id = e.recurring_fee_id
	where e.team_id = $team order by e.txn_at, e.id) to stdout (format csv, header)`
