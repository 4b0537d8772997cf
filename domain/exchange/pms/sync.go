package pms

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

const tag = "Connections"

// The refusals of a sync.
var (
	ErrMappingRequired = apierr.New(apierr.CodeConflict, apierr.ReasonListingMappingRequired,
		"Say first which listings here those of the system are")
	ErrInactive = apierr.New(apierr.CodeBadRequest, "", "Connection is not active")
)

// Part returns the endpoints and tables of property-management systems.
func (s *Systems) Part() parts.Part {
	return parts.Part{
		Endpoints: []api.Endpoint{
			api.Write(api.Endpoint{
				Method: http.MethodPost, Path: "/connections/{id}/sync", ID: "syncConnection", Tag: tag, Summary: "Read the records of a connection",
				Errors: apierr.List{
					connection.ErrBusy, connection.ErrReconnect, ErrInactive, ErrMappingRequired, apierr.NotImplemented,
				},
				Doc: "Starts an operation that reads what has changed since the last sync, or everything, and takes it in. A sync that waits already takes the " +
					"request over. The first sync of a connection in a team with listings needs listing mappings.",
				Scopes: []string{"connections:write"}, Status: http.StatusAccepted,
			}, startSync),
			// An extract makes a file and takes nothing in.
			api.Write(api.Endpoint{
				Method: http.MethodPost, Path: "/connections/extract", ID: "extractFromConnection", Tag: tag, Summary: "Make a file of what a system has",
				Errors: apierr.List{connection.ErrBusy, connection.ErrReconnect, ErrInactive, apierr.NotImplemented},
				Doc: "Starts an operation that reads the system and makes a file, the result of the operation. Nothing is taken into the books. The app of the " +
					"connection says which extractors it has. Fails with 501 for one that it lacks.",
				Scopes: []string{"connections:write"}, Status: http.StatusAccepted,
			}, startExtract),
			api.Read(api.Endpoint{
				Method: http.MethodGet, Path: "/connections/{id}/listing-mappings", ID: "getListingMappings", Tag: tag,
				Summary: "Read which listings those of a system are", Errors: apierr.List{apierr.NotImplemented}, Scopes: []string{"connections:read"},
			}, getMappings),
			api.Write(api.Endpoint{
				Method: http.MethodPut, Path: "/connections/{id}/listing-mappings", ID: "setListingMappings", Tag: tag,
				Summary: "Say which listings those of a system are", Errors: apierr.List{ErrAmbiguous, errTaken, apierr.NotImplemented},
				Doc: "Confirms all suggestions except those that data decides otherwise. A listing without a suggestion becomes a new one. An ambiguous one has to " +
					"be named.",
				Scopes: []string{"connections:write"},
			}, putMappings),
			api.External(api.Endpoint{
				Method: http.MethodPost, Path: messagePath + "{connectionId}", ID: "takePMSMessage", Tag: tag, Summary: "Take a message of a property-management system",
				Errors: apierr.List{errMessage}, Public: true, Selection: api.NoTeam, Status: http.StatusNoContent,
				Also: map[int]reflect.Type{http.StatusUnauthorized: reflect.TypeFor[apierr.Body]()},
				Doc: "For property-management systems, which get the address and a secret when they are connected: what has changed, signed as the system does. " +
					"A message is a hint only: what it names is read from the system. Fails with 401 for an unknown connection and for a message that is " +
					"not to be believed.",
			}, s.takeMessage),
			api.External(api.Endpoint{
				Method: http.MethodPost, Path: messagePath + "apps/{appId}", ID: "takePMSAppMessage", Tag: tag,
				Summary: "Take a message of a property-management system about one of its accounts",
				Errors:  apierr.List{errMessage}, Public: true, Selection: api.NoTeam, Status: http.StatusNoContent,
				Also: map[int]reflect.Type{http.StatusUnauthorized: reflect.TypeFor[apierr.Body]()},
				Doc:  "For systems that send the messages of all accounts to one address, with the name and password that the operator has set there.",
			}, s.takeAppMessage),
		},
		Tables: append(parts.Owns("listing_connection"), parts.Keeps("connection_token")...), Every: periodicTasks(),
	}
}

type syncInput struct {
	ID   id.ID       `path:"id"`
	Body SyncRequest `required:"false"`
}

// SyncRequest says what to read.
type SyncRequest struct {
	Mode      intake.Mode `json:"mode,omitempty" doc:"incremental when absent."`
	DateRange *DateRange  `json:"dateRange,omitempty" doc:"Nights that are read; all when absent."`
	Kinds     []string    `json:"kinds,omitempty" maxItems:"20" doc:"Kinds of records, such as reservation; all when absent."`
}

// DateRange is a range of days, both included.
type DateRange struct {
	StartAt *day.Day `json:"startAt,omitempty"`
	EndAt   *day.Day `json:"endAt,omitempty"`
}

// bound sets the days to read. It fails for a range that ends before it starts.
func (r *DateRange) bound(n *intake.New) error {
	if r == nil {
		return nil
	}

	if n.From, n.To = r.StartAt, r.EndAt; n.From != nil && n.To != nil && n.To.Before(*n.From) {
		return apierr.BadRequest.At(apierr.IssueDateOrder.InBody("dateRange", "endAt"))
	}

	return nil
}

// startSync starts a sync of a connection.
func startSync(ctx context.Context, tx *db.Tx, in *syncInput) (*operation.Acknowledgement, error) {
	c, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := checkSyncable(c); err != nil {
		return nil, err
	}

	// The kinds depend on the system, so the description of the API cannot check them.
	n := intake.New{
		ConnectionID: in.ID, View: intake.Automate, Mode: in.Body.Mode, Trigger: intake.Manual, Kinds: in.Body.Kinds,
	}
	if n.Mode == "" {
		n.Mode = intake.Incremental
	}

	for i, kind := range n.Kinds {
		if !slices.Contains(kinds(find(c.AppID).pays), kind) {
			return nil, apierr.BadRequest.At(apierr.IssueEnum.InBody("kinds", i))
		}
	}

	if err := in.Body.DateRange.bound(&n); err != nil {
		return nil, err
	}

	waits, err := needsMapping(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if waits {
		return nil, ErrMappingRequired
	}

	// Its first sync also starts the schedule.
	if err := connection.Schedule(ctx, tx, in.ID, tx.Now.Add(every)); err != nil {
		return nil, err
	}

	return intake.Start(ctx, tx, n)
}

// ReadWindow starts a sync that reads all reservations with a night between two days again. Both days are included.
// It fails like a sync started by hand.
func ReadWindow(
	ctx context.Context, tx *db.Tx,
	connectionID id.ID,
	from, to day.Day,
) (*operation.Acknowledgement, error) {
	c, err := lock(ctx, tx, connectionID)
	if err != nil {
		return nil, err
	}

	if err := checkSyncable(c); err != nil {
		return nil, err
	}

	waits, err := needsMapping(ctx, tx, connectionID)
	if err != nil {
		return nil, err
	}

	if waits {
		return nil, ErrMappingRequired
	}

	return intake.Start(ctx, tx, intake.New{
		ConnectionID: connectionID, View: intake.Automate, Mode: intake.Full, Trigger: intake.Manual,
		Kinds: []string{reservationKind}, From: &from, To: &to,
	})
}

// lock locks a connection and its syncs until the transaction ends, and loads it. Syncs lock their source before the
// connection, so lock does, too.
func lock(ctx context.Context, tx *db.Tx, one id.ID) (*connection.Connection, error) {
	if err := intake.Hold(ctx, tx, one); err != nil {
		return nil, err
	}

	return connection.Lock(ctx, tx, one)
}

// checkSyncable fails for a connection that cannot be read now.
func checkSyncable(c *connection.Connection) error {
	switch {
	case find(c.AppID) == nil:
		return apierr.NotImplemented
	case c.Status == connection.Connecting:
		return connection.ErrBusy
	case c.Status == connection.ReconnectRequired:
		return connection.ErrReconnect
	case c.Status != connection.Active:
		return ErrInactive
	}

	return nil
}

// needsMapping reports whether a person must bind listings before the first sync: the team has listings, and some
// listings of the system are undecided.
func needsMapping(ctx context.Context, tx *db.Tx, connection id.ID) (bool, error) {
	waits, err := db.Get[bool](ctx, tx, `
		select exists (select from listing where team_id = @team)
			and not exists (select from sync where team_id = @team and source_id = @connection and view = 'automate')
			and exists (select from listing_connection where team_id = @team and connection_id = @connection and not is_decided)`,
		db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return false, fmt.Errorf("find out whether listings are mapped: %w", err)
	}

	return waits, nil
}
