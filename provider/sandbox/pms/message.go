package pms

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stayledger/provider/sandbox/stage"
)

// attempts is how many times a message is sent at most.
const attempts = 8

// Subscription is where messages go, and what they are signed with.
type Subscription struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// Hint is the content of a message: the records that have changed.
type Hint struct {
	ReservationIDs []string `json:"reservationIds"`
	Listings       bool     `json:"listings"`
	Revoked        bool     `json:"revoked"`
}

// Message is a message as it went out.
type Message struct {
	ID   string `json:"id"`
	URL  string `json:"url"`
	Hint Hint   `json:"hint"`
	// Status is that of the last answer; 0 if none came.
	Status int `json:"status"`
	Sent   int `json:"sent"` // how often
}

// Messages returns the messages that went out, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]Message{}, s.messages...)
}

// Subscription returns where messages go; it is empty if nothing is subscribed.
func (s *Server) Subscription() Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.subscribed
}

// subscribe has messages sent to an address.
func (s *Server) subscribe(x *exchange) (answer, *Failure) {
	var in Subscription
	if !x.read(&in) || in.URL == "" || in.Secret == "" {
		return nil, badRequest
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.subscribed = in

	return answer{"url": in.URL}, nil
}

// unsubscribe ends the messages.
func (s *Server) unsubscribe(*exchange) (answer, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.subscribed.URL == "" {
		return nil, unknown
	}

	s.subscribed = Subscription{}

	return answer{"url": nil}, nil
}

// announce sends a message about a change, unless the sandbox is silent.
func (s *Server) announce(h Hint) {
	s.mu.Lock()
	silent := isSet(s.settings.Silent)
	s.mu.Unlock()

	if !silent {
		s.Fire(h)
	}
}

// Fire sends a message in the background and repeats it until it is accepted. It returns false if nothing is
// subscribed.
func (s *Server) Fire(h Hint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.subscribed.URL == "" || s.ctx.Err() != nil {
		return false
	}

	if h.ReservationIDs == nil {
		h.ReservationIDs = []string{}
	}

	// The message is recorded before it is sent; each attempt updates it.
	to, at := s.subscribed, len(s.messages)
	s.messages = append(s.messages, Message{ID: randomID("msg_"), URL: to.URL, Hint: h})

	// A fault is for one message with all its repetitions.
	fault := s.faults.Take(OnMessage)
	send := func() { s.background.Go(func() { s.deliver(to, at, fault.Mode) }) }

	switch fault.Mode { //nolint:exhaustive // The other modes change what is sent.
	case Lost:
	case OutOfOrder:
		s.held = append(s.held, send)
	default:
		// Those that were held go after this one.
		held := s.held
		s.held = nil

		s.background.Go(func() {
			s.deliver(to, at, fault.Mode)

			for _, send := range held {
				send()
			}
		})
	}

	return true
}

// deliver sends a message until it is accepted.
func (s *Server) deliver(to Subscription, at int, fault Mode) {
	// The pauses double, so that a receiver that restarts is not flooded.
	wait := s.config.MessageEvery
	for range attempts {
		status := s.post(to, at, fault)
		if fault == Twice {
			status = s.post(to, at, fault)
		}

		if status >= 200 && status < 300 {
			s.log.Reach(stage.CalledBack, OnMessage, s.Messages()[at].ID)
			return
		}

		if !s.log.Pause(wait) {
			return
		}

		wait *= 2
	}
}

// post sends a message once, signed anew, records the status of the answer, and returns it: 0 if no answer came.
func (s *Server) post(to Subscription, at int, fault Mode) int {
	s.mu.Lock()
	m, now := s.messages[at], s.now()
	s.mu.Unlock()

	// The lock is not held while the receiver answers: it may call the sandbox meanwhile.
	status := s.send(to, sign(to, &m, now, fault))

	s.mu.Lock()
	defer s.mu.Unlock()

	s.messages[at].Status = status
	s.messages[at].Sent++

	return status
}

// letter is a message with its headers.
type letter struct {
	body    []byte
	headers map[string]string
}

// sign returns a message, signed as Standard Webhooks are, or with the flaw of the fault.
func sign(to Subscription, m *Message, at time.Time, fault Mode) letter {
	body, _ := json.Marshal(m.Hint) //nolint:errchkjson // Texts and truths always marshal.

	// Twice as old as receivers accept.
	if fault == Old {
		at = at.Add(-10 * time.Minute)
	}

	// A secret is base64 behind whsec_, or its own bytes.
	key := []byte(to.Secret)
	if encoded, is := strings.CutPrefix(to.Secret, "whsec_"); is {
		key, _ = base64.StdEncoding.DecodeString(encoded) // The receiver refuses what is signed with a part of it.
	}

	if fault == Forged {
		key = []byte("a secret of somebody else")
	}

	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(m.ID + "." + stamp + "." + string(body))) // never fails

	out := letter{body, map[string]string{
		"webhook-id":        m.ID,
		"webhook-timestamp": stamp,
		"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}}

	switch fault { //nolint:exhaustive // The other modes are not of the signature.
	case Unsigned:
		delete(out.headers, "webhook-signature")
	case Tampered:
		out.body = append(bytes.TrimSuffix(body, []byte("}")), []byte(`,"tampered":true}`)...)
	}

	return out
}

// send posts a message to an address and returns the status of the answer, or 0 if none came.
func (s *Server) send(to Subscription, l letter) int {
	// The server's context, not a request's: Close ends the attempt.
	ctx, stop := context.WithTimeout(s.ctx, 10*time.Second)
	defer stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(l.body))
	if err != nil {
		return 0
	}

	req.Header.Set("Content-Type", "application/json")

	for name, value := range l.headers {
		req.Header.Set(name, value)
	}

	reply, err := s.client.Do(req)
	if err != nil {
		return 0
	}

	_ = reply.Body.Close()

	return reply.StatusCode
}
