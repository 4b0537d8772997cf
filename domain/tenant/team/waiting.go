package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

// ownIssues finds the issues of the team itself. They have no rows, so their ids are made up, and precede all others.
var ownIssues = parts.Wait{
	ID: "i.id",
	Columns: `null::timestamptz as since, i.issue ->> 'code' as code, i.issue ->> 'severity' as severity, 'team' as entity_type, i.team_id as entity_id,
		i.issue -> 'context' as context`,
	From: `(select t.team_id, v.issue, ('00000000-0000-0000-0000-' || lpad(v.n::text, 12, '0'))::uuid as id from team t
		cross join lateral jsonb_array_elements(` + issuesSQL(allKinds()) + `) with ordinality v (issue, n) where t.team_id = g.team_id) i where true`,
}

// issueTexts are the sentences of the issues that lists of issues have.
var issueTexts = map[string]string{
	"ambiguous":                   "The record could be several here and was not taken in",
	"connectionReconnectRequired": "The app refuses the credentials of the connection",
	"importRowsRefused":           "Rows of an imported file were refused, and wait to be corrected",
	"incompleteRead":              "A reading lacked so many records that nothing was removed",
	"journalFailed":               "The journal of the record could not be derived",
	"journalHeldBack":             "A lock holds back what the books do not have of the record",
	"lineTypeUnmapped":            "Imported lines of the type wait for a mapping",
	"listingDeactivationHeld":     "Listings that should be inactive cannot be",
	"ownershipPeriodMissing":      "Amounts of owners are on days without an ownership period",
	"payoutDeviation":             "What the channel should pay out is not the lines less its fee",
	"recordConflict":              "A field was changed here and at the source",
	"recordFailed":                "The record of the source was refused",
	"recordLocked":                "A lock holds the record, which is taken in when it goes",
	"recordUnmapped":              "The record names another one of the source that is not known here",
	"recurringDatesHeldBack":      "Dates of recurring templates were refused",
	"statementStartMissing":       "Neither statements nor the general ledger have a first day",
	"syncDelayed":                 "The source cannot be read and is tried again",
	"syncFailed":                  "The last sync ended before everything was read",
	"taxUnknown":                  "A part of the canceled stay is kept, and how much of it is tax is not known",
	"textShortened":               "Texts were longer than their fields hold",
	"totalDeviation":              "The lines of the stay do not explain the total that its system states",
	"unassignedAccount":           "No account takes what journals need",
	"webhookDisabled":             "A webhook was disabled, because its receiver failed for five days or is gone",
}

// Waiting is an issue of a team that waits for a person to settle it.
type Waiting struct {
	ID         id.ID            `json:"id"`
	TeamID     id.ID            `json:"teamId"`
	Code       string           `json:"code"`
	Severity   finding.Severity `json:"severity"`
	Message    string           `json:"message" db:"-" doc:"The sentence of the code."`
	Since      *day.Instant     `json:"since" doc:"Null for what has no time."`
	EntityType string           `json:"entityType" doc:"What it is about: reservation, listing, connection, team …"`
	EntityID   *id.ID           `json:"entityId" doc:"The record that it is about."`
	Context    map[string]any   `json:"context" doc:"What the record shows of it, such as the field, amounts and the id at the source."`
}

// WaitingList is a page of issues.
type WaitingList struct {
	Data []Waiting   `json:"data"`
	Page WaitingPage `json:"page" doc:"Where the list goes on."`
}

// WaitingPage says where a list goes on.
type WaitingPage struct {
	Limit      int64   `json:"limit"`
	HasMore    bool    `json:"hasMore" doc:"Whether another page follows."`
	NextCursor *string `json:"nextCursor" doc:"Null on the last page."`
}

// waitingInput selects a page of issues.
type waitingInput struct {
	Cursor   api.Cursor       `query:"cursor" doc:"nextCursor of the page before, unchanged, with the same filters."`
	Limit    int64            `query:"limit" minimum:"1" maximum:"250" default:"100"`
	TeamIDs  page.IDs         `query:"teamIds" doc:"Only these teams; an id with a leading ! is left out."`
	Code     string           `query:"code" maxLength:"100"`
	Severity finding.Severity `query:"severity"`
}

// issueEndpoint returns the route that lists the issues of all teams of the caller.
func (h *handler) issueEndpoint() api.Endpoint {
	return api.Read(api.Endpoint{
		Method: "GET", Path: "/teams/issues", ID: "listTeamIssues", Tag: "Teams",
		Summary: "List what waits for a person in the teams of the credential",
		Doc:     "By team and in the order in which it came, each until it is settled.", Scopes: []string{"team:read"},
		Open: []api.Credential{api.PartnerKey, api.User, api.TeamKey}, Selection: api.ManagedTeams, Region: true,
	}, h.listIssues)
}

// place is where a list of issues goes on: after an issue of a team.
type place struct{ team, issue id.ID }

// readPlace returns the place of a position, the zero place for the first page.
func readPlace(position string) (p place, err error) {
	team, issue, _ := strings.Cut(position, " ")
	if team == "" {
		return p, nil
	}

	if p.team, err = id.Parse(team); err != nil {
		return p, err
	}

	p.issue, err = id.Parse(issue)

	return p, err
}

// firstTeams is the number of teams that are visited first for a page. While the page is not full, four times as many
// follow.
const firstTeams = 1

// listIssues answers with a page of issues. It visits teams by id, and stops when the page is full.
func (h *handler) listIssues(ctx context.Context, tx *db.Tx, in *waitingInput) (*WaitingList, error) {
	from, err := readPlace(in.Cursor.Position)
	if err != nil {
		return nil, err
	}

	// Teams before the place were on earlier pages.
	teams := slices.DeleteFunc(id.Distinct(tx.Teams), func(v id.ID) bool {
		return v.Compare(from.team) < 0 || !in.TeamIDs.Selects(v)
	})
	out := &WaitingList{Data: []Waiting{}, Page: WaitingPage{Limit: in.Limit}}

	// Load one issue more than the page holds, to see whether another page follows.
	for some := firstTeams; len(teams) > 0 && int64(len(out.Data)) <= in.Limit; some *= 4 {
		n := min(some, len(teams))

		err := tx.VisitAll(ctx, teams[:n], func(ctx context.Context, tx *db.Tx) error {
			found, err := h.loadIssues(ctx, tx, teams[:n], &stretch{in, from, in.Limit + 1 - int64(len(out.Data))})
			out.Data = append(out.Data, found...)

			return err
		})
		if err != nil {
			return nil, err
		}

		teams = teams[n:]
	}

	if int64(len(out.Data)) > in.Limit {
		out.Data = out.Data[:in.Limit]
		last := &out.Data[in.Limit-1]
		out.Page.HasMore, out.Page.NextCursor = true, in.Cursor.Next(last.TeamID.String()+" "+last.ID.String())
	}

	for i := range out.Data {
		out.Data[i].Message = issueTexts[out.Data[i].Code]
	}

	return out, nil
}

// stretch selects at most so many issues after a place.
type stretch struct {
	*waitingInput

	from place
	most int64
}

// loadIssues loads issues of teams. In the team of the place, it begins after the issue of the place.
func (h *handler) loadIssues(ctx context.Context, tx *db.Tx, teams []id.ID, in *stretch) ([]Waiting, error) {
	args := db.Args{"teams": teams, "team_from": in.from.team, "after": in.from.issue, "most": in.most}
	narrowed := ""

	if in.Code != "" {
		args["code"], narrowed = in.Code, " and code = @code"
	}

	if in.Severity != "" {
		args["severity"], narrowed = in.Severity, narrowed+" and severity = @severity"
	}

	waits := append([]parts.Wait{ownIssues}, h.Waits...)

	kinds := make([]string, len(waits))
	for i, w := range waits {
		kinds[i] = `(select * from (select ` + w.ID + ` as id, ` + w.Columns + ` from ` + w.From + `) w
			where id > case when g.team_id = @team_from then @after::uuid else '00000000-0000-0000-0000-000000000000' end` + narrowed + ` order by id limit @most)`
	}

	found, err := db.Select[Waiting](ctx, tx, `
		select g.team_id, v.* from unnest(@teams::uuid[]) with ordinality g (team_id, n)
		cross join lateral (select * from (`+strings.Join(kinds, " union all ")+`) u order by id limit @most) v order by g.n, v.id limit @most`, args)
	if err != nil {
		return nil, fmt.Errorf("list what waits in teams: %w", err)
	}

	return found, nil
}

// waitingSQL returns the SQL of how many issues other records of the team g have. One look finds all counts that are kept.
func (h *handler) waitingSQL() string {
	var (
		kept []string
		rest strings.Builder
	)

	for i := range h.Waits {
		w := &h.Waits[i]
		if w.Kept == "" {
			rest.WriteString(" + (select count(*) from " + w.From + ")")
			continue
		}

		kept = append(kept, w.Kept)

		if w.Settled != "" {
			rest.WriteString(" - (" + w.Settled + ")")
		}
	}

	return `((select coalesce(sum(rows), 0) from list_count where team_id = g.team_id and list = any('{` + strings.Join(kept, ",") + `}'))` + rest.String() + `)::bigint`
}
