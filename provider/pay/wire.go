package pay

import (
	"encoding/json"

	"stayledger/platform/day"
	"stayledger/platform/money"
	"stayledger/platform/outbound"
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

// undecided has the codes (the empty one first) that do not say that this payment was refused for good.
var undecided = []string{"", codeUnknown, "keyConflict", "notReady"}

const (
	maxRef  = 200
	maxCode = 40
)

// outcome checks the answer of a provider about a payment, and returns it. It fails with ErrUnavailable if the
// answer cannot have been meant, so that nothing of it is kept.
func (w wirePayment) outcome() (Outcome, error) {
	if !outbound.Printable(w.ID, maxRef) || !outbound.Printable(w.Key, maxRef) {
		return Outcome{}, ErrUnavailable
	}

	// A state that the protocol does not have decides nothing about the money.
	switch w.State {
	case Submitted, Paid, Failed, Canceled, Returned:
	default:
		return Outcome{}, ErrUnavailable
	}

	return Outcome{Key: w.Key, Ref: w.ID, State: w.State, Code: tidyCode(w.Code)}, nil
}

// outcome returns the state of a key under which the provider has payments: that of a payment that may still move
// money, if there is one. It fails with ErrUnavailable if one of the payments is of another key or cannot have been
// meant.
func (w wirePayments) outcome(key string) (Outcome, error) {
	if len(w.Payments) == 0 {
		return Outcome{}, ErrUnavailable // the protocol says that a payment is unknown, and never leaves it out
	}

	var best Outcome

	for i, p := range w.Payments {
		o, err := p.outcome()
		if err != nil || o.Key != key {
			return Outcome{}, ErrUnavailable
		}

		// A payment that ended moves no money, so one that did not end decides.
		if i == 0 || (isFinal(best.State) && !isFinal(o.State)) {
			best = o
		}
	}

	best.Duplicate = len(w.Payments) > 1

	return best, nil
}

// isFinal reports whether a payment in this state holds no money of ours.
func isFinal(s State) bool { return s == Failed || s == Canceled || s == Returned }

// tidyCode returns a code of a provider if it looks like a code, or else "unspecified".
func tidyCode(code string) string {
	if code != "" && !outbound.IsCode(code, maxCode) {
		return "unspecified"
	}

	return code
}

// decodeSettings decodes settings or credentials; what names them in the error. Unknown fields are ignored, because
// a connection can have more than a provider reads. It fails with a SettingsError.
func decodeSettings(raw json.RawMessage, into any, what string) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}

	if err := json.Unmarshal(raw, into); err != nil {
		return &SettingsError{Field: what, Problem: "are not an object of the known fields"}
	}

	return nil
}
