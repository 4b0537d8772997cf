package recurring

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// namedSQL selects the records that a template t names in a field: the place of its line (0 for none), the path and the
// type of the field, and the id. Accounts and listings are errors, since an instance is refused for them.
const namedSQL = `
	select 0::bigint as place, '["accountId"]'::jsonb as path, 'account' as type, 'error' as severity, t.account_id as id
	union all select 0, '["contactId"]', 'contact', 'warning', t.contact_id where t.contact_id is not null
	union all select l.place, jsonb_build_array('lines', l.place - 1) || f.path, f.type, f.severity, f.id::uuid
		from jsonb_array_elements(t.lines) with ordinality l (line, place)
		cross join lateral (values
			('["accountId"]'::jsonb, 'account', 'error', l.line ->> 'account_id'),
			('["listingId"]', 'listing', 'error', l.line ->> 'listing_id'),
			('["contactId"]', 'contact', 'warning', l.line ->> 'contact_id'),
			('["taxRateId"]', 'taxRate', 'warning', l.line ->> 'tax_rate_id'),
			('["markup", "taxRateId"]', 'taxRate', 'warning', l.line ->> 'markup_tax_rate_id')
		) f (path, type, severity, id) where f.id is not null`

// isInactiveSQL is the condition that the record of a row n of namedSQL is archived.
const isInactiveSQL = `(
	n.type = 'account' and exists (select from account x where x.team_id = t.team_id and x.id = n.id and x.status = 'inactive')
	or n.type = 'contact' and exists (select from contact x where x.team_id = t.team_id and x.id = n.id and x.status = 'inactive')
	or n.type = 'listing' and exists (select from listing x where x.team_id = t.team_id and x.id = n.id and x.status = 'inactive')
	or n.type = 'taxRate' and exists (select from tax_rate x where x.team_id = t.team_id and x.id = n.id and x.status = 'inactive'))`

// inactiveSQL is the SQL of the findings about archived records that a template t names.
const inactiveSQL = `(select coalesce(jsonb_agg(jsonb_build_object('code', '` + finding.InactiveReference + `', 'severity', n.severity,
		'context', jsonb_build_object('path', n.path, 'type', n.type, 'id', n.id)) order by n.place, n.path), '[]')
	from (` + namedSQL + `) n where ` + isInactiveSQL + `)`

// InactiveReference is a field of an active template that names an archived record.
type InactiveReference struct {
	TemplateID id.ID
	// Type is account, contact, listing or taxRate.
	Type string
	ID   id.ID
	// Amount is the total of an instance.
	Amount money.Cents
	// Count and Total cover all such fields, loaded or not.
	Count int
	Total money.Cents
}

// ListInactiveReferences returns the fields of active templates in a currency that name archived records, those with
// the largest amounts first and at most so many of them.
func ListInactiveReferences(
	ctx context.Context, tx *db.Tx, currency money.Currency, most int,
) ([]InactiveReference, error) {
	found, err := db.Select[InactiveReference](ctx, tx, `
		select t.id as template_id, n.type, n.id, t.total as amount, count(*) over () as count, (sum(t.total) over ())::bigint as total
		from transaction_template t cross join lateral (`+namedSQL+`) n
		where t.team_id = @team and t.status = 'active' and t.currency = @currency and `+isInactiveSQL+`
		order by abs(t.total) desc, t.id, n.place, n.path limit @most`,
		db.Args{"team": tx.Team, "currency": currency, "most": most})
	if err != nil {
		return nil, fmt.Errorf("read what recurring templates name: %w", err)
	}

	return found, nil
}
