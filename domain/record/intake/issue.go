package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// The codes of issues that a person should look at.
const (
	// Texts were longer than their fields allow.
	textShortened = "textShortened"
	// A record matches several records here and was not taken in.
	ambiguous = "ambiguous"
	// TaxUnknown is the code of a note: a part of a canceled stay is kept, and its share of tax is unknown.
	TaxUnknown = "taxUnknown"
	// PayoutDeviation is the code of a note: the payout that the channel announces differs from the lines less its
	// fee.
	PayoutDeviation = "payoutDeviation"
	// A record was refused; a lock holds it; it names another record which is not known here.
	recordFailed   = "recordFailed"
	recordLocked   = "recordLocked"
	recordUnmapped = "recordUnmapped"
	// A field was changed here and at the source. These are rows of sync_conflict.
	recordConflict = "recordConflict"
	// A reading lacked so many records that it removed none.
	incompleteRead = "incompleteRead"
	// The last sync ended before it had read everything; the source cannot be read, and is tried again.
	syncFailed  = "syncFailed"
	syncDelayed = "syncDelayed"
)

// severitySQL is the severity of an issue row i.
const severitySQL = `case when i.code in ('` + TaxUnknown + `', '` + PayoutDeviation + `', '` + textShortened + `', '` + recordLocked + `', '` + recordConflict + `', '` + syncDelayed + `') then '` +
	string(finding.Warning) + `' else '` + string(finding.Error) + `' end`

// issueSQL renders an issue row i as a finding.
const issueSQL = `jsonb_build_object('code', i.code, 'severity', ` + severitySQL + `, 'context', i.context)`

// conflictIssue selects a conflict c of an external record r as the columns code, at and context.
const conflictIssue = `'` + recordConflict + `' as code, c.at, jsonb_build_object('kind', c.kind, 'externalId', c.external_id, 'conflictId', c.id,
	'fields', jsonb_build_array(c.field)) as context`

// shown are the kinds with issues at their own records. Issues of other kinds are shown at the connection.
var shown = []string{"listing", "reservation"}

// SourceIssuesSQL selects, as a list of findings, the issues of a source which are not shown at a record here: those of
// the source as a whole first, then the oldest, 50 at most. The arguments are SQL expressions.
func SourceIssuesSQL(team, source string) string {
	of := `.team_id = ` + team + ` and ` + `%.source_id = ` + source

	return `(select coalesce(jsonb_agg(v.issue), '[]') from (
		select ` + issueSQL + ` as issue from (
			(select i.code, i.at, i.context, i.external_id = '' as whole from sync_issue i where i` + strings.ReplaceAll(of, "%", "i") + ` and i.entity_id is null and i.decision is null
				order by whole desc, i.at, i.id limit 50)
			union all
			(select ` + conflictIssue + `, false from sync_conflict c where c` + strings.ReplaceAll(of, "%", "c") + ` and c.kind not in ('` + strings.Join(shown, "', '") + `')
				order by c.at, c.id limit 50)) i
		order by i.whole desc, i.at limit 50) v)`
}

// RecordIssuesSQL selects, as a list of findings, the issues of a record here and of source records that belong to it
// but were not taken in. The arguments are SQL expressions.
func RecordIssuesSQL(team, record string) string {
	return `(select coalesce(jsonb_agg(` + issueSQL + ` order by i.code, i.context ->> 'externalId', i.context ->> 'fields'), '[]') from (
		select i.code, i.context from sync_issue i where i.team_id = ` + team + ` and i.entity_id = ` + record + `
		union all
		select code, context from (select ` + conflictIssue + ` from external_record r
			join sync_conflict c on (c.team_id, c.source_id, c.kind, c.external_id, c.ordinal) = (r.team_id, r.source_id, r.kind, r.external_id, r.ordinal)
			where r.team_id = ` + team + ` and r.entity_id = ` + record + `) c` + db.Fence + `) i)`
}

// HasIssuesSQL is the SQL condition that a record has issues as RecordIssuesSQL selects them.
func HasIssuesSQL(team, record string) string {
	return `(exists (select from sync_issue i where i.team_id = ` + team + ` and i.entity_id = ` + record + `)
		or exists (select from external_record x
			join sync_conflict c on (c.team_id, c.source_id, c.kind, c.external_id, c.ordinal) = (x.team_id, x.source_id, x.kind, x.external_id, x.ordinal)
			where x.team_id = ` + team + ` and x.entity_id = ` + record + `))`
}

// LoadIssues returns the issues of records as RecordIssuesSQL does. Records without issues are absent.
func LoadIssues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]finding.Finding, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	type row struct {
		EntityID id.ID
		Issues   []finding.Finding
	}

	found, err := db.Select[row](ctx, tx, `select g.id as entity_id, `+RecordIssuesSQL("@team", "g.id")+` as issues from unnest(@ids::uuid[]) g (id)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what is to be looked at about records: %w", err)
	}

	out := map[id.ID][]finding.Finding{}

	for _, r := range found {
		if len(r.Issues) > 0 {
			out[r.EntityID] = r.Issues
		}
	}

	return out, nil
}

// waits returns the waiting lists of sync issues and open conflicts.
func waits() []parts.Wait {
	return []parts.Wait{
		{
			ID: "i.id",
			Columns: `i.at as since, i.code, ` + severitySQL + ` as severity, case when i.entity_id is null then 'connection'
				when exists (select from listing l where l.team_id = i.team_id and l.id = i.entity_id) then 'listing' else 'reservation' end as entity_type,
				coalesce(i.entity_id, i.source_id) as entity_id, i.context || jsonb_build_object('connectionId', i.source_id) as context`,
			From: `sync_issue i where i.team_id = g.team_id and i.decision is null`,
			Kept: "sync_issue", Settled: `select count(*) from sync_issue where team_id = g.team_id and decision is not null`,
		},
		{
			ID: "i.id",
			Columns: `i.at as since, i.code, ` + severitySQL + ` as severity, i.kind as entity_type, i.entity_id,
				i.context || jsonb_build_object('connectionId', i.source_id) as context`,
			From: `(select c.id, c.team_id, c.source_id, c.kind, r.entity_id, ` + conflictIssue + ` from sync_conflict c
				join external_record r on (r.team_id, r.source_id, r.kind, r.external_id, r.ordinal) = (c.team_id, c.source_id, c.kind, c.external_id, c.ordinal)) i
				where i.team_id = g.team_id`,
			Kept: "sync_conflict",
		},
	}
}

// issue is an issue of a source record before it is saved.
type issue struct {
	*pending

	change  *Change
	code    string
	fields  []string
	context map[string]any // in addition to the names of the record
}

// addIssue adds an issue about a change.
func (in *intake) addIssue(c *Change, p *pending, code string, fields []string) {
	in.issues = append(in.issues, issue{p, c, code, fields, nil})
}

// addNotes adds the notes of the source as issues.
func (in *intake) addNotes(c *Change, p *pending) {
	for _, n := range c.Notes {
		in.issues = append(in.issues, issue{p, c, n.Code, nil, n.Context})
	}
}

// issueRow is an issue of a record as it is saved.
type issueRow struct {
	ID         id.ID          `json:"id"`
	Kind       string         `json:"kind"`
	ExternalID string         `json:"external_id"`
	Ordinal    int            `json:"ordinal"`
	Code       string         `json:"code"`
	Context    map[string]any `json:"context"`
	EntityID   *id.ID         `json:"entity_id"`
	Day        *day.Day       `json:"day"`
}

// newIssueRow returns an issue about a change; entity is the record here.
func (in *intake) newIssueRow(tx *db.Tx, c *Change, code string, entity *id.ID) issueRow {
	r := issueRow{
		ID: tx.NewID(), Kind: c.Kind, ExternalID: c.ExternalID, Ordinal: c.Ordinal, Code: code, Day: c.At,
		Context: map[string]any{"kind": c.Kind, "externalId": c.ExternalID},
	}

	// People look for the record under these names.
	for _, field := range []string{"confirmationCode", "name"} {
		var text string
		if json.Unmarshal(c.Values[field], &text) == nil && text != "" && isText(text) {
			r.Context[field] = text[:min(len(text), maxName)]
		}
	}

	// The worth of the record shows how urgent the issue is.
	var lines []struct{ Amount int64 }
	if json.Unmarshal(c.Values["lines"], &lines) == nil {
		var sum int64
		for _, l := range lines {
			sum += l.Amount
		}

		r.Context["centTotal"], r.Context["currency"] = sum, c.Values["currency"]
	}

	// Show the issue at the record, or at its listing while there is no record.
	switch listing, known := in.entities[c.Refs["listingId"]]; {
	case !slices.Contains(shown, c.Kind):
	case entity != nil:
		r.EntityID = entity
	case known:
		r.EntityID = &listing
	}

	return r
}

// issueCode returns the code of the issue that an outcome causes, "" without an issue. Ambiguous records already have
// one.
func (it *item) issueCode() string {
	switch {
	case it.outcome == Rejected && it.reason != Ambiguous:
		return recordFailed
	case it.outcome == Skipped && it.reason == Locked:
		return recordLocked
	case it.outcome == Skipped && it.reason == Unmapped:
		return recordUnmapped
	}

	return ""
}

// saveIssues replaces, with the commit, the issues of all records of a page that were looked at. Records without news
// keep theirs.
func (in *intake) saveIssues(tx *db.Tx) {
	var (
		kinds, ids []string
		ordinals   []int
		rows       []issueRow
	)

	// First the issues that follow from outcomes.
	for i := range in.items {
		it := &in.items[i]
		if it.isSame {
			continue
		}

		c := it.change
		kinds, ids, ordinals = append(kinds, c.Kind), append(ids, c.ExternalID), append(ordinals, c.Ordinal)

		if code := it.issueCode(); code != "" {
			r := in.newIssueRow(tx, c, code, it.entityID)
			r.Context["reason"] = it.reason

			if it.field != "" {
				r.Context["field"] = it.field
			}

			if it.fault != "" {
				r.Context["fault"] = it.fault
			}

			if refused := it.change.Refused; refused != nil {
				maps.Copy(r.Context, refused.Context)
			}

			rows = append(rows, r)
		}
	}

	// Then the issues that were found on the way.
	for i := range in.issues {
		v := &in.issues[i]

		var entity *id.ID
		if v.pending != nil {
			entity = v.entity
		}

		r := in.newIssueRow(tx, v.change, v.code, entity)
		if v.fields != nil {
			r.Context["fields"] = v.fields
		}

		maps.Copy(r.Context, v.context)

		rows = append(rows, r)
	}

	if len(kinds) == 0 {
		return
	}

	// Delete only the issues that are not raised again: a repeated issue keeps its time.
	tx.AtEnd(db.Stmt{
		SQL: `
		delete from sync_issue i using unnest(@kinds::text[], @ids::text[], @ordinals::integer[]) as g (kind, external_id, ordinal)
		where i.team_id = @team and i.source_id = @source and i.kind = g.kind and i.external_id = g.external_id and i.ordinal = g.ordinal
			and not exists (select from jsonb_to_recordset(@rows) as r (kind text, external_id text, ordinal integer, code text)
				where r.kind = i.kind and r.external_id = i.external_id and r.ordinal = i.ordinal and r.code = i.code)`,
		Args: db.Args{
			"team": tx.Team, "source": in.origin.SourceID, "kinds": kinds, "ids": ids, "ordinals": ordinals, "rows": rows,
		},
	})

	if len(rows) > 0 {
		tx.AtEnd(db.Stmt{
			SQL: `
			insert into sync_issue (team_id, id, source_id, kind, external_id, ordinal, code, context, entity_id, at, day)
			select distinct on (kind, external_id, ordinal, code) @team, id, @source, kind, external_id, ordinal, code, context, coalesce(entity_id, (
				select e.entity_id from external_record e where e.team_id = @team and e.source_id = @source and e.kind = r.kind and e.external_id = r.external_id
					and e.ordinal = r.ordinal and r.kind = any(@shown))), @now, day
			from jsonb_to_recordset(@rows) as r (id uuid, kind text, external_id text, ordinal integer, code text, context jsonb, entity_id uuid, day date)
			order by kind, external_id, ordinal, code
			on conflict (team_id, source_id, kind, external_id, ordinal, code) do update set context = excluded.context, entity_id = excluded.entity_id,
				day = excluded.day`,
			Args: db.Args{"team": tx.Team, "source": in.origin.SourceID, "rows": rows, "now": tx.Now, "shown": shown},
		})
	}

	// Stays that wait for a listing raise an issue each; the same issue at the listing would count twice.
	if listings := in.listAwaited(); len(listings) > 0 {
		tx.AtEnd(db.Stmt{
			SQL: `delete from sync_issue where team_id = @team and source_id = @source and kind = 'listing' and external_id = any(@ids) and ordinal = 0
				and code = '` + recordUnmapped + `'`,
			Args: db.Args{"team": tx.Team, "source": in.origin.SourceID, "ids": listings},
		})
	}
}

// listAwaited returns the external ids of listings that stays wait for.
func (in *intake) listAwaited() (listings []string) {
	for i := range in.items {
		if it := &in.items[i]; it.issueCode() == recordUnmapped {
			if r, refers := it.change.Refs["listingId"]; refers {
				listings = append(listings, r.ExternalID)
			}
		}
	}

	return listings
}

// noteFault upserts the issue of a source that cannot be read: for now (syncDelayed), or the sync has failed
// (syncFailed).
func noteFault(ctx context.Context, tx *db.Tx, s *Sync, code string, fault FaultCode) error {
	_, err := tx.Exec(ctx, `
		insert into sync_issue (team_id, id, source_id, kind, external_id, ordinal, code, context, at)
		values (@team, @id, @source, '', '', 0, @code, @context, @now)
		on conflict (team_id, source_id, kind, external_id, ordinal, code) do update set context = excluded.context`,
		db.Args{
			"team": tx.Team, "id": tx.NewID(), "source": s.SourceID, "code": code, "now": tx.Now,
			"context": map[string]any{"error": fault, "syncId": s.ID},
		})
	if err != nil {
		return fmt.Errorf("note that a source cannot be read: %w", err)
	}

	return nil
}

// endFaults deletes such issues of a source.
func endFaults(ctx context.Context, tx *db.Tx, s *Sync, codes ...string) error {
	_, err := tx.Exec(ctx, `delete from sync_issue where team_id = @team and source_id = @source and kind = '' and code = any(@codes)`,
		db.Args{"team": tx.Team, "source": s.SourceID, "codes": codes})
	if err != nil {
		return fmt.Errorf("note that a source can be read: %w", err)
	}

	return nil
}

// Decision says whether the records that a reading lacked are gone.
type Decision string

// The decisions: the records are gone, or the reading was wrong.
const (
	Confirm Decision = "confirm"
	Dismiss Decision = "dismiss"
)

// Enum lists the decisions.
func (Decision) Enum() []string { return []string{string(Confirm), string(Dismiss)} }

// lacked has the records that an earlier reading lacked, with the decision of a person.
type lacked struct {
	Decision *Decision
	Missing  []string
}

// shortfall has the external ids that a complete reading of a kind lacked, and how many records were known in its
// window.
type shortfall struct {
	kind    string
	missing []string
	known   int64
}

// isFault reports whether so many records are missing that the source is probably at fault: five or more and over
// half, or three or more and all.
func (s *shortfall) isFault() bool {
	missing := int64(len(s.missing))

	return missing >= 5 && 2*missing > s.known || missing >= 3 && missing == s.known
}

// checkMissing returns the missing records to look up, or the fault that ends the sync until a person decides.
// Records that a person has confirmed as gone are looked up; dismissed ones are not.
func checkMissing(ctx context.Context, tx *db.Tx, from Origin, s *shortfall) ([]string, *FaultCode, error) {
	args := db.Args{"team": tx.Team, "source": from.SourceID, "kind": s.kind}
	key := ` team_id = @team and source_id = @source and kind = @kind and external_id = '' and code = '` + incompleteRead + `'`

	if !s.isFault() {
		if _, err := tx.Exec(ctx, `delete from sync_issue where`+key, args); err != nil {
			return nil, nil, fmt.Errorf("end the question about a reading: %w", err)
		}

		return s.missing, nil, nil
	}

	before, err := db.Maybe[lacked](ctx, tx, `select decision, missing from sync_issue where`+key, args)
	if err != nil {
		return nil, nil, fmt.Errorf("read what was decided about a reading: %w", err)
	}

	// A decision covers only the records it was made for.
	if before != nil && before.Decision != nil && isSubset(s.missing, before.Missing) {
		if *before.Decision == Dismiss {
			return nil, nil, nil
		}

		_, err := tx.Exec(ctx, `delete from sync_issue where`+key, args)

		return s.missing, nil, err
	}

	// Ask. The sync fails, and the decision starts another one.
	args["id"], args["missing"], args["now"] = tx.NewID(), s.missing, tx.Now
	args["context"] = map[string]any{
		"kind": s.kind, "syncId": from.SyncID, "missingCount": len(s.missing), "knownCount": s.known,
	}

	if _, err := tx.Exec(ctx, `
		insert into sync_issue (team_id, id, source_id, kind, external_id, ordinal, code, context, missing, at)
		values (@team, @id, @source, @kind, '', 0, '`+incompleteRead+`', @context, @missing, @now)
		on conflict (team_id, source_id, kind, external_id, ordinal, code) do update set context = excluded.context, missing = excluded.missing,
			decision = null, at = excluded.at`, args); err != nil {
		return nil, nil, fmt.Errorf("ask about a reading: %w", err)
	}

	fault := FaultIncomplete

	return nil, &fault, nil
}

// isSubset reports whether others contains all names.
func isSubset(names, others []string) bool {
	known := make(map[string]bool, len(others))
	for _, name := range others {
		known[name] = true
	}

	return !slices.ContainsFunc(names, func(name string) bool { return !known[name] })
}

// errNothingAsked refuses a decision about a sync that asks for none.
var errNothingAsked = apierr.New(apierr.CodeConflict, "", "Nothing is to be decided about the sync")

// issueEndpoints returns the route for deciding about a reading that lacked many records.
func issueEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/syncs/{id}/missing-records", ID: "decideMissingRecords", Tag: tag,
			Summary: "Decide about records that a reading lacked",
			Errors:  apierr.List{errNothingAsked},
			Doc: "A complete reading that lacks more than half of the records known in its window, five or more, or all of three or more, removes nothing and fails as " +
				"incompleteRead; the connection has the issue incompleteRead. confirm says that they are gone: the system is read once more, and what it still lacks is " +
				"removed. dismiss says that the reading was wrong: the records stay, and readings that lack no others do not ask again.",
			Scopes: []string{"connections:write"},
		}, decideMissing),
	}
}

type decideInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		Decision Decision `json:"decision" doc:"confirm: the records are gone; dismiss: they are not."`
	}
}

// decideMissing saves the decision about a reading that lacked many records. It fails with errNothingAsked if nothing
// is to be decided about the sync, or not any more.
func decideMissing(ctx context.Context, tx *db.Tx, in *decideInput) (*Sync, error) {
	s, err := lockSync(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	kind, err := db.One[string](ctx, tx, errNothingAsked, `
		update sync_issue set decision = @decision
		where team_id = @team and source_id = @source and code = '`+incompleteRead+`' and decision is null and context->>'syncId' = @sync::uuid::text returning kind`,
		db.Args{"team": tx.Team, "source": s.SourceID, "sync": s.ID, "decision": in.Body.Decision})
	if err != nil {
		return nil, fmt.Errorf("decide about a reading: %w", err)
	}

	if in.Body.Decision == Confirm {
		again := New{ConnectionID: s.SourceID, View: Automate, Mode: Full, Trigger: Manual, Kinds: []string{kind}}
		if _, err := Start(ctx, tx, again); err != nil {
			return nil, err
		}
	}

	return s, nil
}
