// Package hostile helps tests of clients with servers that mean harm: answers that do not end, come slowly or are too
// large. They are made while they are sent and never held, so that all the memory that a test takes is the client's.
package hostile

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// chunk is how many bytes are sent at a time.
const chunk = 64 << 10

// Answers that do harm to a client that trusts them, by name. Each has the status 200 and says that it is JSON or XML.
func Answers(media string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"endless body":   Endless(media, "", " "),
		"endless text":   Endless(media, `"`, "x"),
		"endless list":   Endless(media, `[`, "1,"),
		"deep nesting":   Endless(media, "", "["),
		"header of 1 GB": header,
		"slow drip":      Drip(media),
		"wrong length":   short(media),
		"page":           page,
	}
}

// Endless answers with a beginning and then a unit for ever.
func Endless(media, start, unit string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, start)

		for part := bytes.Repeat([]byte(unit), chunk/len(unit)); ; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
}

// header answers with a header of 1 GB.
func header(w http.ResponseWriter, _ *http.Request) {
	hijack(w, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Endless: ")

		part := bytes.Repeat([]byte("x"), chunk)
		for range 1 << 30 / chunk {
			if _, err := c.Write(part); err != nil {
				return
			}
		}
	})
}

// Drip answers with a byte every 20 ms for ever.
func Drip(media string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)

		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()

		for {
			_, err := io.WriteString(w, " ")
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}

			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

// short answers with fewer bytes than it says.
func short(media string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		hijack(w, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: "+media+"\r\nContent-Length: "+strconv.Itoa(1<<30)+"\r\n\r\n{}")
		})
	}
}

// page answers with a page for people, as a proxy in between does.
func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
}

// hijack lets a function write to the connection of an answer, and closes it.
func hijack(w http.ResponseWriter, write func(net.Conn)) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}

	defer func() { _ = c.Close() }()

	write(c)
}

// Serve returns the address of a server on the loopback with one answer to everything.
func Serve(tb testing.TB, answer http.Handler) string {
	tb.Helper()

	server := httptest.NewServer(answer)

	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})

	return server.URL
}

// Bound runs a call and fails if it takes longer than within, or allocates more bytes than most. Tests that run at the
// same time count as well, so the test must not be parallel.
func Bound(tb testing.TB, within time.Duration, most uint64, call func()) {
	tb.Helper()

	var before, after runtime.MemStats

	runtime.ReadMemStats(&before)

	began := time.Now()

	call()

	took := time.Since(began)

	runtime.ReadMemStats(&after)

	if took > within {
		tb.Errorf("it took %v, more than %v", took, within)
	}

	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		tb.Errorf("it allocated %d MiB, more than %d", used>>20, most>>20)
	}
}
