package bankfeed

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"stayledger/provider/sandbox/stage"
)

// Fault is a failure that requests of one kind meet.
type Fault struct {
	Mode Mode `json:"mode"`
	// On is the kind of request that meets it; every call if empty.
	On On `json:"on,omitempty"`
	// Times is how many requests meet it; all until Reset if 0. Mutation counts only those that leave something to
	// move.
	Times int `json:"times,omitempty"`
	// DelayMS is how long requests are held, in milliseconds; until Release if 0.
	DelayMS int `json:"delayMs,omitempty"`
	// RetryAfter is the pause that a refusal of too many calls asks for, in seconds; none if absent.
	RetryAfter *int `json:"retryAfter,omitempty"`
	// Failure is the answer of Fail.
	Failure Failure `json:"failure,omitzero"`
}

// Mode is a kind of fault.
type Mode string

// The modes of calls.
const (
	HangBefore   Mode = "hangBefore"   // held before it takes effect
	HangAfter    Mode = "hangAfter"    // it takes effect, its answer is held
	Fail         Mode = "fail"         // the failure is the answer, without effect
	Internal     Mode = "internal"     // 500 as the protocol words it, without effect
	Page500      Mode = "page500"      // 500 as a proxy words it, without effect
	TooMany      Mode = "tooMany"      // 429
	DropBefore   Mode = "dropBefore"   // the connection is reset, without effect
	DropAfter    Mode = "dropAfter"    // it takes effect, the connection is reset
	SlowBody     Mode = "slowBody"     // it takes effect, its answer drips
	HugeBody     Mode = "hugeBody"     // it takes effect, its answer does not end
	WrongType    Mode = "wrongType"    // it takes effect, its answer says that it is HTML
	Redirect     Mode = "redirect"     // to the metadata of the machine, without effect
	InvalidUTF8  Mode = "invalidUtf8"  // it takes effect, its answer is no text
	GzipBomb     Mode = "gzipBomb"     // it takes effect, its answer is small until it is unpacked
	DuplicateIDs Mode = "duplicateIds" // it takes effect, rows and accounts of its answer come twice
	Truncated    Mode = "truncated"    // it takes effect, its answer breaks off
	Mutation     Mode = "mutation"     // a row changes after a page that is not the last one
)

// The modes of webhooks.
const (
	WrongAlgorithm Mode = "wrongAlgorithm" // signed with a shared secret that is the public key
	Mislabeled     Mode = "mislabeled"     // signed as it should be, under the name of another algorithm
	Extended       Mode = "extended"       // signed as it should be, with an extension that has to be understood
	Unsigned       Mode = "unsigned"       // the algorithm none
	Tampered       Mode = "tampered"       // the body changes after it was signed
	Forged         Mode = "forged"         // signed with another key under our key's name
	UnknownKey     Mode = "unknownKey"     // under the name of a key that the sandbox does not have
	Old            Mode = "old"            // signed ten minutes ago
	Replayed       Mode = "replayed"       // sent twice, the same bytes
	Foreign        Mode = "foreign"        // about an item that does not exist
)

// Enum lists the modes.
func (Mode) Enum() []string {
	return []string{
		string(HangBefore), string(HangAfter), string(Fail), string(Internal), string(Page500), string(TooMany),
		string(DropBefore), string(DropAfter), string(SlowBody), string(HugeBody), string(WrongType), string(Redirect),
		string(InvalidUTF8), string(GzipBomb), string(DuplicateIDs), string(Truncated), string(Mutation),
		string(WrongAlgorithm), string(Mislabeled), string(Extended), string(Unsigned), string(Tampered), string(Forged),
		string(UnknownKey), string(Old), string(Replayed), string(Foreign),
	}
}

// Break makes requests fail from now on. Faults of one kind of request take turns in the order in which they were
// added.
func (s *Server) Break(f Fault) { s.faults.Add(f.On, f.Times, f) }

// Release lets all requests continue that are held now.
func (s *Server) Release() { s.log.Release() }

// Reset removes all faults and lets held requests continue. Items, transactions and settings stay.
func (s *Server) Reset() {
	s.faults.Clear()
	s.Release()
}

// answerFault answers a call without its effect if the fault says so, and reports whether it did.
func (s *Server) answerFault(x *exchange) bool {
	switch x.fault.Mode { //nolint:exhaustive // The other modes let the call take effect.
	// The call is only late: after the wait it takes effect.
	case HangBefore:
		s.log.Hold(stage.HoldTime(x.fault.DelayMS), stage.HeldBefore, x.on, x.key)
		return false
	case DropBefore:
		s.drop(x)
	case Fail:
		s.fail(x, &x.fault.Failure)
	case Internal:
		s.fail(x, internal)

	// The words of a proxy, which a client must not take for the protocol's.
	case Page500:
		http.Error(x.w, "<html>Bad gateway</html>", http.StatusInternalServerError)
	case TooMany:
		if x.fault.RetryAfter != nil {
			x.w.Header().Set("Retry-After", strconv.Itoa(*x.fault.RetryAfter))
		}

		s.fail(x, tooMany)

	case Redirect:
		// The address of a cloud machine's metadata: a client must not be led into the inner network.
		http.Redirect(x.w, x.r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
	default:
		return false
	}

	return true
}

// breakAfter holds a call, or ends its connection, after it has taken effect.
func (s *Server) breakAfter(x *exchange) {
	switch x.fault.Mode { //nolint:exhaustive // The other modes change the answer.
	case HangAfter:
		s.log.Hold(stage.HoldTime(x.fault.DelayMS), stage.HeldAfter, x.on, x.key)
	case DropAfter:
		s.drop(x)
	}
}

// drop resets the connection without an answer.
func (s *Server) drop(x *exchange) {
	s.log.Reach(stage.Dropped, x.on, x.key)

	// Only the owner of the connection can make Close send a reset, instead of ending it in good order.
	if hijacker, can := x.w.(http.Hijacker); can {
		if connection, _, err := hijacker.Hijack(); err == nil {
			if tcp, is := connection.(*net.TCPConn); is {
				_ = tcp.SetLinger(0) // Close resets.
			}

			_ = connection.Close()
		}
	}

	panic(http.ErrAbortHandler)
}

// writeAnswer writes the answer of a successful call, changed as the fault says.
func (s *Server) writeAnswer(x *exchange, answer map[string]any) {
	// This fault changes rows, so it comes before the answer is encoded.
	if x.fault.Mode == DuplicateIDs {
		for _, list := range []string{"added", "modified", "removed", "accounts"} {
			if rows, has := answer[list].([]any); has {
				answer[list] = append(rows, rows...)
			}
		}
	}

	// The other faults change the bytes or the headers.
	content, err := json.Marshal(answer)
	if err != nil {
		s.fail(x, internal)
		return
	}

	header := x.w.Header()
	header.Set("Content-Type", "application/json")

	switch x.fault.Mode { //nolint:exhaustive // The other modes leave the answer as it is.
	case WrongType:
		header.Set("Content-Type", "text/html")
	case InvalidUTF8:
		// Two bytes that UTF-8 never has, in a field of every answer.
		content = bytes.Replace(content, []byte(`"request_id":"`), []byte("\"request_id\":\"\xff\xfe"), 1)
	case HugeBody:
		// 20 MiB, more than any page of transactions has.
		content = append([]byte(`{"padding":"`+strings.Repeat("a", 20<<20)+`",`), content[1:]...)
	case GzipBomb:
		header.Set("Content-Encoding", "gzip")

		content = bomb()
	case Truncated:
		// The length is that of the whole answer, so that the client sees the end come too early.
		header.Set("Content-Length", strconv.Itoa(len(content)))
		content = content[:len(content)/2]
	case SlowBody:
		s.drip(x, content)
		return
	}

	_, _ = x.w.Write(content) // to a caller that may be gone
}

// drip sends an answer byte by byte, ten in a second.
func (s *Server) drip(x *exchange, content []byte) {
	flusher := http.NewResponseController(x.w)
	for i := range content {
		if _, err := x.w.Write(content[i : i+1]); err != nil {
			return
		}

		_ = flusher.Flush() // A caller that is gone is noticed by the next byte.

		if x.r.Context().Err() != nil || !s.log.Pause(100*time.Millisecond) {
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
