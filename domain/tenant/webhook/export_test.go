package webhook

import (
	"context"
	"log/slog"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// SendDue makes the messages of what has happened and sends those that are due, once.
func (c Config) SendDue(t testing.TB, d *db.DB) {
	t.Helper()

	s := &sender{
		Config: c, db: d, log: slog.New(slog.NewTextHandler(t.Output(), nil)), client: outbound.Client(c.Private), freed: make(chan struct{}, 1),
		busy: map[id.ID]*receiver{},
	}

	if err := s.runOnce(t.Context(), context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}

	s.calls.Wait()
}
