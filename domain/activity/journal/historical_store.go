package journal

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// checkNamed refuses entries that name records which the team does not have, and bank accounts in another currency.
func (b *batch) checkNamed(ctx context.Context, tx *db.Tx) error {
	// First collect the ids of each kind, each once.
	args := db.Args{"team": tx.Team}
	for name, field := range map[string]func(*HistoricalEntry) *id.ID{
		"accounts": func(e *HistoricalEntry) *id.ID { return &e.AccountID },
		"listings": func(e *HistoricalEntry) *id.ID { return e.ListingID },
		"contacts": func(e *HistoricalEntry) *id.ID { return e.ContactID },
	} {
		args[name] = b.distinctIDs(field)
	}

	type row struct {
		Kind string
		ID   id.ID
		Type string
	}

	rows, err := db.Select[row](ctx, tx, `
		select 'account' as kind, a.id, case when a.type = 'bank' and a.banking_currency <> k.default_currency then 'foreign' else a.type end as type
			from account a join team k on k.team_id = a.team_id where a.team_id = @team and a.id = any(@accounts)
		union all select 'listing', id, '' from listing where team_id = @team and id = any(@listings)
		union all select 'contact', id, '' from contact where team_id = @team and id = any(@contacts)`, args)
	if err != nil {
		return fmt.Errorf("read what historical entries name: %w", err)
	}

	// Accounts that nothing is posted to count as unknown.
	known, foreign := map[row]bool{}, map[id.ID]bool{}

	for _, r := range rows {
		if r.Type == "nonPosting" {
			continue
		}

		foreign[r.ID] = r.Type == "foreign"
		known[row{Kind: r.Kind, ID: r.ID}] = true
	}

	// Then check each entry, up to the number of findings that an answer names.
	var issues []apierr.Issue
	for i := 0; i < len(b.entries) && len(issues) < maxTold; i++ {
		e := &b.entries[i]
		for _, r := range []struct {
			kind string
			id   *id.ID
		}{{"account", &e.AccountID}, {"listing", e.ListingID}, {"contact", e.ContactID}} {
			if r.id != nil && !known[row{Kind: r.kind, ID: *r.id}] {
				issues = append(issues, apierr.IssueNotFound.InBody("entries", i, r.kind+"Id"))
			}
		}

		if foreign[e.AccountID] { // Historical entries are in the team's currency.
			issues = append(issues, apierr.IssueCurrencyMismatch.InBody("entries", i, "accountId"))
		}
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// distinctIDs returns the ids that a function finds in the entries, each once.
func (b *batch) distinctIDs(field func(*HistoricalEntry) *id.ID) []id.ID {
	seen := map[id.ID]bool{}
	out := []id.ID{}

	for i := range b.entries {
		if v := field(&b.entries[i]); v != nil && !seen[*v] {
			seen[*v] = true
			out = append(out, *v)
		}
	}

	return out
}

// chunkRows is how many rows a statement carries.
const chunkRows = 10_000

// dropKnown returns the places of the transactions that are still to be posted: without those that were posted
// before with the same content, and with those that were staged and never posted; their former staging is deleted.
// It fails with a conflict for one that was posted with other entries. Imports of one team take turns.
func (b *batch) dropKnown(ctx context.Context, tx *db.Tx) (fresh []int, err error) {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('historical import ' || @team::text, 0))`,
		db.Args{"team": tx.Team.String()}); err != nil {
		return nil, fmt.Errorf("wait for other imports: %w", err)
	}

	// The references travel in chunks, since an import may have very many.
	type posted struct {
		TxnRef  string
		Content []byte
	}

	before := map[string][]byte{}

	for refs := range slices.Chunk(b.refs(), chunkRows) {
		if _, err := tx.Exec(ctx, `
			with gone as (delete from historical_txn where team_id = @team and txn_ref = any(@refs) and posted_at is null returning id)
			delete from historical_entry where team_id = @team and txn_id in (select id from gone)`, db.Args{"team": tx.Team, "refs": refs}); err != nil {
			return nil, fmt.Errorf("take over what was staged: %w", err)
		}

		// Everything of the references that is left now has been posted.
		found, err := db.Select[posted](ctx, tx, `select txn_ref, content from historical_txn where team_id = @team and txn_ref = any(@refs)`,
			db.Args{"team": tx.Team, "refs": refs})
		if err != nil {
			return nil, fmt.Errorf("read what was imported before: %w", err)
		}

		for _, p := range found {
			before[p.TxnRef] = p.Content
		}
	}

	// Then compare the contents.
	var other []string

	for i := range b.txns {
		content, known := before[b.txns[i].ref]
		switch {
		case !known:
			fresh = append(fresh, i)
		case !bytes.Equal(content, b.contents[i]) && len(other) < maxTold:
			other = append(other, b.txns[i].ref)
		}
	}

	if other != nil {
		return nil, errTxnKnown.With(map[string]any{"txnRefs": other})
	}

	return fresh, nil
}

// refs returns the references of all transactions.
func (b *batch) refs() []string {
	out := make([]string, len(b.txns))
	for i := range b.txns {
		out[i] = b.txns[i].ref
	}

	return out
}

// stage stores the fresh transactions in the staging tables, for the task of the import.
func (b *batch) stage(ctx context.Context, tx *db.Tx, importID id.ID, fresh []int) error {
	s := &stager{tx: tx, importID: importID, currency: b.currency}

	// Two bounds: the entries of a chunk and its transactions.
	for _, i := range fresh {
		t := &b.txns[i]

		// Write before the next transaction would make the statement too large.
		if len(s.entries)+len(t.entries) > chunkRows || len(s.txns) == chunkRows {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}

		s.add(t, b.entries, b.contents[i])
	}

	return s.flush(ctx)
}

// stager gathers staged rows.
type stager struct {
	tx       *db.Tx
	importID id.ID
	currency string
	txns     []*txnRow
	entries  []*entryRow
}

// txnTable has the columns of a staged transaction.
var txnTable = db.NewTable[txnRow]("historical_txn",
	"id uuid, import_id uuid, txn_ref text, date date, currency text, entry_count int, content bytea")

type txnRow struct {
	ID         id.ID
	ImportID   id.ID
	TxnRef     string
	Date       day.Day
	Currency   string
	EntryCount int64
	Content    []byte
}

// entryTable has the columns of a staged entry.
var entryTable = db.NewTable[entryRow]("historical_entry", `
	txn_id uuid, position int, account_id uuid, cent_total bigint, listing_id uuid, contact_id uuid, description text`)

// entryRow is an entry with its transaction and its place among the entries, from 1.
type entryRow struct {
	HistoricalEntry
	TxnID    id.ID
	Position int64
}

// add adds the rows of a transaction and its entries.
func (s *stager) add(t *txn, all []HistoricalEntry, content []byte) {
	row := &txnRow{
		ID:         s.tx.NewID(),
		ImportID:   s.importID,
		TxnRef:     t.ref,
		Date:       t.date,
		Currency:   s.currency,
		EntryCount: int64(len(t.entries)),
		Content:    content,
	}

	s.txns = append(s.txns, row)
	for n, at := range t.entries {
		s.entries = append(s.entries, &entryRow{HistoricalEntry: all[at], TxnID: row.ID, Position: int64(n) + 1})
	}
}

// flush writes the gathered rows and starts over.
func (s *stager) flush(ctx context.Context) error {
	if len(s.txns) == 0 {
		return nil
	}

	// Heads before entries: an entry refers to its transaction.
	err := s.tx.Pipeline(ctx, txnTable.Insert(s.tx, s.txns...), entryTable.Insert(s.tx, s.entries...))
	if err != nil {
		return fmt.Errorf("stage historical entries: %w", err)
	}

	*s = stager{tx: s.tx, importID: s.importID, currency: s.currency}

	return nil
}

// insertImport returns the statement that inserts an import with its totals.
func insertImport(tx *db.Tx, b *batch, importID, operationID id.ID, skipped int) db.Stmt {
	return db.Stmt{
		SQL: `insert into historical_import (team_id, id, operation_id, txn_count, entry_count, skipped_txn_count, debit, credit, start_at, end_at, created_at)
			values (@team, @id, @operation, @txns, @entries, @skipped, @debit, @credit, @start, @end, @now)`,
		Args: db.Args{
			"team":      tx.Team,
			"id":        importID,
			"operation": operationID,
			"txns":      len(b.txns),
			"entries":   len(b.entries),
			"skipped":   skipped,
			"debit":     int64(b.debit),
			"credit":    int64(b.credit),
			"start":     b.startAt,
			"end":       b.endAt,
			"now":       tx.Now,
		},
	}
}
