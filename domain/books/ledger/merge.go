package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Named says which field of an entry names a record: its listing or its contact.
type Named string

// The columns by which entries name records that can be merged.
const (
	NamesListing Named = "listing_id"
	NamesContact Named = "contact_id"
)

// CountHeldNaming counts the sources with held entries on a record as CountHeld does, including entries held from the
// caller only by softly closed books. An entry is held with all entries of its posting.
func CountHeldNaming(ctx context.Context, tx *db.Tx, by Named, record id.ID) (Held, error) {
	out, err := db.Get[Held](ctx, tx, `
		select count(*) filter (where attached) as attached, count(*) filter (where closed) as closed, count(*) filter (where attached or closed) as sources
		from (
			select h.source_id, bool_or(h.statement_id is not null) as attached, bool_or(`+dayHoldSQL()+`) as closed
			from (select distinct source_id, txn_code from ledger_entry where team_id = @team and `+string(by)+` = @id) n
			join ledger_entry h on h.team_id = @team and h.source_id = n.source_id and h.txn_code = n.txn_code
			group by h.source_id) h`, db.Args{"team": tx.Team, "id": record, "reader": tx.Actor.User})
	if err != nil {
		return out, fmt.Errorf("count journals that are held: %w", err)
	}

	return out, nil
}

// MoveContact has entries name another contact than before. Their sources name it, too, so that they derive the same.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	_, err := tx.Exec(ctx, `update ledger_entry set contact_id = @into where team_id = @team and contact_id = @from`,
		db.Args{"team": tx.Team, "from": from, "into": into})
	if err != nil {
		return fmt.Errorf("move the entries of a contact: %w", err)
	}

	return nil
}

// MoveHistorical has entries of the historical ledger, which are derived from nothing, name another listing than
// before, and the new listing's ownership period on their day if their period is going to be deleted.
func MoveHistorical(ctx context.Context, tx *db.Tx, from, into id.ID, going []id.ID) error {
	_, err := tx.Exec(ctx, `
		update ledger_entry e set listing_id = @into, ownership_period_id = case when e.ownership_period_id = any(@going) then (
			select p.id from listing_ownership_period p where p.team_id = @team and p.listing_id = @into and daterange(p.start_at, p.end_at) @> e.txn_at)
			else e.ownership_period_id end
		where e.team_id = @team and e.listing_id = @from and e.ledger = 'historical'`,
		db.Args{"team": tx.Team, "from": from, "into": into, "going": going})
	if err != nil {
		return fmt.Errorf("move the historical entries of a listing: %w", err)
	}

	return nil
}

// CountNaming counts the entries that name a record.
func CountNaming(ctx context.Context, tx *db.Tx, by Named, record id.ID) (int64, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from ledger_entry where team_id = @team and `+string(by)+` = @id`,
		db.Args{"team": tx.Team, "id": record})
	if err != nil {
		return 0, fmt.Errorf("count entries: %w", err)
	}

	return n, nil
}
