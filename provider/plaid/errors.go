package plaid

import (
	"context"
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
	// ErrNotReady: there will be an answer later; a webhook tells when.
	ErrNotReady = errors.New("bank feed is not ready yet")
	// ErrMoved: what was being paged through has changed, so the pages read so far do not belong together.
	ErrMoved = errors.New("bank feed changed while it was read")
	// ErrLimited: too many calls; Error.Until says until when.
	ErrLimited = errors.New("bank feed takes no more calls for now")
	// ErrRefused: the request is refused for another reason, and will be again.
	ErrRefused = errors.New("bank feed refused the request")
	// ErrUnavailable: nothing is known of what became of the request. It may help to ask again.
	ErrUnavailable = errors.New("bank feed is unavailable")
	// ErrInstitution is ErrUnavailable for the reason of the bank; Institution tells more.
	ErrInstitution = fmt.Errorf("%w: the bank does not answer it", ErrUnavailable)
	// ErrTimeout: no answer came in time, and nothing is known of what became of the request.
	ErrTimeout = errors.New("bank feed did not answer in time")
)

// Error is a failure as the vendor words it, or as the network does; then only Kind is set. Its own text tells neither
// what was sent nor what was answered, but for the code and the request's id, so it can be logged.
type Error struct {
	Kind error // one of the sentinels
	// Type and Code are the vendor's, such as ITEM_ERROR and ITEM_LOGIN_REQUIRED: letters, digits and underscores.
	Type string
	Code string
	// Message is for developers and can name things; Display is meant for people and often empty. At most 500
	// characters each.
	Message string
	Display string
	// RequestID is what the vendor's support asks for.
	RequestID string
	// Until is when calls are taken again, of an ErrLimited.
	Until time.Time
}

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

// Unwrap makes it its kind.
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

// failure is what an answer that is no success means.
func failure(r *http.Response, content []byte) error {
	var w wireError
	if err := json.Unmarshal(content, &w); err != nil || w.Type == "" || w.Code == "" {
		return unworded(r)
	}

	e := w.error()
	if errors.Is(e, ErrLimited) {
		e.Until = limitedUntil(r.Header)
	}

	return e
}

// unworded is a failure that is not of the protocol, as a proxy's page: it decides nothing about items.
func unworded(r *http.Response) error {
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &Error{Kind: ErrCredentials}
	case http.StatusTooManyRequests:
		return &Error{Kind: ErrLimited, Until: limitedUntil(r.Header)}
	default:
		return &Error{Kind: fmt.Errorf("%w: status %d", ErrUnavailable, r.StatusCode)}
	}
}

func (w wireError) error() *Error {
	e := &Error{
		Type: tidyCode(w.Type), Code: tidyCode(w.Code), Message: text(w.Message, maxText), Display: text(w.Display, maxText), RequestID: tidyID(w.RequestID),
	}
	e.Kind = kindOf(e.Type, e.Code)

	return e
}

func limitedUntil(h http.Header) time.Time {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 3600 {
		return time.Now().Add(limitPause)
	}

	return time.Now().Add(time.Duration(seconds) * time.Second)
}

// kindByCode knows the codes that decide by themselves; nil for the others, which go by their type.
func kindByCode(code string) error {
	switch code {
	case "INVALID_API_KEYS", "UNAUTHORIZED_ENVIRONMENT", "UNAUTHORIZED_ROUTE_ACCESS":
		return ErrCredentials
	case "ITEM_NOT_FOUND", "ITEM_CONCURRENTLY_DELETED", "ITEM_NOT_SUPPORTED", "INVALID_ACCESS_TOKEN", "USER_ACCOUNT_REVOKED", "NO_ACCOUNTS",
		"INSTITUTION_NO_LONGER_SUPPORTED":
		return ErrItemGone
	case "INVALID_LINK_TOKEN", "INVALID_PUBLIC_TOKEN":
		return ErrLinkSpent
	case "PRODUCT_NOT_READY":
		return ErrNotReady
	case "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION":
		return ErrMoved
	case "ITEM_LOGIN_REQUIRED", "INVALID_CREDENTIALS", "INSUFFICIENT_CREDENTIALS", "INVALID_MFA", "INVALID_UPDATED_USERNAME", "ITEM_LOCKED",
		"ACCESS_NOT_GRANTED", "USER_PERMISSION_REVOKED", "PASSWORD_RESET_REQUIRED", "USER_SETUP_REQUIRED", "USER_INPUT_TIMEOUT",
		"ADDITIONAL_CONSENT_REQUIRED", "MANUAL_VERIFICATION_REQUIRED", "PENDING_EXPIRATION", "PENDING_DISCONNECT":
		return ErrLoginRequired
	}

	return nil
}

// refusals are the types of errors that say that the request itself is at fault.
var refusals = []string{"INVALID_REQUEST", "INVALID_INPUT", "INVALID_RESULT", "ITEM_ERROR", "TRANSACTIONS_ERROR"}

// kindOf decides what a worded failure means. What is not known is unavailable: it will be tried again, and nothing is
// given up for it.
func kindOf(errorType, code string) error {
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

// cut is what it means that no answer came: a timeout, or a connection that failed. The error of the network names
// addresses; it is not kept.
func cut(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Kind: fmt.Errorf("%w: %w", ErrUnavailable, context.Canceled)}
	case errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()):
		return &Error{Kind: ErrTimeout}
	case errors.Is(err, outbound.ErrNotPublic):
		return &Error{Kind: fmt.Errorf("%w: %w", ErrUnavailable, outbound.ErrNotPublic)}
	default:
		return &Error{Kind: ErrUnavailable}
	}
}

// nonsense is an answer that is not of the protocol.
func nonsense(problem string) error {
	return &Error{Kind: fmt.Errorf("%w: its answer %s", ErrUnavailable, problem)}
}

const (
	maxToken = 500 // characters of a token, key or identifier
	maxText  = 500 // characters of a text that is kept
	maxCode  = 100
)

func printable(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tidyCode keeps a code when it looks like one: codes are stored and shown, so a body must not get in by this way.
func tidyCode(code string) string {
	plain := func(r rune) bool {
		return r == '_' || ('0' <= r && r <= '9') || ('A' <= r && r <= 'Z') || ('a' <= r && r <= 'z')
	}
	if code == "" || len(code) > maxCode || strings.ContainsFunc(code, func(r rune) bool { return !plain(r) }) {
		return "UNSPECIFIED"
	}

	return code
}

func tidyID(id string) string {
	if !printable(id, maxCode) {
		return ""
	}

	return id
}

// text is what can be kept of a text: without control characters, and not longer than so many characters.
func text(s string, most int) string {
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == 0x2028 || r == 0x2029 {
			return ' '
		}

		return r
	}, s))

	count := 0
	for at := range clean {
		if count == most {
			return clean[:at]
		}

		count++
	}

	return clean
}
