// Package bankfeed is a bank feed without real banks: a real HTTP server of the protocol that provider/plaid speaks,
// with banks, a page on which people link their accounts, transactions that change, signed webhooks, and everything
// that can go wrong. Its items and transactions are in memory and last while the Server does.
package bankfeed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"stayledger/provider/sandbox/stage"
)

// Config says how a sandbox is run.
type Config struct {
	// ClientID and Secret are the keys that callers must present.
	ClientID string
	Secret   string
	// Path is the prefix of all its paths, such as /plaid, if a server in front of it takes that off; links begin with
	// it.
	Path string
	// History is how many transactions each account of a new item begins with, spread over the days that were asked
	// for.
	History int
	// WebhookEvery is the time before the first repetition of a webhook that was not accepted, doubled each time; a
	// second if 0.
	WebhookEvery time.Duration
	// Seen is called with every event, from the goroutine that it happens in.
	Seen func(Event)
}

// On is a kind of request: the path of a call, or one of these.
type On string

// The kinds that are no calls.
const (
	Webhooks On = "webhook"
	LinkPage On = "link"
)

// Event says that a request, or a webhook, has reached a point. Its key is the item's, as far as it is known.
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
	institutions []*Institution
	items        []*item
	links        []*link
	publics      map[string]*publicToken
	keys         []*signingKey // the last one signs
	settings     Settings
	calls        map[On]int
	handed       int
	messages     []Message
}

// maxHistory is how many transactions an account can begin with.
const maxHistory = 1_000_000

// New makes a sandbox with a few banks. It fails if there are no keys to present, or if the history is out of
// range.
func New(c Config) (*Server, error) {
	if c.ClientID == "" || c.Secret == "" {
		return nil, errors.New("bank-feed sandbox: a client identifier and a secret are needed")
	}

	if c.History < 0 || c.History > maxHistory {
		return nil, fmt.Errorf("bank-feed sandbox: a history has 0 to %d transactions", maxHistory)
	}

	if c.WebhookEvery <= 0 {
		c.WebhookEvery = time.Second
	}

	s := &Server{
		config:       c,
		mux:          http.NewServeMux(),
		client:       &http.Client{Timeout: 10 * time.Second},
		institutions: banks(),
		publics:      map[string]*publicToken{},
		settings:     Settings{History: &c.History},
		calls:        map[On]int{},
	}

	// The context of the server ends the background work and the held requests, so it comes before the log.
	s.ctx, s.stop = context.WithCancel(context.Background())

	s.log = stage.NewLog(s.ctx, c.Seen)

	// The first key for webhooks; there is no older one to end.
	if err := s.rotateKey(false); err != nil {
		return nil, err
	}

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
	// History is how many transactions each account of a new item begins with.
	History *int `json:"history,omitempty"`
	// Begins is how much of its history a new item shows until advance; all of it if empty.
	Begins *Progress `json:"begins,omitempty"`
	// ClockSeconds is how far the sandbox's clock is ahead of the true one.
	ClockSeconds *int `json:"clockSeconds,omitempty"`
	// Silent keeps changes of transactions from sending webhooks.
	Silent *bool `json:"silent,omitempty"`
}

// Set changes the settings that are present.
func (s *Server) Set(c Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if c.History != nil {
		s.settings.History = c.History
	}

	if c.Begins != nil {
		s.settings.Begins = c.Begins
	}

	if c.ClockSeconds != nil {
		s.settings.ClockSeconds = c.ClockSeconds
	}

	if c.Silent != nil {
		s.settings.Silent = c.Silent
	}
}

// now returns the time by the sandbox's clock. The caller has the lock.
func (s *Server) now() time.Time {
	now := time.Now().UTC()
	if s.settings.ClockSeconds != nil {
		now = now.Add(time.Duration(*s.settings.ClockSeconds) * time.Second)
	}

	return now
}

// Counts says how often the sandbox was asked, and how many items and tokens it has.
type Counts struct {
	// Handed is how many access tokens were handed out, Removed how many items were removed, Live how many tokens still
	// give access.
	Handed  int `json:"handed"`
	Removed int `json:"removed"`
	Live    int `json:"live"`
	// Linked is how many items people linked, whether or not the access to them was fetched.
	Linked int `json:"linked"`
	// Calls counts the requests that arrived, by path.
	Calls map[On]int `json:"calls"`
}

// Counts returns the counts.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()

	c := Counts{Handed: s.handed, Linked: len(s.items), Calls: maps.Clone(s.calls)}
	for _, i := range s.items {
		// An item that was linked but never exchanged for access is neither removed nor live.
		if i.removed {
			c.Removed++
		} else if i.access != "" {
			c.Live++
		}
	}

	return c
}

// randomID returns a random identifier with a prefix, which cannot be guessed.
func randomID(prefix string) string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails

	return prefix + hex.EncodeToString(raw)
}

// find returns the first element of a list that fits, or nil.
func find[T any](list []*T, fits func(*T) bool) *T {
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i]
	}

	return nil
}
