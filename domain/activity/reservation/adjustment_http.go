package reservation

import (
	"context"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// adjustmentEndpoints returns the routes of adjustments.
func adjustmentEndpoints() []api.Endpoint {
	write := []string{"reservations:write"}

	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method:     "POST",
			Path:       "/reservations/{id}/adjustments",
			ID:         "createReservationAdjustment",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Adjust a reservation",
			Errors:     apierr.List{errDuplicateAdjustment, errAmountRange, account.ErrRequiredMissing, errLocked},
			Scopes:     write,
			DryRun:     true,
			Status:     201,
			Doc: "Answers with the whole reservation. Fails with 404 for an unknown reservation, and for a recurring " +
				"fee that is unknown or not active any more; with 400 for an unknown account and for a type that " +
				"does not fit the account, party and fee; with 409 for a uniqueRef that exists. An adjustment with " +
				"an open posting date of its own can be made on a stay that is locked." + derives,
		}, createAdjustment),
		api.Write(api.Endpoint{
			Method:     "PUT",
			Path:       "/reservations/{id}/adjustments/{adjustmentId}",
			ID:         "updateReservationAdjustment",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Change an adjustment",
			Errors:     apierr.List{errDuplicateAdjustment, errAmountRange, account.ErrRequiredMissing, errLocked},
			Scopes:     write,
			DryRun:     true,
			Doc: "Fields that are absent stay. Answers with the whole reservation and fails as creating does." +
				derives,
		}, updateAdjustment),
		api.Write(api.Endpoint{
			Method:     "DELETE",
			Path:       "/reservations/{id}/adjustments/{adjustmentId}",
			ID:         "deleteReservationAdjustment",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Take an adjustment back",
			Errors:     apierr.List{errAmountRange, account.ErrRequiredMissing, errLocked},
			Scopes:     write,
			DryRun:     true,
			Doc:        "Answers with the whole reservation. Fails with 404." + derives,
		}, deleteAdjustment),
	}
}

// AdjustmentTerms are the fields of an adjustment except its amount.
type AdjustmentTerms struct {
	Type                   *AdjustmentType         `json:"type,omitempty" doc:"Absent: fee when there is a recurring fee, else financial."`
	Description            api.Opt[string]         `json:"description,omitzero" maxLength:"1000"`
	AccountID              api.Opt[id.ID]          `json:"accountId,omitzero" doc:"Absent for a financial adjustment of a canceled reservation: the account assigned cancellationRevenue."`
	AccountRef             *string                 `json:"accountRef,omitempty" minLength:"1" maxLength:"200" doc:"uniqueRef or code of the account, instead of accountId."`
	Party                  api.Opt[ledger.Party]   `json:"party,omitzero"`
	RecurringFeeID         api.Opt[id.ID]          `json:"recurringFeeId,omitzero" doc:"A fee adjustment that is posted as this fee is."`
	OwnershipPeriodID      api.Opt[id.ID]          `json:"ownershipPeriodId,omitzero" doc:"The ownership period whose owners have it; absent or null for the owners of the nights."`
	ReservationRef         api.Opt[string]         `json:"reservationRef,omitzero" maxLength:"200" doc:"What the source calls the reservation."`
	GeneralLedgerPostingAt api.Opt[day.Day]        `json:"generalLedgerPostingAt,omitzero" doc:"Absent or null: the date of the reservation, the cancellation's when canceled."`
	UniqueRef              api.Opt[string]         `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Metadata               api.Opt[map[string]any] `json:"metadata,omitzero"`
}

// CreateAdjustment is the body of a new adjustment.
type CreateAdjustment struct {
	Amount money.Cents `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991"`
	AdjustmentTerms
}

// UpdateAdjustment is the body of a changed adjustment; absent fields stay as they are.
type UpdateAdjustment struct {
	Amount *money.Cents `json:"amount,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991"`
	AdjustmentTerms
}

type createAdjustmentInput struct {
	ID   id.ID `path:"id"`
	Body CreateAdjustment
}

// createAdjustment makes an adjustment and answers with the whole reservation.
func createAdjustment(ctx context.Context, tx *db.Tx, in *createAdjustmentInput) (*Reservation, error) {
	return Adjust(ctx, tx, in.ID, &in.Body)
}

// Adjust makes an adjustment of a reservation and derives its journal. It fails as createReservationAdjustment
// does.
func Adjust(ctx context.Context, tx *db.Tx, reservationID id.ID, b *CreateAdjustment) (*Reservation, error) {
	if err := b.checkFee(ctx, tx); err != nil {
		return nil, err
	}

	// The fee is checked before the reservation is locked, so that a mistaken request locks nothing.
	r, err := lockOne(ctx, tx, reservationID)
	if err != nil {
		return nil, err
	}

	a := &Adjustment{ID: tx.NewID(), ReservationID: r.ID, Amount: b.Amount, CreatedAt: day.At(tx.Now)}

	return adjust(ctx, tx, r, nil, a, &b.AdjustmentTerms)
}

type adjustmentInput struct {
	ID           id.ID `path:"id"`
	AdjustmentID id.ID `path:"adjustmentId"`
}

type updateAdjustmentInput struct {
	adjustmentInput
	Body UpdateAdjustment
}

// updateAdjustment changes an adjustment and answers with the whole reservation. It fails with 404 for an adjustment
// that the reservation does not have.
func updateAdjustment(ctx context.Context, tx *db.Tx, in *updateAdjustmentInput) (*Reservation, error) {
	if err := in.Body.checkFee(ctx, tx); err != nil {
		return nil, err
	}

	r, err := lockOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// With the reservation locked, no one else can change the adjustment.
	a, err := loadAdjustment(ctx, tx, in.ID, in.AdjustmentID)
	if err != nil {
		return nil, err
	}

	before := *a
	ptr.Set(&a.Amount, in.Body.Amount)

	return adjust(ctx, tx, r, &before, a, &in.Body.AdjustmentTerms)
}

// deleteAdjustment deletes an adjustment and answers with the whole reservation. It fails with 404 for an adjustment
// that the reservation does not have.
func deleteAdjustment(ctx context.Context, tx *db.Tx, in *adjustmentInput) (*Reservation, error) {
	r, err := lockOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	a, err := loadAdjustment(ctx, tx, in.ID, in.AdjustmentID)
	if err != nil {
		return nil, err
	}

	if err := deleteAdjustmentRow(ctx, tx, in.AdjustmentID); err != nil {
		return nil, err
	}

	noteAdjustment(tx, audit.Deleted, a, nil)

	// Without the adjustment, deriving takes its posting out of the books.
	return rederive(ctx, tx, r)
}

// checkFee fails if the terms name a fee that is not in use. Rules ERR-108 … ERR-110.
func (t *AdjustmentTerms) checkFee(ctx context.Context, tx *db.Tx) error {
	if v := t.RecurringFeeID.Value; v != nil {
		_, err := fee.Active(ctx, tx, *v)
		return err
	}

	return nil
}

// lockOne locks a reservation for a change and loads it, or fails with apierr.NotFound.
func lockOne(ctx context.Context, tx *db.Tx, reservationID id.ID) (*Reservation, error) {
	found, err := lockAndLoad(ctx, tx, []id.ID{reservationID})
	if err == nil && len(found) == 0 {
		err = apierr.NotFound
	}

	if err != nil {
		return nil, err
	}

	return &found[0], nil
}

// adjust applies the terms that are given to an adjustment, checks and saves it, and derives the journal. A new
// adjustment has no before.
func adjust( //nolint:revive // before and after are one thing
	ctx context.Context, tx *db.Tx,
	r *Reservation,
	before, a *Adjustment,
	t *AdjustmentTerms,
) (*Reservation, error) {
	named, issues, err := t.account(ctx, tx)
	if err != nil {
		return nil, err
	}

	issues = append(issues, a.apply(t, named)...)

	missing, err := a.missingPeriod(ctx, tx, r.ListingID)
	if err != nil {
		return nil, err
	}

	if issues = append(issues, missing...); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	// What is kept of a canceled stay goes to the account assigned cancellationRevenue, unless an account is named.
	if a.needsAccount() && r.Status == Canceled {
		assigned, err := account.LoadAssigned(ctx, tx)
		if err != nil {
			return nil, err
		}

		if err := account.Require(assigned, account.CancellationRevenue); err != nil {
			return nil, err
		}

		a.AccountID = assigned[account.CancellationRevenue].OrNil()
	}

	// Only now is the account settled, so only now can its absence be an issue.
	if issues := a.check(); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	a.UpdatedAt = day.At(tx.Now)
	if err := saveAdjustment(ctx, tx, a); err != nil {
		return nil, err
	}

	// Then write the audit event and derive the journal anew.
	what := audit.Updated
	if before == nil {
		what = audit.Created
	}

	noteAdjustment(tx, what, before, a)

	return rederive(ctx, tx, r)
}

// rederive derives the adjustments of a locked reservation, which a lock on the stay itself does not hold back,
// then everything else that no lock holds. It returns the reservation as the API shows it.
func rederive(ctx context.Context, tx *db.Tx, r *Reservation) (*Reservation, error) {
	loaded, own, err := Known{}.inputs(ctx, tx, []Reservation{*r})
	if err != nil {
		return nil, err
	}

	derived, left := journals(loaded)

	var switched []id.ID

	if err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) error { return mapping.AddUnmapped(ctx, tx, findUnmapped(loaded)) },
		func(ctx context.Context, tx *db.Tx) (err error) {
			switched, err = saveUnposted(ctx, tx, derived.Sources, left)
			return err
		},
	); err != nil {
		return nil, err
	}

	if err := relinkSwitched(ctx, tx, loaded, switched); err != nil {
		return nil, err
	}

	// First the adjustments alone, strictly: a locked posting date of an adjustment refuses the change.
	if _, err := Source().Store(ctx, tx, derived, string(DecoupledAdjustmentsOnly), ledger.Lenience{}); err != nil {
		return nil, lockError(err)
	}

	// Then the rest, leaving alone what is locked.
	if _, err := Source().Store(ctx, tx, derived, string(Full), ledger.Lenience{SkipLocked: true}); err != nil {
		return nil, err
	}

	return render(ctx, tx, loaded[0].Reservation, loaded[0].Mappings, own)
}

// account returns the account that the terms name, by its id or by a reference, or the issue why there is no such
// account. It returns nil if they name none.
func (t *AdjustmentTerms) account(ctx context.Context, tx *db.Tx) (*id.ID, []apierr.Issue, error) {
	switch {
	case t.AccountRef != nil && t.AccountID.Value != nil:
		return nil, []apierr.Issue{apierr.IssueContradiction.InBody("accountRef")}, nil
	case t.AccountRef != nil:
		found, err := loadAccountByRef(ctx, tx, *t.AccountRef)
		if err == nil && found == nil {
			return nil, []apierr.Issue{apierr.IssueNotFound.InBody("accountRef")}, nil
		}

		return found, nil, err
	case t.AccountID.Value != nil:
		found, err := account.ByID(ctx, tx, []id.ID{*t.AccountID.Value})
		if _, exists := found[*t.AccountID.Value]; err == nil && !exists {
			return nil, []apierr.Issue{apierr.IssueNotFound.InBody("accountId")}, nil
		}

		return t.AccountID.Value, nil, err
	default:
		return nil, nil, nil
	}
}

// apply changes the adjustment to the terms. A recurring fee brings its own accounts and parties, so it replaces
// both; naming them as well is an issue.
func (a *Adjustment) apply(t *AdjustmentTerms, named *id.ID) (issues []apierr.Issue) {
	a.Description, a.UniqueRef = t.Description.Or(a.Description), t.UniqueRef.Or(a.UniqueRef)
	a.ReservationRef = t.ReservationRef.Or(a.ReservationRef)
	a.GeneralLedgerPostingAt = t.GeneralLedgerPostingAt.Or(a.GeneralLedgerPostingAt)
	a.RecurringFeeID = t.RecurringFeeID.Or(a.RecurringFeeID)
	a.OwnershipPeriodID = t.OwnershipPeriodID.Or(a.OwnershipPeriodID)

	// A null account removes the stored one, an absent one keeps it.
	a.Party = t.Party.Or(a.Party)

	// Without a type the fee decides.
	switch {
	case named != nil:
		a.AccountID = named
	case t.AccountID.Present:
		a.AccountID = nil
	}

	if t.Metadata.Present && t.Metadata.Value != nil {
		a.Metadata = *t.Metadata.Value
	} else if t.Metadata.Present || a.Metadata == nil {
		a.Metadata = map[string]any{}
	}

	switch {
	case t.Type != nil:
		a.Type = *t.Type
	case a.RecurringFeeID != nil:
		a.Type = FeeAdjustment
	case a.Type == "":
		a.Type = Financial
	}

	// The rest concerns adjustments for a recurring fee only.
	if a.RecurringFeeID == nil {
		return nil
	}

	if named != nil {
		issues = append(issues, apierr.IssueContradiction.InBody("accountId"))
	}

	if t.Party.Value != nil {
		issues = append(issues, apierr.IssueContradiction.InBody("party"))
	}

	a.AccountID, a.Party = nil, nil

	return issues
}

// missingPeriod returns an issue if the adjustment names an ownership period that is not the listing's.
func (a *Adjustment) missingPeriod(ctx context.Context, tx *db.Tx, listingID id.ID) ([]apierr.Issue, error) {
	if a.OwnershipPeriodID == nil {
		return nil, nil
	}

	periods, err := listing.Periods(ctx, tx, []id.ID{listingID})
	if err != nil || listing.FindPeriod(periods[listingID], *a.OwnershipPeriodID) != nil {
		return nil, err
	}

	return []apierr.Issue{apierr.IssueNotFound.InBody("ownershipPeriodId")}, nil
}

// needsAccount reports whether a financial adjustment has no account yet.
func (a *Adjustment) needsAccount() bool {
	return a.Type == Financial && a.RecurringFeeID == nil && a.AccountID == nil
}

// check returns an issue for each missing field that says where the money of the adjustment moves.
func (a *Adjustment) check() (issues []apierr.Issue) {
	if a.RecurringFeeID != nil {
		if a.Type == Financial {
			return []apierr.Issue{apierr.IssueContradiction.InBody("type")}
		}

		return nil
	}

	if a.AccountID == nil {
		issues = append(issues, apierr.IssueRequired.InBody("accountId"))
	}

	if a.Type == FeeAdjustment && a.Party == nil {
		issues = append(issues, apierr.IssueRequired.InBody("party"))
	}

	return issues
}
