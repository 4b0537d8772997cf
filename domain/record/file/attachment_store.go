package file

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/audit"
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

// attachment returns an attachment of the team. It fails with apierr.NotFound, for an owner also if the attachment
// is not open to owners.
func attachment(ctx context.Context, tx *db.Tx, file id.ID) (*TransactionAttachment, error) {
	args := db.Args{"team": tx.Team, "id": file}

	a, err := db.One[TransactionAttachment](ctx, tx, apierr.NotFound, `
		select a.id, a.transaction_id, f.filename, f.content_type, f.byte_size, a.is_owner_accessible
		from transaction_attachment a join file f on f.team_id = a.team_id and f.id = a.id
		where a.team_id = @team and a.id = @id`+readableSQL(tx, args), args)
	if err != nil {
		return nil, fmt.Errorf("read an attachment: %w", err)
	}

	return &a, nil
}

// findAttachment returns the row of an attachment as find does. Other files are not found.
func findAttachment(ctx context.Context, tx *db.Tx, file id.ID) (*row, error) {
	r, err := find(ctx, tx, file)
	if err == nil && r.Kind != Attachment {
		return nil, apierr.NotFound
	}

	return r, err
}

// openToOwners sets whether owners can read an attachment. It fails with 404 for one that does not exist.
func openToOwners(ctx context.Context, tx *db.Tx, file id.ID, open bool) error {
	type view struct {
		IsOwnerAccessible bool `json:"isOwnerAccessible"`
	}

	was, err := db.One[bool](ctx, tx, apierr.NotFound, `
		update transaction_attachment a set is_owner_accessible = @open, updated_at = @now from transaction_attachment o
		where a.team_id = @team and a.id = @id and o.team_id = a.team_id and o.id = a.id returning o.is_owner_accessible`,
		db.Args{"team": tx.Team, "id": file, "open": open, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("change an attachment: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.File, file, view{was}, view{open})

	return nil
}

// removeAttachment deletes an attachment with its file. The sweep then deletes the content.
func removeAttachment(ctx context.Context, tx *db.Tx, file id.ID) error {
	name, err := db.One[string](ctx, tx, apierr.NotFound, `
		with gone as (
			delete from file f where f.team_id = @team and f.id = @id and f.kind = 'attachment' returning f.id, f.blob_key, f.purged_at, f.filename
		), draft as (
			insert into file_draft (team_id, id, blob_key, created_at, doomed_at)
			select @team, id, blob_key, @now, @now from gone where purged_at is null)
		select filename from gone`, db.Args{"team": tx.Team, "id": file, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("delete an attachment: %w", err)
	}

	audit.Note(tx, audit.Deleted, audit.File, file, map[string]string{"name": name}, nil)

	return nil
}

// NoteAttached notes which attachments a transaction took on and which it gave up.
func NoteAttached(tx *db.Tx, transaction id.ID, before, after []id.ID) {
	type view struct {
		TransactionID id.ID `json:"transactionId"`
	}

	note := func(file id.ID, was, now any) {
		audit.Note(tx,
			audit.Updated,
			audit.File,
			file,
			was,
			now,
			audit.Ref(audit.RoleParent, audit.Transaction, transaction),
		)
	}
	for _, file := range before {
		if !slices.Contains(after, file) {
			note(file, view{transaction}, nil)
		}
	}

	for _, file := range after {
		if !slices.Contains(before, file) {
			note(file, nil, view{transaction})
		}
	}
}

// HoldAttachments locks uploaded attachments, so that only the first of two transactions that want the same one
// gets it. It returns the transaction that each is linked to, or the zero id for none. Attachments that the team
// does not have, or that were purged, are absent.
func HoldAttachments(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]id.ID, error) {
	known, err := db.Select[id.ID](ctx, tx, `
		select id from file where team_id = @team and id = any(@ids) and kind = 'attachment' and purged_at is null
			and (purge_at is null or purge_at > @now) order by id for update`, db.Args{"team": tx.Team, "ids": ids, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("lock attachments: %w", err)
	}

	// Read the links in a second statement, so that it sees what the transaction before had committed when the
	// locks were granted.
	type link struct{ ID, TransactionID id.ID }

	links, err := db.Select[link](ctx, tx, `select id, transaction_id from transaction_attachment where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": known})
	if err != nil {
		return nil, fmt.Errorf("read attachments: %w", err)
	}

	// Every locked attachment has an entry, linked or not.
	holder := make(map[id.ID]id.ID, len(known))
	for _, v := range known {
		holder[v] = id.Zero
	}

	for _, l := range links {
		holder[l.ID] = l.TransactionID
	}

	return holder, nil
}

// Attach returns the statements that give a transaction exactly these attachments, in this order.
func Attach(tx *db.Tx, transaction id.ID, attachments []id.ID) []db.Stmt {
	stmts := []db.Stmt{Detach(tx, transaction, attachments)}
	if len(attachments) == 0 {
		return stmts
	}

	return append(stmts, db.Stmt{
		SQL: `
		with linked as (
			insert into transaction_attachment (team_id, id, transaction_id, position, created_at, updated_at)
			select @team, a.id, @transaction, min(a.n), @now, @now from unnest(@ids::uuid[]) with ordinality as a (id, n) group by a.id
			on conflict (team_id, id) do update set transaction_id = excluded.transaction_id, position = excluded.position, updated_at = excluded.updated_at
			returning id)
		update file f set purge_at = null from linked where f.team_id = @team and f.id = linked.id and f.purge_at is not null`,
		Args: db.Args{"team": tx.Team, "transaction": transaction, "ids": attachments, "now": tx.Now},
	})
}

// Detach returns the statement that frees the attachments of a transaction, except the given ones. Freed
// attachments are purged in time.
func Detach(tx *db.Tx, transaction id.ID, but []id.ID) db.Stmt {
	return db.Stmt{
		SQL: `
		with freed as (
			update transaction_attachment set transaction_id = null, updated_at = @now
			where team_id = @team and transaction_id = @transaction and id <> all(@but) returning id)
		update file f set purge_at = @purge from freed where f.team_id = @team and f.id = freed.id`,
		Args: db.Args{
			"team":        tx.Team,
			"transaction": transaction,
			"but":         but,
			"now":         tx.Now,
			"purge":       tx.Now.Add(KeepUnlinked),
		},
	}
}
