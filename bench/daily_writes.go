package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/day"
	"stayledger/platform/id"
)

const (
	// A client changes ownRows stays and as many expenses of its own, in turn.
	ownRows = 8
	// Each client writes on a listing of its own.
	mostWriters = 24
)

// writeBody is a reservation, an expense or a contact as clients write it, to the service and to the bare server.
type writeBody struct {
	ListingID        id.ID       `json:"listingId,omitzero"`
	CheckIn          day.Day     `json:"checkIn,omitzero"`
	CheckOut         day.Day     `json:"checkOut,omitzero"`
	BookedAt         day.Day     `json:"bookedAt,omitzero"`
	GuestName        string      `json:"guestName,omitempty"`
	ConfirmationCode string      `json:"confirmationCode,omitempty"`
	BookingPlatform  string      `json:"bookingPlatform,omitempty"`
	Type             string      `json:"type,omitempty"`
	Date             day.Day     `json:"date,omitzero"`
	AccountID        id.ID       `json:"accountId,omitzero"`
	Description      string      `json:"description,omitempty"`
	Name             string      `json:"name,omitempty"`
	Email            string      `json:"email,omitempty"`
	Phone            string      `json:"phone,omitempty"`
	Lines            []writeLine `json:"lines,omitempty"`
}

// writeLine is a line of a stay or an expense.
type writeLine struct {
	Type      string `json:"type,omitempty"`
	AccountID id.ID  `json:"accountId,omitzero"`
	Amount    int64  `json:"amount"`
	ListingID id.ID  `json:"listingId,omitzero"`
}

// desk has the data that the writes of a team need.
type desk struct {
	size, rows      int
	team, directory tenant
	listings        []place // one for each client
	bank, repairs   id.ID
	// stays and expenses are those that clients change: by side, by client.
	stays, expenses [2][][]id.ID
	// stayEntries and expenseEntries are the entries that the service has posted for one of each.
	stayEntries, expenseEntries []postedEntry
	serial                      *atomic.Int64 // for names that are used once
}

// place is a listing and its ownership period.
type place struct{ ListingID, PeriodID id.ID }

// postedEntry is an entry as the service posts it, with $ for the id of its source. The bare server posts the same
// entries for all others.
type postedEntry struct {
	Code, Ref   string
	AccountID   id.ID
	CentTotal   int64
	Party       *string
	FeeID       *id.ID
	Trigger     string
	Description string
}

// stay returns the n-th version of a stay. A fresh one has the fields that only a POST needs.
func (k *desk) stay(n int, fresh bool) writeBody {
	checkIn := day.Of(time.Date(2026, time.Month(3+n%2), 1+n/2%24, 0, 0, 0, 0, time.UTC))

	// The amount differs each time, so that every change has something to post.
	w := writeBody{
		CheckIn:  checkIn,
		CheckOut: checkIn.AddDays(3),
		Lines:    []writeLine{{Type: "rent", Amount: int64(100_000 + n)}, {Type: "cleaningFee", Amount: 15_000}},
	}

	// Codes are used once: two stays must not have the same.
	if fresh {
		w.BookedAt, w.GuestName, w.BookingPlatform = checkIn.AddDays(-60), "Margaret Ellison", "airbnb"
		w.ConfirmationCode = fmt.Sprint("HMQ", k.serial.Add(1))
	}

	return w
}

// expense returns the n-th version of an expense. A fresh one has the fields that only a POST needs.
func (k *desk) expense(listing id.ID, n int, fresh bool) writeBody {
	w := writeBody{
		Date:  day.Of(time.Date(2026, time.Month(3+n%2), 1+n/2%24, 0, 0, 0, 0, time.UTC)),
		Lines: []writeLine{{AccountID: k.repairs, Amount: int64(20_000 + n), ListingID: listing}},
	}
	if fresh {
		w.Type, w.AccountID, w.Description = "expense", k.bank, "Plumber"
	}

	return w
}

// body returns the JSON of a write.
func body(w writeBody) string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // of nothing but texts and numbers
	}

	return string(text)
}

// The sides of a comparison.
const (
	atService = iota
	atBare
)

// path returns a path at one of the sides.
func (k *desk) path(side int, path string) string {
	if side == atBare {
		return fmt.Sprintf("/%d%s", k.size, path)
	}

	return path
}

// dailyWrite is a write that can be sent to either side.
type dailyWrite struct {
	name    string
	team    func(*desk) tenant
	request func(k *desk, side int) request
}

// dailyWrites returns all writes that are compared.
func dailyWrites() []dailyWrite {
	// Reservations and transactions belong to one team, contacts to another.
	books, directory := func(k *desk) tenant { return k.team }, func(k *desk) tenant { return k.directory }
	own := func(of [][]id.ID, client, n int) string { return of[client][n%ownRows].String() }

	return []dailyWrite{
		{"reservation_post", books, func(k *desk, side int) request {
			return func(c *client, client, n int) []byte {
				w := k.stay(n, true)
				w.ListingID = k.listings[client].ListingID

				return c.request(http.MethodPost, k.path(side, "/reservations"), body(w))
			}
		}},
		{"reservation_put", books, func(k *desk, side int) request {
			return func(c *client, client, n int) []byte {
				return c.request(
					http.MethodPut,
					k.path(side, "/reservations/"+own(k.stays[side], client, n)),
					body(k.stay(n+n/ownRows, false)),
				)
			}
		}},
		{"transaction_post", books, func(k *desk, side int) request {
			return func(c *client, client, n int) []byte {
				return c.request(
					http.MethodPost,
					k.path(side, "/transactions"),
					body(k.expense(k.listings[client].ListingID, n, true)),
				)
			}
		}},
		{"transaction_put", books, func(k *desk, side int) request {
			return func(c *client, client, n int) []byte {
				return c.request(
					http.MethodPut,
					k.path(side, "/transactions/"+own(k.expenses[side], client, n)),
					body(k.expense(k.listings[client].ListingID, n+n/ownRows, false)),
				)
			}
		}},
		{"contact_post", directory, func(k *desk, side int) request {
			return func(c *client, _, _ int) []byte {
				n := k.serial.Add(1)

				return c.request(http.MethodPost, k.path(side, "/contacts"), body(writeBody{
					Type:  "owner",
					Name:  fmt.Sprint("Margaret Ellison ", n),
					Email: fmt.Sprintf("m%d@example.com", n),
					Phone: "+1 207 555 0143",
				}))
			}
		}},
		{"contact_put", directory, func(k *desk, side int) request {
			// Each client and side has contacts of its own among the filled rows.
			contacts := make([]string, mostWriters)
			for i := range contacts {
				contacts[i] = aContact.idFor(k.directory.team, 100+side*mostWriters+i)
			}

			return func(c *client, client, _ int) []byte {
				n := k.serial.Add(1)

				return c.request(http.MethodPut, k.path(side, "/contacts/"+contacts[client]), body(writeBody{
					Name:  fmt.Sprint("Margaret Ellison ", n),
					Email: fmt.Sprintf("m%d@example.com", n),
				}))
			}
		}},
	}
}

// writes compares POST and PUT of the resources that are written all day.
func (d *dailyBed) writes(ctx context.Context) (all []Metric, err error) {
	for _, w := range dailyWrites() {
		all = append(all, d.part(w.name, func() ([]Metric, error) {
			sizes := make([]*comparison, len(d.desks))
			for size, k := range d.desks {
				sizes[size] = &comparison{
					rows: k.rows,
					team: w.team(k),
					ours: w.request(k, atService),
					bare: w.request(k, atBare),
				}
			}

			metrics, err := d.compare(ctx, w.name, sizes)
			if err != nil {
				return nil, err
			}

			// Statements are counted with the most rows.
			costs, err := d.costs(ctx, w.name, sizes[len(sizes)-1])

			return append(metrics, costs...), err
		})...)
	}

	return all, ctx.Err()
}

// openDesk finds the data that the writes of a team need, and has the service write the stays and the expenses that
// clients change.
func (d *dailyBed) openDesk(ctx context.Context, size int) (*desk, error) {
	t := &d.teams[size]
	k := &desk{size: size, rows: t.rows, team: t.books, directory: t.directory, serial: new(atomic.Int64)}

	// First a listing for each client, and the accounts of expenses.
	rows, err := d.pool.Query(ctx, `select listing_id, id from listing_ownership_period where team_id = $1 order by listing_id limit $2`, k.team.team, mostWriters)
	if err != nil {
		return nil, fmt.Errorf("find listings: %w", err)
	}

	if k.listings, err = pgx.CollectRows(rows, pgx.RowToStructByPos[place]); err != nil {
		return nil, fmt.Errorf("find listings: %w", err)
	}

	for code, account := range map[string]*id.ID{"1000": &k.bank, "5200": &k.repairs} {
		if err := d.pool.QueryRow(ctx, `select id from account where team_id = $1 and code = $2`, k.team.team, code).Scan(account); err != nil {
			return nil, fmt.Errorf("find account %s: %w", code, err)
		}
	}

	// Then stays and expenses for each client and side, so that no two change the same one.
	c, err := dial(ctx, d.ours, k.team.secret)
	if err != nil {
		return nil, err
	}
	defer c.close()

	for side := range k.stays {
		for client := range slices.Max(dailyClients) {
			stays, expenses, err := k.fill(c, k.listings[client].ListingID, ownRows)
			if err != nil {
				return nil, err
			}

			k.stays[side], k.expenses[side] = append(k.stays[side], stays), append(k.expenses[side], expenses)
		}
	}

	// Last, the entries of one of each, which the bare server copies.
	if k.stayEntries, err = d.loadPosted(ctx, k, k.stays[atService][0][0]); err != nil {
		return nil, err
	}

	k.expenseEntries, err = d.loadPosted(ctx, k, k.expenses[atService][0][0])

	return k, err
}

// fill has the service write stays and expenses on a listing.
func (k *desk) fill(c *client, listing id.ID, each int) (stays, expenses []id.ID, err error) {
	for n := range each {
		w := k.stay(n, true)
		w.ListingID = listing

		stay, err := c.make("/reservations", body(w))
		if err != nil {
			return nil, nil, err
		}

		expense, err := c.make("/transactions", body(k.expense(listing, n, true)))
		if err != nil {
			return nil, nil, err
		}

		stays, expenses = append(stays, stay), append(expenses, expense)
	}

	return stays, expenses, nil
}

// loadPosted loads the entries that the service has posted for a source.
func (d *dailyBed) loadPosted(ctx context.Context, k *desk, source id.ID) ([]postedEntry, error) {
	rows, err := d.pool.Query(ctx, `
		select replace(txn_code, source_id::text, '$'), ref, account_id, cent_total, party, recurring_fee_id, trigger_type, description
		from ledger_entry where team_id = $1 and source_id = $2`, k.team.team, source)
	if err != nil {
		return nil, fmt.Errorf("read what was posted: %w", err)
	}

	entries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[postedEntry])
	if err == nil && len(entries) == 0 {
		err = errors.New("nothing was posted")
	}

	return entries, err
}
