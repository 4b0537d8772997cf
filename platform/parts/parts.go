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
}

// Join returns the sum of parts, in their order. It panics if two of them, or one twice, handle a kind of work,
// serve a route, use the same name for endpoints or periodic work, or own a table, because one of the two would be
// ignored.
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

		// All lists in the order of the parts.
		sum.Tables = append(sum.Tables, p.Tables...)
		sum.Outside = joinOutside(sum.Outside, p.Outside)
		sum.Endpoints, sum.Every = append(sum.Endpoints, p.Endpoints...), append(sum.Every, p.Every...)
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
