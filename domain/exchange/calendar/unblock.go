package calendar

import (
	"context"
	"fmt"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Selection chooses blocks by their ids, or all blocks of some listings within some days.
type Selection struct {
	IDs        []id.ID  `json:"ids,omitempty" minItems:"1" maxItems:"250" uniqueItems:"true" doc:"These blocks; alone."`
	ListingIDs []id.ID  `json:"listingIds,omitempty" minItems:"1" maxItems:"250" uniqueItems:"true" doc:"Blocks of these, with startAt and endAt."`
	StartAt    *day.Day `json:"startAt,omitempty" doc:"First night."`
	EndAt      *day.Day `json:"endAt,omitempty" doc:"Day after the last night."`
}

type unblockInput struct{ Body Selection }

// Resolve refuses a selection that is neither by ids nor by listings and days.
func (in *unblockInput) Resolve() []apierr.Issue {
	s := &in.Body

	var issues []apierr.Issue

	switch {
	case s.IDs != nil:
		if s.ListingIDs != nil {
			issues = append(issues, apierr.IssueContradiction.InBody("listingIds"))
		}

		if s.StartAt != nil {
			issues = append(issues, apierr.IssueContradiction.InBody("startAt"))
		}

		if s.EndAt != nil {
			issues = append(issues, apierr.IssueContradiction.InBody("endAt"))
		}

		return issues
	case s.ListingIDs == nil && s.StartAt == nil && s.EndAt == nil:
		return []apierr.Issue{apierr.IssueRequired.InBody("ids")}
	case s.ListingIDs == nil:
		issues = append(issues, apierr.IssueRequired.InBody("listingIds"))
	}

	if s.StartAt == nil {
		issues = append(issues, apierr.IssueRequired.InBody("startAt"))
	}

	if s.EndAt == nil {
		issues = append(issues, apierr.IssueRequired.InBody("endAt"))
	}

	if issues == nil && !s.EndAt.After(*s.StartAt) {
		issues = append(issues, apierr.IssueDateOrder.InBody("endAt"))
	}

	return issues
}

// maxUnblocked is the most blocks that one request removes.
const maxUnblocked = 1000

// lock locks and loads the chosen blocks in the order of ids. It fails with an issue for each unknown id, with
// errBeyond for a block only partly within the days, and if no block is chosen.
func (s *Selection) lock(ctx context.Context, tx *db.Tx) ([]held, error) {
	// One row more than the limit shows that there are too many.
	condition := `b.id = any(@ids)`
	args := db.Args{"team": tx.Team, "ids": s.IDs, "most": maxUnblocked + 1}

	if s.IDs == nil {
		condition = `b.listing_id = any(@ids) and b.start_at < @end::date and b.end_at > @start::date`
		args["ids"], args["start"], args["end"] = s.ListingIDs, s.StartAt, s.EndAt
	}

	blocks, err := db.Select[held](ctx, tx, `
		select `+heldColumns+` from calendar_block b where b.team_id = @team and `+condition+` order by b.id limit @most for update`, args)
	if err != nil {
		return nil, fmt.Errorf("lock calendar blocks: %w", err)
	}

	if s.IDs == nil {
		return blocks, s.checkDays(blocks)
	}

	there := map[id.ID]bool{}
	for i := range blocks {
		there[blocks[i].ID] = true
	}

	var issues []apierr.Issue

	for i, v := range s.IDs {
		if !there[v] {
			issues = append(issues, apierr.IssueNotFound.InBody("ids", i))
		}
	}

	if issues != nil {
		return nil, apierr.BadRequest.At(issues...)
	}

	return blocks, nil
}

// checkDays fails for no blocks, for too many, and for a block only partly within the days.
func (s *Selection) checkDays(blocks []held) error {
	switch {
	case len(blocks) == 0:
		return apierr.BadRequest.At(apierr.IssueSelectionEmpty.InBody("listingIds"))
	case len(blocks) > maxUnblocked:
		return apierr.BadRequest.At(apierr.IssueRange.InBody("endAt"))
	}

	for i := range blocks {
		if blocks[i].StartAt.Before(*s.StartAt) || blocks[i].EndAt.After(*s.EndAt) {
			return errBeyond
		}
	}

	return nil
}

// unblock removes blocks, and starts the operation that notifies the systems. A block is deleted at once if it has no
// system, or if its system can no longer be notified.
func (*calendar) unblock(ctx context.Context, tx *db.Tx, in *unblockInput) (*operation.Acknowledgement, error) {
	blocks, err := in.Body.lock(ctx, tx)
	if err != nil {
		return nil, err
	}

	archived, err := loadArchived(ctx, tx, blocks)
	if err != nil {
		return nil, err
	}

	for i := range blocks {
		b := &blocks[i]

		switch {
		// An earlier request is removing it already.
		case b.Status == Unblocking:
			continue
		case b.ConnectionID == nil, b.Status == Refused, archived[*b.ConnectionID]:
			err = b.delete(ctx, tx)
		default:
			err = b.release(ctx, tx)
		}

		if err != nil {
			return nil, err
		}
	}

	return start(ctx, tx, operation.CalendarUnblock, blocks)
}

// release marks a block for removal at its system. An operation that holds it goes on, and notices when it is done.
func (b *held) release(ctx context.Context, tx *db.Tx) error {
	was := b.Block
	b.Status, b.Error = Unblocking, nil

	// update ends the hold, so set it again.
	holder, until := b.Holder, b.HeldUntil
	if err := b.update(ctx, tx, was, nil); err != nil {
		return err
	}

	return updateHolder(ctx, tx, b.ID, holder, until)
}

// loadArchived returns which connections of blocks are archived: they send nothing any more.
func loadArchived(ctx context.Context, tx *db.Tx, blocks []held) (map[id.ID]bool, error) {
	ids := []id.ID{}

	for i := range blocks {
		if blocks[i].ConnectionID != nil {
			ids = append(ids, *blocks[i].ConnectionID)
		}
	}

	found, err := db.Select[id.ID](ctx, tx, `select id from connection where team_id = @team and id = any(@ids) and status = 'archived'`,
		db.Args{"team": tx.Team, "ids": id.Distinct(ids)})
	if err != nil {
		return nil, fmt.Errorf("read the connections of blocks: %w", err)
	}

	out := map[id.ID]bool{}
	for _, v := range found {
		out[v] = true
	}

	return out, nil
}
