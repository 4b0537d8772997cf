// Package parts describes what the packages of the domain add to the service: each noun has one Part, and the service
// is their sum.
package parts

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Part has everything that one noun adds to the service.
type Part struct {
	// Endpoints are in the order in which the reference shows them.
	Endpoints []api.Endpoint
	// Handlers do the jobs of the noun, which can be asked for by other nouns.
	Handlers map[job.Kind]job.Handler
	// Every lists periodic tasks.
	Every []job.Every
	// Tables are those of teams that the noun writes. They go with a team that is erased.
	Tables []Table
	// Outside removes what the noun keeps of a team outside of the database; nil when that is nothing. It can be called
	// again.
	Outside func(ctx context.Context, d *db.DB, team id.ID) error
	// Copy is the part that the noun adds to a new team; nil if it adds none.
	Copy *Copy
	// Uses are the noun's rows that keep records, its own and those of other nouns, from being deleted or archived.
	Uses []Use
	// Used looks for the uses of the noun's records. Join gives it the uses of all nouns.
	Used []*Usage
	// Waits are the noun's rows that wait for a person.
	Waits []Wait
	// Closing finds what a person should look at when the books are closed; nil if the noun has nothing to say.
	Closing ClosingCheck
	// Exports are the files that callers can have made from what the noun lists or reports.
	Exports []Export
}

// Export is the declaration of an export. Package domain/record/export makes it, and serves those of all nouns.
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

// Join returns the sum of parts, in their order, in which each noun finds the uses that all of them declare. It panics
// if two of them, or one twice, handle a kind of work, serve a route, use the same name for endpoints or periodic work,
// export at a path, own a table or look for the uses of one, because one of the two would be ignored. It also panics if
// a part declares uses that are made of another's tables, or for a reason that the used noun does not have.
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

		p.checkUses()

		for _, u := range p.Used {
			once("usage of table", u.Of)
		}

		// All lists in the order of the parts.
		sum.Exports = append(sum.Exports, p.Exports...)
		sum.Tables = append(sum.Tables, p.Tables...)
		sum.Outside = joinOutside(sum.Outside, p.Outside)
		sum.Endpoints, sum.Every = append(sum.Endpoints, p.Endpoints...), append(sum.Every, p.Every...)
		sum.Waits = append(sum.Waits, p.Waits...)
		sum.Uses, sum.Used = append(sum.Uses, p.Uses...), append(sum.Used, p.Used...)
	}

	// Only now all uses are there.
	for _, u := range sum.Used {
		u.join(sum.Uses)
	}

	return sum
}

type outside = func(ctx context.Context, d *db.DB, team id.ID) error

// joinOutside does one after the other.
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
