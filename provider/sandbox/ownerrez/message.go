package ownerrez

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"stayledger/provider/sandbox/stage"
)

// attempts is how often a message is sent at most.
const attempts = 4

// Hook is where messages go, and the name and password that they come with. Apps of the system have one.
type Hook struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
}

// Message is a message as it went out.
type Message struct {
	Action string `json:"action"`
	URL    string `json:"url"`
	// EntityType and EntityID name the changed record.
	EntityType string `json:"entityType"`
	EntityID   string `json:"entityId"`
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

// AddHook has messages sent to one more address.
func (s *Server) AddHook(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.hooks = append(s.hooks, h)
}

// announce sends messages about a change of a booking, unless the sandbox is silent.
func (s *Server) announce(action, id string) {
	s.mu.Lock()
	silent := value(s.settings.Silent)
	s.mu.Unlock()

	if !silent {
		s.Fire(action, "booking", id)
	}
}

// Fire sends a message in the background to everybody who has asked for messages, and repeats it a few times if it is
// not accepted. The entity can be of any type, and there can be none, as for access that is taken back. It returns
// false if no message goes out.
func (s *Server) Fire(action, entityType, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.ctx.Err() != nil {
		return false
	}

	s.lastID++
	message := Object{"id": s.lastID, "user_id": number(s.config.AccountID), "action": action, "categories": []string{}}

	if entityType != "" {
		message["entity_type"], message["entity_id"] = entityType, number(id)

		if r := s.byID[id]; r != nil && entityType == "booking" {
			message["entity"] = r.object
		}
	}

	body, err := json.Marshal(message)
	if err != nil {
		return false
	}

	for _, to := range s.hooks {
		// A fault is for one message with all its repetitions.
		fault := s.faults.Take(OnMessage).Mode
		at := len(s.messages)
		s.messages = append(s.messages, Message{Action: action, URL: to.URL, EntityType: entityType, EntityID: id})

		if fault != Lost {
			s.background.Go(func() { s.deliver(letter{to, body, fault}, at) })
		}
	}

	return len(s.hooks) > 0
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
		req.SetBasicAuth(l.to.User, "the password of somebody else")
	default:
		req.SetBasicAuth(l.to.User, l.to.Password)
	}

	reply, err := s.client.Do(req)
	if err != nil {
		return 0
	}

	_ = reply.Body.Close()

	return reply.StatusCode
}
