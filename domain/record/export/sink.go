package export

import (
	"context"
	"io"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Sink takes the bytes of an export and counts its progress. A row of a CSV counts as one, and so does a document
// of a PDF or ZIP.
type Sink struct {
	io.Writer

	done, total int64
	save        func(done, total int64) error
	now         func() time.Time
	savedAt     time.Time // when progress was last saved
	due         int64     // the count from which the clock is read again
}

const (
	// The least time between two saves of the progress: short enough to watch, long enough to cost nothing.
	saveEvery = time.Second
	// About how often the clock is read during one export.
	clockReads = 1000
)

// Count counts finished rows or documents. It fails if the progress cannot be saved, because then the result of the
// work could not be saved either.
func (s *Sink) Count(n int64) error {
	s.done += n
	if s.save == nil || s.done < s.due {
		return nil
	}

	// Reading the clock for every row would cost more than writing the row.
	s.due = s.done + s.total/clockReads

	now := s.now()
	if now.Sub(s.savedAt) < saveEvery {
		return nil
	}

	s.savedAt = now

	return s.save(s.done, s.total)
}

// newProgressSink returns a sink that saves its progress in an operation. It saves the total first.
func newProgressSink(ctx context.Context, d *db.DB, scope db.Scope, op id.ID, total int64) (*Sink, error) {
	// Saving progress relies on nothing that exclusive work changes, and must not fail because of such work: then the
	// export would fail too.
	scope.Ungated = true
	s := &Sink{total: total, now: d.Now, savedAt: d.Now()}
	s.save = func(done, total int64) error {
		return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			return operation.Advance(ctx, tx, op, done, total)
		})
	}

	return s, s.save(0, total)
}
