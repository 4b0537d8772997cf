package hostile_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"stayledger/platform/hostile"
)

func Example() {
	for name := range hostile.Answers("application/json") {
		if name == "endless body" {
			fmt.Println("a body that does not end")
		}
	}
	// Output: a body that does not end
}

// Each answer does its harm to a client without bounds: it does not end in time, or cannot be read to its end.
func TestAnswersDoHarm(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	for name, answer := range hostile.Answers("application/json") { //nolint:paralleltest // It counts what the process allocates.
		if name == "page" {
			continue // which ends
		}

		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer stop()

			r, err := http.NewRequestWithContext(ctx, http.MethodGet, hostile.Serve(t, answer), nil)
			if err != nil {
				t.Fatal(err)
			}

			answer, err := http.DefaultClient.Do(r)
			if err == nil {
				defer func() { _ = answer.Body.Close() }()

				_, err = io.Copy(io.Discard, answer.Body)
			}

			if err == nil {
				t.Error("the answer ended")
			}
		})
	}
}
