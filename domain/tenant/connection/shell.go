package connection

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
)

// Shell is a connection from the export of another product.
type Shell struct {
	UniqueRef   string
	AppID       AppID
	Name        string
	Settings    json.RawMessage
	Credentials json.RawMessage
}

// AddShell inserts a connection as it was elsewhere, without asking its app. It does nothing if a connection has this
// reference.
func AddShell(ctx context.Context, tx *db.Tx, box *seal.Box, s *Shell) error {
	exists, err := db.Get[bool](ctx, tx, `select exists (select from connection where team_id = @team and unique_ref = @ref)`,
		db.Args{"team": tx.Team, "ref": s.UniqueRef})
	if err != nil || exists {
		return err
	}

	made := tx.NewID()
	c := &Connection{
		ID: made, ShortRef: made.ShortRef(), UniqueRef: &s.UniqueRef, AppID: s.AppID, Name: s.Name, Status: Active,
		Settings: s.Settings,
	}

	if len(c.Settings) == 0 {
		c.Settings = json.RawMessage(`{}`)
	}

	if len(s.Credentials) > 0 {
		c.Credentials = box.Seal(s.Credentials, sealLabel(made))
	}

	if err := insert(ctx, tx, c); err != nil {
		return err
	}

	audit.Note(tx, audit.Created, audit.Connection, c.ID, nil, auditView(c))

	return nil
}

// Move copies the connections of another team into the team of the transaction and returns the new ids by the old ids.
// With credentials, the new connections get the credentials, the old ones lose them, and a job reads each app once.
// Without, the new connections are disabled (MIG-10, MIG-12, MIG-13, MIG-14).
func Move(ctx context.Context, tx *db.Tx, box *seal.Box, from id.ID, credentials bool) (map[id.ID]id.ID, error) {
	var found []Connection

	here := tx.Team
	out := map[id.ID]id.ID{}

	// Lock the connections of the old team, and take their credentials away: an app must not be read for two teams.
	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[Connection](ctx, tx, `select `+columns+` from connection c where c.team_id = @from order by c.id for update of c`,
			db.Args{"from": from})
		if err != nil || !credentials {
			return err
		}

		_, err = tx.Exec(ctx, `
			update connection set credentials = null, status = case when status = 'archived' then status else 'disabled' end, is_sync_enabled = false,
				next_sync_at = null, connected_at = null, updated_at = @now
			where team_id = @from and credentials is not null`, db.Args{"from": from, "now": tx.Now})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the connections to move: %w", err)
	}

	// Then insert a copy of each. Credentials are sealed again, because the label has the id of the connection.
	for i := range found {
		old := &found[i]
		c := *old
		c.ID = tx.NewID()
		c.ShortRef, out[old.ID] = c.ID.ShortRef(), c.ID

		switch {
		case !credentials:
			if c.Credentials = nil; c.Status != Archived {
				c.Status = Disabled
			}
		case old.Credentials != nil:
			plain, err := old.OpenCredentials(box)
			if err != nil {
				return nil, err
			}

			c.Credentials = box.Seal(plain, sealLabel(c.ID))

			stripped := *old
			stripped.Credentials, stripped.Status = nil, Disabled
			audit.NoteIn(tx, from, audit.Updated, audit.Connection, old.ID, auditView(old), auditView(&stripped))
		}

		if err := insert(ctx, tx, &c); err != nil {
			return nil, err
		}

		audit.NoteIn(tx, here, audit.Created, audit.Connection, c.ID, nil, auditView(&c))

		if c.Status == Active && c.Credentials != nil {
			if err := job.Insert(ctx, tx, job.New{Kind: readKind, Args: jobArgs{ConnectionID: c.ID}}); err != nil {
				return nil, err
			}
		}
	}

	return out, nil
}
