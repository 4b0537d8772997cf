package linemapping

import (
	"stayledger/platform/api"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of transactions.
var (
	_ = api.PublishUnder[Mapping]("transaction")
	_ = api.PublishAs[Create]("TransactionCreateMapping")
	_ = api.PublishAs[Update]("TransactionUpdateMapping")
	_ = api.PublishAs[Status]("TransactionMappingStatus")
	_ = api.PublishAs[Sort]("TransactionMappingSort")
)

// Part returns what line mappings of transactions add to the service: routes, their table, what waits for a person, and
// how teams copy them. The handler runs the jobs of kind Mapped: it posts what waited for a mapping.
func Part(handler job.Handler) parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()),
		Handlers:  map[job.Kind]job.Handler{Mapped: handler},
		Tables:    parts.Owns("transaction_line_mapping"),
		Copy:      &parts.Copy{Name: "lineMappings", NeedsBooks: true, Read: parts.Copying(list, copyMappings)},
		Uses: []parts.Use{
			{
				Of: "account", Reason: "lineMappings", Columns: []string{"transaction_line_mapping.account_id"},
				Holds: true,
			},
		},
		Waits: waits(),
	}
}

// waits are the unmapped types of lines, save those that a mapping for every app decides on.
func waits() []parts.Wait {
	return []parts.Wait{{
		ID: "m.id",
		Columns: `m.created_at as since, 'lineTypeUnmapped' as code, 'error' as severity, 'line-mapping' as entity_type, m.id as entity_id,
			jsonb_build_object('appId', m.app_id, 'lineType', m.line_type) as context`,
		From: `transaction_line_mapping m where m.team_id = g.team_id and m.status = 'unmapped' and not exists (
			select from transaction_line_mapping w
			where w.team_id = m.team_id and w.line_key = m.line_key and w.app_id is null and w.status <> 'unmapped')`,
	}}
}
