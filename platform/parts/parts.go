// Package parts describes what the packages of the domain add to the service: each noun has one Part, and the service
// is their sum.
package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Part has everything that one noun adds to the service.
type Part struct {
	// Endpoints are in the order in which the reference shows them.
	Endpoints []api.Endpoint
	// Handlers run the jobs of the noun. Other nouns can insert these jobs, too.
	Handlers map[job.Kind]job.Handler
	// Every lists periodic tasks.
	Every []job.Every
	// Loops run in each process with workers.
	Loops []Loop
	// Tables are the tables that the noun writes. Their rows are erased with their team.
	Tables []Table
	// Outside removes data of a team outside the database, such as files; nil if there is none. It can be called again.
	Outside func(ctx context.Context, d *db.DB, team id.ID) error
	// Copy adds records of the noun to a new team; nil if it adds none.
	Copy *Copy
	// Uses are rows of the noun that keep records of any noun from being deleted or archived.
	Uses []Use
	// Deletion deletes a record of the noun as its endpoint does; the zero value if nothing else deletes records of it.
	Deletion Deletion
	// Used finds uses of records of the noun. Join gives it the uses that all nouns declare.
	Used []*Usage
	// Waits are rows of the noun that wait for a person.
	Waits []Wait
	// MonthEnd returns what is open of the noun when a month ends; nil if nothing of it can be.
	MonthEnd MonthCheck
	// Checks are facts about the noun's rows and files that an operator can have verified.
	Checks []Check
	// Exports are the files that callers can export from lists and reports of the noun.
	Exports []Export
}

// Loop is work that goes on until its context ends. Then it has the grace to end what it has in hand. Loops of several
// processes run at the same time.
type Loop func(ctx context.Context, d *db.DB, log *slog.Logger, grace time.Duration)

// Deletion deletes records of a type, by its name in events. It refuses those that others use, or that a lock holds.
type Deletion struct {
	Of string
	Do func(ctx context.Context, tx *db.Tx, one id.ID) error
}

// Deletions returns the deletions of nouns by type.
func Deletions(nouns ...Part) map[string]Deletion {
	out := map[string]Deletion{}

	for i := range nouns {
		if d := nouns[i].Deletion; d.Do != nil {
			out[d.Of] = d
		}
	}

	return out
}

// Export declares an export. Package domain/record/export writes and serves the exports of all nouns.
type Export interface {
	// Route returns the path at which callers ask for the file.
	Route() string
}

// Exports returns the exports that nouns declare, in their order.
func Exports(nouns ...Part) (all []Export) {
	for _, p := range nouns {
		all = append(all, p.Exports...)
	}

	return all
}

// Join returns the sum of parts in their order, and gives each noun the uses that all parts declare. It panics if two
// declarations collide, because one would be ignored: of a kind of work, a route, a name of endpoints or periodic work,
// an export path, a table, a check, or the usage of a table. It also panics if a part declares uses by tables of another part,
// or for a reason that the used noun lacks.
func Join(parts ...Part) Part {
	sum := Part{Handlers: map[job.Kind]job.Handler{}}
	seen := map[string]bool{}
	once := func(what, name string) {
		if seen[what+name] {
			panic(fmt.Sprintf("parts: %s %s is there twice", what, name))
		}

		seen[what+name] = true
	}

	for _, p := range parts {
		for i := range p.Endpoints {
			e := &p.Endpoints[i]
			once("route", e.Method+" "+e.Path)
			once("endpoint", e.ID)
		}

		for kind, h := range p.Handlers {
			once("work of kind", kind.String())
			sum.Handlers[kind] = h
		}

		for _, e := range p.Every {
			once("periodic work", e.Name)
		}

		for _, t := range p.Tables {
			once("table", t.Name)
		}

		for _, e := range p.Exports {
			once("export", e.Route())
		}

		for _, c := range p.Checks {
			once("check", c.Name)
		}

		p.checkUses()

		for _, u := range p.Used {
			once("usage of table", u.Of)
		}

		// All lists in the order of the parts.
		sum.Exports = append(sum.Exports, p.Exports...)
		sum.Tables = append(sum.Tables, p.Tables...)
		sum.Outside = joinOutside(sum.Outside, p.Outside)
		sum.Endpoints, sum.Every = append(sum.Endpoints, p.Endpoints...), append(sum.Every, p.Every...)
		sum.Waits, sum.Loops = append(sum.Waits, p.Waits...), append(sum.Loops, p.Loops...)
		sum.Uses, sum.Used = append(sum.Uses, p.Uses...), append(sum.Used, p.Used...)
		sum.Checks = append(sum.Checks, p.Checks...)
	}

	// Only now all uses are there.
	for _, u := range sum.Used {
		u.join(sum.Uses)
	}

	return sum
}

type outside = func(ctx context.Context, d *db.DB, team id.ID) error

// joinOutside returns a function that calls one after the other.
func joinOutside(one, other outside) outside {
	switch {
	case one == nil:
		return other
	case other == nil:
		return one
	}

	return func(ctx context.Context, d *db.DB, team id.ID) error {
		return errors.Join(one(ctx, d, team), other(ctx, d, team))
	}
}
