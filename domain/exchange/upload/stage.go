package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"stayledger/domain/activity/linemapping"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/table"
)

// stageKind names the jobs that read a file into its preview.
var stageKind = job.NewKind("upload.stage")

// importArgs are the arguments of the jobs of an import.
type importArgs struct {
	ImportID id.ID `json:"importId"`
}

const (
	// headRows are the rows among which the headers are looked for.
	headRows = 40
	// stageRows are the rows that are saved together.
	stageRows = 2000
	// shownExamples are the texts that a column shows.
	shownExamples = 3
)

// failures are the causes that a preview can fail for, with their codes.
var failures = []struct {
	cause error
	code  operation.FailureCode
}{
	{table.ErrEncoding, operation.CSVEncoding},
	{table.ErrMalformed, operation.CSVMalformed},
	{table.ErrDelimiter, operation.CSVDelimiter},
	{table.ErrTooManyColumns, operation.CSVTooManyColumns},
	{table.ErrTooLarge, operation.CSVTooLarge},
	{table.ErrEmpty, operation.CSVEmpty},
	{table.ErrNotTable, operation.FileNotStatement},
	{errBlankHeader, operation.CSVBlankHeader},
	{errDuplicateHeader, operation.CSVDuplicateHeader},
	{errMissingColumn, operation.CSVMissingColumn},
}

// The faults of headers.
var (
	errBlankHeader     = errors.New("upload: a column with texts has no header")
	errDuplicateHeader = errors.New("upload: two columns have the same header")
	errMissingColumn   = errors.New("upload: a column is missing")
)

// findFailure returns the failure of a preview for a cause, and its issue. It returns false for any
// other fault than one of the file.
func findFailure(cause error) (operation.FailureCode, Issue, bool) {
	for _, f := range failures {
		if !errors.Is(cause, f.cause) {
			continue
		}

		issue := Issue{Code: string(f.code), Severity: asError}

		if at, ok := errors.AsType[*table.Error](cause); ok {
			issue.Line, issue.Column = at.Line, at.Column
		}

		if at, ok := errors.AsType[*headerError](cause); ok {
			issue.Line, issue.Column, issue.Header, issue.Field = at.line, at.column, at.header, at.field
		}

		return f.code, issue, true
	}

	return "", Issue{}, false
}

// stager reads a file into its preview.
type stager struct {
	*service

	job  job.Job
	it   *stored
	kind *kind
	// sheet has the results of the first reading of the file.
	sheet *sheet
}

// stage reads a file into its preview. A worker that dies is followed by one that begins anew.
func (s *service) stage(ctx context.Context, d *db.DB, j job.Job) error {
	args, err := decodeArgs(j)
	if err != nil {
		return err
	}

	st := &stager{service: s, job: j}
	if st.it, err = s.begin(ctx, d, j, args.ImportID, Reading); err != nil || st.it == nil {
		return err
	}

	st.kind = s.kinds[st.it.Kind]

	err = st.run(ctx, d)
	if code, issue, isFault := findFailure(err); isFault {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return st.fail(ctx, tx, code, issue, err)
		})
	}

	return err
}

// begin marks an import as being worked on by this attempt, and returns it; nil if there is nothing to do any more.
func (s *service) begin(ctx context.Context, d *db.DB, j job.Job, one id.ID, status Status) (it *stored, err error) {
	err = d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		if it, err = lock(ctx, tx, one); err != nil {
			return err
		}

		if it.Status != status {
			it = nil
			return job.Done(ctx, tx, j)
		}

		if it.Attempt = int(j.Attempt); status == Reading {
			it.Step = 0
		}

		return update(ctx, tx, it)
	})

	return it, err
}

// fail ends the preview of a file that cannot be read. Columns that were found are saved, so that a person can say what
// they hold.
func (st *stager) fail(ctx context.Context, tx *db.Tx, code operation.FailureCode, issue Issue, cause error) error {
	j := st.job

	it, err := lock(ctx, tx, st.it.ID)
	if err != nil || it.Status != Reading {
		return errors.Join(err, job.Done(ctx, tx, j))
	}

	if err := deleteRows(ctx, tx, it.ID); err != nil {
		return err
	}

	if st.sheet != nil {
		it.Form, it.Columns = st.sheet.form, st.sheet.shown
	}

	it.Status, it.Issues, it.Counts = Failed, []Issue{issue}, Counts{}
	if err := update(ctx, tx, it); err != nil {
		return err
	}

	if err := operation.GiveUp(ctx, tx, j, operation.FailAs(code, cause)); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// open opens the file of an import.
func (s *service) open(ctx context.Context, d *db.DB, scope db.Scope, it *stored) (*table.Reader, func(), error) {
	object, err := file.Open(ctx, d, scope, s.store, it.FileID)
	if err != nil {
		return nil, nil, err
	}

	o := table.Options{}
	if it.Encoding != nil {
		o.Encoding = *it.Encoding
	}

	if it.Mapping != nil {
		o.Sheet, o.Encoding = it.Mapping.Sheet, cmp.Or(it.Mapping.Encoding, o.Encoding)
	}

	r, err := table.Open(&readerAt{object}, object.Size(), o)
	if err != nil {
		_ = object.Close()
		return nil, nil, err
	}

	return r, func() { _ = r.Close(); _ = object.Close() }, nil
}

// readerAt reads at places of what can seek. It is used by one goroutine.
type readerAt struct{ io.ReadSeeker }

// ReadAt reads as io.ReaderAt says.
func (r *readerAt) ReadAt(p []byte, off int64) (int, error) {
	if _, err := r.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}

	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}

	return n, err
}

// run reads the file twice: first for the fields of its columns, then for its rows.
func (st *stager) run(ctx context.Context, d *db.DB) error {
	scope := st.job.Scope()

	r, closeFile, err := st.open(ctx, d, scope, st.it)
	if err != nil {
		return err
	}

	st.sheet, err = readSheet(ctx, r, st.kind, st.it.Mapping)
	closeFile()

	if err != nil {
		return err
	}

	// Show the columns before the rows come.
	if err := st.saveColumns(ctx, d); err != nil {
		return err
	}

	if r, closeFile, err = st.open(ctx, d, scope, st.it); err != nil {
		return err
	}
	defer closeFile()

	return st.saveRows(ctx, d, r)
}

// saveColumns saves the fields of the columns.
func (st *stager) saveColumns(ctx context.Context, d *db.DB) error {
	return st.write(ctx, d, func(ctx context.Context, tx *db.Tx) error {
		if err := deleteRows(ctx, tx, st.it.ID); err != nil {
			return err
		}

		st.it.Form, st.it.Columns, st.it.Issues = st.sheet.form, st.sheet.shown, st.sheet.issues
		st.it.IssueCounts, st.it.Counts = map[string]int64{}, Counts{}

		prior, err := findPrior(ctx, tx, st.it)
		st.it.PriorID = prior

		return err
	})
}

// errTaken ends an attempt at an import that another attempt goes on with, or that was canceled.
var errTaken = errors.New("upload: another attempt reads the file, or it was canceled")

// write runs part of the reading in a transaction that saves the import. It fails with errTaken if the import is not
// this attempt's any more.
func (st *stager) write(ctx context.Context, d *db.DB, do db.Work) error {
	return d.Write(ctx, st.job.Scope(), func(ctx context.Context, tx *db.Tx) error {
		now, err := lock(ctx, tx, st.it.ID)
		if err != nil {
			return err
		}

		if now.Status != Reading || now.Attempt != st.it.Attempt || now.Step != st.it.Step {
			return job.Permanent(errTaken)
		}

		if err := do(ctx, tx); err != nil {
			return err
		}

		return update(ctx, tx, st.it)
	})
}

// staging has the state of reading the rows of a file.
type staging struct {
	reader *reader
	judge  *judge
	// heads are the first rows of records by their groups, ordinals how often a name has come.
	heads    map[string]int
	ordinals map[string]int
	// sum is the sum of the lines of the journal that is read, for files that do not number journals; head is its first
	// row.
	sum  int64
	head int
	at   int
	// contents are hashes of the records of kinds that have each one once, by name.
	contents map[string]string
	// late are the first rows of records that go on in a later page.
	late map[int]bool
}

// saveRows reads the rows and saves them page by page.
func (st *stager) saveRows(ctx context.Context, d *db.DB, r *table.Reader) error {
	s := &staging{heads: map[string]int{}, ordinals: map[string]int{}, late: map[int]bool{}, contents: map[string]string{}}
	isLast := false

	for !isLast {
		rows, err := st.readPage(r, s)
		if isLast = errors.Is(err, io.EOF); err != nil && !isLast {
			return err
		}

		err = st.write(ctx, d, func(ctx context.Context, tx *db.Tx) error {
			if s.reader == nil {
				if err := st.prepare(ctx, tx, s); err != nil {
					return err
				}
			}

			if err := st.savePage(ctx, tx, s, rows); err != nil || !isLast {
				return err
			}

			if err := st.judgeLate(ctx, tx, s); err != nil {
				return err
			}

			if err := noteUnmapped(ctx, tx, s.reader); err != nil {
				return err
			}

			return st.finish(ctx, tx)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// readPage reads the next rows. It returns io.EOF with the last ones.
func (st *stager) readPage(r *table.Reader, s *staging) ([]*cells, error) {
	var rows []*cells

	for len(rows) < stageRows {
		row, err := r.Next()
		if err != nil {
			return rows, err
		}

		if s.at++; s.at <= st.sheet.skip {
			continue
		}

		c := &cells{position: s.at - st.sheet.skip, line: row.Line, texts: slices.Clone(row.Cells), plain: slices.Clone(row.Plain)}
		for i, text := range c.texts {
			if strings.Contains(text, cellEnd) {
				c.texts[i] = strings.ReplaceAll(text, cellEnd, " ")
			}
		}

		rows = append(rows, c)
	}

	return rows, nil
}

// prepare makes the reader and the judge of the rows.
func (st *stager) prepare(ctx context.Context, tx *db.Tx, s *staging) (err error) {
	if s.reader, err = st.reader(ctx, tx, st.it); err != nil {
		return err
	}

	s.judge, err = newJudge(ctx, tx, s.reader, st.it.SourceID)

	return err
}

// reader returns the reader of the rows of an import.
func (s *service) reader(ctx context.Context, tx *db.Tx, it *stored) (*reader, error) {
	r := newReader(s.kinds[it.Kind], newColumns(s.kinds[it.Kind], it.Columns))
	r.account, r.negated, r.connection = it.BankAccountID, it.Form.Negated, it.ConnectionID

	type defaults struct {
		Currency string
		StartAt  *day.Day
	}

	found, err := db.Get[defaults](ctx, tx, `
		select coalesce((select a.banking_currency from account a where a.team_id = @team and a.id = @account), t.default_currency) as currency,
			t.statement_start_at as start_at
		from team t where t.id = @team`, db.Args{"team": tx.Team, "account": it.BankAccountID})
	if err != nil {
		return nil, fmt.Errorf("read the currency of a file: %w", err)
	}

	r.currency, r.startAt = found.Currency, found.StartAt
	if it.Form.Currency != "" {
		r.currency = it.Form.Currency
	}

	if it.Mapping != nil && it.Mapping.Currency != "" {
		r.currency = strings.ToLower(it.Mapping.Currency)
	}

	var app *string
	if it.ConnectionID != nil {
		if app, err = loadApp(ctx, tx, *it.ConnectionID); err != nil {
			return nil, err
		}
	}

	if r.has("lineType") && it.Kind == Transactions {
		mappings, err := linemapping.Load(ctx, tx)
		if err != nil {
			return nil, err
		}

		r.lineTypes = &mapped{set: mappings, appID: app}
	}

	return r, nil
}

// savePage reads rows as records, judges them and saves them.
func (st *stager) savePage(ctx context.Context, tx *db.Tx, s *staging, page []*cells) error {
	for _, c := range page {
		s.reader.ask(c)
	}

	if err := s.reader.names.load(ctx, tx); err != nil {
		return err
	}

	rows, records := s.gather(page)

	verdicts, err := s.judge.judge(ctx, tx, records)
	if err != nil {
		return err
	}

	for i := range records {
		at := records[i].position - page[0].position
		rows[at].settle(&records[i], &verdicts[i])
	}

	st.count(rows)

	if n := len(rows); n > 0 {
		st.it.Step = int64(rows[n-1].Position)
	}

	return insertRows(ctx, tx, st.it.ID, rows)
}

// judgeLate judges records again that have rows in several pages.
func (st *stager) judgeLate(ctx context.Context, tx *db.Tx, s *staging) error {
	if len(s.late) == 0 {
		return nil
	}

	for positions := range slices.Chunk(slices.Sorted(maps.Keys(s.late)), takeRows) {
		rows, err := loadRecords(ctx, tx, st.it.ID, positions)
		if err != nil {
			return err
		}

		heads, records, err := s.reader.records(ctx, tx, rows)
		if err != nil {
			return err
		}

		st.it.countIssues(heads, -1)

		// A name that has changed with the late rows has another number. Earlier findings are found again.
		for i, head := range heads {
			if head.MatchID != nil {
				delete(s.judge.taken, *head.MatchID)
			}

			if *head.Key != records[i].key {
				records[i].ordinal = s.ordinals[records[i].key]
				s.ordinals[records[i].key]++
			}
		}

		verdicts, err := s.judge.judge(ctx, tx, records)
		if err != nil {
			return err
		}

		for i, head := range heads {
			head.settle(&records[i], &verdicts[i])
		}

		st.it.countIssues(heads, 1)

		if err := updateRows(ctx, tx, heads); err != nil {
			return err
		}
	}

	return countRows(ctx, tx, st.it)
}

// gather returns the rows of a page and the records among them. Rows that belong to a record of an earlier page are
// parts of it, which is judged again when it is taken in.
func (s *staging) gather(page []*cells) (rows []*storedRow, records []keyed) {
	at := map[int]*record{}

	var heads []*record

	for _, c := range page {
		rec := s.reader.read(c)
		row := &storedRow{Row: Row{Position: c.position, Line: c.line, Cells: c.texts, Status: PartRow}, Plain: c.plain}
		rows = append(rows, row)

		if isFooter(rec, c) {
			rec.ignored, rec.issues = "total", nil
		}

		if head := s.findHead(rec); head > 0 {
			if row.Head = &head; at[head] != nil {
				at[head].parts = append(at[head].parts, rec)
			} else {
				s.late[head] = true
			}

			continue
		}

		at[c.position] = rec
		heads = append(heads, rec)
	}

	for _, rec := range heads {
		if rec.ignored == "" {
			s.reader.finish(rec)
		}

		k := keyed{record: rec}
		k.key, k.isNamed = rec.key(s.reader)
		k.ordinal = s.ordinals[k.key]
		s.ordinals[k.key]++

		// A record that is in the file twice is a duplicate of itself if it says the same.
		if k.isNamed && rec.kind.isOnce {
			content := rec.contentKey()
			k.isRepeated = k.ordinal > 0 && s.contents[k.key] == content

			if k.ordinal == 0 {
				s.contents[k.key] = content
			}
		}

		records = append(records, k)
	}

	return rows, records
}

// isFooter reports whether a row is a sum below the others and no record.
func isFooter(rec *record, c *cells) bool {
	hasDate := false

	for i := range rec.kind.fields {
		hasDate = hasDate || rec.kind.fields[i].typ == typeDate && rec.value[i] != nil
	}

	return !hasDate && table.IsTotal(&table.Row{Line: c.line, Cells: c.texts})
}

// findHead returns the first row of the record that a row belongs to, 0 if the row is the first.
func (s *staging) findHead(rec *record) int {
	k := rec.kind
	if k.lines == "" || rec.ignored != "" {
		return 0
	}

	if group := s.reader.group(rec); group != "" {
		// A booking of two houses has rows for each under one code.
		apart := group + rec.apart()
		if head := s.heads[apart]; head > 0 {
			return head
		}

		// Rows that have the code alone belong to the stay before them.
		s.heads[group], s.heads[apart] = rec.position, rec.position

		return 0
	}

	// A journal without a number ends where debits and credits are equal.
	if k.name != JournalEntries {
		return 0
	}

	if s.sum == 0 {
		s.head = rec.position
	}

	s.sum += rec.cents("amount") + rec.cents("debit") - rec.cents("credit")

	if s.head == rec.position {
		return 0
	}

	return s.head
}

// settle sets the columns of a row from the record that begins with it.
func (w *storedRow) settle(k *keyed, v *verdict) {
	w.Status, w.Key, w.Ordinal, w.MatchID, w.IsCertain = v.status, &k.key, k.ordinal, v.match, v.isCertain
	w.Issues, w.Reason = k.issues, nil

	if k.ignored != "" {
		w.Reason = &k.ignored
	}

	// People and houses have no amount.
	if k.kind.name != Contacts && k.kind.name != Listings {
		amount, currency := int64(k.amount), k.currency
		w.Amount, w.Currency = &amount, &currency
	}
}

// mostIssues is how many rows keep their issues at least; issues of all rows are counted.
const mostIssues = 1000

// count counts rows and their issues.
func (st *stager) count(rows []*storedRow) {
	st.it.countIssues(rows, 1)

	for _, row := range rows {
		st.it.Counts.add(row.Status, 1)

		// Beyond the bound issues are found again when the row is read.
		if st.it.IssueCounts[""] += int64(len(row.Issues)); st.it.IssueCounts[""] > mostIssues && row.Status != Question {
			row.Issues = nil
		}
	}
}

// finish ends the reading.
func (st *stager) finish(ctx context.Context, tx *db.Tx) error {
	delete(st.it.IssueCounts, "")

	totals, err := loadTotals(ctx, tx, st.it.ID)
	if err != nil {
		return err
	}

	st.it.Totals = totals

	if st.it.Status = Ready; st.it.Counts.Rows == 0 {
		return &table.Error{Err: table.ErrEmpty}
	}

	// The rows of a connection's file are imported without being asked for.
	if st.it.IsAutomatic {
		st.it.Status, st.it.Step = Importing, 0

		next := job.New{Kind: st.kind.job(), Args: importArgs{st.it.ID}, OperationID: st.it.ID, Priority: 1}
		if err := job.Insert(ctx, tx, next); err != nil {
			return err
		}

		return job.Done(ctx, tx, st.job)
	}

	operation.Settle(tx, st.job)

	return operation.Advance(ctx, tx, st.it.ID, st.it.Counts.Rows, st.it.Counts.Rows)
}
