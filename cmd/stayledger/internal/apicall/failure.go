package apicall

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// FailureError is an answer of status 400 and above.
type FailureError struct {
	Status    int             `json:"-"`
	Code      string          `json:"code"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Issues    []issue         `json:"issues"`
	Context   json.RawMessage `json:"context"`
	RequestID string          `json:"requestId"`
	Docs      string          `json:"docs"`

	retryAfter int    // seconds until a GET can be repeated, or 0
	hint       string // what the caller can do about it, or ""
}

// issue is a fault at a place of the request.
type issue struct {
	Message string `json:"message"`
	Path    []any  `json:"path"`
	Code    string `json:"code"`
}

// maxFailure is how much of a failure is read, in bytes.
const maxFailure = 1 << 20

// readFailure reads the failure in an answer and closes it. An answer that is not of the service has only its beginning
// as a message.
func readFailure(request *http.Request, answer *http.Response) *FailureError {
	defer answer.Body.Close() //nolint:errcheck // nothing was written

	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxFailure)) // what arrived says more than that something is missing

	f := &FailureError{}
	if json.Unmarshal(text, f) != nil || f.Code == "" {
		f = &FailureError{Message: cmp.Or(strings.TrimSpace(string(text[:min(len(text), 200)])), http.StatusText(answer.StatusCode))}
	}

	f.Status, f.retryAfter = answer.StatusCode, retrySeconds(answer)

	if f.Status == http.StatusUnauthorized && request.Header.Get("X-Api-Key") == "" && request.Header.Get("Authorization") == "" {
		f.hint = "no credential was sent: set STAYLEDGER_API_KEY or STAYLEDGER_TOKEN"
	}

	return f
}

// Error returns the failure in lines: what it is, then each fault with its place, then what helps to look further.
func (f *FailureError) Error() string {
	var b strings.Builder

	_, _ = fmt.Fprintf(&b, "%s (%s)", f.Message, strings.TrimSpace(fmt.Sprint(f.Status, " ", f.Code)))

	for _, i := range f.Issues {
		at := make([]string, len(i.Path))
		for n, step := range i.Path {
			at[n] = fmt.Sprint(step)
		}

		_, _ = fmt.Fprintf(&b, "\n  %s: %s (%s)", cmp.Or(strings.Join(at, "."), "the request"), i.Message, i.Code)
	}

	for _, line := range []struct{ name, value string }{
		{"reason", f.Reason},
		{"context", string(f.Context)},
		{"hint", f.hint},
		{"request", f.RequestID},
		{"docs", f.Docs},
	} {
		if line.value != "" {
			_, _ = fmt.Fprintf(&b, "\n  %-8s %s", line.name, line.value)
		}
	}

	return b.String()
}

// OperationError is an operation that failed.
type OperationError struct {
	ID, Type      string
	Code, Message string // both empty if the operation names no failure
}

// Error returns the failure in one line.
func (f *OperationError) Error() string {
	return fmt.Sprintf("the operation %s (%s) failed: %s", f.ID, f.Type,
		strings.TrimSpace(fmt.Sprintf("%s %s", cmp.Or(f.Message, "it names no reason"), paren(f.Code))))
}

// paren returns a text in parentheses, or "".
func paren(text string) string {
	if text == "" {
		return ""
	}

	return "(" + text + ")"
}
