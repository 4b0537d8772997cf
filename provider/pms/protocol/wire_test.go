package protocol_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/platform/money"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
)

// whole is a reservation with everything.
const whole = `{"id":"r1","listingId":"l1","status":"booked","ownerStay":false,"block":false,"code":"HM1","channel":"airbnb",
	"guest":{"name":" Anna\u0000 Albers ","email":"a@example.com","phone":"+1"},"guests":2,"checkIn":"2026-03-01","checkOut":"2026-03-04",
	"bookedAt":"2026-01-02","canceledAt":"2026-02-01","currency":"USD","total":"123.455","lines":[{"type":"rent","description":"Nights","amount":"136"},
	{"type":"tax","description":"","amount":12.5}],"channelFee":"3.70","processingFee":null,"changedAt":"2026-02-01T10:00:00Z","unheardOf":1}`

func TestAReservationIsReadWithEverything(t *testing.T) {
	t.Parallel()

	p, err := protocol.ReadPage([]byte(`{"reservations":[` + whole + `,{"id":"r2","gone":true}],"next":"n","mark":"m","complete":true}`))
	if err != nil {
		t.Fatal(err)
	}

	booked, canceled, guests, total, fee := date("2026-01-02"), date("2026-02-01"), int64(2), money.Cents(12346), money.Cents(370)
	want := &pms.ReservationPage{Next: "n", Mark: "m", Complete: true, Reservations: []pms.Reservation{
		{
			ID: "r1", ListingID: "l1", Status: pms.Booked, Code: "HM1", Channel: "airbnb",
			Guest: pms.Guest{Name: "Anna  Albers", Email: "a@example.com", Phone: "+1"}, Guests: &guests,
			CheckIn: date("2026-03-01"), CheckOut: date("2026-03-04"), BookedAt: pms.When{Day: &booked}, CanceledAt: pms.When{Day: &canceled},
			Currency: "usd", Total: &total, ChannelFee: &fee,
			Lines:     []pms.Line{{Type: pms.Rent, Description: "Nights", Amount: 13600}, {Type: pms.Tax, Amount: 1250}},
			ChangedAt: time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC),
		},
		{ID: "r2", Gone: true},
	}}

	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v\nwant %+v", p, want)
	}
}

// A reservation that cannot be read is lost alone, and named.
func TestReservationsThatCannotBeRead(t *testing.T) {
	t.Parallel()

	const good = `{"id":"r","listingId":"l","status":"booked","checkIn":"2026-03-01","checkOut":"2026-03-04","currency":"usd","total":"1.00","lines":[]}`

	for name, c := range map[string]struct{ old, fresh string }{
		"good":                         {`"id":"r"`, `"id":"r","guests":null,"bookedAt":null`},
		"an amount as a number":        {`"1.00"`, `1.00`},
		"no total":                     {`"1.00"`, `null`},
		"an unknown status":            {`"booked"`, `"unheardOf"`},
		"no status":                    {`"booked"`, `null`},
		"no listing":                   {`"l"`, `null`},
		"a listing with blanks":        {`"l"`, `"l 1"`},
		"a day that there is not":      {`2026-03-01`, `2026-02-30`},
		"no check-in":                  {`"2026-03-01"`, `null`},
		"an instant for a day":         {`2026-03-01`, `2026-03-01T00:00:00Z`},
		"check-out on the check-in":    {`2026-03-04`, `2026-03-01`},
		"check-out before the arrival": {`2026-03-04`, `2026-02-28`},
		"no currency":                  {`"usd"`, `""`},
		"a metal for a currency":       {`"usd"`, `"xau"`},
		"an amount that is a word":     {`"1.00"`, `"many"`},
		"an empty amount":              {`"1.00"`, `""`},
		"an amount with a comma":       {`"1.00"`, `"1,00"`},
		"an amount with blanks":        {`"1.00"`, `" 1.00"`},
		"an amount without end":        {`"1.00"`, `"1e300"`},
		"an amount that is true":       {`"1.00"`, `true`},
		"a line without an amount":     {`[]`, `[{"type":"rent"}]`},
		"a line with a bad amount":     {`[]`, `[{"type":"rent","amount":"x"}]`},
		"a line that is none":          {`[]`, `[5]`},
		"less than no guests":          {`"id":"r"`, `"id":"r","guests":-1`},
		"half a guest":                 {`"id":"r"`, `"id":"r","guests":1.5`},
		"a stamp that is none":         {`"id":"r"`, `"id":"r","changedAt":"yesterday"`},
		"a guest that is a text":       {`"id":"r"`, `"id":"r","guest":"Anna"`},
		"neither there nor gone":       {`"id":"r"`, `"id":"r","gone":5`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			row := strings.Replace(good, c.old, c.fresh, 1)

			p, err := protocol.ReadPage([]byte(`{"reservations":[{"id":"gone","gone":true},` + row + `]}`))
			if err != nil {
				t.Fatal(err)
			}

			readable := slices.Contains([]string{"good", "an amount as a number", "no total"}, name)
			if readable != (len(p.Reservations) == 2) || readable == (len(p.Unreadable) == 1 && p.Unreadable[0].ID == "r" && p.Unreadable[0].Fault != "") {
				t.Errorf("%+v", p)
			}
		})
	}
}

// What is gone is gone, whatever else its row has.
func TestARowThatIsGoneNeedsNothingElse(t *testing.T) {
	t.Parallel()

	p, err := protocol.ReadPage([]byte(`{"reservations":[{"id":"a","checkIn":"never","gone":true,"lines":7}]}`))
	if err != nil || len(p.Reservations) != 1 || p.Reservations[0].ID != "a" || !p.Reservations[0].Gone {
		t.Errorf("%+v, %v", p, err)
	}
}

// Of rows with the same id the last counts, whether or not it can be read.
func TestTheLastRowOfAnIDCounts(t *testing.T) {
	t.Parallel()

	p, err := protocol.ReadPage([]byte(`{"reservations":[{"id":"a","gone":true},{"id":"b","status":"?"},{"id":"a","status":"?"},{"id":"b","gone":true}]}`))
	if err != nil || len(p.Reservations) != 1 || p.Reservations[0].ID != "b" || len(p.Unreadable) != 1 || p.Unreadable[0].ID != "a" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPagesThatAreNotOfTheProtocol(t *testing.T) {
	t.Parallel()

	for name, body := range map[string]string{
		"nothing":             `{}`,
		"null":                `null`,
		"a list":              `[]`,
		"no list":             `{"reservations":null}`,
		"an object for rows":  `{"reservations":{}}`,
		"a row without id":    `{"reservations":[{"status":"booked"}]}`,
		"an id of blanks":     `{"reservations":[{"id":" "}]}`,
		"an id of control":    `{"reservations":[{"id":"a\u0000"}]}`,
		"a number for an id":  `{"reservations":[{"id":5}]}`,
		"a row that is none":  `{"reservations":["a"]}`,
		"a long id":           `{"reservations":[{"id":"` + strings.Repeat("a", 201) + `"}]}`,
		"a long next":         `{"reservations":[],"next":"` + strings.Repeat("a", 1001) + `"}`,
		"a next of control":   `{"reservations":[],"next":"a\u0000b"}`,
		"a next of two lines": `{"reservations":[],"next":"a\nb"}`,
		"a mark of control":   `{"reservations":[],"mark":"a\u007fb"}`,
		"a mark of nothing":   `{"reservations":[],"mark":"\ud800"}`,
		"a long mark":         `{"reservations":[],"mark":"` + strings.Repeat("ä", 501) + `"}`,
		"too many rows":       `{"reservations":[` + strings.Repeat(`{"id":"a"},`, 1000) + `{"id":"b"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if p, err := protocol.ReadPage([]byte(body)); !errors.Is(err, pms.ErrUnavailable) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// A page and a mark can be any text. The system gets them back as they were.
func TestPagesAndMarksGoBackAsTheyCame(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"p2", "2026-03-01 10:00:00+02:00", " a ", "&page=1#?/%20", "Seite zwölf 第二", `{"after":"r 1"}`, strings.Repeat("a ", 500)} {
		var asked []string

		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Query().Get("since"), r.URL.Query().Get("page"))

			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"reservations": []any{}, "listings": []any{}, "next": text, "mark": text})
		}))

		client, err := protocol.New(json.RawMessage(`{"baseUrl":"`+server.URL+`"}`), json.RawMessage(`{"token":"t"}`), pms.Options{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}

		got, err := client.Reservations(t.Context(), &pms.Query{})
		if err != nil || got.Next != text || got.Mark != text {
			t.Fatalf("%q: %+v, %v", text, got, err)
		}

		// The page names itself the second time, so only the request counts.
		_, err = client.Reservations(t.Context(), &pms.Query{Since: got.Mark, Page: got.Next})
		if !errors.Is(err, protocol.ErrOwnNext) || !slices.Equal(asked, []string{"", "", text, text}) {
			t.Errorf("%q: asked with %q, %v", text, asked, err)
		}

		server.Close()
	}
}

// What has changed is never everything, even if the system says so.
func TestAReadingSinceAMarkIsNeverComplete(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"reservations":[],"next":"","complete":true}`)
	}))
	t.Cleanup(server.Close)

	client, err := protocol.New(json.RawMessage(`{"baseUrl":"`+server.URL+`"}`), json.RawMessage(`{"token":"t"}`), pms.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}

	for since, complete := range map[string]bool{"": true, "m": false} {
		if p, err := client.Reservations(t.Context(), &pms.Query{Since: since}); err != nil || p.Complete != complete {
			t.Errorf("since %q: %+v, %v", since, p, err)
		}
	}
}

func FuzzReadPage(f *testing.F) {
	f.Add([]byte(`{"reservations":[` + whole + `],"next":"n","mark":"m","complete":true}`))
	f.Add([]byte(`{"reservations":[{"id":"a","gone":true},{"id":"b","status":"?"}]}`))
	f.Add([]byte(`{"reservations":[],"next":"n"}`))
	f.Add([]byte(`{}`))

	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := protocol.ReadPage(content)
		if err != nil {
			if _, is := errors.AsType[*pms.Error](err); !is {
				t.Errorf("%v is not an Error", err)
			}

			return
		}

		// Each id comes once, and what is read can be kept.
		seen := map[string]bool{}

		all := ids(p.Reservations)
		for i := range p.Unreadable {
			all = append(all, p.Unreadable[i].ID)
		}

		for _, id := range all {
			if seen[id] || !outbound.Printable(id, 200) {
				t.Errorf("the id %q", id)
			}

			seen[id] = true
		}

		for _, r := range p.Reservations {
			if r.Gone {
				continue
			}

			if _, err := money.ParseCurrency(r.Currency); err != nil || !r.CheckOut.After(r.CheckIn) || !r.CheckIn.Valid() || r.ListingID == "" {
				t.Errorf("%+v", r)
			}

			for _, line := range r.Lines {
				if !line.Amount.Valid() || line.Type == "" || len([]rune(line.Description)) > pms.MaxText {
					t.Errorf("%+v", line)
				}
			}

			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		settings, credentials string
		private               bool
		field                 string
	}{
		"good":                     {`{"baseUrl":"https://pms.example.com/x"}`, `{"token":"t"}`, false, ""},
		"a sandbox":                {`{"baseUrl":"http://127.0.0.1:8085/pms"}`, `{"token":"t"}`, true, ""},
		"no TLS":                   {`{"baseUrl":"http://pms.example.com"}`, `{"token":"t"}`, false, "baseUrl"},
		"no address":               {`{}`, `{"token":"t"}`, false, "baseUrl"},
		"nothing":                  {``, `{"token":"t"}`, false, "baseUrl"},
		"a number for an address":  {`{"baseUrl":5}`, `{"token":"t"}`, false, "baseUrl"},
		"no host":                  {`{"baseUrl":"https:///x"}`, `{"token":"t"}`, false, "baseUrl"},
		"another protocol":         {`{"baseUrl":"ftp://pms.example.com"}`, `{"token":"t"}`, true, "baseUrl"},
		"a user":                   {`{"baseUrl":"https://a:b@pms.example.com"}`, `{"token":"t"}`, false, "baseUrl"},
		"a query":                  {`{"baseUrl":"https://pms.example.com?x=1"}`, `{"token":"t"}`, false, "baseUrl"},
		"a fragment":               {`{"baseUrl":"https://pms.example.com#x"}`, `{"token":"t"}`, false, "baseUrl"},
		"no token":                 {`{"baseUrl":"https://pms.example.com"}`, `{}`, false, "token"},
		"no credentials":           {`{"baseUrl":"https://pms.example.com"}`, ``, false, "token"},
		"a token with a line":      {`{"baseUrl":"https://pms.example.com"}`, `{"token":"a\nb"}`, false, "token"},
		"a number for a token":     {`{"baseUrl":"https://pms.example.com"}`, `{"token":5}`, false, "token"},
		"a token without any end":  {`{"baseUrl":"https://pms.example.com"}`, `{"token":"` + strings.Repeat("a", 5000) + `"}`, false, "token"},
		"a token beyond ASCII":     {`{"baseUrl":"https://pms.example.com"}`, `{"token":"ä"}`, false, "token"},
		"an address without slash": {`{"baseUrl":"pms.example.com"}`, `{"token":"t"}`, false, "baseUrl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := protocol.New(json.RawMessage(c.settings), json.RawMessage(c.credentials), pms.Options{AllowPrivate: c.private})

			e, is := errors.AsType[*pms.SettingsError](err)
			if is != (c.field != "") || (is && e.Field != c.field) || (!is && err != nil) {
				t.Errorf("%v, want the field %q", err, c.field)
			}
		})
	}
}
