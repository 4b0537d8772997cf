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

// Done answers that what was asked for is done.
func Done(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// Decode reads what a control request says; false when it has been refused.
func Decode(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControl))
	d.DisallowUnknownFields()

	if err := d.Decode(into); err != nil {
		Refuse(w, http.StatusBadRequest, "malformed")
		return false
	}

	return true
}

// ServeEvents waits for an event: query after (a sequence), point, waitSeconds (10 when absent, at most 60). 204 when
// none came.
func (l *Log[On]) ServeEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()

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

	ctx, stop := context.WithTimeout(r.Context(), time.Duration(min(seconds, 60))*time.Second)
	defer stop()

	e, err := l.Await(ctx, Point(q.Get("point")), after)
	if err != nil {
		Done(w)
		return
	}

	Write(w, http.StatusOK, e)
}
