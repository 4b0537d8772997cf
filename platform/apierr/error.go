// Package apierr is the registry of all failures of requests: codes, reasons, conditions and the envelope they are
// rendered in.
//
// A condition is a package-level value made once by New, with a text that never changes. Functions return it, or a copy
// that carries what this request needs to know; errors.Is matches a copy with its condition. Whatever is no *Error is
// shown as a static 500 and its text stays in the log.
package apierr

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Error is a condition of the contract, or a copy of one. It is immutable and safe for concurrent use.
type Error struct {
	code      Code
	reason    Reason
	message   string
	issues    []Issue
	context   any
	links     *Links
	retryable bool
	delay     time.Duration
	cause     error
	// condition is the value that New made; it is nil in that value itself.
	condition *Error
}

// errNil replaces a nil *Error in a non-nil error, which has no text of its own to log.
var errNil = errors.New("apierr: a nil *Error was returned as an error")

var registry struct {
	sync.Mutex
	conditions []*Error
}

// New declares a condition; call it in a package-level var only, once per condition. Reason is empty when no business
// rule is named. Message is shown as it is and never holds a value of the request.
//
// New panics, and so the program does not start, on a code or reason the contract does not have, an empty message, and
// a message with a percent sign, which would be a format. Rules ERR-02, ERR-08.
func New(code Code, reason Reason, message string) *Error {
	// Refuse what the contract does not have when the program starts, not when a request fails for the first time.
	if _, known := statusOf[code]; !known {
		panic("apierr: unknown code " + string(code))
	}

	if reason != "" && !slices.Contains(reasons, reason) {
		panic("apierr: unknown reason " + string(reason))
	}

	// A percent sign is a format, and a format would put values of the request into the text.
	if message == "" || strings.Contains(message, "%") {
		panic("apierr: the message of " + string(code) + " is empty or a format: " + message)
	}

	e := &Error{code: code, reason: reason, message: message}

	registry.Lock()
	defer registry.Unlock()

	registry.conditions = append(registry.conditions, e)

	return e
}

// All lists every condition as New made it, in the order of declaration; what a copy adds is not in it.
func All() []*Error {
	registry.Lock()
	defer registry.Unlock()

	return slices.Clone(registry.conditions)
}

// From returns the outermost *Error in the chain of err. Without one it returns Internal with err as its cause.
// From(nil) returns nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}

	// A nil *Error in a non-nil error is a defect: it has no code to answer with, so it counts as Internal.
	var e *Error
	switch found := errors.As(err, &e); {
	case found && e != nil:
		return e
	case found:
		return Internal.Because(errNil)
	default:
		return Internal.Because(err)
	}
}

// IsRefusal reports whether err is a condition of the contract, and no defect or outage.
func IsRefusal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.code.Status() < http.StatusInternalServerError
}

func (e *Error) clone() *Error {
	// A copy of a copy names the first condition too, so that Is compares two pointers.
	copied := *e
	copied.condition = e.root()

	return &copied
}

func (e *Error) root() *Error {
	if e.condition != nil {
		return e.condition
	}

	return e
}

// With returns a copy with typed recovery information: a struct or a map that is rendered as the object context.
// Nil, a nil pointer and an empty map count as none (ERR-12, ERR-13).
func (e *Error) With(context any) *Error {
	copied := e.clone()

	// In an interface a nil pointer is not nil: it would be rendered as null, where the contract leaves context out.
	copied.context = context
	switch value := reflect.ValueOf(context); {
	case !value.IsValid():
	case value.Kind() == reflect.Pointer && value.IsNil():
		copied.context = nil
	case value.Kind() == reflect.Map && value.Len() == 0:
		copied.context = nil
	}

	return copied
}

// At returns a copy with further issues after those it has.
func (e *Error) At(issues ...Issue) *Error {
	copied := e.clone()
	// Clip the list, because two copies of the same error may append to it at the same time.
	copied.issues = append(slices.Clip(e.issues), issues...)

	return copied
}

// Under returns a copy with the path put before the paths of its issues: those of an object that is a field or an
// item of the body.
func (e *Error) Under(path ...any) *Error {
	copied := e.clone()

	// Clone before the paths change: the receiver may be shared by other requests.
	copied.issues = slices.Clone(e.issues)
	for i := range copied.issues {
		copied.issues[i].Path = slices.Concat(path, copied.issues[i].Path)
	}

	return copied
}

// WithLinks returns a copy that leads to the reference; for strict query-validation errors only (ERR-16).
func (e *Error) WithLinks(links Links) *Error {
	copied := e.clone()
	copied.links = &links

	return copied
}

// RetryAfter returns a copy that says that the same idempotent operation can safely be sent again after the delay
// (ERR-14, ERR-15).
func (e *Error) RetryAfter(delay time.Duration) *Error {
	copied := e.clone()
	copied.retryable, copied.delay = true, delay

	return copied
}

// Because returns a copy with a private cause for the log and for errors.Is and errors.As. The cause is never
// rendered.
func (e *Error) Because(err error) *Error {
	copied := e.clone()
	copied.cause = err

	return copied
}

// Error returns the text for logs, with the private cause. Responses use Body.
func (e *Error) Error() string {
	text := string(e.code)
	if e.reason != "" {
		text += " (" + string(e.reason) + ")"
	}

	text += ": " + e.message
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}

	return text
}

// Is reports whether target is the same condition, whatever either copy carries.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other != nil && e.root() == other.root()
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Code returns the class of the error.
func (e *Error) Code() Code { return e.code }

// Reason returns the business rule, or "".
func (e *Error) Reason() Reason { return e.reason }

// Message returns the static text.
func (e *Error) Message() string { return e.message }

// Issues returns the findings, never nil.
func (e *Error) Issues() []Issue { return append([]Issue{}, e.issues...) }

// Context returns the recovery information, or nil.
func (e *Error) Context() any { return e.context }

// Retryable reports whether the same idempotent operation is safe to retry.
func (e *Error) Retryable() bool { return e.retryable }

// Delay returns how long to wait before a retry, for the header Retry-After, or 0 if unknown.
func (e *Error) Delay() time.Duration { return e.delay }

// Body is the JSON form of every failure. Rule ERR-01.
type Body struct {
	Code    Code    `json:"code"`
	Reason  Reason  `json:"reason,omitempty"`
	Message string  `json:"message"`
	Issues  []Issue `json:"issues"`
	Context any     `json:"context,omitempty"`
	// Retryable is true or absent, never false.
	Retryable bool   `json:"retryable,omitempty"`
	Links     *Links `json:"links,omitempty"`
	// RequestID names the request in the log, as the header X-Request-Id does.
	RequestID string `json:"requestId" doc:"Names the request, as the header X-Request-Id does."`
	// Docs is the address of the text about the reason, or about the code when there is none.
	Docs string `json:"docs" doc:"The address of the text about the reason, or about the code when there is none."`
}

// Body returns the error as the answer of a request shows it, with a link below the service's own address. Issues is
// never nil: it is rendered as an array even if there are none.
func (e *Error) Body(requestID, publicURL string) Body {
	// The text about a failure is on the page about all of them, at its reason or code.
	return Body{
		Code: e.code, Reason: e.reason, Message: e.message, Issues: e.Issues(),
		Context: e.context, Retryable: e.retryable, Links: e.links,
		RequestID: requestID, Docs: publicURL + "/docs/chapters/errors#" + e.Label(),
	}
}

// Label returns the reason, or the code of an error without one.
func (e *Error) Label() string { return cmp.Or(string(e.reason), string(e.code)) }
