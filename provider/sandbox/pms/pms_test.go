package pms_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/day"
	"stayledger/provider/sandbox/pms"
)

const token = "try-me"

// world is a sandbox behind a loopback address.
type world struct {
	*pms.Server

	t   *testing.T
	url string
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s, err := pms.New(pms.Config{Token: token})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(s)

	t.Cleanup(func() {
		s.Close()
		server.Close()
	})

	return &world{s, t, server.URL}
}

// call sends a request and returns the status and the body of its answer.
func (w *world) call(method, path, body string) (int, string) {
	w.t.Helper()

	return w.callAs(token, method, path, body)
}

// callAs sends a request with a token.
func (w *world) callAs(token, method, path, body string) (int, string) {
	w.t.Helper()

	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+token)

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}

	defer func() { _ = answer.Body.Close() }()

	content, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}

	return answer.StatusCode, string(content)
}

// Each request in turn: what it is answered with, and a part of the body.
func TestTheControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/control/generate", `{"seed":1,"listings":2,"reservations":5}`, 204, ""},
		{"POST", "/control/generate", `{"seed":1,"reservations":5}`, 400, "refused"},
		{"GET", "/control/counts", "", 200, `"listings":2,"reservations":5`},
		{"PUT", "/control/listings/l1", `{"name":"House","currency":"usd"}`, 204, ""},
		{"PUT", "/control/listings/l1", `{"nam":"House"}`, 400, "malformed"},
		{"GET", "/listings", "", 200, `{"id":"l1","name":"House","address":null,"currency":"usd","archived":false}`},
		{"DELETE", "/control/listings/l1", "", 204, ""},
		{"DELETE", "/control/listings/l1", "", 404, "unknown"},
		{"PUT", "/control/reservations/r1", `{"listingId":"l1","status":"booked","checkIn":"2026-03-01","checkOut":"2026-03-04","currency":"usd","total":"1.00"}`, 204, ""},
		{"PATCH", "/control/reservations/r1", `{"status":"canceled","canceledAt":"2026-02-01"}`, 204, ""},
		{"PATCH", "/control/reservations/r1", `{"status":5}`, 400, "malformed"},
		{"PATCH", "/control/reservations/r2", `{"status":"canceled"}`, 404, "unknown"},
		{"GET", "/control/reservations/r1", "", 200, `"status":"canceled"`},
		{"POST", "/reservations/lookup", `{"ids":["r1","r2"]}`, 200, `"canceledAt":"2026-02-01","currency":"usd","total":"1.00","lines":[],"channelFee":null`},
		{"POST", "/reservations/lookup", `{"ids":["r2"]}`, 200, `{"reservations":[{"gone":true,"id":"r2"}]}`},
		{"POST", "/reservations/lookup", `{"ids":["` + strings.Repeat(`a","`, 100) + `a"]}`, 400, "malformed"},
		{"GET", "/reservations?from=yesterday", "", 400, "malformed"},
		{"GET", "/reservations?page=x", "", 410, "forgotten"},
		{"DELETE", "/control/reservations/r1", "", 204, ""},
		{"GET", "/control/reservations/r1", "", 404, "unknown"},
		{"POST", "/control/messages", `{"listings":true}`, 404, "unknown"},
		{"PUT", "/webhook", `{"url":"http://127.0.0.1:1/","secret":"a text of 16 or more"}`, 200, "url"},
		{"PUT", "/webhook", `{"url":""}`, 400, "malformed"},
		{"GET", "/control/webhook", "", 200, `"secret":"a text of 16 or more"`},
		{"POST", "/control/messages", `{"revoked":true}`, 204, ""},
		{"GET", "/control/messages", "", 200, `"hint":{"reservationIds":[],"listings":false,"revoked":true}`},
		{"DELETE", "/webhook", "", 200, "url"},
		{"DELETE", "/webhook", "", 404, "unknown"},
		{"PUT", "/blocks/b1", `{"listingId":"lst_1_000001","startAt":"2026-03-01","endAt":"2026-03-01"}`, 400, "malformed"},
		{"PUT", "/blocks/b1", `{"listingId":"lst_1_000001","startAt":"2026-03-01","endAt":"2026-03-02"}`, 200, "b1"},
		{"GET", "/control/blocks", "", 200, `{"blocks":{"b1":{"listingId":"lst_1_000001","startAt":"2026-03-01","endAt":"2026-03-02","note":""}}}`},
		{"POST", "/control/faults", `{"mode":"unheardOf"}`, 400, "unknownMode"},
		{"POST", "/control/faults", `{"mode":"refused","on":"account","times":1}`, 204, ""},
		{"GET", "/account", "", 401, "credentials"},
		{"GET", "/account", "", 200, "acc_1"},
		{"POST", "/control/faults", `{"mode":"page500"}`, 204, ""},
		{"GET", "/account", "", 500, "html"},
		{"POST", "/control/reset", "", 204, ""},
		{"GET", "/account", "", 200, "acc_1"},
		{"POST", "/control/settings", `{"pageSize":0}`, 400, "outOfRange"},
		{"POST", "/control/settings", `{"pageSize":2,"silent":true}`, 204, ""},
		{"GET", "/reservations", "", 200, `"complete":true`},
		{"POST", "/control/clock", `{"seconds":60}`, 204, ""},
		{"POST", "/control/forget", "", 204, ""},
		{"POST", "/control/release", "", 204, ""},
		{"GET", "/control/events?point=answered", "", 200, `"on":"listings"`},
	} {
		if status, body := w.call(c.method, c.path, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, status, body, c.status, c.says)
		}
	}
}

func TestEverythingAsksForTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	for _, c := range []string{"GET /account", "GET /listings", "PUT /blocks/b", "GET /control/webhook", "POST /control/reset"} {
		method, path, _ := strings.Cut(c, " ")
		if status, _ := w.callAs("another", method, path, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", c, status)
		}
	}
}

// generated returns the reservations that a plan gives, without their stamps.
func generated(t *testing.T, p pms.Plan) []map[string]any {
	t.Helper()
	w := newWorld(t)

	if err := w.Generate(p); err != nil {
		t.Fatal(err)
	}

	var rows []map[string]any

	page := ""

	for {
		_, body := w.call("GET", "/reservations?page="+page, "")

		var in struct {
			Reservations []map[string]any `json:"reservations"`
			Next         string           `json:"next"`
		}
		if err := json.Unmarshal([]byte(body), &in); err != nil {
			t.Fatal(err)
		}

		for _, r := range in.Reservations {
			delete(r, "changedAt")
		}

		rows = append(rows, in.Reservations...)
		if page = in.Next; page == "" {
			return rows
		}
	}
}

func TestAPlanAlwaysGivesTheSameRows(t *testing.T) {
	t.Parallel()

	p := pms.Plan{Seed: 3, Listings: 7, Reservations: 250}
	first, second := generated(t, p), generated(t, p)

	if len(first) != 250 || !reflect.DeepEqual(first, second) {
		t.Errorf("%d and %d rows that differ", len(first), len(second))
	}

	p.Seed = 4
	if reflect.DeepEqual(first, generated(t, p)) {
		t.Error("another seed gives the same rows")
	}

	// No two stays at a listing share a night.
	free := map[any]string{}

	for _, r := range first {
		in, _ := r["checkIn"].(string)
		out, _ := r["checkOut"].(string)

		if _, err := day.Parse(out); err != nil || in < free[r["listingId"]] || out <= in {
			t.Errorf("a stay from %s to %s, free from %s", in, out, free[r["listingId"]])
		}

		free[r["listingId"]] = out
	}

	if len(free) != 7 {
		t.Errorf("stays at %d listings", len(free))
	}
}

func TestWhatCannotBeServed(t *testing.T) {
	t.Parallel()

	for _, c := range []pms.Config{{}, {Token: token, PageSize: -1}, {Token: token, PageSize: 1001}} {
		if s, err := pms.New(c); err == nil {
			s.Close()
			t.Errorf("%+v can be served", c)
		}
	}

	if modes := pms.Mode("").Enum(); len(modes) != len(slices.Compact(slices.Sorted(slices.Values(modes)))) {
		t.Error("a mode is listed twice")
	}
}
