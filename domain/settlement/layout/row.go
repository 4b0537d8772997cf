package layout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/activity/fee"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// rowKey holds the values that the entries of a row have in common.
type rowKey struct {
	reservation id.ID
	transaction id.ID
	date        day.Day
	description string
}

// group holds the entries of a row, whether or not a column adds them up.
type group struct {
	key   rowKey
	items []item
	// at orders the rows: arrival of a stay, else the first date.
	at        day.Day
	late      bool
	aggregate bool
}

// groupItems returns the rows of a kind of sections in their order: stays by arrival and then the rest by date, or
// expenses by date.
func groupItems(kind string, items []item) []*group {
	var groups []*group

	byKey := map[rowKey]*group{}

	for _, it := range items {
		k := rowKeyFor(kind, it.Entry)

		// The first entry of a row makes its group.
		g := byKey[k]
		if g == nil {
			g = &group{key: k, at: it.Date, late: kind == netRevenue && it.ReservationID == nil}
			if kind == netRevenue && it.CheckIn != nil {
				g.at = *it.CheckIn
			}

			byKey[k] = g
			groups = append(groups, g)
		}

		// Without an arrival the earliest entry gives the place of the row.
		if kind != netRevenue || it.CheckIn == nil {
			g.at = day.Min(g.at, it.Date)
		}

		g.items = append(g.items, it)
	}

	// The ids make the order the same every time.
	slices.SortFunc(groups, func(a, b *group) int {
		switch {
		case a.late != b.late && a.late:
			return 1
		case a.late != b.late:
			return -1
		}

		return cmp.Or(
			a.at.Compare(b.at),
			a.key.reservation.Compare(b.key.reservation),
			a.key.transaction.Compare(b.key.transaction),
			cmp.Compare(a.key.description, b.key.description),
		)
	})

	return groups
}

// rowKeyFor returns the row of an entry: that of its stay or transaction, else of its day and description.
func rowKeyFor(kind string, e *Entry) rowKey {
	var k rowKey
	if e.TransactionID != nil {
		k.transaction = *e.TransactionID
	}

	if e.ReservationID != nil {
		k.reservation = *e.ReservationID
	}

	switch {
	case kind == netRevenue && e.ReservationID != nil:
		return rowKey{reservation: k.reservation}
	case kind == other && e.TransactionID != nil:
		return rowKey{transaction: k.transaction}
	}

	// What belongs to no stay or expense is listed by day and description.
	k.date, k.description = e.Date, e.Description

	return k
}

// setIDs sets the stay or transaction of a row, and the entries that it adds up.
func (g *group) setIDs(r *Row, masks []uint64) {
	r.EntryIDs = []id.ID{}

	for i := range g.items {
		if masks[i] != 0 {
			r.EntryIDs = append(r.EntryIDs, g.items[i].ID)
		}
	}

	// An aggregate belongs to no single stay or transaction.
	if g.aggregate {
		return
	}

	// Only an id that all entries share identifies the row.
	r.ReservationID, r.TransactionID = g.items[0].ReservationID, g.items[0].TransactionID
	for i := range g.items {
		if e := g.items[i]; !same(e.ReservationID, r.ReservationID) {
			r.ReservationID = nil
		}

		if e := g.items[i]; !same(e.TransactionID, r.TransactionID) {
			r.TransactionID = nil
		}
	}
}

// same reports whether two optional ids are equal.
func same(a, b *id.ID) bool { return a == b || a != nil && b != nil && *a == *b }

// values returns the amounts of a group that formulas name. Accounts count whether or not a column adds them up.
func (d *drawing) values(g *group, amounts []money.Cents) fee.Values {
	return fee.Values{
		Column: func(columnID id.ID) money.Cents {
			for i := range d.section.Columns {
				if c := &d.section.Columns[i]; c.ID == columnID && c.Type.isAmount() {
					return amounts[i]
				}
			}

			return 0
		},
		Account: func(accountID id.ID) (sum money.Cents) {
			for i := range g.items {
				if g.items[i].AccountID == accountID {
					sum += g.items[i].Total
				}
			}

			return sum
		},
	}
}

// text returns the text of a field for some entries of a row, nil when it has none.
func (g *group) text(f FieldName, entries []*Entry) *string {
	if g.aggregate || len(entries) == 0 {
		return nil
	}

	// All entries of a stay have the same data of the stay.
	first := entries[0]

	switch f {
	case Date:
		date := first.Date
		for _, e := range entries {
			date = day.Min(date, e.Date)
		}

		return new(date.String())
	case Description:
		return texts(entries, func(e *Entry) string { return e.Description })
	case GuestName:
		if first.ReservationID == nil {
			return g.text(Description, entries)
		}

		return first.GuestName
	case ConfirmationCode:
		return first.Confirmation
	case CheckIn:
		return dateText(first.CheckIn)
	case CheckOut:
		return dateText(first.CheckOut)
	case Nights:
		if first.CheckIn == nil || first.CheckOut == nil {
			return nil
		}

		return new(strconv.Itoa(first.CheckIn.DaysUntil(*first.CheckOut)))
	case BookingChannel:
		return first.BookingChannel
	case ReservationStatus:
		return first.ReservationStatus
	case Account:
		return texts(entries, func(e *Entry) string { return e.AccountName })
	case AccountCode:
		return texts(entries, func(e *Entry) string { return e.AccountCode })
	default:
		return nil
	}
}

// dateText returns a day as text, nil for nil.
func dateText(d *day.Day) *string {
	if d == nil {
		return nil
	}

	return new(d.String())
}

// texts returns the different texts of entries in their order, nil if all are empty.
func texts(entries []*Entry, of func(*Entry) string) *string {
	var all []string
	for _, e := range entries {
		if s := of(e); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}

	if all == nil {
		return nil
	}

	return new(strings.Join(all, ", "))
}
