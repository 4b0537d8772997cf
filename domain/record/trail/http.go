package trail

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const (
	tag       = "Audit"
	scopeRead = "audit:read"
)

var (
	errExpired = apierr.New(apierr.CodeAuditCursorExpired, "", "Cursor has expired")
	errRevised = apierr.New(apierr.CodeAuditEventRevised, "", "Event was revised")
)

// Revised names the latest revision to a caller who asked for an earlier one.
type Revised struct {
	Revision int64 `json:"revision"`
}

// sort orders events.
type sort string

const (
	oldest sort = "recordedAt"
	newest sort = "-recordedAt"
)

// Enum lists the orders.
func (sort) Enum() []string { return []string{string(oldest), string(newest)} }

// eventsInput selects a page with events.
type eventsInput struct {
	Filter

	Cursor      api.Cursor `query:"cursor" doc:"nextCursor of the page before, unchanged, with the same filters, within 24 hours."`
	Limit       int64      `query:"limit" minimum:"1" maximum:"250" default:"100"`
	Sort        sort       `query:"sort" doc:"Default -recordedAt. With recordedAt events are held back while an older write can still add to them, so that following the cursor skips none."`
	IncludeDiff *bool      `query:"includeDiff" default:"true" doc:"Whether changes have values; else only keys."`
}

// partnerInput selects a page with events from managed teams.
type partnerInput struct {
	eventsInput

	TeamIDs page.IDs `query:"teamIds" doc:"Only these teams; an id with a leading ! is left out."`
}

// timelineInput selects a page with actions.
type timelineInput struct {
	Filter

	Cursor      api.Cursor `query:"cursor" doc:"nextCursor of the page before, unchanged, with the same filters, within 24 hours."`
	Limit       int64      `query:"limit" minimum:"1" maximum:"100" default:"50"`
	IncludeDiff *bool      `query:"includeDiff" default:"true" doc:"Whether changes have values; else only keys."`
}

// eventInput names an event and a revision.
type eventInput struct {
	ID       id.ID  `path:"id"`
	Revision *int64 `query:"revision" minimum:"1" doc:"The revision that the caller knows: 409 if there is a newer one, 404 if there is none yet."`
}

// endpoints returns the read endpoints. They are closed to owners and embedded sessions (domain.md 1.14).
func endpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/audit/timeline", ID: "listAuditActions", Tag: tag,
			Summary: "List who did what, the newest first",
			Doc: "One row for each write request and for each piece of the service's own work, with the records " +
				"that it changed. Filters select actions with such an event.",
			Errors: apierr.List{errExpired}, Scopes: []string{scopeRead},
		}, listActions),
		// The horizon of a followed list takes a transaction of its own.
		api.External(api.Endpoint{
			Method: http.MethodGet, Path: "/audit/events", ID: "listAuditEvents", Tag: tag,
			Summary: "List what was changed",
			Doc: "One row for each record that an action changed, with the fields before and after. To follow the " +
				"trail, sort by recordedAt and go on with nextCursor, which is there also when hasMore is false: each " +
				"event comes once, and again when it was revised.",
			Errors: apierr.List{errExpired}, Scopes: []string{scopeRead},
		}, listEvents),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/audit/events/{id}", ID: "getAuditEvent", Tag: tag, Summary: "Read what was changed",
			Errors: apierr.List{errRevised}, Scopes: []string{scopeRead},
		}, getEvent),
		api.External(api.Endpoint{
			Method: http.MethodGet, Path: "/partner/audit-events", ID: "listPartnerAuditEvents", Tag: tag,
			Summary: "List what was changed in the managed teams",
			Doc:     "As GET /audit/events, of all teams that the partner manages now.",
			Errors:  apierr.List{errExpired}, Scopes: []string{scopeRead}, PartnerOnly: true, AnyRegion: true,
		}, listPartnerEvents),
	}
}

// selection returns the part to read: one event more than the page holds, to see whether another page follows.
func (in *eventsInput) selection(now time.Time) (*selection, error) {
	from, err := readPosition(in.Cursor.Position, now)

	return &selection{Filter: &in.Filter, oldest: in.Sort == oldest, from: from, limit: in.Limit + 1}, err
}

// newPage returns a page with the events found.
func (in *eventsInput) newPage(s *selection, found []row, now time.Time, actor db.Actor) *EventList {
	out := &EventList{Data: []Event{}, Page: Page{Limit: in.Limit, HasMore: int64(len(found)) > in.Limit}}

	found = found[:min(int64(len(found)), in.Limit)]
	for i := range found {
		out.Data = append(out.Data, found[i].toEvent(actor))
	}

	if in.IncludeDiff != nil && !*in.IncludeDiff {
		dropValues(out.Data)
	}

	// Whoever follows the trail can go on after its end.
	next := place{}

	switch {
	case len(found) > 0:
		last := &found[len(found)-1]
		next = place{last.RecordedAt, last.ID}
	case s.from != nil:
		next = *s.from
	}

	if out.Page.HasMore || s.oldest {
		out.Page.NextCursor = in.Cursor.Next(writePosition(now, next))
	}

	return out
}

// dropValues leaves only the keys in changes.
func dropValues(events []Event) {
	for i := range events {
		for k := range events[i].Changes {
			events[i].Changes[k] = Change{Key: events[i].Changes[k].Key}
		}
	}
}

// listEvents answers with a page from the team's trail.
func listEvents(ctx context.Context, d *db.DB, scope db.Scope, in *eventsInput) (*EventList, error) {
	s, err := in.selection(d.Now())
	if err != nil {
		return nil, err
	}

	// The horizon comes from a transaction before the one that reads: what ended in between is seen by the second.
	if s.oldest {
		if s.horizon, err = readHorizon(ctx, d, scope, []id.ID{scope.Team}); err != nil {
			return nil, err
		}
	}

	var out *EventList

	err = d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		found, err := s.loadTeam(ctx, tx, tx.Team)
		if err == nil {
			out = in.newPage(s, found, tx.Now, tx.Actor)
		}

		return err
	})

	return out, err
}

// readHorizon returns the instant after which running writes can still add events.
func readHorizon(ctx context.Context, d *db.DB, scope db.Scope, teams []id.ID) (*time.Time, error) {
	var horizon time.Time

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		horizon, err = tx.OldestWrite(ctx, teams)
		return err
	})

	return &horizon, err
}

// getEvent answers with an event. It fails with errRevised for an earlier revision, and with apierr.NotFound for a
// later one.
func getEvent(ctx context.Context, tx *db.Tx, in *eventInput) (*Event, error) {
	found, err := db.Select[row](ctx, tx, `select `+columns+` from audit_event e where e.team_id = @team and e.id = @id
		order by e.revision desc limit 1`, db.Args{"team": tx.Team, "id": in.ID})
	if err != nil {
		return nil, fmt.Errorf("read an audit event: %w", err)
	}

	switch {
	case len(found) == 0, in.Revision != nil && *in.Revision > found[0].Revision:
		return nil, apierr.NotFound
	case in.Revision != nil && *in.Revision < found[0].Revision:
		return nil, errRevised.With(Revised{found[0].Revision})
	}

	if err := addEarlier(ctx, tx, found); err != nil {
		return nil, err
	}

	return new(found[0].toEvent(tx.Actor)), nil
}

// listPartnerEvents answers with a page from the trails in all teams the partner manages.
func listPartnerEvents(ctx context.Context, d *db.DB, scope db.Scope, in *partnerInput) (*EventList, error) {
	s, err := in.selection(d.Now())
	if err != nil {
		return nil, err
	}

	// The credential may reach other teams too: the partner's own are picked below.
	reached := slices.DeleteFunc(id.Distinct(scope.Actor.Teams), func(team id.ID) bool {
		return !in.TeamIDs.Selects(team)
	})

	if s.oldest {
		if s.horizon, err = readHorizon(ctx, d, scope, reached); err != nil {
			return nil, err
		}
	}

	var out *EventList

	err = d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		return tx.VisitAll(ctx, reached, func(ctx context.Context, tx *db.Tx) error {
			managed, err := db.Select[id.ID](ctx, tx, `select id from team where partner_id = @partner and status <> 'deleted'`, db.Args{"partner": scope.Team})
			if err != nil {
				return fmt.Errorf("find managed teams: %w", err)
			}

			found, err := s.loadAll(ctx, tx, managed)
			if err == nil {
				out = in.newPage(s, found, tx.Now, tx.Actor)
			}

			return err
		})
	})

	return out, err
}
