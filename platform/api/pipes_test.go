package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// pipes is a listener without a network, for servers in a bubble of synctest: time goes by only when everybody waits, so
// that what a test says about time holds on whatever machine.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// servePipes serves a handler in the bubble of the test until that ends.
func servePipes(t *testing.T, h http.Handler) *pipes {
	t.Helper()

	p := &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}

	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(p) }()

	t.Cleanup(func() {
		_ = s.Close()

		<-served
		synctest.Wait()
	})

	return p
}

// Accept returns the server's end of the next connection. It fails once the listener is closed.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr is the address of no network.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

// dial returns the client's end of a new connection. A pipe keeps nothing: what one end writes waits until the other
// reads it.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()

	near, far := net.Pipe()

	t.Cleanup(func() { _ = near.Close() })

	p.dialled <- far

	return near
}

// ask sends a request as it is, with a body that may come slowly, and returns the answer. The writing ends with the
// connection.
func ask(t *testing.T, c net.Conn, head string, body io.Reader) (status int, answer string) {
	t.Helper()

	var sending sync.WaitGroup
	sending.Go(func() {
		_, err := io.WriteString(c, head+"\r\n")
		if err == nil && body != nil {
			_, _ = io.Copy(c, body) // the server need not want all of it
		}
	})

	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}

	content, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}

	_ = r.Body.Close()

	if r.Close {
		_ = c.Close()
	}

	sending.Wait()

	return r.StatusCode, string(content)
}
