package linemapping_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"stayledger/domain/activity/linemapping"
	"stayledger/domain/books/account"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/platform/ptr"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const mappings = "/transactions/line-mappings"

type object = map[string]any

// books is a team with the standard chart, and with an importer that notes what it is asked to post.
type books struct {
	*apitest.Team
	t        testing.TB
	accounts map[string]id.ID

	mu    sync.Mutex
	asked []string
}

func newBooks(t testing.TB) *books {
	t.Helper()

	b := &books{t: t}
	mapped := linemapping.Part(job.Handler{Do: b.post})
	charts := account.Part(nil)
	copies := parts.Copies(charts, mapped)
	all := parts.Join(mapped, charts, team.Part(team.Config{Waits: parts.Waits(mapped)}, copies...))

	b.Team = apitest.New(t, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers})
	b.accounts = fixture.StandardChart(b.Team)

	return b
}

// optional returns nil for the empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}

	return &text
}

// post is the handler of the importer: it notes the lines of the job.
func (b *books) post(ctx context.Context, d *db.DB, j job.Job) error {
	var change linemapping.Change
	if err := json.Unmarshal(j.Args, &change); err != nil {
		return job.Permanent(err)
	}

	b.mu.Lock()
	b.asked = append(b.asked, ptr.Value(change.AppID)+":"+change.LineType)
	b.mu.Unlock()

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
}

// wantPosted runs the jobs and compares the lines that they are for, as app:type, in any order.
func (b *books) wantPosted(want ...string) {
	b.t.Helper()
	b.Work()

	b.mu.Lock()
	defer b.mu.Unlock()

	slices.Sort(b.asked)

	if !slices.Equal(b.asked, want) {
		b.t.Errorf("the importer was asked for %q, want %q", b.asked, want)
	}

	b.asked = nil
}

// noteUnmapped notes line types of an app, none for the empty text.
func (b *books) noteUnmapped(app string, lineTypes ...string) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		return linemapping.NoteUnmapped(ctx, tx, optional(app), lineTypes)
	})
}

// wantRows compares the mappings that a query selects, as app:type status, in the order of the list.
func (b *books) wantRows(query string, want ...string) {
	b.t.Helper()

	list := b.Get(mappings + query).Want(200)

	var got []string

	for i := range list.Len("data") {
		at := fmt.Sprintf("data.%d.", i)

		app := ""
		if list.Value(at+"appId") != nil {
			app = list.String(at + "appId")
		}

		got = append(got, app+":"+list.String(at+"lineType")+" "+list.String(at+"status"))
	}

	if !slices.Equal(got, want) {
		b.t.Errorf("%s: %q, want %q", query, got, want)
	}
}

// wantWaits compares the line types that wait for a person.
func (b *books) wantWaits(want ...string) {
	b.t.Helper()

	list := b.Get("/teams/issues?code=lineTypeUnmapped").Want(200)

	var got []string

	for i := range list.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		if list.String(at+"entityType") != "line-mapping" || list.String(at+"message") != "Imported lines of the type wait for a mapping" {
			b.t.Errorf("%s", list.Body)
		}

		got = append(got, list.String(at+"context.appId")+":"+list.String(at+"context.lineType"))
	}

	slices.Sort(got)

	if !slices.Equal(got, want) {
		b.t.Errorf("%q wait, want %q", got, want)
	}
}

// find loads the mappings and returns what decides on lines, as the status with the account or assignment; "waits" for
// lines without a mapping.
func (b *books) find(app, lineType string) (found string) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		set, err := linemapping.Load(ctx, tx)

		found = "waits"
		if m := set.Find(optional(app), lineType); m != nil {
			found = string(m.Status)
			if m.Account != nil {
				found += " " + m.Account.Name
			}

			if m.Assignment != nil {
				found += " " + string(*m.Assignment)
			}
		}

		return err
	})

	return found
}

// events returns how many events line mappings have.
func (b *books) events() (n int) {
	b.t.Helper()
	b.System(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int](ctx, tx, `select count(*) from audit_event where team_id = @team and entity_type = 'line-mapping'`,
			db.Args{"team": b.ID})

		return err
	})

	return n
}
