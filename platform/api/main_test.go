package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"testing"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{Silent: true, Endpoints: toys()})
}

// Kind is an enumeration.
type Kind string

// Enum lists the kinds.
func (Kind) Enum() []string { return []string{"owner", "vendor"} }

// Place is nested and can be null.
type Place struct {
	City string `json:"city" minLength:"1" maxLength:"5"`
	Zip  *int64 `json:"zip"`
}

// Toy is the resource: a row of contact.
type Toy struct {
	ID        id.ID       `json:"id"`
	Kind      Kind        `json:"kind"`
	Name      string      `json:"name"`
	Nickname  *string     `json:"nickname"`
	Place     *Place      `json:"place"`
	CreatedAt day.Instant `json:"createdAt"`
}

// Making is a body with every kind of field.
type Making struct {
	Name     string            `json:"name" minLength:"1" maxLength:"20"`
	Kind     Kind              `json:"kind"`
	Count    *int64            `json:"count,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991"`
	Few      int64             `json:"few,omitempty" minimum:"0" maximum:"5"`
	On       *day.Day          `json:"on,omitempty"`
	At       *day.Instant      `json:"at,omitempty"`
	Month    *day.Month        `json:"month,omitempty"`
	Ref      *id.ID            `json:"ref,omitempty"`
	Ratio    *float64          `json:"ratio,omitempty"`
	Email    string            `json:"email,omitempty" format:"email"`
	Code     string            `json:"code,omitempty" pattern:"^[a-z]{2}$"`
	Flag     bool              `json:"flag,omitempty"`
	Tags     []string          `json:"tags,omitempty" minItems:"1" maxItems:"3" uniqueItems:"true"`
	Nickname api.Opt[string]   `json:"nickname,omitzero" maxLength:"10"`
	Other    api.Opt[Kind]     `json:"other,omitzero"`
	Place    *Place            `json:"place,omitempty" nullable:"false"`
	Home     api.Opt[Place]    `json:"home,omitzero"`
	Places   []Place           `json:"places,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Free     map[string]any    `json:"free,omitempty"`
	Queue    bool              `json:"queue,omitempty"`
	Halt     string            `json:"halt,omitempty" doc:"Makes the work fail."`
}

// Resolve refuses a name no tag could.
func (m Making) Resolve() []apierr.Issue {
	if m.Name == "forbidden" {
		return []apierr.Issue{apierr.IssueContradiction.InBody("name")}
	}

	return nil
}

type makeInput struct{ Body Making }

type listInput struct {
	page.Params
	Sort   string   `query:"sort" enum:"name,-name" default:"name"`
	Kind   Kind     `query:"kind"`
	IDs    []id.ID  `query:"ids" maxItems:"3"`
	Names  []string `query:"names"`
	Flag   *bool    `query:"flag"`
	On     *day.Day `query:"on"`
	Search string   `query:"search" minLength:"2" maxLength:"5"`
	Code   string   `query:"code" pattern:"^[a-z]{2}$"`
	Few    *int64   `query:"few" minimum:"-3" maximum:"3"`
	Any    int64    `query:"any"`
	Must   string   `header:"x-toy"`
}

// Heard is the input that an endpoint got.
type Heard struct {
	Text   string   `json:"text"`
	Flag   *bool    `json:"flag"`
	IDs    []id.ID  `json:"ids"`
	Names  []string `json:"names"`
	Any    int64    `json:"any"`
	Few    *int64   `json:"few"`
	Rows   int64    `json:"rows"`
	Number int64    `json:"number"`
}

var (
	errHalted  = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "Toy is halted")
	errPrivate = errors.New("secret cause of toy-7")
)

type byID struct {
	ID id.ID `path:"id"`
}

func makeToy(ctx context.Context, tx *db.Tx, in *makeInput) (*Toy, error) {
	toy := Toy{ID: tx.NewID(), Kind: in.Body.Kind, Name: in.Body.Name, Nickname: in.Body.Nickname.Value, Place: in.Body.Place, CreatedAt: day.At(tx.Now)}

	_, err := tx.Exec(ctx, `insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) values (@team, @id, @ref, @kind, @name, @now, @now)`,
		db.Args{"team": tx.Team, "id": toy.ID, "ref": toy.ID.String(), "kind": string(toy.Kind), "name": toy.Name, "now": tx.Now})
	if err != nil {
		return nil, err
	}

	if in.Body.Queue {
		tx.MarkQueued("test")
	}

	switch in.Body.Halt {
	case "condition":
		return nil, errHalted.With(apierr.Duplicate{ID: toy.ID})
	case "cause":
		return nil, errPrivate
	case "panic":
		panic(errPrivate)
	case "action":
		if tx.Action.IsZero() {
			return nil, errors.New("no audit action")
		}
	}

	return &toy, nil
}

func listToys(_ context.Context, _ *db.Tx, in *listInput) (*Heard, error) {
	if in.IDs == nil {
		in.IDs = []id.ID{}
	}

	if in.Names == nil {
		in.Names = []string{}
	}

	return &Heard{
		Text: in.Search + in.Code + string(in.Kind) + in.Sort + in.Must, Flag: in.Flag, IDs: in.IDs, Names: in.Names, Any: in.Any, Few: in.Few,
		Rows: in.Rows(), Number: in.Number(),
	}, nil
}

type cursorInput struct {
	Cursor api.Cursor `query:"cursor"`
	Limit  int64      `query:"limit" minimum:"1" maximum:"10" default:"2"`
	Kind   Kind       `query:"kind"`
	Room   string     `path:"room"`
}

// Turn is a page of a cursor list of seven items.
type Turn struct {
	Items      []string `json:"items"`
	NextCursor *string  `json:"nextCursor"`
}

func turn(_ context.Context, _ *db.Tx, in *cursorInput) (*Turn, error) {
	from := int64(len(in.Cursor.Position))

	out := &Turn{Items: []string{}}
	for n := from; n < min(from+in.Limit, 7); n++ {
		out.Items = append(out.Items, strconv.FormatInt(n, 10))
	}

	if from+in.Limit < 7 {
		out.NextCursor = in.Cursor.Next("xxxxxxx"[:from+in.Limit])
	}

	return out, nil
}

type slept struct {
	Seconds int64 `query:"seconds" default:"0"`
}

func sleep(ctx context.Context, tx *db.Tx, in *slept) (*api.None, error) {
	_, err := tx.Exec(ctx, `select pg_sleep(@seconds::int)`, db.Args{"seconds": in.Seconds})
	return nil, err
}

type file struct{ *bytes.Reader }

// Close ends the file.
func (file) Close() error { return nil }

type heardText struct {
	Text string `path:"text"`
}

func toys() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/toys", ID: "listToys", Tag: "toys", Summary: "List toys", Scopes: []string{"toys:read|toys:write"}}, listToys),
		api.Write(api.Endpoint{Method: http.MethodPost, Path: "/toys", ID: "createToy", Tag: "toys", Summary: "Create a toy", Status: 201, DryRun: true, MaxBody: 2000, Errors: apierr.List{errHalted}}, makeToy),
		api.Write(api.Endpoint{Method: http.MethodDelete, Path: "/toys/{id}", ID: "deleteToy", Tag: "toys", Summary: "Delete a toy", DryRun: true},
			func(ctx context.Context, tx *db.Tx, in *byID) (*api.None, error) {
				n, err := tx.Exec(ctx, `delete from contact where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": in.ID})
				if err == nil && n == 0 {
					err = apierr.NotFound
				}

				return nil, err
			}),
		api.Write(api.Endpoint{Method: http.MethodPost, Path: "/toys/{id}/wind", ID: "windToy", Tag: "toys", Summary: "Wind a toy"},
			func(ctx context.Context, tx *db.Tx, in *byID) (*Heard, error) {
				n, err := tx.Exec(ctx, `update contact set phone = coalesce(phone, '') || 'x' where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": in.ID})
				return &Heard{Any: n, IDs: []id.ID{}, Names: []string{}}, err
			}),
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/rooms/{room}", ID: "listRoom", Tag: "rooms", Summary: "List a room"}, turn),
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/halls/{room}", ID: "listHall", Tag: "rooms", Summary: "List a hall"}, turn),
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/texts/{text}", ID: "hearText", Tag: "toys", Summary: "Hear a text"},
			func(_ context.Context, _ *db.Tx, in *heardText) (*Heard, error) {
				return &Heard{Text: in.Text, IDs: []id.ID{}, Names: []string{}}, nil
			}),
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/sleep", ID: "sleep", Tag: "toys", Summary: "Sleep", Timeout: 20 * time.Millisecond}, sleep),
		api.Write(api.Endpoint{Method: http.MethodPost, Path: "/sleep", ID: "sleepWriting", Tag: "toys", Summary: "Sleep", Timeout: 20 * time.Millisecond}, sleep),
		api.Read(api.Endpoint{Method: http.MethodGet, Path: "/panic", ID: "panic", Tag: "toys", Summary: "Panic", Public: true},
			func(context.Context, *db.Tx, *api.None) (*api.None, error) { panic(errPrivate) }),
		api.External(api.Endpoint{Method: http.MethodPost, Path: "/call", ID: "call", Tag: "toys", Summary: "Call", Also: map[int]reflect.Type{202: reflect.TypeFor[Turn]()}},
			func(_ context.Context, _ *db.DB, scope db.Scope, _ *makeInput) (*Heard, error) {
				return &Heard{Text: scope.RequestID, IDs: []id.ID{}, Names: []string{}}, nil
			}),
		api.Stream(api.Endpoint{Method: http.MethodGet, Path: "/file", ID: "file", Tag: "toys", Summary: "Download"},
			func(context.Context, *db.DB, db.Scope, *api.None) (*api.Content, error) {
				return &api.Content{Reader: file{bytes.NewReader([]byte("0123456789"))}, Filename: "ä.txt", ContentType: "text/plain", ETag: "v1", Modified: time.Unix(0, 0)}, nil
			}),
	}
}

var _ io.ReadSeekCloser = file{}
