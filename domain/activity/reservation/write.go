package reservation

import (
	"context"
	"strings"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// LineInput is a line as it comes with its reservation.
type LineInput struct {
	Type        string      `json:"type" minLength:"1" maxLength:"100"`
	Amount      money.Cents `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents; negative for a discount."`
	Description *string     `json:"description,omitempty" nullable:"true" maxLength:"1000"`
	AccountID   *id.ID      `json:"accountId,omitempty" nullable:"true" doc:"Account instead of the one that the type is mapped to."`
	UniqueRef   *string     `json:"uniqueRef,omitempty" nullable:"true" minLength:"1" maxLength:"200"`
}

// Create is the body of a new reservation.
type Create struct {
	ListingID              id.ID          `json:"listingId"`
	UniqueRef              *string        `json:"uniqueRef,omitempty" nullable:"true" minLength:"1" maxLength:"200"`
	AppID                  *string        `json:"appId,omitempty" nullable:"true" minLength:"1" maxLength:"100"`
	SourceID               *string        `json:"sourceId,omitempty" nullable:"true" minLength:"1" maxLength:"200"`
	Type                   Type           `json:"type,omitempty"`
	Status                 Status         `json:"status,omitempty"`
	GeneralLedgerStatus    LedgerStatus   `json:"generalLedgerStatus,omitempty"`
	GuestName              *string        `json:"guestName,omitempty" nullable:"true" maxLength:"200"`
	BookerName             *string        `json:"bookerName,omitempty" nullable:"true" maxLength:"200"`
	Guests                 *int64         `json:"guests,omitempty" nullable:"true" minimum:"0" maximum:"10000"`
	ConfirmationCode       *string        `json:"confirmationCode,omitempty" nullable:"true" maxLength:"200"`
	PMSReferenceCode       *string        `json:"pmsReferenceCode,omitempty" nullable:"true" maxLength:"200"`
	CheckIn                day.Day        `json:"checkIn"`
	CheckOut               day.Day        `json:"checkOut"`
	BookedAt               *day.Day       `json:"bookedAt,omitempty" nullable:"true"`
	CancelledAt            *day.Day       `json:"cancelledAt,omitempty" nullable:"true" doc:"Only while canceled; absent means today."`
	BookingPlatform        *string        `json:"bookingPlatform,omitempty" nullable:"true" maxLength:"100"`
	GeneralLedgerPostingAt *day.Day       `json:"generalLedgerPostingAt,omitempty" nullable:"true"`
	Currency               string         `json:"currency,omitempty" minLength:"3" maxLength:"3" doc:"Absent: the listing's."`
	Userdata               map[string]any `json:"userdata,omitempty"`
	Metadata               map[string]any `json:"metadata,omitempty"`
	Lines                  []LineInput    `json:"lines,omitempty" maxItems:"500"`
}

// Update is the body of a changed reservation; absent fields stay as they are.
type Update struct {
	Status *Status `json:"status,omitempty"`
	Fields
}

// Fields are the fields of a reservation that can be changed, except its status.
type Fields struct {
	ListingID              *id.ID               `json:"listingId,omitempty"`
	UniqueRef              api.Opt[string]      `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	AppID                  api.Opt[string]      `json:"appId,omitzero" minLength:"1" maxLength:"100"`
	SourceID               api.Opt[string]      `json:"sourceId,omitzero" minLength:"1" maxLength:"200"`
	Type                   *Type                `json:"type,omitempty"`
	GeneralLedgerStatus    *LedgerStatus        `json:"generalLedgerStatus,omitempty"`
	GuestName              api.Opt[string]      `json:"guestName,omitzero" maxLength:"200"`
	BookerName             api.Opt[string]      `json:"bookerName,omitzero" maxLength:"200"`
	Guests                 api.Opt[int64]       `json:"guests,omitzero" minimum:"0" maximum:"10000"`
	ConfirmationCode       api.Opt[string]      `json:"confirmationCode,omitzero" maxLength:"200"`
	PMSReferenceCode       api.Opt[string]      `json:"pmsReferenceCode,omitzero" maxLength:"200"`
	CheckIn                *day.Day             `json:"checkIn,omitempty"`
	CheckOut               *day.Day             `json:"checkOut,omitempty"`
	BookedAt               api.Opt[day.Day]     `json:"bookedAt,omitzero"`
	CancelledAt            api.Opt[day.Day]     `json:"cancelledAt,omitzero"`
	BookingPlatform        api.Opt[string]      `json:"bookingPlatform,omitzero" maxLength:"100"`
	GeneralLedgerPostingAt api.Opt[day.Day]     `json:"generalLedgerPostingAt,omitzero"`
	Currency               *string              `json:"currency,omitempty" minLength:"3" maxLength:"3"`
	ExpectedPayout         api.Opt[money.Cents] `json:"expectedPayout,omitzero" minimum:"-9007199254740991" maximum:"9007199254740991"`
	ExpectedChannelFee     api.Opt[money.Cents] `json:"expectedChannelFee,omitzero" minimum:"0" maximum:"9007199254740991"`
	ExpectedProcessingFee  api.Opt[money.Cents] `json:"expectedProcessingFee,omitzero" minimum:"0" maximum:"9007199254740991"`
	Userdata               map[string]any       `json:"userdata,omitempty"`
	Metadata               map[string]any       `json:"metadata,omitempty"`
	Lines                  *[]LineInput         `json:"lines,omitempty" maxItems:"500" doc:"Replaces all lines."`
}

// draft is a reservation as it is going to be stored.
type draft struct {
	Reservation
	// before is the stored reservation, nil for a new one.
	before *Reservation
	// relined replaces the stored lines by those in memory.
	relined bool
	// canceledToday says that the reservation is canceled now, by a caller who names no day.
	canceledToday bool
	// index is the place in a batch.
	index int
	// issues were found before the draft is checked.
	issues []apierr.Issue
}

// newDraft returns the draft of a new reservation, with defaults for the fields that the caller left out.
func newDraft(tx *db.Tx, b *Create) *draft {
	reservationID := tx.NewID()

	// A new reservation has no stored lines, so the lines in memory are all that it gets.
	d := &draft{relined: true, Reservation: Reservation{
		ID:                     reservationID,
		ShortRef:               reservationID.ShortRef(),
		UniqueRef:              b.UniqueRef,
		AppID:                  b.AppID,
		SourceID:               b.SourceID,
		ListingID:              b.ListingID,
		Type:                   b.Type,
		Status:                 b.Status,
		GeneralLedgerStatus:    b.GeneralLedgerStatus,
		GuestName:              b.GuestName,
		BookerName:             b.BookerName,
		Guests:                 b.Guests,
		ConfirmationCode:       b.ConfirmationCode,
		PMSReferenceCode:       b.PMSReferenceCode,
		CheckIn:                b.CheckIn,
		CheckOut:               b.CheckOut,
		BookedAt:               b.BookedAt,
		CancelledAt:            b.CancelledAt,
		BookingPlatform:        b.BookingPlatform,
		GeneralLedgerPostingAt: b.GeneralLedgerPostingAt,
		Currency:               b.Currency,
		Userdata:               b.Userdata,
		Metadata:               b.Metadata,
		CreatedAt:              day.At(tx.Now),
		UpdatedAt:              day.At(tx.Now),
		Lines:                  newLines(b.Lines),
	}}
	d.settleDefaults(tx)

	return d
}

// newUpdateDraft returns a draft of a stored reservation with changes.
func newUpdateDraft(tx *db.Tx, r *Reservation, b *Update) *draft {
	d := &draft{Reservation: *r, before: r}
	d.change(b)
	d.UpdatedAt = day.At(tx.Now)
	d.settleDefaults(tx)

	return d
}

// change applies the fields that are present in the body to the draft.
func (d *draft) change(b *Update) {
	// Fields that cannot be null are pointers; those that can be null are options.
	ptr.Set(&d.ListingID, b.ListingID)
	ptr.Set(&d.Type, b.Type)
	ptr.Set(&d.Status, b.Status)
	ptr.Set(&d.GeneralLedgerStatus, b.GeneralLedgerStatus)
	ptr.Set(&d.CheckIn, b.CheckIn)
	ptr.Set(&d.CheckOut, b.CheckOut)
	ptr.Set(&d.Currency, b.Currency)
	d.UniqueRef, d.GuestName = b.UniqueRef.Or(d.UniqueRef), b.GuestName.Or(d.GuestName)
	d.BookerName = b.BookerName.Or(d.BookerName)
	d.AppID, d.SourceID = b.AppID.Or(d.AppID), b.SourceID.Or(d.SourceID)
	d.Guests, d.ConfirmationCode = b.Guests.Or(d.Guests), b.ConfirmationCode.Or(d.ConfirmationCode)
	d.PMSReferenceCode = b.PMSReferenceCode.Or(d.PMSReferenceCode)
	d.BookingPlatform = b.BookingPlatform.Or(d.BookingPlatform)
	d.BookedAt = b.BookedAt.Or(d.BookedAt)
	d.ExpectedPayout = b.ExpectedPayout.Or(d.ExpectedPayout)
	d.ExpectedChannelFee = b.ExpectedChannelFee.Or(d.ExpectedChannelFee)
	d.ExpectedProcessingFee = b.ExpectedProcessingFee.Or(d.ExpectedProcessingFee)

	// A day that is given back as it was read is still one that was filled in.
	if at := b.CancelledAt.Or(d.CancelledAt); !ptr.Equal(at, d.CancelledAt) {
		d.CancelledAt, d.CancelledAtIsAssumed = at, false
	}

	d.GeneralLedgerPostingAt = b.GeneralLedgerPostingAt.Or(d.GeneralLedgerPostingAt)
	if b.Userdata != nil {
		d.Userdata = b.Userdata
	}

	if b.Metadata != nil {
		d.Metadata = b.Metadata
	}

	// Lines are replaced as a whole; relined makes the stored ones go.
	if b.Lines != nil {
		d.Lines, d.relined = newLines(*b.Lines), true
	}
}

// settleDefaults fills in the fields that the caller left out. A reservation has a date of cancellation from its
// cancellation on, and loses it when it is booked again.
func (d *draft) settleDefaults(tx *db.Tx) {
	if d.Type == "" {
		d.Type = Guest
	}

	if d.Status == "" {
		d.Status = Booked
	}

	if d.GeneralLedgerStatus == "" {
		d.GeneralLedgerStatus = LedgerActive
	}

	// An inactive reservation keeps whatever date of cancellation it has.
	switch today := tx.Today(); {
	case d.Status == Canceled && d.CancelledAt == nil:
		d.CancelledAt, d.CancelledAtIsAssumed, d.canceledToday = &today, true, true
	case d.Status == Booked:
		d.CancelledAt, d.CancelledAtIsAssumed = nil, false
	}

	// The API answers with empty objects, never with null.
	if d.Userdata == nil {
		d.Userdata = map[string]any{}
	}

	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
}

// newLines returns lines without ids from the lines of a body.
func newLines(given []LineInput) []Line {
	out := make([]Line, len(given))
	for i := range given {
		l := &given[i]
		out[i] = Line{
			UniqueRef:   l.UniqueRef,
			Type:        l.Type,
			Description: l.Description,
			Amount:      l.Amount,
			AccountID:   l.AccountID,
		}
	}

	return out
}

// save checks and saves a reservation, derives its journal, and returns the reservation as the API shows it.
func save(ctx context.Context, tx *db.Tx, d *draft) (*Reservation, error) {
	k, err := saveDraft(ctx, tx, d)
	if err != nil {
		return nil, err
	}

	return render(ctx, tx, d.Reservation, k.settings.mappings, k.own)
}

// render loads what is around a saved reservation and returns it as the API shows it.
func render(ctx context.Context, tx *db.Tx, r Reservation, mappings mapping.Set, own ownRecords) (*Reservation, error) {
	n, err := loadAroundRow(ctx, tx, r.ID)
	if err != nil {
		return nil, err
	}

	a, err := loadAround(ctx, tx, map[id.ID]*aroundRow{r.ID: n})
	if err != nil {
		return nil, err
	}

	a.fill(&r)
	r.finish(mappings, own, true)

	return &r, nil
}

// saveDraft checks and saves a reservation and derives its journal. It returns the loaded records that it worked with.
func saveDraft(ctx context.Context, tx *db.Tx, d *draft) (saveContext, error) {
	k, err := loadSaveContext(ctx, tx, []*draft{d})
	if err != nil {
		return k, err
	}

	if err := k.check(d); err != nil {
		return k, err
	}

	return k, k.saveAll(ctx, tx, []*draft{d})
}

// saveAll saves checked drafts and the journals derived from them, all or none.
func (k *saveContext) saveAll(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	// First, in memory: complete the drafts and derive their journals.
	loaded := make([]Input, len(drafts))

	existing := false
	for i, d := range drafts {
		existing = existing || d.before != nil
		k.fillDraft(tx, d)
		loaded[i] = k.input(&d.Reservation, k.own)
	}

	// New reservations have no journal that could be replaced, so the ledger need not look for one.
	derived, left := journals(loaded)
	derived.Made, derived.Standing = !existing, k.standing

	kept := derived.Sources
	if !existing {
		kept = nil
	}

	var waiting, switched []id.ID

	// Then all writes in one round trip: none needs the result of another.
	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) error { return saveRows(ctx, tx, drafts) },
		func(ctx context.Context, tx *db.Tx) error { return mapping.AddUnmapped(ctx, tx, findUnmapped(loaded)) },
		func(ctx context.Context, tx *db.Tx) (err error) {
			switched, err = saveUnposted(ctx, tx, kept, left)
			return err
		},
		func(ctx context.Context, tx *db.Tx) error {
			_, err := Source().Store(ctx, tx, derived, "", k.lenience)

			// A lock on a changed reservation is named after the reservation (RSN-53); a new one keeps the reason
			// of the ledger.
			if existing {
				err = lockError(err)
			}

			return err
		},
		db.LoadBy(&waiting, loadRelinks, drafts))
	if err != nil {
		return err
	}

	// Relink transactions booked before their reservation existed, or following a reservation which moved.
	if err := StartRelink(ctx, tx, []id.ID{drafts[0].ID}, waiting); err != nil {
		return err
	}

	if err := relinkSwitched(ctx, tx, loaded, switched); err != nil {
		return err
	}

	// Last, the same stays of a former system.
	return settleDrafts(ctx, tx, drafts)
}

// saveRows writes the rows and lines of drafts and their audit events.
func saveRows(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	if err := tx.Pipeline(ctx, saveStmts(tx, drafts)...); err != nil {
		return constraintError(err)
	}

	for _, d := range drafts {
		if d.before == nil {
			note(tx, audit.Created, nil, &d.Reservation)
		} else {
			note(tx, audit.Updated, d.before, &d.Reservation)
		}
	}

	return nil
}

// fillDraft gives a draft what the caller does not bring along: the listing that it shows, its adjustments, and its
// lines as they are stored or, where these change, as they are going to be. The version before the change gets the
// lines that it had.
func (k *saveContext) fillDraft(tx *db.Tx, d *draft) {
	given := d.Lines
	k.own.attach(&d.Reservation)

	// Attaching has set the stored lines. The version before the change keeps them, on a copy, since others may
	// hold the original.
	if d.before != nil {
		was := *d.before
		was.Lines = d.Lines
		d.before = &was
	}

	d.Listing = k.listings[d.ListingID].Ref

	// Today is a day of the listing.
	if d.canceledToday {
		d.CancelledAt = new(k.listings[d.ListingID].Zone.Day(tx.Now))
	}

	if !d.relined {
		return
	}

	// New lines get their ids, and the classification that decides to which party they post.
	d.Lines = given
	for i := range d.Lines {
		l := &d.Lines[i]

		l.ID, l.ReservationID = tx.NewID(), d.ID
		if l.AccountID != nil {
			l.Classification = k.books.Accounts[*l.AccountID].Classification
		}
	}
}

// view is a reservation as audit events show it: without the fields that are computed from other records.
type view struct {
	*Reservation
	Expected
	Lines       []LineInput `json:"lines"`
	Source      *struct{}   `json:"source,omitempty"`
	Listing     *struct{}   `json:"listing,omitempty"`
	Adjustments *struct{}   `json:"adjustments,omitempty"`
	Reason      *struct{}   `json:"generalLedgerInactiveReason,omitempty"`
	Financials  *struct{}   `json:"financials,omitempty"`
	Payment     *struct{}   `json:"payment,omitempty"`
}

// auditView returns the view of a reservation for its audit event, nil for none.
func auditView(r *Reservation) any {
	if r == nil {
		return nil
	}

	v := view{Reservation: r, Expected: r.Expected}
	for i := range r.Lines {
		l := &r.Lines[i]

		// Lines have no ids here: these are new whenever lines are replaced, and would show as changes.
		v.Lines = append(v.Lines, LineInput{
			UniqueRef:   l.UniqueRef,
			Type:        l.Type,
			Description: l.Description,
			Amount:      l.Amount,
			AccountID:   l.AccountID,
		})
	}

	return v
}

// note writes the audit event of a reservation. It concerns the listing of before and the listing of after.
func note(tx *db.Tx, what audit.Type, before, after *Reservation) {
	var (
		reservationID id.ID
		refs          []audit.Reference
	)

	for _, r := range []*Reservation{before, after} {
		if r != nil {
			reservationID = r.ID
			refs = append(refs, audit.Ref(audit.RoleListing, audit.Listing, r.ListingID))
		}
	}

	audit.Note(tx, what, audit.Reservation, reservationID, auditView(before), auditView(after), refs...)
}

// saveContext has the records that drafts refer to and that their journals are derived from.
type saveContext struct {
	basis

	own      ownRecords
	listings map[id.ID]namedListing
	booked   map[id.ID]bool   // reservations that a record names in another currency than the one that they get now
	standing []ledger.Posting // of stored reservations
	lenience ledger.Lenience
}

// loadSaveContext loads and locks the records that drafts refer to, for all of them at once.
func loadSaveContext(ctx context.Context, tx *db.Tx, drafts []*draft) (k saveContext, err error) {
	var (
		stored, listings, converted []id.ID
		currencies                  []string
	)

	// First collect the references of all drafts.
	for _, d := range drafts {
		listings = append(listings, d.ListingID)
		if d.before != nil {
			stored = append(stored, d.ID)
		}

		// A reservation may change its currency only if no record in the old one names it, so such drafts are
		// looked up.
		if wanted := strings.ToLower(d.Currency); d.before != nil && d.before.Currency != wanted {
			converted, currencies = append(converted, d.ID), append(currencies, wanted)
		}
	}

	listings = id.Distinct(listings)

	// Then load everything in one round trip.
	works := []db.Work{
		db.LoadBy(&k.listings, lockListings, listings),
		func(ctx context.Context, tx *db.Tx) (err error) {
			k.booked, err = loadCurrencyConflicts(ctx, tx, converted, currencies)
			return err
		},
		db.LoadBy(&k.own, loadOwnRecords, stored), db.LoadBy(&k.standing, ledger.LoadPostings, stored), db.LoadBy(&k.basis, Known{}.basis, listings),
	}
	if err := tx.Together(ctx, works...); err != nil {
		return k, err
	}

	if k.followMerged(drafts) {
		return loadSaveContext(ctx, tx, drafts)
	}

	return k, nil
}

// maxNights bounds the stay that pro rata recognition has to cut up: ten years and a few days.
const maxNights = 3660

// check refuses what the schema of the API cannot see, and settles the currency. It reports all issues of a draft
// at once.
func (k *saveContext) check(d *draft) error {
	found := d.issues
	add := func(code apierr.IssueCode, path ...any) { found = append(found, code.InBody(path...)) }

	switch nights := d.nights(); {
	case nights < 1:
		add(apierr.IssueDateOrder, "checkOut")
	case nights > maxNights:
		add(apierr.IssueRange, "checkOut")
	}

	// A reservation without a currency gets that of its listing.
	place, exists := k.listings[d.ListingID]
	if !exists {
		add(apierr.IssueNotFound, "listingId")
	} else if d.Currency == "" {
		d.Currency = place.DefaultCurrency
	}

	if d.Currency != "" {
		currency, err := money.ParseCurrency(d.Currency)
		if err != nil {
			add(apierr.IssueCurrency, "currency")
		}

		d.Currency = string(currency)
	}

	// Records that name the reservation in the old currency would no longer fit.
	if k.booked[d.ID] {
		add(apierr.IssueCurrencyMismatch, "currency")
	}

	// The sum of the lines has to stay within the safe range, whatever their signs.
	var size money.Reach

	for i := range d.Lines {
		l := &d.Lines[i]
		size.Add(l.Amount)

		if l.AccountID == nil {
			continue
		}

		if _, exists := k.books.Accounts[*l.AccountID]; !exists {
			add(apierr.IssueNotFound, "lines", i, "accountId")
		}
	}

	if !size.Valid() {
		add(apierr.IssueRange, "lines")
	}

	if len(found) > 0 {
		return apierr.BadRequest.At(found...)
	}

	return nil
}
