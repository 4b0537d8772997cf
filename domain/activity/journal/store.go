package journal

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// journalTable has the columns of a journal without its lines.
var journalTable = db.NewTable[Journal]("journal", `
	id uuid key, short_ref text fixed, unique_ref text, date date, description text, currency text, ledger text, total bigint,
	reverses_id uuid fixed, created_at now fixed, updated_at now`)

// lineTable has the columns of a line of a journal.
var lineTable = db.NewTable[lineRow]("journal_line", `
	journal_id uuid, position smallint, account_id uuid, cent_total bigint, party text, listing_id uuid, contact_id uuid, reservation_id uuid,
	ownership_period_id uuid, description text`)

// lineRow is a line with its journal and its place among the lines, from 1.
type lineRow struct {
	Line
	JournalID id.ID
	Position  int64
}

var columns = journalTable.ColumnsSQL("j") + `,
	(select r.id from journal r where r.team_id = j.team_id and r.reverses_id = j.id) as reversed_by_id,
	(select jsonb_agg(jsonb_build_object(
		'accountId', l.account_id, 'account', ` + account.RefSQL("a.id", "a") + `, 'centTotal', l.cent_total,
		'party', l.party, 'listingId', l.listing_id, 'listing', ` + listing.RefSQL("li") + `,
		'contactId', l.contact_id, 'contact', ` + contact.RefSQL("c") + `,
		'reservationId', l.reservation_id, 'reservation', case when r.id is not null then
			jsonb_build_object('id', r.id, 'shortRef', r.short_ref, 'confirmationCode', r.confirmation_code) end,
		'ownershipPeriodId', l.ownership_period_id, 'description', l.description) order by l.position)
	from journal_line l join account a on a.team_id = l.team_id and a.id = l.account_id
		left join listing li on li.team_id = l.team_id and li.id = l.listing_id
		left join contact c on c.team_id = l.team_id and c.id = l.contact_id
		left join reservation r on r.team_id = l.team_id and r.id = l.reservation_id
	where l.team_id = j.team_id and l.journal_id = j.id) as lines`

// loadAll loads journals with their lines, in the order of their ids.
func loadAll(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Journal, error) {
	found, err := db.Select[Journal](ctx, tx, `select `+columns+` from journal j where j.team_id = @team and j.id = any(@ids) order by j.id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}

	return found, nil
}

// loadOne loads one journal without its state, or fails with apierr.NotFound.
func loadOne(ctx context.Context, tx *db.Tx, one id.ID) (*Journal, error) {
	found, err := loadAll(ctx, tx, []id.ID{one})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return &found[0], nil
}

// row is a journal in the form in which one statement reads it with its state.
type row struct {
	Journal
	ledger.StateRow
}

var (
	rowColumns = columns + ", " + ledger.ManualJournals.StateColumns("j.id")
	rowTables  = "journal j" + ledger.StateTables("j.id")
)

// loadShown loads one journal with its state in one statement, or fails with apierr.NotFound.
func loadShown(ctx context.Context, tx *db.Tx, one id.ID) (*Journal, error) {
	r, err := db.One[row](ctx, tx, apierr.NotFound, `select `+rowColumns+` from `+rowTables+` where j.team_id = @team and j.id = @id`,
		db.Args{"team": tx.Team, "reader": tx.Actor.User, "id": one})
	if err != nil {
		return nil, err
	}

	journals, err := fillRows(ctx, tx, []row{r})
	if err != nil {
		return nil, err
	}

	return &journals[0], nil
}

// fillRows returns the journals of rows with their states.
func fillRows(ctx context.Context, tx *db.Tx, rows []row) ([]Journal, error) {
	found := make(map[id.ID]*ledger.StateRow, len(rows))
	for i := range rows {
		found[rows[i].ID] = &rows[i].StateRow
	}

	states, err := ledger.ManualJournals.States(ctx, tx, found)
	if err != nil {
		return nil, err
	}

	journals := make([]Journal, len(rows))
	for i := range rows {
		journals[i] = rows[i].Journal
		journals[i].fill(states[rows[i].ID])
	}

	return journals, nil
}

// lockOne makes the changes of a journal take turns and loads it, or fails with apierr.NotFound.
func lockOne(ctx context.Context, tx *db.Tx, one id.ID) (*Journal, error) {
	var j *Journal

	// The lock comes first, so that the journal is read as the last change left it.
	take := func(ctx context.Context, tx *db.Tx) error { return lockAll(ctx, tx, []id.ID{one}) }
	err := tx.Together(ctx, take, db.LoadBy(&j, loadOne, one))

	return j, err
}

// lockAll locks journals in the order of their ids.
func lockAll(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	if _, err := tx.Exec(ctx, `select from journal where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": ids}); err != nil {
		return fmt.Errorf("lock journals: %w", err)
	}

	return nil
}

// fill gives a journal its lock, and whether its postings follow the owners of their listings.
func (j *Journal) fill(s ledger.State) { j.Lock, j.JournalStatus = s.Lock, s.Status }

// saveRows saves a journal with its lines. It fails with duplicateUniqueRef, and with a conflict for a second reversal
// of one journal.
func saveRows(ctx context.Context, tx *db.Tx, j *Journal, isNew bool) error {
	rows := make([]*lineRow, len(j.Lines))
	for i, l := range j.Lines {
		rows[i] = &lineRow{Line: l, JournalID: j.ID, Position: int64(i) + 1}
	}

	// Lines have no ids of their own: those of a stored journal are replaced as a whole.
	stmts := []db.Stmt{journalTable.Upsert(tx, j)}
	if !isNew {
		stmts = append(stmts, db.Stmt{
			SQL:  `delete from journal_line where team_id = @team and journal_id = @id`,
			Args: db.Args{"team": tx.Team, "id": j.ID},
		})
	}

	err := tx.Pipeline(ctx, append(stmts, lineTable.Insert(tx, rows...))...)

	// Two broken constraints are mistakes of the caller.
	switch db.Constraint(err) {
	case "journal_unique_ref":
		return errDuplicateRef.Because(err)
	case "journal_reversed_once":
		return errReversed
	}

	if err != nil {
		return fmt.Errorf("store a journal: %w", err)
	}

	return nil
}
