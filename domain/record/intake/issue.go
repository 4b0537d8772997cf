package intake

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// The codes of what a person should look at about records of a source: texts that were longer than their fields hold, a
// record that could be several here and was not taken in, and a reading that lacked so many records that nothing was removed.
const (
	textShortened  = "textShortened"
	ambiguous      = "ambiguous"
	incompleteRead = "incompleteRead"
)

// severitySQL is the severity of an issue i.
const severitySQL = `case i.code when '` + textShortened + `' then '` + string(finding.Warning) + `' else '` + string(finding.Error) + `' end`

// issueSQL is an issue i as a finding.
const issueSQL = `jsonb_build_object('code', i.code, 'severity', ` + severitySQL + `, 'context', i.context)`

// SourceIssuesSQL selects what is to be looked at about a source and is not shown at a record here: the oldest of it, as
// a list of findings. The source is an SQL expression.
func SourceIssuesSQL(team, source string) string {
	return `(select coalesce(jsonb_agg(v.issue), '[]') from (
		select ` + issueSQL + ` as issue from sync_issue i
		where i.team_id = ` + team + ` and i.source_id = ` + source + ` and i.entity_id is null and i.decision is null order by i.at, i.kind, i.external_id limit 50) v)`
}

// LoadIssues returns what is to be looked at about records here that sources have brought.
func LoadIssues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]finding.Finding, error) {
	type row struct {
		EntityID id.ID
		Issues   []finding.Finding
	}

	found, err := db.Select[row](ctx, tx, `
		select g.id as entity_id, i.issues from unnest(@ids::uuid[]) g (id)
		cross join lateral (
			select jsonb_agg(`+issueSQL+` order by i.code, i.external_id) as issues from sync_issue i
			where i.team_id = @team and i.entity_id = g.id`+db.Fence+`) i where i.issues is not null`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what is to be looked at about records: %w", err)
	}

	out := make(map[id.ID][]finding.Finding, len(found))
	for _, r := range found {
		out[r.EntityID] = r.Issues
	}

	return out, nil
}

// issue is something to be looked at about a record of a source.
type issue struct {
	*pending

	change *Change
	code   string
	fields []string
}

// ask adds an issue about a change.
func (in *intake) ask(c *Change, p *pending, code string, fields []string) {
	in.issues = append(in.issues, issue{p, c, code, fields})
}

// saveIssues saves, with the commit, what is to be looked at about changes: it replaces what there was about each of them.
func (in *intake) saveIssues(tx *db.Tx, changes []*Change) {
	if len(changes) == 0 {
		return
	}

	type row struct {
		Kind       string         `json:"kind"`
		ExternalID string         `json:"external_id"`
		Ordinal    int            `json:"ordinal"`
		Code       string         `json:"code"`
		Context    map[string]any `json:"context"`
		EntityID   *id.ID         `json:"entity_id"`
	}

	kinds, ids, ordinals := make([]string, len(changes)), make([]string, len(changes)), make([]int, len(changes))
	for i, c := range changes {
		kinds[i], ids[i], ordinals[i] = c.Kind, c.ExternalID, c.Ordinal
	}

	rows := make([]row, len(in.issues))

	for i, v := range in.issues {
		c := v.change
		rows[i] = row{Kind: c.Kind, ExternalID: c.ExternalID, Ordinal: c.Ordinal, Code: v.code, Context: map[string]any{"kind": c.Kind, "externalId": c.ExternalID}}

		if v.fields != nil {
			rows[i].Context["fields"] = v.fields
		}

		if v.pending != nil && in.kinds[c.Kind].ShowsIssues {
			rows[i].EntityID = v.entity
		}
	}

	// What there was goes, so that its time stays only where it is there again.
	tx.AtEnd(db.Stmt{
		SQL: `
		delete from sync_issue i using unnest(@kinds::text[], @ids::text[], @ordinals::integer[]) as g (kind, external_id, ordinal)
		where i.team_id = @team and i.source_id = @source and i.kind = g.kind and i.external_id = g.external_id and i.ordinal = g.ordinal
			and not exists (select from jsonb_to_recordset(@rows) as r (kind text, external_id text, ordinal integer, code text)
				where r.kind = i.kind and r.external_id = i.external_id and r.ordinal = i.ordinal and r.code = i.code)`,
		Args: db.Args{"team": tx.Team, "source": in.origin.SourceID, "kinds": kinds, "ids": ids, "ordinals": ordinals, "rows": rows},
	})

	if len(rows) > 0 {
		tx.AtEnd(db.Stmt{
			SQL: `
			insert into sync_issue (team_id, source_id, kind, external_id, ordinal, code, context, entity_id, at)
			select distinct on (kind, external_id, ordinal, code) @team, @source, kind, external_id, ordinal, code, context, entity_id, @now
			from jsonb_to_recordset(@rows) as r (kind text, external_id text, ordinal integer, code text, context jsonb, entity_id uuid)
			order by kind, external_id, ordinal, code
			on conflict (team_id, source_id, kind, external_id, ordinal, code) do update set context = excluded.context, entity_id = excluded.entity_id`,
			Args: db.Args{"team": tx.Team, "source": in.origin.SourceID, "rows": rows, "now": tx.Now},
		})
	}
}

// Decision says what is true of a reading that lacked many records.
type Decision string

// The decisions: the records are gone, or the reading was wrong.
const (
	Confirm Decision = "confirm"
	Dismiss Decision = "dismiss"
)

// Enum lists the decisions.
func (Decision) Enum() []string { return []string{string(Confirm), string(Dismiss)} }

// lacked has the ids that a reading lacked, with the decision of a person about it.
type lacked struct {
	Decision *Decision
	Missing  []string
}

// shortfall has the records, of those known in its window, that a complete reading of a kind lacked.
type shortfall struct {
	kind    string
	missing []string
	known   int64
}

// isFault reports whether a reading lacks so many records that it is taken for a fault: more than half and five or more, or
// all of three or more.
func (s *shortfall) isFault() bool {
	missing := int64(len(s.missing))

	return missing >= 5 && 2*missing > s.known || missing >= 3 && missing == s.known
}

// checkMissing decides about the records that a complete reading lacked: it returns those to look up, or the fault that ends
// the sync until a person decides. What a person has confirmed is looked up, and what a person has dismissed is not.
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

	// A decision counts for the records that it was about.
	if before != nil && before.Decision != nil && isSubset(s.missing, before.Missing) {
		if *before.Decision == Dismiss {
			return nil, nil, nil
		}

		_, err := tx.Exec(ctx, `delete from sync_issue where`+key, args)

		return s.missing, nil, err
	}

	args["missing"], args["now"] = s.missing, tx.Now
	args["context"] = map[string]any{"kind": s.kind, "syncId": from.SyncID, "missingCount": len(s.missing), "knownCount": s.known}

	if _, err := tx.Exec(ctx, `
		insert into sync_issue (team_id, source_id, kind, external_id, ordinal, code, context, missing, at)
		values (@team, @source, @kind, '', 0, '`+incompleteRead+`', @context, @missing, @now)
		on conflict (team_id, source_id, kind, external_id, ordinal, code) do update set context = excluded.context, missing = excluded.missing,
			decision = null, at = excluded.at`, args); err != nil {
		return nil, nil, fmt.Errorf("ask about a reading: %w", err)
	}

	fault := FaultIncomplete

	return nil, &fault, nil
}

// isSubset reports whether all of some names are among others.
func isSubset(names, others []string) bool {
	known := make(map[string]bool, len(others))
	for _, name := range others {
		known[name] = true
	}

	return !slices.ContainsFunc(names, func(name string) bool { return !known[name] })
}

// errNothingAsked refuses a decision about a sync that asks for none.
var errNothingAsked = apierr.New(apierr.CodeConflict, "", "Nothing is to be decided about the sync")

// issueEndpoints returns the route by which a person decides about a reading that lacked many records.
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

// decideMissing notes what a person says of a reading that lacked many records. It fails with errNothingAsked for a sync
// about which nothing is asked, or not any more.
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
