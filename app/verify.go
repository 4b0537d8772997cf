package app

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"stayledger/domain/record/proof"
	"stayledger/migrations"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Verification says what to verify.
type Verification struct {
	// Team is the only team to look at; zero means all.
	Team id.ID
	// Hashes says that files are read whole and compared with their hashes.
	Hashes bool
	// Progress is called with the share of checks that are done, between 0 and 1; nil for no one.
	Progress func(share float64)
}

// Verified is the outcome of a check.
type Verified struct {
	Name string `json:"name"`
	Fact string `json:"fact"`
	parts.Result

	// Error says why the fact could not be checked; empty if it was.
	Error string `json:"error,omitempty"`
}

// IsSound reports whether the fact was checked and holds.
func (v *Verified) IsSound() bool { return v.Wrong == 0 && v.Error == "" }

// Verify checks what has to hold between database, file store and secret keys, and writes nothing. Without the schema of
// this program nothing else is checked. It fails for settings that cannot be used; what is wrong with the data is in the
// outcomes.
func Verify(ctx context.Context, c *Config, d *db.DB, log *slog.Logger, o Verification) ([]Verified, error) {
	trail, err := AuditLog(ctx, c, log)
	if err != nil {
		return nil, err
	}

	nouns := Parts(External{Store: trail.Store, Box: trail.Box}, *c)
	checks := append([]parts.Check{schemaCheck()}, nouns.Checks...)
	checks = append(checks, sealCheck(trail.Box))

	// The audit trail is one log of all teams.
	if o.Team.IsZero() {
		checks = append(checks, trailCheck(trail))
	}

	var out []Verified

	for i, check := range checks {
		v := parts.Verification{DB: d, Team: o.Team, Hashes: o.Hashes}
		err := check.Do(ctx, &v)

		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}

		one := Verified{Name: check.Name, Fact: check.Fact, Result: v.Result}
		if err != nil {
			one.Error = err.Error()
		}

		out = append(out, one)

		// The other checks ask for tables that another schema may not have.
		if i == 0 && !one.IsSound() {
			break
		}

		if o.Progress != nil {
			o.Progress(float64(i+1) / float64(len(checks)))
		}
	}

	return out, nil
}

// schemaCheck compares the newest migration of the database with that of the program.
func schemaCheck() parts.Check {
	return parts.Check{Name: "schema", Fact: "the schema of the database is that of this program", Do: func(ctx context.Context, v *parts.Verification) error {
		newest, err := migrations.Newest()
		if err != nil {
			return err
		}

		there, err := v.DB.Schema(ctx)
		if err != nil {
			return err
		}

		v.Checked++

		if there != newest {
			v.Find(parts.Fault{
				Table: "goose_db_version", ID: strconv.FormatInt(there, 10),
				Detail: fmt.Sprintf("the program has schema %d: run `stayledger migrate`, or the program that the database is of", newest),
			})
		}

		return nil
	}}
}

// sealCheck opens every sealed value.
func sealCheck(box *seal.Box) parts.Check {
	type row struct {
		TeamID, ID id.ID
		Value      []byte
	}

	return parts.Check{Name: "secrets", Fact: "the secret keys open each sealed value", Do: func(ctx context.Context, v *parts.Verification) error {
		return v.DB.Read(ctx, v.Scope(), func(ctx context.Context, tx *db.Tx) error {
			v.Result = parts.Result{} // a transaction that was lost runs again

			for _, c := range listSealedColumns() {
				if err := db.Each(ctx, tx, db.Stmt{
					SQL: fmt.Sprintf(`select team_id, id, %[2]s as value from %[1]s where %[2]s is not null order by team_id, id`, c.Table, c.Name),
				}, func(r row) error {
					v.Checked++

					if _, err := box.Open(r.Value, c.Label(r.ID)); err != nil {
						v.Find(parts.Fault{TeamID: r.TeamID, Table: c.Table, ID: r.ID.String(), Detail: c.Name + " cannot be opened with any of the keys"})
					}

					return nil
				}); err != nil {
					return fmt.Errorf("open %s.%s: %w", c.Table, c.Name, err)
				}
			}

			return nil
		})
	}}
}

// trailCheck verifies the audit trail as `stayledger audit verify` does.
func trailCheck(log proof.Config) parts.Check {
	return parts.Check{Name: "audit-trail", Fact: "the audit trail is as its signed log has it", Do: func(ctx context.Context, v *parts.Verification) error {
		report, err := log.Verify(ctx, v.DB, "")
		if err != nil {
			return err
		}

		v.Checked = report.Events
		for _, f := range report.Findings {
			v.Find(parts.Fault{TeamID: f.Team, Table: "audit_event", ID: f.Event.String(), Detail: string(f.Kind) + ": " + f.Detail})
		}

		v.Wrong += int64(report.More)

		return nil
	}}
}
