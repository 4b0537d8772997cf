package parts

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
)

// TodaySQL joins the team m with the day that it is there, as z.today. Its arguments are those of LoadTodays. Days up
// to @latest can be today somewhere, so that a statement can ask for them first.
const TodaySQL = `join unnest(@zones::text[], @todays::date[]) as z (zone, today) on z.zone = m.time_zone`

// LoadTodays adds to the arguments of a statement across teams which day it is in the time zones of all teams.
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
