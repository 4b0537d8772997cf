package upload_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/test/world"
)

// The environment of a worker: its database, its team and the folder of its files.
const (
	workerDatabase = "UPLOAD_WORKER_DATABASE"
	workerTeam     = "UPLOAD_WORKER_TEAM"
	workerFiles    = "UPLOAD_WORKER_FILES"
)

// kills is how many workers the kill test kills.
var kills = func() int { n, _ := strconv.Atoi(os.Getenv("UPLOAD_KILLS")); return cmp.Or(n, 6) }()

// work runs the jobs of a team until the process is killed.
func work(url string) {
	ctx := context.Background()

	d, err := db.Open(ctx, db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		panic(err)
	}

	box, err := seal.New(world.Keys)
	if err != nil {
		panic(err)
	}

	store, err := blob.Local(os.Getenv(workerFiles))
	if err != nil {
		panic(err)
	}

	team, err := id.Parse(os.Getenv(workerTeam))
	if err != nil {
		panic(err)
	}

	parts := app.Parts(app.External{Box: box, Store: store}, app.Config{PublicURL: "http://127.0.0.1"})

	// The parent waits for this line.
	fmt.Println("works")
	job.NewWorker(job.Config{
		DB: d, Log: slog.New(slog.DiscardHandler), Workers: 2, Handlers: parts.Handlers, Poll: 5 * time.Millisecond, Only: team,
	}).Run(ctx, time.Second)
}

// bankFile returns a file of so many movements, of which each 50th is there twice.
func bankFile(rows int, round int) string {
	var b strings.Builder

	b.WriteString("Date,Description,Amount\n")

	for i := range rows {
		line := fmt.Sprintf("2026-%02d-%02d,Movement %d of %d,%d.%02d\n", 1+i%9, 1+i%28, i, round, 10_000*round+i+1, i%100)
		if b.WriteString(line); i%50 == 49 {
			b.WriteString(line)
		}
	}

	return b.String()
}

// Workers that are killed at any moment while a file is read or imported lose no row and book none twice.
func TestKilledWorkersBookEachRowOnce(t *testing.T) {
	t.Parallel()

	const rows = 5000

	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 3))

	t.Logf("seed %d", seed)

	url := apitest.Database(t)

	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	files := filepath.Join(t.TempDir(), "files")

	store, err := blob.Local(files)
	if err != nil {
		t.Fatal(err)
	}

	o := &office{world.In(t, d, func(e *app.External) { e.Store = store })}
	account := o.Account("1000").String()
	dead, want := 0, 0

	for round := 0; dead < kills; round++ {
		op := o.send("/csv-imports/previews", bankFile(rows, round), "kind", "bank-records", "bankAccountId", account).Want(202).String("operationId")
		path := "/csv-imports/previews/" + op

		// Two workers die while the file is read, two while its rows are imported.
		for range 2 {
			dead += o.killAWorker(url, files, time.Duration(dice.IntN(120))*time.Millisecond)
		}

		o.Outlast(nil)

		r := o.Get(path).Want(200)
		if all := strconv.Itoa(rows + rows/50); r.String("status") != "ready" || r.String("counts.valid") != all {
			t.Fatalf("the preview is %s, want %s valid rows", r.Body, all)
		}

		done := o.Post(path+"/confirm", object{}).Want(202).String("operationId")

		for range 2 {
			dead += o.killAWorker(url, files, time.Duration(dice.IntN(400))*time.Millisecond)
		}

		o.Outlast(nil)

		if got := o.Get("/operations/" + done).String("status"); got != "completed" {
			t.Fatalf("the import %s: %s", got, o.Get(path).Body)
		}

		want += rows + rows/50
		if got := o.Get(path).Int("outcomes.created"); got != int64(rows+rows/50) {
			t.Errorf("%d rows were imported", got)
		}
	}

	t.Logf("killed %d workers", dead)

	if got := o.Get("/bank-records?limit=1").Int("pagination.total"); got != int64(want) {
		t.Errorf("%d bank records, want %d", got, want)
	}
}

// killAWorker starts a worker in a process of its own and kills it after a moment. It returns the number of the dead.
func (o *office) killAWorker(url, files string, moment time.Duration) int {
	o.T.Helper()

	worker := exec.CommandContext(o.T.Context(), os.Args[0])
	worker.Env = append(os.Environ(), workerDatabase+"="+url, workerTeam+"="+o.ID.String(), workerFiles+"="+files)

	out, err := worker.StdoutPipe()
	if err != nil {
		o.T.Fatal(err)
	}

	if err := worker.Start(); err != nil {
		o.T.Fatal(err)
	}

	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		o.T.Fatalf("the worker says %q: %v", line, err)
	}

	time.Sleep(moment) // in the middle of some page

	if err := worker.Process.Kill(); err != nil {
		o.T.Fatal(err)
	}

	_ = worker.Wait()

	// As after the time of a lease.
	o.Exec(`update job set worker_id = null, due_at = clock_timestamp() where team_id = @team`, db.Args{})

	return 1
}
