package hostaway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ErrUnknown says that there is no such listing or reservation.
var ErrUnknown = errors.New("hostaway sandbox: there is no such thing")

// row is a reservation with its place in the order of changes.
type row struct {
	id     string
	object Object
}

// id returns the id of an object as a text.
func (o Object) id() string { return fmt.Sprint(o["id"]) }

// text returns a member as a text, empty for none.
func (o Object) text(name string) string {
	out, _ := o[name].(string)
	return out
}

// number is a number as it is written.
type number = json.Number

// plain returns a value as JSON holds it, with every number of it replaced.
func plain(v any, replace func(n string) any) any {
	content, err := json.Marshal(v)
	if err != nil {
		return v
	}

	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()

	var out any
	if d.Decode(&out) != nil {
		return v
	}

	return replaceNumbers(out, replace)
}

// replaceNumbers replaces every number of a value.
func replaceNumbers(v any, replace func(n string) any) any {
	switch v := v.(type) {
	case number:
		return replace(v.String())
	case []any:
		for i := range v {
			v[i] = replaceNumbers(v[i], replace)
		}
	case map[string]any:
		for name := range v {
			v[name] = replaceNumbers(v[name], replace)
		}
	}

	return v
}

// lengthen writes every amount of a value with five decimals, four thousandths of a cent above what it was, away from
// zero.
func lengthen(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = lengthen(v[i])
		}
	case map[string]any:
		for name, member := range v {
			n, is := member.(number)
			if !is || !isAmount(name) {
				v[name] = lengthen(member)
				continue
			}

			whole, fraction, _ := strings.Cut(n.String(), ".")
			v[name] = number(whole + "." + (fraction + "00")[:2] + "499")
		}
	}

	return v
}

// isAmount reports whether a member of an object is an amount of money.
func isAmount(name string) bool {
	return slices.Contains([]string{"total", "totalPrice", "value", "taxAmount", "cleaningFee"}, name)
}

// stamp returns an instant as the system writes it.
func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) }

// SetListing adds or replaces a listing.
func (s *Server) SetListing(l Object) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if at := slices.IndexFunc(s.listings, func(o Object) bool { return o.id() == l.id() }); at >= 0 {
		s.listings[at] = l
	} else {
		s.listings = append(s.listings, l)
	}
}

// deleteListing removes a listing. It fails with ErrUnknown.
func (s *Server) deleteListing(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := slices.IndexFunc(s.listings, func(o Object) bool { return o.id() == id })
	if at < 0 {
		return ErrUnknown
	}

	s.listings = slices.Delete(s.listings, at, at+1)

	return nil
}

// SetReservation adds or replaces a reservation, which gets stamps unless it has some, and sends a message.
func (s *Server) SetReservation(r Object) {
	s.mu.Lock()

	event := "reservation.created"
	if s.byID[r.id()] != nil {
		event = "reservation.updated"
	}

	s.put(r)
	s.mu.Unlock()
	s.announce(event, r.id())
}

// SetCharges sets the payments of the guest of a reservation.
func (s *Server) SetCharges(reservation string, charges ...Object) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.charges[reservation] = charges
}

// put adds or replaces a reservation, which goes behind those that changed before. The caller has the lock.
func (s *Server) put(r Object) {
	r = maps.Clone(r)
	for _, name := range []string{"updatedOn", "latestActivityOn"} {
		if r[name] == nil {
			r[name] = stamp(s.now())
		}
	}

	x := &row{r.id(), r}
	s.reservations = slices.DeleteFunc(s.reservations, func(o *row) bool { return o.id == x.id })

	// Behind all with the same stamp: rows that are changed now are newest.
	at := len(s.reservations)
	for at > 0 && s.reservations[at-1].object.text("updatedOn") > r.text("updatedOn") {
		at--
	}

	s.reservations = slices.Insert(s.reservations, at, x)
	s.byID[x.id] = x
}

// touch gives a reservation new stamps, without a message.
func (s *Server) touch(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if x := s.byID[id]; x != nil {
		moved := maps.Clone(x.object)
		delete(moved, "updatedOn")
		delete(moved, "latestActivityOn")
		s.put(moved)
	}
}

// ChangeReservation changes a reservation, which gets new stamps, and sends a message. It fails with ErrUnknown.
func (s *Server) ChangeReservation(id string, change func(Object)) error {
	r, err := s.findReservation(id)
	if err != nil {
		return err
	}

	delete(r, "updatedOn")
	delete(r, "latestActivityOn")
	change(r)
	s.SetReservation(r)

	return nil
}

// deleteReservation removes a reservation. The system says nothing about that. It fails with ErrUnknown.
func (s *Server) deleteReservation(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.byID[id] == nil {
		return ErrUnknown
	}

	delete(s.byID, id)
	s.reservations = slices.DeleteFunc(s.reservations, func(o *row) bool { return o.id == id })

	return nil
}

// findReservation returns a reservation. It fails with ErrUnknown.
func (s *Server) findReservation(id string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	x := s.byID[id]
	if x == nil {
		return nil, ErrUnknown
	}

	return maps.Clone(x.object), nil
}
