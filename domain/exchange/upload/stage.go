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

// importArgs are the arguments of a job. A job that reads a file has none.
type importArgs struct {
	ImportID id.ID `json:"importId"`
}

const (
	headRows      = 40   // rows that are searched for the headers
	stageRows     = 2000 // rows that are read and saved together
	shownExamples = 3    // texts that a column shows
)

// failures lists faults of a file for which a preview fails, with their codes.
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

// findFailure returns the failure of a preview for a cause, and its issues. It returns false if the fault is not in the
// file.
func findFailure(cause error) (operation.FailureCode, []Issue, bool) {
	for _, f := range failures {
		if !errors.Is(cause, f.cause) {
			continue
		}

		if at, ok := errors.AsType[*headerError](cause); ok {
			return f.code, at.issues(f.code), true
		}

		issue := Issue{Code: string(f.code), Severity: asError}

		if at, ok := errors.AsType[*table.Error](cause); ok {
			issue.Line, issue.Column = at.Line, at.Column
		}

		return f.code, []Issue{issue}, true
	}

	return "", nil, false
}

// stager reads a file into its preview.
type stager struct {
	*service

	job  job.Job
	it   *stored
	kind *kind
	// sheet is the result of the first reading, nil before.
	sheet *sheet
}

// stage reads a file into its preview. If a worker dies, the next attempt begins anew. A fault in the file fails the
// preview and ends the job.
func (s *service) stage(ctx context.Context, d *db.DB, j job.Job) error {
	args, err := decodeArgs(j)
	if err != nil {
		return err
	}

	st := &stager{service: s, job: j}
	if st.it, err = s.begin(ctx, d, j, args.ImportID); err != nil || st.it == nil {
		return err
	}

	st.kind = s.kinds[st.it.Kind]

	err = st.run(ctx, d)
	if code, issues, isFault := findFailure(err); isFault {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			return st.fail(ctx, tx, code, issues, err)
		})
	}

	return err
}

// begin claims an import for this attempt and returns it, or nil if there is nothing left to read.
func (s *service) begin(ctx context.Context, d *db.DB, j job.Job, one id.ID) (it *stored, err error) {
	err = d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		if it, err = lock(ctx, tx, one); err != nil {
			return err
		}

		if it.Status != Reading {
			it = nil
			return job.Done(ctx, tx, j)
		}

		it.Attempt, it.Step = int(j.Attempt), 0

		return update(ctx, tx, it)
	})

	return it, err
}

// fail ends the preview of a file that cannot be read. It saves the columns that were found, so that a person can map
// them.
func (st *stager) fail(ctx context.Context, tx *db.Tx, code operation.FailureCode, issues []Issue, cause error) error {
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

	it.Status, it.Issues, it.Counts = Failed, issues, Counts{}
	if err := update(ctx, tx, it); err != nil {
		return err
	}

	return endFailed(ctx, tx, j, code, cause)
}

// endFailed ends a job and fails its operation.
func endFailed(ctx context.Context, tx *db.Tx, j job.Job, code operation.FailureCode, cause error) error {
	if err := operation.GiveUp(ctx, tx, j, operation.FailAs(code, cause)); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// open opens the file of an import, and returns a function that closes it.
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

// readerAt makes a seeking reader an io.ReaderAt, for a single goroutine.
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

// run reads the file twice: first to find out what its columns hold, then to save its rows.
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

	// Save the columns now, so that people see them while the rows are read.
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

// errTaken stops an attempt because another attempt works on the import, or because it was canceled.
var errTaken = errors.New("upload: another attempt reads the file, or it was canceled")

// write runs a step in a transaction that also saves the import. It fails with errTaken if this attempt has lost the
// import.
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

// readState is what reading the rows carries from page to page.
type readState struct {
	reader *reader
	judge  *judge
	// heads are the first rows of records, by group. ordinals counts how often a key has come.
	heads    map[string][]groupHead
	ordinals map[string]int
	// sum is the balance so far of the journal that is being read, for files that do not number journals. head is its
	// first row.
	sum  int64
	head int
	// at counts the rows, with those before and in the headers.
	at int
	// contents are hashes of records by key, for kinds with isOnce.
	contents map[string]string
	// late has the first rows of records that continue on a later page.
	late map[int]bool
}

// saveRows reads the rows and saves them page by page.
func (st *stager) saveRows(ctx context.Context, d *db.DB, r *table.Reader) error {
	s := &readState{
		heads: map[string][]groupHead{}, ordinals: map[string]int{}, late: map[int]bool{}, contents: map[string]string{},
	}
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

			// After the last page, finish what needs all rows.
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
func (st *stager) readPage(r *table.Reader, s *readState) ([]*cells, error) {
	var rows []*cells

	for len(rows) < stageRows {
		row, err := r.Next()
		if err != nil {
			return rows, err
		}

		if s.at++; s.at <= st.sheet.skip {
			continue
		}

		c := &cells{
			position: s.at - st.sheet.skip, line: row.Line,
			texts: slices.Clone(row.Cells), plain: slices.Clone(row.Plain),
		}
		for i, text := range c.texts {
			if strings.Contains(text, cellEnd) {
				c.texts[i] = strings.ReplaceAll(text, cellEnd, " ")
			}
		}

		rows = append(rows, c)
	}

	return rows, nil
}

// prepare makes the reader and the judge, which load settings of the team.
func (st *stager) prepare(ctx context.Context, tx *db.Tx, s *readState) (err error) {
	if s.reader, err = st.reader(ctx, tx, st.it); err != nil {
		return err
	}

	s.judge, err = newJudge(ctx, tx, s.reader, st.it.SourceID)

	return err
}

// reader returns a reader for the rows of an import.
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

	// A header is more specific than the account, and a mapping by a person decides.
	r.currency, r.startAt = found.Currency, found.StartAt
	if it.Form.Currency != "" {
		r.currency = it.Form.Currency
	}

	if it.Mapping != nil && it.Mapping.Currency != "" {
		r.currency = strings.ToLower(it.Mapping.Currency)
	}

	// Lines may have types instead of accounts. A system has mappings of its own.
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
func (st *stager) savePage(ctx context.Context, tx *db.Tx, s *readState, page []*cells) error {
	for _, c := range page {
		s.reader.ask(c)
	}

	if err := s.reader.names.load(ctx, tx); err != nil {
		return err
	}

	// A row gets its status from the record that begins with it. Parts keep theirs.
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

// judgeLate judges records again if their rows are on several pages.
func (st *stager) judgeLate(ctx context.Context, tx *db.Tx, s *readState) error {
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

		// Forget the first matches. A key that has changed with the late rows needs another number.
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

// settle sets the status, key, match, issues and amount of a row from the record that begins with it.
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

// mostIssues bounds how many issues are saved with their rows. Issues of all rows are counted.
const mostIssues = 1000

// count counts rows and their issues.
func (st *stager) count(rows []*storedRow) {
	st.it.countIssues(rows, 1)

	for _, row := range rows {
		st.it.Counts.add(row.Status, 1)

		// Beyond the bound, reading the row again finds its issues.
		st.it.IssueCounts[""] += int64(len(row.Issues))
		if st.it.IssueCounts[""] > mostIssues && row.Status != Question {
			row.Issues = nil
		}
	}
}

// finish ends the reading. A file with rows is ready, or for a connection goes on to be imported.
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

	// Rows for a connection are imported without a confirmation, by the next job of the same operation.
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
