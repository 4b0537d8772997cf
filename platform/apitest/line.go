package apitest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"stayledger/migrations"
	"stayledger/platform/db"
	"stayledger/platform/dbtest"
)

// Line leads to a database of the test's own and can fail as networks do.
type Line struct {
	// URL is the database's address through the line; Direct is the one that never fails.
	URL, Direct string

	target string
	down   atomic.Bool
	mute   atomic.Bool
	mu     sync.Mutex
	open   map[net.Conn]struct{}
}

// NewLine creates a migrated database and a line to it, for this test alone.
func NewLine(t testing.TB) *Line {
	t.Helper()
	direct := Database(t)

	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}

	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	// The URL of the line leads to our listener instead of the server.
	l := &Line{Direct: direct, target: u.Host, open: map[net.Conn]struct{}{}}
	u.Host = listener.Addr().String()
	l.URL = u.String()

	// Each connection is carried by a goroutine of its own.
	var carriers sync.WaitGroup
	carriers.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}

			carriers.Go(func() { l.carry(near) })
		}
	})

	// Nothing of the line may be running when the test ends.
	t.Cleanup(func() {
		_ = listener.Close()

		l.Cut()
		carriers.Wait()
	})

	return l
}

// Database creates a migrated database for this test alone and returns its URL.
func Database(t testing.TB) string {
	t.Helper()

	hash, err := migrations.Hash()
	if err != nil {
		t.Fatal(err)
	}

	return dbtest.URL(t, migrate, hash+watchHash())
}

func migrate(ctx context.Context, url string) error {
	if _, err := db.Migrate(ctx, url, migrations.FS); err != nil {
		return err
	}

	return watchChanges(ctx, url)
}

// Cut ends all connections and refuses new ones.
func (l *Line) Cut() {
	l.down.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()

	for c := range l.open {
		_ = c.Close()
	}
}

// Mend accepts connections again.
func (l *Line) Mend() { l.down.Store(false); l.mute.Store(false) }

// Mute ends each connection at the server's next answer, which is lost: the work was done, but the client does not
// know.
func (l *Line) Mute() { l.mute.Store(true) }

// carry copies bytes between a client and the server until one side ends or the line is cut.
func (l *Line) carry(near net.Conn) {
	defer func() { _ = near.Close() }()

	far, err := new(net.Dialer).Dial("tcp", l.target)
	if err != nil {
		return
	}

	defer func() { _ = far.Close() }()

	// A line that is cut takes no more connections.
	if !l.register(near, far) {
		return
	}

	defer l.forget(near, far)

	// From the client to the server everything passes, even while the line is mute.
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()

	// From the server to the client answers pass until the line is mute; then the connection ends.
	buffer := make([]byte, 32<<10)
	for {
		n, err := far.Read(buffer)
		if err != nil || l.mute.Load() {
			return
		}

		if _, err := near.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (l *Line) register(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, c := range ends {
		l.open[c] = struct{}{}
	}

	return !l.down.Load()
}

func (l *Line) forget(ends ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, c := range ends {
		delete(l.open, c)
	}
}
