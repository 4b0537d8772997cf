package calendar

import (
	"context"
	"fmt"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// blockTable has the columns of a block that is new.
var blockTable = db.NewTable[held]("calendar_block", `
	id uuid, listing_id uuid, connection_id uuid, external_listing_id text, start_at date, end_at date, note text, status text, created_at now,
	updated_at now`)

const blockColumns = `b.id, b.listing_id, b.connection_id, b.start_at, b.end_at, b.note, b.status,
	case when b.error is not null then jsonb_build_object('code', b.error) end as error, b.created_at, b.updated_at`

type listInput struct {
	page.Params
	Sort          blockSort `query:"sort" default:"startAt"`
	IDs           page.IDs  `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	ListingIDs    page.IDs  `query:"listingIds" doc:"Only of these; an id with a leading ! is left out."`
	ConnectionIDs page.Refs `query:"connectionIds" doc:"Told over these connections; null for listings that no system has."`
	Status        Status    `query:"status"`
	StartAt       day.Day   `query:"startAt" doc:"Blocks with a night on this day or later."`
	EndAt         day.Day   `query:"endAt" doc:"Blocks with a night before this day."`
}

// Resolve refuses days that end before they start.
func (in *listInput) Resolve() []apierr.Issue {
	if !in.StartAt.IsZero() && !in.EndAt.IsZero() && !in.EndAt.After(in.StartAt) {
		return []apierr.Issue{apierr.IssueDateOrder.InQuery("endAt")}
	}

	return nil
}

// listBlocks returns a page of blocks, the first nights first.
func listBlocks(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Block], error) {
	q := page.Query{
		Columns: blockColumns, From: "calendar_block b", Where: []string{"b.team_id = @team"},
		Args: db.Args{"team": tx.Team}, Rows: "calendar_block b", Sorts: sorts, Default: "startAt", ID: "b.id",
	}
	q.CountedAs("calendar_block")
	q.IDs("b.id = any(?)", in.IDs)
	q.IDs("b.listing_id = any(?)", in.ListingIDs)
	q.Refs("b.connection_id", in.ConnectionIDs)
	q.Narrow("b.status = ?", in.Status)
	q.Narrow("b.end_at > ?", in.StartAt)
	q.Narrow("b.start_at < ?", in.EndAt)

	return page.List[Block](ctx, tx, q, in.Params, in.Sort)
}

// held is a block with its ids at the system, and the operation that speaks with the system about it.
type held struct {
	Block

	ExternalListingID *string
	RemoteID          *string
	Holder            *id.ID
	HeldUntil         *time.Time
}

const heldColumns = blockColumns + `, b.external_listing_id, b.remote_id, b.holder, b.held_until`

// lockBlock locks and loads a block; nil if it was deleted.
func lockBlock(ctx context.Context, tx *db.Tx, one id.ID) (*held, error) {
	b, err := db.Maybe[held](ctx, tx, `select `+heldColumns+` from calendar_block b where b.team_id = @team and b.id = @id for update`,
		db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return nil, fmt.Errorf("lock a calendar block: %w", err)
	}

	return b, nil
}

// insertBlocks inserts blocks of locked listings.
func insertBlocks(ctx context.Context, tx *db.Tx, all []held) error {
	if err := tx.Pipeline(ctx, blockTable.Insert(tx, db.Refs(all)...)); err != nil {
		return fmt.Errorf("insert calendar blocks: %w", err)
	}

	for i := range all {
		b := &all[i]
		audit.Note(tx, audit.Created, audit.CalendarBlock, b.ID, nil, &b.Block,
			audit.Ref(audit.RoleListing, audit.Listing, b.ListingID))
	}

	return nil
}

// update updates a block, and ends its hold. It is tried again at tryAt, nil for never.
func (b *held) update(ctx context.Context, tx *db.Tx, was Block, tryAt *time.Time) error {
	var code *FaultCode
	if b.Error != nil {
		code = &b.Error.Code
	}

	// An unchanged block keeps its time of change.
	if _, err := tx.Exec(ctx, `
		update calendar_block set status = @status, error = @error, remote_id = @remote, holder = null, held_until = null, try_at = @try,
			updated_at = case when (status, error) is distinct from (@status, @error) then @now else updated_at end
		where team_id = @team and id = @id`,
		db.Args{
			"team": tx.Team, "id": b.ID, "status": b.Status, "error": code, "remote": b.RemoteID, "try": tryAt,
			"now": tx.Now,
		}); err != nil {
		return fmt.Errorf("update a calendar block: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.CalendarBlock, b.ID, &was, &b.Block,
		audit.Ref(audit.RoleListing, audit.Listing, b.ListingID))

	return nil
}

// delete deletes a block that no system knows.
func (b *held) delete(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, `delete from calendar_block where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": b.ID}); err != nil {
		return fmt.Errorf("delete a calendar block: %w", err)
	}

	audit.Note(tx, audit.Deleted, audit.CalendarBlock, b.ID, &b.Block, nil,
		audit.Ref(audit.RoleListing, audit.Listing, b.ListingID))

	return nil
}
