package stage

import (
	"bytes"
	"compress/gzip"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Harm is a fault of the bytes of an answer, or of the headers around them. The request has taken effect.
type Harm string

// The harms. Sandboxes have modes with these names.
const (
	SlowBody    Harm = "slowBody"    // the answer drips
	HugeBody    Harm = "hugeBody"    // the answer does not end
	WrongType   Harm = "wrongType"   // the answer says that it is HTML
	InvalidUTF8 Harm = "invalidUtf8" // the answer is no text
	GzipBomb    Harm = "gzipBomb"    // the answer is small until it is unpacked
	Truncated   Harm = "truncated"   // the answer breaks off
)

// Send writes an answer, a JSON object, with a harm. Any other text than those above leaves the answer whole.
func (l *Log[On]) Send(w http.ResponseWriter, r *http.Request, harm Harm, content []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")

	switch harm {
	case WrongType:
		header.Set("Content-Type", "text/html")
	case InvalidUTF8:
		// Two bytes that UTF-8 never has, in the first field that is a text.
		content = bytes.Replace(content, []byte(`":"`), []byte("\":\"\xff\xfe"), 1)
	case HugeBody:
		// 20 MiB, more than any page has.
		content = append([]byte(`{"padding":"`+strings.Repeat("a", 20<<20)+`",`), content[1:]...)
	case GzipBomb:
		header.Set("Content-Encoding", "gzip")

		content = bomb()
	case Truncated:
		// The length is that of the whole answer, so that the client sees the end come too early.
		header.Set("Content-Length", strconv.Itoa(len(content)))
		content = content[:len(content)/2]
	case SlowBody:
		l.drip(w, r, content)
		return
	}

	_, _ = w.Write(content) // to a caller that may be gone
}

// drip sends an answer byte by byte, ten in a second.
func (l *Log[On]) drip(w http.ResponseWriter, r *http.Request, content []byte) {
	flusher := http.NewResponseController(w)
	for i := range content {
		if _, err := w.Write(content[i : i+1]); err != nil {
			return
		}

		_ = flusher.Flush() // A caller that is gone is noticed by the next byte.

		if r.Context().Err() != nil || !l.Pause(100*time.Millisecond) {
			return
		}
	}
}

// bomb returns an answer of 64 KiB that unpacks to 64 MiB.
var bomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer

	z := gzip.NewWriter(&packed)

	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range 64 {
		_, _ = z.Write(blank) // to memory
	}

	_ = z.Close()

	return packed.Bytes()
})

// Drop resets the connection without an answer. It does not return.
func Drop(w http.ResponseWriter) {
	// Only the owner of the connection can make Close send a reset, instead of ending it in good order.
	if hijacker, can := w.(http.Hijacker); can {
		if connection, _, err := hijacker.Hijack(); err == nil {
			if tcp, is := connection.(*net.TCPConn); is {
				_ = tcp.SetLinger(0) // Close resets.
			}

			_ = connection.Close()
		}
	}

	panic(http.ErrAbortHandler)
}

// Mislead redirects to the metadata of a cloud machine: a client must not be led into the inner network.
func Mislead(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
}
