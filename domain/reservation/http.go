package reservation

import (
	"context"
	"errors"

	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Endpoints are the routes of reservations.
func Endpoints() []api.Endpoint {
	const tag = "Reservations"
	read, write := []string{"reservations:read"}, []string{"reservations:write"}
	const derives = " The journal follows in the same transaction: 403 booksClosed, statementAttachment, statementPeriod or statementInReview when a lock " +
		"holds an entry that would change, 400 requiredAccountMissing when an account assignment is missing."
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: "GET", Path: "/reservations", ID: "listReservations", Tag: tag, Summary: "List reservations", Scopes: read,
			Doc: "Fails with 400 for a date that is none of YYYY, YYYY-MM, YYYY-MM-DD and YYYY-MM-DD...YYYY-MM-DD, and for an amount that is none of 100 and " +
				"100...200.",
		}, listReservations),
		api.Write(api.Endpoint{
			Method: "POST", Path: "/reservations", ID: "createReservation", Tag: tag, Summary: "Create a reservation", Scopes: write, DryRun: true, Status: 201,
			Doc: "Fails with 400 for an unknown listing or account, a stay without nights or of more than ten years, and an unknown currency; with 409 for a uniqueRef " +
				"that exists." + derives,
		}, create),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/reservations/{id}", ID: "getReservation", Tag: tag, Summary: "Read a reservation", Scopes: read,
		}, getReservation),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/reservations/{id}/journal-preview", ID: "previewReservationJournal", Tag: tag, Summary: "Preview a reservation's journal",
			Scopes: read, Doc: "The journal as it would be derived now, without writing it. Fails with 404.",
		}, previewJournal),
		api.Write(api.Endpoint{
			Method: "PUT", Path: "/reservations/{id}", ID: "updateReservation", Tag: tag, Summary: "Change a reservation", Scopes: write, DryRun: true,
			Doc: "Fields that are absent stay; lines, when given, replace all lines. Fails as creating does, and with 404." + derives,
		}, update),
		api.Write(api.Endpoint{
			Method: "POST", Path: "/reservations/journal-entries", ID: "refreshReservationJournals", Tag: tag, Summary: "Derive journals anew",
			Scopes: []string{"journals:post"}, Also: refreshAlso(),
			Doc: "With exactly one id the work is done in the request and answered with 200. Several ids, or none for all reservations, start an operation of type " +
				"reservation-journal-refresh, answered with 202. lockPolicy strict fails on the first journal that a lock holds, bestEffort leaves it as it is. " +
				"Fails with 400 when an id is unknown.",
		}, refresh),
	}
}

type byID struct {
	ID id.ID `path:"id"`
}

func getReservation(ctx context.Context, tx *db.Tx, in *byID) (*Reservation, error) {
	return show(ctx, tx, in.ID)
}

func show(ctx context.Context, tx *db.Tx, reservationID id.ID) (*Reservation, error) {
	r, err := get(ctx, tx, reservationID, "")
	if err != nil {
		return nil, err
	}
	rs := []Reservation{*r}
	if err := complete(ctx, tx, rs, true); err != nil {
		return nil, err
	}
	return &rs[0], nil
}

// LineInput is a line as it comes with its reservation.
type LineInput struct {
	Type        string      `json:"type" minLength:"1" maxLength:"100"`
	Amount      money.Cents `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents; negative for a discount."`
	Description *string     `json:"description,omitempty" maxLength:"1000"`
	AccountID   *id.ID      `json:"accountId,omitempty" doc:"Account instead of the one that the type is mapped to."`
	UniqueRef   *string     `json:"uniqueRef,omitempty" minLength:"1" maxLength:"200"`
}

// Create is the body of a new reservation.
type Create struct {
	ListingID              id.ID          `json:"listingId"`
	UniqueRef              *string        `json:"uniqueRef,omitempty" minLength:"1" maxLength:"200"`
	Status                 Status         `json:"status,omitempty"`
	GeneralLedgerStatus    LedgerStatus   `json:"generalLedgerStatus,omitempty"`
	GuestName              *string        `json:"guestName,omitempty" maxLength:"200"`
	BookerName             *string        `json:"bookerName,omitempty" maxLength:"200"`
	Guests                 *int64         `json:"guests,omitempty" minimum:"0" maximum:"10000"`
	ConfirmationCode       *string        `json:"confirmationCode,omitempty" maxLength:"200"`
	PMSReferenceCode       *string        `json:"pmsReferenceCode,omitempty" maxLength:"200"`
	CheckIn                day.Day        `json:"checkIn"`
	CheckOut               day.Day        `json:"checkOut"`
	BookedAt               *day.Day       `json:"bookedAt,omitempty"`
	CancelledAt            *day.Day       `json:"cancelledAt,omitempty"`
	BookingPlatform        *string        `json:"bookingPlatform,omitempty" maxLength:"100"`
	GeneralLedgerPostingAt *day.Day       `json:"generalLedgerPostingAt,omitempty"`
	Currency               string         `json:"currency,omitempty" minLength:"3" maxLength:"3" doc:"Absent: the listing's."`
	Userdata               map[string]any `json:"userdata,omitempty"`
	Metadata               map[string]any `json:"metadata,omitempty"`
	Lines                  []LineInput    `json:"lines,omitempty" maxItems:"500"`
}

type createInput struct{ Body Create }

func create(ctx context.Context, tx *db.Tx, in *createInput) (*Reservation, error) {
	return Add(ctx, tx, &in.Body)
}

// Add makes a reservation and its journal. It fails as createReservation does.
func Add(ctx context.Context, tx *db.Tx, b *Create) (*Reservation, error) {
	reservationID := tx.NewID()
	r := &Reservation{
		ID: reservationID, ShortRef: reservationID.ShortRef(), UniqueRef: b.UniqueRef, ListingID: b.ListingID, Status: b.Status,
		GeneralLedgerStatus: b.GeneralLedgerStatus, GuestName: b.GuestName, BookerName: b.BookerName, Guests: b.Guests,
		ConfirmationCode: b.ConfirmationCode, PMSReferenceCode: b.PMSReferenceCode, CheckIn: b.CheckIn, CheckOut: b.CheckOut, BookedAt: b.BookedAt,
		CancelledAt: b.CancelledAt, BookingPlatform: b.BookingPlatform, GeneralLedgerPostingAt: b.GeneralLedgerPostingAt, Currency: b.Currency,
		Userdata: b.Userdata, Metadata: b.Metadata, CreatedAt: day.At(tx.Now), UpdatedAt: day.At(tx.Now),
	}
	if r.Status == "" {
		r.Status = Booked
	}
	if r.GeneralLedgerStatus == "" {
		r.GeneralLedgerStatus = LedgerActive
	}
	lines := b.Lines
	if lines == nil {
		lines = []LineInput{}
	}
	return save(ctx, tx, r, lines)
}

// Update is the body of a changed reservation; what is absent stays.
type Update struct {
	ListingID              *id.ID           `json:"listingId,omitempty"`
	UniqueRef              api.Opt[string]  `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Status                 *Status          `json:"status,omitempty"`
	GeneralLedgerStatus    *LedgerStatus    `json:"generalLedgerStatus,omitempty"`
	GuestName              api.Opt[string]  `json:"guestName,omitzero" maxLength:"200"`
	BookerName             api.Opt[string]  `json:"bookerName,omitzero" maxLength:"200"`
	Guests                 api.Opt[int64]   `json:"guests,omitzero" minimum:"0" maximum:"10000"`
	ConfirmationCode       api.Opt[string]  `json:"confirmationCode,omitzero" maxLength:"200"`
	PMSReferenceCode       api.Opt[string]  `json:"pmsReferenceCode,omitzero" maxLength:"200"`
	CheckIn                *day.Day         `json:"checkIn,omitempty"`
	CheckOut               *day.Day         `json:"checkOut,omitempty"`
	BookedAt               api.Opt[day.Day] `json:"bookedAt,omitzero"`
	CancelledAt            api.Opt[day.Day] `json:"cancelledAt,omitzero"`
	BookingPlatform        api.Opt[string]  `json:"bookingPlatform,omitzero" maxLength:"100"`
	GeneralLedgerPostingAt api.Opt[day.Day] `json:"generalLedgerPostingAt,omitzero"`
	Currency               *string          `json:"currency,omitempty" minLength:"3" maxLength:"3"`
	Userdata               map[string]any   `json:"userdata,omitempty"`
	Metadata               map[string]any   `json:"metadata,omitempty"`
	Lines                  *[]LineInput     `json:"lines,omitempty" maxItems:"500" doc:"Replaces all lines."`
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// keep sets what is given.
func keep[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Reservation, error) {
	if err := hold(ctx, tx, []id.ID{in.ID}); err != nil {
		return nil, err
	}
	r, err := get(ctx, tx, in.ID, lockForChange)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	keep(&r.ListingID, b.ListingID)
	keep(&r.Status, b.Status)
	keep(&r.GeneralLedgerStatus, b.GeneralLedgerStatus)
	keep(&r.CheckIn, b.CheckIn)
	keep(&r.CheckOut, b.CheckOut)
	keep(&r.Currency, b.Currency)
	r.UniqueRef, r.GuestName, r.BookerName = b.UniqueRef.Or(r.UniqueRef), b.GuestName.Or(r.GuestName), b.BookerName.Or(r.BookerName)
	r.Guests, r.ConfirmationCode = b.Guests.Or(r.Guests), b.ConfirmationCode.Or(r.ConfirmationCode)
	r.PMSReferenceCode, r.BookingPlatform = b.PMSReferenceCode.Or(r.PMSReferenceCode), b.BookingPlatform.Or(r.BookingPlatform)
	r.BookedAt, r.CancelledAt = b.BookedAt.Or(r.BookedAt), b.CancelledAt.Or(r.CancelledAt)
	r.GeneralLedgerPostingAt = b.GeneralLedgerPostingAt.Or(r.GeneralLedgerPostingAt)
	if b.Userdata != nil {
		r.Userdata = b.Userdata
	}
	if b.Metadata != nil {
		r.Metadata = b.Metadata
	}
	r.UpdatedAt = day.At(tx.Now)
	if b.Lines == nil {
		return save(ctx, tx, r, nil)
	}
	if *b.Lines == nil {
		*b.Lines = []LineInput{}
	}
	return save(ctx, tx, r, *b.Lines)
}

// save checks and writes a reservation, with new lines unless they are nil, and derives its journal.
func save(ctx context.Context, tx *db.Tx, r *Reservation, lines []LineInput) (*Reservation, error) {
	if err := checkReservation(ctx, tx, r, lines); err != nil {
		return nil, err
	}
	if r.Userdata == nil {
		r.Userdata = map[string]any{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	stmts := []db.Stmt{upsertStatement(tx, r)}
	if lines != nil {
		own := make([]Line, len(lines))
		for i := range lines {
			l := &lines[i]
			own[i] = Line{UniqueRef: l.UniqueRef, Type: l.Type, Description: l.Description, Amount: l.Amount, AccountID: l.AccountID}
		}
		stmts = append(stmts, replaceLines(tx, r.ID, own)...)
	}
	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return nil, refused(err)
	}
	if _, err := Refresh(ctx, tx, []id.ID{r.ID}, ledger.Lenience{}); err != nil {
		return nil, err
	}
	return show(ctx, tx, r.ID)
}

// maxNights bounds what pro rata recognition has to cut up.
const maxNights = 3660

// checkReservation refuses what the schema cannot see, and settles the currency.
func checkReservation(ctx context.Context, tx *db.Tx, r *Reservation, lines []LineInput) error {
	var found []apierr.Issue
	add := func(message, code string, path ...any) {
		found = append(found, apierr.Issue{Message: message, Code: code, Path: path, Schema: "body"})
	}
	switch nights := r.Nights(); {
	case nights < 1:
		add("Check-out is not after check-in", "order", "checkOut")
	case nights > maxNights:
		add("The stay is too long", "range", "checkOut")
	}
	defaultCurrency, err := currencyOf(ctx, tx, r.ListingID)
	switch {
	case errors.Is(err, db.ErrNoRows):
		add("Listing does not exist", "notFound", "listingId")
	case err != nil:
		return err
	case r.Currency == "":
		r.Currency = defaultCurrency
	}
	if r.Currency != "" {
		currency, err := money.ParseCurrency(r.Currency)
		if err != nil {
			add("Currency is not known", "currency", "currency")
		}
		r.Currency = string(currency)
	}
	if err := checkLines(ctx, tx, lines, add); err != nil {
		return err
	}
	if len(found) > 0 {
		return apierr.BadRequest.At(found...)
	}
	return nil
}

func checkLines(ctx context.Context, tx *db.Tx, lines []LineInput, add func(message, code string, path ...any)) error {
	var named []id.ID
	var size money.Cents
	for i := range lines {
		if lines[i].AccountID != nil {
			named = append(named, *lines[i].AccountID)
		}
		// At most 500 amounts of 53 bits: the sum stays below 63.
		size += max(lines[i].Amount, -lines[i].Amount)
	}
	if !size.Valid() {
		add("The amounts add up to more than the safe range", "range", "lines")
	}
	if len(named) == 0 {
		return nil
	}
	accounts, err := account.ByID(ctx, tx, named)
	if err != nil {
		return err
	}
	for i := range lines {
		if v := lines[i].AccountID; v != nil {
			if _, known := accounts[*v]; !known {
				add("Account does not exist", "notFound", "lines", i, "accountId")
			}
		}
	}
	return nil
}
