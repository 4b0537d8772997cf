package audit

import "stayledger/platform/parts"

// Part is the trail of changes, which nouns keep with what they change. It goes with the books that it tells of; who
// asked for the deletion of a team stays.
func Part() parts.Part {
	const deletion = `(select o.action_id from operation o where o.team_id = @team and o.id = @operation)`

	return parts.Part{Tables: []parts.Table{
		{Name: "audit_reference", Keep: `exists (select from audit_event e where e.team_id = @team and e.id = r.event_id and e.action_id = ` + deletion + `)`},
		{Name: "audit_event", Keep: `r.action_id = ` + deletion},
		{Name: "audit_action", Keep: `r.id = ` + deletion},
	}}
}
