package hostaway

import (
	"encoding/json"
	"time"

	"stayledger/provider/pms"
)

// Settle sets how long a token has to wait until it can be used.
func (c *Client) Settle(d time.Duration) { c.settle = d }

// Read reads the answer to a page of reservations, as the client does.
func Read(body []byte) ([]pms.Reservation, []pms.Unreadable, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, nil, err
	}

	list, err := e.rows()
	if err != nil {
		return nil, nil, err
	}

	stays, unreadable, err := pms.ReadRows(list, rowID, readReservation)

	rows := make([]pms.Reservation, len(stays))
	for i := range stays {
		rows[i] = stays[i].Reservation
	}

	return rows, unreadable, err
}

// Records are the types that records are decoded into, by what the guide calls them.
var Records = map[string]any{"listing": wireListing{}, "reservation": wireReservation{}, "charge": wireCharge{}}
