package bankfeed

import (
	"encoding/json"
	"net/http"
	"strconv"

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
	HangBefore   Mode = "hangBefore"            // held before it takes effect
	HangAfter    Mode = "hangAfter"             // it takes effect, its answer is held
	Fail         Mode = "fail"                  // the failure is the answer, without effect
	Internal     Mode = "internal"              // 500 as the protocol words it, without effect
	Page500      Mode = "page500"               // 500 as a proxy words it, without effect
	TooMany      Mode = "tooMany"               // 429
	DropBefore   Mode = "dropBefore"            // the connection is reset, without effect
	DropAfter    Mode = "dropAfter"             // it takes effect, the connection is reset
	SlowBody     Mode = Mode(stage.SlowBody)    // it takes effect, its answer drips
	HugeBody     Mode = Mode(stage.HugeBody)    // it takes effect, its answer does not end
	WrongType    Mode = Mode(stage.WrongType)   // it takes effect, its answer says that it is HTML
	Redirect     Mode = "redirect"              // to the metadata of the machine, without effect
	InvalidUTF8  Mode = Mode(stage.InvalidUTF8) // it takes effect, its answer is no text
	GzipBomb     Mode = Mode(stage.GzipBomb)    // it takes effect, its answer is small until it is unpacked
	DuplicateIDs Mode = "duplicateIds"          // it takes effect, rows and accounts of its answer come twice
	Truncated    Mode = Mode(stage.Truncated)   // it takes effect, its answer breaks off
	Mutation     Mode = "mutation"              // a row changes after a page that is not the last one
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
		string(WrongAlgorithm), string(Mislabeled), string(Extended), string(Unsigned), string(Tampered),
		string(Forged), string(UnknownKey), string(Old), string(Replayed), string(Foreign),
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
		stage.Mislead(x.w, x.r)
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
	stage.Drop(x.w)
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

	content, err := json.Marshal(answer)
	if err != nil {
		s.fail(x, internal)
		return
	}

	// The other faults of answers change the bytes or the headers.
	s.log.Send(x.w, x.r, stage.Harm(x.fault.Mode), content)
}
