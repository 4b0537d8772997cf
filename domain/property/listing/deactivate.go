package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// HeldDeactivation says why a listing is active although the ownership period that makes it inactive has ended.
type HeldDeactivation struct {
	LockReasons []string `json:"lockReasons" doc:"What uses the listing, as when PUT /listings/{id} refuses to make it inactive."`
	TriedOn     day.Day  `json:"triedOn" doc:"Day on which that was last found; it is tried again on the next one."`
}

// hasUnsettledEnd is the condition in SQL that an ownership period p has still to make its listing inactive. An index
// has it.
const hasUnsettledEnd = `p.set_listing_inactive and not p.is_deactivation_settled`

// startOverSQL sets the columns of an ownership period for an end that was not looked at yet.
const startOverSQL = `is_deactivation_settled = false, deactivation_held = null`

// hasEnded reports whether new terms make a listing inactive on the day or before.
func (in *Terms) hasEnded(today day.Day) bool {
	inactive, end := in.SetListingInactive.Value, in.EndAt.Value
	return inactive != nil && *inactive && end != nil && !today.Before(*end)
}

// isSameDay reports whether two ends are the same; nil is no end.
func isSameDay(a, b *day.Day) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// endedPeriod is an ownership period that has ended and makes its listing inactive.
type endedPeriod struct {
	ID        id.ID    `json:"id"`
	ListingID id.ID    `json:"-"`
	IsDue     bool     `json:"-"`
	Held      []string `db:"-" json:"held"` // what keeps the listing active
}

// deactivateEnded makes those of the listings inactive that have an ownership period which has ended and says so. A
// listing that another period owns today stays active. What keeps a listing active is kept at the period, to be tried
// again the next day. The listings are locked.
func (h Listings) deactivateEnded(ctx context.Context, tx *db.Tx, listings []id.ID) error {
	args := db.Args{"team": tx.Team, "ids": listings, "today": tx.Today()}

	periods, err := db.Select[endedPeriod](ctx, tx, `
		select p.id, p.listing_id, l.status = 'active' and not `+ownedToday+` as is_due
		from listing_ownership_period p join listing l on l.team_id = @team and l.id = p.listing_id
		where p.team_id = @team and p.listing_id = any(@ids::uuid[]) and `+hasUnsettledEnd+` and p.end_at <= `+today+`
		order by p.listing_id, p.id`, args)
	if err != nil {
		return fmt.Errorf("read ended ownership periods: %w", err)
	}

	if len(periods) == 0 {
		return nil
	}

	// Save the listings as PUT does: with the checks of their uses, and an event for each.
	var items []BatchItem

	for i := range periods {
		if p := &periods[i]; p.IsDue && (len(items) == 0 || *items[len(items)-1].ID != p.ListingID) {
			items = append(items, BatchItem{ID: &p.ListingID, Update: Update{Status: new(Inactive)}})
		}
	}

	attempts, err := h.save(ctx, tx, items)
	if err != nil {
		return err
	}

	held := map[id.ID][]string{}

	for i, a := range attempts {
		if a.Refusal != nil {
			held[*items[i].ID] = lockReasons(a.Refusal)
		}
	}

	// Then keep what came of each period.
	for i := range periods {
		if p := &periods[i]; p.IsDue {
			p.Held = held[p.ListingID]
		}
	}

	_, err = tx.Exec(ctx, `
		update listing_ownership_period p set is_deactivation_settled = r.held is null,
			deactivation_held = case when r.held is not null then jsonb_build_object('lockReasons', r.held, 'triedOn', `+today+`) end
		from jsonb_to_recordset(@periods) as r (id uuid, held text[])
		where p.team_id = @team and p.id = r.id`, db.Args{"team": tx.Team, "today": tx.Today(), "periods": periods})
	if err != nil {
		return fmt.Errorf("keep what came of ended ownership periods: %w", err)
	}

	return nil
}

// lockReasons returns what uses a listing that could not be made inactive.
func lockReasons(refusal *apierr.Error) []string {
	if used, ok := refusal.Context().(apierr.InUse); ok {
		return used.LockReasons
	}

	return []string{}
}

// periodicTasks returns the periodic tasks of the package.
func (h Listings) periodicTasks() []job.Every {
	return []job.Every{{Name: "listing-deactivation", Interval: time.Hour, Do: h.deactivateDue}}
}

// dueAtOnce bounds the periods that one round looks at; the others are looked at in the next round.
const dueAtOnce = 500

// deactivateDue makes the listings of all teams inactive that are due, those of one team in a transaction. What was
// kept active is tried again the next day.
func (h Listings) deactivateDue(ctx context.Context, d *db.DB) error {
	type due struct {
		TeamID, ListingID id.ID
		Zone              day.Zone
	}

	var found []due

	// First find the listings, without locking any. Teams that are frozen or inactive are left out.
	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		args, err := parts.LoadTodays(ctx, tx, db.Args{"limit": dueAtOnce})
		if err != nil {
			return err
		}

		found, err = db.Select[due](ctx, tx, `
			select p.team_id, m.time_zone as zone, p.listing_id from listing_ownership_period p join team m on m.team_id = p.team_id `+parts.TodaySQL+`
			where `+hasUnsettledEnd+` and p.end_at <= @latest::date and p.end_at <= z.today and m.status = 'active' and m.freeze_reason is null
				and (p.deactivation_held is null or (p.deactivation_held ->> 'triedOn')::date < z.today)
			order by p.end_at, p.team_id, p.id limit @limit`, args)

		return err
	})
	if err != nil {
		return fmt.Errorf("find listings to make inactive: %w", err)
	}

	teams, zones := map[id.ID][]id.ID{}, map[id.ID]day.Zone{}
	for _, f := range found {
		zones[f.TeamID], teams[f.TeamID] = f.Zone, append(teams[f.TeamID], f.ListingID)
	}

	// Then settle team by team: one that fails does not hold up the others.
	var failures []error

	for team, listings := range teams {
		slices.SortFunc(listings, id.ID.Compare)

		err := d.Write(ctx, db.Scope{Team: team, Zone: zones[team]}, func(ctx context.Context, tx *db.Tx) error {
			if _, err := lockAll(ctx, tx, listings); err != nil {
				return err
			}

			return h.deactivateEnded(ctx, tx, slices.Compact(listings))
		})
		if err != nil && !apierr.IsRefusal(err) {
			failures = append(failures, fmt.Errorf("make listings of team %v inactive: %w", team, err))
		}
	}

	return errors.Join(failures...)
}
