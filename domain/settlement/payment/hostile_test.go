package payment_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/hostile"
)

// endless is a body that never ends.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("["), len(p))), nil }

// Anybody can call the address for callbacks: a body without an end is refused, and of one that is not signed nothing is
// read, whatever is wrong with it.
func TestHostileCallbacksAreBounded(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	w := newTill(t)
	path := "/payment-callbacks/" + w.connection.String()

	hostile.Bound(t, 10*time.Second, 16<<20, func() {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, io.NopCloser(endless{}))
		r.Header.Set("Content-Type", "application/json")

		answer := httptest.NewRecorder()
		w.Server().ServeHTTP(answer, r)

		if answer.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("answered %d %s", answer.Code, answer.Body)
		}
	})

	for _, body := range []string{"", "{", "[[[[", `{"type":1}`, "\xff\x00"} {
		w.Post(path, body, "webhook-id", "m", "webhook-timestamp", "1", "webhook-signature", "v1,x").WantError(apierr.CodeUnauthorized, "")
	}
}
