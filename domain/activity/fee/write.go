package fee

import (
	"cmp"
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// ListingSubscription is a listing period as it comes with its fee.
type ListingSubscription struct {
	ListingID id.ID    `json:"listingId"`
	StartAt   *day.Day `json:"startAt,omitempty" nullable:"true" doc:"Absent or null means since inception."`
	EndAt     *day.Day `json:"endAt,omitempty" nullable:"true" doc:"The first day without the fee; absent or null means open."`
	Rate      *int64   `json:"rate,omitempty" nullable:"true" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Replaces the fee's default rate; null is that rate."`
}

// Create is the body of a new fee.
type Create struct {
	Name                   string                `json:"name" minLength:"1" maxLength:"200"`
	UniqueRef              *string               `json:"uniqueRef,omitempty" nullable:"true" minLength:"1" maxLength:"200"`
	Icon                   *string               `json:"icon,omitempty" nullable:"true" minLength:"1" maxLength:"100"`
	Status                 string                `json:"status,omitempty" enum:"active,inactive"`
	Type                   Type                  `json:"type"`
	Formula                string                `json:"formula,omitempty" maxLength:"1000" doc:"Needed by a percentage fee."`
	RateType               RateType              `json:"rateType" enum:"flat,percentage"`
	DefaultRate            int64                 `json:"defaultRate" minimum:"-9007199254740991" maximum:"9007199254740991"`
	RevenueRecognition     *Recognition          `json:"revenueRecognition,omitempty" nullable:"true" enum:"checkIn,checkOut,proRata,bookedAt"`
	CreditParty            ledger.Party          `json:"creditParty"`
	DebitParty             ledger.Party          `json:"debitParty"`
	CreditAccountID        id.ID                 `json:"creditAccountId"`
	DebitAccountID         id.ID                 `json:"debitAccountId"`
	ChargeBasis            ChargeBasis           `json:"chargeBasis,omitempty" doc:"Absent means perReservation."`
	TaxRateID              *id.ID                `json:"taxRateId,omitempty" nullable:"true"`
	TaxBehavior            *tax.Behavior         `json:"taxBehavior,omitempty" nullable:"true" doc:"Absent or null means excluded when there is a tax rate."`
	StatusFilter           StatusFilter          `json:"statusFilter,omitempty" doc:"Absent means booked."`
	OwnerStayFilter        OwnerStayFilter       `json:"ownerStayFilter,omitempty" doc:"Absent means exclude."`
	BookingChannelsFilter  []string              `json:"bookingChannelsFilter,omitempty" maxItems:"100"`
	AccountTotalConditions []Condition           `json:"accountTotalConditions,omitempty" maxItems:"20"`
	ListingSubscriptions   []ListingSubscription `json:"listingSubscriptions,omitempty" maxItems:"1000"`
}

type createInput struct{ Body Create }

// create makes a recurring fee.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Fee, error) {
	return Add(ctx, tx, &in.Body)
}

// Add makes a recurring fee with its listing periods. It fails as createRecurringFee does.
func Add(ctx context.Context, tx *db.Tx, b *Create) (*Fee, error) {
	// A fee changes many journals, so no other write of the team may run at the same time.
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	return save(ctx, tx, change{after: newFee(tx, b), subscriptions: b.ListingSubscriptions, given: true})
}

// NewUnsaved returns the fee that Add would make, without listing periods and without storing it: its name and
// uniqueRef may be taken. Otherwise it fails as createRecurringFee does.
func NewUnsaved(ctx context.Context, tx *db.Tx, b *Create) (*Fee, error) {
	f := newFee(tx, b)
	return f, (&change{after: f, subscriptions: b.ListingSubscriptions}).check(ctx, tx)
}

// newFee returns a new fee, with defaults for the fields that the caller left out.
func newFee(tx *db.Tx, b *Create) *Fee {
	f := &Fee{
		ID:                     tx.NewID(),
		UniqueRef:              b.UniqueRef,
		Name:                   b.Name,
		Icon:                   b.Icon,
		Status:                 cmp.Or(b.Status, active),
		Type:                   b.Type,
		Formula:                b.Formula,
		RateType:               b.RateType,
		DefaultRate:            b.DefaultRate,
		RevenueRecognition:     b.RevenueRecognition,
		CreditParty:            b.CreditParty,
		DebitParty:             b.DebitParty,
		CreditAccountID:        b.CreditAccountID,
		DebitAccountID:         b.DebitAccountID,
		ChargeBasis:            cmp.Or(b.ChargeBasis, PerReservation),
		TaxRateID:              b.TaxRateID,
		TaxBehavior:            b.TaxBehavior,
		StatusFilter:           cmp.Or(b.StatusFilter, BookedOnly),
		OwnerStayFilter:        cmp.Or(b.OwnerStayFilter, ExcludeOwnerStays),
		BookingChannelsFilter:  b.BookingChannelsFilter,
		AccountTotalConditions: b.AccountTotalConditions,
		CreatedAt:              day.At(tx.Now),
		UpdatedAt:              day.At(tx.Now),
	}

	// The column is not nullable, and the API shows an empty list.
	if f.BookingChannelsFilter == nil {
		f.BookingChannelsFilter = []string{}
	}

	return f
}

// Update is the body of a changed fee; absent fields stay as they are.
type Update struct {
	Name                   *string                `json:"name,omitempty" minLength:"1" maxLength:"200"`
	UniqueRef              api.Opt[string]        `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Icon                   api.Opt[string]        `json:"icon,omitzero" minLength:"1" maxLength:"100"`
	Status                 *string                `json:"status,omitempty" enum:"active,inactive"`
	Type                   *Type                  `json:"type,omitempty"`
	Formula                *string                `json:"formula,omitempty" maxLength:"1000"`
	RateType               *RateType              `json:"rateType,omitempty" enum:"flat,percentage"`
	DefaultRate            *int64                 `json:"defaultRate,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991"`
	RevenueRecognition     api.Opt[Recognition]   `json:"revenueRecognition,omitzero" enum:"checkIn,checkOut,proRata,bookedAt"`
	CreditParty            *ledger.Party          `json:"creditParty,omitempty"`
	DebitParty             *ledger.Party          `json:"debitParty,omitempty"`
	CreditAccountID        *id.ID                 `json:"creditAccountId,omitempty"`
	DebitAccountID         *id.ID                 `json:"debitAccountId,omitempty"`
	ChargeBasis            *ChargeBasis           `json:"chargeBasis,omitempty"`
	TaxRateID              api.Opt[id.ID]         `json:"taxRateId,omitzero" doc:"Null takes the tax away."`
	TaxBehavior            api.Opt[tax.Behavior]  `json:"taxBehavior,omitzero" doc:"Null means excluded when there is a tax rate."`
	StatusFilter           *StatusFilter          `json:"statusFilter,omitempty"`
	OwnerStayFilter        *OwnerStayFilter       `json:"ownerStayFilter,omitempty"`
	BookingChannelsFilter  *[]string              `json:"bookingChannelsFilter,omitempty" maxItems:"100"`
	AccountTotalConditions *[]Condition           `json:"accountTotalConditions,omitempty" maxItems:"20" doc:"Replaces all conditions."`
	ListingSubscriptions   *[]ListingSubscription `json:"listingSubscriptions,omitempty" maxItems:"1000" doc:"Replaces all listing periods."`
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a recurring fee and answers with it.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Fee, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	before, err := loadFee(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Apply the fields that are present to a copy: before is needed to find the journals that change.
	f, b := before, &in.Body
	ptr.Set(&f.Name, b.Name)
	ptr.Set(&f.Status, b.Status)
	ptr.Set(&f.Type, b.Type)
	ptr.Set(&f.Formula, b.Formula)
	ptr.Set(&f.RateType, b.RateType)
	ptr.Set(&f.DefaultRate, b.DefaultRate)
	ptr.Set(&f.CreditParty, b.CreditParty)
	ptr.Set(&f.DebitParty, b.DebitParty)
	ptr.Set(&f.CreditAccountID, b.CreditAccountID)
	ptr.Set(&f.DebitAccountID, b.DebitAccountID)
	ptr.Set(&f.ChargeBasis, b.ChargeBasis)
	ptr.Set(&f.StatusFilter, b.StatusFilter)
	ptr.Set(&f.OwnerStayFilter, b.OwnerStayFilter)
	ptr.Set(&f.BookingChannelsFilter, b.BookingChannelsFilter)
	ptr.Set(&f.AccountTotalConditions, b.AccountTotalConditions)
	f.UniqueRef, f.Icon = b.UniqueRef.Or(f.UniqueRef), b.Icon.Or(f.Icon)

	f.RevenueRecognition = b.RevenueRecognition.Or(f.RevenueRecognition)

	// A fee without a tax rate has no tax behavior, unless the caller names one, which check refuses.
	if f.TaxRateID = b.TaxRateID.Or(f.TaxRateID); f.TaxRateID == nil {
		f.TaxBehavior = nil
	}

	f.TaxBehavior = b.TaxBehavior.Or(f.TaxBehavior)

	f.UpdatedAt = day.At(tx.Now)

	// A formula that was checked before is not checked again, even if it names a line type that is not mapped any more.
	c := change{before: &before, after: &f, keepFormula: b.Formula == nil && b.RateType == nil}
	if b.ListingSubscriptions != nil {
		c.subscriptions, c.given = *b.ListingSubscriptions, true
	}

	return save(ctx, tx, c)
}

// change is a fee before a change, nil for a new one, and after it.
type change struct {
	before, after *Fee
	// subscriptions replace all listing periods when they are given.
	subscriptions []ListingSubscription
	given         bool
	// keepFormula says that the formula is the one that was checked before.
	keepFormula bool

	// listings are those of the subscriptions, once they were checked.
	listings map[id.ID]listing.Listing
}

// save checks and saves a fee, and marks the journals that change with it.
func save(ctx context.Context, tx *db.Tx, c change) (*Fee, error) {
	if err := c.check(ctx, tx); err != nil {
		return nil, err
	}

	f := c.after

	// The periods before the change show which stays the fee is charged on so far.
	before, err := loadPeriods(ctx, tx, f.ID)
	if err != nil {
		return nil, err
	}

	if err := c.checkUnit(ctx, tx, before); err != nil {
		return nil, err
	}

	if err := c.checkGroups(before); err != nil {
		return nil, err
	}

	stmts := feeStatements(tx, f)

	// Given subscriptions replace all listing periods, with an event for each.
	after := before
	if c.given {
		after = newPeriods(c.subscriptions)

		for i := range before {
			notePeriod(tx, audit.Deleted, &before[i], nil)
		}

		stmts = append(stmts, deletePeriodsSQL(tx, f.ID))

		for i := range after {
			p := &after[i]
			p.ID, p.FeeID, p.CreatedAt, p.UpdatedAt = tx.NewID(), f.ID, day.At(tx.Now), day.At(tx.Now)
			stmts = append(stmts, periodTable.Upsert(tx, p))
			notePeriod(tx, audit.Created, nil, p)
		}
	}

	// The fee is read after it was written, with the names of its accounts and tax rate.
	var saved Fee

	err = tx.Together(
		ctx,
		func(ctx context.Context, tx *db.Tx) error { return constraintError(tx.Pipeline(ctx, stmts...)) },
		db.LoadBy(&saved, loadFee, f.ID),
	)
	if err != nil {
		return nil, err
	}

	if c.before == nil {
		audit.Note(tx, audit.Created, audit.RecurringFee, f.ID, nil, auditView(&saved))
	} else {
		audit.Note(tx, audit.Updated, audit.RecurringFee, f.ID, auditView(c.before), auditView(&saved))
	}

	// Then have the journals derived again that charge the fee, or may charge it now.
	started, err := outdate(ctx, tx, feeChange{before: c.before, after: &saved, old: before, new: after})
	if err != nil {
		return nil, err
	}

	shown, err := loadShown(ctx, tx, f.ID)
	if err != nil {
		return nil, err
	}

	// The operation starts with the commit, so the status just read does not show it.
	shown.JournalStatus = pendingStatus(shown.JournalStatus, started)

	return shown, nil
}

// newPeriods returns listing periods, without ids, from the subscriptions of a body.
func newPeriods(subscriptions []ListingSubscription) []Period {
	out := make([]Period, len(subscriptions))
	for i := range subscriptions {
		s := &subscriptions[i]
		out[i] = Period{ListingID: s.ListingID, StartAt: s.StartAt, EndAt: s.EndAt, Rate: s.Rate}
	}

	return out
}

// auditView returns a fee for its audit event: with its formula as it was written, if the records that it names have
// other names now.
func auditView(f *Fee) any {
	v := struct {
		*Fee
		Written string `json:"writtenFormula,omitempty"`
	}{Fee: f}

	// Otherwise the text would appear twice.
	if f.Stored != f.Formula {
		v.Written = f.Stored
	}

	return v
}
