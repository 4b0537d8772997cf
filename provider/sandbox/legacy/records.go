package legacy

import (
	"encoding/json"
	"fmt"

	"stayledger/platform/day"
)

// account is a legacy account.
type account struct {
	Key            string `json:"key"`
	Ref            string `json:"ref,omitempty"`
	Name           string `json:"name"`
	Classification string `json:"classification,omitempty"`
}

// The keys of accounts that a migration must handle specially: an unusual one, and accounts without an amount on a
// final statement.
const (
	keyOdd      = "acc-goodwill"
	keyZero     = "acc-zero"
	keyDraft    = "acc-draft"
	keyTemplate = "acc-template"
)

// writeAccounts writes common accounts, an account with a name that suggests no mapping, and accounts that occur only
// on zero lines, only in drafts and voids, or only in templates.
func (*dump) writeAccounts(put func(any)) {
	for _, a := range []account{
		{"acc-rent", "100", "Rental income", "revenue"},
		{"acc-cleaning-income", "110", "Cleaning fees", "revenue"},
		{"acc-pet", "", "Pet fee", ""},
		{"acc-channel", "200", "Channel fees", "expense"},
		{"acc-commission", "210", "Management fee", "expense"},
		{"acc-cleaning", "220", "Cleaning", "expense"},
		{"acc-repairs", "230", "Repairs and maintenance", "expense"},
		{keyOdd, "X-9", "Goodwill and sundries", "expense"},
		{keyZero, "", "Rounding", "expense"},
		{keyDraft, "", "Estimates", "expense"},
		{keyTemplate, "", "Snow removal levy", "expense"},
	} {
		put(a)
	}
}

// owner is an owner of listings.
type owner struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	FirstName string   `json:"firstName,omitempty"`
	Email     string   `json:"email,omitempty"`
	Phone     string   `json:"phone,omitempty"`
	Address   *address `json:"address,omitempty"`
}

type address struct {
	Line1   string `json:"line1"`
	City    string `json:"city"`
	Country string `json:"countryCode"`
}

// owners returns the number of owners.
func (d *dump) owners() int { return max(3, d.Listings/3) }

// ownerID returns the id of an owner. Numbers beyond the last owner wrap around.
func (d *dump) ownerID(n int) string { return fmt.Sprintf("own-%05d", n%d.owners()+1) }

// writeOwners writes the owners, and an owner without listings.
func (d *dump) writeOwners(put func(any)) {
	for i := range d.owners() {
		o := owner{ID: d.ownerID(i), Name: fmt.Sprintf("Owner %d", i+1)}

		// Some have a company, some a first name and an address.
		if i%4 != 0 {
			o.FirstName, o.Email = "Alex", fmt.Sprintf("owner%d@example.com", i+1)
			o.Address = &address{fmt.Sprintf("%d Hill Street", i+1), "Harborview", "US"}
		}

		put(o)
	}

	put(owner{ID: strangerID, Name: "Stranger"})
}

// strangerID is the id of the owner without listings.
const strangerID = "own-stranger"

// listing is a listing with the shares of its owners.
type listing struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Currency string   `json:"currency,omitempty"`
	Address  *address `json:"address,omitempty"`
	Inactive bool     `json:"inactive,omitempty"`
	Owners   []share  `json:"owners,omitempty"`
}

// share is the share of an owner in parts per 100000, from a day to another (exclusive).
type share struct {
	OwnerID string   `json:"ownerId"`
	Split   int64    `json:"split"`
	StartAt *day.Day `json:"startAt,omitempty"`
	EndAt   *day.Day `json:"endAt,omitempty"`
}

func listingID(n int) string { return fmt.Sprintf("lst-%06d", n+1) }

// sold returns the day on which a listing is sold, for the kinds that are.
func (d *dump) sold(k kind) day.Day {
	m := monthAfter(d.first, d.Months/2)
	if k == midMonth {
		return m.First().AddDays(14)
	}

	return m.First()
}

// shares returns the shares of the owners of a listing.
func (d *dump) shares(n int) []share {
	first, second, third := d.ownerID(n), d.ownerID(n+1), d.ownerID(n+2)

	switch k := kindFor(n); k { //nolint:exhaustive // The others are alike.
	case nobody:
		return nil
	case half:
		return []share{{OwnerID: first, Split: 50_000}}
	case pair:
		return []share{{OwnerID: first, Split: 60_000}, {OwnerID: second, Split: 40_000}}
	case inactive:
		return []share{
			{OwnerID: first, Split: 33_333},
			{OwnerID: second, Split: 33_333},
			{OwnerID: third, Split: 33_334},
		}
	case handover, midMonth:
		at := d.sold(k)

		return []share{
			{OwnerID: first, Split: 70_000},
			{OwnerID: second, Split: 30_000, EndAt: &at},
			{OwnerID: third, Split: 30_000, StartAt: &at},
		}
	default:
		return []share{{OwnerID: first, Split: 100_000}}
	}
}

// writeListings writes the listings.
func (d *dump) writeListings(put func(any)) {
	for n := range d.Listings {
		l := listing{
			ID: listingID(n), Name: fmt.Sprintf("House %d", n+1), Inactive: kindFor(n) == inactive,
			Owners: d.shares(n),
		}
		l.Address = &address{fmt.Sprintf("%d Shore Road", n+1), "Harborview", "US"}

		if kindFor(n) == foreign {
			l.Currency = foreignCurrency
		}

		put(l)
	}
}

// foreignCurrency is the currency of listings abroad.
const foreignCurrency = "cad"

// connection is a connection to an app.
type connection struct {
	ID          string          `json:"id"`
	AppID       string          `json:"appId"`
	Name        string          `json:"name"`
	Settings    json.RawMessage `json:"settings"`
	Credentials json.RawMessage `json:"credentials,omitempty"`
}

// writeConnections writes two connections, only one with credentials.
func (d *dump) writeConnections(put func(any)) {
	if d.AppID == "" {
		return
	}

	put(connection{
		ID: "con-1", AppID: d.AppID, Name: "Rentals",
		Settings: json.RawMessage(`{"baseUrl":"https://pms.example.com"}`), Credentials: json.RawMessage(`{"token":"legacy-secret"}`),
	})
	put(connection{ID: "con-2", AppID: d.AppID, Name: "Old rentals", Settings: json.RawMessage(`{"baseUrl":"https://old.example.com"}`)})
}

// reservation is a stay.
type reservation struct {
	ID        string  `json:"id"`
	ListingID string  `json:"listingId"`
	GuestName string  `json:"guestName"`
	Code      string  `json:"confirmationCode"`
	CheckIn   day.Day `json:"checkIn"`
	CheckOut  day.Day `json:"checkOut"`
	Currency  string  `json:"currency,omitempty"`
	Status    string  `json:"status,omitempty"`
}

// The lists with random records.
const (
	inReservations = iota + 1
	inStatements
)

// writeReservations writes a stay for each listing and month. Some are canceled.
func (d *dump) writeReservations(put func(any)) {
	for n := range d.Listings {
		r, month := d.dice(inReservations, n), d.first

		for i := range d.Months {
			in := month.First().AddDays(r.IntN(20))
			s := reservation{
				ID: fmt.Sprintf("res-%06d-%03d", n+1, i+1), ListingID: listingID(n), GuestName: fmt.Sprintf("Guest %d",
					r.IntN(100_000)),
				Code: fmt.Sprintf("HM%08X", r.Uint32()), CheckIn: in, CheckOut: in.AddDays(2 + r.IntN(6)),
			}

			if r.IntN(12) == 0 {
				s.Status = "canceled"
			}

			if kindFor(n) == foreign {
				s.Currency = foreignCurrency
			}

			put(s)

			month = month.Next()
		}
	}
}

// template is a layout of statements.
type template struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	IsDefault  bool      `json:"isDefault,omitempty"`
	NetRevenue []section `json:"netRevenueSections"`
	Other      []section `json:"otherSections"`
}

type section struct {
	Name    string   `json:"name"`
	Columns []column `json:"columns"`
}

type column struct {
	Name        string   `json:"name"`
	AccountKeys []string `json:"accountKeys"`
}

// writeTemplates writes two templates: one with an account that no line has, and one without most accounts.
func (*dump) writeTemplates(put func(any)) {
	put(template{
		ID: "tpl-1", Name: "Our statement", IsDefault: true,
		NetRevenue: []section{{"Income", []column{
			{"Rent", []string{"acc-rent"}},
			{"Fees", []string{"acc-cleaning-income", "acc-pet"}},
			{"Costs of sale", []string{"acc-channel", "acc-commission"}},
		}}},
		Other: []section{{"Costs", []column{
			{"House", []string{"acc-cleaning", "acc-repairs", keyTemplate}},
			{"Sundry", []string{keyOdd}},
		}}},
	})
	put(template{
		ID: "tpl-2", Name: "Short statement",
		NetRevenue: []section{{"Income", []column{{"Rent", []string{"acc-rent"}}}}}, Other: []section{},
	})
}
