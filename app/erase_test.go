package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// tablesOfTeams are those that the database knows a team of each row in.
func tablesOfTeams(t *testing.T) (tables []string) {
	t.Helper()

	if err := apitest.DB(t).Read(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		tables, err = db.Select[string](ctx, tx, `
			select c.table_name::text from information_schema.columns c
			join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
			where c.table_schema = 'public' and c.column_name = 'team_id' and t.table_type = 'BASE TABLE' order by 1`, nil)

		return err
	}); err != nil {
		t.Fatal(err)
	}

	return tables
}

// A table that no noun names would outlive its team.
func TestEveryTableOfTeamsHasANoun(t *testing.T) {
	t.Parallel()

	var named []string
	for _, table := range app.Parts(app.External{}, app.Config{}).Tables {
		named = append(named, table.Name)
	}

	slices.Sort(named)
	golden.List(t, "tables of teams that a Part names", named, tablesOfTeams(t))
}

// rows are how many of a team's are in each table that has any.
func rows(t *testing.T, w *world.World) map[string]int64 {
	t.Helper()
	return rowsOf(t, w, w.ID)
}

// rowsOf is rows for another team.
func rowsOf(t *testing.T, w *world.World, team id.ID) map[string]int64 {
	t.Helper()

	out := map[string]int64{}

	w.System(func(ctx context.Context, tx *db.Tx) error {
		tables := tablesOfTeams(t)

		counts := make([]string, len(tables))
		for i, table := range tables {
			counts[i] = fmt.Sprintf("select '%[1]s' as name, count(*) as n from %[1]s where team_id = @team having count(*) > 0", table)
		}

		type counted struct {
			Name string
			N    int64
		}

		all, err := db.Select[counted](ctx, tx, strings.Join(counts, " union all "), db.Args{"team": team})
		for _, c := range all {
			out[c.Name] = c.N
		}

		return err
	})

	return out
}

// furnished is a team with sample books, an opening trial balance and an export in the store.
func furnished(t *testing.T) (w *world.World, external app.External) {
	t.Helper()
	w = world.New(t, func(e *app.External) { external = *e })
	w.Put("/teams/opening-trial-balance/manual?dryRun=false", world.Object{"rows": world.Array{
		world.Object{"accountId": w.Account("1010"), "combinedCentTotal": 100},
	}}).Want(200)
	w.Post("/team/generate-demo-data", world.Object{"months": 2, "listings": 2}).Want(202)
	w.Work()

	for _, more := range []string{ // rows that name others of their table, and that others name
		`update account set offset_account_id = (select id from account where team_id = @team and code = '1000') where team_id = @team and code = '1010'`,
		`update account set offset_account_id = (select id from account where team_id = @team and code = '1010') where team_id = @team and code = '2000'`,
		`update listing set parent_id = (select max(id::text)::uuid from listing where team_id = @team)
			where team_id = @team and id = (select min(id::text)::uuid from listing where team_id = @team)`,
		`insert into journal (team_id, id, short_ref, date, currency, ledger, total, reverses_id, created_at, updated_at)
			select @team, id, id::text, '2026-01-01', 'usd', 'trust', 1, lag(id) over (), now(), now() from (select gen_random_uuid() as id from generate_series(1, 3)) j`,
		`insert into journal_line (team_id, journal_id, position, account_id, cent_total)
			select @team, id, 1, (select id from account where team_id = @team and code = '1000'), 1 from journal where team_id = @team`,
		`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at) values (@team, gen_random_uuid(), 'C', 'nacha', 'Bank', 'active', now(), now())`,
		`insert into bank_record (team_id, id, account_id, connection_id, date, amount, created_at, updated_at)
			select @team, gen_random_uuid(), a.id, c.id, '2026-01-01', 1, now(), now() from account a, connection c where a.team_id = @team and a.code = '1000' and c.team_id = @team`,
		`insert into account_excluded_record (team_id, bank_record_id) select team_id, id from bank_record where team_id = @team`,
		`insert into layout_listing (team_id, layout_id, listing_id) select @team, y.id, l.id from layout y, listing l where y.team_id = @team and l.team_id = @team`,
		`insert into api_idempotency (team_id, user_id, key, request_hash, status, headers, body, created_at) values (@team, gen_random_uuid(), 'k', '', 200, '{}', '', now())`,
		`insert into file_draft (team_id, id, blob_key, created_at) values (@team, gen_random_uuid(), gen_random_uuid()::text, now())`,
	} {
		w.Exec(more, nil)
	}

	w.Post("/accounts/csv", world.Object{}).Want(202)
	w.Work()

	return w, external
}

// Proves: OPEN-81.
func TestAnErasedTeamLeavesNothing(t *testing.T) {
	t.Parallel()
	gone, external := furnished(t)
	stays, _ := furnished(t)

	before := rows(t, gone)
	if len(before) < 40 || before["file"] == 0 {
		t.Errorf("the sample books fill %d tables only: %v", len(before), before)
	}

	var content []string

	gone.System(func(ctx context.Context, tx *db.Tx) (err error) {
		content, err = db.Select[string](ctx, tx, `select blob_key from file where team_id = @team`, db.Args{"team": gone.ID})
		return err
	})
	operation := id.New(gone.DB.Now())
	gone.Exec(`insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at) values (@team, @id, 'team-delete', 'running', @user, 1, now())`,
		db.Args{"id": operation, "user": gone.User})

	all := app.Parts(external, app.Config{})
	if err := all.Erase(t.Context(), gone.DB, gone.ID, operation); err == nil {
		t.Error("a team that is not being deleted was erased")
	}

	gone.Exec(`update team set freeze_reason = 'deletion', freeze_operation_id = @operation where team_id = @team`, db.Args{"operation": operation})

	other := stays.Fingerprint()

	for range 2 { // again after it was broken off
		if err := all.Erase(t.Context(), gone.DB, gone.ID, operation); err != nil {
			t.Fatal(err)
		}
	}

	for _, key := range content {
		if _, err := external.Store.Open(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("the content of a file is left: %v", err)
		}
	}

	left := rows(t, gone)
	for _, kept := range []string{"team", "operation", "access_key", "access_member"} { // OPEN-81, and that there was such a team
		if left[kept] > 1 {
			t.Errorf("%d rows of %s are left", left[kept], kept)
		}

		delete(left, kept)
	}

	if len(left) > 0 {
		t.Errorf("left are %v", left)
	}

	if after := stays.Fingerprint(); after != other {
		t.Errorf("the other team changed:\n%s\n%s", other, after)
	}
}

// The way through what protects books and trail is as narrow as the deletion of one team.
func TestOnlyATeamThatIsDeletedCanBeErased(t *testing.T) {
	t.Parallel()
	w, other := world.New(t), world.New(t)
	w.Listing("Villa", w.Contact("owner", "Ada"))

	erase := func(team id.ID, table string) error {
		return w.DB.Write(t.Context(), w.Scope(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `select set_config('stayledger.erasing', @erasing::text, true)`, db.Args{"erasing": team.String()}); err != nil {
				return err
			}

			_, err := tx.Exec(ctx, `delete from `+table+` where team_id = @team`, db.Args{"team": w.ID})

			return err
		}))
	}
	refused := func(why string, team id.ID) {
		t.Helper()

		for _, table := range []string{"audit_event", "audit_reference"} {
			if err := erase(team, table); db.SQLState(err) != "SL012" {
				t.Errorf("%s: %s: %v", why, table, err)
			}
		}
	}
	refused("no team", id.Zero)
	refused("a team that is not deleted", w.ID)
	other.Exec(`update team set freeze_reason = 'deletion' where team_id = @team`, nil)
	refused("another team", other.ID)
	w.Exec(`update team set freeze_reason = 'migration' where team_id = @team`, nil)
	refused("a team that moves", w.ID)
	w.Exec(`update team set freeze_reason = 'deletion' where team_id = @team`, nil)

	if err := w.DB.Write(t.Context(), w.Scope(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `delete from audit_event where team_id = @team`, db.Args{"team": w.ID})
		return err
	})); db.SQLState(err) != "SL012" {
		t.Errorf("without the setting: %v", err)
	}

	if err := erase(w.ID, "audit_reference"); err != nil {
		t.Error(err)
	}
}

// DELETE /team with the team's name starts an operation that leaves nothing of it, and nothing else does.
//
// Proves: INIT-01.
func TestATeamIsDeletedByItsName(t *testing.T) {
	t.Parallel()
	gone, _ := furnished(t)
	stays, _ := furnished(t)
	other := stays.Fingerprint()

	gone.Put("/team", world.Object{"email": "office@example.com"}).Want(200)
	gone.Work()

	was := gone.Get("/team").Want(200)
	gone.Call("DELETE", "/team", world.Object{"confirmName": was.String("name") + "s"}).Want(400).WantIssue("contradiction", "confirmName")

	// Money is under way: it must not lose its books.
	payment := id.New(gone.DB.Now())
	gone.Exec(`insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at)
		values (@team, @id, 'provider-payment', 'running', @user, 1, now())`, db.Args{"id": payment, "user": gone.User})
	gone.Call("DELETE", "/team", world.Object{"confirmName": was.String("name")}).WantError(apierr.CodeConflict, "")
	gone.Exec(`update operation set tasks_open = 0, status = 'completed', finished_at = now() where team_id = @team and id = @id`, db.Args{"id": payment})

	// A migration keeps the team, and so does a deletion that is under way. One that has failed is started again.
	earlier := id.New(gone.DB.Now())
	gone.Exec(`insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at)
		values (@team, @id, 'team-delete', 'running', @user, 1, now())`, db.Args{"id": earlier, "user": gone.User})

	for reason, code := range map[string]apierr.Code{"migration": apierr.CodeTeamMigrationFrozen, "deletion": apierr.CodeTeamDeletionFrozen} {
		gone.Exec(`update team set freeze_reason = @reason where team_id = @team`, db.Args{"reason": reason})
		gone.Call("DELETE", "/team", world.Object{"confirmName": was.String("name")}).WantError(code, "")
	}

	gone.Exec(`update team set freeze_reason = 'deletion' where team_id = @team`, nil)
	gone.Exec(`update operation set tasks_open = 0, status = 'failed', finished_at = now() where team_id = @team and id = @id`, db.Args{"id": earlier})

	started := gone.Call("DELETE", "/team", world.Object{"confirmName": was.String("name")}).Want(202)
	if started.String("type") != "team-delete" || started.String("resource.id") != gone.ID.String() {
		t.Errorf("acknowledgement: %s", started.Body)
	}

	gone.Work()

	left := rows(t, gone)
	for _, kept := range []string{"team", "operation", "operation_resource", "access_key", "access_member", "audit_log", "audit_leaf"} {
		delete(left, kept)
	}

	for _, trail := range []string{"audit_action", "audit_event", "audit_reference"} { // of the deletion itself
		if left[trail] > 2 {
			t.Errorf("%d rows of %s are left", left[trail], trail)
		}

		delete(left, trail)
	}

	if len(left) > 0 {
		t.Errorf("left are %v", left)
	}

	gone.System(func(ctx context.Context, tx *db.Tx) error {
		status, err := db.Get[string](ctx, tx, `select status from team where id = @team and email is null and tax_id is null`, db.Args{"team": gone.ID})
		if status != "deleted" {
			t.Errorf("the team is %q", status)
		}

		return err
	})

	if after := stays.Fingerprint(); after != other {
		t.Errorf("the other team changed:\n%s\n%s", other, after)
	}
}
