package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
)

// How much of a dump is in memory at a time.
const (
	// A batch of records ends at one of these.
	atOnce      = 500
	bytesAtOnce = 4 << 20
	// Bytes of a record with the blanks before it: a template can name 5,000 accounts with keys as long as they may be.
	maxRecord = 1 << 20
	// Bytes of a statement, which can have 20,000 lines. With each text as long as it may be, a line of ASCII letters
	// has 1,500 bytes; usual lines have 250.
	maxStatement = 32 << 20
	// Bytes of the name of a list.
	maxName = 100
)

// section is a list of a dump: its name, and how its records are read.
type section struct {
	name string
	read func(ctx context.Context, r *reader) error
}

// sections returns the lists of a dump in their order: records name only records of earlier lists.
func sections() []section {
	return []section{
		{"accounts", list("accounts", maxRecord, (*reader).saveAccounts)},
		{"owners", list("owners", maxRecord, (*reader).saveOwners)},
		{"listings", list("listings", maxRecord, (*reader).saveListings)},
		{"connections", list("connections", maxRecord, (*reader).saveConnections)},
		{"reservations", list("reservations", maxRecord, (*reader).saveReservations)},
		{"templates", list("templates", maxRecord, (*reader).saveTemplates)},
		{"statements", list("statements", maxStatement, (*reader).saveStatements)},
	}
}

// read reads a dump and saves its records. It fails with 400 and the place of the record if the file is not a dump, and
// for a record that is too long before it fills the memory.
func (r *reader) read(ctx context.Context, from io.Reader) error {
	r.dump = &io.LimitedReader{R: from, N: maxRecord}
	r.decoder = json.NewDecoder(r.dump)

	if err := r.expect('{', "file"); err != nil {
		return err
	}

	left := sections()

	for r.more(maxRecord) {
		name, err := r.decoder.Token()
		if err != nil {
			return r.refuse(err, "file")
		}

		if text, _ := name.(string); len(text) > maxName {
			return errTooLong.Under("file")
		}

		// Lists can be missing, but their order is fixed, because later lists name records of earlier lists.
		at := 0
		for at < len(left) && left[at].name != name {
			at++
		}

		if at == len(left) {
			return apierr.BadRequest.At(apierr.IssueUnknownField.InBody(fmt.Sprint(name)))
		}

		if err := left[at].read(ctx, r); err != nil {
			return err
		}

		left = left[at+1:]
	}

	if err := r.expect('}', "file"); err != nil {
		return err
	}

	// Nothing may follow the object.
	r.dump.N = maxRecord
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) || r.dump.N <= 0 {
		return r.refuse(err, "file")
	}

	return nil
}

// more reports whether something follows in a list or an object, and lets it have so many bytes. It reports false at a
// fault, which the decoder returns again.
func (r *reader) more(most int64) bool {
	r.dump.N = most

	return r.decoder.More()
}

// list returns the function that reads a list, with records of at most so many bytes, and saves them in batches; from is
// the place of a batch's first record.
func list[T any](
	name string, most int64, save func(r *reader, ctx context.Context, from int, records []T) error,
) func(context.Context, *reader) error {
	form := api.NewForm[T]()

	return func(ctx context.Context, r *reader) error {
		if err := r.expect('[', name); err != nil {
			return err
		}

		var (
			records   []T
			from, sum int
		)

		// Save the batch and reuse its memory for the next batch.
		flush := func() error {
			if len(records) == 0 {
				return nil
			}

			err := save(r, ctx, from, records)
			from, sum, records = from+len(records), 0, records[:0]

			return err
		}

		for r.more(most) {
			var raw json.RawMessage
			if err := r.decoder.Decode(&raw); err != nil {
				return r.refuse(err, name, from+len(records))
			}

			// What was read ahead did not count.
			if int64(len(raw)) > most {
				return errTooLong.Under(name, from+len(records))
			}

			var record T
			if err := form.Decode(raw, r.tx.Today(), &record); err != nil {
				return under(err, name, from+len(records))
			}

			sum += len(raw)

			if records = append(records, record); len(records) == atOnce || sum >= bytesAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
		}

		// Blanks without an end are found here, and stand for a record.
		if err := r.expect(']', name, from+len(records)); err != nil {
			return err
		}

		return flush()
	}
}

// expect reads the beginning or the end of a list or an object, which has a place in the dump.
func (r *reader) expect(want json.Delim, place ...any) error {
	got, err := r.decoder.Token()
	if err != nil || got != want {
		return r.refuse(err, place...)
	}

	return nil
}

// errTooLong refuses a record, the name of a list, or the blanks between them. Under says which.
var errTooLong = apierr.BadRequest.At(apierr.IssueLength.InBody())

// refuse returns the refusal of what cannot be read at a place of a dump: it is too long, no JSON, or of another form.
// It keeps a cause that is a refusal already, such as a file that is too large.
func (r *reader) refuse(cause error, place ...any) error {
	isEnd := errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF)

	switch {
	case apierr.IsRefusal(cause):
		return cause
	case isEnd && r.dump.N <= 0: // Not the dump has ended, but the bytes that it may have here.
		return errTooLong.Under(place...)
	default:
		return apierr.MalformedJSON.Because(cause)
	}
}

// under returns a refusal with the place of a record before the path of each issue, and any other error unchanged.
func under(err error, path ...any) error {
	if !apierr.IsRefusal(err) {
		return err
	}

	return apierr.From(err).Under(path...)
}
