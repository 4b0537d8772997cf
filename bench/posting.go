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
)

// memoryGoal is the most memory that the process takes for a large piece of work, in MiB, and growthGoal how much more
// than for a small one.
const memoryGoal, growthGoal = 256, 32

// posting compares a refresh of many reservations, from the operation's start to its end and with the derivation,
// with a COPY of the posted entries into a table with the same indexes. It also measures the memory of the process
// during the refresh.
func posting(ctx context.Context, b *bed) ([]Metric, error) {
	few, err := b.refresh(ctx, fewName)
	if err != nil {
		return nil, err
	}

	many, err := b.refresh(ctx, manyName)
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
		"reservations":                   many.team.rows,
		"entries":                        many.entries,
		"entriesPerSecond":               rate,
		"copiedPerSecond":                base,
		"workers":                        workers,
		"unchangedReservationsPerSecond": float64(many.team.rows) / many.again.Seconds(),
	}
	memory := map[string]any{"reservations": many.team.rows, "peakMiB": many.peak, "peakMiBOfFew": few.peak, "few": few.team.rows}

	return []Metric{
		atLeast("refresh_posting_ratio", rate/base, 0.7, detail),
		atMost("refresh_peak_mib", many.peak, memoryGoal, memory),
		atMost("refresh_peak_growth_mib", many.peak-few.peak, growthGoal, memory),
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
func (b *bed) refresh(ctx context.Context, name string) (r refreshResult, err error) {
	r.team = b.teams[name]

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
	if err == nil && r.entries < int64(r.team.rows)*8 {
		err = fmt.Errorf("%d entries of %d reservations", r.entries, r.team.rows)
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

// operate starts an operation by a POST and returns how long it takes, from the request to its end.
func (c *client) operate(path, body string) (time.Duration, error) {
	return c.operateBy(http.MethodPost, path, body)
}

// operateBy starts an operation by a request of a method and returns how long it takes, from the request to its end.
func (c *client) operateBy(method, path, body string) (time.Duration, error) {
	begin := time.Now()

	answer, err := c.send(c.request(method, path, body), true)
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

	err = c.outlast(at)

	return time.Since(begin), err
}

// outlast asks for an operation until it has ended. It fails if the operation does.
func (c *client) outlast(at string) error {
	begin := time.Now()

	for {
		body, err := c.send(c.request(http.MethodGet, at, ""), true)
		if err != nil {
			return err
		}

		var now struct{ Status, State operation.Status }
		switch err := json.Unmarshal(body, &now); {
		case err != nil:
			return fmt.Errorf("read the operation: %w", err)
		case cmp.Or(now.State, now.Status) == operation.Completed:
			return nil
		case cmp.Or(now.State, now.Status) == operation.Failed:
			return fmt.Errorf("the operation failed: %.2000s", body)
		case time.Since(begin) > 10*patience:
			return errors.New("the operation does not end")
		}

		time.Sleep(20 * time.Millisecond)
	}
}

// copyEntries returns how long COPY takes for the entries of a team, from a file in the format that costs the
// server least.
func (b *bed) copyEntries(ctx context.Context, r refreshResult) (took time.Duration, err error) {
	conn, err := pgx.Connect(ctx, b.url(superuser))
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
