package journal

import (
	"context"
	"fmt"
	"strconv"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/money"
)

// kindImport is the task that posts the staged entries of an import.
var kindImport = job.NewKind("journal.historical-import")

// importArgs name the import.
type importArgs struct {
	ImportID id.ID `json:"importId"`
}

// triggerHistorical marks entries of an earlier system.
const triggerHistorical = "historical"

// post posts the staged transactions of an import to the historical ledger, all of them or none. It reads and
// writes a bounded number of entries at a time. Posted entries leave the staging table, so a repetition finds
// nothing to do.
func post(ctx context.Context, tx *db.Tx, importID id.ID) error {
	type staged struct {
		ID         id.ID
		EntryCount int64
	}

	// The lock keeps a second run of the task from posting the same transactions.
	txns, err := db.Select[staged](ctx, tx, `
		select id, entry_count from historical_txn where team_id = @team and import_id = @import and posted_at is null order by id for update`,
		db.Args{"team": tx.Team, "import": importID})
	if err != nil {
		return fmt.Errorf("read staged transactions: %w", err)
	}

	for len(txns) > 0 {
		var ids []id.ID

		// Take as many transactions as fit into a chunk, at least one: a transaction is posted in one piece.
		entries := int64(0)
		for len(txns) > 0 && (len(ids) == 0 || entries+txns[0].EntryCount <= chunkRows) {
			ids, entries, txns = append(ids, txns[0].ID), entries+txns[0].EntryCount, txns[1:]
		}

		if err := postSome(ctx, tx, ids); err != nil {
			return err
		}
	}

	// Last, write the audit event and when the import was posted.
	audit.FromImport(tx, importID)
	audit.Note(tx, audit.Posted, audit.HistoricalImport, importID, nil, map[string]any{"postedAt": day.At(tx.Now)})
	_, err = tx.Exec(ctx, `update historical_import set posted_at = @now where team_id = @team and id = @import`,
		db.Args{"team": tx.Team, "import": importID, "now": tx.Now})

	return err
}

// stagedEntry is an entry of the staging table with the head of its transaction.
type stagedEntry struct {
	TxnID       id.ID
	TxnRef      string
	Date        day.Day
	Currency    string
	Position    int64
	AccountID   id.ID
	CentTotal   money.Cents
	ListingID   id.ID
	ContactID   id.ID
	Description string
}

// postSome posts some staged transactions and deletes their staged entries.
func postSome(ctx context.Context, tx *db.Tx, txns []id.ID) error {
	var postings []ledger.Posting

	err := db.Each(ctx, tx, db.Stmt{
		SQL: `select e.txn_id, t.txn_ref, t.date, t.currency, e.position, e.account_id, e.cent_total, e.listing_id, e.contact_id, e.description
			from historical_entry e join historical_txn t on t.team_id = e.team_id and t.id = e.txn_id
			where e.team_id = @team and e.txn_id = any(@txns) order by e.txn_id, e.position`,
		Args: db.Args{"team": tx.Team, "txns": txns},
	}, func(e stagedEntry) error {
		// The entries arrive in the order of their transactions, so a new transaction begins a new posting.
		if n := len(postings); n == 0 || postings[n-1].SourceID != e.TxnID {
			postings = append(postings, ledger.Posting{
				SourceID: e.TxnID,
				TxnCode:  "historical:" + e.TxnRef,
				Ledger:   ledger.Historical,
				Status:   ledger.Inactive,
				TxnAt:    e.Date,
				Currency: e.Currency,
			})
		}

		p := &postings[len(postings)-1]
		p.Lines = append(p.Lines, ledger.Line{
			Ref:         "entry:" + strconv.FormatInt(e.Position, 10),
			AccountID:   e.AccountID,
			CentTotal:   e.CentTotal,
			ListingID:   e.ListingID,
			ContactID:   e.ContactID,
			Trigger:     triggerHistorical,
			Description: e.Description,
		})

		return nil
	})
	if err != nil {
		return fmt.Errorf("read staged entries: %w", err)
	}

	// The ledger checks the postings and writes them; they are of transactions that were not posted before.
	if _, err := ledger.Replace(ctx, tx, txns, postings, ledger.Lenience{}); err != nil {
		return fmt.Errorf("post historical transactions: %w", err)
	}

	// Then mark the transactions as posted. Their entries are in the ledger now.
	err = tx.Pipeline(ctx,
		db.Stmt{SQL: `delete from historical_entry where team_id = @team and txn_id = any(@txns)`, Args: db.Args{"team": tx.Team, "txns": txns}},
		db.Stmt{
			SQL:  `update historical_txn set posted_at = @now where team_id = @team and id = any(@txns)`,
			Args: db.Args{"team": tx.Team, "txns": txns, "now": tx.Now},
		})
	if err != nil {
		return fmt.Errorf("settle staged transactions: %w", err)
	}

	return nil
}
