package ledger

import (
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// OwnersEntry is the SQL condition on the entries e that owner statements consist of.
const OwnersEntry = `e.team_id = @team and e.party = 'owners' and e.status = 'active' and e.ledger in ('trust', 'operating')`

// AttachSQL returns the statement that attaches the entries of their days to saved owner statements, which locks the
// entries.
func AttachSQL(tx *db.Tx, statements []id.ID) db.Stmt {
	return db.Stmt{
		SQL: `update ledger_entry e set statement_id = s.id from statement s
			where s.team_id = @team and s.id = any(@ids) and ` + OwnersEntry + ` and e.ownership_period_id = s.ownership_period_id
				and e.currency = s.currency and e.txn_at between s.start_at and s.end_at and e.statement_id is null`,
		Args: db.Args{"team": tx.Team, "ids": statements},
	}
}

// ReleaseSQL returns the statement that frees the entries of owner statements that return to draft or are deleted.
func ReleaseSQL(tx *db.Tx, statements []id.ID) db.Stmt {
	return db.Stmt{
		SQL:  `update ledger_entry set statement_id = null where team_id = @team and statement_id = any(@ids)`,
		Args: db.Args{"team": tx.Team, "ids": statements},
	}
}

// RemoveImported returns the statement that deletes the entries which came with imported owner statements.
func RemoveImported(tx *db.Tx, statements []id.ID) db.Stmt {
	return db.Stmt{
		SQL:  `delete from ledger_entry where team_id = @team and statement_id = any(@ids) and ledger = 'historical'`,
		Args: db.Args{"team": tx.Team, "ids": statements},
	}
}

// Imported are entries that come with imported owner statements. They are inactive entries of the historical
// ledger: they are shown and count nowhere.
type Imported struct {
	ids, statements, accounts, contacts, reservations []id.ID
	codes, refs, triggers, descriptions               []string
	dates                                             []day.Day
	cents                                             []int64
}

// Add appends an entry of a statement. Its currency, listing and ownership period are those of the statement.
func (e *Imported) Add(tx *db.Tx, statement id.ID, code string, at day.Day, l *Line) {
	e.ids, e.statements = append(e.ids, tx.NewID()), append(e.statements, statement)
	e.accounts = append(e.accounts, l.AccountID)
	e.contacts, e.reservations = append(e.contacts, l.ContactID), append(e.reservations, l.ReservationID)
	e.codes, e.refs, e.dates = append(e.codes, code), append(e.refs, l.Ref), append(e.dates, at)
	e.triggers, e.descriptions = append(e.triggers, l.Trigger), append(e.descriptions, l.Description)
	e.cents = append(e.cents, int64(l.CentTotal))
}

// Insert returns the statements that insert the entries, none without entries.
func (e *Imported) Insert(tx *db.Tx) []db.Stmt {
	if len(e.ids) == 0 {
		return nil
	}

	return []db.Stmt{{
		SQL: `insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, listing_id,
				ownership_period_id, contact_id, reservation_id, statement_id, trigger_type, description, created_at)
			select @team, x.id, s.id, x.code, x.ref, 'historical', 'inactive', x.date, x.account, x.cents, s.currency, 'owners', s.listing_id,
				s.ownership_period_id, x.contact, x.reservation, s.id, x.trigger, x.description, @now
			from unnest(@ids::uuid[], @statements::uuid[], @codes::text[], @refs::text[], @dates::date[], @accounts::uuid[], @cents::bigint[],
				@contacts::uuid[], @reservations::uuid[], @triggers::text[], @descriptions::text[])
				x (id, statement, code, ref, date, account, cents, contact, reservation, trigger, description)
			join statement s on s.team_id = @team and s.id = x.statement`,
		Args: db.Args{
			"team":         tx.Team,
			"now":          tx.Now,
			"ids":          e.ids,
			"statements":   e.statements,
			"codes":        e.codes,
			"refs":         e.refs,
			"dates":        e.dates,
			"accounts":     e.accounts,
			"cents":        e.cents,
			"contacts":     e.contacts,
			"reservations": e.reservations,
			"triggers":     e.triggers,
			"descriptions": e.descriptions,
		},
	}}
}
