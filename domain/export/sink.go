package export

import (
	"context"
	"io"
	"time"

	"stayledger/domain/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Sink takes the bytes of an export and is told how far it is: a row of a CSV and a document of a PDF or ZIP count as one.
type Sink struct {
	io.Writer

	done, total int64
	told        time.Time
	now         func() time.Time
	tell        func(done, total int64) error
}

// tellEvery is how often progress is written down: often enough to watch, seldom enough to cost nothing.
const tellEvery = time.Second

// Did counts finished rows or documents. It fails when the progress cannot be kept, which is when the work cannot be settled either.
func (s *Sink) Did(n int64) error {
	s.done += n
	if s.tell == nil || s.done&255 != 0 && n == 1 {
		return nil
	}
	now := s.now()
	if now.Sub(s.told) < tellEvery {
		return nil
	}
	s.told = now
	return s.tell(s.done, s.total)
}

// progress makes a sink tell an operation how far it is.
func (s *Sink) progress(ctx context.Context, d *db.DB, scope db.Scope, op id.ID) {
	s.now, s.told = d.Now, d.Now()
	s.tell = func(done, total int64) error {
		return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return operation.Advance(ctx, tx, op, done, total) })
	}
}
