package listing

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// EndFees ends the listing periods of recurring fees that a listing has itself and that cover the day, and returns
// those that are in the way: they begin on the day or later. Without a day it ends none, and those in the way are all
// that cover today or later days. When any is in the way it changes nothing. Package fee has it, because it owns
// these periods.
type EndFees func(ctx context.Context, tx *db.Tx, listingID id.ID, at *day.Day) ([]id.ID, error)

// What can be wrong with a change of groups.
var (
	// ErrInGroup refuses owners and fees that a member of a group would have for itself.
	ErrInGroup = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonListingInGroup, "Set this value on the listing group instead",
	)
	errInGroupAlready = apierr.New(
		apierr.CodeConflict, apierr.ReasonListingInGroupAlready, "Listing already in a group",
	)
	errOwnPeriods = apierr.New(apierr.CodeConflict, "", "The listing has periods of its own on days in the group")
)

// groupEndpoints returns the routes that put listings into groups and take them out. They run one at a time in a team.
func (h Listings) groupEndpoints() []api.Endpoint {
	const follows = " In a team with a general ledger the journals of the listing follow in an operation of type " +
		"listing-journal-refresh, which is acknowledged with 202; elsewhere they follow at once."

	return []api.Endpoint{
		operation.QueueOr(api.Endpoint{
			Method: http.MethodPut, Path: "/listings/{id}/parent", ID: "setListingParent", Tag: tag,
			Summary: "Put a listing into a group",
			Errors: apierr.List{
				errInGroupAlready, errInUse, ErrInGroup, errOwnPeriods, errPeriodLocked, account.ErrRequiredMissing,
			},
			Exclusive: true,
			Doc: "The owners and recurring fees of the group count for the listing on all days that no period of its " +
				"own covers. Its own periods that cover startAt end there. Fails with 404 for an unknown listing; " +
				"with 400 for an unknown parentId, the listing itself, a parent that is in a group (reason " +
				"listingInGroup) and a listing that is a group (reason inUse); with 409 for a listing in a group " +
				"(reason listingInGroupAlready) and for periods of its own from startAt on, without startAt from " +
				"today on (context.conflictingPeriodIds); with 403 when an owner statement holds days that would " +
				"leave a period (reason " +
				"statementAttachment)." + follows,
			Scopes: []string{"listings:write"}, DryRun: true,
		}, h.putParent, h.work),
		operation.QueueOr(api.Endpoint{
			Method: http.MethodDelete, Path: "/listings/{id}/parent", ID: "removeListingParent", Tag: tag,
			Summary:   "Take a listing out of its group",
			Errors:    apierr.List{errPeriodLocked, account.ErrRequiredMissing},
			Exclusive: true,
			Doc: "The owners and fees of the group count for the listing no more, on any day. Fails with 404 for a " +
				"listing that is in no group; with 403 when saved owner statements of the group show entries of the " +
				"listing (reason " +
				"statementAttachment)." + follows,
			Scopes: []string{"listings:write"}, DryRun: true,
		}, h.deleteParent, h.work),
	}
}

// SetParent says which group a listing is put into.
type SetParent struct {
	ParentID id.ID    `json:"parentId" doc:"The group: any listing that is in no group itself."`
	StartAt  *day.Day `json:"startAt,omitempty" doc:"The first day on which the listing has no owners and fees of its own."`
}

type putParentInput struct {
	ID   id.ID `path:"id"`
	Body SetParent
}

// putParent puts a listing into a group. Its journals follow at once or in an operation.
func (h Listings) putParent(ctx context.Context, tx *db.Tx, in *putParentInput) (*Listing, *operation.New, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, nil, err
	}

	l, group, err := lockPair(ctx, tx, in.ID, in.Body.ParentID)
	if err != nil {
		return nil, nil, err
	}

	// A group has one level, so neither may be in two roles.
	members, err := lockMembers(ctx, tx, l.ID)
	if err != nil {
		return nil, nil, err
	}

	if err := checkLevels(l, group, members); err != nil {
		return nil, nil, err
	}

	// The owners and fees that the listing has itself end before those of the group count.
	if err := h.endOwnPeriods(ctx, tx, l.ID, in.Body.StartAt); err != nil {
		return nil, nil, err
	}

	if err := saveParent(ctx, tx, l, group); err != nil {
		return nil, nil, err
	}

	return h.answerMoved(ctx, tx, l.ID)
}

// deleteParent takes a listing out of its group. It fails with apierr.NotFound for one that is in none, and with
// errPeriodLocked when saved owner statements of the group show entries of the listing.
func (h Listings) deleteParent(ctx context.Context, tx *db.Tx, in *getInput) (*Listing, *operation.New, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, nil, err
	}

	l, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, nil, err
	}

	if l.Parent == nil {
		return nil, nil, apierr.NotFound
	}

	// Statements keep what they were saved with, so the entries in them keep their ownership period.
	held, err := ledger.ListStatementsShowing(ctx, tx, l.ID, l.Parent.ID)
	if err != nil {
		return nil, nil, err
	}

	if len(held) > 0 {
		return nil, nil, errPeriodLocked.With(StatementContext{LockReason: "statement", StatementIDs: held})
	}

	if err := saveParent(ctx, tx, l, nil); err != nil {
		return nil, nil, err
	}

	return h.answerMoved(ctx, tx, l.ID)
}

// answerMoved returns a listing that joined or left a group, and the operation that its journals follow in, if any.
func (h Listings) answerMoved(ctx context.Context, tx *db.Tx, listingID id.ID) (*Listing, *operation.New, error) {
	n, err := h.follow(ctx, tx, listingID)
	if err != nil {
		return nil, nil, err
	}

	saved, err := load(ctx, tx, listingID)

	return saved, n, err
}

// lockPair locks a listing and the one that is to be its group, the group first. It fails with apierr.NotFound for an
// unknown listing, and with 400 at parentId for an unknown group.
func lockPair(ctx context.Context, tx *db.Tx, listingID, parentID id.ID) (l, group *Listing, err error) {
	group, err = lock(ctx, tx, parentID)

	unknown := errors.Is(err, apierr.NotFound)
	if err != nil && !unknown {
		return nil, nil, err
	}

	if l, err = lock(ctx, tx, listingID); err != nil {
		return nil, nil, err
	}

	if unknown {
		return nil, nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("parentId"))
	}

	return l, group, nil
}

// lockMembers locks the listings of a group, by id, and returns their ids; none for a listing that is no group. The
// caller holds the lock of the group.
func lockMembers(ctx context.Context, tx *db.Tx, groupID id.ID) ([]id.ID, error) {
	members, err := db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and parent_id = @group order by id for update`,
		db.Args{"team": tx.Team, "group": groupID})
	if err != nil {
		return nil, fmt.Errorf("lock the listings of a group: %w", err)
	}

	return members, nil
}

// checkLevels refuses groups within groups: a listing in a group already, one that is its own group, a parent that is
// in a group, and a listing with members.
func checkLevels(l, group *Listing, members []id.ID) error {
	switch {
	case l.Parent != nil:
		return errInGroupAlready
	case l.ID == group.ID:
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("parentId"))
	case group.Parent != nil:
		return ErrInGroup.At(apierr.IssueContradiction.InBody("parentId"))
	case len(members) > 0:
		return errInUse.With(apierr.InUse{LockReasons: []string{"groupedListings"}})
	default:
		return nil
	}
}

// endOwnPeriods ends the ownership periods and the listing periods of fees that a listing has itself and that cover
// the day. It fails with errOwnPeriods for those that begin then or later, without a day for those that go on today,
// and with errPeriodLocked when an owner statement holds days that would leave a period.
func (h Listings) endOwnPeriods(ctx context.Context, tx *db.Tx, listingID id.ID, at *day.Day) error {
	byListing, err := LoadOwnPeriods(ctx, tx, []id.ID{listingID})
	if err != nil {
		return err
	}

	own := byListing[listingID]
	covering, inTheWay := splitAt(own, at, tx.Today())

	// Fees are ended by their own package, which does so only if none of them is in the way.
	fees, err := h.endFees(ctx, tx, listingID, at)
	if err != nil {
		return err
	}

	if inTheWay = append(inTheWay, fees...); len(inTheWay) > 0 {
		return errOwnPeriods.With(ConflictContext{ConflictingPeriodIDs: inTheWay})
	}

	if covering == nil {
		return nil
	}

	// A saved statement keeps its days in the period.
	statements, err := ledger.ListStatementsOver(ctx, tx, []id.ID{covering.ID})
	if err != nil {
		return err
	}

	ended := *covering

	ended.EndAt = at
	if err := checkStatements(covering, &ended, statements); err != nil {
		return err
	}

	if err := tx.Pipeline(ctx, endPeriodSQL(tx, &ended)); err != nil {
		return fmt.Errorf("end ownership period: %w", err)
	}

	noteEnd(tx, covering, at)

	return nil
}

// splitAt returns which of a listing's periods ends on a day, if any, and the ids of those that are in the way of a
// group from then on. Without a day none ends, and all that go on today are in the way.
func splitAt(own []Period, at *day.Day, today day.Day) (covering *Period, inTheWay []id.ID) {
	for i := range own {
		p := &own[i]

		switch {
		case at == nil:
			if p.EndAt == nil || today.Before(*p.EndAt) {
				inTheWay = append(inTheWay, p.ID)
			}
		case p.StartAt != nil && !p.StartAt.Before(*at):
			inTheWay = append(inTheWay, p.ID)
		case p.EndAt == nil || at.Before(*p.EndAt):
			covering = p
		}
	}

	return covering, inTheWay
}

// saveParent saves which group a listing is in, nil for none.
func saveParent(ctx context.Context, tx *db.Tx, l, group *Listing) error {
	var parentID *id.ID
	if group != nil {
		parentID = &group.ID
	}

	_, err := tx.Exec(ctx, `update listing set parent_id = @parent, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": l.ID, "parent": parentID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("save the group of a listing: %w", err)
	}

	// The event names the group by its id alone, which never changes.
	type view struct {
		*Listing
		Parent   *struct{} `json:"parent,omitempty"`
		ParentID *id.ID    `json:"parentId"`
	}

	was, refs := (*id.ID)(nil), []audit.Reference{}
	if l.Parent != nil {
		was, refs = &l.Parent.ID, append(refs, audit.Ref(audit.RoleParent, audit.Listing, l.Parent.ID))
	}

	if group != nil {
		refs = append(refs, audit.Ref(audit.RoleParent, audit.Listing, group.ID))
	}

	audit.Note(
		tx, audit.Updated, audit.Listing, l.ID, view{Listing: l, ParentID: was}, view{Listing: l, ParentID: parentID},
		refs...,
	)

	return nil
}
