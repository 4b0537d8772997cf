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

// atOnce is how many records are in memory at a time, and linesAtOnce how many statement lines.
const (
	atOnce      = 500
	linesAtOnce = 10_000
)

// section is a list of a dump: its name, and how its records are read.
type section struct {
	name string
	read func(ctx context.Context, r *reader) error
}

// sections returns the lists of a dump in their order: records name only records of earlier lists.
func sections() []section {
	return []section{
		{"accounts", list("accounts", (*reader).saveAccounts)},
		{"owners", list("owners", (*reader).saveOwners)},
		{"listings", list("listings", (*reader).saveListings)},
		{"connections", list("connections", (*reader).saveConnections)},
		{"reservations", list("reservations", (*reader).saveReservations)},
		{"templates", list("templates", (*reader).saveTemplates)},
		{"statements", list("statements", (*reader).saveStatements)},
	}
}

// read reads a dump and saves its records. It fails with 400 and the place of the record if the file is not a dump.
func (r *reader) read(ctx context.Context) error {
	if err := r.expect('{'); err != nil {
		return err
	}

	left := sections()

	for r.decoder.More() {
		name, err := r.decoder.Token()
		if err != nil {
			return r.refuseMalformed(err)
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

	if err := r.expect('}'); err != nil {
		return err
	}

	// Nothing may follow the object.
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return r.refuseMalformed(err)
	}

	return nil
}

// list returns the function that reads a list and saves its records in batches; from is the place of a batch's first
// record.
func list[T any](
	name string, save func(r *reader, ctx context.Context, from int, records []T) error,
) func(context.Context, *reader) error {
	form := api.NewForm[T]()

	return func(ctx context.Context, r *reader) error {
		if err := r.expect('['); err != nil {
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

		for r.decoder.More() {
			var raw json.RawMessage
			if err := r.decoder.Decode(&raw); err != nil {
				return r.refuseMalformed(err)
			}

			var record T
			if err := form.Decode(raw, r.tx.Today(), &record); err != nil {
				return under(err, name, from+len(records))
			}

			// A statement can have 20,000 lines, so batches of statements are bounded by lines too.
			if s, is := any(&record).(*Statement); is {
				sum += len(s.Lines)
			}

			if records = append(records, record); len(records) == atOnce || sum >= linesAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
		}

		if err := flush(); err != nil {
			return err
		}

		return r.expect(']')
	}
}

// expect reads the beginning or the end of a list or an object.
func (r *reader) expect(want json.Delim) error {
	got, err := r.decoder.Token()
	if err != nil || got != want {
		return r.refuseMalformed(err)
	}

	return nil
}

// refuseMalformed returns the refusal of a dump that is not JSON or has another form. It keeps a cause that is a
// refusal already, such as a file that is too large.
func (*reader) refuseMalformed(cause error) error {
	if apierr.IsRefusal(cause) {
		return cause
	}

	return apierr.MalformedJSON.Because(cause)
}

// under returns a refusal with the place of a record before the path of each issue, and any other error unchanged.
func under(err error, path ...any) error {
	if !apierr.IsRefusal(err) {
		return err
	}

	return apierr.From(err).Under(path...)
}
