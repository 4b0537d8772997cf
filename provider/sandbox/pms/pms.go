// Package pms is a property-management system without guests: a real HTTP server of our published protocol
// (docs/guides/pms-protocol.md), with listings and reservations that change, signed messages, and everything that can
// go wrong. What it holds is in memory and lasts while the Server does.
package pms

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
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
	// Token is the token that callers must send.
	Token string
	// AccountID is the account that the token opens; acc_1 if empty.
	AccountID string
	// PageSize is how many rows a page has; 100 if 0.
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
	OnAccount      On = "account"
	OnListings     On = "listings"
	OnReservations On = "reservations"
	OnPayouts      On = "payouts"
	OnLookup       On = "lookup"
	OnSubscription On = "subscription"
	OnBlocks       On = "blocks"
	OnMessage      On = "message"
)

// Event says that a request, or a message, has reached a point.
type Event = stage.Event[On]

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
	account      Account
	ahead        time.Duration // of the sandbox's clock before the true one
	settings     Settings
	epoch        int // marks and pages of older ones are not known any more
	listings     []*Listing
	payouts      []Payout
	reservations rows
	blocks       map[string]Block
	subscribed   Subscription
	held         []func() // messages that wait for the next one
	messages     []Message
	calls        map[On]int
}

// Account is the account of the sandbox.
type Account struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

const (
	pageSize    = 100
	maxPageSize = 1000
)

// New makes a sandbox without listings. It fails if there is no token to present, or if the page size is out of range.
func New(c Config) (*Server, error) {
	if c.Token == "" {
		return nil, errors.New("PMS sandbox: a token is needed")
	}

	if c.PageSize < 0 || c.PageSize > maxPageSize {
		return nil, fmt.Errorf("PMS sandbox: a page has 1 to %d rows", maxPageSize)
	}

	if c.PageSize == 0 {
		c.PageSize = pageSize
	}

	if c.MessageEvery <= 0 {
		c.MessageEvery = time.Second
	}

	s := &Server{
		config:       c,
		mux:          http.NewServeMux(),
		client:       &http.Client{Timeout: 10 * time.Second},
		account:      Account{ID: cmp.Or(c.AccountID, "acc_1"), Name: "Sandbox Rentals"},
		settings:     Settings{PageSize: &c.PageSize},
		reservations: newRows(),
		blocks:       map[string]Block{},
		calls:        map[On]int{},
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
	// PageSize is how many rows a page has.
	PageSize *int `json:"pageSize,omitempty"`
	// ClockSeconds is how far the sandbox's clock is ahead of the true one.
	ClockSeconds *int `json:"clockSeconds,omitempty"`
	// Silent keeps changes from sending messages.
	Silent *bool `json:"silent,omitempty"`
	// Tombstones shows reservations that were deleted to those who ask for what has changed.
	Tombstones *bool `json:"tombstones,omitempty"`
}

// Set changes the settings that are present.
func (s *Server) Set(c Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if c.PageSize != nil {
		s.settings.PageSize = c.PageSize
	}

	if c.ClockSeconds != nil {
		s.ahead = time.Duration(*c.ClockSeconds) * time.Second
	}

	if c.Silent != nil {
		s.settings.Silent = c.Silent
	}

	if c.Tombstones != nil {
		s.settings.Tombstones = c.Tombstones
	}
}

// Advance moves the sandbox's clock ahead.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.ahead += d
}

// Forget makes the sandbox forget all marks and pages that it has given so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.epoch++
}

// now returns the time by the sandbox's clock. The caller has the lock.
func (s *Server) now() time.Time { return time.Now().UTC().Round(0).Add(s.ahead) }

// isSet reports whether a setting is on.
func isSet(setting *bool) bool { return setting != nil && *setting }

// Counts says how often the sandbox was asked, and what it holds.
type Counts struct {
	Listings     int `json:"listings"`
	Reservations int `json:"reservations"`
	Blocks       int `json:"blocks"`
	// Calls counts the requests that arrived, by kind.
	Calls map[On]int `json:"calls"`
}

// Counts returns the counts.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()

	return Counts{
		Listings:     len(s.listings),
		Reservations: len(s.reservations.byID) - s.reservations.gone,
		Blocks:       len(s.blocks),
		Calls:        maps.Clone(s.calls),
	}
}

// randomID returns a random identifier with a prefix.
func randomID(prefix string) string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails

	return prefix + hex.EncodeToString(raw)
}
