package hostaway

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"stayledger/provider/sandbox/stage"
)

// attempts is how often a message is sent at most.
const attempts = 4

// Hook is where messages go, and the name and password that they come with.
type Hook struct {
	ID        int    `json:"id"`
	IsEnabled int    `json:"isEnabled"`
	URL       string `json:"url"`
	Login     string `json:"login"`
	Password  string `json:"password"`
}

// Message is a message as it went out.
type Message struct {
	Event string `json:"event"`
	URL   string `json:"url"`
	// ReservationID names the changed reservation.
	ReservationID string `json:"reservationId"`
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

// Hooks returns where messages go.
func (s *Server) Hooks() []Hook {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]Hook{}, s.hooks...)
}

// getHooks answers with where messages go.
func (s *Server) getHooks(*exchange) (Object, *Failure) { return success(s.Hooks()), nil }

// addHook has messages sent to one more address.
func (s *Server) addHook(x *exchange) (Object, *Failure) {
	var in Hook
	if !x.read(&in) || in.URL == "" {
		return nil, badRequest
	}

	return success(s.AddHook(in)), nil
}

// AddHook has messages sent to one more address, and returns it with its id.
func (s *Server) AddHook(h Hook) Hook {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.lastID++
	h.ID = s.lastID
	s.hooks = append(s.hooks, h)

	return h
}

// deleteHook ends the messages to an address.
func (s *Server) deleteHook(x *exchange) (Object, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := slices.IndexFunc(s.hooks, func(h Hook) bool { return strconv.Itoa(h.ID) == x.r.PathValue("id") })
	if at < 0 {
		return nil, unknown
	}

	s.hooks = slices.Delete(s.hooks, at, at+1)

	return success([]Object{}), nil
}

// announce sends messages about a change, unless the sandbox is silent.
func (s *Server) announce(event, id string) {
	s.mu.Lock()
	silent := value(s.settings.Silent)
	s.mu.Unlock()

	if !silent {
		s.fireMessage(event, id)
	}
}

// fireMessage sends a message about a reservation in the background, to everybody who has asked for messages, and
// repeats it a few times if it is not accepted. It returns false if no message goes out.
func (s *Server) fireMessage(event, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := s.byID[id]
	if r == nil || s.ctx.Err() != nil {
		return false
	}

	// The resources come later in places, as the description says, so they are not in a message.
	data := maps.Clone(r.object)
	delete(data, "financeField")

	body, err := json.Marshal(Object{
		"object": "reservation", "event": event, "accountId": s.config.AccountID,
		"data": data,
	})
	if err != nil {
		return false
	}

	sent := false

	for _, to := range s.hooks {
		if to.IsEnabled == 0 {
			continue
		}

		// A fault is for one message with all its repetitions.
		fault := s.faults.Take(OnMessage).Mode
		at := len(s.messages)
		s.messages = append(s.messages, Message{Event: event, URL: to.URL, ReservationID: id})
		sent = true

		if fault != Lost {
			s.background.Go(func() { s.deliver(letter{to, body, fault}, at) })
		}
	}

	return sent
}

// letter is a message to one address.
type letter struct {
	to    Hook
	body  []byte
	fault Mode
}

// deliver sends a message until it is accepted.
func (s *Server) deliver(l letter, at int) {
	wait := s.config.MessageEvery
	for range attempts {
		status := s.post(l, at)
		if l.fault == Twice {
			status = s.post(l, at)
		}

		// Most refusals are final.
		final := status >= 400 && status < 500 && status != http.StatusTooManyRequests
		if final || (status >= 200 && status < 300) {
			s.log.Reach(stage.CalledBack, OnMessage, strconv.Itoa(at))
			return
		}

		if !s.log.Pause(wait) {
			return
		}

		wait *= 2
	}
}

// post sends a message once, records the status of the answer, and returns it: 0 if no answer came.
func (s *Server) post(l letter, at int) int {
	// The lock is not held while the receiver answers: it may call the sandbox meanwhile.
	status := s.send(l)

	s.mu.Lock()
	defer s.mu.Unlock()

	s.messages[at].Status = status
	s.messages[at].Sent++

	return status
}

// send posts a message and returns the status of the answer, or 0 if none came.
func (s *Server) send(l letter) int {
	// The server's context, not a request's: Close ends the attempt.
	ctx, stop := context.WithTimeout(s.ctx, 10*time.Second)
	defer stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to.URL, bytes.NewReader(l.body))
	if err != nil {
		return 0
	}

	req.Header.Set("Content-Type", "application/json")

	switch l.fault { //nolint:exhaustive // The other modes are not of the password.
	case Unsigned:
	case Forged:
		req.SetBasicAuth(l.to.Login, "the password of somebody else")
	default:
		req.SetBasicAuth(l.to.Login, l.to.Password)
	}

	reply, err := s.client.Do(req)
	if err != nil {
		return 0
	}

	_ = reply.Body.Close()

	return reply.StatusCode
}
