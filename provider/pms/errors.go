package pms

import (
	"errors"
	"fmt"
	"time"

	"stayledger/platform/outbound"
)

// What a caller can do about a failure. Every Error is one of these for errors.Is.
var (
	// ErrCredentials: the credentials are refused; a person has to give others.
	ErrCredentials = errors.New("the system refuses the credentials")
	// ErrLimited: too many calls; Error.Until says until when.
	ErrLimited = errors.New("the system takes no more calls for now")
	// ErrRefused: the request is refused for another reason, and will be again.
	ErrRefused = errors.New("the system refused the request")
	// ErrNotOffered: the system does not have the request.
	ErrNotOffered = fmt.Errorf("%w: it does not have it", ErrRefused)
	// ErrCursor: the page or the mark is not known any more, so that the reading has to begin anew.
	ErrCursor = errors.New("the system does not know the page any more")
	// ErrUnavailable: it may help to ask again.
	ErrUnavailable = errors.New("the system is unavailable")
	// ErrAnswer: an answer breaks the protocol. It may help to ask again, once or twice.
	ErrAnswer = fmt.Errorf("%w: its answer is not of the protocol", ErrUnavailable)
	// ErrEndless: it has more than is read.
	ErrEndless = fmt.Errorf("the system: %w", outbound.ErrEndless)
	// ErrTimeout: no answer came in time.
	ErrTimeout = fmt.Errorf("%w: it did not answer in time", ErrUnavailable)
)

// The faults of an answer that breaks the protocol. Each is an Error and wraps ErrAnswer.
var (
	ErrTooLarge = BadAnswer("is too large")
	ErrNotJSON  = BadAnswer("is not JSON")
	ErrNotUTF8  = BadAnswer("is not UTF-8")
	ErrShape    = BadAnswer("is not of the protocol")
)

// Error is a failure of a system or of the network. Its text has nothing of the request or the answer, so it can be
// logged.
type Error struct {
	Kind error // one of the sentinels, or an error that wraps one
	// Until is when an ErrLimited ends.
	Until time.Time
	// Status is the HTTP status if it made the call fail; 0 otherwise.
	Status int
}

// Error returns the text of the kind.
func (e *Error) Error() string { return e.Kind.Error() }

// RetryAt returns when an ErrLimited ends; zero for other errors.
func (e *Error) RetryAt() time.Time { return e.Until }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// SettingsError says which setting or credential a client cannot use, and why; both texts can be shown.
type SettingsError struct{ Field, Problem string }

// Error returns the field and the problem.
func (e *SettingsError) Error() string { return e.Field + " " + e.Problem }

// BadAnswer returns the error for an answer that is not of the protocol.
func BadAnswer(problem string) error {
	return &Error{Kind: fmt.Errorf("%w: it %s", ErrAnswer, problem)}
}

// networkError returns the error that a missing answer means.
func networkError(err error) error {
	switch cause := outbound.Cause(err); {
	case cause == nil:
		return &Error{Kind: ErrUnavailable}
	case errors.Is(cause, outbound.ErrTimeout):
		return &Error{Kind: ErrTimeout}
	default:
		return &Error{Kind: fmt.Errorf("%w: %w", ErrUnavailable, cause)}
	}
}
