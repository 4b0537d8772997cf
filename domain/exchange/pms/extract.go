package pms

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/blob"
	"stayledger/platform/csv"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
)

// extractor makes a file of the records of a system.
type extractor struct {
	connection.Extractor

	columns []csv.Column
	// listing or reservation writes the rows of a record; the other function is nil.
	listing     func(w *csv.Writer, l *pms.Listing) error
	reservation func(w *csv.Writer, r *pms.Reservation, zone day.Zone) error
}

// The values of Extractor.DateRange.
const (
	noRange       = "none"
	optionalRange = "optional"
)

// extractors are offered by every system.
var extractors = []extractor{
	{
		Extractor: connection.Extractor{ID: "listings", Name: "Listings", Format: "csv", DateRange: noRange},
		columns: []csv.Column{
			{Name: "id", Kind: csv.ID},
			{Name: "name", Kind: csv.Text},
			{Name: "street", Kind: csv.Text},
			{Name: "city", Kind: csv.Text},
			{Name: "state", Kind: csv.Text},
			{Name: "postalCode", Kind: csv.Text},
			{Name: "country", Kind: csv.Text},
			{Name: "defaultCurrency", Kind: csv.Currency},
			{Name: "parentId", Kind: csv.ID},
			{Name: "unit", Kind: csv.Text},
			{Name: "archived", Kind: csv.Bool},
		},
		listing: func(w *csv.Writer, l *pms.Listing) error {
			a := l.Address
			if a == nil {
				a = &pms.Address{}
			}

			return w.Row(l.ID, l.Name, a.Street, a.City, a.State, a.PostalCode, a.Country, orNull(l.Currency),
				orNull(l.ParentID), orNull(l.Unit), l.Archived)
		},
	},
	{
		Extractor: connection.Extractor{
			ID: "reservations", Name: "Reservations", Format: "csv", DateRange: optionalRange,
		},
		columns: []csv.Column{
			{Name: "id", Kind: csv.ID},
			{Name: "listingId", Kind: csv.ID},
			{Name: "status", Kind: csv.Text},
			{Name: "type", Kind: csv.Text},
			{Name: "confirmationCode", Kind: csv.ID},
			{Name: "channel", Kind: csv.Text},
			{Name: "guestName", Kind: csv.Text},
			{Name: "guestEmail", Kind: csv.Text},
			{Name: "guestPhone", Kind: csv.Text},
			{Name: "guests", Kind: csv.Integer},
			{Name: "checkIn", Kind: csv.Date},
			{Name: "checkOut", Kind: csv.Date},
			{Name: "bookedAt", Kind: csv.Date},
			{Name: "canceledAt", Kind: csv.Date},
			{Name: "currency", Kind: csv.Currency},
			{Name: "statedTotal", Kind: csv.Amount},
			{Name: "lineTotal", Kind: csv.Amount},
			{Name: "channelFee", Kind: csv.Amount},
			{Name: "processingFee", Kind: csv.Amount},
			{Name: "payout", Kind: csv.Amount},
		},
		reservation: func(w *csv.Writer, r *pms.Reservation, zone day.Zone) error {
			return w.Row(r.ID, r.ListingID, string(r.Status), stayType(r), orNull(r.Code), orNull(r.Channel),
				orNull(r.Guest.Name), orNull(r.Guest.Email), orNull(r.Guest.Phone), r.Guests, r.CheckIn, r.CheckOut,
				r.BookedAt.In(zone), r.CanceledAt.In(zone), r.Currency, r.Total, r.SumOwed(), r.ChannelFee,
				r.ProcessingFee, r.Payout)
		},
	},
	{
		Extractor: connection.Extractor{
			ID: "reservationLines", Name: "Lines of reservations", Format: "csv", DateRange: optionalRange,
		},
		columns: []csv.Column{
			{Name: "reservationId", Kind: csv.ID},
			{Name: "listingId", Kind: csv.ID},
			{Name: "status", Kind: csv.Text},
			{Name: "checkIn", Kind: csv.Date},
			{Name: "checkOut", Kind: csv.Date},
			{Name: "type", Kind: csv.Text},
			{Name: "description", Kind: csv.Text},
			{Name: "currency", Kind: csv.Currency},
			{Name: "amount", Kind: csv.Amount},
		},
		reservation: func(w *csv.Writer, r *pms.Reservation, _ day.Zone) error {
			for _, l := range r.Lines {
				err := w.Row(r.ID, r.ListingID, string(r.Status), r.CheckIn, r.CheckOut, l.Type,
					orNull(l.Description), r.Currency, l.Amount)
				if err != nil {
					return err
				}
			}

			return nil
		},
	},
}

// stayType returns the type of a reservation: block, ownerStay or guest.
func stayType(r *pms.Reservation) string {
	switch {
	case r.Block:
		return "block"
	case r.OwnerStay:
		return "ownerStay"
	}

	return "guest"
}

// infos lists the extractors as apps show them.
func infos() []connection.Extractor {
	out := make([]connection.Extractor, len(extractors))
	for i := range extractors {
		out[i] = extractors[i].Extractor
	}

	return out
}

// findExtractor returns the extractor with a name, or nil.
func findExtractor(name string) *extractor {
	i := slices.IndexFunc(extractors, func(x extractor) bool { return x.ID == name })
	if i < 0 {
		return nil
	}

	return &extractors[i]
}

type extractInput struct {
	Body struct {
		ConnectionID id.ID      `json:"connectionId"`
		Extractor    string     `json:"extractor" minLength:"1" maxLength:"50" doc:"One of those that the app has."`
		DateRange    *DateRange `json:"dateRange,omitempty" doc:"Nights of the reservations; all when absent."`
	}
}

// startExtract starts a sync that makes a file.
func startExtract(ctx context.Context, tx *db.Tx, in *extractInput) (*operation.Acknowledgement, error) {
	b := &in.Body

	c, err := lock(ctx, tx, b.ConnectionID)
	if errors.Is(err, apierr.NotFound) {
		return nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("connectionId"))
	}

	if err != nil {
		return nil, err
	}

	if err := checkSyncable(c); err != nil {
		return nil, err
	}

	x := findExtractor(b.Extractor)
	if x == nil {
		return nil, apierr.NotImplemented
	}

	if b.DateRange != nil && x.DateRange == noRange {
		return nil, apierr.BadRequest.At(apierr.IssueContradiction.InBody("dateRange"))
	}

	n := intake.New{
		ConnectionID: b.ConnectionID, View: intake.Extract, Mode: intake.Full, Trigger: intake.Manual,
		Kinds: []string{x.kind()},
	}
	if err := b.DateRange.bound(&n); err != nil {
		return nil, err
	}

	return intake.StartExtract(ctx, tx, n, x.ID)
}

// kind returns the kind of records in the file.
func (x *extractor) kind() string {
	if x.listing != nil {
		return listingKind
	}

	return reservationKind
}

// Extracts returns the function that makes the files of extracts in a store.
func (s *Systems) Extracts(store blob.Store) intake.MakeFile {
	return func(ctx context.Context, d *db.DB, scope db.Scope, sync *intake.Sync) (*intake.Extracted, error) {
		x := findExtractor(*sync.Extractor)
		if x == nil {
			return nil, fmt.Errorf("%w: no extractor %s", intake.ErrRefused, *sync.Extractor)
		}

		c, client, err := s.openActive(ctx, d, scope, sync.SourceID)
		if err != nil {
			return nil, err
		}

		held, err := readZones(ctx, d, scope, sync.SourceID)
		if err != nil {
			return nil, err
		}

		// The file goes to the store while it is read, outside any transaction.
		e := &extraction{
			extractor: x, client: client, zones: held, from: sync.RangeStart, to: sync.RangeEnd,
			left: most(x.kind()), seen: idSet{}, unreadable: idSet{},
			check: func(ctx context.Context) error { return intake.CheckRunning(ctx, d, scope, sync) },
		}

		kept, err := file.Keep(ctx, d, scope, store, func(w io.Writer) error { return e.write(ctx, w) })
		if err != nil {
			return nil, err
		}

		now := d.Now()

		return &intake.Extracted{
			File: file.New{
				Stored: kept, Kind: file.Export, ContentType: "text/csv; charset=utf-8",
				PurgeAt:  now.Add(file.KeepExports),
				Filename: string(c.AppID) + "-" + x.ID + "-" + scope.Zone.Day(now).String() + ".csv",
			},
			Counts: intake.Counts{x.kind(): e.counts()},
		}, nil
	}
}

// extraction makes one file.
type extraction struct {
	*extractor

	client   pms.Client
	zones    zones
	from, to *day.Day // nights; nil leaves a side open

	// check fails if the file is not wanted any more.
	check func(ctx context.Context) error
	// left is how much is still read.
	left outbound.Reading
	// seen are the ids of records in the file: pages can overlap.
	seen       idSet
	unreadable idSet
}

// idSet is a set of ids of a system. It keeps their hashes, because an id can be long.
type idSet map[[16]byte]struct{}

// add adds an id, and reports whether it is new.
func (s idSet) add(id string) bool {
	sum := sha256.Sum256([]byte(id))
	key := [16]byte(sum[:16])

	// Half of a hash is enough: no two ids have the same half in practice.
	_, has := s[key]
	s[key] = struct{}{}

	return !has
}

// mostBytes bounds a file.
const mostBytes = 256 << 20

// bounded is a writer of mostBytes at most.
type bounded struct {
	to   io.Writer
	left int
}

// Write writes unless the bound is reached; then it fails with ErrEndless.
func (b *bounded) Write(p []byte) (int, error) {
	// A part of a row is of no use, so nothing of it is written.
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("write an extract: %w", outbound.ErrEndless)
	}

	return b.to.Write(p)
}

// counts returns the records by outcome. Unreadable records are not in the file.
func (e *extraction) counts() map[intake.Outcome]int64 {
	return map[intake.Outcome]int64{intake.Done: int64(len(e.seen)), intake.Rejected: int64(len(e.unreadable))}
}

// write reads all pages and writes the file.
func (e *extraction) write(ctx context.Context, to io.Writer) error {
	w := csv.NewWriter(&bounded{to, mostBytes}, e.columns)

	for page, more := "", true; more; {
		if err := e.check(ctx); err != nil {
			return err
		}

		next, err := e.page(ctx, w, page)

		// Wait for a system that takes no calls for a moment: starting again would read all pages twice.
		if waitShortly(ctx, err) {
			continue
		}

		if err != nil {
			return err
		}

		if err := job.Rest(ctx, pageWork); err != nil {
			return err
		}

		page, more = next, next != ""
	}

	if err := w.Flush(); err != nil {
		return fmt.Errorf("write an extract: %w", err)
	}

	return nil
}

// longestPause is the longest wait for a system while a file is made.
const longestPause = time.Minute

// waitShortly waits until a system takes calls again, and returns true. It returns false at once for an error without
// a time, for a longer wait, and when the context ends.
func waitShortly(ctx context.Context, err error) bool {
	limited, is := errors.AsType[*intake.LimitedError](err)
	if !is || time.Until(limited.Until) > longestPause {
		return false
	}

	select {
	case <-time.After(time.Until(limited.Until)):
		return true
	case <-ctx.Done():
		return false
	}
}

// page reads a page and writes its rows. It returns the next page, empty after the last page.
func (e *extraction) page(ctx context.Context, w *csv.Writer, page string) (next string, err error) {
	var unreadable []pms.Unreadable

	if e.listing != nil {
		var got *pms.ListingPage
		if got, err = e.client.Listings(ctx, page); err != nil {
			return "", sourceError(err)
		}

		next, unreadable = got.Next, got.Unreadable

		err = e.left.Take(len(got.Listings) + len(got.Unreadable))

		for i := range got.Listings {
			if l := &got.Listings[i]; err == nil && e.seen.add(l.ID) {
				err = e.listing(w, l)
			}
		}
	} else {
		var got *pms.ReservationPage
		if got, err = e.client.Reservations(ctx, &pms.Query{Page: page, From: e.from, To: e.to}); err != nil {
			return "", sourceError(err)
		}

		next, unreadable = got.Next, got.Unreadable
		err = e.left.Take(len(got.Reservations) + len(got.Unreadable))

		for i := range got.Reservations {
			r := &got.Reservations[i]

			switch {
			case err != nil || !e.isAsked(r):
			case r.Currency == "":
				unreadable = append(unreadable, pms.NewUnreadable(r.ID, nil)) // its amounts mean nothing
			case e.seen.add(r.ID):
				err = e.reservation(w, r, e.zones.at(r.ListingID))
			}
		}
	}

	for i := range unreadable {
		e.unreadable.add(unreadable[i].ID)
	}

	return next, err
}

// isAsked reports whether a reservation has a night in the range: systems return others, too.
func (e *extraction) isAsked(r *pms.Reservation) bool {
	return !r.Gone && (e.from == nil || e.from.Before(r.CheckOut)) && (e.to == nil || !e.to.Before(r.CheckIn))
}

// orNull returns a text, or nil for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}

	return &s
}
