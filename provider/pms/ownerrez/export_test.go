package ownerrez

import (
	"encoding/json"

	"stayledger/provider/pms"
)

// Read reads the answer to a page of bookings, as the client does.
func Read(body []byte) ([]pms.Reservation, []pms.Unreadable, error) {
	var l list
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, nil, err
	}

	return pms.ReadRows(l.Items, rowID, readBooking)
}

// Records are the types that records are decoded into, by what the guide calls them.
var Records = map[string]any{"property": wireListing{}, "booking": wireBooking{}}
