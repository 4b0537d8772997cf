package upload

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// stored is an import as its row has it.
type stored struct {
	Import

	FileID   id.ID
	SHA256   []byte
	SourceID id.ID
	Encoding *string
	Attempt  int
	Step     int64
	PurgeAt  day.Instant
}

// importTable has the columns of an import.
var importTable = db.NewTable[stored]("csv_import", `
	id uuid key, kind text fixed, status text, file_id uuid fixed, filename text fixed, byte_size bigint fixed, sha256 bytea fixed,
	source_id uuid fixed, connection_id uuid fixed, bank_account_id uuid fixed, encoding text fixed, mapping jsonb, form jsonb, columns jsonb,
	counts jsonb, outcomes jsonb, issues jsonb, issue_counts jsonb, totals jsonb, dependents jsonb, attempt integer, step bigint, prior_id uuid,
	import_operation_id uuid, undo_operation_id uuid, override text, all_or_none boolean, is_automatic boolean fixed, created_at now fixed, imported_at timestamptz,
	undone_at timestamptz, purge_at timestamptz`)

// outcomeTable has the columns that importing a row changes.
var outcomeTable = db.NewTable[storedRow]("csv_import_row", `
	import_id uuid key, position integer key, ordinal integer, status text, issues jsonb, match_id uuid, is_certain boolean, outcome text, reason text,
	entity_id uuid, before jsonb`)

// rowTable has the columns of a row.
var rowTable = db.NewTable[storedRow]("csv_import_row", `
	import_id uuid key, position integer key, line integer fixed, cells text[], plain boolean[] fixed, head integer, key text, ordinal integer,
	status text, amount bigint, currency text, issues jsonb, decision text, match_id uuid, is_certain boolean, outcome text, reason text,
	entity_id uuid, before jsonb`)

// storedRow is a row as its table has it.
type storedRow struct {
	Row

	ImportID id.ID
	Plain    []bool
	Key      *string
	Ordinal  int
	Amount   *int64
	Currency *string
	Before   intake.Values
}

const importColumns = `i.id, i.kind, i.status, i.filename, i.byte_size, i.connection_id, i.bank_account_id, i.form, i.columns, i.mapping, i.counts,
	i.outcomes, i.issues, i.issue_counts, i.totals, i.prior_id, i.import_operation_id, i.undo_operation_id, i.override, i.all_or_none, i.dependents,
	i.created_at, i.imported_at, i.undone_at, i.is_automatic`

const storedColumns = importColumns + `, i.file_id, i.sha256, i.source_id, i.encoding, i.attempt, i.step, i.purge_at`

// sorts are the orders of imports.
var sorts = page.Sorts{{Name: "createdAt", Expr: "i.created_at"}}

// importQuery returns the query for the team's imports.
func importQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: importColumns, From: "csv_import i",
		Where: []string{"i.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: sorts, Default: "-createdAt", ID: "i.id",
	}
}

// load loads an import. It fails with apierr.NotFound.
func load(ctx context.Context, tx *db.Tx, one id.ID) (*stored, error) {
	return loadImport(ctx, tx, one, "")
}

// lock loads an import and locks it. It fails with apierr.NotFound.
func lock(ctx context.Context, tx *db.Tx, one id.ID) (*stored, error) {
	return loadImport(ctx, tx, one, " for update")
}

func loadImport(ctx context.Context, tx *db.Tx, one id.ID, suffix string) (*stored, error) {
	s, err := db.One[stored](ctx, tx, apierr.NotFound, `select `+storedColumns+` from csv_import i where i.team_id = @team and i.id = @id`+suffix,
		db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return nil, fmt.Errorf("read an import: %w", err)
	}

	return &s, nil
}

// insert inserts an import.
func insert(ctx context.Context, tx *db.Tx, s *stored) error {
	s.initLists()

	if err := tx.Pipeline(ctx, importTable.Insert(tx, s)); err != nil {
		return fmt.Errorf("insert an import: %w", err)
	}

	return nil
}

// update updates an import.
func update(ctx context.Context, tx *db.Tx, s *stored) error {
	s.initLists()

	if err := tx.Pipeline(ctx, importTable.Update(tx, s)); err != nil {
		return fmt.Errorf("save an import: %w", err)
	}

	return nil
}

// initLists makes nil lists empty, as the API shows them.
func (it *stored) initLists() {
	if it.Columns == nil {
		it.Columns = []Column{}
	}

	if it.Issues == nil {
		it.Issues = []Issue{}
	}

	if it.Dependents == nil {
		it.Dependents = []Dependent{}
	}

	if it.Totals == nil {
		it.Totals = []Total{}
	}

	if it.IssueCounts == nil {
		it.IssueCounts = map[string]int64{}
	}
}

// findPrior returns the last import of the same file, nil for none. Imports that were undone do not count.
func findPrior(ctx context.Context, tx *db.Tx, s *stored) (*id.ID, error) {
	prior, err := db.Maybe[id.ID](ctx, tx, `
		select id from csv_import where team_id = @team and kind = @kind and sha256 = @sum and imported_at is not null and undone_at is null
			and source_id = @source and bank_account_id is not distinct from @account
		order by imported_at desc limit 1`,
		db.Args{"team": tx.Team, "kind": s.Kind, "sum": s.SHA256, "source": s.SourceID, "account": s.BankAccountID})
	if err != nil {
		return nil, fmt.Errorf("find an earlier import of a file: %w", err)
	}

	return prior, nil
}

// deleteRows deletes the rows of an import.
func deleteRows(ctx context.Context, tx *db.Tx, one id.ID) error {
	_, err := tx.Exec(ctx, `delete from csv_import_row where team_id = @team and import_id = @id`, db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return fmt.Errorf("delete the rows of an import: %w", err)
	}

	return nil
}

// cellEnd separates cells on their way into the database, which is quicker than an array of arrays.
const cellEnd = "\x1f"

// insertRows inserts rows that were read, in one statement.
func insertRows(ctx context.Context, tx *db.Tx, one id.ID, rows []*storedRow) error {
	if len(rows) == 0 {
		return nil
	}

	// The statement takes an array for each column.
	n := len(rows)
	positions, lines, cells, plain := make([]int, n), make([]int, n), make([]string, n), make([]*string, n)
	heads, keys, ordinals, statuses := make([]*int, n), make([]*string, n), make([]int, n), make([]string, n)
	amounts, currencies, issues := make([]*int64, n), make([]*string, n), make([]*string, n)
	reasons, matches, certain := make([]*string, n), make([]*id.ID, n), make([]bool, n)

	for i, r := range rows {
		positions[i], lines[i], heads[i] = r.Position, r.Line, r.Head
		keys[i], ordinals[i], statuses[i] = r.Key, r.Ordinal, string(r.Status)
		amounts[i], currencies[i], reasons[i] = r.Amount, r.Currency, r.Reason
		matches[i], certain[i] = r.MatchID, r.IsCertain
		cells[i], plain[i] = strings.Join(r.Cells, cellEnd), plainText(r.Plain)

		if len(r.Issues) > 0 {
			text := string(mustEncode(r.Issues))
			issues[i] = &text
		}
	}

	_, err := tx.Exec(ctx, `
		insert into csv_import_row (team_id, import_id, position, line, cells, plain, head, key, ordinal, status, amount, currency, issues, reason, match_id,
			is_certain)
		select @team, @id, position, line, string_to_array(cells, E'\x1f'), plain::boolean[], head, key, ordinal, status, amount, currency, issues::jsonb,
			reason, match_id, is_certain
		from unnest(@positions::int[], @lines::int[], @cells::text[], @plain::text[], @heads::int[], @keys::text[], @ordinals::int[], @statuses::text[],
			@amounts::bigint[], @currencies::text[], @issues::text[], @reasons::text[], @matches::uuid[], @certain::boolean[])
			as r (position, line, cells, plain, head, key, ordinal, status, amount, currency, issues, reason, match_id, is_certain)`,
		db.Args{
			"team": tx.Team, "id": one, "positions": positions, "lines": lines, "cells": cells, "plain": plain,
			"heads": heads, "keys": keys, "ordinals": ordinals, "statuses": statuses, "amounts": amounts,
			"currencies": currencies, "issues": issues, "reasons": reasons, "matches": matches, "certain": certain,
		})
	if err != nil {
		return fmt.Errorf("insert rows of a file: %w", err)
	}

	return nil
}

// plainText returns an array of booleans as text, nil for none.
func plainText(plain []bool) *string {
	if plain == nil {
		return nil
	}

	out := []byte{'{'}

	for i, p := range plain {
		if i > 0 {
			out = append(out, ',')
		}

		out = strconv.AppendBool(out, p)
	}

	text := string(append(out, '}'))

	return &text
}

// updateRows updates rows.
func updateRows(ctx context.Context, tx *db.Tx, rows []*storedRow) error {
	if len(rows) == 0 {
		return nil
	}

	if err := tx.Pipeline(ctx, rowTable.Update(tx, rows...)); err != nil {
		return fmt.Errorf("save rows of a file: %w", err)
	}

	return nil
}

const rowColumns = `w.import_id, w.position, w.line, w.status, w.cells, w.plain, w.head, w.key, w.ordinal, w.amount, w.currency, w.issues, w.decision,
	w.match_id, w.is_certain, w.outcome, w.reason, w.entity_id, w.before`

// retryRows has the next import try again the rows of an import that were refused or left out as faulty.
func retryRows(ctx context.Context, tx *db.Tx, one id.ID) error {
	_, err := tx.Exec(ctx, `update csv_import_row set outcome = null where team_id = @team and import_id = @id and head is null
		and (outcome = 'failed' or outcome = 'skipped' and reason in ('faulty', 'undecided'))`, db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return fmt.Errorf("queue refused rows again: %w", err)
	}

	return nil
}

// loadHeads loads the next takeRows rows without an outcome that begin a record; with isWhole mostAtOnce rows. If
// records have several rows, the parts come, too, in the order of the file.
func loadHeads(ctx context.Context, tx *db.Tx, it *stored, hasParts, isWhole bool) ([]*storedRow, error) {
	args := db.Args{"team": tx.Team, "id": it.ID, "after": it.Step, "most": takeRows}
	if isWhole {
		args["most"] = mostAtOnce
	}

	if !hasParts {
		return selectRows(ctx, tx, `
			select `+rowColumns+` from csv_import_row w where w.team_id = @team and w.import_id = @id and w.position > @after and w.outcome is null
			order by w.position limit @most`, args)
	}

	return selectRows(ctx, tx, `
		with heads as materialized (
			select position from csv_import_row where team_id = @team and import_id = @id and position > @after and head is null and outcome is null
			order by position limit @most)
		select `+rowColumns+` from csv_import_row w where w.team_id = @team and w.import_id = @id and w.position in (select position from heads)
		union all
		select `+rowColumns+` from heads h cross join lateral (
			select * from csv_import_row p where p.team_id = @team and p.import_id = @id and p.head = h.position) w
		order by position`, args)
}

// loadRecords loads the rows at positions, with their parts.
func loadRecords(ctx context.Context, tx *db.Tx, one id.ID, positions []int) ([]*storedRow, error) {
	return selectRows(ctx, tx, `select `+rowColumns+` from csv_import_row w where w.team_id = @team and w.import_id = @id and w.position = any(@positions)
		union all
		select `+rowColumns+` from csv_import_row w where w.team_id = @team and w.import_id = @id and w.head = any(@positions)
		order by position`, db.Args{"team": tx.Team, "id": one, "positions": positions})
}

// loadRecord loads the row at a position with its parts. It fails with apierr.NotFound.
func loadRecord(ctx context.Context, tx *db.Tx, one id.ID, position int) ([]*storedRow, error) {
	rows, err := selectRows(ctx, tx, `select `+rowColumns+` from csv_import_row w where w.team_id = @team and w.import_id = @id
		and (w.position = @position or w.head = @position) order by w.position`,
		db.Args{"team": tx.Team, "id": one, "position": position})
	if err == nil && (len(rows) == 0 || rows[0].Position != position) {
		err = apierr.NotFound
	}

	return rows, err
}

// selectRows loads rows. Their plan is made each time: a cached one could date from an empty table.
func selectRows(ctx context.Context, tx *db.Tx, sql string, args db.Args) (_ []*storedRow, err error) {
	var found []storedRow

	err = db.Afresh(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[storedRow](ctx, tx, sql, args)
		return err
	})(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read rows of a file: %w", err)
	}

	return db.Refs(found), nil
}

// countRows counts the rows of an import by status and outcome, and adds up their amounts.
func countRows(ctx context.Context, tx *db.Tx, s *stored) error {
	type row struct {
		Status  RowStatus
		Outcome *Outcome
		Rows    int64
	}

	// A row that a person has decided about is counted by the decision.
	found, err := db.Select[row](ctx, tx, `
		select case when status = 'part' then status when decision = 'skip' then 'ignored'
			when decision in ('import', 'replace') and status in ('question', 'duplicate') then 'valid' else status end as status, outcome, count(*) as rows
		from csv_import_row where team_id = @team and import_id = @id group by 1, 2`,
		db.Args{"team": tx.Team, "id": s.ID})
	if err != nil {
		return fmt.Errorf("count the rows of an import: %w", err)
	}

	s.Counts, s.Outcomes = Counts{}, Outcomes{}

	for _, r := range found {
		s.Counts.add(r.Status, r.Rows)

		if r.Outcome != nil {
			s.Outcomes.add(*r.Outcome, r.Rows)
		}
	}

	s.Totals, err = loadTotals(ctx, tx, s.ID)

	return err
}

// add counts rows.
func (c *Counts) add(status RowStatus, rows int64) {
	c.Rows += rows
	*map[RowStatus]*int64{
		Valid: &c.Valid, Faulty: &c.Faulty, Duplicate: &c.Duplicates,
		Question: &c.Questions, Ignored: &c.Ignored, PartRow: &c.Parts,
	}[status] += rows
}

// add counts records.
func (o *Outcomes) add(outcome Outcome, rows int64) {
	*map[Outcome]*int64{
		Created: &o.Created, Updated: &o.Updated, Unchanged: &o.Unchanged,
		Skipped: &o.Skipped, Refused: &o.Failed, Reverted: &o.Undone,
	}[outcome] += rows
}

// loadTotals returns the sums of an import's amounts, by status, outcome and currency.
func loadTotals(ctx context.Context, tx *db.Tx, one id.ID) ([]Total, error) {
	found, err := db.Select[Total](ctx, tx, `
		select status, outcome, currency, count(*) as rows, sum(amount)::bigint as amount from csv_import_row
		where team_id = @team and import_id = @id and amount is not null and currency is not null
		group by status, outcome, currency order by currency, status, outcome`, db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return nil, fmt.Errorf("add up the rows of an import: %w", err)
	}

	return found, nil
}

const (
	keepPreview  = 14 * 24 * time.Hour  // How long a preview is kept without a confirmation, with its rows.
	keepImported = 400 * 24 * time.Hour // How long the rows of an import are kept. The import itself stays.
)

// purge deletes old rows and imports that were never confirmed.
func purge(ctx context.Context, d *db.DB) error {
	// One import at a time, in steps of 5000 rows, until there is nothing left to delete.
	return d.Repeat(ctx, 1, db.Stmt{SQL: `
		with old as materialized (select team_id, id from csv_import where purge_at < @now order by purge_at limit 1),
		chosen as materialized (
			select r.team_id, r.import_id, r.position from csv_import_row r join old on r.team_id = old.team_id and r.import_id = old.id limit 5000),
		gone as (
			delete from csv_import_row r using chosen c where r.team_id = c.team_id and r.import_id = c.import_id and r.position = c.position returning 1),
		over as (
			update csv_import i set purge_at = case when i.imported_at is null then i.purge_at else timestamptz '9999-01-01' end
			from old where i.team_id = old.team_id and i.id = old.id and not exists (select from chosen) and i.imported_at is not null returning 1),
		dropped as (
			delete from csv_import i using old where i.team_id = old.team_id and i.id = old.id and not exists (select from chosen) and i.imported_at is null
				returning 1)
		select (select count(*) from gone) + (select count(*) from over) + (select count(*) from dropped)`, Args: db.Args{"now": d.Now()}})
}
