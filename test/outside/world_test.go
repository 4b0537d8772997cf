package outside_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"stayledger/platform/blob"
	"stayledger/platform/id"
	"stayledger/platform/s3test"
	"stayledger/provider/mail"
)

// slowWorld is everything outside of the service: its servers answer at once, until stop lets every call wait for
// release. It counts the calls that wait, by their names.
type slowWorld struct {
	mu      sync.Mutex
	stopped chan struct{} // closed by release; nil while calls are answered at once
	waiting map[string]int
	last    time.Time         // when the last of them came
	objects map[string]string // names of objects in the store by their ids
}

// pass returns at once, or counts the call and waits until release or the end of the context.
func (w *slowWorld) pass(ctx context.Context, call string) {
	w.mu.Lock()

	stopped := w.stopped
	if stopped != nil {
		w.waiting[call]++
		w.last = time.Now()
	}
	w.mu.Unlock()

	if stopped == nil {
		return
	}

	select {
	case <-stopped:
	case <-ctx.Done():
	}
}

// stop lets every call from now on wait.
func (w *slowWorld) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.stopped, w.waiting = make(chan struct{}), map[string]int{}
}

// release answers the calls that wait, and all later ones at once.
func (w *slowWorld) release() {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.stopped != nil {
		close(w.stopped)
		w.stopped = nil
	}
}

// calls returns how many calls have come since stop, by their names, and when the last one came.
func (w *slowWorld) calls() (map[string]int, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return maps.Clone(w.waiting), w.last
}

// serve puts a server into the world, and returns its address. Its calls are named by the name of the server, the method
// and the path, without ids.
func (w *slowWorld) serve(t testing.TB, name string, server http.Handler) string {
	t.Helper()

	s := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		w.pass(r.Context(), name+" "+r.Method+" "+withoutIDs(r.URL.Path))
		server.ServeHTTP(answer, r)
	}))
	t.Cleanup(s.Close)

	return s.URL
}

// withoutIDs returns a path without its parts that have digits, other than versions.
func withoutIDs(path string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool {
		return len(part) > 2 && strings.ContainsAny(part, "0123456789")
	}), "/")
}

// nameObject names the object with the content of a file.
func (w *slowWorld) nameObject(file id.ID, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.objects[file.String()] = name
}

// nameObjectAt returns the name of the object at a path of the store, or else the kind of the object.
func (w *slowWorld) nameObjectAt(path string) string {
	w.mu.Lock()
	defer w.mu.Unlock()

	// An object is KIND.TEAM.ID.
	kind, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"+s3test.Bucket+"/"), ".")
	_, file, _ := strings.Cut(rest, ".")

	return cmp.Or(w.objects[file], kind)
}

// store returns an object store of the world.
func (w *slowWorld) store(t testing.TB) blob.Store {
	t.Helper()

	server := s3test.Start(t)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: server.Address})
		r.Out.Host = r.In.Host // it is signed
	}}

	front := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		w.pass(r.Context(), "store "+r.Method+" "+w.nameObjectAt(r.URL.Path))
		proxy.ServeHTTP(answer, r)
	}))
	t.Cleanup(front.Close)

	store, err := blob.S3(t.Context(), blob.S3Config{
		Endpoint: strings.TrimPrefix(front.URL, "http://"), Plaintext: true, Region: s3test.Region, Bucket: s3test.Bucket, AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}

	return store
}

// mailServer returns a sender to a mail server of the world, which takes every message.
func (w *slowWorld) mailServer(t testing.TB) mail.Sender {
	t.Helper()

	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	var talks sync.WaitGroup

	talks.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}

			talks.Go(func() { w.takeMail(context.WithoutCancel(t.Context()), c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()

		talks.Wait()
	})

	sender, err := mail.NewSMTP(mail.SMTPConfig{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, From: "books@example.com", Plain: true, //nolint:forcetypeassert // it is TCP
	})
	if err != nil {
		t.Fatal(err)
	}

	return sender
}

// takeMail answers one connection to the mail server. The content of a message waits.
func (w *slowWorld) takeMail(ctx context.Context, c net.Conn) {
	defer func() { _ = c.Close() }()

	say := func(line string) { _, _ = c.Write([]byte(line + "\r\n")) }
	said, inContent, to := bufio.NewScanner(c), false, ""

	say("220 ready")

	for said.Scan() {
		line := said.Text()

		switch {
		case inContent:
			if subject, is := strings.CutPrefix(line, "Subject: "); is {
				to = subject
			}

			if inContent = line != "."; !inContent {
				w.pass(ctx, "mail "+to)
				say("250 taken")
			}
		case strings.HasPrefix(line, "DATA"):
			inContent = true

			say("354 go on")
		case strings.HasPrefix(line, "QUIT"):
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// names is a name service of the world that knows no name. A call is named by the name that is asked for.
func (w *slowWorld) names() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()

		go func() {
			defer func() { _ = theirs.Close() }()

			if name, err := readQuestion(theirs); err == nil {
				w.pass(ctx, "names "+name)
			}
		}()

		return ours, nil
	}}
}

// readQuestion reads the name that a message to a name service asks for, which comes after the length of the message.
func readQuestion(r io.Reader) (string, error) {
	var length uint16
	if err := binary.Read(r, binary.BigEndian, &length); err != nil {
		return "", fmt.Errorf("read a question: %w", err)
	}

	message := make([]byte, length)
	if _, err := io.ReadFull(r, message); err != nil {
		return "", fmt.Errorf("read a question: %w", err)
	}

	var p dnsmessage.Parser
	if _, err := p.Start(message); err != nil {
		return "", fmt.Errorf("read a question: %w", err)
	}

	asked, err := p.Question()

	return asked.Name.String(), err //nolint:wrapcheck // nobody reads it
}
