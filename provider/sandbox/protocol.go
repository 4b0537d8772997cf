package sandbox

import (
	"crypto/subtle"
	"fmt"
	"net/http"

	"stayledger/provider/pay"
	"stayledger/provider/sandbox/stage"
)

const maxBody = 64 << 10

// routes adds the calls of the protocol, and those that control the sandbox.
func (s *Server) routes() {
	s.handle("GET /v1/status", Status, s.status)
	s.handle("POST /v1/account-verifications", Verify, s.verifyAccount)
	s.handle("POST /v1/payments", Submit, s.submitPayment)
	s.handle("GET /v1/payments", Find, s.findPayments)
	s.handle("POST /v1/payments/{id}/cancel", Cancel, s.cancelPayment)
	s.control()
}

// ServeHTTP serves the protocol, and under /control the calls that control the sandbox. All of them ask for the
// key.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+s.config.APIKey)) != 1 {
		stage.Refuse(w, http.StatusUnauthorized, "credentials")
		return
	}

	s.mux.ServeHTTP(w, r)
}

// exchange is a request with the fault that it meets.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	fault Fault
	key   string
}

// reply is an answer: a status with a body, or with the code of a failure.
type reply struct {
	status int
	body   any
	code   string
}

// handle adds a route. Its requests first meet the faults before the effect, then have their effect, and then meet the
// faults after it.
func (s *Server) handle(pattern string, on On, effect func(*exchange) reply) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: w, r: r, fault: s.faults.Take(on), key: r.Header.Get("Idempotency-Key")}

		// Searches have no idempotency key; the key that they ask about is in the address.
		if on == Find {
			x.key = r.URL.Query().Get("key")
		}
		// All of the request is read first: what follows can outlast its sender.
		if err := x.bufferBody(); err != nil {
			stage.Refuse(w, http.StatusBadRequest, "malformed")
			return
		}

		// From here on a test can see the request, and wait for it.
		s.log.Reach(Received, on, x.key)

		// These faults come before the effect: nothing is recorded, or not yet.
		switch x.fault.Mode {
		case DropBefore:
			s.drop(on, x.key)
		case Unavailable:
			stage.Refuse(w, http.StatusServiceUnavailable, "unavailable")
			s.log.Reach(Answered, on, x.key)

			return
		case Credentials:
			stage.Refuse(w, http.StatusUnauthorized, "credentials")
			s.log.Reach(Answered, on, x.key)

			return
		case DelayBefore:
			s.hold(x.fault, HeldBefore, x.key)
		case DelayAfter, DropAfter, Fail, PayTwice, IgnoreKeys, Garbage, "":
		}

		s.answer(x, on, effect(x))
	})
}

// answer writes the reply, after the faults that come behind the effect.
func (s *Server) answer(x *exchange, on On, out reply) {
	// The effect has happened; what goes wrong now leaves the caller in doubt about it.
	s.log.Reach(Recorded, on, x.key)

	switch x.fault.Mode {
	case DropAfter:
		s.drop(on, x.key)
	case DelayAfter:
		s.hold(x.fault, HeldAfter, x.key)
	case Garbage:
		out = reply{status: http.StatusOK, body: []string{"<html>"}}
	case DelayBefore, DropBefore, Fail, Unavailable, PayTwice, IgnoreKeys, Credentials, "":
	}

	// Tests that wait for Answering see every request that gets an answer, whatever it says.
	s.log.Reach(Answering, on, x.key)

	if out.code != "" {
		stage.Refuse(x.w, out.status, out.code)
	} else {
		stage.Write(x.w, out.status, out.body)
	}

	s.log.Reach(Answered, on, x.key)
}

// drop ends the connection without an answer.
func (s *Server) drop(on On, key string) {
	s.log.Reach(Dropped, on, key)
	panic(http.ErrAbortHandler)
}

// status answers that the sandbox takes payments.
func (s *Server) status(*exchange) reply {
	return reply{status: http.StatusOK, body: map[string]string{"status": "ready"}}
}

// verifyAccount answers whether money can reach an account. It looks only at the form of the account, unless a fault
// says that it is rejected.
func (s *Server) verifyAccount(x *exchange) reply {
	var in struct {
		Account pay.Account `json:"account"`
	}
	if err := x.read(&in); err != nil {
		return malformed
	}

	if x.fault.Mode == Fail || !pay.ValidRouting(in.Account.Routing) || in.Account.Number == "" {
		return reply{status: http.StatusOK, body: map[string]string{"result": string(pay.Rejected)}}
	}

	return reply{status: http.StatusOK, body: map[string]string{"result": string(pay.Verified)}}
}

var malformed = reply{status: http.StatusBadRequest, code: "malformed"}

// submitPayment records a payment, or answers with the one that is recorded under the same key.
func (s *Server) submitPayment(x *exchange) reply {
	var in struct {
		Amount    int64       `json:"amount"`
		Currency  string      `json:"currency"`
		Date      string      `json:"date"`
		Memo      string      `json:"memo"`
		Recipient pay.Account `json:"recipient"`
	}
	if err := x.read(&in); err != nil || x.key == "" {
		return malformed
	}

	// The form of the payment counts more than a refusal that a test has asked for.
	code := x.fault.refusal()
	if in.Amount <= 0 || in.Currency == "" || in.Recipient.Number == "" || !pay.ValidRouting(in.Recipient.Routing) {
		code = "invalidPayment"
	}

	// A refused key stays refused, and a key with a payment is not refused afterwards: then code is empty, and the
	// request goes on as a repetition.
	if code != "" {
		if code = s.noteRefusal(x.key, code); code != "" {
			return reply{status: http.StatusUnprocessableEntity, code: code}
		}
	}

	// Of the account number only the last digits are kept; print shows whether a repetition asks for the same
	// payment.
	number := in.Recipient.Number

	p, code := s.recordPayment(Payment{
		Key:      x.key,
		Amount:   in.Amount,
		Currency: in.Currency,
		Date:     in.Date,
		Memo:     in.Memo,
		Holder:   in.Recipient.Holder,
		Last4:    number[max(0, len(number)-4):],
		print:    fmt.Sprint(in.Amount, in.Currency, in.Recipient),
	}, x.fault.Mode == PayTwice, x.fault.Mode == IgnoreKeys)

	// Repetitions get the state that the payment has now.
	switch code {
	case "":
		return reply{status: http.StatusCreated, body: s.copyPayments(func(v *Payment) bool { return v.ID == p.ID })[0]}
	case "keyConflict":
		return reply{status: http.StatusConflict, code: code}
	default:
		return reply{status: http.StatusUnprocessableEntity, code: code}
	}
}

// refusal returns the code that the fault refuses a request with, or "" if it refuses none.
func (f Fault) refusal() string {
	if f.Mode != Fail {
		return ""
	}

	if f.Code == "" {
		return "refused"
	}

	return f.Code
}

// findPayments answers with the payments of a key, or with 404.
func (s *Server) findPayments(x *exchange) reply {
	found := s.copyPayments(func(p *Payment) bool { return p.Key == x.key })
	if len(found) == 0 {
		return reply{status: http.StatusNotFound, code: "paymentUnknown"}
	}

	return reply{status: http.StatusOK, body: map[string]any{"payments": found}}
}

// cancelPayment takes back a payment that has not settled, and answers with its state. A payment that has settled keeps
// its state.
func (s *Server) cancelPayment(x *exchange) reply {
	id := x.r.PathValue("id")
	if code := x.fault.refusal(); code != "" {
		return reply{status: http.StatusConflict, code: code}
	}

	// Only submitted payments change, so that a cancellation that comes too late shows the state paid.
	s.mu.Lock()

	var canceled *Payment

	for _, p := range s.payments {
		if p.ID == id && p.State == pay.Submitted {
			p.State = pay.Canceled
			canceled = p
		}
	}
	s.mu.Unlock()

	// The callback goes out after the lock is released, because announce takes it.
	if canceled != nil {
		s.announce(canceled)
	}

	found := s.copyPayments(func(p *Payment) bool { return p.ID == id })
	if len(found) == 0 {
		return reply{status: http.StatusNotFound, code: "paymentUnknown"}
	}

	return reply{status: http.StatusOK, body: found[0]}
}
