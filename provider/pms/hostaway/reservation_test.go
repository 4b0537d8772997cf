package hostaway_test

import (
	"encoding/json"
	"testing"

	"stayledger/platform/money"
	"stayledger/provider/pms"
	"stayledger/provider/pms/hostaway"
	sandbox "stayledger/provider/sandbox/hostaway"
)

// parse reads a reservation, and reports whether it can be read.
func parse(t *testing.T, o sandbox.Object) (pms.Reservation, bool) {
	t.Helper()

	body, err := json.Marshal(map[string]any{"status": "success", "result": []any{o}})
	if err != nil {
		t.Fatal(err)
	}

	rows, unreadable, err := hostaway.Read(body)
	if err != nil || len(rows)+len(unreadable) != 1 {
		t.Fatalf("%d rows, unreadable %v, %v", len(rows), unreadable, err)
	}

	if len(rows) == 0 {
		return pms.Reservation{}, false
	}

	return rows[0], true
}

func TestStatuses(t *testing.T) {
	t.Parallel()

	for status, want := range map[string]pms.Status{
		"new": pms.Booked, "modified": pms.Booked, "ownerStay": pms.Booked, "cancelled": pms.Canceled, "awaitingPayment": pms.Pending,
		"awaitingGuestVerification": pms.Pending, "pending": pms.Pending, "unconfirmed": pms.Pending, "inquiry": pms.Inquiry,
		"inquiryPreapproved": pms.Inquiry, "inquiryDenied": pms.Inactive, "inquiryTimedout": pms.Inactive, "inquiryNotPossible": pms.Inactive,
		"declined": pms.Inactive, "expired": pms.Inactive, "unknown": pms.Inactive, "unheardOf": "",
	} {
		if got, _ := parse(t, stay(5, sandbox.Object{"status": status})); got.Status != want {
			t.Errorf("%s: got %q, want %q", status, got.Status, want)
		}
	}
}

func TestDaysThatAreFillerAreNoDays(t *testing.T) {
	t.Parallel()

	for status, want := range map[string]pms.Status{"new": pms.Pending, "inquiry": pms.Pending, "cancelled": pms.Inactive, "expired": pms.Inactive} {
		got, readable := parse(t, stay(5, sandbox.Object{
			"status": status, "isDatesUnspecified": 1, "arrivalDate": "2026-03-01", "departureDate": "2026-03-01", "financeField": nil, "totalPrice": nil,
		}))
		if got.Status != want || !readable {
			t.Errorf("%s: got %q, want %q", status, got.Status, want)
		}
	}
}

func TestChannelsHaveNames(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		id   any
		want string
	}{{2018, "airbnb"}, {2001, "airbnb"}, {"2005", "booking"}, {2002, "vrbo"}, {2000, "direct"}, {9999, "airbnbOfficial"}} {
		if got, _ := parse(t, stay(5, sandbox.Object{"channelId": c.id})); got.Channel != c.want {
			t.Errorf("%v: got %q, want %q", c.id, got.Channel, c.want)
		}
	}
}

// apart is a field that the total price does not have.
func apart(o sandbox.Object) sandbox.Object { return sandbox.With(o, "isIncludedInTotalPrice", 0) }

// sums are what is read of the money of a reservation.
type sums struct {
	Lines                            []pms.Line
	Total, ChannelFee, ProcessingFee money.Cents
}

func TestFinanceFieldsToLines(t *testing.T) {
	t.Parallel()

	field := sandbox.Field
	line := func(kind pms.LineType, name string, cents money.Cents) []pms.Line {
		return []pms.Line{{Type: kind, Description: name, Amount: cents}}
	}

	for name, c := range map[string]struct {
		changes sandbox.Object
		fields  []sandbox.Object
		want    sums
	}{
		"rent": {fields: []sandbox.Object{field("accommodation", "baseRate", 100)}, want: sums{line(pms.Rent, "baseRate", 10000), 10000, 0, 0}},
		"rent as the text spells it, and as it was called before": {
			fields: []sandbox.Object{field("accomodation", "baseRate", 60), //nolint:misspell // As the system writes it.
				field("price", "pricePerExtraPerson", 40)},
			want: sums{[]pms.Line{
				{Type: pms.Rent, Description: "baseRate", Amount: 6000}, {Type: pms.Rent, Description: "pricePerExtraPerson", Amount: 4000},
			}, 10000, 0, 0},
		},
		"cleaning fee": {fields: []sandbox.Object{field("fee", "cleaningFeeAirbnb", 100)}, want: sums{line(pms.CleaningFee, "cleaningFeeAirbnb", 10000), 10000, 0, 0}},
		"another fee":  {fields: []sandbox.Object{field("fee", "petFee", 100)}, want: sums{line(pms.GuestFee, "petFee", 10000), 10000, 0, 0}},
		"a fee with a name of the manager's": {
			fields: []sandbox.Object{sandbox.With(field("fee", "petFee", 100), "alias", "Dog")}, want: sums{line(pms.GuestFee, "Dog", 10000), 10000, 0, 0},
		},
		"a positive discount": {fields: []sandbox.Object{field("discount", "weeklyDiscount", 5)}, want: sums{line(pms.Discount, "weeklyDiscount", -500), 10000, 0, 0}},
		"a negative discount": {fields: []sandbox.Object{field("discount", "coupon", -5)}, want: sums{line(pms.Discount, "coupon", -500), 10000, 0, 0}},
		"a tax that we pay":   {fields: []sandbox.Object{field("tax", "cityTax", 10)}, want: sums{line(pms.Tax, "cityTax", 1000), 10000, 0, 0}},
		"a tax that we pay, beside the total": {
			fields: []sandbox.Object{apart(field("tax", "cityTax", 10))}, want: sums{line(pms.Tax, "cityTax", 1000), 11000, 0, 0},
		},
		"a tax that the channel pays, beside the total": {
			fields: []sandbox.Object{apart(field("tax", "airbnbTransientOccupancyTax", 10))},
			want:   sums{line(pms.ChannelTax, "airbnbTransientOccupancyTax", 1000), 10000, 0, 0},
		},
		"a tax that the channel pays out to the host, as a fee of before": {
			fields: []sandbox.Object{field("fee", "airbnbPassThroughTax", 10)}, want: sums{line(pms.Tax, "airbnbPassThroughTax", 1000), 10000, 0, 0},
		},
		"a total of the channel is no line, though it is said to be included": {
			fields: []sandbox.Object{field("price", "totalPriceFromChannel", 100), apart(field("accommodation", "baseRate", 100))},
			want:   sums{line(pms.Rent, "baseRate", 10000), 10000, 0, 0},
		},
		"a total with an unknown name": {fields: []sandbox.Object{field("totals", "another", 100)}, want: sums{nil, 10000, 0, 0}},
		"commissions": {
			fields: []sandbox.Object{
				field("commissions", "hostChannelFee", -3), field("commissions", "another", 1), field("commissions", "otaPaymentProcessingFee", 2),
				field("commissions", "paymentServiceProcessingFee", -0.5),
			},
			want: sums{nil, 10000, 400, 250},
		},
		"what the guest pays to the channel": {fields: []sandbox.Object{field("fee", "guestChannelFee", 14)}, want: sums{nil, 10000, 0, 0}},
		"a commission of the reservation":    {changes: sandbox.Object{"channelCommissionAmount": "15.5"}, want: sums{nil, 10000, 1550, 0}},
		"a deposit, a refund and a resolution": {
			fields: []sandbox.Object{apart(field("other", "damageDeposit", 500)), field("fee", "refundSum", 20), apart(field("other", "airbnbClosedResolutionsSum", -30))},
			want:   sums{line(pms.Resolution, "airbnbClosedResolutionsSum", -3000), 7000, 0, 0},
		},
		"a type that is not known, in the total": {fields: []sandbox.Object{field("parking", "garage", 5)}, want: sums{line("parking", "garage", 500), 10000, 0, 0}},
		"a type that is not known, beside it":    {fields: []sandbox.Object{apart(field("parking", "garage", 5))}, want: sums{line("parking", "garage", 500), 10500, 0, 0}},
		"deleted":                                {fields: []sandbox.Object{sandbox.With(field("fee", "petFee", 5), "isDeleted", "1")}, want: sums{nil, 10000, 0, 0}},
		"nothing":                                {fields: []sandbox.Object{field("fee", "petFee", nil), field("fee", "petFee", 0)}, want: sums{nil, 10000, 0, 0}},
		"five decimals, half away from zero": {
			changes: sandbox.Object{"totalPrice": "5.12500"},
			fields:  []sandbox.Object{field("accommodation", "baseRate", json.Number("5.12345")), field("discount", "coupon", "-0.125")},
			want: sums{[]pms.Line{
				{Type: pms.Rent, Description: "baseRate", Amount: 512}, {Type: pms.Discount, Description: "coupon", Amount: -13},
			}, 513, 0, 0},
		},
		"an owner stay": {
			changes: sandbox.Object{"status": "ownerStay"}, fields: []sandbox.Object{field("accommodation", "baseRate", 100)}, want: sums{},
		},
		"an owner stay without a currency": {changes: sandbox.Object{"status": "ownerStay", "currency": nil}, want: sums{}},
		"canceled, with nothing kept": {
			changes: sandbox.Object{"status": "cancelled"}, fields: []sandbox.Object{field("accommodation", "baseRate", 100)}, want: sums{},
		},
		"canceled, with a payout": {
			changes: sandbox.Object{"status": "cancelled"},
			fields:  []sandbox.Object{field("accommodation", "baseRate", 100), field("totals", "cancellationPayout", 48.5), field("totals", "totalPaid", 50)},
			want:    sums{line(pms.Retained, "Kept of the canceled stay", 4850), 0, 0, 0},
		},
		"canceled, with a payout of the reservation": {
			changes: sandbox.Object{"status": "cancelled", "airbnbListingCancellationPayout": 12}, want: sums{line(pms.Retained, "Kept of the canceled stay", 1200), 0, 0, 0},
		},
		"canceled, with a payment and a refund": {
			changes: sandbox.Object{"status": "cancelled"},
			fields:  []sandbox.Object{field("totals", "totalPaid", 100), field("other", "refundSum", 70)},
			want:    sums{line(pms.Retained, "Kept of the canceled stay", 3000), 0, 0, 0},
		},
		"canceled, with everything given back": {
			changes: sandbox.Object{"status": "cancelled"},
			fields:  []sandbox.Object{field("totals", "totalPaid", 100), field("other", "refundSum", -100)}, want: sums{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := stay(5, c.changes)
			o["financeField"] = c.fields

			r, readable := parse(t, o)
			if !readable {
				t.Fatal("unreadable")
			}

			got := sums{Lines: r.Lines, Total: amount(r.Total), ChannelFee: amount(r.ChannelFee), ProcessingFee: amount(r.ProcessingFee)}
			compare(t, got, c.want)
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

func TestReservationsThatCannotBeRead(t *testing.T) {
	t.Parallel()

	for name, changes := range map[string]sandbox.Object{
		"no listing":             {"listingMapId": nil},
		"no arrival":             {"arrivalDate": nil},
		"ends before it begins":  {"departureDate": "2026-02-01"},
		"no currency":            {"currency": nil},
		"a currency of nowhere":  {"currency": "XXQ"},
		"a total that is a text": {"totalPrice": "much"},
		"a total beyond all":     {"totalPrice": "1e30"},
		"a field without amount": {"financeField": []sandbox.Object{sandbox.Field("fee", "petFee", "some")}},
		"a truth that is none":   {"isDatesUnspecified": 7},
		"sums beyond all": {"financeField": []sandbox.Object{
			sandbox.Field("fee", "a", "9007199254740.99"), apart(sandbox.Field("fee", "b", "90071992547409.91")), apart(sandbox.Field("fee", "c", "90071992547409.91")),
		}},
	} {
		if got, readable := parse(t, stay(5, changes)); readable {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, o := range []sandbox.Object{stay(1, nil), stay(2, sandbox.Object{
		"status": "cancelled", "financeField": []sandbox.Object{sandbox.Field("totals", "cancellationPayout", "48.50000")}, "phone": 12,
		"reservationUnit": []sandbox.Object{{"listingUnitId": "7"}}, "numberOfGuests": "2",
	})} {
		body, err := json.Marshal(map[string]any{"status": "success", "result": []any{o}, "count": "1"})
		if err != nil {
			f.Fatal(err)
		}

		f.Add(body)
	}

	f.Fuzz(func(t *testing.T, body []byte) {
		rows, _, err := hostaway.Read(body)
		if err != nil {
			return
		}

		for _, r := range rows {
			if r.ID == "" || r.ListingID == "" || r.Status == "" || !r.CheckOut.After(r.CheckIn) || (r.OwnerStay && len(r.Lines) > 0) {
				t.Errorf("%+v", r)
			}

			for _, c := range []*money.Cents{r.Total, r.ChannelFee, r.ProcessingFee} {
				if c != nil && !c.Valid() {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
