package hostaway

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"stayledger/provider/sandbox/stage"
)

// Fault is a failure that requests of one kind meet.
type Fault struct {
	Mode Mode `json:"mode"`
	// On is the kind of request that meets it; every call if empty.
	On On `json:"on,omitempty"`
	// Times is how many requests meet it; all until Reset if 0.
	Times int `json:"times,omitempty"`
	// DelayMS is how long requests are held, in milliseconds; until Release if 0.
	DelayMS int `json:"delayMs,omitempty"`
	// RetryAfter is the pause that a refusal of too many calls asks for, in seconds; none if absent, as the system
	// does.
	RetryAfter *int `json:"retryAfter,omitempty"`
}

// Mode is a kind of fault.
type Mode string

// The modes of calls.
const (
	HangBefore  Mode = "hangBefore" // held before it takes effect
	HangAfter   Mode = "hangAfter"  // it takes effect, its answer is held
	Page500     Mode = "page500"    // 500 as a proxy words it, without effect
	TooMany     Mode = "tooMany"    // 429
	Refused     Mode = "refused"    // 403, and the token is not good any more
	Fails       Mode = "fails"      // 200 that says that the call failed
	DropBefore  Mode = "dropBefore" // the connection is reset, without effect
	DropAfter   Mode = "dropAfter"  // it takes effect, the connection is reset
	SlowBody    Mode = Mode(stage.SlowBody)
	HugeBody    Mode = Mode(stage.HugeBody)
	WrongType   Mode = Mode(stage.WrongType)
	InvalidUTF8 Mode = Mode(stage.InvalidUTF8)
	GzipBomb    Mode = Mode(stage.GzipBomb)
	Truncated   Mode = Mode(stage.Truncated)
	Redirect    Mode = "redirect" // to the metadata of the machine, without effect
)

// The modes of pages.
const (
	DuplicateIDs Mode = "duplicateIds" // the rows of the page come twice
	SamePage     Mode = "samePage"     // where the page begins is not listened to
	Unreadable   Mode = "unreadable"   // the first row is not of the form
	Shift        Mode = "shift"        // the first row of the page changes behind it, and so comes again
	Jump         Mode = "jump"         // the last row changes behind it, so that the next page begins behind all others
	TextNumbers  Mode = "textNumbers"  // numbers are texts
	FiveDecimals Mode = "fiveDecimals" // amounts have five decimals, of which three are beyond a cent
	SurplusDay   Mode = "surplusDay"   // a change of the calendar reaches a day more
)

// The modes of messages.
const (
	Forged   Mode = "forged"   // with another password
	Unsigned Mode = "unsigned" // without a password
	Twice    Mode = "twice"    // sent twice, the same bytes
	Lost     Mode = "lost"     // not sent
)

// Enum lists the modes.
func (Mode) Enum() []string {
	return []string{
		string(HangBefore), string(HangAfter), string(Page500), string(TooMany), string(Refused), string(Fails),
		string(DropBefore), string(DropAfter), string(SlowBody), string(HugeBody), string(WrongType),
		string(InvalidUTF8), string(GzipBomb), string(Truncated), string(Redirect), string(DuplicateIDs),
		string(SamePage), string(Unreadable), string(Shift), string(Jump), string(TextNumbers), string(FiveDecimals),
		string(SurplusDay), string(Forged), string(Unsigned), string(Twice), string(Lost),
	}
}

// Break makes requests fail from now on. Faults of one kind of request take turns in the order in which they were
// added.
func (s *Server) Break(f Fault) { s.faults.Add(f.On, f.Times, f) }

// Release lets all requests continue that are held now.
func (s *Server) Release() { s.log.Release() }

// Reset removes all faults and lets held requests continue. Rows and settings stay.
func (s *Server) Reset() {
	s.faults.Clear()
	s.Release()
}

// answerFault answers a call without its effect if the fault says so, and reports whether it did.
func (s *Server) answerFault(x *exchange) bool {
	switch x.fault.Mode { //nolint:exhaustive // The other modes let the call take effect.
	// The call is only late: after the wait it takes effect.
	case HangBefore:
		s.log.Hold(stage.HoldTime(x.fault.DelayMS), stage.HeldBefore, x.on, x.key())
		return false
	case DropBefore:
		s.drop(x)

	// The words of a proxy, which a client must not take for the system's.
	case Page500:
		http.Error(x.w, "<html>Bad gateway</html>", http.StatusInternalServerError)
	case TooMany:
		if x.fault.RetryAfter != nil {
			x.w.Header().Set("Retry-After", strconv.Itoa(*x.fault.RetryAfter))
		}

		s.fail(x, tooMany)
	case Refused:
		s.revokeTokens()
		s.fail(x, badToken)
	case Fails:
		s.fail(x, &Failure{http.StatusOK, "Something went wrong"})
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
		s.log.Hold(stage.HoldTime(x.fault.DelayMS), stage.HeldAfter, x.on, x.key())
	case DropAfter:
		s.drop(x)
	}
}

// drop resets the connection without an answer.
func (s *Server) drop(x *exchange) {
	s.log.Reach(stage.Dropped, x.on, x.key())
	stage.Drop(x.w)
}

// spoil changes an answer as the fault of the call says.
func (s *Server) spoil(x *exchange, out Object) Object {
	page, isPage := out["result"].([]Object)

	switch x.fault.Mode { //nolint:exhaustive // The other modes do not change answers.
	case TextNumbers:
		out["result"] = plain(out["result"], func(n string) any { return n })
	case FiveDecimals:
		out["result"] = lengthen(plain(out["result"], func(n string) any { return number(n) }))
	case DuplicateIDs:
		out["result"] = slices.Concat(page, page)
	case Unreadable:
		if isPage && len(page) > 0 {
			page[0] = Object{"id": page[0]["id"], "status": "unheardOf", "name": 5, "arrivalDate": "soon"}
		}
	case Shift:
		if len(page) > 0 {
			s.touch(fmt.Sprint(page[0]["id"]))
		}
	case Jump:
		if len(page) > 0 {
			s.touch(fmt.Sprint(page[len(page)-1]["id"]))
		}
	}

	return out
}
