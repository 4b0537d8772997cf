package pms_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/provider/sandbox/hostaway"
	"stayledger/provider/sandbox/ownerrez"
	"stayledger/test/world"
)

// payload is a reservation as a system writes it, and what becomes of it. The figures were computed by hand.
type payload struct {
	Name    string           `json:"name"`
	Payload map[string]any   `json:"payload"` // apart from what all reservations of the system have here
	Charges []map[string]any `json:"charges"` // payments of the guest that the system has elsewhere
	Want    outcomeOfPayload `json:"want"`
}

// outcomeOfPayload is what becomes of a reservation. Amounts are decimals.
type outcomeOfPayload struct {
	Status     string             `json:"status"`  // absent for one that is left out, refused for one that cannot be read
	Refused    string             `json:"refused"` // the field and the fault
	Lines      []string           `json:"lines"`
	Total      string             `json:"total"`
	Payout     string             `json:"payout"`
	Fee        string             `json:"fee"`
	Processing string             `json:"processing"`
	Books      map[string]string  `json:"books"`  // by the code of the account
	Issues     map[string]*string `json:"issues"` // by code; null for one without an amount
}

// readPayloads returns the payloads of a system.
func readPayloads(t *testing.T, system string) (out []payload) {
	t.Helper()

	content, err := os.ReadFile("testdata/payloads/" + system + ".json")
	if err == nil {
		err = json.Unmarshal(content, &out)
	}

	if err != nil {
		t.Fatal(err)
	}

	return out
}

// rawRows returns the reservations of payloads, each with an id and a code that its number makes, over what they all have.
func rawRows(all []payload, common map[string]any, name func(n int) map[string]any) []map[string]any {
	out := make([]map[string]any, len(all))

	for i := range all {
		out[i] = maps.Clone(common)
		maps.Copy(out[i], name(i+1))
		maps.Copy(out[i], all[i].Payload)
	}

	return out
}

// checkPayloads syncs the system once and holds every reservation to what it should have become.
func (s *scene) checkPayloads(all []payload) {
	s.T.Helper()
	s.sync("full")

	failed := map[string]string{}

	issues := s.Get("/teams/issues?limit=250&code=recordFailed").Want(200)
	for i := range issues.Len("data") {
		at := fmt.Sprintf("data.%d.context.", i)
		failed[issues.String(at+"externalId")] = issues.String(at+"field") + " " + issues.String(at+"fault")
	}

	for i := range all {
		p, name := &all[i], strconv.Itoa(i+1)
		found := s.Get("/reservations?search=P-" + name + "-").Want(200)

		var got outcomeOfPayload

		switch {
		case failed[name] != "":
			got = outcomeOfPayload{Status: "refused", Refused: failed[name], Lines: []string{}}
		case found.Len("data") == 0:
			got = outcomeOfPayload{Status: "absent", Lines: []string{}}
		default:
			got = s.outcome(s.Get("/reservations/" + found.String("data.0.id")).Want(200))
		}

		if is, want := encodeOutcome(got), encodeOutcome(p.Want); is != want {
			s.T.Errorf("%s: %s\ngot  %s\nwant %s", name, p.Name, is, want)
		}
	}
}

// encodeOutcome returns an outcome as a text.
func encodeOutcome(o outcomeOfPayload) string {
	if o.Lines == nil {
		o.Lines = []string{}
	}

	text, _ := json.Marshal(o)

	return string(text)
}

// signed returns cents as a decimal, which can be below zero.
func signed(cents int64) string {
	if cents < 0 {
		return "-" + decimal(-cents)
	}

	return decimal(cents)
}

// outcome returns what became of a stay.
func (s *scene) outcome(stay *apitest.Response) outcomeOfPayload {
	s.T.Helper()

	optional := func(path string) string {
		if stay.Value(path) == nil {
			return ""
		}

		return signed(stay.Int(path))
	}

	out := outcomeOfPayload{
		Status: stay.String("status"), Total: signed(stay.Int("financials.total")), Payout: optional("financials.expectedPayout"),
		Fee: optional("financials.expectedChannelFee"), Processing: optional("financials.expectedProcessingFee"), Books: map[string]string{},
	}

	for i := range stay.Len("lines") {
		at := fmt.Sprintf("lines.%d.", i)
		out.Lines = append(out.Lines, stay.String(at+"type")+" "+signed(stay.Int(at+"amount")))
	}

	for i := range stay.Len("issues") {
		at := fmt.Sprintf("issues.%d.", i)

		// The listing has no owner here, which every stay says.
		if stay.String(at+"code") == "ownershipPeriodMissing" {
			continue
		}

		if out.Issues == nil {
			out.Issues = map[string]*string{}
		}

		out.Issues[stay.String(at+"code")] = nil
		if strings.HasSuffix(stay.String(at+"code"), "Deviation") {
			cents := signed(stay.Int(at + "context.centTotal"))
			out.Issues[stay.String(at+"code")] = &cents
		}
	}

	sums := map[string]int64{}

	entries := s.Get("/reports/journal-entries?startDate=2025&endDate=2028&limit=250&reservationIds=" + stay.String("id")).Want(200)
	for i := range entries.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		sums[entries.String(at+"account.code")] += entries.Int(at + "centTotal")
	}

	for code, cents := range sums {
		if cents != 0 {
			out.Books[code] = signed(cents)
		}
	}

	return out
}

// connectTo connects a team without fees to a system that has one listing.
func connectTo(t *testing.T, handler http.Handler, app, path string, credentials object) *scene {
	t.Helper()

	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)

	s := &scene{World: world.New(t)}
	s.connection = s.Post("/connections", object{
		"appId": app, "name": "Rentals", "settings": object{"baseUrl": server.URL + path}, "credentials": credentials,
	}).Want(202).ID("resource.id")
	s.Outlast(nil)

	return s
}

// Every payload of Hostaway becomes the lines, balances and issues that it should.
func TestPayloadsOfHostaway(t *testing.T) {
	t.Parallel()

	system, err := hostaway.New(hostaway.Config{AccountID: "28673", APIKey: "our-key"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(system.Close)
	system.SetListing(hostaway.Object{"id": 40160, "name": "House 1", "currencyCode": "USD"})

	all := readPayloads(t, "hostaway")
	rows := rawRows(all, map[string]any{
		"listingMapId": 40160, "channelId": 2018, "channelName": "airbnbOfficial", "status": "new", "currency": "USD", "guestName": "Ada",
		"arrivalDate": "2026-01-10", "departureDate": "2026-01-13", "reservationDate": "2026-01-02 10:00:00",
	}, func(n int) map[string]any {
		return map[string]any{"id": n, "confirmationCode": fmt.Sprintf("P-%d-", n)}
	})

	for i, row := range rows {
		system.SetReservation(row)

		charges := make([]hostaway.Object, len(all[i].Charges))
		for n := range all[i].Charges {
			charges[n] = all[i].Charges[n]
		}

		system.SetCharges(fmt.Sprint(row["id"]), charges...)
	}

	connectTo(t, system, "hostaway", "/v1", object{"accountId": "28673", "apiKey": "our-key"}).checkPayloads(all)
}

// Every payload of OwnerRez becomes the lines, balances and issues that it should.
func TestPayloadsOfOwnerRez(t *testing.T) {
	t.Parallel()

	system, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours", AccountID: "77"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(system.Close)
	system.SetProperty(ownerrez.Object{"id": 40001, "name": "House 1", "active": true, "currency_code": "USD"})

	all := readPayloads(t, "ownerrez")
	for _, row := range rawRows(all, map[string]any{
		"property_id": 40001, "type": "booking", "is_block": false, "status": "active", "listing_site": "Airbnb", "currency_code": "USD",
		"arrival": "2026-01-10", "departure": "2026-01-13", "booked_utc": "2026-01-02T10:00:00Z",
	}, func(n int) map[string]any {
		return map[string]any{"id": n, "platform_reservation_number": fmt.Sprintf("P-%d-", n)}
	}) {
		system.SetBooking(row)
	}

	connectTo(t, system, "ownerrez", "/v2", object{"email": "ada@example.com", "token": "pt_ours"}).checkPayloads(all)
}

// Every payload of our own protocol becomes the lines, balances and issues that it should.
func TestPayloadsOfTheProtocol(t *testing.T) {
	t.Parallel()

	all := readPayloads(t, "protocol")
	rows := rawRows(all, map[string]any{
		"listingId": "L1", "status": "booked", "channel": "airbnb", "guest": object{"name": "Ada"}, "checkIn": "2026-01-10", "checkOut": "2026-01-13",
		"bookedAt": "2026-01-02", "currency": "usd",
	}, func(n int) map[string]any {
		return map[string]any{"id": strconv.Itoa(n), "code": fmt.Sprintf("P-%d-", n)}
	})

	answers := map[string]any{
		"/account":      object{"id": "acc_1", "name": "Rentals"},
		"/listings":     object{"listings": array{object{"id": "L1", "name": "House 1", "currency": "usd"}}, "next": ""},
		"/reservations": object{"reservations": rows, "next": "", "mark": "", "complete": true},
	}

	connectTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, has := answers[r.URL.Path]
		if !has {
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}

		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}), "pmsProtocol", "", object{"token": token}).checkPayloads(all)
}

// There are enough payloads, and each has a name of its own.
func TestPayloadsHaveNames(t *testing.T) {
	t.Parallel()

	count := 0

	for _, system := range []string{"hostaway", "ownerrez", "protocol"} {
		var names []string

		for _, p := range readPayloads(t, system) {
			names = append(names, p.Name)
		}

		count += len(names)

		if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s has a name twice: %q", system, names)
		}
	}

	if count < 60 {
		t.Errorf("there are %d payloads", count)
	}
}
