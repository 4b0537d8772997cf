// Package sandbox is a payment provider that moves no money: a real HTTP server of the protocol in
// docs/guides/payment-provider.md. Tests can make it slow, make it fail, hang up, pay twice or return payments. Its
// payments are in memory and last while the Server does, so the listener in front of it can be closed and opened
// again, as when a provider restarts.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"stayledger/provider/pay"
	"stayledger/provider/sandbox/stage"
)

// Config says how a sandbox is run.
type Config struct {
	// APIKey is the key that callers must present.
	APIKey string
	// SettleAfter is how long a payment is submitted before it is paid; negative for never by itself.
	SettleAfter time.Duration
	// CallbackURL gets a callback for every change of a payment, unless it is empty; CallbackSecret signs them.
	CallbackURL    string
	CallbackSecret string
	// CallbackEvery is the time before the first repetition of a callback that was not accepted, doubled each time; a
	// second if 0.
	CallbackEvery time.Duration
	// Seen is called with every event, from the goroutine that it happens in.
	Seen func(Event)
}

// Payment is a payment as the sandbox holds it.
type Payment struct {
	ID       string    `json:"id"`
	Key      string    `json:"key"`
	State    pay.State `json:"state"`
	Code     string    `json:"code"`
	Amount   int64     `json:"amount"`
	Currency string    `json:"currency"`
	Date     string    `json:"date"`
	Memo     string    `json:"memo"`
	Holder   string    `json:"holder"`
	Last4    string    `json:"last4"`
	print    string    // the order as text, to detect another order under the same key
}

// Server is the sandbox. It is an http.Handler; Close it when done.
type Server struct {
	config Config
	mux    *http.ServeMux
	client *http.Client
	log    *stage.Log[On]
	faults stage.Faults[On, Fault]

	background sync.WaitGroup
	ctx        context.Context //nolint:containedctx // the life of the server, which outlasts its requests
	stop       context.CancelFunc

	mu       sync.Mutex
	payments []*Payment
	refused  map[string]string // code by key: what was refused once stays refused
	settle   settlement
	messages int
}

// settlement says when and how a payment ends by itself, and where its callbacks go.
type settlement struct {
	After          time.Duration
	State          pay.State
	Code           string
	CallbackURL    string
	CallbackSecret string
}

// New makes a sandbox. It fails if there is no API key, or if the secret cannot sign callbacks.
func New(c Config) (*Server, error) {
	if c.APIKey == "" {
		return nil, errors.New("sandbox: an API key is needed")
	}

	// Sign an empty callback now: a bad secret shows here, and not in the background.
	if c.CallbackURL != "" {
		if _, _, err := pay.SignCallback(c.CallbackSecret, pay.Callback{}, time.Now()); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}

	if c.CallbackEvery <= 0 {
		c.CallbackEvery = time.Second
	}

	s := &Server{
		config:  c,
		mux:     http.NewServeMux(),
		client:  &http.Client{Timeout: 10 * time.Second},
		refused: map[string]string{},
		settle: settlement{
			After:          c.SettleAfter,
			State:          pay.Paid,
			CallbackURL:    c.CallbackURL,
			CallbackSecret: c.CallbackSecret,
		},
	}

	// The context of the server ends the background work and the held requests, so it comes before the log.
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.log = stage.NewLog(s.ctx, c.Seen)
	s.routes()

	return s, nil
}

// Close ends the work in the background, lets held requests continue, and waits for the background work.
func (s *Server) Close() {
	s.mu.Lock() // nothing starts in the background any more
	s.stop()
	s.mu.Unlock()
	s.background.Wait()
}

// Payments returns all recorded payments, oldest first. Two of them with one key are a payment that was made twice.
func (s *Server) Payments() []Payment {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := make([]Payment, len(s.payments))
	for i, p := range s.payments {
		out[i] = *p
	}

	return out
}

// Settle gives the payments of a key another state, as the banks would, and sends callbacks. It returns how many
// payments there were.
func (s *Server) Settle(key string, state pay.State, code string) int {
	s.mu.Lock()

	changed := s.findByKey(key)

	// Each payment changes under the lock; its callback goes out after the lock is released, because announce takes
	// it.
	for _, p := range changed {
		p.State, p.Code = state, code
	}
	s.mu.Unlock()

	for _, p := range changed {
		s.announce(p)
	}

	return len(changed)
}

// findByKey returns the payments of a key. The caller has the lock.
func (s *Server) findByKey(key string) []*Payment {
	var out []*Payment

	for _, p := range s.payments {
		if p.Key == key {
			out = append(out, p)
		}
	}

	return out
}

// recordPayment adds a payment and returns it. If the key has a payment already, it returns that one, or keyConflict if
// it was another order. A key that was refused stays refused: its code is returned. With twice it adds the payment two
// times, and with regardless it ignores what is recorded.
func (s *Server) recordPayment(p Payment, twice, regardless bool) (*Payment, string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// First, repetitions: the same key with the same order is the same payment.
	if known := s.findByKey(p.Key); len(known) > 0 && !regardless {
		if known[0].print != p.print {
			return nil, "keyConflict"
		}

		return known[0], ""
	}

	// Then keys that were refused: to repeat an order must not change its outcome.
	if code, refused := s.refused[p.Key]; refused && !regardless {
		return nil, code
	}

	first := s.addPayment(p)
	if twice {
		s.addPayment(p)
	}

	return first, ""
}

// addPayment appends a payment, and starts its settlement in the background. The caller has the lock.
func (s *Server) addPayment(p Payment) *Payment {
	p.ID = fmt.Sprintf("sbx_%06d", len(s.payments)+1)
	p.State = pay.Submitted
	kept := &p
	s.payments = append(s.payments, kept)

	// A copy of the settings: later changes of them are for later payments. After Close nothing may start in the
	// background.
	becomes := s.settle
	if becomes.After >= 0 && s.ctx.Err() == nil {
		s.background.Go(func() { s.settleLater(kept, becomes) })
	}

	return kept
}

// settleLater waits for the time of settlement, then gives the payment its state and sends the callback. Payments
// that have left the state submitted meanwhile, and those of a closed server, stay as they are.
func (s *Server) settleLater(p *Payment, becomes settlement) {
	if !s.log.Pause(becomes.After) {
		return
	}

	s.mu.Lock()

	// A cancellation or Settle may have come first; their state counts.
	open := p.State == pay.Submitted
	if open {
		p.State, p.Code = becomes.State, becomes.Code
	}
	s.mu.Unlock()

	if open {
		s.announce(p)
	}
}

// noteRefusal notes that a key was refused, and returns the code of its first refusal. It returns "" if the key has a
// payment: that one stays.
func (s *Server) noteRefusal(key, code string) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	if len(s.findByKey(key)) > 0 {
		return ""
	}

	if before, known := s.refused[key]; known {
		return before
	}

	s.refused[key] = code

	return code
}

// copyPayments returns copies of the payments that choose accepts, in their present states.
func (s *Server) copyPayments(choose func(*Payment) bool) []Payment {
	return slices.DeleteFunc(s.Payments(), func(p Payment) bool { return !choose(&p) })
}
