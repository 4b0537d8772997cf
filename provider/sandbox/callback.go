package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"stayledger/provider/pay"
)

// attempts is how many times a callback is sent at most.
const attempts = 8

// announce sends a callback with the present state of a payment, in the background, and repeats it until it is
// accepted.
func (s *Server) announce(p *Payment) {
	s.mu.Lock()
	defer s.mu.Unlock()

	to := s.settle
	if to.CallbackURL == "" || s.ctx.Err() != nil {
		return
	}

	// The message is made here, under the lock: its repetitions have the same identifier and state.
	s.messages++
	c := pay.Callback{
		ID:      fmt.Sprintf("msg_%06d", s.messages),
		Outcome: pay.Outcome{Key: p.Key, Ref: p.ID, State: p.State, Code: p.Code},
	}
	s.background.Go(func() {
		// The pauses double, so that a receiver that restarts is not flooded.
		wait := s.config.CallbackEvery
		for range attempts {
			if s.callBack(to, c) {
				s.log.Reach(CalledBack, "", c.Outcome.Key)
				return
			}

			if !s.log.Pause(wait) {
				return
			}

			wait *= 2
		}
	})
}

// callBack sends a callback once, signed with the present time, and reports whether the receiver accepted it.
func (s *Server) callBack(to settlement, c pay.Callback) bool {
	// Each attempt is signed anew, because receivers refuse old times.
	signature, body, err := pay.SignCallback(to.CallbackSecret, c, time.Now())
	if err != nil {
		return false
	}

	// The server's context, not a request's: Close ends the attempt.
	ctx, stop := context.WithTimeout(s.ctx, 10*time.Second)
	defer stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.CallbackURL, bytes.NewReader(body))
	if err != nil {
		return false
	}

	// The headers of Standard Webhooks.
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", signature.ID)
	req.Header.Set("webhook-timestamp", signature.Timestamp)
	req.Header.Set("webhook-signature", signature.Value)

	resp, err := s.client.Do(req)
	if err != nil {
		return false
	}

	_ = resp.Body.Close()

	return resp.StatusCode >= 200 && resp.StatusCode < 300
}
