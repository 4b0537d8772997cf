package parts

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Check is a fact about stored data that an operator can have verified, above all after a restore. The noun that knows
// the fact declares it in its Part. A check only reads, and its memory does not grow with the rows.
type Check struct {
	// Name has small letters and hyphens.
	Name string
	// Fact says in a sentence, without its end, how a sound system has it.
	Fact string
	// Do counts the rows or files that it looks at and reports every fault. An error means that the fact could not be checked.
	Do func(ctx context.Context, v *Verification) error
}

// Fault is something that contradicts a check.
type Fault struct {
	TeamID id.ID  `json:"teamId"` // zero for what belongs to no team
	Table  string `json:"table"`
	ID     string `json:"id"`
	Detail string `json:"detail"`
}

// mostFaults is how many faults of a check are named; the others are counted.
const mostFaults = 20

// Result has the faults that a check has found.
type Result struct {
	// Checked counts the rows or files that were looked at, and Wrong those that contradict the fact.
	Checked int64 `json:"checked"`
	Wrong   int64 `json:"wrong"`
	// Faults are the first of them.
	Faults []Fault `json:"faults"`
}

// Find adds a fault to the result.
func (r *Result) Find(f Fault) {
	r.Wrong++
	if len(r.Faults) < mostFaults {
		r.Faults = append(r.Faults, f)
	}
}

// Verification is a check in progress.
type Verification struct {
	Result

	DB *db.DB
	// Team is the only team to look at; zero means all.
	Team id.ID
	// Hashes says that contents are read whole and compared with their hashes.
	Hashes bool
}

// checkTimeout bounds a statement of a check, which can read a whole table.
const checkTimeout = 2 * time.Hour

// Scope returns the scope of the check's transactions: row-level security holds them to the team, if there is one. So
// statements of checks need no condition on the team.
func (v *Verification) Scope() db.Scope {
	s := db.AcrossTeams()
	if !v.Team.IsZero() {
		s = db.Scope{Team: v.Team, Actor: db.Service}
	}

	s.Timeout = checkTimeout

	return s
}

// SQLCheck returns a check of rows in the database. The first statement counts them; the second one selects
// team_id, id (a text) and detail of each fault. Teams that are being deleted are left out: their rows go table by table.
func SQLCheck(name, fact, table, countSQL, faultsSQL string) Check {
	type row struct {
		TeamID     id.ID
		ID, Detail string
	}

	return Check{Name: name, Fact: fact, Do: func(ctx context.Context, v *Verification) error {
		return v.DB.Read(ctx, v.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
			// A transaction that was lost runs again, so it begins with an empty result.
			v.Result = Result{}
			if v.Checked, err = db.Get[int64](ctx, tx, countSQL, nil); err != nil {
				return err
			}

			return db.Each(ctx, tx, db.Stmt{SQL: `select team_id, id, detail from (` + faultsSQL + `) f
				where not exists (select from team t where t.id = f.team_id and t.freeze_reason = 'deletion') order by team_id, id`}, func(r row) error {
				v.Find(Fault{r.TeamID, table, r.ID, r.Detail})
				return nil
			})
		})
	}}
}
