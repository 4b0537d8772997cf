package webhook

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

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

// AgeFormer lets time pass for the former secrets of a webhook.
func (c Config) AgeFormer(ctx context.Context, tx *db.Tx, webhook id.ID, by time.Duration) error {
	w, err := lock(ctx, tx, webhook)
	if err != nil {
		return err
	}

	former, err := c.openFormer(webhook, w.FormerSecrets, tx.Now)
	if err != nil {
		return err
	}

	for i := range former {
		former[i].Until = former[i].Until.Add(-by)
	}

	text, err := json.Marshal(former)
	if err != nil {
		return err
	}

	_, err = tx.Exec(ctx, `update webhook set former_secrets = @former where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": webhook, "former": c.Box.Seal(text, label(webhook))})

	return err
}
