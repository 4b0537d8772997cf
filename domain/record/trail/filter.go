package trail

import (
	"slices"
	"strings"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// appType marks references to apps, which have a name instead of a uuid (AUD-06).
const appType = "app"

// entityType is a record type to filter by: any event type, or app.
type entityType string

// Enum lists the types.
func (entityType) Enum() []string { return append([]string{appType}, audit.Entity("").Enum()...) }

// Filter selects events, in query parameters for lists and in the body for exports.
type Filter struct {
	page.Dates

	ActionID       string       `query:"actionId" json:"actionId,omitempty" maxLength:"100" doc:"Only events of this action: its id, or act_… as the header X-Service-Audit-Action-Id has it."`
	ActorID        *id.ID       `query:"actorId" json:"actorId,omitempty" doc:"Only what this user did, or a key that acts as this user."`
	EntityType     entityType   `query:"entityType" json:"entityType,omitempty" doc:"Only events of records of this type; with entityId also events that refer to the record."`
	EntityID       string       `query:"entityId" json:"entityId,omitempty" maxLength:"100" doc:"Only events of this record and those that refer to it; of an app its name, with entityType app."`
	RootEntityType entityType   `query:"rootEntityType" json:"rootEntityType,omitempty" doc:"As entityType."`
	RootEntityID   string       `query:"rootEntityId" json:"rootEntityId,omitempty" maxLength:"100" doc:"As entityId."`
	Type           audit.Type   `query:"type" json:"type,omitempty" doc:"Only events of this type."`
	Types          []audit.Type `query:"types" json:"types,omitempty" doc:"Only events of one of these types."`
	SourceType     audit.Source `query:"sourceType" json:"sourceType,omitempty" doc:"Only what came about in this way."`
	ConnectionID   *id.ID       `query:"connectionId" json:"connectionId,omitempty" doc:"Only what this connection brought."`
	IsOverride     *bool        `query:"isOverride" json:"isOverride,omitempty" doc:"Only what passed the closed books on purpose, or only what did not."`
	AppID          string       `query:"appId" json:"appId,omitempty" maxLength:"100" doc:"Only what connections of this app brought, and what became of them."`
	From           *day.Instant `query:"from" json:"from,omitempty" doc:"Only events recorded then or later."`
	To             *day.Instant `query:"to" json:"to,omitempty" doc:"Only events recorded before."`
	action, entity *id.ID
}

// Resolve reads the identifiers, which can have several forms, and refuses malformed ones.
func (f *Filter) Resolve() []apierr.Issue {
	var issues []apierr.Issue

	if f.ActionID != "" {
		action, err := id.Parse(f.ActionID)
		if err != nil {
			action, err = id.ParseTyped("act", f.ActionID)
		}

		if f.action = &action; err != nil {
			issues = append(issues, apierr.IssueUUID.InQuery("actionId"))
		}
	}

	// Two names of a filter with two values would find what nobody asked for.
	for _, both := range []struct {
		differ bool
		path   string
	}{
		{f.EntityID != "" && f.RootEntityID != "" && f.EntityID != f.RootEntityID, "rootEntityId"},
		{f.EntityType != "" && f.RootEntityType != "" && f.EntityType != f.RootEntityType, "rootEntityType"},
		{f.Type != "" && f.Types != nil && !slices.Equal(f.Types, []audit.Type{f.Type}), "types"},
	} {
		if both.differ {
			issues = append(issues, apierr.IssueContradiction.InQuery(both.path))
		}
	}

	if f.From != nil && f.To != nil && f.To.Before(f.From.Time) {
		issues = append(issues, apierr.IssueDateOrder.InQuery("to"))
	}

	// Both names of a filter say the same.
	for _, name := range []struct {
		kind entityType
		of   string
		path string
	}{{f.EntityType, f.EntityID, "entityId"}, {f.RootEntityType, f.RootEntityID, "rootEntityId"}} {
		switch entity, err := id.Parse(name.of); {
		case name.of == "":
		case name.kind == appType:
			f.AppID = name.of
		case err != nil:
			issues = append(issues, apierr.IssueUUID.InQuery(name.path))
		default:
			f.entity = &entity
		}
	}

	return issues
}

// kinds returns the record types to filter by, without app.
func (f *Filter) kinds() []string {
	var out []string

	for _, kind := range []entityType{f.EntityType, f.RootEntityType} {
		if kind != "" && kind != appType && !slices.Contains(out, string(kind)) {
			out = append(out, string(kind))
		}
	}

	return out
}

// latestSQL is true for the latest revision of an event e.
const latestSQL = `not exists (select from audit_event n where n.team_id = e.team_id and n.id = e.id and n.revision = e.revision + 1)`

// conditionsSQL returns the conditions on an event e besides its team and its record, and adds their arguments.
func (f *Filter) conditionsSQL(args db.Args) string {
	// Only the latest revision counts.
	out := []string{latestSQL}
	add := func(given bool, condition, name string, value any) {
		if given {
			out = append(out, condition)
			args[name] = value
		}
	}

	types := f.Types
	if f.Type != "" {
		types = []audit.Type{f.Type}
	}

	kinds := f.kinds()
	add(f.action != nil, "e.action_id = @action", "action", f.action)
	add(f.ActorID != nil, "e.actor_id = @actor", "actor", f.ActorID)
	add(f.entity == nil && kinds != nil, "e.entity_type = any(@kinds)", "kinds", kinds)
	add(types != nil, "e.type = any(@types)", "types", types)
	add(f.SourceType != "", "e.source_type = @source", "source", string(f.SourceType))
	add(f.ConnectionID != nil, "e.connection_id = @connection", "connection", f.ConnectionID)
	add(f.AppID != "", `exists (select from connection c where c.team_id = e.team_id and c.app_id = @app and c.id in (e.connection_id,
		case when e.entity_type = 'connection' then e.entity_id end))`, "app", f.AppID)

	// The few that are an override have an index of their own, which a parameter would hide.
	if f.IsOverride != nil {
		out = append(out, map[bool]string{true: "e.is_override", false: "not e.is_override"}[*f.IsOverride])
	}

	if f.From != nil {
		add(true, "e.recorded_at >= @from", "from", f.From.Time)
	}

	if f.To != nil {
		add(true, "e.recorded_at < @to", "to", f.To.Time)
	}

	// Days are those of the team.
	if !f.DateRange.IsZero() {
		days := f.DateRange.Range(f.IsDateRangeEndInclusive)
		zone := "(select t.time_zone from team t where t.id = e.team_id)"
		add(true, "e.recorded_at >= @first::date::timestamp at time zone "+zone, "first", days.From)
		add(true, "e.recorded_at < @last::date::timestamp at time zone "+zone, "last", days.To)
	}

	return strings.Join(out, " and ")
}
