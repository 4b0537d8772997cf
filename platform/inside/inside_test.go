package inside_test

import (
	"context"
	"errors"
	"testing"

	"stayledger/platform/inside"
)

func TestATransactionIsKnownByItsContext(t *testing.T) {
	t.Parallel()

	within, end := context.WithCancel(inside.Transaction(t.Context()))
	defer end()

	if err := inside.Check(within); !errors.Is(err, inside.ErrTransaction) {
		t.Errorf("inside: %v", err)
	}

	if err := inside.Check(t.Context()); err != nil {
		t.Errorf("outside: %v", err)
	}
}
