package pms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/banking/channelpayout"
	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pms"
)

// The kinds of records of systems.
const (
	listingKind     = "listing"
	reservationKind = "reservation"
	payoutKind      = channelpayout.KindName
)

// source reads the records of a system for syncs.
type source struct {
	client pms.Client
	app    string
	zones  zones
	// onDifference says how to deal with lines that do not add up to the stated total of a stay.
	onDifference onDifference
}

// onDifference is a setting of connections: how to deal with lines that do not add up to the stated total of a stay.
type onDifference string

// The choices: a line that no account takes until a person has classified it, a guest fee, or the stay is refused.
const (
	differenceIssue onDifference = "issue"
	differenceFee   onDifference = "fee"
	differenceFails onDifference = "fail"
)

// onDifferenceSetting declares the setting for apps.
var onDifferenceSetting = connection.Field{
	Name: "onTotalDifference", Fallback: string(differenceIssue), Min: 1, Max: 10,
	Check: connection.OneOf(string(differenceIssue), string(differenceFee), string(differenceFails)),
}

// readOnDifference reads the setting of a connection.
func readOnDifference(settings json.RawMessage) onDifference {
	var has map[string]string

	_ = json.Unmarshal(settings, &has) // they were checked before they were saved

	return onDifference(cmp.Or(has[onDifferenceSetting.Name], onDifferenceSetting.Fallback))
}

// zones are the time zones of the listings of a system, by external id. Listings without a zone use the zone of the
// team.
type zones struct {
	team     day.Zone
	listings map[string]day.Zone
}

// at returns the time zone of a listing.
func (z zones) at(listing string) day.Zone {
	if own, has := z.listings[listing]; has {
		return own
	}

	return z.team
}

// add adds the time zone of a listing just read, unless the listing here has one.
func (z *zones) add(l *pms.Listing) {
	zone := day.Zone(l.TimeZone)
	if _, has := z.listings[l.ID]; has || !zone.Known() {
		return
	}

	if z.listings == nil {
		z.listings = map[string]day.Zone{}
	}

	z.listings[l.ID] = zone
}

// readZones loads, in its own transaction, the time zones of listings bound to a system.
func readZones(ctx context.Context, d *db.DB, scope db.Scope, connection id.ID) (out zones, err error) {
	err = d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = loadZones(ctx, tx, connection)
		return err
	})

	return out, err
}

// loadZones loads the time zones of listings bound to a system.
func loadZones(ctx context.Context, tx *db.Tx, connection id.ID) (zones, error) {
	type row struct {
		ExternalID string
		Zone       day.Zone
	}

	rows, err := db.Select[row](ctx, tx, `
		select r.external_id, l.time_zone as zone from listing_connection r join listing l on l.team_id = @team and l.id = r.listing_id
		where r.team_id = @team and r.connection_id = @connection and l.time_zone is not null`, db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return zones{}, fmt.Errorf("read the time zones of listings: %w", err)
	}

	out := zones{team: tx.Zone, listings: make(map[string]day.Zone, len(rows))}
	for _, r := range rows {
		out.listings[r.ExternalID] = r.Zone
	}

	return out, nil
}

// Kinds lists the kinds of records, listings first because reservations refer to them.
func (s *source) Kinds() []string {
	_, pays := s.client.(pms.Payer)
	return kinds(pays)
}

// kinds lists the kinds of records of a system; pays says that it also has channel payouts.
func kinds(pays bool) []string {
	out := []string{listingKind, reservationKind}
	if pays {
		out = append(out, payoutKind)
	}

	return out
}

// Pull returns the next page of a kind.
func (s *source) Pull(ctx context.Context, r intake.Request) (*intake.Page, error) {
	switch r.Kind {
	case listingKind:
		return s.pullListings(ctx, r.Page)
	case payoutKind:
		return s.pullPayouts(ctx, r)
	}

	got, err := s.client.Reservations(ctx, &pms.Query{Since: r.Since, Page: r.Page, From: r.From, To: r.To})
	if err != nil {
		return nil, sourceError(err)
	}

	out := newPage(&r, &intake.Page{Next: got.Next, Watermark: got.Mark, Complete: got.Complete})

	for i := range got.Reservations {
		out.Changes = append(out.Changes, s.reservation(&got.Reservations[i]))
	}

	for i := range got.Unreadable {
		out.Changes = append(out.Changes, unreadable(reservationKind, &got.Unreadable[i]))
	}

	return out, nil
}

// newPage sets the window in which a complete page is complete: the requested days.
func newPage(r *intake.Request, p *intake.Page) *intake.Page {
	if p.Complete && (r.From != nil || r.To != nil) {
		p.Window = &intake.Window{From: r.From, To: r.To}
	}

	return p
}

// pullListings returns a page of listings. Together the pages always have all listings.
func (s *source) pullListings(ctx context.Context, page string) (*intake.Page, error) {
	got, err := s.client.Listings(ctx, page)
	if err != nil {
		return nil, sourceError(err)
	}

	out := &intake.Page{Next: got.Next, Complete: true}

	for i := range got.Listings {
		s.zones.add(&got.Listings[i])
		out.Changes = append(out.Changes, listingChange(&got.Listings[i]))
	}

	for i := range got.Unreadable {
		out.Changes = append(out.Changes, unreadable(listingKind, &got.Unreadable[i]))
	}

	return out, nil
}

// pullPayouts returns a page of channel payouts.
func (s *source) pullPayouts(ctx context.Context, r intake.Request) (*intake.Page, error) {
	payer, is := s.client.(pms.Payer)
	if !is {
		return nil, fmt.Errorf("%w: the system knows no payouts", intake.ErrRefused)
	}

	got, err := payer.Payouts(ctx, &pms.Query{Since: r.Since, Page: r.Page, From: r.From, To: r.To})
	if err != nil {
		return nil, sourceError(err)
	}

	out := newPage(&r, &intake.Page{Next: got.Next, Watermark: got.Mark, Complete: got.Complete})

	for i := range got.Payouts {
		out.Changes = append(out.Changes, payoutChange(&got.Payouts[i]))
	}

	for i := range got.Unreadable {
		out.Changes = append(out.Changes, unreadable(payoutKind, &got.Unreadable[i]))
	}

	return out, nil
}

// payoutChange returns the change for a payout.
func payoutChange(p *pms.Payout) intake.Change {
	c := intake.Change{Kind: payoutKind, ExternalID: p.ID, Gone: p.Gone, ChangedAt: p.ChangedAt}
	if p.Gone {
		return c
	}

	members := make([]channelpayout.ItemMember, len(p.Members))
	for i, m := range p.Members {
		members[i] = channelpayout.ItemMember{
			SourceID: orNull(m.ReservationID), ConfirmationCode: orNull(m.Code), Description: orNull(m.Description),
			Gross: m.Gross, Fees: m.Fees, Taxes: m.Taxes,
		}
	}

	c.At = &p.Day
	c.Values = intake.Values{
		"channel": textOrNull(p.Channel), "reference": textOrNull(p.Reference), "date": text(p.Day.String()),
		"currency": text(p.Currency), "amount": encode(p.Amount), "members": encode(members),
	}

	return c
}

// Lookup returns the present state of reservations. Other kinds, and systems without a lookup, are read completely
// instead.
func (s *source) Lookup(ctx context.Context, kind string, externalIDs []string) ([]intake.Change, error) {
	if kind != reservationKind {
		return s.lookThrough(ctx, kind, externalIDs)
	}

	got, wrong, err := s.client.Lookup(ctx, externalIDs)

	switch {
	case errors.Is(err, pms.ErrNotOffered):
		return s.lookThrough(ctx, kind, externalIDs)
	case err != nil:
		return nil, sourceError(err)
	}

	out := make([]intake.Change, 0, len(got)+len(wrong))
	for i := range got {
		out = append(out, s.reservation(&got[i]))
	}

	for i := range wrong {
		out = append(out, unreadable(kind, &wrong[i]))
	}

	return out, nil
}

// lookThrough reads all records of a kind and returns the ones with these ids. Missing records are gone if the
// reading was complete.
func (s *source) lookThrough(ctx context.Context, kind string, externalIDs []string) ([]intake.Change, error) {
	found, complete, left := map[string]intake.Change{}, true, most(kind)

	for page, more := "", true; more; more = page != "" {
		got, err := s.Pull(ctx, intake.Request{Kind: kind, Page: page})
		if err != nil {
			return nil, err
		}

		if err := left.Take(len(got.Changes)); err != nil {
			return nil, fmt.Errorf("look through the records of a system: %w", err)
		}

		for _, c := range got.Changes {
			if slices.Contains(externalIDs, c.ExternalID) {
				found[c.ExternalID] = c
			}
		}

		page, complete = got.Next, complete && got.Complete
	}

	out := make([]intake.Change, 0, len(externalIDs))

	for _, name := range externalIDs {
		if c, has := found[name]; has {
			out = append(out, c)
		} else if complete {
			out = append(out, intake.Change{Kind: kind, ExternalID: name, Gone: true})
		}
	}

	return out, nil
}

// sourceError converts the error of a call to the error that syncs act on.
func sourceError(err error) error {
	switch {
	case errors.Is(err, pms.ErrCredentials):
		return fmt.Errorf("%w: %w", intake.ErrRefused, err)
	case errors.Is(err, pms.ErrAnswer):
		return fmt.Errorf("%w: %w", intake.ErrProtocol, err)
	case errors.Is(err, pms.ErrCursor):
		return fmt.Errorf("%w: %w", intake.ErrCursorLost, err)
	}

	if e, ok := errors.AsType[*pms.Error](err); ok && !e.Until.IsZero() {
		return &intake.LimitedError{Until: e.Until, Cause: err}
	}

	return fmt.Errorf("read a property-management system: %w", err)
}

// unreadable returns the change for a record that breaks the format of its system: it fails alone.
func unreadable(kind string, u *pms.Unreadable) intake.Change {
	refused := &intake.Refusal{Reason: intake.Malformed, Field: u.Field, Fault: string(u.Fault)}

	return intake.Change{Kind: kind, ExternalID: u.ID, Refused: refused}
}

// listingChange returns the change for a listing.
func listingChange(l *pms.Listing) intake.Change {
	values := intake.Values{"name": text(l.Name)}

	if l.Currency != "" {
		values["defaultCurrency"] = text(l.Currency)
	}

	// An unknown time zone is left out: refusing the listing for it would cost more.
	if zone := day.Zone(l.TimeZone); zone.Known() {
		values["timeZone"] = text(l.TimeZone)
	}

	if a := l.Address; a != nil {
		values["address"] = encode(listingAddress(a))
	}

	// The parent and the unit are no fields of a listing here; listing_connection has them.
	if l.ParentID != "" {
		values["parentId"], values["unit"] = text(l.ParentID), text(l.Unit)
	}

	return intake.Change{Kind: listingKind, ExternalID: l.ID, Values: values}
}

// listingAddress returns an address in the form of the API.
func listingAddress(a *pms.Address) map[string]string {
	out := map[string]string{}

	for name, part := range map[string]string{
		"line1": a.Street, "city": a.City, "state": a.State, "postalCode": a.PostalCode, "countryCode": a.Country,
	} {
		if part != "" {
			out[name] = part
		}
	}

	return out
}

// reservation returns the change for a reservation.
func (s *source) reservation(r *pms.Reservation) intake.Change {
	c := intake.Change{Kind: reservationKind, ExternalID: r.ID, Gone: r.Gone, ChangedAt: r.ChangedAt}
	if r.Gone {
		return c
	}

	zone := s.zones.at(r.ListingID)

	c.At = &r.CheckIn
	c.Refs = map[string]intake.Reference{"listingId": {Kind: listingKind, ExternalID: r.ListingID}}
	c.Values = intake.Values{
		"appId": text(s.app), "sourceId": text(r.ID), "pmsReferenceCode": text(r.ID),
		"confirmationCode": textOrNull(r.Code), "type": text("guest"), "status": text("booked"),
		"guestName": textOrNull(r.Guest.Name), "guests": encode(r.Guests),
		"checkIn": text(r.CheckIn.String()), "checkOut": text(r.CheckOut.String()),
		"bookedAt": dayOrNull(r.BookedAt.In(zone)), "cancelledAt": dayOrNull(nil),
		"bookingPlatform": textOrNull(r.Channel), "lines": encode(s.lines(r)), "expectedPayout": encode(r.Payout),
		"expectedChannelFee": encode(r.ChannelFee), "expectedProcessingFee": encode(r.ProcessingFee),
	}

	// Amounts that look wrong are taken in, with a note for a person.
	if off := r.PayoutDeviation(); off != 0 {
		c.Notes = append(c.Notes, intake.Note{Code: intake.PayoutDeviation, Context: map[string]any{
			"centTotal": off, "currency": r.Currency, "expectedPayout": *r.Payout, "expectedChannelFee": r.ChannelFee,
		}})
	}

	if r.UnknownTax != 0 {
		c.Notes = append(c.Notes, intake.Note{
			Code: intake.TaxUnknown, Context: map[string]any{"centTotal": r.UnknownTax, "currency": r.Currency},
		})
	}

	if off := r.Deviation(); off != 0 && s.onDifference == differenceFails {
		c.Refused = &intake.Refusal{
			Reason: totalDeviation, Field: "total", Fault: "differs",
			Context: map[string]any{"centTotal": off, "currency": r.Currency},
		}
	}

	if r.Currency != "" {
		c.Values["currency"] = text(r.Currency)
	}

	if r.OwnerStay {
		c.Values["type"] = text("ownerStay")
	}

	switch {
	// Blocks and inquiries matter only if they were stays before, which then become inactive.
	case r.Block, r.Status == pms.Inactive, r.Status == pms.Inquiry:
		c.Values["status"], c.SkipNew = text("inactive"), intake.StatusIgnored
	case r.Status == pms.Pending:
		c.Skip = intake.Pending
	case r.Status == pms.Canceled:
		c.Values["status"], c.Values["cancelledAt"] = text("canceled"), dayOrNull(r.CanceledAt.In(zone))
	}

	return c
}

// line is a line in the form of the API.
type line struct {
	Amount      money.Cents  `json:"amount"`
	Description string       `json:"description,omitempty"`
	Type        pms.LineType `json:"type"`
}

// totalDeviation is the reason for refusing a stay with lines that do not add up to its total.
const totalDeviation intake.Reason = "totalDeviation"

// lines returns the lines of a reservation in the form of the API. A guest pays none for an owner stay. A difference
// to the stated total becomes a line.
func (s *source) lines(r *pms.Reservation) []line {
	out := make([]line, 0, len(r.Lines)+1)
	if r.OwnerStay || r.Block {
		return out
	}

	for _, l := range r.Lines {
		out = append(out, line{Amount: l.Amount, Description: l.Description, Type: s.lineType(l.Type)})
	}

	if off := r.Difference(); off != 0 {
		out = append(out, line{
			Amount: off, Description: "Difference to the stated total", Type: s.lineType(pms.Difference),
		})
	}

	return out
}

// lineType returns the type of a line here: by the setting, an unexplained difference is a guest fee.
func (s *source) lineType(t pms.LineType) pms.LineType {
	if t == pms.Difference && s.onDifference == differenceFee {
		return pms.GuestFee
	}

	return t
}

// textOrNull returns a text as JSON, null for an empty text.
func textOrNull(s string) json.RawMessage {
	if s == "" {
		return json.RawMessage("null")
	}

	return text(s)
}

// dayOrNull returns a day as JSON, null without a day.
func dayOrNull(d *day.Day) json.RawMessage {
	if d == nil {
		return json.RawMessage("null")
	}

	return text(d.String())
}

// text returns a text as JSON. A page has thousands of texts that hardly ever need an escape, so plain texts are not
// encoded.
func text(s string) json.RawMessage {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			return encode(s)
		}
	}

	return json.RawMessage(`"` + s + `"`)
}

// encode returns a value as JSON. Texts, numbers and days can always be encoded.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("pms: encode a value: %v", err))
	}

	return raw
}
