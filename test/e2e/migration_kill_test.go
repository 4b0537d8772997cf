package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestKilledWorkersMoveALegacyTeamAlike kills workers with -9 at any moment while they make a new team of a legacy one and
// import its statements. The new team is in the end that of another legacy team with the same dump, the workers of which
// lived. MIGRATION_KILLS is how many are killed in all, MIGRATION_KILL_SEED repeats the moments. More teams are moved until
// there were as many. MIGRATION_FULL=1 does it with 300 listings and 36 months.
//
// Proves: OPS-86, OPS-87.
func TestKilledWorkersMoveALegacyTeamAlike(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("MIGRATION_KILL_SEED"), 10, 64); err == nil {
		seed = n
	}

	listings, months := 20, 12
	if migrationWhole {
		listings, months = 300, 36
	}

	kills, _ := strconv.Atoi(os.Getenv("MIGRATION_KILLS"))
	k := &killer{
		relocation: newRelocation(t, generateDump(t, listings, months), "serve", "--workers", "0"),
		dice:       rand.New(rand.NewPCG(seed, 3)), kills: cmp.Or(kills, 6),
	}
	t.Logf("MIGRATION_KILL_SEED=%d", seed)
	k.watchJobs()

	// Operations that nobody kills say how long they take.
	spared := k.fill("Spared")
	spared.bootstrap(k.spare)
	spared.importHistory("5290", k.spare)
	spared.checkStatements("5290")
	k.step("moved without kills")

	lasts, want, others := k.took, spared.outcome(), []*move{spared}

	for k.dead < k.kills {
		k.took = lasts

		hit := k.fill(fmt.Sprintf("Hit after %d", k.dead))
		hit.bootstrap(k.strike)
		hit.importHistory("5290", k.strike)
		hit.checkStatements("5290")
		k.step(fmt.Sprintf("moved after %d kills, %d of them while an operation went on, of %s", k.dead, k.amid, lasts))

		if got := hit.outcome(); want != got {
			t.Errorf("after kills the team is\n%s\nwithout it is\n%s", got, want)
		}

		others = append(others, hit)
	}

	if k.amid == 0 {
		t.Error("all operations were over before a worker was killed")
	}

	// Nothing is left over: no other team, and all can be written in.
	if teams := strings.Count(command(t, k.database, "team", "list"), "New rentals"); teams != len(others) {
		t.Errorf("%d teams were made of %d", teams, len(others))
	}

	for _, m := range others {
		for _, c := range []*client{m.old, m.made} {
			c.put("/team", object{"companyName": "Thawed Ltd"}).want(200)
		}
	}
}

// killer starts workers and kills them.
type killer struct {
	*relocation
	dice       *rand.Rand
	jobs       *pgx.Conn // sees the queue
	kills      int
	dead, amid int
	took       []time.Duration // of the operations that nobody has killed, in their order
}

// watchJobs connects to the queue: over HTTP a job that was taken by a worker who died looks as one that is worked on.
func (k *killer) watchJobs() {
	k.t.Helper()

	ctx := k.t.Context()

	c, err := pgx.Connect(ctx, k.database)
	if err != nil {
		k.t.Fatal(err)
	}

	k.t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })

	if _, err := c.Exec(ctx, `select set_config('stayledger.across_teams', 'on', false)`); err != nil {
		k.t.Fatal(err)
	}

	k.jobs = c
}

// spare has a worker end an operation.
func (k *killer) spare(operation string) {
	k.t.Helper()

	w := k.untilTaken()
	begin := time.Now()

	k.await(operation)
	k.took = append(k.took, time.Since(begin))

	w.kill()
}

// untilTaken starts a worker and waits until it has taken the only job.
func (k *killer) untilTaken() *process {
	k.t.Helper()

	w := launch(k.t, k.database, k.data, "work", "--workers", "2")

	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var taken bool
		if err := k.jobs.QueryRow(k.t.Context(), `select exists (select from job where worker_id is not null)`).Scan(&taken); err != nil {
			k.t.Fatal(err)
		}

		if taken {
			return w
		}

		if time.Now().After(deadline) {
			k.t.Fatalf("no worker takes the operation within %s: %s", patience, w.log)
		}
	}
}

// strike kills the workers of an operation at moments of the time that it has taken before, and has another one end it.
func (k *killer) strike(operation string) {
	k.t.Helper()

	lasts := k.took[0]
	k.took = k.took[1:]

	// A job whose worker dies five times in a row has failed.
	for range min(3, k.kills-k.dead) {
		w := k.untilTaken()
		time.Sleep(time.Duration(k.dice.Int64N(int64(lasts))))
		w.kill()

		k.dead++
		if k.get("/operations/"+operation).want(200).text("status") == "completed" {
			break
		}

		k.amid++

		// As after the time of a lease.
		k.lapse()
	}

	w := start(k.t, k.database, k.data, "work", "--workers", "2")
	k.await(operation)
	w.kill()
}

// lapse ends the leases of the dead.
func (k *killer) lapse() {
	k.t.Helper()

	if _, err := k.jobs.Exec(k.t.Context(), `update job set worker_id = null, due_at = clock_timestamp()`); err != nil {
		k.t.Fatal(err)
	}
}

// What differs between two teams that are alike.
var (
	anyID    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyStamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	anyShort = regexp.MustCompile(`"shortRef":"[^"]*"`)
)

// outcome returns what the new team has, without what differs between two teams that are alike. Accounts are named by their
// codes, and other records by what their source calls them.
func (m *move) outcome() string {
	m.t.Helper()

	names := maps.Clone(m.codes)
	maps.Copy(names, m.refs)

	for _, c := range m.all(m.made, "/contacts?") {
		names[fmt.Sprint(c["id"])] = fmt.Sprint(c["uniqueRef"])
	}

	var lines []string

	for _, path := range []string{"/contacts?", "/listings?", "/listings/ownership-periods?", "/connections?", "/statement-layouts?", "/accounts?"} {
		for _, record := range m.all(m.made, path) {
			raw, err := json.Marshal(record)
			if err != nil {
				m.t.Fatal(err)
			}

			text := anyShort.ReplaceAllString(anyStamp.ReplaceAllString(string(raw), "then"), "")
			lines = append(lines, path+anyID.ReplaceAllStringFunc(text, func(id string) string { return cmp.Or(names[id], "id") }))
		}
	}

	for ref, s := range m.statements() {
		lines = append(lines, fmt.Sprintf("statement %s %+v", ref, *s))
	}

	slices.Sort(lines)

	return strings.Join(lines, "\n")
}
