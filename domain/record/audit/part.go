package audit

import "stayledger/platform/parts"

// Part returns the tables of the audit trail. When a team is deleted its trail goes too, except the action of the
// deletion.
func Part() parts.Part {
	const deletion = `(select o.action_id from operation o where o.team_id = @team and o.id = @operation)`

	return parts.Part{Tables: []parts.Table{
		{Archived: parts.Shown, Name: "audit_reference", Keep: `exists (select from audit_event e where e.team_id = @team and e.id = r.event_id and e.action_id = ` + deletion + `)`},
		{Archived: parts.Shown, Name: "audit_event", Keep: `r.action_id = ` + deletion},
		{Archived: parts.Shown, Name: "audit_action", Keep: `r.id = ` + deletion},
	}}
}
