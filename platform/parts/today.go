package parts

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
)

// TodaySQL joins the team m with its present day, as z.today. LoadTodays sets its arguments. No team's present day is
// after @latest, so a statement can narrow its rows by that bound first.
const TodaySQL = `join unnest(@zones::text[], @todays::date[]) as z (zone, today) on z.zone = m.time_zone`

// LoadTodays adds the present day in the time zones of all teams to the arguments of a statement across teams.
func LoadTodays(ctx context.Context, tx *db.Tx, args db.Args) (db.Args, error) {
	zones, err := db.Select[day.Zone](ctx, tx, `select distinct time_zone from team`, nil)
	if err != nil {
		return nil, fmt.Errorf("read the time zones of teams: %w", err)
	}

	names, todays, latest := make([]string, len(zones)), make([]day.Day, len(zones)), day.Of(tx.Now)
	for i, z := range zones {
		names[i], todays[i] = string(z), z.Day(tx.Now)
		latest = day.Max(latest, todays[i])
	}

	args["zones"], args["todays"], args["latest"] = names, todays, latest

	return args, nil
}
