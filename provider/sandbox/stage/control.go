package stage

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const maxControl = 64 << 20 // bytes of a request to the control; a test adds many rows at once

// Write answers with a value as JSON.
func Write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to a caller that may be gone
}

// Refuse answers with the code of a failure.
func Refuse(w http.ResponseWriter, status int, code string) {
	Write(w, status, map[string]any{"error": map[string]string{"code": code}})
}

// Done answers that the request was carried out.
func Done(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// Decode reads the body of a control request. It returns false if the body is malformed; then the answer has been
// written.
func Decode(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControl))

	// A misspelled field would be ignored, and the test with it would prove nothing.
	d.DisallowUnknownFields()

	if err := d.Decode(into); err != nil {
		Refuse(w, http.StatusBadRequest, "malformed")
		return false
	}

	return true
}

// ServeEvents waits for an event and answers with it. The query has after (a sequence number), point, and
// waitSeconds (10 if absent, at most 60). It answers 204 if no event came.
func (l *Log[On]) ServeEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()

	// First, the numbers of the query; the point is a text.
	after, seconds := 0, 10
	for name, into := range map[string]*int{"after": &after, "waitSeconds": &seconds} {
		if text := q.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				Refuse(w, http.StatusBadRequest, "malformed")
				return
			}

			*into = n
		}
	}

	// Then wait. The limit keeps a forgotten request from waiting for ever.
	ctx, stop := context.WithTimeout(r.Context(), time.Duration(min(seconds, 60))*time.Second)
	defer stop()

	e, err := l.Await(ctx, Point(q.Get("point")), after)
	if err != nil {
		Done(w)
		return
	}

	Write(w, http.StatusOK, e)
}
