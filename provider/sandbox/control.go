package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"stayledger/provider/pay"
	"stayledger/provider/sandbox/stage"
)

// bufferBody reads the whole body into memory, so that it can still be decoded after the connection has ended.
func (x *exchange) bufferBody() error {
	content, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}

	x.r.Body = io.NopCloser(bytes.NewReader(content))

	return nil
}

// read decodes the body of the request.
func (x *exchange) read(into any) error {
	if err := json.NewDecoder(x.r.Body).Decode(into); err != nil {
		return fmt.Errorf("read request: %w", err)
	}

	return nil
}

// control adds the routes that set how the sandbox behaves and that show what it has recorded.
func (s *Server) control() {
	s.mux.HandleFunc("POST /control", s.controlFault)
	s.mux.HandleFunc("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); stage.Done(w) })
	s.mux.HandleFunc("POST /control/release", func(w http.ResponseWriter, _ *http.Request) {
		s.Release()
		stage.Done(w)
	})
	s.mux.HandleFunc("POST /control/settle", s.controlSettle)
	s.mux.HandleFunc("POST /control/settings", s.controlSettings)
	s.mux.HandleFunc("GET /control/payments", s.controlPayments)
	s.mux.HandleFunc("GET /control/events", s.log.ServeEvents)
}

// controlFault adds a fault. It refuses modes and kinds of request that the sandbox does not know.
func (s *Server) controlFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !stage.Decode(w, r, &f) {
		return
	}

	// A misspelled mode would let every request through, and a test with it would prove nothing.
	if !slices.Contains(f.Mode.Enum(), string(f.Mode)) || (f.On != "" && !slices.Contains(f.On.Enum(), string(f.On))) {
		stage.Refuse(w, http.StatusBadRequest, "unknownMode")
		return
	}

	s.Break(f)
	stage.Done(w)
}

// controlSettle gives the payments of a key a state, such as returned with R03. It answers 404 if there are none.
func (s *Server) controlSettle(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Key   string    `json:"key"`
		State pay.State `json:"state"`
		Code  string    `json:"code"`
	}
	if !stage.Decode(w, r, &in) {
		return
	}

	if !validState(in.State) {
		stage.Refuse(w, http.StatusBadRequest, "unknownState")
		return
	}

	// A key without payments is a mistake of the caller, so it is refused.
	if s.Settle(in.Key, in.State, in.Code) == 0 {
		stage.Refuse(w, http.StatusNotFound, "paymentUnknown")
		return
	}

	stage.Done(w)
}

// validState reports whether a text from outside is a state that payments can have.
func validState(state pay.State) bool {
	return slices.Contains([]pay.State{pay.Submitted, pay.Paid, pay.Failed, pay.Canceled, pay.Returned}, state)
}

// Settings change how later payments end and where callbacks go. Absent fields stay as they are.
type Settings struct {
	SettleAfterMS  *int64     `json:"settleAfterMs,omitempty"` // negative for never
	State          *pay.State `json:"state,omitempty"`
	Code           *string    `json:"code,omitempty"`
	CallbackURL    *string    `json:"callbackUrl,omitempty"`
	CallbackSecret *string    `json:"callbackSecret,omitempty"`
}

// Set changes the settings that are present. Payments that were recorded before still settle by the old ones; their
// callbacks go by the new ones.
func (s *Server) Set(c Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if c.SettleAfterMS != nil {
		s.settle.After = time.Duration(*c.SettleAfterMS) * time.Millisecond
	}

	if c.State != nil {
		s.settle.State = *c.State
	}

	if c.Code != nil {
		s.settle.Code = *c.Code
	}

	if c.CallbackURL != nil {
		s.settle.CallbackURL = *c.CallbackURL
	}

	if c.CallbackSecret != nil {
		s.settle.CallbackSecret = *c.CallbackSecret
	}
}

// controlSettings changes the settings. It refuses unknown states.
func (s *Server) controlSettings(w http.ResponseWriter, r *http.Request) {
	var in Settings
	if !stage.Decode(w, r, &in) {
		return
	}

	if in.State != nil && !validState(*in.State) {
		stage.Refuse(w, http.StatusBadRequest, "unknownState")
		return
	}

	s.Set(in)
	stage.Done(w)
}

// controlPayments lists the recorded payments, and how many there are under each key.
func (s *Server) controlPayments(w http.ResponseWriter, _ *http.Request) {
	payments := s.Payments()

	// More than one under a key is a payment that was made twice.
	counts := map[string]int{}
	for i := range payments {
		counts[payments[i].Key]++
	}

	stage.Write(w, http.StatusOK, map[string]any{"payments": payments, "counts": counts})
}
