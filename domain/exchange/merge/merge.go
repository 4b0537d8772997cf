// Package merge joins two equal records: a contact goes into another contact, a listing into another listing. Records
// that name the first name the second afterwards, and the first is inactive.
//
// A merge is planned first: a dry run says how many records of each kind move and which of them must not, with a hash
// of everything that decides about it. The merge requires that hash, so that it does what a person has seen, or
// nothing. Nouns write their own tables; this package knows the order, and all columns that name a record.
//
// The page docs/decisions/merge.md says what the contract leaves open and how it is answered here.
package merge

import (
	"context"
	"net/http"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/calendar"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// The refusals of a merge.
var (
	errDryRunRequired = apierr.New(apierr.CodeConflict, apierr.ReasonMergeDryRunRequired,
		"Run the merge as a dry run first")
	errPlanChanged = apierr.New(apierr.CodeConflict, apierr.ReasonMergePlanChanged,
		"Merge plan changed since the dry run")
)

// Part returns the endpoints of merges.
func Part() parts.Part { return parts.Part{Endpoints: endpoints()} }

// endpoints returns the routes of merges, which run alone in a team.
func endpoints() []api.Endpoint {
	const how = " A dry run (dryRun=true) returns the plan, what blocks it and its planHash, which the merge needs: 409 mergeDryRunRequired" +
		" without it, mergePlanChanged when anything of the plan has changed since. Nothing that a statement or closed books hold moves: 409" +
		" statementAttachment, booksClosed. Fails with 404 for an unknown record; with 400 for an unknown, inactive or the same intoId"

	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/contacts/{id}/merge", ID: "mergeContact", Tag: "Contacts",
			Summary: "Merge a contact into another",
			Errors:  append(append(apierr.List{}, refusals...), listing.MergeErrors...),
			Doc:     "All that names the contact names the other one then, and the contact is inactive." + how + ", and for one of the other type.",
			Scopes:  []string{"contacts:write"}, DryRun: true, Exclusive: true,
		}, mergeContacts),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/listings/{id}/merge", ID: "mergeListing", Tag: "Listings",
			Summary: "Merge a listing into another",
			Errors: append(append(apierr.List{
				statement.ErrImporting, ledger.Refusals, reservation.DeriveErrors, calendar.MergeErrors,
			}, refusals...), listing.MergeErrors...),
			Doc: "All that names the listing names the other one then, its journals are derived again at once, and the listing is inactive." + how +
				" and for one in another currency; with 400 listingInGroup for a listing in a group and for a group; with 409 and" +
				" context.conflictingPeriodIds for owners or fees that differ on days on which both have owners; with 403 for entries that would come" +
				" under a saved statement of the other listing.",
			Scopes: []string{"listings:write"}, DryRun: true, Exclusive: true,
		}, mergeListings),
	}
}

var refusals = apierr.List{errDryRunRequired, errPlanChanged, ledger.MoveRefusals}

// Request names the record that another goes into.
type Request struct {
	IntoID   id.ID   `json:"intoId" doc:"The record that stays."`
	PlanHash *string `json:"planHash,omitempty" maxLength:"64" doc:"Of the dry run whose plan is to be carried out."`
}

type input struct {
	ID   id.ID `path:"id"`
	Body Request
}

// mergeContacts merges a contact into another.
func mergeContacts(ctx context.Context, tx *db.Tx, in *input) (*Plan, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	m, err := contact.LockMerge(ctx, tx, in.ID, in.Body.IntoID)
	if err != nil {
		return nil, err
	}

	p, err := newPlan(ctx, tx, contactRows, in)
	if err != nil {
		return nil, err
	}

	// Saved statements name their owners, so these ownership periods must not change.
	owned, err := listing.CountHeldOwned(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	p.hold(kindPeriods, owned, apierr.ReasonStatementAttachment)

	held, err := ledger.CountHeldNaming(ctx, tx, ledger.NamesContact, in.ID)
	if err != nil {
		return nil, err
	}

	p.holdEntries(held)

	return p.carryOut(tx, in, func() error { return moveContact(ctx, tx, m) })
}

// mergeListings merges a listing into another.
func mergeListings(ctx context.Context, tx *db.Tx, in *input) (*Plan, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	m, err := listing.LockMerge(ctx, tx, in.ID, in.Body.IntoID)
	if err != nil {
		return nil, err
	}

	p, err := newPlan(ctx, tx, listingRows, in)
	if err != nil {
		return nil, err
	}

	// Statements belong to the listing they were made for.
	p.holdRecords()

	held, err := ledger.CountHeldNaming(ctx, tx, ledger.NamesListing, in.ID)
	if err != nil {
		return nil, err
	}

	p.holdEntries(held)

	return p.carryOut(tx, in, func() error {
		// Fees are compared only here: a dry run of a blocked plan does not need them.
		fees, err := fee.PlanMerge(ctx, tx, m)
		if err != nil {
			return err
		}

		return moveListing(ctx, tx, m, fees)
	})
}
