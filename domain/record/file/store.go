package file

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// row is a file as stored.
type row struct {
	File
	SHA256   []byte
	BlobKey  string
	PurgedAt *day.Instant
}

// ofOwner is the condition that an owner may read file f: it is an attachment that the manager opened to owners, of an
// expense on a statement that the owner sees. That is a published statement of an ownership with the owner as a member,
// or a draft if the team shows drafts: of a month that has begun, from the start of the team's statements, without a
// saved or imported statement. The lists of package statement follow the same rule.
const ofOwner = ` and exists (
		select from transaction_attachment a
		join transaction x on x.team_id = a.team_id and x.id = a.transaction_id and x.type = 'expense' and x.status = 'active'
		join ledger_entry e on e.team_id = x.team_id and e.transaction_id = x.id and e.party = 'owners'
		join listing_ownership_member m on m.team_id = e.team_id and m.period_id = e.ownership_period_id and m.contact_id = @owner
		join team t on t.id = a.team_id
		left join statement s on s.team_id = e.team_id and s.id = e.statement_id
		where a.team_id = f.team_id and a.id = f.id and a.is_owner_accessible
		and not exists (select from account_assignment n
			where n.team_id = e.team_id and n.account_id = e.account_id and n.assignment in ('openingBalance', 'payout_distribution'))
		and (s.status = 'published' or e.statement_id is null and t.owner_portal_show_draft_statements and e.status = 'active'
			and e.ledger in ('trust', 'operating') and e.txn_at <= @last_day
			and e.txn_at >= coalesce(date_trunc('month', t.statement_start_at::timestamp)::date, e.txn_at)
			and not exists (select from statement other
				where other.team_id = e.team_id and other.ownership_period_id = e.ownership_period_id and other.currency = e.currency
				and date_trunc('month', e.txn_at::timestamp) between date_trunc('month', other.start_at::timestamp)
					and case when other.imported then other.end_at else other.start_at end)))`

// find returns a file of the team. It fails with apierr.NotFound, for an owner also if the file is not meant for
// owners.
func find(ctx context.Context, tx *db.Tx, file id.ID) (*row, error) {
	args := db.Args{"team": tx.Team, "id": file}
	condition := readableSQL(tx, args)

	r, err := db.One[row](ctx, tx, apierr.NotFound, `
		select f.id, f.kind, f.filename, f.content_type, f.byte_size, f.created_at, f.purge_at, f.sha256, f.blob_key, f.purged_at
		from file f where f.team_id = @team and f.id = @id`+condition, args)
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", err)
	}

	return &r, nil
}

// readableSQL returns the condition that the actor may read file f, and adds its arguments.
func readableSQL(tx *db.Tx, args db.Args) string {
	if tx.Actor.Owner == nil {
		// An archive shows what no single record does, so it takes what deleting the team takes.
		if tx.Actor.Has("team:execute") {
			return ""
		}

		return ` and f.kind <> 'archive'`
	}

	args["owner"], args["last_day"] = *tx.Actor.Owner, tx.Today().LastOfMonth()

	return ofOwner
}

func insertDraft(ctx context.Context, tx *db.Tx, file id.ID, key string) error {
	_, err := tx.Exec(ctx, `insert into file_draft (team_id, id, blob_key, created_at) values (@team, @id, @key, @now)`,
		db.Args{"team": tx.Team, "id": file, "key": key, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("draft a file: %w", err)
	}

	return nil
}

// Insert inserts the row of stored bytes in place of their draft. It fails if the bytes were swept, which happens
// after a day.
func Insert(ctx context.Context, tx *db.Tx, n New) (*File, error) {
	f := &File{
		ID:          n.ID,
		Kind:        n.Kind,
		Filename:    n.Filename,
		ContentType: n.ContentType,
		ByteSize:    n.Size,
		CreatedAt:   day.At(tx.Now),
	}
	if !n.PurgeAt.IsZero() {
		at := day.At(n.PurgeAt)
		f.PurgeAt = &at
	}

	// The draft gives way to the file in one statement. Without a draft the bytes are gone.
	inserted, err := tx.Exec(ctx, `
		with draft as (delete from file_draft where team_id = @team and id = @id returning blob_key)
		insert into file (team_id, id, kind, filename, content_type, byte_size, sha256, blob_key, created_at, purge_at)
		select @team, @id, @kind, @filename, @type, @size, @sum, blob_key, @now, @purge from draft`,
		db.Args{
			"team":     tx.Team,
			"id":       f.ID,
			"kind":     string(f.Kind),
			"filename": f.Filename,
			"type":     f.ContentType,
			"size":     f.ByteSize,
			"sum":      n.SHA256[:],
			"now":      tx.Now,
			"purge":    f.PurgeAt,
		})
	if err == nil && inserted == 0 {
		err = errSwept
	}

	if err != nil {
		return nil, fmt.Errorf("insert a file: %w", err)
	}

	return f, nil
}

// KeepUntil keeps the content of a file until a later time than before. Purged content stays purged.
func KeepUntil(ctx context.Context, tx *db.Tx, file id.ID, until time.Time) error {
	_, err := tx.Exec(ctx, `update file set purge_at = @until where team_id = @team and id = @id and purge_at < @until`,
		db.Args{"team": tx.Team, "id": file, "until": until})
	if err != nil {
		return fmt.Errorf("keep a file for longer: %w", err)
	}

	return nil
}

// deleteDraft deletes the draft and returns the key of its bytes. It fails if there is no such draft any more.
func deleteDraft(ctx context.Context, tx *db.Tx, file id.ID) (string, error) {
	return db.Get[string](ctx, tx, `delete from file_draft where team_id = @team and id = @id returning blob_key`, db.Args{"team": tx.Team, "id": file})
}

// doomed is a file or draft with bytes that are to be deleted.
type doomed struct {
	TeamID  id.ID
	ID      id.ID
	BlobKey string
}

// batch bounds how many blobs one transaction removes.
const batch = 100

// loadDue selects files with a purge time that has passed, locked, at most one batch.
func loadDue(ctx context.Context, tx *db.Tx) ([]doomed, error) {
	return db.Select[doomed](ctx, tx, `
		select team_id, id, blob_key from file where purged_at is null and purge_at <= @now
		order by purge_at limit @batch for update skip locked`, db.Args{"now": tx.Now, "batch": batch})
}

// loadStored selects files of a team that still have content, locked, at most one batch.
func loadStored(ctx context.Context, tx *db.Tx, team id.ID) ([]doomed, error) {
	return db.Select[doomed](ctx, tx, `
		select team_id, id, blob_key from file where team_id = @team and purged_at is null
		order by id limit @batch for update skip locked`, db.Args{"team": team, "batch": batch})
}

// loadDrafts selects files of a team that are being written, or that a dead writer left, locked, at most one batch.
func loadDrafts(ctx context.Context, tx *db.Tx, team id.ID) ([]doomed, error) {
	return db.Select[doomed](ctx, tx, `
		select team_id, id, blob_key from file_draft where team_id = @team
		order by id limit @batch for update skip locked`, db.Args{"team": team, "batch": batch})
}

func markPurged(ctx context.Context, tx *db.Tx, teams, ids []id.ID) error {
	_, err := tx.Exec(ctx, `
		update file f set purged_at = @now from unnest(@teams::uuid[], @ids::uuid[]) as x (team_id, id)
		where f.team_id = x.team_id and f.id = x.id`, db.Args{"now": tx.Now, "teams": teams, "ids": ids})

	return err
}

// draftAge is the age from which the writer of a draft counts as dead; no request and no job takes a day.
const draftAge = 24 * time.Hour

// loadAbandoned selects drafts older than draftAge, locked, at most one batch.
func loadAbandoned(ctx context.Context, tx *db.Tx) ([]doomed, error) {
	return db.Select[doomed](ctx, tx, `
		select team_id, id, blob_key from file_draft where created_at <= @before
		order by created_at limit @batch for update skip locked`, db.Args{"before": tx.Now.Add(-draftAge), "batch": batch})
}

func deleteDrafts(ctx context.Context, tx *db.Tx, teams, ids []id.ID) error {
	_, err := tx.Exec(ctx, `
		delete from file_draft f using unnest(@teams::uuid[], @ids::uuid[]) as x (team_id, id)
		where f.team_id = x.team_id and f.id = x.id`, db.Args{"teams": teams, "ids": ids})

	return err
}
