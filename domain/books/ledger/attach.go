package ledger

import (
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

// ReleaseSQL returns the statement that frees the entries of deleted owner statements and of statements returning to
// draft.
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
type Imported struct{ rows []*entryRow }

// Add appends an entry of the imported owner statement from which a posting comes.
func (e *Imported) Add(tx *db.Tx, p Posting, l Line) {
	p.Ledger, p.Status = Historical, Inactive
	l.Party, l.StatementID = Owners, p.SourceID
	e.rows = append(e.rows, &entryRow{ID: tx.NewID(), Posting: p, Line: l})
}

// Insert returns the statements that insert the entries, none without entries.
func (e *Imported) Insert(tx *db.Tx) []db.Stmt {
	if len(e.rows) == 0 {
		return nil
	}

	return []db.Stmt{entryTable.Insert(tx, e.rows...)}
}
