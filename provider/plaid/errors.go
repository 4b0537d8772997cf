package plaid

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stayledger/platform/outbound"
)

// What a caller can do about a failure. Every Error is one of these for errors.Is.
var (
	// ErrCredentials: our own keys are refused; only the operator can help.
	ErrCredentials = errors.New("bank feed refuses our keys")
	// ErrLoginRequired: the item lives, and a person has to link it again (CreateLink with its access token).
	ErrLoginRequired = errors.New("bank feed needs its person to log in again")
	// ErrItemGone: the item will never answer again; only a new one can follow it.
	ErrItemGone = errors.New("bank feed does not have the item any more")
	// ErrLinkSpent: the link token or public token is unknown, used or too old; a new link is needed.
	ErrLinkSpent = errors.New("bank feed does not take the link any more")
	// ErrNotReady: there will be an answer later; a webhook says when.
	ErrNotReady = errors.New("bank feed is not ready yet")
	// ErrMoved: the rows changed while they were being paged through, so the pages read so far do not belong together.
	ErrMoved = errors.New("bank feed changed while it was read")
	// ErrLimited: too many calls; Error.Until says until when.
	ErrLimited = errors.New("bank feed takes no more calls for now")
	// ErrRefused: the request is refused for another reason, and will be again.
	ErrRefused = errors.New("bank feed refused the request")
	// ErrUnavailable: the request may or may not have been carried out. It may help to ask again.
	ErrUnavailable = errors.New("bank feed is unavailable")
	// ErrInstitution is ErrUnavailable because of the bank; Client.Institution says more.
	ErrInstitution = fmt.Errorf("%w: the bank does not answer it", ErrUnavailable)
	// ErrTimeout: no answer came in time; the request may or may not have been carried out.
	ErrTimeout = errors.New("bank feed did not answer in time")
)

// Error is a failure of the vendor or of the network; in the second case only Kind is set. Its text has only the kind,
// the code and the request's id, and nothing else of the request or the answer, so it can be logged.
type Error struct {
	Kind error // one of the sentinels
	// Type and Code are the vendor's, such as ITEM_ERROR and ITEM_LOGIN_REQUIRED: letters, digits and underscores.
	Type string
	Code string
	// Message is for developers and can name things; Display is meant for people and often empty. At most 500
	// characters each.
	Message string
	Display string
	// RequestID is the identifier that the vendor's support asks for.
	RequestID string
	// Until is when calls are taken again, of an ErrLimited.
	Until time.Time
}

// Error returns the text for logs: kind, code and request.
func (e *Error) Error() string {
	text := e.Kind.Error()
	if e.Code != "" {
		text += ": " + e.Code
	}

	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}

	return text
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

type wireError struct {
	Type      string `json:"error_type"`
	Code      string `json:"error_code"`
	Message   string `json:"error_message"`
	Display   string `json:"display_message"`
	RequestID string `json:"request_id"`
}

// limitPause is how long calls rest after the vendor refused one as too many and did not say for how long: its limits
// are per minute.
const limitPause = time.Minute

// failure returns the error that an unsuccessful answer means.
func failure(r *http.Response, content []byte) error {
	var w wireError
	if err := json.Unmarshal(content, &w); err != nil || w.Type == "" || w.Code == "" {
		return statusError(r)
	}

	e := w.error()
	if errors.Is(e, ErrLimited) {
		e.Until = retryAfter(r.Header)
	}

	return e
}

// statusError returns the error for a failure that is not of the protocol, such as a proxy's page: it decides nothing
// about items.
func statusError(r *http.Response) error {
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &Error{Kind: ErrCredentials}
	case http.StatusTooManyRequests:
		return &Error{Kind: ErrLimited, Until: retryAfter(r.Header)}
	default:
		return &Error{Kind: fmt.Errorf("%w: status %d", ErrUnavailable, r.StatusCode)}
	}
}

// error returns the vendor's failure, with the kind that follows from its type and code.
func (w wireError) error() *Error {
	e := &Error{
		Type:      tidyCode(w.Type),
		Code:      tidyCode(w.Code),
		Message:   text(w.Message, maxText),
		Display:   text(w.Display, maxText),
		RequestID: tidyID(w.RequestID),
	}
	e.Kind = classify(e.Type, e.Code)

	return e
}

// retryAfter returns when calls are accepted again: after the time that the answer names, if it is at most an
// hour, or else after limitPause.
func retryAfter(h http.Header) time.Time {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 3600 {
		return time.Now().Add(limitPause)
	}

	return time.Now().Add(time.Duration(seconds) * time.Second)
}

// kindByCode returns the kind of the codes that decide by themselves; nil for the others, which go by their type.
func kindByCode(code string) error {
	switch code {
	case "INVALID_API_KEYS", "UNAUTHORIZED_ENVIRONMENT", "UNAUTHORIZED_ROUTE_ACCESS":
		return ErrCredentials
	case "ITEM_NOT_FOUND", "ITEM_CONCURRENTLY_DELETED", "ITEM_NOT_SUPPORTED", "INVALID_ACCESS_TOKEN",
		"USER_ACCOUNT_REVOKED", "NO_ACCOUNTS", "INSTITUTION_NO_LONGER_SUPPORTED":
		// Both the item and its bank can be gone for good; an item without accounts has nothing to read.
		return ErrItemGone
	case "INVALID_LINK_TOKEN", "INVALID_PUBLIC_TOKEN":
		return ErrLinkSpent
	case "PRODUCT_NOT_READY":
		return ErrNotReady
	case "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION":
		return ErrMoved
	case "ITEM_LOGIN_REQUIRED", "INVALID_CREDENTIALS", "INSUFFICIENT_CREDENTIALS", "INVALID_MFA",
		"INVALID_UPDATED_USERNAME", "ITEM_LOCKED", "ACCESS_NOT_GRANTED", "USER_PERMISSION_REVOKED",
		"PASSWORD_RESET_REQUIRED", "USER_SETUP_REQUIRED", "USER_INPUT_TIMEOUT", "ADDITIONAL_CONSENT_REQUIRED",
		"MANUAL_VERIFICATION_REQUIRED", "PENDING_EXPIRATION", "PENDING_DISCONNECT":
		// In all these cases the item lives, and the person can help it.
		return ErrLoginRequired
	}

	return nil
}

// refusals are the types of errors that say that the request itself is at fault.
var refusals = []string{"INVALID_REQUEST", "INVALID_INPUT", "INVALID_RESULT", "ITEM_ERROR", "TRANSACTIONS_ERROR"}

// classify returns the kind of a failure in the words of the protocol. Types that are not known are ErrUnavailable:
// the call will be tried again, and nothing is given up because of it.
func classify(errorType, code string) error {
	switch kind := kindByCode(code); {
	case kind != nil:
		return kind
	case errorType == "RATE_LIMIT_EXCEEDED":
		return ErrLimited
	case errorType == "INSTITUTION_ERROR":
		return ErrInstitution
	case slices.Contains(refusals, errorType):
		return ErrRefused
	default:
		return ErrUnavailable
	}
}

// networkError returns the error that a missing answer means: ErrTimeout, or ErrUnavailable with its cause.
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

// badAnswer returns the error for an answer that is not of the protocol.
func badAnswer(problem string) error {
	return &Error{Kind: fmt.Errorf("%w: its answer %s", ErrUnavailable, problem)}
}

const (
	maxToken = 500 // characters of a token, key or identifier
	maxText  = 500 // characters of a text that is kept
	maxCode  = 100
)

// tidyCode returns a code if it looks like a code, or else "UNSPECIFIED".
func tidyCode(code string) string {
	if !outbound.IsCode(code, maxCode) {
		return "UNSPECIFIED"
	}

	return code
}

// tidyID returns an identifier, or "" if it cannot be one.
func tidyID(id string) string {
	if !outbound.Printable(id, maxCode) {
		return ""
	}

	return id
}

// text returns a text without control characters, cut to most characters.
func text(s string, most int) string {
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == 0x2028 || r == 0x2029 {
			return ' '
		}

		return r
	}, s))

	// Cut by characters and not by bytes, so that none is cut in the middle.
	count := 0
	for at := range clean {
		if count == most {
			return clean[:at]
		}

		count++
	}

	return clean
}
