package ownerrez

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

// ErrUnknown says that there is no such property or booking.
var ErrUnknown = errors.New("ownerrez sandbox: there is no such thing")

// changeStamp is the member that says when a row has changed.
const changeStamp = "updated_utc"

// row is a booking with its place in the order of changes.
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
	return slices.Contains([]string{"amount", "total_amount", "total_host_fees"}, name)
}

// stamp returns an instant as the system writes it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// SetProperty adds or replaces a property.
func (s *Server) SetProperty(l Object) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if at := slices.IndexFunc(s.properties, func(o Object) bool { return o.id() == l.id() }); at >= 0 {
		s.properties[at] = l
	} else {
		s.properties = append(s.properties, l)
	}
}

// deleteProperty removes a property. It fails with ErrUnknown.
func (s *Server) deleteProperty(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := slices.IndexFunc(s.properties, func(o Object) bool { return o.id() == id })
	if at < 0 {
		return ErrUnknown
	}

	s.properties = slices.Delete(s.properties, at, at+1)

	return nil
}

// SetBooking adds or replaces a booking, which gets a stamp unless it has one, and sends a message.
func (s *Server) SetBooking(r Object) {
	s.mu.Lock()

	event := "entity_insert"
	if s.byID[r.id()] != nil {
		event = "entity_update"
	}

	s.put(r)
	s.mu.Unlock()
	s.announce(event, r.id())
}

// put adds or replaces a booking, which goes behind those that changed before. The caller has the lock.
func (s *Server) put(r Object) {
	r = maps.Clone(r)
	if r[changeStamp] == nil {
		r[changeStamp] = stamp(s.now())
	}

	x := &row{r.id(), r}
	s.bookings = slices.DeleteFunc(s.bookings, func(o *row) bool { return o.id == x.id })

	// Behind all with the same stamp: rows that are changed now are newest.
	at := len(s.bookings)
	for at > 0 && s.bookings[at-1].object.text(changeStamp) > r.text(changeStamp) {
		at--
	}

	s.bookings = slices.Insert(s.bookings, at, x)
	s.byID[x.id] = x
}

// touch gives a booking a new stamp, without a message.
func (s *Server) touch(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if x := s.byID[id]; x != nil {
		moved := maps.Clone(x.object)
		delete(moved, changeStamp)
		s.put(moved)
	}
}

// ChangeBooking changes a booking, which gets a new stamp, and sends a message. It fails with ErrUnknown.
func (s *Server) ChangeBooking(id string, change func(Object)) error {
	r, err := s.Booking(id)
	if err != nil {
		return err
	}

	delete(r, changeStamp)
	change(r)
	s.SetBooking(r)

	return nil
}

// DeleteBooking removes a booking, and sends a message. It fails with ErrUnknown.
func (s *Server) DeleteBooking(id string) error {
	s.mu.Lock()

	_, known := s.byID[id]
	delete(s.byID, id)
	s.bookings = slices.DeleteFunc(s.bookings, func(o *row) bool { return o.id == id })
	s.mu.Unlock()

	if !known {
		return ErrUnknown
	}

	s.announce("entity_delete", id)

	return nil
}

// Booking returns a booking. It fails with ErrUnknown.
func (s *Server) Booking(id string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	x := s.byID[id]
	if x == nil {
		return nil, ErrUnknown
	}

	return maps.Clone(x.object), nil
}

// ConvertHold makes a hold of a channel a booking under the same id, as the system does once the guest is accepted, and
// sends a message. It fails with ErrUnknown.
func (s *Server) ConvertHold(id string) error { return s.ChangeBooking(id, convert) }

// convert makes a hold a booking.
func convert(o Object) {
	o["type"], o["is_block"], o["status"] = "booking", false, "active"
	delete(o, "title")
}

// isHold reports whether a booking is the hold of a channel.
func (o Object) isHold() bool { return o.text("type") == "block" && o.text("status") == "pending" }

// touchHolds makes the holds of a page bookings, without a message.
func (s *Server) touchHolds(page []Object) {
	for _, o := range page {
		if !o.isHold() {
			continue
		}

		changed := maps.Clone(o)
		delete(changed, changeStamp)
		convert(changed)
		s.mu.Lock()
		s.put(changed)
		s.mu.Unlock()
	}
}
