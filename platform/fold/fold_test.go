package fold_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/fold"
	"stayledger/platform/id"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// Everything that was noted is folded, however much it is; the notes of a team that cannot be folded stay, are
// reported by its name, and keep no other team waiting.
func TestATeamThatFailsKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	first := apitest.New(t, apitest.Config{})
	system := func(sql string, args db.Args) {
		t.Helper()
		first.System(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, sql, args)
			return err
		})
	}
	system(`create table toy_delta (team_id uuid not null, id bigint not null generated always as identity, fails boolean not null default false, primary key (team_id, id))`, nil)
	system(`select stayledger_tenant('toy_delta')`, nil)
	system(`create function toy_fold(team uuid, most integer) returns bigint language plpgsql as $$
		declare
			folded bigint;
		begin
			if exists (select from toy_delta where team_id = team and fails) then
				raise exception 'it cannot be folded';
			end if;
			with taken as (
				delete from toy_delta where team_id = team and id in (select id from toy_delta where team_id = team order by id limit most) returning *
			)
			select count(*) into folded from taken;
			return folded;
		end
		$$`, nil)

	teams := []id.ID{first.ID, apitest.New(t, apitest.Config{}).ID, apitest.New(t, apitest.Config{}).ID}
	slices.SortFunc(teams, id.ID.Compare)

	note := func(team id.ID, times int, fails bool) {
		system(`insert into toy_delta (team_id, fails) select @of, @fails from generate_series(1, @times::integer)`, db.Args{"of": team, "times": times, "fails": fails})
	}
	note(teams[0], 1, true)
	note(teams[1], 20_001, false) // more than one transaction folds
	note(teams[2], 1, false)

	err := fold.Sums{Notes: "toy_delta", Function: "toy_fold"}.Fold(t.Context(), first.DB)
	if err == nil || !strings.Contains(err.Error(), "toy_delta of team "+teams[0].String()) || !strings.Contains(err.Error(), "it cannot be folded") {
		t.Errorf("the failure is told as %v", err)
	}

	var left []int64

	first.System(func(ctx context.Context, tx *db.Tx) (err error) {
		left, err = db.Select[int64](ctx, tx, `select (select count(*) from toy_delta where team_id = t.team) from unnest(@teams::uuid[]) with ordinality t (team, nr) order by nr`, db.Args{"teams": teams})
		return err
	})

	if !slices.Equal(left, []int64{1, 0, 0}) {
		t.Errorf("of the teams' notes %v are left", left)
	}
}
