package outbound

import (
	"context"
	"errors"
	"strings"
)

// ErrTimeout says that an answer did not come in time.
var ErrTimeout = errors.New("no answer in time")

// Cause returns why a call had no answer: context.Canceled, ErrTimeout, ErrNotPublic, or nil for everything else. The
// error of the network names addresses, so it is not kept.
func Cause(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()):
		return ErrTimeout
	case errors.Is(err, ErrNotPublic):
		return ErrNotPublic
	default:
		return nil
	}
}

// Printable returns true for a text that is not empty, not longer than most bytes, and has only visible ASCII.
func Printable(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// IsCode returns true for a text that looks like a code of a provider and is not longer than most bytes. Codes are stored
// and shown, so no other text may get in as one.
func IsCode(s string, most int) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
	return s != "" && len(s) <= most && strings.Trim(s, letters) == ""
}
