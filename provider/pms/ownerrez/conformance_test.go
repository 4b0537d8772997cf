package ownerrez_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/pms"
	"stayledger/provider/pms/ownerrez"
	sandbox "stayledger/provider/sandbox/ownerrez"
)

func TestTheClientReadsEveryPage(t *testing.T) {
	t.Parallel()

	// Lists that have links, that have counts, and each as the system does; more properties than a group has.
	yes, no := true, false
	for _, links := range []*bool{nil, &yes, &no} {
		w := newWorld(t)
		w.fill(112, 195)
		w.Set(sandbox.Settings{Links: links})

		got, err := w.read(pms.Query{})
		if err != nil || len(got.rows) != 195 || !got.complete || len(got.unreadable) != 0 {
			t.Fatalf("%d rows, complete %t, unreadable %v, %v", len(got.rows), got.complete, got.unreadable, err)
		}

		listings := w.listings()
		if len(listings) != 112 {
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
}

// TestFaultsHaveOutcomes meets every fault of a page, on the second page of a reading of what has changed.
func TestFaultsHaveOutcomes(t *testing.T) {
	t.Parallel()

	after := 30

	for name, c := range map[string]struct {
		fault sandbox.Fault
		want  error // nil for a reading that has everything
		pause time.Duration
	}{
		"too many":                   {fault: sandbox.Fault{Mode: sandbox.TooMany}, want: pms.ErrLimited, pause: 10 * time.Second},
		"too many, with Retry-After": {fault: sandbox.Fault{Mode: sandbox.TooMany, RetryAfter: &after}, want: pms.ErrLimited, pause: 30 * time.Second},
		"credentials refused":        {fault: sandbox.Fault{Mode: sandbox.Refused}, want: pms.ErrCredentials},
		"no name of the app":         {fault: sandbox.Fault{Mode: sandbox.NoAgent}, want: pms.ErrRefused},
		"500 of a proxy":             {fault: sandbox.Fault{Mode: sandbox.Page500}, want: pms.ErrUnavailable},
		"dropped before":             {fault: sandbox.Fault{Mode: sandbox.DropBefore, Times: -1}, want: pms.ErrUnavailable},
		"dropped after":              {fault: sandbox.Fault{Mode: sandbox.DropAfter, Times: -1}, want: pms.ErrUnavailable},
		"huge body":                  {fault: sandbox.Fault{Mode: sandbox.HugeBody}, want: pms.ErrUnavailable},
		"wrong type":                 {fault: sandbox.Fault{Mode: sandbox.WrongType}, want: pms.ErrUnavailable},
		"no text":                    {fault: sandbox.Fault{Mode: sandbox.InvalidUTF8}, want: pms.ErrUnavailable},
		"gzip bomb":                  {fault: sandbox.Fault{Mode: sandbox.GzipBomb}, want: pms.ErrUnavailable},
		"truncated":                  {fault: sandbox.Fault{Mode: sandbox.Truncated}, want: pms.ErrUnavailable},
		"redirected":                 {fault: sandbox.Fault{Mode: sandbox.Redirect}, want: pms.ErrUnavailable},
		"a link to another host":     {fault: sandbox.Fault{Mode: sandbox.ForeignLink}, want: pms.ErrUnavailable},
		"the same page for ever":     {fault: sandbox.Fault{Mode: sandbox.SamePage, Times: -1}, want: pms.ErrUnavailable},
		"duplicate ids":              {fault: sandbox.Fault{Mode: sandbox.DuplicateIDs}},
		"a row changes and moves":    {fault: sandbox.Fault{Mode: sandbox.Shift}},
		"numbers are texts":          {fault: sandbox.Fault{Mode: sandbox.TextNumbers}},
		"five decimals":              {fault: sandbox.Fault{Mode: sandbox.FiveDecimals}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fill(3, 35)

			query := pms.Query{Since: "2020-01-01T00:00:00Z"}

			want, err := w.read(query)
			if err != nil || len(want.rows) != 35 {
				t.Fatalf("%d rows, %v", len(want.rows), err)
			}

			first, err := w.client.Reservations(t.Context(), &query)
			if err != nil {
				t.Fatal(err)
			}

			c.fault.On = sandbox.OnBookings
			// Without a number a fault meets one request, with a negative one it stays.
			c.fault.Times = max(c.fault.Times+1, 0)
			w.Break(c.fault)

			query.Page = first.Next
			got, err := w.read(query)
			checkOutcome(t, err, c.want, c.pause)

			if c.want != nil {
				return
			}

			for _, r := range first.Reservations {
				got.rows[r.ID] = r
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

// TestRowsThatMoveAreNotSkipped has more rows of a page deleted than are asked for again: the reading begins anew, since
// those that were skipped would count as gone.
func TestRowsThatMoveAreNotSkipped(t *testing.T) {
	t.Parallel()

	yes, no := true, false
	for _, links := range []*bool{&yes, &no} {
		w := newWorld(t)
		w.fill(1, 35)
		w.Set(sandbox.Settings{Links: links})

		for _, c := range []struct {
			deleted int
			want    error
		}{{0, nil}, {1, nil}, {4, pms.ErrCursor}} {
			first, err := w.client.Reservations(t.Context(), &pms.Query{})
			if err != nil || first.Next == "" {
				t.Fatal(err)
			}

			for _, r := range first.Reservations[:c.deleted] {
				if err := w.DeleteBooking(r.ID); err != nil {
					t.Fatal(err)
				}
			}

			left := w.Counts().Bookings + c.deleted - len(first.Reservations)

			got, err := w.read(pms.Query{Page: first.Next})
			for _, r := range first.Reservations {
				delete(got.rows, r.ID)
			}

			if !errors.Is(err, c.want) || (c.want == nil && len(got.rows) != left) {
				t.Errorf("%d deleted: %d of %d rows, %v", c.deleted, len(got.rows), left, err)
			}
		}
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

// TestRowsThatComeTwiceHideNone has a page with duplicates in a list that is read by offsets.
func TestRowsThatComeTwiceHideNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 35)

	links := false
	w.Set(sandbox.Settings{Links: &links})
	w.Break(sandbox.Fault{Mode: sandbox.DuplicateIDs, On: sandbox.OnBookings, Times: 1})

	if got, err := w.read(pms.Query{}); err != nil || len(got.rows) != 35 {
		t.Errorf("%d rows, %v", len(got.rows), err)
	}
}

func TestARowOfAnotherFormFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 15)
	w.Break(sandbox.Fault{Mode: sandbox.Unreadable, On: sandbox.OnBookings, Times: 1})
	w.Break(sandbox.Fault{Mode: sandbox.Unreadable, On: sandbox.OnProperties, Times: 1})

	// The ids of listings are read whatever else is in their rows.
	got, err := w.read(pms.Query{})
	if err != nil || len(got.rows) != 14 || len(got.unreadable) != 1 || got.unreadable[0] != "1000001" {
		t.Errorf("%d rows, unreadable %v, %v", len(got.rows), got.unreadable, err)
	}

	w.Break(sandbox.Fault{Mode: sandbox.Unreadable, On: sandbox.OnProperties, Times: 1})

	if page, err := w.client.Listings(t.Context(), ""); err != nil || len(page.Listings) != 0 || len(page.Unreadable) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestCallsNameTheApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v2/users/me", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}

	r.SetBasicAuth(email, token)
	r.Header["User-Agent"] = []string{""}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}

	_ = answer.Body.Close()

	// The sandbox refuses a call without a name, as the system does, and takes ours.
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a call without a name: status %d", answer.StatusCode)
	}

	got, err := w.client.Account(t.Context())
	if err != nil || got.ID != "77" || got.Name != "Sandra Box" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	for credentials, want := range map[string]error{
		`{"email":"ada@example.com","token":"pt_other"}`: pms.ErrCredentials,
		`{"email":"bob@example.com","token":"pt_ours"}`:  pms.ErrCredentials,
		`{"given":{"Access":"at_other"}}`:                pms.ErrCredentials,
	} {
		if _, err := w.open(credentials).Account(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: got %v", credentials, err)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()

	const good = `{"email":"a@example.com","token":"k"}`

	for name, c := range map[string]struct {
		settings, credentials string
		private               bool
		want                  string
	}{
		"nothing but credentials":       {`{}`, good, false, ""},
		"no settings":                   {``, good, false, ""},
		"plain HTTP":                    {`{"baseUrl":"http://example.com"}`, good, false, "baseUrl"},
		"plain HTTP of the operator":    {`{"baseUrl":"http://example.com"}`, good, true, ""},
		"a query":                       {`{"baseUrl":"https://example.com/?a=b"}`, good, false, "baseUrl"},
		"no host":                       {`{"baseUrl":"here"}`, good, false, "baseUrl"},
		"no address":                    {`{}`, `{"token":"k"}`, false, "email"},
		"an address with a colon":       {`{}`, `{"email":"a:b@example.com","token":"k"}`, false, "email"},
		"no token":                      {`{}`, `{"email":"a@example.com"}`, false, "token"},
		"a token of more than one line": {`{}`, `{"email":"a@example.com","token":"k\nk"}`, false, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := ownerrez.New(json.RawMessage(c.settings), json.RawMessage(c.credentials), nil, &pms.MemoryTokens{}, pms.Options{AllowPrivate: c.private})

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

func TestWhatHasChangedIsReadFromTenMinutesBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 25)

	got, err := w.read(pms.Query{})
	if err != nil {
		t.Fatal(err)
	}

	mark, err := time.Parse(time.RFC3339, got.mark)
	if age := time.Since(mark); err != nil || age < 10*time.Minute || age > 11*time.Minute {
		t.Fatalf("mark %q", got.mark)
	}

	// A clock that is behind counts, and one that is ahead hides nothing.
	for seconds, most := range map[int]time.Time{-3600: mark.Add(-59 * time.Minute), 86_400: time.Now()} {
		w.Set(sandbox.Settings{ClockSeconds: &seconds})

		other, err := w.read(pms.Query{})
		if at, wrong := time.Parse(time.RFC3339, other.mark); err != nil || wrong != nil || at.After(most) {
			t.Errorf("mark %q, %v", other.mark, err)
		}
	}

	w.SetBooking(stay(5, sandbox.Object{"updated_utc": got.mark}))

	since, err := w.read(pms.Query{Since: got.mark})
	if err != nil || len(since.rows) != 1 || since.complete || since.mark == "" {
		t.Errorf("%d rows, complete %t, mark %q, %v", len(since.rows), since.complete, since.mark, err)
	}
}

func TestMarksAndPagesThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	for _, q := range []pms.Query{{Since: "yesterday"}, {Page: "somewhere"}, {Page: "at=rows%3Dmany"}, {Page: "%zz"}} {
		if _, err := w.client.Reservations(t.Context(), &q); !errors.Is(err, pms.ErrCursor) {
			t.Errorf("%+v: %v", q, err)
		}
	}

	for _, page := range []string{"maybe", "true/%zz", "true/rows=-1"} {
		if _, err := w.client.Listings(t.Context(), page); !errors.Is(err, pms.ErrCursor) {
			t.Errorf("%s: %v", page, err)
		}
	}
}

// TestStaysOutsideTheBoundsAreNotMissing has a reading with bounds: it gives more, and nothing within is missing.
func TestStaysOutsideTheBoundsAreNotMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetProperty(sandbox.Object{"id": 40001, "name": "House"})
	w.SetBooking(stay(1, sandbox.Object{"arrival": "2025-01-01", "departure": "2026-06-01"}))
	w.SetBooking(stay(2, sandbox.Object{"arrival": "2026-02-28"}))

	from, _ := day.Parse("2026-02-01")
	to := from.LastOfMonth()

	got, err := w.read(pms.Query{From: &from, To: &to})
	if err != nil || len(got.rows) != 2 || !got.complete {
		t.Errorf("%d rows, complete %t, %v", len(got.rows), got.complete, err)
	}
}

func TestReservationsAreLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetBooking(stay(5, sandbox.Object{"charges": []sandbox.Object{sandbox.Charge("rent", "Rent", 100)}}))
	w.SetBooking(stay(6, sandbox.Object{"status": "unheardOf"}))

	got, unreadable, err := w.client.Lookup(t.Context(), []string{"5", "6", "7", "5"})
	if err != nil || len(unreadable) != 1 || unreadable[0] != (pms.Unreadable{ID: "6", FormError: pms.FormError{Field: "status", Fault: pms.Unknown}}) || len(got) != 2 || got[0].ID != "5" || got[0].Gone || len(got[0].Lines) != 1 || got[1].ID != "7" || !got[1].Gone {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetProperty(sandbox.Object{
		"id": 40001, "name": "House 1", "active": true, "currency_code": "USD", "address": sandbox.Object{
			"street1": "1 Shore Road", "street2": "Apt. 2", "city": "Harborview", "state": "ME", "postal_code": "04101", "country": "us",
		},
	})
	w.SetProperty(sandbox.Object{"id": 40002, "name": "Old house", "active": false})

	at := &pms.Address{Street: "1 Shore Road Apt. 2", City: "Harborview", State: "ME", PostalCode: "04101", Country: "US"}
	compare(t, w.listings(), map[string]pms.Listing{
		"40001": {ID: "40001", Name: "House 1", Address: at, Currency: "usd"},
		"40002": {ID: "40002", Name: "Old house", Archived: true},
	})

	// Bookings of a listing that is not let any more are read, too.
	w.SetBooking(stay(5, sandbox.Object{"property_id": 40002}))

	if got, err := w.read(pms.Query{}); err != nil || len(got.rows) != 1 {
		t.Errorf("%d rows, %v", len(got.rows), err)
	}
}

// TestAHoldBecomesABooking has the hold of a channel turn into a booking under the same id, also behind the page of a
// reading: the next reading has it.
func TestAHoldBecomesABooking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.SetProperty(sandbox.Object{"id": 40001, "name": "House"})

	hold := stay(5, sandbox.Object{"type": "block", "is_block": true, "status": "pending", "title": "Hold for HMABC"})
	delete(hold, "updated_utc")
	w.SetBooking(hold)
	w.Break(sandbox.Fault{Mode: sandbox.Convert, On: sandbox.OnBookings, Times: 1})

	got, err := w.read(pms.Query{})
	if r := got.rows["5"]; err != nil || !r.Block || r.Status != pms.Pending || r.Lines != nil {
		t.Fatalf("%+v, %v", r, err)
	}

	got, err = w.read(pms.Query{Since: got.mark})
	if r := got.rows["5"]; err != nil || r.Block || r.Status != pms.Booked || r.Code != "HMABC" || *r.Total != 10_000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLinksAreFollowedAtOurHostOnly has a link that leads elsewhere: nothing is sent there, and nowhere else.
func TestLinksAreFollowedAtOurHostOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(1, 15)
	w.Break(sandbox.Fault{Mode: sandbox.ForeignLink, On: sandbox.OnBookings})

	if _, err := w.read(pms.Query{Since: "2020-01-01T00:00:00Z"}); !errors.Is(err, pms.ErrUnavailable) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("got %v", err)
	}

	if got := w.Counts().Calls[sandbox.OnBookings]; got != 1 {
		t.Errorf("%d calls", got)
	}
}
