package api_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"stayledger/platform/api"
)

// A client that asks and reads nothing is given up after half a minute; one that takes long over each stretch gets
// everything, however long that takes.
func TestAnswersAreNotKeptForThoseWhoDoNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20

		ended := make(chan error, 1)
		s := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler)}, nil)
		s.Handle(http.MethodGet, "/large", func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(bytes.Repeat([]byte("x"), size))
			ended <- err
		})

		p := servePipes(t, s)
		asked := time.Now()

		const request = "GET /large HTTP/1.1\r\nHost: x\r\n\r\n"
		if _, err := io.WriteString(p.dial(t), request); err != nil {
			t.Fatal(err)
		}

		if err := <-ended; err == nil || time.Since(asked) != 30*time.Second {
			t.Errorf("a client that reads nothing: %v after %v", err, time.Since(asked))
		}

		slow := p.dial(t)
		if _, err := io.WriteString(slow, request); err != nil {
			t.Fatal(err)
		}

		for range size / (64 << 10) {
			time.Sleep(14 * time.Second) // a stretch of the server's ends in the second of ours

			if n, err := io.CopyN(io.Discard, slow, 64<<10); err != nil {
				t.Fatalf("after %d bytes of a stretch: %v", n, err)
			}
		}

		go func() { _, _ = io.Copy(io.Discard, slow) }() // the headers made it more than the content

		if err := <-ended; err != nil {
			t.Errorf("a client that reads slowly: %v", err)
		}
	})
}

// The time for reading begins when there is something to read, on a connection that was used before too; and it ends for
// an answer without content as well.
func TestTheConnectionOutlivesAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler)}, nil)
		s.Handle(http.MethodGet, "/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		s.Handle(http.MethodGet, "/late", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("late"))

			time.Sleep(time.Hour)
		})

		p := servePipes(t, s)
		c := p.dial(t)

		const request = "GET %s HTTP/1.1\r\nHost: x\r\n"
		for _, path := range []string{"/late", "/none", "/late"} {
			status, content := ask(t, c, fmt.Sprintf(request, path), nil)
			if want := map[string]string{"/late": "200late", "/none": "204"}[path]; fmt.Sprint(status, content) != want {
				t.Errorf("%s: %d %s", path, status, content)
			}

			time.Sleep(time.Hour)
		}

		unread := p.dial(t)
		if _, err := fmt.Fprintf(unread, request+"\r\n", "/none"); err != nil {
			t.Fatal(err)
		}

		time.Sleep(time.Minute)

		if answer, err := io.ReadAll(unread); err != nil || len(answer) > 0 {
			t.Errorf("a client that came back after a minute: %s, %v", answer, err)
		}
	})
}
