package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// Response is an answer with the questions that tests ask of it.
type Response struct {
	t      testing.TB
	call   string
	Status int
	Header http.Header
	Body   []byte
	// Sent has the statements that the request sent to the database.
	Sent *Sent
}

// Want fails the test unless the status is the given one.
func (r *Response) Want(status int) *Response {
	r.t.Helper()

	if r.Status != status {
		r.t.Fatalf("%s answered %d, want %d: %s", r.call, r.Status, status, r.Body)
	}

	return r
}

// WantError fails the test unless the answer is the given code and reason; an empty reason means none.
func (r *Response) WantError(code apierr.Code, reason apierr.Reason) *Response {
	r.t.Helper()
	r.Want(code.Status())

	if got := r.String("code"); got != string(code) {
		r.t.Fatalf("%s: code %q, want %q: %s", r.call, got, code, r.Body)
	}

	got, _ := r.at("reason").(string)
	if got != string(reason) {
		r.t.Fatalf("%s: reason %q, want %q: %s", r.call, got, reason, r.Body)
	}

	return r
}

// WantIssue fails the test unless an issue has the given code and path (segments joined by dots).
func (r *Response) WantIssue(code, path string) *Response {
	r.t.Helper()

	issues, _ := r.at("issues").([]any)
	for _, i := range issues {
		issue, _ := i.(map[string]any)

		// The path is a list of names and indexes.
		segments, _ := issue["path"].([]any)

		parts := make([]string, len(segments))
		for n, s := range segments {
			parts[n] = text(s)
		}

		if issue["code"] == code && strings.Join(parts, ".") == path {
			return r
		}
	}

	r.t.Fatalf("%s: no issue %s at %s: %s", r.call, code, path, r.Body)

	return r
}

// WantFields compares fields of the object at a path, the whole body for "", with what they should be; others are not
// looked at. A wanted value is compared as text, so that numbers, ids and enumerations are written as in Go.
func (r *Response) WantFields(at string, want map[string]any) *Response {
	r.t.Helper()

	for name, value := range want {
		path := strings.TrimPrefix(at+"."+name, ".")
		if got := r.Value(path); fmt.Sprint(got) != fmt.Sprint(value) {
			r.t.Errorf("%s: %s is %v, want %v", r.call, path, got, value)
		}
	}

	return r
}

// Refuses returns a function that posts a body to a path and expects a refusal with 400, without a reason, for an
// issue with the code and path of WantIssue. The log of a failure says what is wrong with the body.
func (x *Team) Refuses(path string) func(what string, body any, code, issue string) {
	return func(what string, body any, code, issue string) {
		x.t.Helper()
		x.t.Log(what)
		x.Post(path, body).WantError(apierr.CodeBadRequest, "").WantIssue(code, issue)
	}
}

// Into decodes the body.
func (r *Response) Into(v any) *Response {
	r.t.Helper()

	if err := json.Unmarshal(r.Body, v); err != nil {
		r.t.Fatalf("%s: %v: %s", r.call, err, r.Body)
	}

	return r
}

// Value returns the value at a path such as "data.0.name". It fails the test if there is none.
func (r *Response) Value(path string) any {
	r.t.Helper()

	if !r.Has(path) {
		r.t.Fatalf("%s: nothing at %s: %s", r.call, path, r.Body)
	}

	return r.at(path)
}

// Has reports whether there is a value, null included, at a path.
func (r *Response) Has(path string) bool {
	_, ok := walk(r.tree(), strings.Split(path, "."))
	return ok
}

// String returns the text, number or boolean at a path.
func (r *Response) String(path string) string {
	r.t.Helper()
	return text(r.Value(path))
}

// Int returns the integer at a path.
func (r *Response) Int(path string) int64 {
	r.t.Helper()

	n, err := strconv.ParseInt(r.String(path), 10, 64)
	if err != nil {
		r.t.Fatalf("%s: %s is no integer: %s", r.call, path, r.Body)
	}

	return n
}

// ID returns the identifier at a path.
func (r *Response) ID(path string) id.ID {
	r.t.Helper()

	v, err := id.Parse(r.String(path))
	if err != nil {
		r.t.Fatalf("%s: %s is no id: %s", r.call, path, r.Body)
	}

	return v
}

// Len returns the length of the list at a path.
func (r *Response) Len(path string) int {
	r.t.Helper()

	list, ok := r.Value(path).([]any)
	if !ok {
		r.t.Fatalf("%s: %s is no list: %s", r.call, path, r.Body)
	}

	return len(list)
}

func (r *Response) at(path string) any {
	v, _ := walk(r.tree(), strings.Split(path, "."))
	return v
}

// tree decodes the body and keeps its numbers as they are written. It is nil for a body that is not JSON.
func (r *Response) tree() any {
	var tree any

	d := json.NewDecoder(strings.NewReader(string(r.Body)))
	d.UseNumber()

	if err := d.Decode(&tree); err != nil {
		return nil
	}

	return tree
}

// walk follows a path of names and indexes, and reports whether it leads anywhere.
func walk(v any, path []string) (any, bool) {
	for _, p := range path {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[p]
			if !ok {
				return nil, false
			}

			v = next
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}

			v = node[i]
		default:
			return nil, false
		}
	}

	return v, true
}

// text returns a value as the assertions compare it.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}

	// Objects and lists are compared as JSON.
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}

	return string(b)
}

// checkEnvelope checks that every error answer has the one envelope.
func (r *Response) checkEnvelope() {
	r.t.Helper()

	if r.Status < http.StatusBadRequest {
		return
	}

	fail := func(what string) { r.t.Errorf("%s: error envelope: %s: %d %s", r.call, what, r.Status, r.Body) }

	tree, ok := r.tree().(map[string]any)
	if !ok || r.Header.Get("Content-Type") != "application/json" {
		fail("not a JSON object")
		return
	}

	// The envelope is closed: clients know all of its fields.
	for name := range tree {
		switch name {
		case "code", "reason", "message", "issues", "context", "retryable", "links", "requestId", "docs":
		default:
			fail("unknown field " + name)
		}
	}

	// The code must belong to the status.
	status := r.Status
	if status == http.StatusPreconditionFailed || status == http.StatusRequestedRangeNotSatisfiable {
		status = http.StatusBadRequest // of downloads; HTTP has more statuses than the contract has codes
	}

	if code, _ := tree["code"].(string); apierr.Code(code).Status() != status {
		fail("code does not belong to the status")
	}

	if m, _ := tree["message"].(string); m == "" {
		fail("no message")
	}

	if tree["requestId"] != r.Header.Get("X-Request-Id") || r.Header.Get("X-Request-Id") == "" {
		fail("requestId is not that of the header")
	}

	if tree["reason"] == string(apierr.ReasonDuplicateUniqueRef) && r.ID("context.id").IsZero() {
		fail("does not say whose the reference is")
	}

	label := tree["reason"]
	if label == nil {
		label = tree["code"]
	}

	if docs, _ := tree["docs"].(string); !strings.HasSuffix(docs, fmt.Sprint("/docs/chapters/errors#", label)) {
		fail("docs is no link to the reason or code")
	}

	// Issues are always a list, each with the sentence of its code.
	issues, ok := tree["issues"].([]any)
	if !ok {
		fail("no issues")
	}

	for _, i := range issues {
		issue, _ := i.(map[string]any)
		if m, _ := issue["message"].(string); m == "" {
			fail("issue without a message")
		}

		if code, _ := issue["code"].(string); issue["message"] != apierr.IssueCode(code).Message() {
			fail("issue code " + code + " with another sentence than its own")
		}
	}

	// A lock has its kind and, next to it, its reason.
	if lock, ok := r.at("context.lockReason").(string); ok && (lock != "statement" && lock != "period" ||
		tree["reason"] == nil) {
		fail("not the kind of a lock, or a lock without a reason")
	}

	// Last, whether to try again, and the identifier for support.
	if retryable, ok := tree["retryable"]; ok && retryable != true {
		fail("retryable is true or absent")
	}

	if r.Header.Get("X-Request-Id") == "" {
		fail("no x-request-id")
	}
}
