package fee

import (
	"context"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

// endpoints returns the routes of recurring fees and their listing periods.
func endpoints(used *parts.Usage) []api.Endpoint {
	const tag = "Recurring fees"

	reads, writes := []string{"recurring-fees:read"}, []string{"recurring-fees:write"}
	deletes := []string{"recurring-fees:delete"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/recurring-fees",
			ID:      "listRecurringFees",
			Tag:     tag,
			Summary: "List recurring fees",
			Scopes:  reads,
		}, listFees),
		api.Write(api.Endpoint{
			Method:    "POST",
			Path:      "/recurring-fees",
			ID:        "createRecurringFee",
			Tag:       tag,
			Summary:   "Create a recurring fee",
			Errors:    apierr.List{listing.ErrInGroup, errDuplicateName, errDuplicateUniqueRef, account.ErrRequiredMissing},
			Scopes:    writes,
			DryRun:    true,
			Status:    201,
			Exclusive: true,
			Doc: "Fails with 400 for an unknown account or listing, a formula that cannot be read (context.position " +
				"counts characters from 1) and overlapping listingSubscriptions; 409 for a name or uniqueRef that " +
				"exists; 400 for members of groups (reason listingInGroup). Journals of the listings' reservations follow in an operation of type " +
				"reservation-journal-refresh, save those a lock holds; see journalStatus.",
		}, create),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/recurring-fees/{id}",
			ID:      "getRecurringFee",
			Tag:     tag,
			Summary: "Read a recurring fee",
			Scopes:  reads,
			OneTrip: true,
		}, getFee),
		api.Write(api.Endpoint{
			Method:    "PUT",
			Path:      "/recurring-fees/{id}",
			ID:        "updateRecurringFee",
			Tag:       tag,
			Summary:   "Change a recurring fee",
			Errors:    apierr.List{errInUse, listing.ErrInGroup, errDuplicateName, errDuplicateUniqueRef, account.ErrRequiredMissing},
			Scopes:    writes,
			DryRun:    true,
			Exclusive: true,
			Doc: "Fields that are absent stay; listingSubscriptions, when given, replaces all listing periods. " +
				"Fails as creating does, with 404, and with 400 (reason inUse) for another rateType once the fee has entries, and for another " +
				"rateType or chargeBasis while listing periods have rates of their own that listingSubscriptions does not replace.",
		}, update),
		api.Write(api.Endpoint{
			Method:    "DELETE",
			Path:      "/recurring-fees/{id}",
			ID:        "deleteRecurringFee",
			Tag:       tag,
			Summary:   "Delete or archive a recurring fee",
			Errors:    apierr.List{errInUse, account.ErrRequiredMissing},
			Scopes:    deletes,
			DryRun:    true,
			Exclusive: true,
			Doc: "Listing periods go with the fee. onLocked=archive archives it instead, and the journals " +
				"follow.",
		}, handler{used}.deleteOrArchive),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/recurring-fees/listing-periods",
			ID:      "listRecurringFeeListingPeriods",
			Tag:     tag,
			Summary: "List listing periods",
			Scopes:  reads,
			Doc:     "Fails with 400 for a malformed recurringFeeId.",
		}, listPeriods),
		api.Write(api.Endpoint{
			Method:    "POST",
			Path:      "/recurring-fees/listing-periods",
			ID:        "createRecurringFeeListingPeriod",
			Tag:       tag,
			Summary:   "Charge a listing a fee",
			Errors:    apierr.List{listing.ErrInGroup, account.ErrRequiredMissing},
			Scopes:    writes,
			Exclusive: true,
			DryRun:    true,
			Status:    201,
			Doc: "Fails with 400 for an unknown fee or listing, and for a period that " +
				"is empty or overlaps another of the same fee and listing, unless onConflict=truncate can end that " +
				"one. A member of a group is charged the fees of the group: it is refused (reason listingInGroup).",
		}, createPeriod),
		api.Write(api.Endpoint{
			Method:    "PUT",
			Path:      "/recurring-fees/listing-periods/{id}",
			ID:        "updateRecurringFeeListingPeriod",
			Tag:       tag,
			Summary:   "Change a listing period",
			Errors:    apierr.List{listing.ErrInGroup, account.ErrRequiredMissing},
			Exclusive: true,
			Scopes:    writes,
			DryRun:    true,
			Doc:       "Fields that are absent stay. Fails as creating does, and with 404.",
		}, updatePeriod),
		api.Write(api.Endpoint{
			Method:    "DELETE",
			Path:      "/recurring-fees/listing-periods/{id}",
			ID:        "deleteRecurringFeeListingPeriod",
			Tag:       tag,
			Summary:   "Stop charging a listing a fee",
			Errors:    apierr.List{account.ErrRequiredMissing},
			Exclusive: true,
			Scopes:    deletes,
			DryRun:    true,
			Doc: "Journals of the listing's reservations follow, save those a lock " +
				"holds.",
		}, deletePeriodHandler),
	}
}

var sorts = page.Sorts{{Name: "name", Expr: "f.name", Text: true}, {Name: "createdAt", Expr: "f.created_at"}}

// listSort is an order of recurring fees.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort       listSort `query:"sort" default:"name"`
	IDs        page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	UniqueRefs []string `query:"uniqueRefs"`
	Status     string   `query:"status" enum:"active,inactive"`
	Types      []Type   `query:"type"`
	RateType   string   `query:"rateType" enum:"flat,percentage"`
	ListingIDs page.IDs `query:"listingIds" doc:"Fees with a listing period on one of the listings, or on its group."`
	AccountIDs page.IDs `query:"accountIds" doc:"Fees that one of the accounts earns or bears."`
	Search     string   `query:"search" maxLength:"200" doc:"Part of the name or uniqueRef."`
}

// listFees returns a page of recurring fees with their accounts, locks and journal statuses.
func listFees(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Fee], error) {
	q := page.Query{
		Columns: feeColumns,
		From:    feeTables,
		Rows:    "fee f",
		Joined:  "c d t",
		Sorts:   sorts,
		Default: "name",
		ID:      "f.id",
	}
	q.And("f.team_id = @team", db.Args{"team": tx.Team})
	q.CountedAs("fee")
	q.IDs("f.id = any(?)", in.IDs)
	q.Narrow("f.unique_ref = any(?)", in.UniqueRefs)
	q.Narrow("f.status = ?", in.Status)
	q.Narrow("f.type = any(?)", in.Types)
	q.Narrow("f.rate_type = ?", in.RateType)
	q.IDs(`exists (select from fee_listing_period p where p.team_id = f.team_id and p.fee_id = f.id
		and p.listing_id = any(?::uuid[] || array(select k.parent_id from listing k where k.team_id = @team and k.id = any(?) and k.parent_id is not null)))`, in.ListingIDs)
	q.IDs("f.credit_account_id = any(?) or f.debit_account_id = any(?)", in.AccountIDs)
	q.Search(in.Search, "f.name", "f.unique_ref")

	var (
		found  *page.Page[Fee]
		mapped []mapping
	)

	// First the fees, and the mappings of the team, which do not depend on them.
	if err := tx.Together(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = page.List[Fee](ctx, tx, q, in.Params, in.Sort)
		return err
	}, db.Load(&mapped, loadMappings)); err != nil {
		return nil, err
	}

	// Then, for all of them at once, what holds their entries and whether their journals are current.
	ids := make([]id.ID, len(found.Data))
	for i := range found.Data {
		ids[i] = found.Data[i].ID
	}

	states, err := ledger.LoadFeeStates(ctx, tx, ids)

	for i := range found.Data {
		f := &found.Data[i]
		f.useCurrentNames()
		f.link(mapped)
		f.fill(states[f.ID])
	}

	return found, err
}

type byID struct {
	ID id.ID `path:"id"`
}

// getFee answers with a recurring fee.
func getFee(ctx context.Context, tx *db.Tx, in *byID) (*Fee, error) {
	return loadShown(ctx, tx, in.ID)
}

// loadShown loads a fee with all that the API shows of it in one round trip, or fails with apierr.NotFound.
func loadShown(ctx context.Context, tx *db.Tx, feeID id.ID) (*Fee, error) {
	var (
		w      wholeFee
		states map[id.ID]ledger.State
	)
	if err := tx.Together(ctx, db.LoadBy(&w, loadWhole, feeID), db.LoadBy(&states, ledger.LoadFeeStates, []id.ID{feeID})); err != nil {
		return nil, err
	}

	f := &w.Fee
	f.ListingPeriods = w.Periods
	f.link(w.Mapped)
	f.fill(states[f.ID])

	return f, nil
}

// fill gives a fee its lock and journal status.
func (f *Fee) fill(s ledger.State) { f.Lock, f.JournalStatus = s.Lock, s.Status }

// link fills in the accounts that the fee depends on: those that its formula and conditions name, and those that
// its line types are posted on.
func (f *Fee) link(mapped []mapping) {
	// In the order of names, an account that is named twice follows itself.
	f.LinkedAccounts, f.IncludedFinancials = slices.Compact(f.Named), []Financial{}

	formula, err := ParseFormula(f.Stored)
	if err != nil {
		return // a flat fee
	}

	// A line type may be posted on several accounts, by app and channel. Each account is listed once.
	for _, name := range formula.Names() {
		for _, m := range mapped {
			if m.LineType != name {
				continue
			}

			included := Financial{LineType: name, AccountID: m.AccountID, Name: m.AccountName, Channel: m.Channel}
			if m.AppID != nil {
				included.App = &AppRef{*m.AppID}
			}

			f.IncludedFinancials = append(f.IncludedFinancials, included)
			if ref := (account.NameRef{ID: m.AccountID, Name: m.AccountName}); !slices.Contains(f.LinkedAccounts, ref) {
				f.LinkedAccounts = append(f.LinkedAccounts, ref)
			}
		}
	}
}
