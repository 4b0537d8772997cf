package connection_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
)

// Proves: LIM-08.
func TestACallerWaits25SecondsForAnApp(t *testing.T) {
	t.Parallel()

	for seconds, want := range map[int]error{24: nil, 26: apierr.GatewayTimeout} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := connection.Await(t.Context(), func(ctx context.Context) error {
				select {
				case <-time.After(time.Duration(seconds) * time.Second):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})

			if took := time.Since(began); !errors.Is(err, want) || took > 25*time.Second {
				t.Errorf("an app that needs %d seconds gives %v after %v", seconds, err, took)
			}
		})
	}
}
