package reservation

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/domain/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// RefreshKind is the kind of the tasks of a journal refresh.
const RefreshKind = "reservation.refresh"

// Handlers are the tasks of reservations, and what follows a change of the team's settings.
func Handlers() map[string]job.Handler {
	return map[string]job.Handler{
		RefreshKind:      operation.Work(2*time.Minute, refreshTask),
		team.RefreshKind: operation.Outside(time.Hour, refreshTeam),
	}
}

// refreshTeam derives every journal of the team that no lock holds, a chunk to a transaction. A reservation that is written meanwhile sees
// the settings as they are now, so those there are at the start are all.
func refreshTeam(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, _ struct{}) (db.Work, error) {
	var ids []id.ID
	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		ids, err = ofListings(ctx, tx, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(ids, refreshChunk) {
		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			_, err := Refresh(ctx, tx, chunk, ledger.Lenience{SkipLocked: true})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // nothing is left to write
}

// LockPolicy says what a refresh does with a journal that a lock holds.
type LockPolicy string

// The lock policies.
const (
	BestEffort LockPolicy = "bestEffort"
	Strict     LockPolicy = "strict"
)

// Enum lists the lock policies.
func (LockPolicy) Enum() []string { return []string{string(BestEffort), string(Strict)} }

// RefreshRequest selects the journals to derive. The journal of a reservation is derived as a whole, so every mode comes to the same.
type RefreshRequest struct {
	IDs        []id.ID    `json:"ids,omitempty" minItems:"1" maxItems:"10000" doc:"Absent means every reservation of the team."`
	Mode       string     `json:"mode,omitempty" enum:"full,recurringFeesOnly,arOnly"`
	LockPolicy LockPolicy `json:"lockPolicy,omitempty" doc:"strict fails, bestEffort leaves locked journals as they are; absent means bestEffort."`
}

type refreshInput struct {
	Body RefreshRequest `required:"false"`
}

// Refreshed is a reservation whose journal was derived.
type Refreshed struct {
	ID            id.ID         `json:"id"`
	JournalStatus JournalStatus `json:"journalStatus"`
}

// RefreshDone is the answer of a refresh that was done in the request.
type RefreshDone struct {
	Data  []Refreshed `json:"data"`
	Total int64       `json:"total"`
}

// RefreshAnswer is the outcome of a refresh that was done in the request, or the acknowledgement of one that was queued.
type RefreshAnswer struct {
	*operation.Acknowledgement
	Data  []Refreshed `json:"data,omitzero"`
	Total *int64      `json:"total,omitempty"`
}

// HTTPStatus is 202 when the work was queued.
func (a *RefreshAnswer) HTTPStatus() int {
	if a.Acknowledgement != nil {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func refreshAlso() map[int]reflect.Type {
	return map[int]reflect.Type{
		http.StatusOK: reflect.TypeFor[RefreshDone](), http.StatusAccepted: reflect.TypeFor[operation.Acknowledgement](),
	}
}

type refreshArgs struct {
	IDs    []id.ID `json:"ids"`
	Strict bool    `json:"strict"`
}

func (a refreshArgs) lenience() ledger.Lenience { return ledger.Lenience{SkipLocked: !a.Strict} }

func refreshTask(ctx context.Context, tx *db.Tx, _ operation.Run, args refreshArgs) error {
	_, err := Refresh(ctx, tx, args.IDs, args.lenience())
	return err
}

func refresh(ctx context.Context, tx *db.Tx, in *refreshInput) (*RefreshAnswer, error) {
	ids, err := selected(ctx, tx, in.Body.IDs)
	if err != nil {
		return nil, err
	}
	strict := in.Body.LockPolicy == Strict
	if in.Body.IDs != nil && len(ids) == 1 {
		args := refreshArgs{IDs: ids, Strict: strict}
		if _, err := Refresh(ctx, tx, args.IDs, args.lenience()); err != nil {
			return nil, err
		}
		total := int64(1)
		return &RefreshAnswer{Data: []Refreshed{{ID: ids[0], JournalStatus: journalStatus(nil)}}, Total: &total}, nil
	}
	ack, err := operation.Start(ctx, tx, refreshOperation(ids, strict))
	return &RefreshAnswer{Acknowledgement: ack}, err
}

// namedResources is up to how many reservations an operation names; a larger selection is the team's business, not a reservation's.
const namedResources = 20

func refreshOperation(ids []id.ID, strict bool) operation.New {
	n := operation.New{Type: operation.ReservationJournal}
	for chunk := range slices.Chunk(ids, refreshChunk) {
		n.Tasks = append(n.Tasks, operation.Task{Kind: RefreshKind, Args: refreshArgs{IDs: chunk, Strict: strict}, Priority: 1})
	}
	if len(n.Tasks) == 0 {
		n.Tasks = []operation.Task{{Kind: RefreshKind, Args: refreshArgs{IDs: []id.ID{}}}}
	}
	if len(ids) <= namedResources {
		for _, v := range ids {
			n.Resources = append(n.Resources, operation.Resource{Type: operation.Reservation, ID: v, Role: operation.Target})
		}
	}
	return n
}

// selected are the reservations to refresh, each once.
func selected(ctx context.Context, tx *db.Tx, given []id.ID) ([]id.ID, error) {
	if given == nil {
		return ofListings(ctx, tx, nil)
	}
	found, err := db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and id = any(@ids) order by id`,
		db.Args{"team": tx.Team, "ids": given})
	if err != nil {
		return nil, err
	}
	var missing []apierr.Issue
	for i, v := range given {
		if _, known := slices.BinarySearchFunc(found, v, id.ID.Compare); !known && len(missing) < 100 {
			missing = append(missing, apierr.Issue{Message: "Reservation does not exist", Code: "notFound", Path: []any{"ids", i}, Schema: "body"})
		}
	}
	if missing != nil {
		return nil, apierr.BadRequest.At(missing...)
	}
	return found, nil
}
