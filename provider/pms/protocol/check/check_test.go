package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol/check"
	sandbox "stayledger/provider/sandbox/pms"
)

// run checks a server with everything that there is.
func run(t *testing.T, h http.Handler, o check.Options) *check.Report {
	t.Helper()

	server := httptest.NewServer(h)
	t.Cleanup(server.Close)

	o.BaseURL, o.Token, o.AllowPrivate = server.URL+"/", token, true

	report, err := check.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	return report
}

// outcomes returns the rules with an outcome.
func outcomes(r *check.Report, o check.Outcome) (ids []string) {
	for i := range r.Results {
		if r.Results[i].Outcome == o {
			ids = append(ids, r.Results[i].ID)
		}
	}

	return ids
}

// wantAll fails unless every rule has been checked, and holds.
func wantAll(t *testing.T, r *check.Report, except ...string) {
	t.Helper()

	for _, result := range r.Results {
		if (result.Outcome == check.OK) == slices.Contains(except, result.ID) {
			t.Errorf("%s is %s: %s %v", result.ID, result.Outcome, result.Note, result.Findings)
		}
	}
}

// fill opens a sandbox with rows of every kind.
func fill(t *testing.T) *sandbox.Server {
	t.Helper()

	s, err := sandbox.New(sandbox.Config{Token: token, PageSize: 10, MessageEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)

	if err := s.Generate(sandbox.Plan{Seed: 1, Listings: 12, Reservations: 45}); err != nil {
		t.Fatal(err)
	}

	s.SetListing(sandbox.Listing{ID: "unit", Name: "Upper floor", ParentID: "lst_1_000001", Unit: "2"})
	s.SetReservation(sandbox.Reservation{
		ID: "canceled", ListingID: "unit", Status: "canceled", Code: "C", CheckIn: "2025-03-01", CheckOut: "2025-03-05", Currency: "usd", Total: "50.00",
		ChannelFee: "5.00", Payout: "45.00", Lines: []sandbox.Line{{Type: "rent", Amount: "40.00"}, {Type: "tax", Amount: "10.00"}},
	})
	s.SetPayout(sandbox.Payout{
		ID: "pay_1", Date: "2025-03-06", Currency: "usd", Amount: "45.00", Members: []sandbox.PayoutMember{{ReservationID: "canceled", Gross: "50.00", Fees: "5.00"}},
	})

	return s
}

func TestTheSandboxKeepsEveryRule(t *testing.T) {
	t.Parallel()

	s := fill(t)
	wantAll(t, run(t, s, check.Options{Write: true}))

	if counts := s.Counts(); counts.Blocks != 0 {
		t.Errorf("%d blocks are left", counts.Blocks)
	}
}

func TestAServerWrittenFromThePageKeepsEveryRule(t *testing.T) {
	t.Parallel()

	g := &guide{blocks: map[string]bool{}}
	wantAll(t, run(t, g, check.Options{Write: true}))

	if len(g.blocks) != 0 {
		t.Errorf("the blocks %v are left", g.blocks)
	}

	// Without writing nothing is asked that changes something.
	writes := []string{"webhook-put", "webhook-delete", "block-put", "block-again", "block-listing", "block-delete", "block-delete-again"}
	report := run(t, g, check.Options{})

	if got := outcomes(report, check.NotChecked); !slices.Equal(got, writes) {
		t.Errorf("without writing %q are not checked", got)
	}

	wantAll(t, report, writes...)
}

// Each fault is reported under its rule, and under no other that it does not break as well.
func TestEachFaultIsReportedUnderItsRule(t *testing.T) {
	t.Parallel()

	for fault, want := range map[string]string{
		"a type of text":                     "content-type",
		"Latin-1":                            "utf-8",
		"a redirect":                         "no-redirect",
		"any token":                          "token-refused",
		"an account without an id":           "account-id",
		"no list":                            "listing-list",
		"a listing without a name":           "listing-name",
		"a currency that there is not":       "listing-currency",
		"a parent that is not given":         "listing-parent",
		"a listing that comes twice":         "listing-unique",
		"archived as a text":                 "listing-form",
		"a page that names itself":           "reservation-next",
		"pages in a circle":                  "listing-pages reservation-pages",
		"pages without end":                  "reservation-pages",
		"the first page for any name":        "listing-page-unknown reservation-page-unknown",
		"complete as a text":                 "reservation-complete",
		"a mark of two lines":                "reservation-mark",
		"an id with a blank":                 "reservation-id",
		"a status of its own":                "reservation-needed",
		"a stay without nights":              "reservation-needed",
		"an amount with a comma":             "reservation-amounts",
		"a line without a type":              "reservation-amounts",
		"a discount above zero":              "reservation-amounts",
		"a stamp that is no instant":         "reservation-form",
		"guests as a word":                   "reservation-form",
		"the newest first":                   "reservation-order",
		"a listing that is not given":        "reservation-listing",
		"lines that do not add up":           "reservation-total",
		"a payout that is the total":         "reservation-payout",
		"a payout without an amount":         "payout-form",
		"a payout that is off":               "payout-sum",
		"a canceled stay with all its lines": "reservation-canceled",
		"ids that change":                    "reservation-again lookup-known",
		"since that is ignored":              "reservation-since",
		"from without its night":             "reservation-bounds",
		"to without its day":                 "reservation-bounds",
		"a lookup that finds nothing":        "lookup-known",
		"a lookup that fails":                "lookup-known",
		"a lookup of other amounts":          "lookup-known",
		"an unknown id that fails":           "lookup-unknown",
		"an unknown id that is given":        "lookup-unknown",
		"messages that fail":                 "webhook-put",
		"a block that is there already":      "block-again",
		"a block of no listing":              "block-listing",
		"a block that is gone already":       "block-delete-again",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()

			report := run(t, &guide{fault: fault, blocks: map[string]bool{}}, check.Options{Write: true})
			if got := strings.Join(report.Wrong(), " "); got != want {
				t.Errorf("wrong are %q, want %q", got, want)
			}

			for _, r := range report.Results {
				if (r.Outcome == check.Wrong) != (len(r.Findings) > 0) || (r.Outcome == check.NotChecked) && r.Note == "" {
					t.Errorf("%+v", r)
				}

				for _, f := range r.Findings {
					if f.Request == "" || f.Fault == "" || strings.ContainsAny(f.String(), "\x1b\n") {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
}

// The faults of the sandbox are found as well: those of the transport, and those of pages.
func TestEachFaultOfTheSandboxIsReported(t *testing.T) {
	t.Parallel()

	for mode, want := range map[sandbox.Mode]string{
		sandbox.WrongType:   "content-type",
		sandbox.InvalidUTF8: "utf-8",
		sandbox.HugeBody:    "answer-size",
		sandbox.GzipBomb:    "answer-size",
		sandbox.Truncated:   "answers",
		sandbox.DropBefore:  "answers",
		sandbox.Redirect:    "no-redirect",
		sandbox.Page500:     "reservation-list",
		sandbox.Refused:     "token-accepted",
		sandbox.CursorLost:  "reservation-list",
		sandbox.Unreadable:  "reservation-needed",
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()

			s := fill(t)
			s.Break(sandbox.Fault{Mode: mode, On: sandbox.OnReservations})

			report := run(t, s, check.Options{})
			wrong := slices.DeleteFunc(report.Wrong(), func(id string) bool { return id == "token-refused" })

			if got := strings.Join(wrong, " "); got != want {
				t.Errorf("wrong are %q, want %q", got, want)
			}
		})
	}
}

// A server can leave things out, and lose a mark.
func TestWhatIsNotOffered(t *testing.T) {
	t.Parallel()

	for fault, want := range map[string]struct{ notOffered, notChecked string }{
		"no lookup":                {"lookup-known lookup-unknown", ""},
		"no messages":              {"webhook-put webhook-delete", ""},
		"no blocks":                {"block-put block-again block-listing block-delete block-delete-again", ""},
		"no mark":                  {"reservation-mark reservation-since", ""},
		"a mark that is forgotten": {"", "reservation-since"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()

			report := run(t, &guide{fault: fault, blocks: map[string]bool{}}, check.Options{Write: true})
			offered, checked := strings.Join(outcomes(report, check.NotOffered), " "), strings.Join(outcomes(report, check.NotChecked), " ")

			if len(report.Wrong()) != 0 || offered != want.notOffered || checked != want.notChecked {
				t.Errorf("wrong are %q, not offered %q, not checked %q", report.Wrong(), offered, checked)
			}
		})
	}
}

// What the row of a finding is and what it says of it can be found in the answer.
func TestAFindingNamesRequestRowFieldAndFault(t *testing.T) {
	t.Parallel()

	for fault, want := range map[string]string{
		"a line without a type":    "GET /reservations, row r2, lines.0.type: missing",
		"a discount above zero":    "GET /reservations, row r2, lines.1.amount: wrongSign",
		"a status of its own":      "GET /reservations, row r2, status: unknown",
		"no list":                  "GET /listings: it has no list",
		"complete as a text":       "GET /reservations, complete: it is not of the protocol",
		"to without its day":       "GET /reservations?from=2020-03-11&page=&to=2020-03-12, row r4: is missing, and was given before",
		"a lookup that fails":      "POST /reservations/lookup: status 500",
		"an id with a blank":       "GET /reservations: it has a row without an id",
		"lines that do not add up": "GET /reservations, row r2, total: differs from the lines by 1.00 usd",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()

			var got []string

			report := run(t, &guide{fault: fault, blocks: map[string]bool{}}, check.Options{})
			for _, r := range report.Results {
				for _, f := range r.Findings {
					got = append(got, f.String())
				}
			}

			if len(got) != 1 || got[0] != strings.Replace(want, "&page=", "", 1) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}

// A reading of a large system stops within bounds, and says so.
func TestAReadingIsBounded(t *testing.T) {
	t.Parallel()

	s := fill(t)
	report := run(t, s, check.Options{Pages: 2})

	if got := strings.Join(outcomes(report, check.NotChecked), " "); len(report.Wrong()) != 0 || !strings.HasPrefix(got, "reservation-pages reservation-canceled reservation-again reservation-bounds webhook-put") {
		t.Errorf("wrong are %q, not checked %q", report.Wrong(), got)
	}

	for _, r := range report.Results {
		if r.ID == "reservation-pages" && r.Note != "Stopped after 2 pages and 20 rows." {
			t.Errorf("%+v", r)
		}
	}

	// Four readings of two pages, of the listings one.
	if counts := s.Counts(); counts.Calls[sandbox.OnReservations] > 10 {
		t.Errorf("%v calls", counts.Calls)
	}
}

// Where nothing can be found out, that is said, and nothing is taken for right.
func TestServersThatCannotBeChecked(t *testing.T) {
	t.Parallel()

	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()

	report, err := check.Run(t.Context(), check.Options{BaseURL: closed.URL, Token: token, AllowPrivate: true})
	if err != nil || !slices.Equal(report.Wrong(), []string{"answers"}) || len(outcomes(report, check.OK)) != 0 {
		t.Errorf("nothing answers: %+v, %v", report, err)
	}

	server := httptest.NewServer(&guide{})
	t.Cleanup(server.Close)

	report, err = check.Run(t.Context(), check.Options{BaseURL: server.URL, Token: "another", AllowPrivate: true})
	if err != nil || !slices.Equal(report.Wrong(), []string{"token-accepted"}) || len(outcomes(report, check.OK)) != 0 {
		t.Errorf("another token: %+v, %v", report, err)
	}

	for field, o := range map[string]check.Options{"baseUrl": {BaseURL: server.URL, Token: token}, "token": {BaseURL: server.URL, AllowPrivate: true}} {
		_, err := check.Run(t.Context(), o)
		if e, is := errors.AsType[*pms.SettingsError](err); !is || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}

	stopped, stop := context.WithCancel(t.Context())
	stop()

	if _, err := check.Run(stopped, check.Options{BaseURL: server.URL, Token: token, AllowPrivate: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a check that was stopped: %v", err)
	}
}

// Reservations that change while they are read are no fault of the server.
func TestChangesDuringTheCheckAreNoFault(t *testing.T) {
	t.Parallel()

	s := fill(t)
	s.Break(sandbox.Fault{Mode: sandbox.Shift, On: sandbox.OnReservations, Times: 3})
	wantAll(t, run(t, s, check.Options{Write: true}))

	// One that is deleted between two readings is gone when it is looked up.
	s = fill(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reservations/lookup" {
			_ = s.DeleteReservation("res_1_0000030") // fails the second time
		}

		s.ServeHTTP(w, r)
	})
	wantAll(t, run(t, h, check.Options{Write: true}))
}

// A server that takes few calls at a time is asked again.
func TestTooManyCallsAreNoFault(t *testing.T) {
	t.Parallel()

	s := fill(t)
	after := 0
	s.Break(sandbox.Fault{Mode: sandbox.TooMany, RetryAfter: &after, Times: 3})
	wantAll(t, run(t, s, check.Options{Write: true}))
}

// The page has the rules of the table, in its words.
func TestThePageHasTheRules(t *testing.T) {
	t.Parallel()

	page, err := os.ReadFile("../../../../docs/guides/pms-protocol.md")
	if err != nil {
		t.Fatal(err)
	}

	var want strings.Builder
	for _, rule := range check.Rules {
		want.WriteString("| `" + rule.ID + "` | " + rule.Says + " |\n")
	}

	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/guides/pms-protocol.md lacks this table:\n%s", want.String())
	}
}

func TestAReportIsJSON(t *testing.T) {
	t.Parallel()

	content, err := json.Marshal(run(t, &guide{fault: "no list"}, check.Options{}))
	want := `{"id":"listing-list","says":"GET /listings has the list listings, with at most 1000 rows.","outcome":"wrong","count":1,` +
		`"findings":[{"request":"GET /listings","fault":"it has no list"}]}`

	if err != nil || !strings.Contains(string(content), want) {
		t.Errorf("%s, %v", content, err)
	}
}
