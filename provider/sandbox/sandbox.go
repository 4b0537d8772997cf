// Package sandbox is a payment provider that moves no money: a real HTTP server of the protocol in
// docs/guides/payment-provider.md which can be told to be slow, to fail, to hang up, to pay twice and to return
// payments. What it holds lives in memory and lasts while the Server does, so the listener in front of it can be closed
// and opened again, as when a provider restarts.
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
	// APIKey is what callers must present.
	APIKey string
	// SettleAfter is how long a payment is submitted before it is paid; negative for never by itself.
	SettleAfter time.Duration
	// CallbackURL is told of every change of a payment, unless it is empty; CallbackSecret signs.
	CallbackURL    string
	CallbackSecret string
	// CallbackEvery is the time before the first repetition of a callback that was not taken, doubled each time; a
	// second when 0.
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
	print    string    // of what was asked for, to tell another payment under the same key
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

// settlement is what becomes of payments that nobody touches, and where that is told.
type settlement struct {
	After          time.Duration
	State          pay.State
	Code           string
	CallbackURL    string
	CallbackSecret string
}

// New makes a sandbox. It fails when there is no key, or callbacks that could not be signed.
func New(c Config) (*Server, error) {
	if c.APIKey == "" {
		return nil, errors.New("sandbox: an API key is needed")
	}

	if c.CallbackURL != "" {
		if _, _, err := pay.SignCallback(c.CallbackSecret, pay.Callback{}, time.Now()); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}

	if c.CallbackEvery <= 0 {
		c.CallbackEvery = time.Second
	}

	s := &Server{
		config: c, mux: http.NewServeMux(), client: &http.Client{Timeout: 10 * time.Second}, refused: map[string]string{},
		settle: settlement{After: c.SettleAfter, State: pay.Paid, CallbackURL: c.CallbackURL, CallbackSecret: c.CallbackSecret},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.log = stage.NewLog(s.ctx, c.Seen)
	s.routes()

	return s, nil
}

// Close ends what goes on in the background and lets go of what is held.
func (s *Server) Close() {
	s.mu.Lock() // nothing starts in the background any more
	s.stop()
	s.mu.Unlock()
	s.background.Wait()
}

// Payments gives all that was recorded, oldest first. Two of them with one key are a payment that was made twice.
func (s *Server) Payments() []Payment {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := make([]Payment, len(s.payments))
	for i, p := range s.payments {
		out[i] = *p
	}

	return out
}

// Settle gives the payments of a key another state, as the banks would, and tells of it. It reports how many there
// were.
func (s *Server) Settle(key string, state pay.State, code string) int {
	s.mu.Lock()

	changed := s.held(key)
	for _, p := range changed {
		p.State, p.Code = state, code
	}
	s.mu.Unlock()

	for _, p := range changed {
		s.announce(p)
	}

	return len(changed)
}

// held are the payments of a key; the caller has the lock.
func (s *Server) held(key string) []*Payment {
	var out []*Payment

	for _, p := range s.payments {
		if p.Key == key {
			out = append(out, p)
		}
	}

	return out
}

// record keeps a payment, unless its key is known: then it gives the one that there is. A key that was refused stays
// refused. With twice it makes a second one beside it, and with regardless one whatever is known.
func (s *Server) record(p Payment, twice, regardless bool) (*Payment, string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if known := s.held(p.Key); len(known) > 0 && !regardless {
		if known[0].print != p.print {
			return nil, "keyConflict"
		}

		return known[0], ""
	}

	if code, refused := s.refused[p.Key]; refused && !regardless {
		return nil, code
	}

	first := s.add(p)
	if twice {
		s.add(p)
	}

	return first, ""
}

// add appends a payment and lets it settle in its time; the caller has the lock.
func (s *Server) add(p Payment) *Payment {
	p.ID = fmt.Sprintf("sbx_%06d", len(s.payments)+1)
	p.State = pay.Submitted
	kept := &p
	s.payments = append(s.payments, kept)

	becomes := s.settle
	if becomes.After >= 0 && s.ctx.Err() == nil {
		s.background.Go(func() { s.settleLater(kept, becomes) })
	}

	return kept
}

func (s *Server) settleLater(p *Payment, becomes settlement) {
	if !s.log.Pause(becomes.After) {
		return
	}

	s.mu.Lock()

	open := p.State == pay.Submitted
	if open {
		p.State, p.Code = becomes.State, becomes.Code
	}
	s.mu.Unlock()

	if open {
		s.announce(p)
	}
}

// refuse notes that a key was refused, unless it was taken before.
func (s *Server) refuse(key, code string) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	if len(s.held(key)) > 0 {
		return ""
	}

	if before, known := s.refused[key]; known {
		return before
	}

	s.refused[key] = code

	return code
}

// view is the payments of a key as they are now.
func (s *Server) view(choose func(*Payment) bool) []Payment {
	return slices.DeleteFunc(s.Payments(), func(p Payment) bool { return !choose(&p) })
}
