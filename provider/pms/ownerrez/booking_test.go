package ownerrez_test

import (
	"encoding/json"
	"testing"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/provider/pms"
	"stayledger/provider/pms/ownerrez"
	sandbox "stayledger/provider/sandbox/ownerrez"
)

// parse reads a booking, and reports whether it can be read.
func parse(t *testing.T, o sandbox.Object) (pms.Reservation, bool) {
	t.Helper()

	body, err := json.Marshal(map[string]any{"items": []any{o}})
	if err != nil {
		t.Fatal(err)
	}

	rows, unreadable, err := ownerrez.Read(body)
	if err != nil || len(rows)+len(unreadable) != 1 {
		t.Fatalf("%d rows, unreadable %v, %v", len(rows), unreadable, err)
	}

	if len(rows) == 0 {
		return pms.Reservation{}, false
	}

	return rows[0], true
}

func TestTypesAndStatuses(t *testing.T) {
	t.Parallel()

	type outcome struct {
		Status       pms.Status // empty for a booking that cannot be read
		Block, Owner bool
	}

	for _, c := range []struct {
		kind    any
		isBlock any
		status  string
		want    outcome
	}{
		{"booking", false, "active", outcome{Status: pms.Booked}},
		{"booking", false, "pending", outcome{Status: pms.Pending}},
		{"booking", false, "canceled", outcome{Status: pms.Canceled}},
		{"Booking", nil, "Active", outcome{Status: pms.Booked}},
		{nil, nil, "active", outcome{Status: pms.Booked}},
		{nil, true, "active", outcome{Status: pms.Booked, Block: true}},
		{"block", true, "active", outcome{Status: pms.Booked, Block: true}},
		{"block", true, "pending", outcome{Status: pms.Pending, Block: true}},
		{"block", true, "canceled", outcome{Status: pms.Inactive, Block: true}},
		{"quote_hold", true, "pending", outcome{Status: pms.Pending, Block: true}},
		{"quoteHold", false, "active", outcome{Status: pms.Booked, Block: true}},
		{"linked_availability", false, "active", outcome{Status: pms.Booked, Block: true}},
		{"owner", false, "active", outcome{Status: pms.Booked, Owner: true}},
		{"owner", false, "canceled", outcome{Status: pms.Canceled, Owner: true}},
		{"unheard_of", true, "active", outcome{Status: pms.Booked, Block: true}},
		{"unheard_of", false, "active", outcome{}},
		{"booking", false, "unheard_of", outcome{}},
	} {
		r, _ := parse(t, stay(5, sandbox.Object{"type": c.kind, "is_block": c.isBlock, "status": c.status}))
		if got := (outcome{r.Status, r.Block, r.OwnerStay}); got != c.want {
			t.Errorf("%v, %v, %s: got %+v, want %+v", c.kind, c.isBlock, c.status, got, c.want)
		}
	}
}

func TestABookingIsRead(t *testing.T) {
	t.Parallel()

	got, _ := parse(t, stay(5, sandbox.Object{"status": "canceled", "canceled_utc": "2026-02-01T23:30:00.5", "total_amount": 0}))
	shown, err := json.Marshal([]any{got.CheckIn, got.CheckOut, got.BookedAt.In(day.UTC), got.CanceledAt.In("Europe/Berlin"), got.ChangedAt, got.Guests, got.Guest, got.Code, got.Channel})

	const want = `["2026-03-01","2026-03-05","2026-01-10","2026-02-02","2026-01-11T10:30:00Z",3,` +
		`{"Name":"Ada Lovelace","Email":"ada@example.com","Phone":""},"HMABC","airbnb"]`
	if err != nil || string(shown) != want {
		t.Errorf("got %s, %v", shown, err)
	}

	// Members without a value are left out.
	direct := stay(5, sandbox.Object{"guest": sandbox.Object{
		"email_addresses": []sandbox.Object{{"address": "b@example.com"}}, "phones": []sandbox.Object{{"number": "+12025550100"}},
	}})
	for _, name := range []string{"platform_reservation_number", "platform_email_address", "listing_site", "adults", "children", "booked_utc"} {
		delete(direct, name)
	}

	got, _ = parse(t, direct)
	if got.Code != "ORB5" || got.Channel != "" || got.Guests != nil || got.BookedAt != (pms.When{}) ||
		got.Guest != (pms.Guest{Email: "b@example.com", Phone: "+12025550100"}) {
		t.Errorf("got %+v", got)
	}
}

// sums are what is read of the money of a booking.
type sums struct {
	Lines             []pms.Line
	Total, ChannelFee money.Cents
}

func TestChargesToLines(t *testing.T) {
	t.Parallel()

	charge := sandbox.Charge
	line := func(kind pms.LineType, name string, cents money.Cents) []pms.Line {
		return []pms.Line{{Type: kind, Description: name, Amount: cents}}
	}
	remitted := func(amount any) sandbox.Object {
		return sandbox.With(charge("tax", "State", amount), "is_channel_managed", true)
	}

	for name, c := range map[string]struct {
		changes sandbox.Object
		charges []sandbox.Object
		want    sums
	}{
		"rent":                               {charges: []sandbox.Object{charge("rent", "Rent", 100)}, want: sums{line(pms.Rent, "Rent", 10000), 10000, 0}},
		"rent below zero":                    {charges: []sandbox.Object{charge("rent", "Weekly", -5)}, want: sums{line(pms.Discount, "Weekly", -500), 10000, 0}},
		"a cleaning fee":                     {charges: []sandbox.Object{charge("surcharge", "CLEANING", 50)}, want: sums{line(pms.CleaningFee, "CLEANING", 5000), 10000, 0}},
		"another fee":                        {charges: []sandbox.Object{charge("surcharge", "Pets", 50)}, want: sums{line(pms.GuestFee, "Pets", 5000), 10000, 0}},
		"a fee below zero":                   {charges: []sandbox.Object{charge("surcharge", "Cleaning", -5)}, want: sums{line(pms.CleaningFee, "Cleaning", -500), 10000, 0}},
		"a discount without a name of a fee": {charges: []sandbox.Object{charge("surcharge", "Early bird", -5)}, want: sums{line(pms.Discount, "Early bird", -500), 10000, 0}},
		"a fee that is given back":           {charges: []sandbox.Object{charge("surcharge", "Pet fee refund", -5)}, want: sums{line(pms.GuestFee, "Pet fee refund", -500), 10000, 0}},
		"a cleaning fee by the name of its surcharge": {
			charges: []sandbox.Object{sandbox.With(charge("surcharge", "", 50), "surcharge", sandbox.Object{"name": "Cleaning"})},
			want:    sums{line(pms.CleaningFee, "Cleaning", 5000), 10000, 0},
		},
		"a tax that we pay":           {charges: []sandbox.Object{charge("tax", "City", 10)}, want: sums{line(pms.Tax, "City", 1000), 10000, 0}},
		"a tax that the channel pays": {charges: []sandbox.Object{remitted(10)}, want: sums{line(pms.ChannelTax, "State", 1000), 10000, 0}},
		"a total without the tax that the channel pays": {
			charges: []sandbox.Object{charge("rent", "Rent", 100), remitted(10)},
			want: sums{[]pms.Line{
				{Type: pms.Rent, Description: "Rent", Amount: 10000}, {Type: pms.ChannelTax, Description: "State", Amount: 1000},
			}, 10000, 0},
		},
		"a total with the tax that the channel pays": {
			charges: []sandbox.Object{charge("rent", "Rent", 90), remitted(10)},
			want: sums{[]pms.Line{
				{Type: pms.Rent, Description: "Rent", Amount: 9000}, {Type: pms.ChannelTax, Description: "State", Amount: 1000},
			}, 10000, 0},
		},
		"a surcharge that was typed in": {charges: []sandbox.Object{charge("surcharge_other", "Cleaning", 5)}, want: sums{line(pms.CleaningFee, "Cleaning", 500), 10000, 0}},
		"a tax that was typed in":       {charges: []sandbox.Object{charge("tax_other", "City", 5)}, want: sums{line(pms.Tax, "City", 500), 10000, 0}},
		"a type that is not described":  {charges: []sandbox.Object{charge("other", "Damage", 5)}, want: sums{line(pms.Difference, "Damage", 500), 10000, 0}},
		"a category says more than the name": {
			charges: []sandbox.Object{sandbox.With(charge("surcharge", "Turnover", 50), "category", "cleaning"), sandbox.With(charge("surcharge", "Pet cleaning", 30), "category", "pet")},
			want: sums{[]pms.Line{
				{Type: pms.CleaningFee, Description: "Turnover", Amount: 5000}, {Type: pms.GuestFee, Description: "Pet cleaning", Amount: 3000},
			}, 10000, 0},
		},
		"a deposit that is given back": {
			charges: []sandbox.Object{charge("surcharge", "Refundable Damage Deposit", 500)}, want: sums{line(pms.SecurityDeposit, "Refundable Damage Deposit", 50000), 10000, 0},
		},
		"a waiver of a deposit": {
			charges: []sandbox.Object{charge("surcharge", "Damage deposit waiver", 49)}, want: sums{line(pms.GuestFee, "Damage deposit waiver", 4900), 10000, 0},
		},
		"nothing": {charges: []sandbox.Object{charge("surcharge", "Pets", 0), charge("tax", "City", nil)}, want: sums{nil, 10000, 0}},
		"the split between owner and manager is not read": {
			charges: []sandbox.Object{sandbox.With(sandbox.With(charge("rent", "Rent", 100), "owner_amount", 80), "commission_amount", 20)},
			want:    sums{line(pms.Rent, "Rent", 10000), 10000, 0},
		},
		"the fee of the channel": {changes: sandbox.Object{"total_host_fees": "15.5"}, want: sums{nil, 10000, 1550}},
		"decimals, half away from zero": {
			changes: sandbox.Object{"total_amount": json.Number("5.125")},
			charges: []sandbox.Object{charge("rent", "Rent", json.Number("5.12345")), charge("rent", "Off", "-0.125")},
			want: sums{[]pms.Line{
				{Type: pms.Rent, Description: "Rent", Amount: 512}, {Type: pms.Discount, Description: "Off", Amount: -13},
			}, 513, 0},
		},
		"an owner stay": {
			changes: sandbox.Object{"type": "owner"}, charges: []sandbox.Object{charge("surcharge", "Cleaning", 100)}, want: sums{},
		},
		"an owner stay without a currency": {changes: sandbox.Object{"type": "owner", "currency_code": nil}, want: sums{}},
		"a block without a currency": {
			changes: sandbox.Object{"type": "block", "is_block": true, "currency_code": nil}, want: sums{},
		},
		"canceled, with nothing left": {changes: sandbox.Object{"status": "canceled", "total_amount": 0}, want: sums{}},
		"canceled, with a total left": {
			changes: sandbox.Object{"status": "canceled", "total_amount": 48.5, "total_host_fees": 3},
			charges: []sandbox.Object{charge("rent", "Rent", 100)},
			want:    sums{line(pms.Retained, "Kept of the canceled stay", 4850), 0, 300},
		},
		"canceled, with a tax on what is kept": {
			changes: sandbox.Object{"status": "canceled", "total_amount": 380},
			charges: []sandbox.Object{charge("rent", "Rent", 350), charge("tax", "City", 30)},
			want: sums{[]pms.Line{
				{Type: pms.Retained, Description: "Kept of the canceled stay", Amount: 35000}, {Type: pms.RetainedTax, Description: "City", Amount: 3000},
			}, 0, 0},
		},
		"canceled, with a tax that the channel pays": {
			changes: sandbox.Object{"status": "canceled", "total_amount": 380},
			charges: []sandbox.Object{charge("rent", "Rent", 350), remitted(30)},
			want:    sums{line(pms.Retained, "Kept of the canceled stay", 35000), 0, 0},
		},
		"canceled, with charges left and no total": {
			changes: sandbox.Object{"status": "canceled", "total_amount": nil},
			charges: []sandbox.Object{charge("rent", "Rent", 30), charge("other", "Penalty", 12)},
			want:    sums{line(pms.Retained, "Kept of the canceled stay", 4200), 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := stay(5, c.changes)
			o["charges"] = c.charges

			r, readable := parse(t, o)
			if !readable {
				t.Fatal("unreadable")
			}

			compare(t, sums{Lines: r.Lines, Total: amount(r.Total), ChannelFee: amount(r.ChannelFee)}, c.want)
		})
	}
}

// amount returns an amount, nothing for none.
func amount(c *money.Cents) money.Cents {
	if c == nil {
		return 0
	}

	return *c
}

func TestBookingsThatCannotBeRead(t *testing.T) {
	t.Parallel()

	for name, changes := range map[string]sandbox.Object{
		"no property":            {"property_id": nil},
		"a property with commas": {"property_id": "1,2"},
		"no arrival":             {"arrival": nil},
		"ends before it begins":  {"departure": "2026-02-01"},
		"no currency":            {"currency_code": nil},
		"a currency of nowhere":  {"currency_code": "XXQ"},
		"a total that is a text": {"total_amount": "much"},
		"a total beyond all":     {"total_amount": "1e30"},
		"fees that are a text":   {"total_host_fees": "some"},
		"a charge without sense": {"charges": []sandbox.Object{sandbox.Charge("rent", "Rent", "some")}},
		"sums beyond all": {"charges": []sandbox.Object{
			sandbox.Charge("rent", "a", "90071992547409.91"), sandbox.Charge("rent", "b", "90071992547409.91"),
		}},
	} {
		if got, readable := parse(t, stay(5, changes)); readable {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, o := range []sandbox.Object{stay(1, nil), stay(2, sandbox.Object{
		"status": "canceled", "charges": []sandbox.Object{sandbox.Charge("tax", "City", "48.50000")}, "adults": "2",
	}), stay(3, sandbox.Object{"type": "quote_hold", "is_block": true, "status": "pending"})} {
		body, err := json.Marshal(map[string]any{"items": []any{o}, "count": "1", "next_page_url": nil})
		if err != nil {
			f.Fatal(err)
		}

		f.Add(body)
	}

	f.Fuzz(func(t *testing.T, body []byte) {
		rows, _, err := ownerrez.Read(body)
		if err != nil {
			return
		}

		for _, r := range rows {
			if r.ID == "" || r.ListingID == "" || r.Status == "" || !r.CheckOut.After(r.CheckIn) || ((r.OwnerStay || r.Block) && len(r.Lines) > 0) {
				t.Errorf("%+v", r)
			}

			for _, c := range []*money.Cents{r.Total, r.ChannelFee} {
				if c != nil && !c.Valid() {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
