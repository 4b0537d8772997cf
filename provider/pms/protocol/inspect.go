package protocol

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"stayledger/provider/pms"
)

// Row has the fields of a row that need no reading of the rest.
type Row struct {
	ID        string
	Gone      bool
	ChangedAt time.Time // zero for none, and for one that cannot be read
}

// Rows returns all rows of a page of listings, reservations or payouts in their order, including repeated and
// unreadable rows. (Clients return each id once.) A malformed page has no rows.
func Rows(page []byte) []Row {
	var w struct {
		Listings     []json.RawMessage `json:"listings"`
		Reservations []json.RawMessage `json:"reservations"`
		Payouts      []json.RawMessage `json:"payouts"`
	}

	if pms.Unmarshal(page, &w) != nil {
		return nil
	}

	all := slices.Concat(w.Listings, w.Reservations, w.Payouts)
	out := make([]Row, 0, len(all))

	for _, content := range all {
		id, err := rowID(content)
		if err != nil {
			continue
		}

		// A wrong stamp must not hide the row.
		row := Row{ID: id, Gone: isGone(content)}

		var stamp struct {
			ChangedAt time.Time `json:"changedAt"`
		}
		if pms.Unmarshal(content, &stamp) == nil {
			row.ChangedAt = stamp.ChangedAt
		}

		out = append(out, row)
	}

	return out
}

// PageFault returns the malformed field of a page of listings or reservations, outside its rows, or nil.
func PageFault(page []byte) *pms.FormError {
	var w struct {
		wireReservations

		Listings *[]json.RawMessage `json:"listings"`
	}

	if e, is := errors.AsType[*pms.FormError](pms.ReadForm(page, &w)); is {
		return e
	}

	return nil
}
