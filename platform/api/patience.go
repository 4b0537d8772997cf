package api

import (
	"net/http"
	"time"
)

const (
	// A client may take writePatience to read the next stretch of an answer.
	writePatience = 30 * time.Second
	writeStretch  = 64 << 10
)

// patient writes an answer a stretch at a time and gives up a client that takes too long to read one: whoever asks and
// does not read would keep the answer in memory and the connection open. One that reads slowly gets everything, however
// long that takes.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
}

func newPatient(w http.ResponseWriter, within time.Duration) *patient {
	if within == 0 {
		within = writePatience
	}

	return &patient{ResponseWriter: w, control: http.NewResponseController(w), within: within}
}

// Unwrap lets the controllers of deadlines reach the connection.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// wait starts the time for the next stretch. A writer without deadlines, as tests have, has no reader to wait for.
func (p *patient) wait() { _ = p.control.SetWriteDeadline(time.Now().Add(p.within)) }

// Write sends the bytes and fails when they are not read.
func (p *patient) Write(b []byte) (int, error) {
	sent := 0

	for {
		p.wait()

		n, err := p.ResponseWriter.Write(b[sent:min(sent+writeStretch, len(b))])
		if sent += n; err != nil || sent == len(b) {
			return sent, err //nolint:wrapcheck // a writer's own
		}
	}
}
