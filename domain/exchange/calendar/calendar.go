// Package calendar keeps nights of listings from being sold. A block is stored first. If a property-management system has
// the listing, an operation then notifies it, and only what was blocked from here is opened again from here.
//
// The page docs/decisions/calendar.md says what the contract leaves open and how it is answered here.
package calendar

import (
	"net/http"

	"stayledger/domain/exchange/pms"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

const tag = "Calendar blocks"

// The refusals of blocks.
var (
	errTaken  = apierr.New(apierr.CodeConflict, "", "Nights have a reservation or another block")
	errBeyond = apierr.New(apierr.CodeConflict, "", "A block has nights outside of these days: name it by its id")
)

// calendar blocks nights at the systems of connections.
type calendar struct{ systems *pms.Systems }

// Part returns the endpoints, the jobs and the table of blocks.
func Part(systems *pms.Systems) parts.Part {
	c := &calendar{systems}

	return parts.Part{
		Endpoints: []api.Endpoint{
			api.Read(api.Endpoint{
				Method: http.MethodGet, Path: "/calendar-blocks", ID: "listCalendarBlocks", Tag: tag, Summary: "List blocks of nights",
				Doc:    "What keeps nights from being sold, and whether the system of the listing knows. A block that was taken away is not listed any more.",
				Scopes: []string{"listings:read"},
			}, listBlocks),
			api.Write(api.Endpoint{
				Method: http.MethodPost, Path: "/calendar-blocks", ID: "blockCalendar", Tag: tag, Summary: "Keep nights from being sold",
				Errors: apierr.List{errTaken, apierr.NotImplemented}, Status: http.StatusAccepted,
				Doc: "Stores a block for each listing, and starts an operation that tells the property-management systems that have them. Fails with 409 when a " +
					"reservation or another block has a night, with an issue for each listing, and with 501 when the system of a listing has no calendar that can be " +
					"blocked. When a system cannot be reached the operation fails, and the blocks stay pending and are told again later.",
				Scopes: []string{"listings:write"},
			}, c.block),
			api.Write(api.Endpoint{
				Method: http.MethodDelete, Path: "/calendar-blocks", ID: "unblockCalendar", Tag: tag, Summary: "Let nights be sold again",
				Errors: apierr.List{errBeyond}, Status: http.StatusAccepted,
				Doc: "Takes blocks away, by their ids or all of some listings within some days, and starts an operation that tells the systems. Nights that " +
					"were blocked elsewhere stay as they are.",
				Scopes: []string{"listings:write"},
			}, c.unblock),
		},
		Handlers: map[job.Kind]job.Handler{pushKind: {Timeout: pushTime, Do: c.push, Exhausted: giveUp}},
		Every:    []job.Every{{Name: "calendar-block", Interval: retryEvery, Do: retryDue}},
		Tables:   parts.Owns("calendar_block"),
	}
}

// Status says how far a block is.
type Status string

// The states of a block.
const (
	// Pending: the system of the listing does not know of it yet.
	Pending Status = "pending"
	// Blocked: the nights cannot be sold.
	Blocked Status = "blocked"
	// Unblocking: the system does not know yet that the nights can be sold again.
	Unblocking Status = "unblocking"
	// Refused: the system does not block the nights.
	Refused Status = "refused"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Pending), string(Blocked), string(Unblocking), string(Refused)}
}

// FaultCode says in our own words why a system was not notified; texts of the system never get through.
type FaultCode string

// The faults.
const (
	// FaultRefused: the system refuses it, such as nights that are taken there.
	FaultRefused FaultCode = "refused"
	// FaultUnavailable: the system cannot be reached, or has taken no more calls.
	FaultUnavailable FaultCode = "unavailable"
	// FaultReconnect: the connection has to be connected again.
	FaultReconnect FaultCode = "reconnectRequired"
	// FaultInactive: the connection is switched off or archived.
	FaultInactive FaultCode = "inactive"
	// FaultInternal: a defect here.
	FaultInternal FaultCode = "internal"
)

// Enum lists the faults.
func (FaultCode) Enum() []string {
	return []string{
		string(FaultRefused), string(FaultUnavailable), string(FaultReconnect), string(FaultInactive),
		string(FaultInternal),
	}
}

// Fault says why a system was not notified.
type Fault struct {
	Code FaultCode `json:"code" doc:"Why: refused by the system, the system is unavailable, the connection has to be connected again or is inactive, or a fault of ours."`
}

// Block keeps nights of a listing from being sold.
type Block struct {
	ID           id.ID       `json:"id"`
	ListingID    id.ID       `json:"listingId"`
	ConnectionID *id.ID      `json:"connectionId" doc:"The connection over which its system is told; null for a listing that no system has."`
	StartAt      day.Day     `json:"startAt" doc:"First night."`
	EndAt        day.Day     `json:"endAt" doc:"Day on which the listing is free again."`
	Note         *string     `json:"note" doc:"Why."`
	Status       Status      `json:"status" doc:"pending and unblocking while the system has not been told; refused does not count."`
	Error        *Fault      `json:"error" doc:"Why the system was not told yet, or refuses; null for no failure."`
	CreatedAt    day.Instant `json:"createdAt"`
	UpdatedAt    day.Instant `json:"updatedAt"`
}

var sorts = page.Sorts{
	{Name: "startAt", Expr: "b.start_at"},
	{Name: "createdAt", Expr: "b.created_at"},
	{Name: "updatedAt", Expr: "b.updated_at"},
}

// blockSort is an order of blocks.
type blockSort string

// Enum lists the orders.
func (blockSort) Enum() []string { return sorts.Enum() }
