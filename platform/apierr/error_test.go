package apierr_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"stayledger/platform/apierr"
)

var (
	booksClosed = apierr.New(apierr.CodeForbidden, apierr.ReasonBooksClosed, "The books of this date are closed")
	// Twin differs from booksClosed in its text alone and is another condition all the same.
	twin = apierr.New(apierr.CodeForbidden, apierr.ReasonBooksClosed, "The books of this period are closed")
	gone = apierr.New(apierr.CodeGone, "", "Resource is gone")
)

func render(t *testing.T, e *apierr.Error) string {
	t.Helper()

	text, err := json.Marshal(e.Body("r1", "https://ledger.test"))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func TestCopiesAreTheirCondition(t *testing.T) {
	t.Parallel()

	issue := apierr.Issue{Message: "Too early"}
	for name, e := range map[string]*apierr.Error{
		"itself":   booksClosed,
		"with":     booksClosed.With(map[string]any{"lockReason": "period"}),
		"at":       booksClosed.At(issue),
		"links":    booksClosed.WithLinks(apierr.Links{Docs: "/docs", Schema: "/openapi.yaml"}),
		"retry":    booksClosed.RetryAfter(time.Second),
		"because":  booksClosed.Because(io.EOF),
		"all":      booksClosed.With(struct{ A int }{1}).At(issue).RetryAfter(time.Second).Because(io.EOF).At(issue),
		"explicit": booksClosed.Because(booksClosed),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			wrapped := fmt.Errorf("posting: %w", e)
			if !errors.Is(wrapped, booksClosed) || !errors.Is(booksClosed, e) {
				t.Error("is not its condition")
			}

			if errors.Is(wrapped, twin) || errors.Is(wrapped, gone) {
				t.Error("is another condition")
			}

			if apierr.From(wrapped) != e {
				t.Error("is not found in the chain")
			}

			if e.Code() != booksClosed.Code() || e.Reason() != booksClosed.Reason() || e.Message() != booksClosed.Message() {
				t.Errorf("got %v", e)
			}
		})
	}
}

func TestCopiesLeaveTheConditionAlone(t *testing.T) {
	t.Parallel()

	issue := apierr.Issue{Message: "Too early", Path: []any{"data", 1, "date"}}
	first := gone.At(issue)
	second, third := first.At(issue), first.At(apierr.Issue{Message: "Too late"})

	_ = gone.With(map[string]any{"a": 1}).RetryAfter(time.Second).WithLinks(apierr.Links{Docs: "d", Schema: "s"}).Because(io.EOF)
	if got := render(t, gone); got != `{"code":"GONE","message":"Resource is gone","issues":[],"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#GONE"}` || errors.Is(gone, io.EOF) {
		t.Errorf("the condition became %s", got)
	}

	if len(first.Issues()) != 1 || second.Issues()[1].Message != "Too early" || third.Issues()[1].Message != "Too late" {
		t.Errorf("got %v, %v, %v", first.Issues(), second.Issues(), third.Issues())
	}

	first.Issues()[0].Message, first.Body("", "").Issues[0].Message = "changed", "changed"
	if first.Issues()[0].Message != "Too early" {
		t.Error("the issues are open to their readers")
	}
}

// Proves: ERR-02, ERR-07, ERR-13, ERR-14.
func TestBody(t *testing.T) {
	t.Parallel()

	const plain = `{"code":"FORBIDDEN","reason":"booksClosed","message":"The books of this date are closed","issues":[],"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#booksClosed"}`

	var noMap map[string]any
	for name, test := range map[string]struct {
		e    *apierr.Error
		want string
	}{
		"a code without a reason": {gone, `{"code":"GONE","message":"Resource is gone","issues":[],"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#GONE"}`},
		"a code with a reason":    {booksClosed, plain},
		"nil context":             {booksClosed.With(nil), plain},
		"nil map":                 {booksClosed.With(noMap), plain},
		"empty map":               {booksClosed.With(map[string]string{}), plain},
		"nil pointer":             {booksClosed.With((*apierr.Links)(nil)), plain},
		"context taken back":      {booksClosed.With(map[string]any{"a": 1}).With(nil), plain},
		"private cause":           {booksClosed.Because(io.ErrUnexpectedEOF), plain},
		"context": {
			gone.With(map[string]any{"booksClosedAt": "2024-02-01"}),
			`{"code":"GONE","message":"Resource is gone","issues":[],"context":{"booksClosedAt":"2024-02-01"},"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#GONE"}`,
		},
		"retryable": {
			gone.RetryAfter(0),
			`{"code":"GONE","message":"Resource is gone","issues":[],"retryable":true,"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#GONE"}`,
		},
		"issues": {
			gone.At(apierr.Issue{Message: "M"}, apierr.Issue{Message: "N", Path: []any{"data", 0}, Code: "c", Schema: "#/s"}),
			`{"code":"GONE","message":"Resource is gone","issues":[{"message":"M"},` +
				`{"message":"N","path":["data",0],"code":"c","schema":"#/s"}],"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#GONE"}`,
		},
		"links": {
			gone.WithLinks(apierr.Links{Docs: "/docs", Schema: "/openapi.yaml"}),
			`{"code":"GONE","message":"Resource is gone","issues":[],"links":{"docs":"/docs","schema":"/openapi.yaml"},"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#GONE"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := render(t, test.e); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()

	e := booksClosed.With(7).RetryAfter(3 * time.Second)
	if e.Context() != 7 || !e.Retryable() || e.Delay() != 3*time.Second || e.Issues() == nil {
		t.Errorf("got %v, %t, %v, %v", e.Context(), e.Retryable(), e.Delay(), e.Issues())
	}

	if booksClosed.Context() != nil || booksClosed.Retryable() || booksClosed.Delay() != 0 {
		t.Error("a condition carries what a copy adds")
	}
}

func TestTheCauseIsForLogs(t *testing.T) {
	t.Parallel()

	e := gone.Because(fmt.Errorf("row marker-7: %w", io.ErrUnexpectedEOF))
	if !errors.Is(e, io.ErrUnexpectedEOF) || !strings.Contains(e.Error(), "marker-7") {
		t.Errorf("the log has %v", e)
	}

	if strings.Contains(render(t, e), "marker-7") || strings.Contains(e.Message(), "marker-7") {
		t.Errorf("the response has %s", render(t, e))
	}

	if got, want := booksClosed.Error(), "FORBIDDEN (booksClosed): The books of this date are closed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()

	if got := apierr.From(nil); got != nil {
		t.Errorf("nil: got %v", got)
	}

	foreign := apierr.From(fmt.Errorf("reading: %w", io.ErrUnexpectedEOF))
	if !errors.Is(foreign, apierr.Internal) || !errors.Is(foreign, io.ErrUnexpectedEOF) {
		t.Errorf("a foreign error: got %v", foreign)
	}

	if got := render(t, foreign); got != `{"code":"INTERNAL_SERVER_ERROR","message":"Internal server error","issues":[],"requestId":"r1","docs":"https://ledger.test/docs/chapters/errors#INTERNAL_SERVER_ERROR"}` {
		t.Errorf("a foreign error: got %s", got)
	}

	outer := gone.Because(booksClosed)
	if got := apierr.From(errors.Join(io.EOF, outer)); got != outer {
		t.Errorf("two conditions: got %v", got)
	}

	var none *apierr.Error
	if got := apierr.From(none); !errors.Is(got, apierr.Internal) || got.Error() == "" {
		t.Errorf("a nil *Error: got %v", got)
	}
}
