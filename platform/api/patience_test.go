package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"stayledger/platform/api"
)

// A client that asks and reads nothing is given up; one that reads slowly gets everything.
func TestAnswersAreNotKeptForThoseWhoDoNotRead(t *testing.T) {
	t.Parallel()

	const size = 32 << 20 // more than the buffers of a connection hold

	const short = 500 * time.Millisecond

	ended := make(chan error, 1)
	serve := func(patience time.Duration) *httptest.Server {
		s := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler), WritePatience: patience}, nil)
		s.Handle(http.MethodGet, "/large", func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(bytes.Repeat([]byte("x"), size))
			ended <- err
		})
		s.Handle(http.MethodGet, "/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)

		return server
	}
	ask := func(server *httptest.Server) net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = c.Close() })

		if _, err := fmt.Fprintf(c, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}

		return c
	}
	impatient := serve(short)
	_ = ask(impatient)

	waiting, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	select {
	case err := <-ended:
		if err == nil {
			t.Error("all was sent to a client that reads nothing")
		}
	case <-waiting.Done():
		t.Fatal("a client that reads nothing is waited for")
	}

	slow := ask(serve(30 * time.Second))

	read, part := 0, make([]byte, 1<<20)
	for read < size {
		time.Sleep(20 * time.Millisecond) // a slow reader; nothing is proved by how long it takes

		n, err := slow.Read(part)
		if read += n; err != nil {
			t.Fatalf("after %d bytes: %v", read, err)
		}
	}

	if err := <-ended; err != nil {
		t.Errorf("a client that reads slowly: %v", err)
	}
	// The deadline of an answer is not that of the next one on the same connection.
	for range 2 {
		answer, err := impatient.Client().Get(impatient.URL + "/none")
		if err != nil || answer.StatusCode != http.StatusNoContent {
			t.Fatalf("%v, %v", answer, err)
		}

		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()

		time.Sleep(short + 100*time.Millisecond) // longer than the patience
	}
}
