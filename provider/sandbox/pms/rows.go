package pms

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// ErrUnknown says that there is no such listing, reservation or block.
var ErrUnknown = errors.New("PMS sandbox: there is no such thing")

// Optional is a text that is null when it is empty.
type Optional string

// MarshalJSON writes the text, or null.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}

	return json.Marshal(string(o)) //nolint:wrapcheck // A text always marshals.
}

// Listing is a place that is let.
type Listing struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Address  *Address `json:"address"`
	Currency string   `json:"currency"`
	TimeZone string   `json:"timeZone,omitempty"`
	ParentID string   `json:"parentId,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Archived bool     `json:"archived"`
}

// Address is where a listing is.
type Address struct {
	Street     string `json:"street"`
	City       string `json:"city"`
	State      string `json:"state"`
	PostalCode string `json:"postalCode"`
	Country    string `json:"country"`
}

// Reservation is a stay. Nothing of it is checked, so that a test can make one that no client can read.
type Reservation struct {
	ID         string   `json:"id"`
	ListingID  string   `json:"listingId"`
	Status     string   `json:"status"`
	OwnerStay  bool     `json:"ownerStay"`
	Block      bool     `json:"block"`
	Code       string   `json:"code"`
	Channel    string   `json:"channel"`
	Guest      Guest    `json:"guest"`
	Guests     *int     `json:"guests"`
	CheckIn    string   `json:"checkIn"` // days are YYYY-MM-DD
	CheckOut   string   `json:"checkOut"`
	BookedAt   Optional `json:"bookedAt"`
	CanceledAt Optional `json:"canceledAt"`
	Currency   string   `json:"currency"`
	// Total and the other amounts are decimals, such as -12.50.
	Total         Optional `json:"total"`
	Lines         []Line   `json:"lines"`
	ChannelFee    Optional `json:"channelFee"`
	ProcessingFee Optional `json:"processingFee"`
	Payout        Optional `json:"payout"`
	// ChangedAt orders the rows. SetReservation takes the time by the clock if it is zero; one before the mark of a
	// reading makes a late row, which no reading since that mark shows.
	ChangedAt time.Time `json:"changedAt"`
}

// Guest is who stays.
type Guest struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

// Line is something that the guest pays for.
type Line struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Amount      string `json:"amount"`
}

// row is a reservation, or what is left of one that was deleted.
type row struct {
	Reservation

	gone bool
}

// wire returns the row as the protocol has it.
func (r *row) wire() any {
	if r.gone {
		return map[string]any{"id": r.ID, "gone": true}
	}

	return r.Reservation
}

// place is where a row is in the order of changes.
type place struct {
	changed time.Time
	id      string
}

// compare orders places by their stamp.
func (p place) compare(other place) int {
	return cmp.Or(p.changed.Compare(other.changed), cmp.Compare(p.id, other.id))
}

// rows are reservations by id, and in ascending order of their changes.
type rows struct {
	byID    map[string]*row
	ordered []*row
	gone    int
}

func newRows() rows { return rows{byID: map[string]*row{}} }

// after returns the index of the first row behind a place.
func (r *rows) after(p place) int {
	at, found := slices.BinarySearchFunc(r.ordered, p, func(x *row, p place) int { return x.place().compare(p) })
	if found {
		at++
	}

	return at
}

// place returns where the row is.
func (r *row) place() place { return place{r.ChangedAt, r.ID} }

// put adds a row, or replaces the one with its id.
func (r *rows) put(x *row) {
	if old := r.byID[x.ID]; old != nil {
		at := r.after(old.place()) - 1
		r.ordered = slices.Delete(r.ordered, at, at+1)

		if old.gone {
			r.gone--
		}
	}

	if x.gone {
		r.gone++
	}

	r.byID[x.ID] = x
	r.ordered = slices.Insert(r.ordered, r.after(x.place()), x)
}

// SetListing adds or replaces a listing, and sends a message.
func (s *Server) SetListing(l Listing) {
	s.mu.Lock()

	if at := slices.IndexFunc(s.listings, func(o *Listing) bool { return o.ID == l.ID }); at >= 0 {
		s.listings[at] = &l
	} else {
		s.listings = append(s.listings, &l)
	}

	s.mu.Unlock()
	s.announce(Hint{Listings: true})
}

// deleteListing removes a listing, and sends a message. It fails with ErrUnknown.
func (s *Server) deleteListing(id string) error {
	s.mu.Lock()

	at := slices.IndexFunc(s.listings, func(o *Listing) bool { return o.ID == id })
	if at < 0 {
		s.mu.Unlock()
		return ErrUnknown
	}

	s.listings = slices.Delete(s.listings, at, at+1)
	s.mu.Unlock()
	s.announce(Hint{Listings: true})

	return nil
}

// SetReservation adds or replaces a reservation, and sends a message.
func (s *Server) SetReservation(r Reservation) {
	s.mu.Lock()

	if r.ChangedAt.IsZero() {
		r.ChangedAt = s.now()
	}

	// As it will be read back from a cursor.
	r.ChangedAt = r.ChangedAt.UTC().Round(0)
	r.Lines = append([]Line{}, r.Lines...)

	s.reservations.put(&row{Reservation: r})
	s.mu.Unlock()
	s.announce(Hint{ReservationIDs: []string{r.ID}})
}

// ChangeReservation changes a reservation, which gets a new stamp, and sends a message. It fails with ErrUnknown.
func (s *Server) ChangeReservation(id string, change func(*Reservation)) error {
	r, err := s.Reservation(id)
	if err != nil {
		return err
	}

	r.ChangedAt = time.Time{}
	change(&r)
	r.ID = id
	s.SetReservation(r)

	return nil
}

// DeleteReservation removes a reservation, and sends a message. Whoever asks for what has changed does not hear of it
// unless there are Tombstones. It fails with ErrUnknown.
func (s *Server) DeleteReservation(id string) error {
	if _, err := s.Reservation(id); err != nil {
		return err
	}

	s.mu.Lock()
	s.reservations.put(&row{Reservation: Reservation{ID: id, ChangedAt: s.now()}, gone: true})
	s.mu.Unlock()
	s.announce(Hint{ReservationIDs: []string{id}})

	return nil
}

// Reservation returns a reservation. It fails with ErrUnknown.
func (s *Server) Reservation(id string) (Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := s.reservations.byID[id]
	if r == nil || r.gone {
		return Reservation{}, ErrUnknown
	}

	out := r.Reservation
	out.Lines = slices.Clone(r.Lines)

	return out, nil
}

// Block keeps the nights of a listing from being sold.
type Block struct {
	ListingID string `json:"listingId"`
	StartAt   string `json:"startAt"`
	EndAt     string `json:"endAt"`
	Note      string `json:"note"`
}

// Blocks returns the blocks by their ids.
func (s *Server) Blocks() map[string]Block {
	s.mu.Lock()
	defer s.mu.Unlock()

	return maps.Clone(s.blocks)
}
