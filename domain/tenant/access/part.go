package access

import "stayledger/platform/parts"

// Part returns the endpoints, periodic tasks and tables of credentials, people, links and embedded sessions.
func Part(p Portal) parts.Part {
	// The user who asked for the deletion of a team can still read how that went (OPEN-81).
	const asked = `(select o.initiated_by from operation o where o.team_id = @team and o.id = @operation)`

	// A contact is kept by a person who signs in as this owner.
	uses := []parts.Use{{Of: "contact", Reason: "access", Columns: []string{"access_member.contact_id"}}}

	return parts.Part{Endpoints: append(endpoints(), p.embedEndpoints()...), Every: every(), Uses: uses, Tables: append(
		parts.Keeps("access_owner_session", "access_owner_link", "access_embed_session", "access_external_user"),
		parts.Table{Name: "access_key_team", Archived: parts.Left, Keep: `exists (select from access_key k where k.team_id = r.home_team_id and k.id = r.key_id and k.user_id = ` + asked + `)`},
		parts.Table{Name: "access_key", Archived: parts.Left, Keep: `r.user_id = ` + asked},
		parts.Table{Name: "access_member", Archived: parts.Left, Keep: `r.user_id = ` + asked},
	)}
}
