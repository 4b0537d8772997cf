package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/domain/record/operation"
	"stayledger/platform/pgserver"
)

const (
	manyStays  = 100_000
	fewStays   = 25_000
	memoryGoal = 256 // MiB
)

// posting compares a refresh of many reservations, from the operation's start to its end and with the derivation,
// with a COPY of the posted entries into a table with the same indexes. It also measures the memory of the process
// during the refresh.
func posting(ctx context.Context, b *bed) ([]Metric, error) {
	few, err := b.refresh(ctx, fewStays)
	if err != nil {
		return nil, err
	}

	many, err := b.refresh(ctx, manyStays)
	if err != nil {
		return nil, err
	}

	// The base writes the same entries, without deriving them.
	copied, err := b.copyEntries(ctx, many)
	if err != nil {
		return nil, err
	}

	rate, base := float64(many.entries)/many.took.Seconds(), float64(many.entries)/copied.Seconds()
	detail := map[string]any{
		"reservations":                   manyStays,
		"entries":                        many.entries,
		"entriesPerSecond":               rate,
		"copiedPerSecond":                base,
		"workers":                        workers,
		"unchangedReservationsPerSecond": manyStays / many.again.Seconds(),
	}
	memory := map[string]any{"reservations": manyStays, "peakMiB": many.peak, "peakMiBOfFew": few.peak, "few": fewStays}

	return []Metric{
		atLeast("refresh_posting_ratio", rate/base, 0.5, detail),
		atMost("refresh_peak_mib", many.peak, memoryGoal, memory),
		atMost("refresh_peak_growth_mib", many.peak-few.peak, 32, memory),
	}, nil
}

// refreshResult is the outcome of a refresh.
type refreshResult struct {
	team        tenant
	entries     int64
	took, again time.Duration
	peak        float64 // MiB resident
}

// refresh derives the journals of a team's reservations from nothing, and then once more when nothing changes.
func (b *bed) refresh(ctx context.Context, stays int) (r refreshResult, err error) {
	if r.team, err = b.newBooks(ctx); err != nil {
		return r, err
	}

	// First fill in stays without journals: the service would post them one by one.
	if err := b.asAdministrator(ctx, []string{
		fmt.Sprintf(`insert into reservation (team_id, id, short_ref, listing_id, status, guest_name, confirmation_code, check_in, check_out, booked_at,
				booking_platform, currency, created_at, updated_at)
			select $1, gen_random_uuid(), 'r' || n, md5($1::uuid::text || (1 + n %% %d))::uuid, 'booked', 'Guest ' || n, 'HM' || n,
				date '2023-01-01' + n %% 1095, date '2023-01-01' + n %% 1095 + 1 + n %% 9, date '2022-12-01' + n %% 1095, 'airbnb', 'usd', now(), now()
			from generate_series(1, %d) n`, portfolio, stays),
		`insert into reservation_line (team_id, id, reservation_id, position, type, amount)
			select r.team_id, gen_random_uuid(), r.id, l.position, l.type, l.amount from reservation r
			cross join (values (1, 'rent', 98765), (2, 'cleaningFee', 15000), (3, 'tax', 13799)) as l (position, type, amount) where r.team_id = $1`,
	}, r.team); err != nil {
		return r, err
	}

	if err := b.asAdministrator(ctx, []string{"analyze", "checkpoint"}, tenant{}); err != nil {
		return r, err
	}

	// Only the first refresh is measured for memory, since it posts the entries.
	peak := watchMemory()
	r.took, err = b.refreshAll(ctx, r.team)

	r.peak = peak()
	if err != nil {
		return r, err
	}

	if r.again, err = b.refreshAll(ctx, r.team); err != nil {
		return r, err
	}

	// Last, check that the journals are there: every stay has at least eight entries.
	r.entries, err = b.count(ctx, r.team, `select count(*) from ledger_entry where team_id = @team`)
	if err == nil && r.entries < int64(stays)*8 {
		err = fmt.Errorf("%d entries of %d reservations", r.entries, stays)
	}

	return r, err
}

// refreshAll returns how long the operation takes that refreshes all reservations of a team, from the request to
// its end.
func (b *bed) refreshAll(ctx context.Context, t tenant) (time.Duration, error) {
	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return 0, err
	}
	defer c.close()

	return c.operate("/reservations/journal-entries", "{}")
}

// operate starts an operation and returns how long it takes, from the request to its end.
func (c *client) operate(path, body string) (time.Duration, error) {
	begin := time.Now()

	answer, err := c.send(c.request(http.MethodPost, path, body), true)
	if err != nil {
		return 0, err
	}

	// Work that is no operation is read below its own path.
	var started struct {
		ID          string
		OperationID string
	}
	if err := json.Unmarshal(answer, &started); err != nil {
		return 0, fmt.Errorf("read the acknowledgement: %w", err)
	}

	at := "/operations/" + started.OperationID
	if started.OperationID == "" {
		at = path + "/" + started.ID
	}

	// Ask for the status until it ends.
	for {
		body, err := c.send(c.request(http.MethodGet, at, ""), true)
		if err != nil {
			return 0, err
		}

		var now struct{ Status, State operation.Status }
		switch err := json.Unmarshal(body, &now); {
		case err != nil:
			return 0, fmt.Errorf("read the operation: %w", err)
		case cmp.Or(now.State, now.Status) == operation.Completed:
			return time.Since(begin), nil
		case cmp.Or(now.State, now.Status) == operation.Failed:
			return 0, fmt.Errorf("the operation failed: %.2000s", body)
		case time.Since(begin) > 10*patience:
			return 0, errors.New("the operation does not end")
		}

		time.Sleep(20 * time.Millisecond)
	}
}

// copyEntries returns how long COPY takes for the entries of a team, from a file in the format that costs the
// server least.
func (b *bed) copyEntries(ctx context.Context, r refreshResult) (took time.Duration, err error) {
	conn, err := pgx.Connect(ctx, b.server.URL("postgres", pgserver.Role))
	if err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	file, err := os.Create(filepath.Join(b.folder, "entries"))
	if err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()

	// First write the entries to a file, which is not timed.
	out := `copy (select * from ledger_entry where team_id = '` + r.team.team.String() + `') to stdout (format binary)`
	if _, err := conn.PgConn().CopyTo(ctx, file, out); err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	if _, err := conn.Exec(ctx, `create table bench_entry (like ledger_entry including all)`); err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	// The checkpoint keeps the writes above out of the measured time.
	if _, err := conn.Exec(ctx, "checkpoint"); err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	// Only this direction is the write that the refresh is compared with.
	begin := time.Now()
	tag, err := conn.PgConn().CopyFrom(ctx, file, `copy bench_entry from stdin (format binary)`)
	took = time.Since(begin)

	if err == nil && tag.RowsAffected() != r.entries {
		err = fmt.Errorf("copied %d of %d entries", tag.RowsAffected(), r.entries)
	}

	return took, err
}

// watchMemory samples the resident memory of the process until the returned function is called, which returns the
// peak in MiB.
func watchMemory() func() float64 {
	// Memory of earlier measurements must not count.
	debug.FreeOSMemory()

	var peak atomic.Int64

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)

		for {
			peak.Store(max(peak.Load(), residentKiB()))

			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()

	return func() float64 {
		close(stop)
		<-stopped

		return float64(peak.Load()) / 1024
	}
}

// residentKiB returns the resident memory of the process, or 0 where the system does not report it.
func residentKiB() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}

	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	line, _, _ := strings.Cut(rest, "kB")

	n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}

	return n
}
