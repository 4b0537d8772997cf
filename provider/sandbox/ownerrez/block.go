package ownerrez

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"stayledger/platform/day"
)

// firstBlock is the id before that of the first block, apart from those of generated bookings.
const firstBlock = 9_000_000

// postBlock makes a booking that is a block, and answers with it. It makes no others, and refuses nights that are
// taken.
func (s *Server) postBlock(x *exchange) (Object, *Failure) {
	var in struct {
		PropertyID number `json:"property_id"`
		Arrival    string `json:"arrival"`
		Departure  string `json:"departure"`
		IsBlock    bool   `json:"is_block"`
		Title      string `json:"title"`
		Notes      string `json:"notes"`
	}
	if json.NewDecoder(x.r.Body).Decode(&in) != nil || !in.IsBlock {
		return nil, badRequest
	}

	first, err := day.Parse(in.Arrival)
	last, wrong := day.Parse(in.Departure)

	if err != nil || wrong != nil || !last.After(first) {
		return nil, badRequest
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if !slices.ContainsFunc(s.properties, func(o Object) bool { return o.id() == in.PropertyID.String() }) {
		return nil, badRequest
	}

	for _, r := range s.bookings {
		o := r.object
		if fmt.Sprint(o["property_id"]) == in.PropertyID.String() && o.text("status") != "canceled" &&
			o.text("arrival") < in.Departure && in.Arrival < o.text("departure") {
			return nil, taken
		}
	}

	s.lastBlock++
	made := Object{
		"id": firstBlock + s.lastBlock, "property_id": in.PropertyID, "type": "block", "is_block": true,
		"status": "active", "arrival": in.Arrival, "departure": in.Departure, "title": in.Title, "notes": in.Notes,
		changeStamp: stamp(s.now()),
	}
	s.put(made)

	return made, nil
}

// deleteBlock deletes a block. Other bookings stay.
func (s *Server) deleteBlock(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := x.r.PathValue("id")

	r := s.byID[id]
	if r == nil {
		return nil, unknown
	}

	if r.object["is_block"] != true {
		return nil, &Failure{http.StatusBadRequest, "bad_request", "The booking is no block."}
	}

	delete(s.byID, id)
	s.bookings = slices.DeleteFunc(s.bookings, func(o *row) bool { return o.id == id })

	return Object{}, nil
}

// Blocks returns the blocks of a property that are active, the oldest first.
func (s *Server) Blocks(property string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := []Object{}

	for _, r := range s.bookings {
		o := r.object
		if o["is_block"] == true && o.text("status") == "active" && fmt.Sprint(o["property_id"]) == property {
			out = append(out, o)
		}
	}

	return out
}
