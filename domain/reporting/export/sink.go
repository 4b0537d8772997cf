package export

import (
	"context"
	"io"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Sink takes the bytes of an export and is told how far it is: a row of a CSV and a document of a PDF or ZIP count as
// one.
type Sink struct {
	io.Writer

	done, total int64
	tell        func(done, total int64) error
	now         func() time.Time
	told        time.Time // when
	due         int64     // what must be done before the clock is looked at again
}

const (
	// How often progress is written down: often enough to watch, seldom enough to cost nothing.
	tellEvery = time.Second
	// About how often the clock is looked at in the course of an export.
	looks = 1000
)

// Did counts finished rows or documents. It fails when the progress cannot be kept, which is when the work could not be
// settled either.
func (s *Sink) Did(n int64) error {
	s.done += n
	if s.tell == nil || s.done < s.due {
		return nil
	}

	s.due = s.done + s.total/looks

	now := s.now()
	if now.Sub(s.told) < tellEvery {
		return nil
	}

	s.told = now

	return s.tell(s.done, s.total)
}

// telling is a sink that tells an operation how far it is, beginning with how much there is.
func telling(ctx context.Context, d *db.DB, scope db.Scope, op id.ID, total int64) (*Sink, error) {
	scope.Ungated = true // the note relies on nothing that exclusive work changes, and the export must not fail because of one that is refused
	s := &Sink{total: total, now: d.Now, told: d.Now()}
	s.tell = func(done, total int64) error {
		return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return operation.Advance(ctx, tx, op, done, total) })
	}

	return s, s.tell(0, total)
}
