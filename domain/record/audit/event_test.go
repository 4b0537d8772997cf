package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/record/audit"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// told is an event as it is stored.
type told struct {
	ID         id.ID
	Revision   int
	ActionID   id.ID
	ActorType  string
	Type       audit.Type
	EntityType audit.Entity
	EntityID   id.ID
	EntityName *string
	SourceType string
	Operation  id.ID
	Changes    json.RawMessage
	Journal    json.RawMessage
	Settled    bool
	IsOverride bool
	Action     *string
	Referred   []id.ID
}

type trail struct {
	*apitest.Team

	t *testing.T
}

func newTrail(t *testing.T) trail {
	t.Helper()
	return trail{apitest.New(t, apitest.Config{}), t}
}

// events are all stored events, in order.
func (x trail) events() []told {
	x.t.Helper()

	var out []told

	err := x.DB.Read(x.t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[told](ctx, tx, `
			select e.id, e.revision, e.action_id, e.actor_type, e.type, e.entity_type, e.entity_id, e.entity_name, e.source_type, e.operation_id as operation,
				e.changes, e.journal, e.settled_at is not null as settled, e.is_override,
				(select a.endpoint from audit_action a where a.team_id = e.team_id and a.id = e.action_id) as action,
				coalesce((select array_agg(r.entity_id order by r.entity_id) from audit_reference r
					where r.team_id = e.team_id and r.event_id = e.id and r.revision = e.revision), '{}') as referred
			from audit_event e where e.team_id = @team order by e.recorded_at, e.revision, e.id`, db.Args{"team": tx.Team})

		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}

	return out
}

// do commits work for an action, or for a scope that the test has changed.
func (x trail) do(work func(tx *db.Tx), change ...func(*db.Scope)) {
	x.t.Helper()
	scope := x.Scope()

	scope.Action = id.New(x.DB.Now())
	for _, c := range change {
		c(&scope)
	}

	if err := x.DB.Write(x.t.Context(), scope, func(_ context.Context, tx *db.Tx) error { work(tx); return nil }); err != nil {
		x.t.Fatal(err)
	}
}

type address struct {
	City string  `json:"city"`
	Line *string `json:"line"`
}

type method struct {
	Holder string `json:"holder"`
	Last4  string `json:"last4"`
}

type person struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Address   *address `json:"address"`
	Tags      []string `json:"tags"`
	TaxID     *string  `json:"taxIdentifier"`
	Methods   []method `json:"methods"`
	UpdatedAt string   `json:"updatedAt"`
}

func TestAnEventSaysWhatChanged(t *testing.T) {
	t.Parallel()

	was, now := "***1234", "***9999"
	before := &person{ID: "a", Name: "Ada", Address: &address{City: "Bern"}, Tags: []string{"x", "y"}, TaxID: &was, UpdatedAt: "then"}

	after := &person{ID: "b", Name: "Ada L.", Address: &address{City: "Genf"}, Tags: []string{"y"}, TaxID: &now, UpdatedAt: "now"}
	for name, c := range map[string]struct {
		what          audit.Type
		before, after any
		want          string
	}{
		"created": {audit.Created, nil, after, `[{"key": "address.city", "new": "Genf"}, {"key": "name", "new": "Ada L."}, {"key": "tags", "new": ["y"]}, {"key": "taxIdentifier", "new": "•••"}]`},
		"updated": {audit.Updated, before, after, `[{"key": "address.city", "new": "Genf", "old": "Bern"}, {"key": "name", "new": "Ada L.", "old": "Ada"}, {"key": "tags", "new": ["y"], "old": ["x", "y"]}, {"key": "taxIdentifier", "new": "•••", "old": "•••"}]`},
		"secrets in a list": {
			audit.Updated, &person{Name: "Ada", Methods: []method{{"Ada", "1234"}}}, &person{Name: "Ada", Methods: []method{{"Ada", "9999"}}},
			`[{"key": "methods", "new": [{"last4": "•••", "holder": "Ada"}], "old": [{"last4": "•••", "holder": "Ada"}]}]`,
		},
		"deleted": {audit.Deleted, &person{Name: "Ada"}, nil, `[{"key": "name", "old": "Ada"}]`},
		"cleared": {audit.Updated, &person{Name: "Ada", Tags: []string{"x"}}, &person{Name: "Ada", Tags: []string{}}, `[{"key": "tags", "old": ["x"]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTrail(t)
			one, owner := id.New(x.DB.Now()), id.New(x.DB.Now())
			x.do(func(tx *db.Tx) {
				audit.Note(tx, c.what, audit.Contact, one, c.before, c.after, audit.Ref(audit.RoleOwner, audit.Contact, owner),
					audit.Ref(audit.RoleOwner, audit.Contact, &owner), audit.Ref[*id.ID](audit.RoleListing, audit.Listing, nil))
			})

			got := x.events()
			if len(got) != 1 {
				t.Fatalf("told %d times", len(got))
			}

			e := got[0]
			if e.Type != c.what || e.EntityType != audit.Contact || e.EntityID != one || e.EntityName == nil || !strings.HasPrefix(*e.EntityName, "Ada") || e.Revision != 1 {
				t.Errorf("told %+v", e)
			}

			if compact(t, e.Changes) != compact(t, []byte(c.want)) {
				t.Errorf("changes %s, want %s", e.Changes, c.want)
			}

			if !slices.Equal(e.Referred, []id.ID{owner}) || e.SourceType != "user" || e.ActorType != "user" || !e.Settled {
				t.Errorf("told %+v", e)
			}
		})
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()

	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}

	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return string(out)
}

type named struct {
	Name string `json:"name"`
}

func TestWhatIsToldOfOneRecordIsOneEvent(t *testing.T) {
	t.Parallel()
	x := newTrail(t)
	made, changed, same, brief := id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now())
	account := id.New(x.DB.Now())
	x.do(func(tx *db.Tx) {
		audit.NoteJournal(tx, "", made, audit.Effect{EntriesAdded: 2, Delta: []audit.Delta{{AccountID: account, CentTotal: 5}}})
		audit.NoteJournal(tx, "", id.New(tx.Now), audit.Effect{EntriesAdded: 2}) // its record has no event
		audit.Note(tx, audit.Created, audit.Listing, made, nil, named{"a"})
		audit.Note(tx, audit.Updated, audit.Listing, made, named{"a"}, named{"b"})
		audit.NoteJournal(tx, audit.Listing, made, audit.Effect{EntriesRetired: 1, Delta: []audit.Delta{{AccountID: account, CentTotal: -5}}})
		audit.Note(tx, audit.Updated, audit.Statement, changed, named{"a"}, named{"b"})
		audit.Note(tx, audit.Published, audit.Statement, changed, named{"b"}, named{"c"})
		audit.Note(tx, audit.Updated, audit.Statement, same, named{"a"}, named{"b"})
		audit.Note(tx, audit.Updated, audit.Statement, same, named{"b"}, named{"a"})
		audit.Note(tx, audit.Created, audit.Statement, brief, nil, named{"a"})
		audit.Note(tx, audit.Deleted, audit.Statement, brief, named{"a"}, nil)
	})

	got := x.events()
	if len(got) != 2 {
		t.Fatalf("told %d times: %+v", len(got), got)
	}

	byID := map[id.ID]told{got[0].EntityID: got[0], got[1].EntityID: got[1]}
	if e := byID[made]; e.Type != audit.Created || compact(t, e.Changes) != `[{"key":"name","new":"b"}]` ||
		compact(t, e.Journal) != `{"delta":[],"entriesAdded":2,"entriesRetired":1}` {
		t.Errorf("made: %s %s %s", e.Type, e.Changes, e.Journal)
	}

	if e := byID[changed]; e.Type != audit.Published || compact(t, e.Changes) != `[{"key":"name","new":"c","old":"a"}]` || e.Journal != nil {
		t.Errorf("changed: %s %s %s", e.Type, e.Changes, e.Journal)
	}
}

var errNo = errors.New("no")

// Proves: DRY-16.
func TestWhatIsTakenBackIsNotTold(t *testing.T) {
	t.Parallel()
	x := newTrail(t)

	note := func(ctx context.Context, tx *db.Tx) error {
		audit.Note(tx, audit.Created, audit.Listing, tx.NewID(), nil, named{"a"})
		_, err := tx.Exec(ctx, `select 1`, nil)

		return err
	}
	if err := x.DB.DryRun(t.Context(), x.Scope(), note); err != nil {
		t.Fatal(err)
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error { return errors.Join(note(ctx, tx), errNo) }); !errors.Is(err, errNo) {
			t.Error(err)
		}

		return nil
	})

	if got := x.events(); len(got) != 0 {
		t.Errorf("told %+v", got)
	}
}

func TestWorkTellsUnderItsAction(t *testing.T) {
	t.Parallel()
	x := newTrail(t)
	one, operation := id.New(x.DB.Now()), id.New(x.DB.Now())

	var action id.ID

	x.do(func(tx *db.Tx) {
		action = tx.Action
		tx.MarkQueued("test")
		audit.Note(tx, audit.Updated, audit.Listing, one, named{"a"}, named{"b"})
	})

	work := func(s *db.Scope) {
		s.Action, s.Work, s.Operation, s.Actor.Kind = action, "listing.work", operation, db.TeamKey
	}
	for range 2 {
		x.do(func(tx *db.Tx) {
			audit.Note(tx, audit.Updated, audit.Listing, one, named{"b"}, named{"c"})
			audit.Note(tx, audit.Created, audit.Listing, tx.NewID(), nil, named{"d"})
		}, work)
	}

	x.do(func(tx *db.Tx) {
		audit.From(tx, audit.Recurring)
		audit.Note(tx, audit.Updated, audit.Listing, one, named{"c"}, named{"d"})
	}, func(s *db.Scope) { *s = db.Scope{Team: s.Team, Work: "listing.due"} })

	var (
		revisions []int
		event     id.ID
	)

	for _, e := range x.events() {
		switch {
		case e.EntityID == one && e.SourceType == "recurring":
			if e.ActorType != "system" || e.Action == nil || *e.Action != "listing.due" || e.ActionID == action || e.Revision != 1 {
				t.Errorf("the service itself: %+v", e)
			}

			continue
		case e.EntityID == one:
			revisions, event = append(revisions, e.Revision), e.ID
			if len(revisions) > 1 && (e.ID != event || e.Operation != operation || e.SourceType != "api") {
				t.Errorf("a revision: %+v", e)
			}
		case e.Revision != 1:
			t.Errorf("another record: %+v", e)
		}

		if e.ActionID != action || e.Settled {
			t.Errorf("of the action: %+v", e)
		}
	}

	if !slices.Equal(revisions, []int{1, 2, 3}) {
		t.Errorf("revisions %v", revisions)
	}
}

// A record that work changes again stays what the request made of it, with what it refers to and the closed books that it
// passed.
func TestARevisionKeepsTypeNameOverrideAndReferences(t *testing.T) {
	t.Parallel()
	x := newTrail(t)
	one, parent, other := id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now())

	var action id.ID

	x.do(func(tx *db.Tx) {
		action = tx.Action
		tx.MarkQueued("test")
		tx.IsOverride = true
		audit.Note(tx, audit.Created, audit.Listing, one, nil, named{"a"}, audit.Ref(audit.RoleParent, audit.Listing, parent))
	})

	work := func(s *db.Scope) {
		s.Action, s.Work, s.Operation, s.Actor.Kind = action, "listing.work", id.New(x.DB.Now()), db.TeamKey
	}
	x.do(func(tx *db.Tx) { audit.NoteJournal(tx, audit.Listing, one, audit.Effect{EntriesAdded: 2}) }, work)
	x.do(func(tx *db.Tx) {
		audit.Note(tx, audit.Published, audit.Listing, one, named{"a"}, named{"b"}, audit.Ref(audit.RoleParent, audit.Listing, parent),
			audit.Ref(audit.RoleOwner, audit.Contact, other))
	}, work)

	for i, want := range []struct {
		name string
		refs []id.ID
	}{{"a", []id.ID{parent}}, {"a", []id.ID{parent}}, {"b", []id.ID{parent, other}}} {
		e := x.events()[i]
		slices.SortFunc(e.Referred, id.ID.Compare)
		slices.SortFunc(want.refs, id.ID.Compare)

		if e.Revision != i+1 || e.Type != audit.Created || !e.IsOverride || e.EntityName == nil || *e.EntityName != want.name || !slices.Equal(e.Referred, want.refs) {
			t.Errorf("revision %d: %+v", i+1, e)
		}
	}

	x.do(func(tx *db.Tx) { audit.Note(tx, audit.Deleted, audit.Listing, one, named{"b"}, nil) }, work)

	if e := x.events()[3]; e.Type != audit.Deleted {
		t.Errorf("removed by work: %+v", e)
	}
}

func TestWhatWasToldIsNeverChanged(t *testing.T) {
	t.Parallel()
	x := newTrail(t)
	x.do(func(tx *db.Tx) {
		audit.Note(tx, audit.Created, audit.Listing, tx.NewID(), nil, named{"a"}, audit.Ref(audit.RoleParent, audit.Listing, tx.NewID()))
	})

	for _, sql := range []string{
		`update audit_event set changes = '[]' where team_id = @team`, `delete from audit_event where team_id = @team`,
		`update audit_reference set entity_type = 'x' where team_id = @team`, `delete from audit_reference where team_id = @team`,
	} {
		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, sql, db.Args{"team": tx.Team})
			return err
		})
		if db.SQLState(err) != "SL012" {
			t.Errorf("%s: %v", sql, err)
		}
	}

	if got := x.events(); len(got) != 1 {
		t.Errorf("left: %+v", got)
	}
}

func TestThousandsOfEventsAreOneTrip(t *testing.T) {
	t.Parallel()
	x := newTrail(t)

	const many = 3000

	x.do(func(tx *db.Tx) {
		for range many {
			audit.Note(tx, audit.Published, audit.Statement, tx.NewID(), named{"review"}, named{"published"}, audit.Ref(audit.RoleListing, audit.Listing, tx.NewID()))
		}
	})

	if got := x.events(); len(got) != many {
		t.Errorf("told %d times", len(got))
	}
}
