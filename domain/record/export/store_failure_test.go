package export_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stayledger/domain/record/export"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/parts"
)

// frail is a store that fails once, at one step of a writer.
type frail struct {
	blob.Store

	at     string // create, write or commit
	failed atomic.Bool
}

func (s *frail) fails(at string) error {
	if s.at == at && s.failed.CompareAndSwap(false, true) {
		return fmt.Errorf("%s: %w", at, syscall.ENOSPC)
	}

	return nil
}

func (s *frail) Create(ctx context.Context, key string) (blob.Writer, error) {
	if err := s.fails("create"); err != nil {
		return nil, err
	}

	w, err := s.Store.Create(ctx, key)

	return &frailWriter{Writer: w, store: s}, err
}

// frailWriter takes some bytes before its disk is full, and commits nothing after that.
type frailWriter struct {
	blob.Writer

	store *frail
	full  error
	taken int
}

func (w *frailWriter) Write(p []byte) (int, error) {
	if w.full == nil && w.taken+len(p) > 1000 {
		w.full = w.store.fails("write")
	}

	if w.full != nil {
		n, _ := w.Writer.Write(p[:len(p)/2])
		return n, w.full
	}

	n, err := w.Writer.Write(p)
	w.taken += n

	return n, err
}

func (w *frailWriter) Commit() (blob.Info, error) {
	err := w.full
	if err == nil {
		err = w.store.fails("commit")
	}

	if err != nil {
		return blob.Info{}, errors.Join(err, w.Abort())
	}

	return w.Writer.Commit()
}

// newWorldOn serves one export from a store that fails at a step, or never.
func newWorldOn(t *testing.T, failsAt string, pair parts.Export) *world {
	t.Helper()
	return newWorldAt(t, func(s blob.Store) blob.Store { return &frail{Store: s, at: failsAt} }, pair)
}

// newWorldAt serves one export from a store made of a folder.
func newWorldAt(t *testing.T, made func(blob.Store) blob.Store, pair parts.Export) *world {
	t.Helper()

	local, err := blob.Local(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	signer, err := blob.NewSigner([]byte("a test key of more than 32 bytes in all"))
	if err != nil {
		t.Fatal(err)
	}

	store := made(local)
	exports := export.New(export.Config{Store: store, Signer: signer, PublicURL: address}, pair)
	w := &world{t: t, store: local, endpoints: slices.Concat(exports.Part().Endpoints, file.Part(store, signer).Endpoints, operation.Part(time.Hour).Endpoints)}
	w.Team = apitest.New(t, apitest.Config{Endpoints: w.endpoints, Handlers: exports.Part().Handlers})

	return w
}

func (w *world) drafts() int64 {
	w.t.Helper()

	var n int64

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from file_draft where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// kept fails unless so many files are kept, and nothing besides.
func (w *world) kept(files int64) {
	w.t.Helper()

	if got, drafts, open := w.files(), w.drafts(), w.open(); got != files || drafts != 0 || open != 0 {
		w.t.Errorf("%d files, %d drafts, %d writers left behind; want %d files", got, drafts, open, files)
	}
}

// numbers renders some rows of the database as they arrive.
func numbers(rows int, each func(row int) error) parts.Export {
	return probe(func(ctx context.Context, tx *db.Tx, _ *selection, out *export.Sink) error {
		to := bufio.NewWriterSize(out, 512)
		n := 0
		err := db.EachRaw(ctx, tx, db.Stmt{SQL: `select n from generate_series(1, @rows::int) n`, Args: db.Args{"rows": rows}}, func(r *db.RawRows) error {
			n++
			if each != nil {
				if err := each(n); err != nil {
					return err
				}
			}

			_, err := fmt.Fprintf(to, "%d\r\n", binary.BigEndian.Uint32(r.Values[0]))

			return err
		})

		return errors.Join(err, to.Flush())
	})
}

// numbered is the export of numbers.
func numbered(rows int) string {
	var out []byte
	for n := range rows {
		out = fmt.Appendf(out, "%d\r\n", n+1)
	}

	return string(out)
}

// A full disk fails a GET and leaves nothing; the next one, and the next attempt of an operation, succeed.
// Proves: EXP-17.
func TestFullDisk(t *testing.T) {
	t.Parallel()

	for _, at := range []string{"create", "write", "commit"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()

			w := newWorldOn(t, at, numbers(2000, nil))
			if answer := w.Get("/probes/csv").WantError(apierr.CodeBadGateway, ""); answer.Has("context") {
				t.Errorf("answer %s", answer.Body)
			}

			w.kept(0)

			if got := w.awaited("/probes/csv"); string(got.Body) != numbered(2000) {
				t.Errorf("then %d bytes", len(got.Body))
			}

			w.kept(1)

			w = newWorldOn(t, at, numbers(2000, nil))
			if got := w.queued("/probes/csv", object{}); string(got.Body) != numbered(2000) {
				t.Errorf("queued %d bytes", len(got.Body))
			}

			w.kept(1)
		})
	}
}

// fullDisk is a store with a disk that is full until the test changes that.
type fullDisk struct {
	blob.Store

	full atomic.Bool
}

func (s *fullDisk) Create(ctx context.Context, key string) (blob.Writer, error) {
	if s.full.Load() {
		return nil, fmt.Errorf("create: %w", syscall.ENOSPC)
	}

	return s.Store.Create(ctx, key)
}

// lag is how much the real clock may add to the time that Outlast lets pass, on a machine that is busy.
const lag = 10 * time.Minute

// A queued export waits for a disk that is full for minutes or hours, and is given up after a day; one that cannot be
// rendered is given up after five attempts.
func TestADiskThatStaysFull(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		full        time.Duration
		broken      bool
		status      string
		least, most time.Duration
	}{
		"for five minutes": {full: 5 * time.Minute, status: "completed", least: 5 * time.Minute, most: 20 * time.Minute},
		"for ten hours":    {full: 10 * time.Hour, status: "completed", least: 10 * time.Hour, most: 11 * time.Hour},
		"for two days":     {full: 48 * time.Hour, status: "failed", least: 24*time.Hour - lag, most: 25 * time.Hour},
		"never, broken":    {broken: true, status: "failed", most: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pair := numbers(2000, nil)
			if c.broken {
				pair = probe(func(context.Context, *db.Tx, *selection, *export.Sink) error {
					return errors.New("it cannot be rendered")
				})
			}

			disk := &fullDisk{}
			w := newWorldAt(t, func(s blob.Store) blob.Store { disk.Store = s; return disk }, pair)

			disk.full.Store(c.full > 0)

			op := w.Post("/probes/csv", object{}).Want(202).String("operationId")

			if c.status == "failed" {
				w.ExpectInternal("export", "the disk is full, or the probe cannot be rendered")
			}

			passed := w.Outlast(func(passed time.Duration) { disk.full.Store(passed < c.full) })
			if got := w.Get("/operations/" + op).Want(200).String("status"); got != c.status || passed < c.least || passed > c.most {
				t.Errorf("the operation is %s after %v", got, passed)
			}

			w.kept(map[string]int64{"completed": 1, "failed": 0}[c.status])
		})
	}
}

// killer ends the database connection of an export, once, as a failing server would.
type killer struct {
	w    *world
	once sync.Once
}

func (k *killer) kill(pid int64) {
	k.once.Do(func() {
		k.w.Tx(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `select pg_terminate_backend(@pid::int)`, db.Args{"pid": pid})
			return err
		})
	})
}

// lostWhile declares exports that lose their connection at different moments.
func lostWhile(k *killer) map[string]parts.Export {
	pid := func(ctx context.Context, tx *db.Tx) (int64, error) {
		return db.Get[int64](ctx, tx, `select pg_backend_pid()::bigint`, nil)
	}

	return map[string]parts.Export{
		"between two statements": probe(func(ctx context.Context, tx *db.Tx, _ *selection, out *export.Sink) error {
			own, err := pid(ctx, tx)
			if err != nil {
				return err
			}

			if _, err := io.WriteString(out, "1\r\n"); err != nil {
				return err
			}

			k.kill(own)

			_, err = tx.Exec(ctx, `select 1`, nil)

			return err
		}),
		"in the middle of the rows": probe(func(ctx context.Context, tx *db.Tx, _ *selection, out *export.Sink) error {
			own, err := pid(ctx, tx)
			if err != nil {
				return err
			}

			n := 0

			return db.EachRaw(ctx, tx, db.Stmt{SQL: `select n, repeat('x', 1000) from generate_series(1, 20000) n`}, func(*db.RawRows) error {
				if n++; n == 1000 {
					k.kill(own)
				}

				if n == 1 {
					_, err := io.WriteString(out, "1\r\n")
					return err
				}

				return nil
			})
		}),
		"at the end of the work": probe(func(ctx context.Context, tx *db.Tx, _ *selection, out *export.Sink) error {
			own, err := pid(ctx, tx)
			if err != nil {
				return err
			}

			_, err = io.WriteString(out, "1\r\n")

			k.kill(own)

			return err
		}),
	}
}

// A connection that is lost while an export renders gives 503, and nothing is kept; the next one, and the next
// attempt, succeed.
// Proves: EXP-16.
func TestDatabaseIsLost(t *testing.T) {
	t.Parallel()

	for _, at := range []string{"between two statements", "in the middle of the rows", "at the end of the work"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()

			var awaited, queued killer

			awaited.w = newWorldOn(t, "", lostWhile(&awaited)[at])
			if answer := awaited.w.Get("/probes/csv").WantError(apierr.CodeServiceUnavailable, ""); answer.Header.Get("Retry-After") == "" {
				t.Errorf("headers %v", answer.Header)
			}

			awaited.w.kept(0)

			if got := awaited.w.awaited("/probes/csv"); string(got.Body) != "1\r\n" {
				t.Errorf("then %q", got.Body)
			}

			awaited.w.kept(1)

			queued.w = newWorldOn(t, "", lostWhile(&queued)[at])
			if got := queued.w.queued("/probes/csv", object{}); string(got.Body) != "1\r\n" {
				t.Errorf("queued %q", got.Body)
			}

			queued.w.kept(1)
		})
	}
}

// A client that hangs up on a real connection ends the statement in the database, too, and nothing is kept.
// Proves: EXP-16.
func TestClientHangsUp(t *testing.T) {
	t.Parallel()

	for name, sql := range map[string]string{
		"while the database works": `select pg_sleep(60), 'TestClientHangsUp 1'`,
		"while rows arrive":        `select n, 'TestClientHangsUp 2', pg_sleep(0.0001) from generate_series(1, 100000000) n`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			begun, stopped := make(chan struct{}), make(chan error, 1)

			var once sync.Once

			w := newWorldOn(t, "", probe(func(ctx context.Context, tx *db.Tx, _ *selection, out *export.Sink) error {
				_, err := io.WriteString(out, "half")

				once.Do(func() { close(begun) })

				if err == nil {
					err = db.EachRaw(ctx, tx, db.Stmt{SQL: sql}, func(*db.RawRows) error {
						_, err := io.WriteString(out, "row\r\n")
						return err
					})
				}

				stopped <- err

				return err
			}))

			server := httptest.NewServer(w.Server())
			defer server.Close()

			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()

			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/probes/csv", nil)
			if err != nil {
				t.Fatal(err)
			}

			answered := make(chan error, 1)

			go func() {
				answer, err := server.Client().Do(request)
				if err == nil {
					err = answer.Body.Close()
				}

				answered <- err
			}()

			<-begun
			w.untilRunning(sql, 1)
			hangUp()

			select {
			case err := <-stopped:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("stopped with %v", err)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("the renderer goes on")
			}

			if err := <-answered; !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}

			server.Close() // waits for the handler
			w.kept(0)
			w.untilRunning(sql, 0)
		})
	}
}

// untilRunning waits until so many connections run a statement.
func (w *world) untilRunning(sql string, want int64) {
	w.t.Helper()

	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var running int64

		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			running, err = db.Get[int64](ctx, tx, `select count(*) from pg_stat_activity where query = @sql and state = 'active'`, db.Args{"sql": sql})
			return err
		})

		if running == want {
			return
		}

		if time.Now().After(deadline) {
			w.t.Fatalf("%d connections run the statement, not %d", running, want)
		}
	}
}
