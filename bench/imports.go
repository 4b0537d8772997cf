package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/domain/record/intake"
	"stayledger/platform/id"
)

// The rows of the two imported files. Importing the longer file must not need more memory.
const fewImported, manyImported = 10_000, 200_000

// imports compares the preview of a bank file with a COPY of its rows, and its import with the intake of as many
// records from a system. It also compares the memory of both at two sizes.
func imports(ctx context.Context, b *bed) ([]Metric, error) {
	kinds := intakeKinds()
	kind := &kinds[2]

	l, err := b.loadListed(ctx, b.teams[intakeName])
	if err != nil {
		return nil, err
	}

	few, err := b.importFile(ctx, fewImported, 0)
	if err != nil {
		return nil, err
	}

	many, err := b.importFile(ctx, manyImported, 1)
	if err != nil {
		return nil, err
	}

	copied, err := b.copyImported(ctx, many.id)
	if err != nil {
		return nil, err
	}

	// Last the rate of the intake for as many records, in a team of its own.
	seconds, err := b.takeIn(ctx, newPages(kind, l, manyImported), intake.Done)
	if err != nil {
		return nil, err
	}

	intakeRate := manyImported / seconds
	detail := map[string]any{
		"rows": manyImported, "previewPerSecond": manyImported / many.preview, "copyPerSecond": manyImported / copied,
		"importPerSecond": manyImported / many.taken, "importPerSecondOfFew": fewImported / few.taken,
		"intakePerSecond": intakeRate, "peakMiB": many.peak, "peakMiBOfFew": few.peak, "firstPageSeconds": many.first,
	}

	return []Metric{
		atLeast("imports_preview_ratio", copied/many.preview, 0.25, detail),
		atLeast("imports_confirm_ratio", manyImported/many.taken/intakeRate, 0.8, detail),
		atMost("imports_peak_growth_mib", many.peak-few.peak, 32, detail),
		atMost("imports_first_page_s", many.first, 2, detail),
	}, nil
}

// importResult has the times of importing a file, in seconds, and the peak of resident memory in MiB.
type importResult struct {
	id                    id.ID
	first, preview, taken float64
	peak                  float64
}

// importFile uploads a file of bank records, waits for its preview and imports it.
func (b *bed) importFile(ctx context.Context, rows, salt int) (r importResult, err error) {
	t := b.teams[batchName]

	l, err := b.loadListed(ctx, t)
	if err != nil {
		return r, err
	}

	name, err := b.writeBankFile(rows, salt)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.Remove(name)) }()

	peak := watchMemory()
	defer func() { r.peak = peak() }()

	fields := map[string]string{"kind": "bank-records", "bankAccountId": l.bank.String()}
	if r.id, err = b.upload(ctx, t, name, fields); err != nil {
		return r, err
	}

	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return r, err
	}
	defer c.close()

	path := "/csv-imports/previews/" + r.id.String()
	size := int64(rows)
	began := time.Now()

	// The first page shows before all rows are read.
	if err := b.pollImport(ctx, c, path, func(i imported) bool { return i.Counts.Rows > 0 }); err != nil {
		return r, err
	}

	if _, err := c.send(c.request(http.MethodGet, path+"/rows?limit=50", ""), true); err != nil {
		return r, err
	}

	r.first = time.Since(began).Seconds()

	// Then wait until all rows are read, and import them.
	isReady := func(i imported) bool { return i.Status == "ready" && i.Counts.Valid == size }
	if err := b.pollImport(ctx, c, path, isReady); err != nil {
		return r, err
	}

	r.preview = time.Since(began).Seconds()
	began = time.Now()

	if _, err := c.send(c.request(http.MethodPost, path+"/confirm", "{}"), true); err != nil {
		return r, err
	}

	isDone := func(i imported) bool { return i.Status == "imported" && i.Outcomes.Created == size }
	err = b.pollImport(ctx, c, path, isDone)
	r.taken = time.Since(began).Seconds()

	return r, err
}

// imported has the fields of an import that pollImport waits for.
type imported struct {
	Status   string
	Counts   struct{ Rows, Valid int64 }
	Outcomes struct{ Created int64 }
}

// pollImport reads an import until it meets a condition. It fails if the import ends without meeting it.
func (b *bed) pollImport(ctx context.Context, c *client, path string, isMet func(imported) bool) error {
	ctx, stop := context.WithTimeout(ctx, 10*patience)
	defer stop()

	for {
		answer, err := c.send(c.request(http.MethodGet, path, ""), true)
		if err != nil {
			return err
		}

		var i imported
		if err := json.Unmarshal(answer, &i); err != nil {
			return fmt.Errorf("read an import: %w", err)
		}

		switch {
		case isMet(i):
			return nil
		case i.Status != "reading" && i.Status != "importing":
			return fmt.Errorf("the import is %s", answer)
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// writeBankFile writes a file with as many movements as rows. Files with another salt have other movements.
func (b *bed) writeBankFile(rows, salt int) (string, error) {
	name := filepath.Join(b.folder, fmt.Sprintf("bank-%d-%d.csv", rows, salt))

	file, err := os.Create(name) //nolint:gosec // The folder is the bed's.
	if err != nil {
		return "", fmt.Errorf("write a bank file: %w", err)
	}

	_, err = io.WriteString(file, "Posting Date,Description,Amount\n")

	for i := 0; i < rows && err == nil; i++ {
		day := time.Date(2025, 1, 1+i%700, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		_, err = fmt.Fprintf(file, "%s,\"Movement %d of file %d, card 4711\",%d.%02d\n",
			day, i, salt, 1+i+1_000_000*salt, i%100)
	}

	return name, errors.Join(err, file.Close())
}

// upload sends a file as a form, without holding it in memory, and returns the id of the preview.
func (b *bed) upload(ctx context.Context, t tenant, name string, fields map[string]string) (made id.ID, err error) {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)

	go func() { _ = to.CloseWithError(writeForm(form, name, fields)) }()

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.ours+"/csv-imports/previews", from)
	if err != nil {
		return made, fmt.Errorf("upload a file: %w", err)
	}

	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("X-Api-Key", t.secret)

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return made, fmt.Errorf("upload a file: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()

	var ack struct{ OperationID id.ID }

	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("upload a file: %s: %s", answer.Status, text)
	}

	if err == nil {
		err = json.Unmarshal(text, &ack)
	}

	return ack.OperationID, err
}

// writeForm writes fields and a file as a form.
func writeForm(form *multipart.Writer, name string, fields map[string]string) error {
	for field, value := range fields {
		if err := form.WriteField(field, value); err != nil {
			return fmt.Errorf("write a form: %w", err)
		}
	}

	file, err := os.Open(name) //nolint:gosec // The folder is the bed's.
	if err != nil {
		return fmt.Errorf("write a form: %w", err)
	}
	defer func() { _ = file.Close() }()

	part, err := form.CreateFormFile("file", filepath.Base(name))
	if err == nil {
		_, err = io.Copy(part, file)
	}

	if err == nil {
		err = form.Close()
	}

	return err
}

// copyImported returns how many seconds COPY takes to write the rows of an import, with the columns of a preview, into
// a table without keys and indexes.
func (b *bed) copyImported(ctx context.Context, one id.ID) (float64, error) {
	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	columns := "team_id, import_id, position, line, cells, plain, head, key, ordinal, status, amount, currency, " +
		"issues, decision, match_id, is_certain"

	var text strings.Builder
	if _, err := conn.PgConn().CopyTo(ctx, &text, fmt.Sprintf(
		`copy (select %s from csv_import_row where import_id = '%s' order by position) to stdout (format binary)`, columns, one)); err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	if _, err := conn.Exec(ctx, `create table bench_copy_imported as select `+columns+` from csv_import_row limit 0`); err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}

	began := time.Now()
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader(text.String()), `copy bench_copy_imported from stdin (format binary)`)

	return time.Since(began).Seconds(), err
}
