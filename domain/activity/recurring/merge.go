package recurring

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has templates and their lines name another contact than before.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	return moveTemplates(ctx, tx, `contact_id = case when t.contact_id = @from then @into else t.contact_id end, `, "contact_id",
		audit.ContactMove(from, into))
}

// MoveListing has lines of templates name another listing than before.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	return moveTemplates(ctx, tx, "", "listing_id", audit.ListingMove(from, into))
}

// moveTemplates replaces an id in the lines of templates, and in what set says.
func moveTemplates(ctx context.Context, tx *db.Tx, set, key string, m audit.Move) error {
	changed, err := db.Select[id.ID](ctx, tx, `
		update transaction_template t set `+set+`updated_at = @now, lines = (
			select coalesce(jsonb_agg(case when l.line ->> '`+key+`' = @from::uuid::text then jsonb_set(l.line, '{`+key+`}', to_jsonb(@into::uuid::text)) else l.line end
				order by l.n), '[]') from jsonb_array_elements(t.lines) with ordinality l (line, n))
		where t.team_id = @team and (`+headSQL(key)+`exists (
			select from jsonb_array_elements(t.lines) l where l ->> '`+key+`' = @from::uuid::text)) returning t.id`,
		db.Args{"team": tx.Team, "from": m.From, "into": m.Into, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("move recurring templates: %w", err)
	}

	field := map[string]string{"contact_id": "contactId", "listing_id": "listingId"}[key]
	audit.NoteMoved(tx, audit.RecurringTemplate, changed, field, m)

	return nil
}

// headSQL returns the condition on the column of a template itself, if it has one of this name.
func headSQL(key string) string {
	if key == "contact_id" {
		return `t.contact_id = @from or `
	}

	return ""
}
