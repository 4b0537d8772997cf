package pay

import (
	"encoding/json"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// What crosses the network; docs/guides/payment-provider.md describes it.
type (
	wireOrder struct {
		Amount    money.Cents `json:"amount"`
		Currency  string      `json:"currency"`
		Date      day.Day     `json:"date"`
		Memo      string      `json:"memo,omitempty"`
		Recipient Account     `json:"recipient"`
	}
	wirePayment struct {
		ID    string `json:"id"`
		Key   string `json:"key"`
		State State  `json:"state"`
		Code  string `json:"code"`
	}
	wirePayments struct {
		Payments []wirePayment `json:"payments"`
	}
	wireVerification struct {
		Account Account `json:"account"`
	}
	wireVerified struct {
		Result Verification `json:"result"`
	}
	wireStatus struct {
		Status string `json:"status"`
	}
	wireError struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
)

// codeUnknown is the code of a payment that the provider has never seen.
const codeUnknown = "paymentUnknown"

// undecided are the codes (none at all first) that do not say that this payment was refused for good.
var undecided = []string{"", codeUnknown, "keyConflict", "notReady"}

const (
	maxRef  = 200
	maxCode = 40
)

// outcome checks what a provider says of a payment: nothing of it is kept that could not have been meant.
func (w wirePayment) outcome() (Outcome, error) {
	if !printable(w.ID, maxRef) || !printable(w.Key, maxRef) {
		return Outcome{}, ErrUnavailable
	}

	switch w.State {
	case Submitted, Paid, Failed, Canceled, Returned:
	default:
		return Outcome{}, ErrUnavailable
	}

	return Outcome{Key: w.Key, Ref: w.ID, State: w.State, Code: tidyCode(w.Code)}, nil
}

// outcomes gives the state of a key that the provider holds payments under: that of a payment that lives, when one
// does.
func (w wirePayments) outcome(key string) (Outcome, error) {
	if len(w.Payments) == 0 {
		return Outcome{}, ErrUnavailable // a payment that is unknown is said to be, and never left out
	}

	var best Outcome

	for i, p := range w.Payments {
		o, err := p.outcome()
		if err != nil || o.Key != key {
			return Outcome{}, ErrUnavailable
		}

		if i == 0 || (ended(best.State) && !ended(o.State)) {
			best = o
		}
	}

	best.Duplicate = len(w.Payments) > 1

	return best, nil
}

// ended reports whether a payment in this state holds no money of ours.
func ended(s State) bool { return s == Failed || s == Canceled || s == Returned }

func printable(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tidyCode keeps a code of a provider when it looks like one: codes are stored, so a body must not get in by this way.
func tidyCode(code string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || ('0' <= r && r <= '9') || ('A' <= r && r <= 'Z') || ('a' <= r && r <= 'z')
	}
	if len(code) > maxCode || strings.ContainsFunc(code, func(r rune) bool { return !plain(r) }) {
		return "unspecified"
	}

	return code
}

// decodeSettings reads settings or credentials. Fields of others are left alone: a connection can hold more than a
// provider reads.
func decodeSettings(raw json.RawMessage, into any, what string) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}

	if err := json.Unmarshal(raw, into); err != nil {
		return &SettingsError{Field: what, Problem: "are not an object of the known fields"}
	}

	return nil
}
