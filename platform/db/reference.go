package db

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"stayledger/platform/id"
)

// Reference is data of teams that most requests need and that seldom changes, such as settings, assignments and
// mappings. A process keeps it by team, together with the version on the team's row that it was loaded under. Every
// change of the tables that it may be made of gives the team a version that was never there before (triggers of migration
// 0117), so data kept under the version that a transaction finds equals the data that it would load.
type Reference[T any] struct {
	load func(context.Context, *Tx) (T, int64, error)
	mu   sync.RWMutex
	kept map[id.ID]versioned[T]
}

type versioned[T any] struct {
	version int64
	value   T
}

// keptTeams bounds the teams in the memory of a process.
const keptTeams = 1000

// NewReference returns reference data without that of any team. The load reads the data of the selected team and
// VersionSQL in one statement, since only then they belong together. Data with the version 0 is not kept.
func NewReference[T any](load func(context.Context, *Tx) (value T, version int64, err error)) *Reference[T] {
	return &Reference[T]{load: load, kept: map[id.ID]versioned[T]{}}
}

// VersionSQL is the version of the reference data of the team @team. A transaction that reads it along with other
// rows hands it to SeeVersion.
const VersionSQL = `(select reference_version from team where team_id = @team)`

// Load returns the data of the selected team, which others hold too: it must not be changed. It sends nothing while the
// version is known and the data of that version is kept.
func (r *Reference[T]) Load(ctx context.Context, tx *Tx) (value T, err error) {
	r.mu.RLock()
	kept, found := r.kept[tx.Team]
	r.mu.RUnlock()

	if found && tx.assume(kept.version) {
		return kept.value, nil
	}

	version, err := tx.loadVersion(ctx)
	if err != nil {
		return value, err
	}

	if found && kept.version == version {
		return kept.value, nil
	}

	value, version, err = r.load(ctx, tx)
	if err != nil {
		return value, err
	}

	tx.SeeVersion(version)
	r.keep(tx.Team, versioned[T]{version, value})

	return value, nil
}

// keep remembers the data of a team under its version. Of two versions the greater is the later one; a transaction may
// load an older one after it, because it began before.
func (r *Reference[T]) keep(team id.ID, v versioned[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if v.version == 0 || r.kept[team].version > v.version {
		return
	}

	if len(r.kept) >= keptTeams {
		clear(r.kept)
	}

	r.kept[team] = v
}

// seen is the version of a team's reference data that a transaction has found; the zero value is none.
type seen struct {
	team    id.ID
	version int64
}

// SeeVersion says which version of the selected team's reference data a read has found in its snapshot. A write knows
// the version from the gate until it writes; what another statement has read may be of before that.
func (tx *Tx) SeeVersion(version int64) {
	if !tx.mode.writes() {
		tx.seen = seen{tx.Team, version}
	}
}

// errAssumed says that a write began with reference data that is out of date.
var errAssumed = errors.New("the reference data of a team has changed")

// assume lets a write that has not begun work with the version that the process has: it finds the version of the team at
// its gate. If that is another one, or the work fails before it, the work is run again from the start, without assuming
// anything.
func (tx *Tx) assume(version int64) bool {
	if tx.started || tx.certain || !tx.mode.writes() || !tx.settings.gate.asksTeam() || tx.settings.gate.team != tx.Team {
		return false
	}

	if tx.assumed == 0 {
		tx.assumed = version
	}

	return tx.assumed == version
}

// isAssumptionWrong reports whether the version at the gate is another one than the transaction began with, or work that
// has ended never came there.
func (tx *Tx) isAssumptionWrong() bool {
	return tx.assumed != 0 && (!tx.started || tx.atGate != 0 && tx.atGate != tx.assumed)
}

// loadVersion returns the version of the selected team's reference data, and reads it unless it is known.
func (tx *Tx) loadVersion(ctx context.Context) (int64, error) {
	// A write that has not begun finds the version at its gate, and in a read another work may have asked for it just
	// now: it waits for the round trip of the other works.
	if atGate := !tx.started && tx.mode.writes() && tx.settings.gate.asksTeam(); atGate || tx.asked {
		if _, err := tx.exchangeOne(ctx, &request{}); err != nil {
			return 0, err
		}
	}

	if tx.seen.version != 0 && tx.seen.team == tx.Team {
		return tx.seen.version, nil
	}

	tx.asked = !tx.mode.writes()
	version, err := Get[int64](ctx, tx, `select `+VersionSQL, Args{"team": tx.Team})
	tx.asked = false

	if err != nil {
		return 0, fmt.Errorf("read the version of a team's reference data: %w", err)
	}

	tx.SeeVersion(version)

	return version, nil
}

// referenceTables are the tables that reference data is made of: those with triggers that raise the version.
const referenceTables = `account|account_assignment|account_category|connection|fee|fee_condition|fee_reference|migration|reservation_line_mapping|tax_rate|team`

var (
	changesReference = regexp.MustCompile(`\b(?:insert\s+into|update|delete\s+from)\s+(?:` + referenceTables + `)\b`)
	changing         sync.Map // text of a statement → whether it changes reference data
)

// forgetVersion makes the transaction read the version again once it has changed reference data itself, or has undone
// that.
func (tx *Tx) forgetVersion(sent ...*request) {
	for _, r := range sent {
		for _, s := range r.stmts {
			// The texts of selects, those of lists with their filters, are not remembered.
			if strings.HasPrefix(strings.TrimSpace(s.SQL), "select") {
				continue
			}

			changes, known := changing.Load(s.SQL)
			if !known {
				changes = changesReference.MatchString(s.SQL) || strings.HasPrefix(s.SQL, "rollback to")
				changing.Store(s.SQL, changes)
			}

			if changes == true {
				tx.seen = seen{}
			}
		}
	}
}
