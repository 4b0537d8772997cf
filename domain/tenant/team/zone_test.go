package team_test

import (
	"context"
	"testing"

	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestATeamHasATimeZone(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	if got := x.Put("/team", object{"timeZone": "America/Chicago"}).Want(200).String("timeZone"); got != "America/Chicago" {
		t.Errorf("the zone is %s", got)
	}

	for _, name := range []any{"", "Local", "EST", "america/chicago", "America/Nowhere", "../UTC", "posix/UTC"} {
		x.Put("/team", object{"timeZone": name}).WantError(apierr.CodeBadRequest, "").WantIssue("timeZone", "timeZone")
	}

	if got := x.Get("/team").Want(200).String("timeZone"); got != "America/Chicago" {
		t.Errorf("after the refusals the zone is %s", got)
	}
}

func TestANewTeamHasTheTimeZoneOfItsRegion(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	for region, want := range map[string]string{
		"us": "America/New_York", "ca": "America/Toronto", "eu": "Europe/Berlin", "ap": "Australia/Sydney", "sa": "America/Sao_Paulo",
	} {
		var got string

		x.System(func(ctx context.Context, tx *db.Tx) error {
			made, err := team.Create(ctx, tx, team.New{Name: "New", Type: team.PropertyManager, Region: region, PartnerID: id.Zero})
			if err == nil {
				got, err = db.Get[string](ctx, tx, `select time_zone from team where team_id = @made`, db.Args{"made": made})
			}

			return err
		})

		if got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}
