// Package hostaway is a property-management system without guests: a real HTTP server that speaks as the published
// description of Hostaway's API says, with listings and reservations that change, messages with a password, and
// everything that can go wrong. What it holds is in memory and lasts while the Server does.
package hostaway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"stayledger/provider/sandbox/stage"
)

// Config says how a sandbox is run.
type Config struct {
	// AccountID and APIKey are the credentials that callers exchange for a token. The key also opens the control.
	AccountID, APIKey string
	// PageSize is how many rows a page has at most; 100 if 0.
	PageSize int
	// MessageEvery is the time before the first repetition of a message that was not accepted, doubled each time; a
	// second if 0.
	MessageEvery time.Duration
	// Seen is called with every event, from the goroutine that it happens in.
	Seen func(Event)
}

// On is a kind of request.
type On string

// The kinds of requests. Changes are no requests: each sends a message.
const (
	OnToken        On = "token"
	OnListings     On = "listings"
	OnReservations On = "reservations"
	OnReservation  On = "reservation"
	OnFinance      On = "finance"
	OnCharges      On = "charges"
	OnCalendar     On = "calendar"
	OnWebhooks     On = "webhooks"
	OnMessage      On = "message"
)

// Event says that a request, or a message, has reached a point.
type Event = stage.Event[On]

// Object is an object as the system writes it. Nothing of it is checked, so that a test can make one that no client can
// read.
type Object map[string]any

// Server is the sandbox. It is an http.Handler; Close it when done.
type Server struct {
	config Config
	mux    *http.ServeMux
	client *http.Client
	log    *stage.Log[On]
	faults stage.Faults[On, Fault]

	background sync.WaitGroup
	ctx        context.Context //nolint:containedctx // The life of the server, which outlasts its requests.
	stop       context.CancelFunc

	mu           sync.Mutex
	settings     Settings
	tokens       map[string]time.Time // when each was issued
	listings     []Object
	reservations []*row // in ascending order of their changes
	byID         map[string]*row
	charges      map[string][]Object       // payments of guests by reservation
	calendar     map[string]map[string]Day // days by listing that are not as they are by themselves
	hooks        []Hook
	messages     []Message
	calls        map[On]int
	lastID       int
}

const (
	pageSize    = 100
	maxPageSize = 1000
)

// New makes a sandbox without listings. It fails if there are no credentials to present, or if the page size is out of
// range.
func New(c Config) (*Server, error) {
	if c.AccountID == "" || c.APIKey == "" {
		return nil, errors.New("hostaway sandbox: an account and a key are needed")
	}

	if c.PageSize < 0 || c.PageSize > maxPageSize {
		return nil, fmt.Errorf("hostaway sandbox: a page has 1 to %d rows", maxPageSize)
	}

	if c.PageSize == 0 {
		c.PageSize = pageSize
	}

	if c.MessageEvery <= 0 {
		c.MessageEvery = time.Second
	}

	s := &Server{
		config:   c,
		mux:      http.NewServeMux(),
		client:   &http.Client{Timeout: 10 * time.Second},
		settings: Settings{PageSize: &c.PageSize},
		tokens:   map[string]time.Time{},
		byID:     map[string]*row{},
		charges:  map[string][]Object{},
		calendar: map[string]map[string]Day{},
		calls:    map[On]int{},
	}

	// The context of the server ends the background work and the held requests, so it comes before the log.
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.log = stage.NewLog(s.ctx, c.Seen)
	s.routes()
	s.control()

	return s, nil
}

// Close ends the work in the background, lets held requests continue, and waits for the background work.
func (s *Server) Close() {
	s.mu.Lock() // nothing starts in the background any more
	s.stop()
	s.mu.Unlock()
	s.background.Wait()
}

// Await returns the first event after a sequence number that is of the point (of any point if p is empty). It waits
// for it as long as ctx lasts.
func (s *Server) Await(ctx context.Context, p stage.Point, after int) (Event, error) {
	return s.log.Await(ctx, p, after) //nolint:wrapcheck // The reason to stop waiting is the caller's own.
}

// Last returns the sequence number of the newest event, 0 if there was none.
func (s *Server) Last() int { return s.log.Last() }

// Settings change how the sandbox behaves. Absent fields stay as they are.
type Settings struct {
	// PageSize is how many rows a page has at most.
	PageSize *int `json:"pageSize,omitempty"`
	// ClockSeconds is how far the sandbox's clock is ahead of the true one.
	ClockSeconds *int `json:"clockSeconds,omitempty"`
	// TokenDelayMS is how long a token cannot be used after it was issued, in milliseconds.
	TokenDelayMS *int `json:"tokenDelayMs,omitempty"`
	// Silent keeps changes from sending messages.
	Silent *bool `json:"silent,omitempty"`
}

// Set changes the settings that are present.
func (s *Server) Set(c Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if c.PageSize != nil {
		s.settings.PageSize = c.PageSize
	}

	if c.ClockSeconds != nil {
		s.settings.ClockSeconds = c.ClockSeconds
	}

	if c.TokenDelayMS != nil {
		s.settings.TokenDelayMS = c.TokenDelayMS
	}

	if c.Silent != nil {
		s.settings.Silent = c.Silent
	}
}

// revokeTokens makes the sandbox refuse every token that it has given so far.
func (s *Server) revokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()

	clear(s.tokens)
}

// now returns the time by the sandbox's clock. The caller has the lock.
func (s *Server) now() time.Time {
	return time.Now().UTC().Round(0).Add(time.Duration(value(s.settings.ClockSeconds)) * time.Second)
}

// value returns what a pointer points to, the zero value for none.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}

	return *p
}

// Counts says how often the sandbox was asked, and what it holds.
type Counts struct {
	Listings     int `json:"listings"`
	Reservations int `json:"reservations"`
	// Calls counts the requests that arrived, by kind.
	Calls map[On]int `json:"calls"`
}

// Counts returns the counts.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()

	return Counts{Listings: len(s.listings), Reservations: len(s.reservations), Calls: maps.Clone(s.calls)}
}
