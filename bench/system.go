package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
	sandbox "stayledger/provider/sandbox/pms"
)

// systemToken is the token that callers of the property-management system present.
const systemToken = "bench"

// serveSystem serves a property-management system with so many reservations until its standard input ends. It writes
// its address to the standard output.
func serveSystem(ctx context.Context, reservations int) error {
	s, err := sandbox.New(sandbox.Config{Token: systemToken, PageSize: intakePage})
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	defer s.Close()

	if err := s.Generate(sandbox.Plan{Seed: 1, Listings: portfolio, Reservations: reservations}); err != nil {
		return fmt.Errorf("system: %w", err)
	}

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}

	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}

	// A bench that dies closes the input, too, so that nothing of it is left.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()

	_, _ = fmt.Fprintln(os.Stdout, listener.Addr())

	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("system: %w", err)
	}

	return nil
}

// system is a property-management system in a process of its own, so that its memory is not that of the service.
type system struct {
	address string
	input   io.Closer
	process *exec.Cmd
}

// startSystem starts a system with so many reservations.
func startSystem(ctx context.Context, reservations int) (s *system, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start a system: %w", err)
	}

	s = &system{process: exec.CommandContext(ctx, self, "-system", strconv.Itoa(reservations))} //nolint:gosec // It is this program.
	s.process.Stderr = os.Stderr

	if s.input, err = s.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a system: %w", err)
	}

	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a system: %w", err)
	}

	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start a system: %w", err)
	}

	// The address comes when all is generated.
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a system: %w", err), s.close())
	}

	s.address = strings.TrimSpace(line)

	return s, nil
}

// close ends the process.
func (s *system) close() error { return errors.Join(s.input.Close(), s.process.Wait()) }

// client returns a client of the system that reads it as the service does.
func (s *system) client() (pms.Client, error) {
	settings, err := json.Marshal(map[string]string{"baseUrl": "http://" + s.address})
	if err != nil {
		return nil, fmt.Errorf("settings of a system: %w", err)
	}

	client, err := protocol.New(settings, json.RawMessage(`{"token": "`+systemToken+`"}`), pms.Options{AllowPrivate: true})
	if err != nil {
		return nil, fmt.Errorf("client of a system: %w", err)
	}

	return client, nil
}

// relay passes the calls of a sync on to a system. A page has been taken in when the next one is asked for, or if that
// was asked for ahead, when the sync goes on at it.
type relay struct {
	to http.Handler
	// reached is called with the page that is asked for and returns when the sync goes on at it; then taken is called
	// with the page that has been taken in, before the next one is answered. Nil for nothing.
	reached, taken func(page string) error

	mu   sync.Mutex
	page string    // that was asked for last
	at   time.Time // when it was passed on; zero for none
	// took is seconds of each page: from when its request was passed on until it has been taken in. away is how long
	// the calls of taken have kept the sync waiting, and failed the first error of the calls.
	took   []float64
	away   time.Duration
	failed error
}

// newRelay returns a relay to a system.
func newRelay(s *system, reached, taken func(page string) error) *relay {
	return &relay{
		to: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.address}), reached: reached, taken: taken,
	}
}

// ServeHTTP passes a call on.
func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method == http.MethodGet && q.URL.Path == "/reservations" {
		page := q.URL.Query().Get("page")

		r.mu.Lock()
		if page != r.page {
			if r.reached != nil && r.failed == nil {
				r.failed = r.reached(page)
			}

			r.end()
		}

		r.page, r.at = page, time.Now()
		r.mu.Unlock()
	}

	r.to.ServeHTTP(w, q)
}

// end notes that the last page has been taken in. The caller has the lock, or is alone.
func (r *relay) end() {
	if r.at.IsZero() {
		return
	}

	begin := time.Now()
	r.took = append(r.took, begin.Sub(r.at).Seconds())

	if r.taken != nil && r.failed == nil {
		r.failed = r.taken(r.page)
	}

	r.away += time.Since(begin)
}
