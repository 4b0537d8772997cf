package operation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// past is an operation as the oracle knows it.
type past struct {
	id        id.ID
	typ       string // empty for internal work
	status    string
	initiator id.ID
	resources []resource
	at        time.Time
}

type resource struct {
	typ string
	id  id.ID
}

// insert stores operations with instants of the test's choice.
func (x *toy) insert(operations []past) {
	x.t.Helper()
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		var stmts []db.Stmt

		for _, o := range operations {
			settled := o.status == "completed" || o.status == "failed"

			stmts = append(stmts, db.Stmt{
				SQL: `
				insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at, started_at, finished_at)
				values (@team, @id, nullif(@type, ''), @status, @user, case when @settled::boolean then 0 else 1 end, @at::timestamptz,
					case when @settled then @at end, case when @settled then @at end)`,
				Args: db.Args{"team": tx.Team, "id": o.id, "type": o.typ, "status": o.status, "user": o.initiator, "settled": settled, "at": o.at},
			})
			for i, r := range o.resources {
				stmts = append(stmts, db.Stmt{
					SQL: `
					insert into operation_resource (team_id, operation_id, position, type, resource_id, role) values (@team, @op, @n::int, @type, @id, 'target')`,
					Args: db.Args{"team": tx.Team, "op": o.id, "n": i, "type": r.typ, "id": r.id},
				})
			}
		}

		return tx.Pipeline(ctx, stmts...)
	})
}

// foldAll folds what is settled, until all of the team's is: folding goes over every team, and passes over what another
// test is folding.
func (x *toy) foldAll() {
	x.t.Helper()

	for deadline := time.Now().Add(time.Minute); ; {
		if err := operation.Fold(x.t.Context(), x.DB); err != nil {
			x.t.Fatal(err)
		}

		left := x.count(`select count(*) from operation where team_id = @team and not counted and finished_at is not null`, nil)
		if left == 0 {
			return
		}

		if time.Now().After(deadline) {
			x.t.Fatalf("%d operations are not folded", left)
		}
	}
}

// query is a set of filters; nil and empty are none.
type query struct {
	typ, status, initiatedBy, resourceType string
	resource                               *id.ID
	from, to                               *time.Time
}

func (q query) String() string {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("type", q.typ)
	set("status", q.status)
	set("initiatedBy", q.initiatedBy)
	set("resourceType", q.resourceType)

	if q.resource != nil {
		set("resourceId", q.resource.String())
	}

	if q.from != nil {
		set("createdAtFrom", day.At(*q.from).String())
	}

	if q.to != nil {
		set("createdAtTo", day.At(*q.to).String())
	}

	return v.Encode()
}

// matches is the oracle, the status filter apart.
func (q query) matches(o past, me id.ID) bool {
	if o.typ == "" || q.typ != "" && q.typ != o.typ || q.from != nil && o.at.Before(*q.from) || q.to != nil && !o.at.Before(*q.to) {
		return false
	}

	if q.initiatedBy == "me" && o.initiator != me || q.initiatedBy != "" && q.initiatedBy != "me" && q.initiatedBy != o.initiator.String() {
		return false
	}

	return q.resourceType == "" || slices.ContainsFunc(o.resources, func(r resource) bool {
		return r.typ == q.resourceType && (q.resource == nil || *q.resource == r.id)
	})
}

// compare reads all pages of a query and holds items, order, counts and total to the oracle.
func (x *toy) compare(when string, q query, all []past, limit int) {
	x.t.Helper()

	want := map[string]int64{}

	var ids []string

	for _, o := range all {
		if q.matches(o, x.User) {
			want[o.status]++
			want["total"]++

			if q.status == "" || q.status == o.status {
				ids = append(ids, o.id.String())
			}
		}
	}

	slices.Sort(ids) // ids are made from instants: newest first is the greatest first
	slices.Reverse(ids)

	var got []string

	path := strings.TrimSuffix(fmt.Sprintf("/operations?limit=%d&%s", limit, q), "&")
	for next := path; next != ""; {
		r := x.Get(next).Want(200)
		for _, name := range []string{"total", "queued", "running", "completed", "failed"} {
			if r.Int("counts."+name) != want[name] {
				x.t.Fatalf("%s, %s: counts.%s %d, want %d", when, q, name, r.Int("counts."+name), want[name])
			}
		}

		if r.Int("total") != int64(len(ids)) {
			x.t.Fatalf("%s, %s: total %d, want %d", when, q, r.Int("total"), len(ids))
		}

		got = append(got, idsOf(x.t, r)...)
		if more := len(got) < len(ids); more != (r.Value("nextCursor") != nil) {
			x.t.Fatalf("%s, %s: nextCursor %v after %d of %d", when, q, r.Value("nextCursor"), len(got), len(ids))
		}

		if next = ""; r.Value("nextCursor") != nil {
			if r.Len("items") != limit {
				x.t.Fatalf("%s, %s: a page of %d before the last", when, q, r.Len("items"))
			}

			next = path + "&cursor=" + r.String("nextCursor")
		}
	}

	if !slices.Equal(got, ids) {
		x.t.Fatalf("%s, %s: items %v, want %v", when, q, got, ids)
	}
}

func idsOf(t *testing.T, r *apitest.Response) []string {
	t.Helper()

	var list struct{ Items []struct{ ID string } }
	r.Into(&list)

	out := make([]string, len(list.Items))
	for i := range list.Items {
		out[i] = list.Items[i].ID
	}

	return out
}

// history makes operations over five days, many of them at the first and last millisecond of a day.
func history(r *rand.Rand, n int, first time.Time, users []id.ID, resources []resource) []past {
	types := []string{"export", "csv-import", "listing-journal-refresh", ""}
	statuses := []string{"queued", "running", "completed", "completed", "completed", "failed", "failed"}

	out := make([]past, n)
	for i := range out {
		at := first.AddDate(0, 0, r.IntN(5))
		switch r.IntN(3) {
		case 0:
			at = at.Add(time.Duration(r.IntN(86_400_000)) * time.Millisecond)
		case 1:
			at = at.Add(time.Duration(r.IntN(3)-1) * time.Millisecond)
		}

		o := past{id: id.New(at), typ: types[r.IntN(len(types))], status: statuses[r.IntN(len(statuses))], initiator: users[r.IntN(len(users))], at: at}
		for range r.IntN(3) {
			o.resources = append(o.resources, resources[r.IntN(len(resources))])
		}

		out[i] = o
	}

	return out
}

// combinations are all combinations of the filters, each with some ranges of time.
func combinations(r *rand.Rand, first time.Time, users []id.ID, resources []resource) []query {
	instants := []*time.Time{nil}

	for d := range 6 {
		for _, ms := range []int{-1, 0, 1, 7_000_000} {
			at := first.AddDate(0, 0, d).Add(time.Duration(ms) * time.Millisecond)
			instants = append(instants, &at)
		}
	}

	pick := func() *time.Time {
		if r.IntN(3) == 0 {
			return nil
		}

		return instants[r.IntN(len(instants))]
	}

	var out []query

	for _, typ := range []string{"", "export", "csv-import", "webhook-test"} {
		for _, by := range []string{"", "me", users[1].String(), users[0].String()} {
			for i := -1; i < 4; i++ {
				for _, status := range []string{"", "queued", "running", "completed", "failed"} {
					q := query{typ: typ, status: status, initiatedBy: by}
					if i >= 0 {
						q.resourceType = resources[i].typ
						if i%2 == 1 {
							q.resource = &resources[i].id
						}
					}

					q.from, q.to = pick(), pick()
					out = append(out, q)
				}
			}
		}
	}

	return out
}

// Proves: OPS-33, OPS-45, OPS-47, OPS-48, OPS-49, OPS-53, OPS-54, OPS-55, OPS-56, OPS-57, OPS-58, OPS-59, PAG-05, PAG-06, PAG-07, OPEN-30, OPEN-31, OPEN-33.
//
//nolint:paralleltest // Maintenance knows no teams: it would change rows under the parallel tests.
func TestListAgreesWithTheOracle(t *testing.T) {
	x, stranger := newToy(t), newToy(t)
	r := rand.New(rand.NewPCG(1, 2))
	first := x.DB.Now().AddDate(0, 0, -20).Truncate(24 * time.Hour)
	users := []id.ID{x.User, id.New(x.DB.Now()), id.New(x.DB.Now())}

	resources := make([]resource, 6)
	for i := range resources {
		resources[i] = resource{[]string{"listing", "listing", "contact"}[i%3], id.New(x.DB.Now())}
	}

	stranger.insert(history(r, 30, first, users, resources))
	all := history(r, 150, first, users, resources)
	x.insert(all)

	queries := combinations(r, first, users, resources)
	check := func(when string) {
		t.Helper()

		for i, q := range queries {
			x.compare(when, q, all, []int{100, 100, 100, 7}[i%4])
		}

		queries = combinations(r, first, users, resources)
	}
	check("live")
	x.foldAll()
	check("folded")

	late := history(r, 60, first, users, resources)
	x.insert(late)
	all = append(all, late...)

	x.Exec(`update operation set status = 'completed', tasks_open = 0, finished_at = created_at where team_id = @team and status = 'running' and type = 'export'`, nil)

	for i := range all {
		if all[i].status == "running" && all[i].typ == "export" {
			all[i].status = "completed"
		}
	}

	check("partly folded")
	x.foldAll()
	check("folded again")
}

// Proves: OPEN-31, OPS-48.
//
//nolint:paralleltest // Maintenance knows no teams: it would change rows under the parallel tests.
func TestPurgeForgetsWhatIsTooOldAndKeepsTheCountsRight(t *testing.T) {
	x := newToy(t)
	r := rand.New(rand.NewPCG(3, 4))

	users, resources := []id.ID{x.User, id.New(x.DB.Now())}, make([]resource, 4)
	for i := range resources {
		resources[i] = resource{[]string{"listing", "contact"}[i%2], id.New(x.DB.Now())}
	}

	const keep = 1500 * 24 * time.Hour

	edge := x.DB.Now().Add(-keep)
	old := history(r, 1200, edge.AddDate(0, 0, -20).Truncate(24*time.Hour), users, resources)
	young := history(r, 80, edge.AddDate(0, 0, 10).Truncate(24*time.Hour), users, resources)
	x.insert(slices.Concat(old, young))
	x.foldAll()

	if err := operation.Purge(t.Context(), x.DB, keep); err != nil {
		t.Fatal(err)
	}

	left := slices.DeleteFunc(slices.Clone(old), func(o past) bool { return o.status == "completed" || o.status == "failed" })

	all := slices.Concat(left, young)
	for _, q := range []query{
		{},
		{status: "completed"},
		{typ: "export"},
		{initiatedBy: "me"},
		{resourceType: "listing"},
		{resourceType: "listing", resource: &resources[0].id},
		{to: &edge},
		{from: &edge},
		{from: &edge, typ: "csv-import", resourceType: "contact"},
	} {
		x.compare("purged", q, all, 100)
	}

	if zero := x.count(`select count(*) from operation_count where team_id = @team and count <= 0`, nil); zero != 0 {
		t.Errorf("%d counts of nothing are left", zero)
	}

	if orphans := x.count(`select count(*) from operation_resource r where team_id = @team and not exists (
		select from operation o where o.team_id = r.team_id and o.id = r.operation_id)`, nil); orphans != 0 {
		t.Errorf("%d resources of no operation are left", orphans)
	}

	one := slices.IndexFunc(old, func(o past) bool { return o.status == "completed" && o.typ != "" })
	x.Get("/operations/"+old[one].id.String()).WantError(apierr.CodeNotFound, "")
}

// A list is one snapshot, so folding is never seen half done.
// Proves: OPS-47.
//
//nolint:paralleltest // Maintenance knows no teams: it would change rows under the parallel tests.
func TestCountsHoldWhileFoldsRun(t *testing.T) {
	x := newToy(t)
	r := rand.New(rand.NewPCG(5, 6))
	all := history(r, 1500, x.DB.Now().AddDate(0, 0, -50).Truncate(24*time.Hour), []id.ID{x.User}, []resource{{"listing", id.New(x.DB.Now())}})
	x.insert(all)

	var folds sync.WaitGroup

	done := make(chan struct{})

	for range 2 {
		folds.Go(func() {
			if err := operation.Fold(t.Context(), x.DB); err != nil {
				t.Error(err)
			}
		})
	}

	go func() { folds.Wait(); close(done) }()

	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}

		x.compare("folding", query{status: "queued"}, all, 100)
		x.compare("folding", query{status: "running", resourceType: "listing"}, all, 100)
	}

	x.foldAll()
	x.compare("folded", query{}, all, 100)
}

// Proves: LIM-01, LIM-02, LIM-03, OPS-45, OPS-49.
func TestLimits(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	x.insert(history(rand.New(rand.NewPCG(7, 8)), 160, x.DB.Now().AddDate(0, 0, -10), []id.ID{x.User}, []resource{{"listing", id.New(x.DB.Now())}}))

	for query, n := range map[string]int{"": 50, "?limit=1": 1, "?limit=100": 100} {
		r := x.Get("/operations" + query).Want(200)
		if r.Len("items") != n || r.Int("total") <= 100 || r.Value("nextCursor") == nil {
			t.Errorf("%s: %d items", query, r.Len("items"))
		}
	}

	var got any
	x.Get("/operations?limit=1").Into(&got)

	if !slices.Equal(keys(t, got), []string{"counts", "items", "nextCursor", "total"}) {
		t.Errorf("list has the fields %v", keys(t, got))
	}

	for _, bad := range []string{"0", "101", "-1", "1.5", "x"} {
		x.Get("/operations?limit="+bad).WantError(apierr.CodeBadRequest, "")
	}
}

// Proves: OPS-49, PAG-06, PAG-32.
func TestCursorsBelongToTheirFiltersAndTeam(t *testing.T) {
	t.Parallel()

	x, stranger := newToy(t), newToy(t)
	for range 3 {
		x.start(object{"type": "export", "tasks": []object{{}}})
		stranger.start(object{"type": "export", "tasks": []object{{}}})
	}

	first := x.Get("/operations?limit=1&type=export").Want(200)
	next := first.String("nextCursor")

	second := x.Get("/operations?limit=1&type=export&cursor=" + next).Want(200)
	if second.String("items.0.id") == first.String("items.0.id") || second.Int("total") != 3 {
		t.Errorf("second page: %s", second.Body)
	}

	x.start(object{"type": "export", "tasks": []object{{}}}) // newer than the page, so not on it

	if again := x.Get("/operations?limit=1&type=export&cursor=" + next).Want(200); again.String("items.0.id") != second.String("items.0.id") {
		t.Errorf("second page again: %s", again.Body)
	}

	flipped := []byte(next)

	flipped[0] ^= 1
	for _, path := range []string{
		"limit=1&cursor=" + next, "limit=1&type=csv-import&cursor=" + next, "limit=1&type=export&status=queued&cursor=" + next,
		"type=export&cursor=" + string(flipped), "type=export&cursor=" + next + "AA", "type=export&cursor=AA", "type=export&cursor=" + id.New(x.DB.Now()).String(),
	} {
		x.Get("/operations?"+path).WantError(apierr.CodeBadRequest, "").WantIssue("cursorMismatch", "cursor")
	}

	stranger.Get("/operations?limit=1&type=export&cursor="+next).WantError(apierr.CodeBadRequest, "").WantIssue("cursorMismatch", "cursor")
}

// Proves: OPS-53, OPS-55, OPS-56, OPS-57, OPEN-33.
func TestMalformedFiltersAreRefused(t *testing.T) {
	t.Parallel()
	x := newToy(t)

	one := id.New(x.DB.Now()).String()
	for query, path := range map[string]string{
		"status=done": "status", "status=": "status", "resourceType=listing&resourceId=7": "resourceId", "resourceId=" + one: "resourceType",
		"createdAtFrom=yesterday": "createdAtFrom", "createdAtFrom=2026-01-01": "createdAtFrom", "createdAtTo=2026-13-01T00:00:00Z": "createdAtTo",
		"initiatedBy=you": "initiatedBy", "initiatedBy=" + one + "0": "initiatedBy", "sort=createdAt": "sort", "page=1": "page",
	} {
		r := x.Get("/operations?"+query).WantError(apierr.CodeBadRequest, "")
		if r.String("issues.0.path.0") != path {
			t.Errorf("%s: %s", query, r.Body)
		}
	}

	x.start(object{"type": "export", "tasks": []object{{}}})

	for query, total := range map[string]int64{
		"createdAtFrom=1990-01-01T00:00:00Z": 1, "createdAtTo=1990-01-01T00:00:00Z": 0, "createdAtTo=1999-12-31T23:59:59.999Z": 0,
		"createdAtFrom=2036-01-01T23:59:59.999Z": 0, "createdAtTo=2036-01-01T23:59:59.999Z": 1, "createdAtFrom=2026-01-01T00:00:00%2B02:00": 1,
		"createdAtFrom=2035-01-01T00:00:00Z&createdAtTo=1995-01-01T00:00:00Z": 0,
	} {
		if got := x.Get("/operations?" + query).Want(200); got.Int("total") != total || int64(got.Len("items")) != total {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
}

// Proves: OPS-58, OPEN-01.
func TestInitiatedByMe(t *testing.T) {
	t.Parallel()
	x := newToy(t)
	other := &toy{Team: x.As([]string{"operations:read"}, nil), t: t}

	mine, theirs := x.start(object{"type": "export", "tasks": []object{{}}}), other.start(object{"type": "export", "tasks": []object{{}}})
	for _, c := range []struct {
		as   *toy
		want string
		user id.ID
	}{{x, mine, x.User}, {other, theirs, other.User}} {
		for _, by := range []string{"me", c.user.String()} {
			r := c.as.Get("/operations?initiatedBy=" + by).Want(200)
			if r.Int("total") != 1 || r.String("items.0.id") != c.want || r.ID("items.0.initiator.userId") != c.user {
				t.Errorf("%s: %s", by, r.Body)
			}
		}

		if r := c.as.Get("/operations").Want(200); r.Int("total") != 2 {
			t.Errorf("all: %s", r.Body)
		}
	}
}

// Proves: OPS-51, OPS-61.
func TestReadsNeedTheScope(t *testing.T) {
	t.Parallel()
	x := newToy(t)

	one := x.start(object{"type": "export", "tasks": []object{{}}})
	for _, path := range []string{"/operations", "/operations/" + one} {
		x.As([]string{"operations:write", "statements:read"}, nil).Get(path).WantError(apierr.CodeForbidden, "")
		x.As([]string{"operations:read"}, nil).Get(path).Want(200)
	}
}
