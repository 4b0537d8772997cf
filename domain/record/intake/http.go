package intake

import (
	"context"
	"net/http"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const tag = "Syncs"

// errOtherWaits refuses to read a source again while another sync of it waits.
var errOtherWaits = apierr.New(apierr.CodeConflict, "", "Another sync of the connection is queued")

// endpoints returns the routes of syncs (OPS-91, OPS-92).
func endpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/syncs", ID: "listSyncs", Tag: tag, Summary: "List syncs of connections",
			Scopes: []string{"connections:read"},
		}, list),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/syncs/{id}", ID: "getSync", Tag: tag, Summary: "Read a sync",
			Scopes: []string{"connections:read"},
		}, get),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/syncs/{id}/items", ID: "listSyncItems", Tag: tag, Summary: "List what became of the records of a sync",
			Doc:    "One row for each record that had changed, in the order in which they came; counts has the others, too. Rows are kept for twelve months.",
			Scopes: []string{"connections:read"},
		}, listItems),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/syncs/{id}", ID: "updateSync", Tag: tag, Summary: "Set the status of a sync",
			Errors: apierr.List{errOtherWaits},
			Doc: "completed and failed end a sync that is queued or started: what it has taken in stays, and the next sync reads from where the last " +
				"complete one began. queued and started have one that has ended go on, in a new operation: a failed one from its last page, a " +
				"completed one from the beginning. A status that a sync has already, or that one which has ended cannot take any more, changes " +
				"nothing.",
			Scopes: []string{"connections:write"},
		}, put),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/syncs/{id}/cancel", ID: "cancelSync", Tag: tag, Summary: "Cancel a sync",
			Doc:    "Pages that were taken in stay. The operation of the sync fails without a failure. A sync that has ended stays as it is.",
			Scopes: []string{"connections:write"},
		}, cancel),
	}
}

// listSort is an order of syncs.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort          listSort  `query:"sort" default:"-queuedAt"`
	IDs           page.IDs  `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	ConnectionIDs page.Refs `query:"connectionIds" doc:"The connections that were read."`
	Status        []Status  `query:"status"`
	Trigger       []Trigger `query:"trigger"`
	View          View      `query:"view"`
}

// list returns a page of syncs, the newest first.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Sync], error) {
	q := syncQuery(tx)
	q.IDs("s.id = any(?)", in.IDs)
	q.Refs("o.connection_id", in.ConnectionIDs)
	q.Narrow("s.status = any(?)", in.Status)
	q.Narrow("s.trigger = any(?)", in.Trigger)
	q.Narrow("s.view = ?", in.View)

	found, err := page.List[Sync](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	for i := range found.Data {
		found.Data[i].deriveFields()
	}

	return found, nil
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*Sync, error) {
	return loadSync(ctx, tx, in.ID)
}

// Item says how a sync dealt with one record.
type Item struct {
	Position   int64       `json:"position" doc:"Place in the sync, from 1."`
	Kind       string      `json:"kind"`
	ExternalID string      `json:"externalId" doc:"The other system's name of the record."`
	EntityID   *id.ID      `json:"entityId" doc:"The record here; null when there is none."`
	Outcome    Outcome     `json:"outcome"`
	Reason     *string     `json:"reason" doc:"Why it was skipped or failed, such as unchanged, locked or the issue of the record; null for one that was completed."`
	At         day.Instant `json:"at"`
}

type itemsInput struct {
	page.Params
	ID      id.ID     `path:"id"`
	Outcome []Outcome `query:"outcome"`
	Kind    string    `query:"kind" maxLength:"100"`
}

// listItems returns a page of the items of a sync.
func listItems(ctx context.Context, tx *db.Tx, in *itemsInput) (*page.Page[Item], error) {
	if _, err := loadSync(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	q := page.Query{
		Columns: "i.position, i.kind, i.external_id, i.entity_id, i.outcome, i.reason, i.at", From: "sync_item i",
		Where: []string{"i.team_id = @team"}, Args: db.Args{"team": tx.Team}, ID: "i.position",
		Sorts: page.Sorts{{Name: "position", Expr: "i.position"}}, Default: "position",
	}
	q.And("i.sync_id = @sync", db.Args{"sync": in.ID})
	q.Narrow("i.outcome = any(?)", in.Outcome)
	q.Narrow("i.kind = ?", in.Kind)

	return page.List[Item](ctx, tx, q, in.Params, "")
}

// Change of a sync.
type update struct {
	Status Status `json:"status"`
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body update
}

// put sets the status of a sync.
func put(ctx context.Context, tx *db.Tx, in *putInput) (*Sync, error) {
	s, err := lockSync(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	switch to := in.Body.Status; {
	case to == s.Status, to.hasEnded() && s.Status.hasEnded(), !to.hasEnded() && !s.Status.hasEnded():
		return s, nil
	case to == Completed:
		err = endByHand(ctx, tx, s, Completed, operation.Completed)
	case to == Failed:
		err = endByHand(ctx, tx, s, Failed, operation.Failed)
	default:
		err = requeue(ctx, tx, s)
	}

	if err != nil {
		return nil, err
	}

	return loadSync(ctx, tx, in.ID)
}

// cancel ends a sync as failed (OPEN-78).
func cancel(ctx context.Context, tx *db.Tx, in *getInput) (*Sync, error) {
	s, err := lockSync(ctx, tx, in.ID)
	if err != nil || s.Status.hasEnded() {
		return s, err
	}

	if err := endByHand(ctx, tx, s, Failed, operation.Failed); err != nil {
		return nil, err
	}

	return loadSync(ctx, tx, in.ID)
}

// endByHand ends a sync without a fault because a person asked, and its operation if that is still open. The next
// sync that waits starts.
func endByHand(ctx context.Context, tx *db.Tx, s *Sync, to Status, settled operation.Status) error {
	if err := operation.End(ctx, tx, s.OperationID, settled); err != nil {
		return err
	}

	return finishSync(ctx, tx, s, to, nil)
}

// requeue lets an ended sync go on in a new operation. A completed sync begins anew.
func requeue(ctx context.Context, tx *db.Tx, s *Sync) error {
	other, err := findBySource(ctx, tx, s.SourceID, Queued)
	if err != nil {
		return err
	}

	if other != nil && s.View == Automate {
		return errOtherWaits
	}

	// Another reading mark: the records seen by the completed reading do not count for this one.
	if s.Status == Completed {
		anew := tx.NewID()
		s.Progress = progress{Reading: &anew}
	}

	ack, err := operation.Start(ctx, tx, s.operation())
	if err != nil {
		return err
	}

	s.OperationID = ack.OperationID

	return queueAgain(ctx, tx, s)
}
