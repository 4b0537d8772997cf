package ledger

import (
	"sync/atomic"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// ErrFrozen is the refusal of the lock of the tests: one kind of lock more, on July 2019, made known to the list of
// rules and nowhere else.
var ErrFrozen = apierr.New(apierr.CodeForbidden, apierr.ReasonSelfModification, "A lock of a test holds July 2019")

// Frozen lets the lock of the tests refuse writes. Until then a test can write what the lock is to hold; readers see it
// from the start.
var Frozen atomic.Bool

var _ = freeze()

func freeze() bool {
	last, err := day.Parse("2019-07-31")
	if err != nil {
		panic(err)
	}

	first := last.FirstOfMonth()

	lockRules = append(lockRules, lockRule{
		refusals: []*apierr.Error{ErrFrozen}, day: "? between '2019-07-01' and '2019-07-31'",
		holds: func(_ Closing, p *Touched) error {
			if !Frozen.Load() || !p.isReported() || p.TxnAt.Before(first) || p.TxnAt.After(last) {
				return nil
			}

			return ErrFrozen.With(LockContext{LockReason: "period", openFrom: new(last.AddDays(1))})
		},
	})

	return true
}

// The bounds of a round of Replace, and how its sources are cut into rounds.
const (
	ChunkLines   = chunkLines
	ChunkSources = chunkSources
)

var Chunk = chunk
