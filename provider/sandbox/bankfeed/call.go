package bankfeed

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"stayledger/provider/sandbox/stage"
)

const maxBody = 1 << 20

// Failure is an answer that says what is wrong with a call.
type Failure struct {
	Status  int    `json:"status,omitempty"` // 400 when 0
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	Display string `json:"display,omitempty"`
}

// wire returns the failure as the protocol words it.
func (f *Failure) wire(requestID string) map[string]any {
	return map[string]any{
		"error_type":      f.Type,
		"error_code":      f.Code,
		"error_message":   f.Message,
		"display_message": nullIfEmpty(f.Display),
		"request_id":      requestID,
	}
}

// The failures that the sandbox answers with by itself; faults can answer with any other.
var (
	badKeys = &Failure{
		Type:    "INVALID_INPUT",
		Code:    "INVALID_API_KEYS",
		Message: "invalid client_id or secret provided",
	}
	badBody = &Failure{
		Type:    "INVALID_REQUEST",
		Code:    "INVALID_BODY",
		Message: "body could not be parsed as JSON",
	}
	badField = &Failure{
		Type:    "INVALID_REQUEST",
		Code:    "INVALID_FIELD",
		Message: "a field is missing or out of range",
	}
	badAccess = &Failure{
		Type:    "INVALID_INPUT",
		Code:    "INVALID_ACCESS_TOKEN",
		Message: "could not find matching access token",
	}
	badPublic = &Failure{
		Type:    "INVALID_INPUT",
		Code:    "INVALID_PUBLIC_TOKEN",
		Message: "provided public token is invalid, used or expired",
	}
	badLink = &Failure{
		Type:    "INVALID_INPUT",
		Code:    "INVALID_LINK_TOKEN",
		Message: "provided link token is invalid or expired",
	}
	badInstitution = &Failure{
		Type:    "INVALID_INPUT",
		Code:    "INVALID_INSTITUTION",
		Message: "invalid institution_id provided",
	}
	badKey   = &Failure{Type: "INVALID_INPUT", Code: "INVALID_WEBHOOK_VERIFICATION_KEY_ID", Message: "unknown key_id"}
	itemGone = &Failure{Type: "ITEM_ERROR", Code: "ITEM_NOT_FOUND", Message: "the item was removed"}
	moved    = &Failure{
		Type:    "TRANSACTIONS_ERROR",
		Code:    "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION",
		Message: "the data changed; start again from the first cursor",
	}
	bankDown = &Failure{
		Type:    "INSTITUTION_ERROR",
		Code:    "INSTITUTION_DOWN",
		Message: "the institution does not answer",
		Display: "This bank is not available at present.",
	}
	bankGone = &Failure{
		Type:    "INSTITUTION_ERROR",
		Code:    "INSTITUTION_NO_LONGER_SUPPORTED",
		Message: "the institution is no longer supported",
	}
	loginRequired = &Failure{
		Type:    "ITEM_ERROR",
		Code:    "ITEM_LOGIN_REQUIRED",
		Message: "the login details of this item have changed",
		Display: "Please log in at your bank again.",
	}
	internal = &Failure{
		Status:  http.StatusInternalServerError,
		Type:    "API_ERROR",
		Code:    "INTERNAL_SERVER_ERROR",
		Message: "an unexpected error occurred",
	}
	tooMany = &Failure{
		Status:  http.StatusTooManyRequests,
		Type:    "RATE_LIMIT_EXCEEDED",
		Code:    "RATE_LIMIT",
		Message: "rate limit exceeded",
	}
)

// exchange is a call with the fault that it meets.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	on    On
	body  []byte
	fault Fault
	key   string // the item's, once it is known
}

// ServeHTTP serves the protocol, the pages of links, and under /control the calls that control the sandbox.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// routes adds the calls of the protocol and the pages of links.
func (s *Server) routes() {
	s.handle("/link/token/create", s.createLink)
	s.handle("/link/token/get", s.getLink)
	s.handle("/item/public_token/exchange", s.exchangeToken)
	s.handle("/item/get", s.getItem)
	s.handle("/item/remove", s.removeItem)
	s.handle("/item/webhook/update", s.updateWebhook)
	s.handle("/accounts/get", s.getAccounts)
	s.handle("/transactions/sync", s.syncTransactions)
	s.handle("/transactions/refresh", s.refresh)
	s.handle("/institutions/get_by_id", s.getInstitution)
	s.handle("/webhook_verification_key/get", s.getKey)

	// The vendor's sandbox has these calls too; its production has not.
	s.handle("/sandbox/public_token/create", s.sandboxToken)
	s.handle("/sandbox/item/fire_webhook", s.sandboxFire)
	s.handle("/sandbox/item/reset_login", s.sandboxReset)
	s.handle("/sandbox/transactions/create", s.sandboxTransactions)

	// People open these pages in a browser, without keys.
	s.mux.HandleFunc("GET /link/{token}", s.showLink)
	s.mux.HandleFunc("POST /link/{token}", s.submitLink)
}

// handle adds a call that passes the points in order: first every fault that comes before the effect, then the
// effect, then every fault after it.
func (s *Server) handle(path string, effect func(*exchange) (map[string]any, *Failure)) {
	on := On(path)
	s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: w, r: r, on: on}

		var err error
		// All of the request is read first: what follows can outlast its sender.
		if x.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			s.fail(x, badBody)
			return
		}

		// Counts include calls with bad keys and calls that meet a fault.
		s.mu.Lock()
		s.calls[on]++
		s.mu.Unlock()

		if !s.admits(x) {
			s.fail(x, badKeys)
			return
		}

		// A fault is used up only by calls with good keys.
		x.fault = s.faults.Take(on, "")
		s.log.Reach(stage.Received, on, x.key)

		// These faults answer without the effect.
		if s.answerFault(x) {
			s.log.Reach(stage.Answered, on, x.key)
			return
		}

		// Tests that wait for Recorded know that the effect has happened, even if no answer follows.
		answer, failure := effect(x)
		s.log.Reach(stage.Recorded, on, x.key)
		s.answer(x, answer, failure)
	})
}

// admits reports whether a call presents our keys, which are in its headers or in its body.
func (s *Server) admits(x *exchange) bool {
	var in struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"secret"`
	}

	_ = json.Unmarshal(x.body, &in) // A body that is none has no keys.
	if in.Secret == "" {
		in.ClientID, in.Secret = x.r.Header.Get("Plaid-Client-Id"), x.r.Header.Get("Plaid-Secret")
	}

	return subtle.ConstantTimeCompare(
		[]byte(in.ClientID+"\n"+in.Secret),
		[]byte(s.config.ClientID+"\n"+s.config.Secret),
	) == 1
}

// read decodes a call. It returns false if that fails.
func (x *exchange) read(into any) bool {
	d := json.NewDecoder(bytes.NewReader(x.body))
	return d.Decode(into) == nil
}

// fail answers with a failure.
func (s *Server) fail(x *exchange, f *Failure) {
	status := f.Status
	if status == 0 {
		status = http.StatusBadRequest
	}

	stage.Write(x.w, status, f.wire(randomID("req")))
}

// answer writes the answer or the failure, after the faults that come behind the effect.
func (s *Server) answer(x *exchange, answer map[string]any, failure *Failure) {
	s.breakAfter(x)
	s.log.Reach(stage.Answering, x.on, x.key)

	switch {
	case failure != nil:
		s.fail(x, failure)
	default:
		answer["request_id"] = randomID("req")
		s.writeAnswer(x, answer)
	}

	s.log.Reach(stage.Answered, x.on, x.key)
}

// usable returns the item of an access token, or the failure that says why it cannot be read. The caller has the
// lock. With despiteProblem it returns items with a problem too: for calls that repair or remove them.
func (s *Server) usable(x *exchange, access string, despiteProblem bool) (*item, *Failure) {
	i := find(s.items, func(i *item) bool { return i.access != "" && i.access == access })
	if i == nil {
		return nil, badAccess
	}

	// From here on the events of the call name the item.
	x.key = i.id

	// A removed item stays gone for every call. Then comes the problem of the item, and last that of its bank.
	bank := s.institution(i.bank)
	switch {
	case i.removed:
		return nil, itemGone
	case despiteProblem:
	case i.problem != nil:
		return nil, i.problem
	case bank != nil && bank.Unsupported:
		return nil, bankGone
	case bank != nil && bank.Down:
		return nil, bankDown
	}

	return i, nil
}

var errNoChoice = errors.New("bank-feed sandbox: nothing can be linked there now")

// hasAll reports whether a list of products has only products of the sandbox, and at least one.
func hasAll(products []string) bool {
	return len(products) > 0 && !slices.ContainsFunc(products, func(p string) bool { return p != "transactions" })
}
