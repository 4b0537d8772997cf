package db_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestAStatementThatForgetsTheTeamSeesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	x, other := newTeam(t), newTeam(t)
	x.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "mine") })
	other.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "theirs") })
	wantStored(t, x, "mine")

	for name, c := range map[string]struct {
		scope db.Scope
		want  string
	}{
		"none":         {db.Scope{}, ""},
		"managed":      {db.Scope{Team: x.ID, Managed: []id.ID{other.ID}}, "mine theirs"},
		"only managed": {db.Scope{Managed: []id.ID{other.ID}}, "theirs"},
		"one":          {other.Scope(), "theirs"},
	} {
		for end, run := range map[string]func(context.Context, db.Scope, db.Work) error{"read": x.DB.Read, "answer": x.DB.ReadAnswer, "one": x.DB.ReadOne, "write": x.DB.Write, "dry": x.DB.DryRun} {
			err := run(t.Context(), c.scope, func(ctx context.Context, tx *db.Tx) error {
				got, err := texts(ctx, tx)
				if got != c.want {
					t.Errorf("%s, %s: saw %q, want %q", name, end, got, c.want)
				}

				return err
			})
			if err != nil {
				t.Errorf("%s, %s: %v", name, end, err)
			}
		}
	}

	err := x.DB.Read(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		got, err := texts(ctx, tx)
		if !strings.Contains(got, "mine") || !strings.Contains(got, "theirs") {
			t.Errorf("across teams: saw %q", got)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAWriteForAnotherTeamIsRefused(t *testing.T) {
	t.Parallel()
	x, other := newTeam(t), newTeam(t)
	other.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "theirs") })

	for name, s := range map[string]db.Stmt{
		"insert": {SQL: `insert into note (team_id, text) values (@team, 'x')`, Args: db.Args{"team": other.ID}},
		"move":   {SQL: `with mine as (insert into note (team_id, text) values (@own, 'y')) update note set team_id = @team`, Args: db.Args{"own": x.ID, "team": other.ID}},
	} {
		err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if name == "move" {
				if err := write(ctx, tx, "mine"); err != nil {
					return err
				}
			}

			return tx.Pipeline(ctx, s)
		})
		if db.SQLState(err) != "42501" {
			t.Errorf("%s: %v", name, err)
		}
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, sql := range []string{`update note set text = 'changed'`, `delete from note`} {
			if n, err := tx.Exec(ctx, sql, nil); n != 0 || err != nil {
				t.Errorf("%s touched %d rows of others, %v", sql, n, err)
			}
		}

		return nil
	})
	wantStored(t, other, "theirs")
}

func TestVisitShowsOneOtherTeam(t *testing.T) {
	t.Parallel()
	x, second, third := newTeam(t), newTeam(t), newTeam(t)

	teams := map[string]id.ID{"first": x.ID, "second": second.ID, "third": third.ID}
	for name, team := range teams {
		x.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `insert into note (team_id, text) values (@team, @text)`, db.Args{"team": team, "text": name})
			return err
		})
	}

	sees := func(ctx context.Context, tx *db.Tx, want string) {
		t.Helper()

		if got, err := texts(ctx, tx); got != want || err != nil {
			t.Errorf("saw %q, %v, want %q", got, err, want)
		}
	}
	visit := func(ctx context.Context, tx *db.Tx) error {
		return tx.Visit(ctx, second.ID, func(ctx context.Context, tx *db.Tx) error {
			sees(ctx, tx, "second")
			err := tx.Visit(ctx, third.ID, func(ctx context.Context, tx *db.Tx) error {
				sees(ctx, tx, "third")
				return nil
			})
			sees(ctx, tx, "second")
			_ = tx.Visit(ctx, third.ID, func(context.Context, *db.Tx) error { return errOurs })
			sees(ctx, tx, "second")

			return err
		})
	}
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		err := visit(ctx, tx)
		sees(ctx, tx, "first")
		_ = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
			return tx.Visit(ctx, second.ID, raise("23505"))
		})
		sees(ctx, tx, "first")

		return err
	})
	x.System(visit) // what a transaction across teams visits is one team too
}

// Identifiers are made by the service, as uuids of version 7: a default of the database would make others.
func TestNoTableMakesItsOwnIdentifiers(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		found, err := db.Select[string](ctx, tx, `
			select a.attrelid::regclass::text || '.' || a.attname::text from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
			join pg_class c on c.oid = d.adrelid and c.relnamespace = 'public'::regnamespace
			where a.atttypid = 'uuid'::regtype and a.attgenerated = '' and pg_get_expr(d.adbin, d.adrelid) <> 'id' and pg_get_expr(d.adbin, d.adrelid) not like '''00000000-%' order by 1`, nil)
		for _, column := range found {
			t.Errorf("%s has a default: give the identifier when the row is written", column)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Another team's rows must not even be reachable through a reference, and a database can be split by team.
func TestTheSchemaKeepsTeamsApart(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	type table struct {
		Name                            string
		Tenant, Enabled, Forced, Policy bool
	}

	type reference struct{ Name, From, Into, Columns, Targets string }

	var (
		tables     []table
		references []reference
	)

	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		tables, err = db.Select[table](ctx, tx, `
			select c.relname::text as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
				exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'team_id' and not a.attisdropped) as tenant,
				exists (select from pg_policy p where p.polrelid = c.oid and p.polcmd = '*' and p.polpermissive and 0 = any (p.polroles)
					and pg_get_expr(p.polqual, c.oid) like '%stayledger_%' and p.polwithcheck is null)
					and 1 = (select count(*) from pg_policy p where p.polrelid = c.oid) as policy
			from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`, nil)
		if err != nil {
			return err
		}

		references, err = db.Select[reference](ctx, tx, `
			select k.conname::text as name, k.conrelid::regclass::text as "from", k.confrelid::regclass::text as "into",
				(select string_agg(a.attname, ',' order by n) from unnest(k.conkey) with ordinality as u (num, n)
					join pg_attribute a on a.attrelid = k.conrelid and a.attnum = num) as columns,
				(select string_agg(a.attname, ',' order by n) from unnest(k.confkey) with ordinality as u (num, n)
					join pg_attribute a on a.attrelid = k.confrelid and a.attnum = num) as targets
			from pg_constraint k where k.contype = 'f' order by 1`, nil)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	var shared []string

	tenant := map[string]bool{}
	for _, c := range tables {
		if tenant[c.Name] = c.Tenant; !c.Tenant {
			shared = append(shared, c.Name)
		}

		if c.Name != "goose_db_version" && (!c.Enabled || !c.Forced || !c.Policy) {
			t.Errorf("%s: row-level security enabled %t, forced %t, exactly one policy for all commands %t", c.Name, c.Enabled, c.Forced, c.Policy)
		}
	}

	if want := []string{"access_token", "access_user", "audit_checkpoint", "audit_tile", "call_budget", "file_store", "goose_db_version", "job_schedule"}; !slices.Equal(shared, want) {
		t.Errorf("tables without team_id: %v, want %v", shared, want)
	}

	for _, r := range references {
		if !tenant[r.From] || !tenant[r.Into] || r.Into == "team" && r.Targets == "id" {
			continue // a team is its own tenant
		}

		columns, targets := strings.Split(r.Columns, ","), strings.Split(r.Targets, ",")

		n := slices.Index(targets, "team_id")
		if n < 0 || columns[n] != "team_id" && columns[n] != "home_team_id" {
			t.Errorf("%s: %s (%s) references %s (%s) without the team", r.Name, r.From, r.Columns, r.Into, r.Targets)
		}
	}

	if len(tables) < 20 || len(references) < 20 {
		t.Errorf("only %d tables and %d references were looked at", len(tables), len(references))
	}
}

func TestSharedTablesAreClosedToTeams(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, name := range []string{"access_user", "access_token", "audit_checkpoint", "audit_tile", "call_budget", "file_store", "job_schedule"} {
		err := x.DB.ReadOne(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			n, err := db.Get[int64](ctx, tx, `select count(*) from `+name, nil)
			if n != 0 {
				t.Errorf("a team sees %d rows of %s", n, name)
			}

			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A condition that is null would show every row: it is only false that hides one.
func TestANullAmongTheTeamsShowsNothing(t *testing.T) {
	t.Parallel()
	x, other := newTeam(t), newTeam(t)
	other.Tx(func(ctx context.Context, tx *db.Tx) error { return write(ctx, tx, "theirs") })

	for _, teams := range []string{"{}", "{null}", "", "{" + x.ID.String() + ",null}"} {
		err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `select set_config('stayledger.teams', @teams, true)`, db.Args{"teams": teams}); err != nil {
				return err
			}

			got, err := texts(ctx, tx)
			if got != "" {
				t.Errorf("teams %s: saw %q", teams, got)
			}

			return err
		})
		if err != nil {
			t.Errorf("teams %s: %v", teams, err)
		}
	}
}
