package file

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func insertAttachment(ctx context.Context, tx *db.Tx, file id.ID, ownerAccessible bool) error {
	_, err := tx.Exec(ctx, `
		insert into transaction_attachment (team_id, id, is_owner_accessible, created_at, updated_at) values (@team, @id, @accessible, @now, @now)`,
		db.Args{"team": tx.Team, "id": file, "accessible": ownerAccessible, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("insert an attachment: %w", err)
	}
	return nil
}

// attachment gives an attachment of the team, or apierr.NotFound: to an owner also when it is not meant for him or her.
func attachment(ctx context.Context, tx *db.Tx, file id.ID) (*TransactionAttachment, error) {
	args := db.Args{"team": tx.Team, "id": file}
	a, err := db.Get[TransactionAttachment](ctx, tx, `
		select a.id, a.transaction_id, f.filename, f.content_type, f.byte_size, a.is_owner_accessible
		from transaction_attachment a join file f on f.team_id = a.team_id and f.id = a.id
		where a.team_id = @team and a.id = @id`+toActor(tx, args), args)
	if errors.Is(err, db.ErrNoRows) {
		return nil, apierr.NotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read an attachment: %w", err)
	}
	return &a, nil
}

// findAttachment is find for attachments alone.
func findAttachment(ctx context.Context, tx *db.Tx, file id.ID) (*row, error) {
	r, err := find(ctx, tx, file)
	if err == nil && r.Kind != Attachment {
		return nil, apierr.NotFound
	}
	return r, err
}

func openToOwners(ctx context.Context, tx *db.Tx, file id.ID, open bool) error {
	n, err := tx.Exec(ctx, `
		update transaction_attachment set is_owner_accessible = @open, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": file, "open": open, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("change an attachment: %w", err)
	}
	if n == 0 {
		return apierr.NotFound
	}
	return nil
}

// removeAttachment deletes an attachment with its file. What is left to remove the content by is a draft that is old enough for the sweep.
func removeAttachment(ctx context.Context, tx *db.Tx, file id.ID) error {
	_, err := db.Get[id.ID](ctx, tx, `
		with gone as (
			delete from file f where f.team_id = @team and f.id = @id and f.kind = 'attachment' returning f.id, f.blob_key, f.purged_at
		), draft as (
			insert into file_draft (team_id, id, blob_key, created_at)
			select @team, id, blob_key, @abandoned from gone where purged_at is null)
		select id from gone`, db.Args{"team": tx.Team, "id": file, "abandoned": tx.Now.Add(-draftAge)})
	if errors.Is(err, db.ErrNoRows) {
		return apierr.NotFound
	}
	if err != nil {
		return fmt.Errorf("delete an attachment: %w", err)
	}
	return nil
}
