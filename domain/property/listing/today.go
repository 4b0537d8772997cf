package listing

import (
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// wholeListing is a listing with what it has today, as one statement reads it.
type wholeListing struct {
	Listing
	ownedRow
	ledger.PeriodLockRow

	Fees []FeePeriod
}

// ownedRow has the columns of the ownership period that covers today: the listing's own, or that of its group. They
// are null for a listing that nobody owns.
type ownedRow struct {
	OwnedID                 *id.ID
	OwnedListingID          *id.ID
	OwnedStartAt            *day.Day
	OwnedEndAt              *day.Day
	OwnedBusinessModel      *BusinessModel
	OwnedReserve            *money.Cents
	OwnedSetListingInactive *bool
	OwnedDeactivationHeld   *HeldDeactivation
	OwnedMembers            []Member
	OwnedCreatedAt          *day.Instant
	OwnedUpdatedAt          *day.Instant
}

// The columns and tables of a wholeListing; both take the arguments of wholeArgs.
var (
	wholeColumns = listingColumns + `,
		owned.id as owned_id, owned.listing_id as owned_listing_id, owned.start_at as owned_start_at, owned.end_at as owned_end_at,
		owned.business_model as owned_business_model, owned.reserve as owned_reserve, owned.set_listing_inactive as owned_set_listing_inactive,
		owned.deactivation_held as owned_deactivation_held, ` + membersSQL("owned") + ` as owned_members,
		owned.created_at as owned_created_at, owned.updated_at as owned_updated_at, ` + ledger.PeriodLockColumns("owned.id") + `,
		(select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'startAt', p.start_at, 'endAt', p.end_at, 'rate', p.rate, 'recurringFee',
				jsonb_build_object('id', f.id, 'name', f.name, 'type', f.type, 'rateType', f.rate_type, 'defaultRate', f.default_rate)) order by f.id, p.id), '[]')
			from (` + feeSource + `) h join fee_listing_period p on ` + coversToday + ` and p.listing_id = h.id
			join fee f on f.team_id = p.team_id and f.id = p.fee_id and f.status = 'active') as fees`
	wholeFrom = listingFrom + ownedJoin + ledger.PeriodLockTables("owned.id")
)

// wholeArgs are the arguments of wholeColumns and wholeFrom.
func wholeArgs(tx *db.Tx) db.Args {
	return db.Args{"team": tx.Team, "today": tx.Today(), "reader": tx.Actor.User}
}

// period returns the ownership period of today without its lock, or nil.
func (o *ownedRow) period() *Period {
	if o.OwnedID == nil {
		return nil
	}

	return &Period{
		ID:                 *o.OwnedID,
		ListingID:          *o.OwnedListingID,
		StartAt:            o.OwnedStartAt,
		EndAt:              o.OwnedEndAt,
		BusinessModel:      *o.OwnedBusinessModel,
		Reserve:            o.OwnedReserve,
		SetListingInactive: *o.OwnedSetListingInactive,
		DeactivationHeld:   o.OwnedDeactivationHeld,
		Members:            o.OwnedMembers,
		CreatedAt:          *o.OwnedCreatedAt,
		UpdatedAt:          *o.OwnedUpdatedAt,
	}
}

// listing returns the listing as the API shows it.
func (w *wholeListing) listing() Listing {
	l := w.Listing
	l.ActiveRecurringFeePeriods = w.Fees

	if l.ActiveOwnership = w.period(); l.ActiveOwnership != nil {
		l.ActiveOwnership.Lock = w.Lock()
	}

	return l
}
