package ownerrez

import (
	"encoding/json"

	"stayledger/provider/pms"
)

// Read reads the answer to a page of bookings, as the client does.
func Read(body []byte) ([]pms.Reservation, []string, error) {
	var l list
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, nil, err
	}

	return readRows(l.Items, readBooking)
}
