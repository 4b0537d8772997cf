package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"stayledger/provider/pay"
)

// attempts is how often a callback is sent at most.
const attempts = 8

// announce sends a callback of a payment's present state, again and again until it is taken.
func (s *Server) announce(p *Payment) {
	s.mu.Lock()
	defer s.mu.Unlock()

	to := s.settle
	if to.CallbackURL == "" || s.ctx.Err() != nil {
		return
	}

	s.messages++
	c := pay.Callback{
		ID:      fmt.Sprintf("msg_%06d", s.messages),
		Outcome: pay.Outcome{Key: p.Key, Ref: p.ID, State: p.State, Code: p.Code},
	}
	s.background.Go(func() {
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

// callBack sends a callback once and reports whether it was taken.
func (s *Server) callBack(to settlement, c pay.Callback) bool {
	signature, body, err := pay.SignCallback(to.CallbackSecret, c, time.Now())
	if err != nil {
		return false
	}

	ctx, stop := context.WithTimeout(s.ctx, 10*time.Second)
	defer stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.CallbackURL, bytes.NewReader(body))
	if err != nil {
		return false
	}

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
