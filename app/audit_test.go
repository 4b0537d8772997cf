package app_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/proof"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/world"
)

// What an operator does: seal and verify, find out what somebody changed, and insist on the key that was published.
func TestOperatorsVerifyTheTrail(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	w := world.In(t, d)
	owner := w.Contact("owner", "Ada")

	c := &app.Config{DataDir: t.TempDir(), SecretKeys: []string{base64.StdEncoding.EncodeToString(world.Keys)}}
	verify := func(key string, seal bool) *proof.Report {
		t.Helper()

		log, err := app.AuditLog(t.Context(), c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}

		if seal {
			if err := log.SealNow(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}

		r, err := log.Verify(t.Context(), d, key)
		if err != nil {
			t.Fatal(err)
		}

		return r
	}

	if r := verify("", false); len(r.Findings) != 0 || r.Events != 0 || r.Verifier != "" {
		t.Errorf("before anything is sealed: %+v", r)
	}

	sealed := verify("", true)
	if len(sealed.Findings) != 0 || sealed.Events == 0 || sealed.Checkpoints != 1 {
		t.Errorf("sealed: %+v", sealed)
	}

	if r := verify(sealed.Verifier, false); len(r.Findings) != 0 {
		t.Errorf("with the published key: %+v", r)
	}

	if r := verify(strings.Replace(sealed.Verifier, "/", "/x", 1), false); len(r.Findings) != 1 || r.Findings[0].Kind != proof.CheckpointDiffers {
		t.Errorf("with another key: %+v", r)
	}

	// After a rotation of the secret keys the log is signed with the same key.
	c.SecretKeys = append([]string{base64.StdEncoding.EncodeToString([]byte("another key of thirty-two bytes!"))}, c.SecretKeys...)
	if err := app.Reseal(t.Context(), d, c, func(app.Resealed) error { return nil }); err != nil {
		t.Fatal(err)
	}

	c.SecretKeys = c.SecretKeys[:1]

	if r := verify("", false); len(r.Findings) != 0 || r.Verifier != sealed.Verifier {
		t.Errorf("after a rotation: %+v", r)
	}

	err = d.Write(t.Context(), db.AcrossTeams(), apitest.SetUp(func(ctx context.Context, tx *db.Tx) error {
		for _, sql := range []string{
			`alter table audit_event disable trigger user`,
			`update audit_event set entity_name = 'Eve' where entity_name = 'Ada'`,
			`alter table audit_event enable trigger user`,
		} {
			if _, err := tx.Exec(ctx, sql, nil); err != nil {
				return err
			}
		}

		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}

	if r := verify("", false); len(r.Findings) == 0 || r.Findings[0].Kind != proof.Changed || r.Findings[0].Team != w.ID {
		t.Errorf("the name of %s was changed: %+v", owner, r)
	}
}
