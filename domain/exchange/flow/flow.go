// Package flow has the built-in flows, which repeat work for a connection by hand. A run is an operation, which waits
// for the work it has started.
//
// The page docs/decisions/flow.md says what the contract leaves open and how it is answered here.
package flow

import (
	"context"
	"net/http"

	"stayledger/domain/exchange/pms"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

const tag = "Flows"

// Part returns the endpoints and the job of flows.
func Part() parts.Part {
	return parts.Part{
		Endpoints: []api.Endpoint{
			api.Read(api.Endpoint{
				Method: http.MethodGet, Path: "/flows", ID: "listFlows", Tag: tag, Summary: "List the built-in flows",
				Scopes: []string{"connections:read"},
				Doc:    "What can be done again for a connection. Support runs them.",
			}, listFlows),
			api.Write(api.Endpoint{
				Method: http.MethodPost, Path: "/flows/{id}/connections/{connectionId}/run", ID: "runFlow", Tag: tag,
				Summary: "Run a flow for a connection",
				Errors: apierr.List{
					apierr.NotFound, connection.ErrBusy, connection.ErrReconnect, pms.ErrInactive, pms.ErrMappingRequired,
					apierr.NotImplemented, apierr.MissingScope,
				},
				Scopes: []string{"connections:write"}, Status: http.StatusAccepted, Internal: true,
			}, run),
		},
		Handlers: map[job.Kind]job.Handler{runKind: {Do: awaitWork, Exhausted: operation.GiveUp}},
	}
}

// Flow is work that can be repeated for a connection.
type Flow struct {
	ID          connection.FlowID `json:"id" doc:"Its name in addresses."`
	ResourceID  id.ID             `json:"resourceId" doc:"Its identifier in the resources of operations."`
	Name        string            `json:"name"`
	Description string            `json:"description" doc:"What it does."`
	Parameters  []Parameter       `json:"parameters" doc:"What a run of it is told."`
}

// Parameter is an input of a run.
type Parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type" enum:"date" doc:"What its value is."`
	Required bool   `json:"required" doc:"Whether it has to be given."`
}

// flows are the built-in flows.
var flows = []Flow{
	{
		ID: connection.ResyncWindow, ResourceID: mustParse("0198c3a2-7b1e-7f10-8a00-000000000001"),
		Name:        "Read a window again",
		Description: "Reads all reservations with a night in the days again, as a full sync of them does. Both days are included.",
		Parameters:  []Parameter{{"startAt", "date", true}, {"endAt", "date", true}},
	},
	{
		ID: connection.RematchDeposits, ResourceID: mustParse("0198c3a2-7b1e-7f10-8a00-000000000002"),
		Name:        "Match deposits again",
		Description: "Has the active bank rules look again at the open bank records with money that came in.",
		Parameters:  []Parameter{},
	},
	{
		ID: connection.RebuildOccupancy, ResourceID: mustParse("0198c3a2-7b1e-7f10-8a00-000000000003"),
		Name: "Rebuild occupancy",
		Description: "Tells the system at once of all blocked nights that it could not be told of. Occupancy itself is counted from reservations and blocks " +
			"whenever it is asked for.",
		Parameters: []Parameter{},
	},
}

// mustParse returns an id written in the code.
func mustParse(text string) id.ID {
	out, err := id.Parse(text)
	if err != nil {
		panic(err)
	}

	return out
}

// find returns a flow by its name or id, or nil.
func find(name string) *Flow {
	for i := range flows {
		if f := &flows[i]; string(f.ID) == name || f.ResourceID.String() == name {
			return f
		}
	}

	return nil
}

// Flows are the built-in flows.
type Flows struct {
	Data []Flow `json:"data"`
}

// listFlows returns the built-in flows.
func listFlows(context.Context, *db.Tx, *struct{}) (*Flows, error) { return &Flows{Data: flows}, nil }
