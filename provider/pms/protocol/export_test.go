package protocol

import (
	"encoding/json"

	"stayledger/provider/pms"
)

// ReadPage reads the JSON of a page of reservations as the client does, for tests that read very many.
func ReadPage(content []byte) (*pms.ReservationPage, error) {
	var w wireReservations
	if json.Unmarshal(content, &w) != nil {
		return nil, pms.BadAnswer("is not of the protocol")
	}

	return w.readPage(&pms.Query{})
}

// Records are the types that records are decoded into, by what the guide calls them.
var Records = map[string]any{"listing": wireListing{}, "reservation": wireReservation{}, "payout": wirePayout{}}
