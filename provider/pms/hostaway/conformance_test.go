package hostaway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
	"stayledger/provider/pms/hostaway"
	sandbox "stayledger/provider/sandbox/hostaway"
)

func TestTheClientReadsEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(12, 95)

	got, err := w.read(pms.Query{})
	if err != nil || len(got.rows) != 95 || got.pages != 11 || !got.complete || len(got.unreadable) != 0 {
		t.Fatalf("%d rows on %d pages, complete %t, unreadable %v, %v", len(got.rows), got.pages, got.complete, got.unreadable, err)
	}

	listings := w.listings()
	if len(listings) != 12 {
		t.Errorf("%d listings", len(listings))
	}

	for _, r := range got.rows {
		sum := *r.Total
		for _, line := range r.Lines {
			sum -= line.Amount
		}

		if _, there := listings[r.ListingID]; sum != 0 || len(r.Lines) != 4 || !there || r.Currency != "usd" || r.Status != pms.Booked ||
			r.ChannelFee == nil {
			t.Errorf("%+v", r)
		}
	}
}

// TestFaultsHaveOutcomes meets every fault of a page, on the second page of a reading.
func TestFaultsHaveOutcomes(t *testing.T) {
	t.Parallel()

	after := 30

	for name, c := range map[string]struct {
		fault sandbox.Fault
		want  error // nil for a reading that has everything
		pause time.Duration
	}{
		"too many, without Retry-After": {fault: sandbox.Fault{Mode: sandbox.TooMany}, want: pms.ErrLimited, pause: 10 * time.Second},
		"too many, with Retry-After":    {fault: sandbox.Fault{Mode: sandbox.TooMany, RetryAfter: &after}, want: pms.ErrLimited, pause: 30 * time.Second},
		"fail with status 200":          {fault: sandbox.Fault{Mode: sandbox.Fails}, want: pms.ErrUnavailable},
		"token refused once":            {fault: sandbox.Fault{Mode: sandbox.Refused}},
		"token refused for good":        {fault: sandbox.Fault{Mode: sandbox.Refused, Times: -1}, want: pms.ErrCredentials},
		"500 of a proxy":                {fault: sandbox.Fault{Mode: sandbox.Page500}, want: pms.ErrUnavailable},
		"dropped before":                {fault: sandbox.Fault{Mode: sandbox.DropBefore, Times: -1}, want: pms.ErrUnavailable},
		"dropped after":                 {fault: sandbox.Fault{Mode: sandbox.DropAfter, Times: -1}, want: pms.ErrUnavailable},
		"huge body":                     {fault: sandbox.Fault{Mode: sandbox.HugeBody}, want: pms.ErrUnavailable},
		"wrong type":                    {fault: sandbox.Fault{Mode: sandbox.WrongType}, want: pms.ErrUnavailable},
		"no text":                       {fault: sandbox.Fault{Mode: sandbox.InvalidUTF8}, want: pms.ErrUnavailable},
		"gzip bomb":                     {fault: sandbox.Fault{Mode: sandbox.GzipBomb}, want: pms.ErrUnavailable},
		"truncated":                     {fault: sandbox.Fault{Mode: sandbox.Truncated}, want: pms.ErrUnavailable},
		"redirected":                    {fault: sandbox.Fault{Mode: sandbox.Redirect}, want: pms.ErrUnavailable},
		"duplicate ids":                 {fault: sandbox.Fault{Mode: sandbox.DuplicateIDs}},
		"the same page for ever":        {fault: sandbox.Fault{Mode: sandbox.SamePage, Times: -1}, want: pms.ErrUnavailable},
		"a row changes and comes again": {fault: sandbox.Fault{Mode: sandbox.Shift}},
		"the row of the cursor changes": {fault: sandbox.Fault{Mode: sandbox.Jump}, want: pms.ErrCursor},
		"numbers are texts":             {fault: sandbox.Fault{Mode: sandbox.TextNumbers}},
		"five decimals":                 {fault: sandbox.Fault{Mode: sandbox.FiveDecimals}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fill(3, 35)

			want, err := w.read(pms.Query{})
			if err != nil {
				t.Fatal(err)
			}

			first, err := w.client.Reservations(t.Context(), &pms.Query{})
			if err != nil {
				t.Fatal(err)
			}

			c.fault.On = sandbox.OnReservations
			// Without a number a fault meets one request, with a negative one it stays.
			c.fault.Times = max(c.fault.Times+1, 0)
			w.Break(c.fault)

			got, err := w.read(pms.Query{Page: first.Next})
			checkOutcome(t, err, c.want, c.pause)

			if c.want != nil {
				return
			}

			for _, r := range first.Reservations {
				if _, again := got.rows[r.ID]; !again {
					got.rows[r.ID] = r
				}
			}

			// A row that changed has another stamp.
			for id, r := range got.rows {
				r.ChangedAt = want.rows[id].ChangedAt
				got.rows[id] = r
			}

			compare(t, got.rows, want.rows)
		})
	}
}

// checkOutcome fails the test unless an error is the one wanted, and asks for the pause.
func checkOutcome(t *testing.T, got, want error, pause time.Duration) {
	t.Helper()

	if !errors.Is(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	if pause > 0 {
		e, _ := errors.AsType[*pms.Error](got)
		if left := time.Until(e.Until); left > pause || left < pause-5*time.Second {
			t.Errorf("limited for %v, want %v", left, pause)
		}
	}
}

func TestARowOfAnotherFormFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 15)
	w.Break(sandbox.Fault{Mode: sandbox.Unreadable, On: sandbox.OnReservations, Times: 1})

	got, err := w.read(pms.Query{})
	if err != nil || len(got.rows) != 14 || len(got.unreadable) != 1 || got.unreadable[0] != "1000001" {
		t.Errorf("%d rows, unreadable %v, %v", len(got.rows), got.unreadable, err)
	}
}

func TestATokenIsFetchedOnceAndUsedAfterASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 25)

	delay := 1000
	w.Set(sandbox.Settings{TokenDelayMS: &delay})

	// The client waits by itself until its token can be used.
	w.client = w.open(pms.Options{})
	if _, err := w.read(pms.Query{}); err != nil {
		t.Fatal(err)
	}

	if got := w.Counts().Calls; got[sandbox.OnToken] != 1 || got[sandbox.OnReservations] != 4 {
		t.Errorf("calls %v", got)
	}
}

func TestWrongCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	client, err := hostaway.New(json.RawMessage(`{"baseUrl":"`+w.url+`/v1"}`), json.RawMessage(`{"accountId":"28673","apiKey":"wrong"}`),
		pms.Options{AllowPrivate: true}, &pms.MemoryTokens{})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := client.Account(t.Context()); !errors.Is(err, pms.ErrCredentials) {
		t.Errorf("got %v", err)
	}

	// Ours are good, and say whose account it is.
	got, err := w.client.Account(t.Context())
	if err != nil || got.ID != account {
		t.Errorf("got %+v, %v", got, err)
	}

	// An answer that says that the call failed proves nothing, whatever its status.
	w.Break(sandbox.Fault{Mode: sandbox.Fails, On: sandbox.OnListings, Times: 1})

	if got, err := w.client.Account(t.Context()); !errors.Is(err, pms.ErrUnavailable) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		settings, credentials string
		private               bool
		want                  string
	}{
		"nothing but credentials":     {`{}`, `{"accountId":"1","apiKey":"k"}`, false, ""},
		"no settings":                 {``, `{"accountId":"1","apiKey":"k"}`, false, ""},
		"plain HTTP":                  {`{"baseUrl":"http://example.com"}`, `{"accountId":"1","apiKey":"k"}`, false, "baseUrl"},
		"plain HTTP of the operator":  {`{"baseUrl":"http://example.com"}`, `{"accountId":"1","apiKey":"k"}`, true, ""},
		"a query":                     {`{"baseUrl":"https://example.com/?a=b"}`, `{"accountId":"1","apiKey":"k"}`, false, "baseUrl"},
		"no host":                     {`{"baseUrl":"here"}`, `{"accountId":"1","apiKey":"k"}`, false, "baseUrl"},
		"an account that is a text":   {`{}`, `{"accountId":"one","apiKey":"k"}`, false, "accountId"},
		"no account":                  {`{}`, `{"apiKey":"k"}`, false, "accountId"},
		"no key":                      {`{}`, `{"accountId":"1"}`, false, "apiKey"},
		"a key of more than one line": {`{}`, `{"accountId":"1","apiKey":"k\nk"}`, false, "apiKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := hostaway.New(json.RawMessage(c.settings), json.RawMessage(c.credentials),
				pms.Options{AllowPrivate: c.private}, &pms.MemoryTokens{})

			field := ""
			if wrong, is := errors.AsType[*pms.SettingsError](err); is {
				field = wrong.Field
			}

			if field != c.want || (err == nil) != (c.want == "") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatHasChangedIsReadFromADayBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 25)

	got, err := w.read(pms.Query{})
	if err != nil {
		t.Fatal(err)
	}

	today := day.Of(time.Now().UTC())
	if mark, err := day.Parse(got.mark); err != nil || today.AddDays(-1).After(mark) || mark.After(today) {
		t.Fatalf("mark %q", got.mark)
	}

	// A clock that is ahead hides nothing.
	ahead := 86_400 * 30
	w.Set(sandbox.Settings{ClockSeconds: &ahead})

	if late, err := w.read(pms.Query{}); err != nil || late.mark > today.AddDays(1).String() {
		t.Errorf("mark %q, %v", late.mark, err)
	}

	// One changes on the day before the mark, which the filter must not leave out.
	mark, _ := day.Parse(got.mark)
	eve := mark.AddDays(-1).String() + " 00:00:01"
	w.SetReservation(stay(5, sandbox.Object{"updatedOn": eve, "latestActivityOn": eve}))

	since, err := w.read(pms.Query{Since: got.mark})
	if err != nil || len(since.rows) != 1 || since.complete {
		t.Errorf("%d rows, complete %t, %v", len(since.rows), since.complete, err)
	}

	if _, err := w.read(pms.Query{Since: "yesterday"}); !errors.Is(err, pms.ErrCursor) {
		t.Errorf("a mark that is none: %v", err)
	}
}

func TestStaysWithANightWithinTheBoundsAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	for i, days := range [][2]string{
		{"2026-01-01", "2026-01-05"}, {"2026-01-30", "2026-02-02"}, {"2026-02-10", "2026-02-12"}, {"2026-02-28", "2026-03-03"}, {"2026-03-01", "2026-03-02"},
	} {
		w.SetReservation(stay(i+1, sandbox.Object{"arrivalDate": days[0], "departureDate": days[1]}))
	}

	from, _ := day.Parse("2026-02-01")
	to := from.LastOfMonth()

	got, err := w.read(pms.Query{From: &from, To: &to})
	if err != nil || len(got.rows) != 3 || !got.complete {
		t.Errorf("%d rows, complete %t, %v", len(got.rows), got.complete, err)
	}
}

func TestReservationsAreLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetReservation(stay(5, nil))
	w.SetReservation(stay(6, sandbox.Object{"status": "unheardOf"}))

	got, unreadable, err := w.client.Lookup(t.Context(), []string{"5", "6", "7", "5"})
	if err != nil || len(unreadable) != 1 || unreadable[0] != (pms.Unreadable{ID: "6", FormError: pms.FormError{Field: "status", Fault: pms.Unknown}}) || len(got) != 2 || got[0].ID != "5" || got[0].Gone || got[1].ID != "7" || !got[1].Gone {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestListingsAndTheirUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetListing(sandbox.Object{
		"id": 40160, "name": "Charming", "internalListingName": "House 1", "street": "1 Shore Road", "city": "Harborview", "state": "ME",
		"zipcode": "04101", "countryCode": "us", "currencyCode": "USD", "specialStatus": nil,
		"listingUnits": []sandbox.Object{{"id": 7, "name": "Apartment", "unitNumber": "234", "listingMapIdUnit": nil}},
	})
	w.SetListing(sandbox.Object{"id": 40161, "name": "Old house", "internalListingName": nil, "specialStatus": "archived"})
	w.SetReservation(stay(5, sandbox.Object{"reservationUnit": []sandbox.Object{{"listingUnitId": 7}}}))
	w.SetReservation(stay(6, sandbox.Object{"reservationUnit": []sandbox.Object{{"listingUnitId": 7}, {"listingUnitId": 8}}}))

	at := &pms.Address{Street: "1 Shore Road", City: "Harborview", State: "ME", PostalCode: "04101", Country: "US"}
	want := map[string]pms.Listing{
		"40160":   {ID: "40160", Name: "House 1", Address: at, Currency: "usd"},
		"40160:7": {ID: "40160:7", Name: "House 1, Apartment", Address: at, Currency: "usd", ParentID: "40160", Unit: "Apartment"},
		"40161":   {ID: "40161", Name: "Old house", Archived: true},
	}

	compare(t, w.listings(), want)

	// A stay is at its unit, and one of several units at the listing.
	got, err := w.read(pms.Query{})
	if err != nil || got.rows["5"].ListingID != "40160:7" || got.rows["6"].ListingID != "40160" {
		t.Errorf("%+v, %v", got.rows, err)
	}
}

func TestMessagesAreHintsWithAPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	const secret = "a secret that cannot be guessed"

	type arrival struct {
		event *pms.Event
		err   error
	}

	arrivals := make(chan arrival, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)

		event, err := hostaway.ReadMessage(secret, r.Header, body, time.Now())
		arrivals <- arrival{event, err}
	}))
	t.Cleanup(receiver.Close)

	// A subscription of somebody else stays, and ours is there once.
	w.AddHook(sandbox.Hook{URL: "http://127.0.0.1:1/", Login: "other"})

	for range 2 {
		if err := w.client.Subscribe(t.Context(), receiver.URL, secret); err != nil {
			t.Fatal(err)
		}
	}

	if got := w.Hooks(); len(got) != 2 || got[1].Login != "stayledger" {
		t.Fatalf("subscriptions %+v", got)
	}

	// One after the other, each with its own fault.
	for i, c := range []struct {
		fault sandbox.Mode
		times int
		want  error
	}{{"", 1, nil}, {sandbox.Twice, 2, nil}, {sandbox.Forged, 1, hostaway.ErrMessage}, {sandbox.Unsigned, 1, hostaway.ErrMessage}} {
		if c.fault != "" {
			w.Break(sandbox.Fault{Mode: c.fault, On: sandbox.OnMessage, Times: 1})
		}

		w.SetReservation(stay(i+1, nil))

		for range c.times {
			got := <-arrivals
			if !errors.Is(got.err, c.want) || (c.want == nil && !slices.Equal(got.event.ReservationIDs, []string{strconv.Itoa(i + 1)})) {
				t.Errorf("%q: got %+v, %v", c.fault, got.event, got.err)
			}
		}
	}

	for range 2 {
		if err := w.client.Unsubscribe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	if got := w.Hooks(); len(got) != 1 || got[0].Login != "other" {
		t.Errorf("subscriptions %+v", got)
	}
}

func TestNightsAreClosedAndFreed(t *testing.T) {
	t.Parallel()

	start, _ := day.Parse("2026-05-01")
	block := &pms.Block{ID: "b", ListingID: "40160", StartAt: start, EndAt: start.AddDays(3), Note: "Owner"}
	next := &pms.Block{ID: "n", ListingID: "40160", StartAt: block.EndAt, EndAt: block.EndAt.AddDays(1)}

	// A system that changes a day more is put right, and a day that was closed before stays so.
	for _, fault := range []sandbox.Mode{"", sandbox.SurplusDay} {
		w := newWorld(t)
		w.SetListing(sandbox.Object{"id": 40160, "name": "House"})

		closed := []string{"2026-05-01", "2026-05-02", "2026-05-03"}

		for _, step := range []struct {
			do   func() error
			want []string
		}{
			{func() error { return w.block(block) }, closed},
			{func() error { return w.block(next) }, append(slices.Clone(closed), "2026-05-04")},
			{func() error { return w.client.Unblock(t.Context(), block) }, []string{"2026-05-04"}},
			{func() error { return w.client.Unblock(t.Context(), block) }, []string{"2026-05-04"}},
		} {
			// The fault is of the change, which is the second call of a step.
			if fault != "" {
				w.Break(sandbox.Fault{Mode: "none", On: sandbox.OnCalendar, Times: 1})
				w.Break(sandbox.Fault{Mode: fault, On: sandbox.OnCalendar, Times: 1})
			}

			if err := step.do(); err != nil {
				t.Fatal(err)
			}

			if got := w.Blocked("40160"); !slices.Equal(got, step.want) {
				t.Errorf("%q: closed %v, want %v", fault, got, step.want)
			}
		}
	}

	// Listings that are archived or are units cannot be closed.
	w := newWorld(t)
	w.SetListing(sandbox.Object{"id": 40160, "name": "House", "specialStatus": "archived"})

	if err := w.block(block); !errors.Is(err, pms.ErrRefused) {
		t.Errorf("archived: %v", err)
	}

	if err := w.block(&pms.Block{ListingID: "40160:7", StartAt: start, EndAt: block.EndAt}); !errors.Is(err, pms.ErrRefused) {
		t.Errorf("a unit: %v", err)
	}
}

func TestCallsAreCountedAgainstTheLimitBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	const most = 7

	var counted int

	until := time.Now().Add(time.Minute)
	take := func(_ context.Context, host string, l outbound.Limit) error {
		if !strings.HasSuffix(w.url, host) || l != (outbound.Limit{Calls: 15, Within: 10 * time.Second, Burst: 4}) {
			t.Errorf("counted for %s: %v", host, l)
		}

		if counted++; counted > most {
			return &outbound.LimitedError{Until: until}
		}

		return nil
	}

	// Clients are made anew all the time; all of them count.
	var err error

	for err == nil && counted < 2*most {
		client := w.open(pms.Options{Take: take})
		client.Settle(0)

		_, err = client.Account(t.Context())
	}

	sent := 0
	for _, n := range w.Counts().Calls {
		sent += n
	}

	if e, is := errors.AsType[*pms.Error](err); !is || !errors.Is(err, pms.ErrLimited) || !e.Until.Equal(until) || sent != most {
		t.Errorf("%d calls were sent, then %v", sent, err)
	}
}

func TestAnswersThatComeLateAreNotWaitedFor(t *testing.T) {
	t.Parallel()

	for _, mode := range []sandbox.Mode{sandbox.HangBefore, sandbox.HangAfter, sandbox.SlowBody} {
		w := newWorld(t)
		w.fill(1, 5)
		w.Break(sandbox.Fault{Mode: mode, On: sandbox.OnReservations})

		client := w.open(pms.Options{Within: 300 * time.Millisecond})
		client.Settle(0)

		if _, err := client.Reservations(t.Context(), &pms.Query{}); !errors.Is(err, pms.ErrTimeout) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
