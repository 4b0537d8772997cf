package db_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

type colour string

// label has the fields that a sheet shares with other types.
type label struct {
	ID   id.ID
	Name string
}

// sheet has a field of each kind that a column can have.
type sheet struct {
	label
	Notes     *string
	Code      string
	Colour    colour
	Second    *colour
	Total     money.Cents
	Count     *int64
	Page      int
	IsOpen    bool
	Day       day.Day
	Until     *day.Day
	Owner     id.ID
	Sum       []byte
	Tags      []string
	Days      []day.Day
	Shares    []money.Cents
	Members   []label
	Extra     map[string]any
	Raw       json.RawMessage
	CreatedAt day.Instant
	UpdatedAt day.Instant
}

// sheetRow is a sheet as it is written, storedSheet as it is read.
type (
	sheetRow struct {
		sheet
		Weight int64
	}
	storedSheet struct {
		sheet
		Heavy   bool
		Version int64
	}
)

var sheets = db.NewTable[sheetRow]("sheet", `
	id uuid key, name text, notes text, code text optional, colour text fixed, second text, total bigint, count bigint, page int, is_open boolean, day date,
	until date, owner uuid, sum bytea, tags text[], days date[], shares bigint[], members jsonb, extra jsonb, raw jsonb, weight bigint sent,
	heavy boolean computed, created_at now fixed, updated_at now`).
	Compute("heavy", "r.weight > @limit::bigint").
	Merge("version", "sheet.version + 1")

var createSheet sync.Once

// newSheets is a team in a database that has the table sheet.
func newSheets(t *testing.T) *apitest.Team {
	t.Helper()
	x := apitest.New(t, apitest.Config{})

	createSheet.Do(func() {
		for _, ddl := range []string{
			`create table sheet (team_id uuid not null, id uuid not null, name text, notes text, code text, colour text, second text, total bigint, count bigint,
				page int, is_open boolean, day date, until date, owner uuid, sum bytea, tags text[], days date[], shares bigint[], members jsonb, extra jsonb,
				raw jsonb, heavy boolean, version bigint not null default 1, created_at timestamptz(3), updated_at timestamptz(3), primary key (team_id, id))`,
			`select stayledger_tenant('sheet')`,
		} {
			x.System(func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, ddl, nil)
				return err
			})
		}
	})

	return x
}

// readSheets returns the stored sheets by name.
func readSheets(t *testing.T, x *apitest.Team) map[string]storedSheet {
	t.Helper()

	out := map[string]storedSheet{}

	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		found, err := db.Select[storedSheet](ctx, tx, `select `+sheets.ColumnsSQL("s")+`, s.version from sheet s where s.team_id = @team`, db.Args{"team": tx.Team})
		for _, s := range found {
			out[s.Name] = s
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// saveSheets runs the statement that write makes of rows in a transaction of its own, and returns its instant.
func saveSheets(t *testing.T, x *apitest.Team, write func(*db.Tx, ...*sheetRow) db.Stmt, rows ...sheetRow) (at day.Instant) {
	t.Helper()

	err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		at = day.At(tx.Now)
		s := write(tx, db.Refs(rows)...)
		s.Args["limit"] = 10

		return tx.Pipeline(ctx, s)
	})
	if err != nil {
		t.Fatal(err)
	}

	return at
}

func TestATableReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	x := newSheets(t)

	notes, second, count, until := `a "b", {c}\`, colour("blue"), int64(-7), on("2026-03-01")
	full := sheetRow{Weight: 11, sheet: sheet{
		label: label{ID: id.New(x.DB.Now()), Name: "full"}, Notes: &notes, Code: "C1", Colour: "red", Second: &second, Total: 1<<53 - 1, Count: &count, Page: 3,
		IsOpen: true, Day: on("2026-02-28"), Until: &until, Owner: id.New(x.DB.Now()), Sum: []byte{0, 255},
		Tags: []string{"", "a,b", `"q"`, "{x}", `back\slash`, "null", "ü"}, Days: []day.Day{until}, Shares: []money.Cents{1, -2},
		Members: []label{{Name: "m"}}, Extra: map[string]any{"k": []any{"<&>", nil}}, Raw: json.RawMessage(`{"a": 1}`),
	}}
	empty := sheetRow{sheet: sheet{label: label{ID: id.New(x.DB.Now()), Name: "empty"}, Day: until}}
	none := sheetRow{sheet: sheet{label: label{ID: id.New(x.DB.Now()), Name: "none"}, Day: until, Tags: []string{}, Members: []label{}, Extra: map[string]any{}}}

	// First an insert of rows that differ in everything: each row gets its own values.
	at := saveSheets(t, x, sheets.Insert, full, empty, none)
	want := map[string]storedSheet{}

	for _, row := range []sheetRow{full, empty, none} {
		row.CreatedAt, row.UpdatedAt = at, at
		want[row.Name] = storedSheet{sheet: row.sheet, Heavy: row.Weight > 10, Version: 1}
	}

	wantSheets(t, "inserted", readSheets(t, x), want)

	// What nothing was said of is null, also the text that may be empty; a list without items is none.
	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		given, err := db.Get[int](ctx, tx, `select num_nonnulls(code, notes, owner, tags, members, extra, raw)
			from sheet where team_id = @team and name = 'empty'`, db.Args{"team": tx.Team})
		if given != 0 {
			t.Errorf("%d of the row without values are not null", given)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	// An update leaves fixed columns and other rows alone.
	changed := full
	changed.Colour, changed.Code, changed.Total, changed.Tags, changed.Notes, changed.Weight = "green", "", 5, nil, nil, 1
	later := saveSheets(t, x, sheets.Update, changed)
	row := changed.sheet
	row.Colour, row.CreatedAt, row.UpdatedAt = "red", at, later
	want["full"] = storedSheet{sheet: row, Version: 1}
	wantSheets(t, "updated", readSheets(t, x), want)

	// An upsert inserts one row and updates the other, which its merged column counts.
	fresh, second2 := sheetRow{sheet: sheet{label: label{ID: id.New(x.DB.Now()), Name: "fresh"}, Day: until, Colour: "red"}}, changed
	second2.Colour, second2.Total, second2.Weight = "black", 6, 12
	last := saveSheets(t, x, sheets.Upsert, fresh, second2)
	row.Total, row.UpdatedAt = 6, last
	want["full"] = storedSheet{sheet: row, Heavy: true, Version: 2}
	fresh.CreatedAt, fresh.UpdatedAt = last, last
	want["fresh"] = storedSheet{sheet: fresh.sheet, Version: 1}
	wantSheets(t, "upserted", readSheets(t, x), want)

	// No rows are no mistake.
	saveSheets(t, x, sheets.Insert)
	wantSheets(t, "none inserted", readSheets(t, x), want)
}

// on returns a day.
func on(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}

// wantSheets compares stored sheets. A document may be written in another way.
func wantSheets(t *testing.T, what string, got, want map[string]storedSheet) {
	t.Helper()

	text := func(s storedSheet) string {
		if s.Raw != nil {
			s.Raw = json.RawMessage(strings.ReplaceAll(string(s.Raw), " ", ""))
		}

		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}

		return string(encoded)
	}

	if len(got) != len(want) {
		t.Errorf("%s: %d sheets, want %d", what, len(got), len(want))
	}

	for name, w := range want {
		if g := got[name]; text(g) != text(w) {
			t.Errorf("%s: %s is\n%s, want\n%s", what, name, text(g), text(w))
		}
	}
}

// Another team's row with the same key stays as it is.
func TestATableWritesRowsOfItsTeam(t *testing.T) {
	t.Parallel()
	x, other := newSheets(t), newSheets(t)
	row := sheetRow{sheet: sheet{label: label{ID: id.New(x.DB.Now()), Name: "theirs"}, Day: on("2026-03-01")}}

	saveSheets(t, other, sheets.Insert, row)

	row.Name = "mine"
	saveSheets(t, x, sheets.Update, row)
	saveSheets(t, x, sheets.Upsert, row)

	if mine, theirs := readSheets(t, x), readSheets(t, other); len(mine) != 1 || mine["mine"].ID != row.ID || theirs["theirs"].ID != row.ID {
		t.Errorf("mine %v, theirs %v", mine, theirs)
	}
}

func TestATableIsDeclaredWithoutMistakes(t *testing.T) {
	t.Parallel()

	for name, declare := range map[string]func(){
		"a column without a field":   func() { db.NewTable[label]("sheet", "id uuid key, nothing text") },
		"a column without a type":    func() { db.NewTable[label]("sheet", "id") },
		"a word that does not exist": func() { db.NewTable[label]("sheet", "id uuid primary") },
		"a column to compute":        func() { db.NewTable[label]("sheet", "id uuid").Compute("name", "''") },
		"a field without a column":   func() { db.NewTable[label]("sheet", "id uuid").Column("name") },
		"an update without a key":    func() { db.NewTable[label]("sheet", "id uuid, name text").Update(&db.Tx{}) },
		"an upsert of keys alone":    func() { db.NewTable[label]("sheet", "id uuid key").Upsert(&db.Tx{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", name)
				}
			}()

			declare()
		}()
	}
}

func TestATableStoresRowsInADocument(t *testing.T) {
	t.Parallel()

	labels := db.NewTable[label]("sheet", "id uuid key, name text")
	if got := labels.TypesSQL(); got != "id uuid, name text" {
		t.Errorf("types %q", got)
	}

	records, err := json.Marshal(labels.Records(&label{Name: "a"}))
	if want := `[{"id":"` + id.Zero.String() + `","name":"a"}]`; err != nil || string(records) != want {
		t.Errorf("records %s, want %s (%v)", records, want, err)
	}

	if name, kind := sheets.Column("isOpen"); name != "is_open" || kind != "boolean" {
		t.Errorf("isOpen is %s %s", name, kind)
	}
}
