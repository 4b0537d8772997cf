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

	// The draft gives way to the file in one statement. Without a draft the bytes are gone, or are about to.
	inserted, err := tx.Exec(ctx, `
		with draft as (delete from file_draft where team_id = @team and id = @id and doomed_at is null returning blob_key)
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

// doomed are bytes that are to be deleted.
type doomed struct {
	TeamID  id.ID
	ID      id.ID
	BlobKey string
}

// batch bounds how many rows one transaction takes, and how many blobs are deleted between two.
const batch = 100

// purge selects, among the files with content that meet a condition, the first ones, and has their content deleted. It
// returns how many it took.
func purge(ctx context.Context, tx *db.Tx, condition string, args db.Args) (int64, error) {
	args["now"], args["batch"] = tx.Now, batch

	return tx.Exec(ctx, `
		with due as (
			select team_id, id from file where purged_at is null and `+condition+` order by id limit @batch for update skip locked
		), purged as (
			update file f set purged_at = @now from due d where f.team_id = d.team_id and f.id = d.id returning f.team_id, f.id, f.blob_key)
		insert into file_draft (team_id, id, blob_key, created_at, doomed_at) select team_id, id, blob_key, @now, @now from purged`, args)
}

// draftAge is the age from which the writer of a draft counts as dead; no request and no job takes a day.
const draftAge = 24 * time.Hour

// giveUp gives up drafts that meet a condition, some at a time. A file can no longer be made of them. It returns how many
// it took.
func giveUp(ctx context.Context, tx *db.Tx, condition string, args db.Args) (int64, error) {
	args["now"], args["batch"] = tx.Now, batch

	return tx.Exec(ctx, `
		with due as (
			select team_id, id from file_draft where doomed_at is null and `+condition+` order by id limit @batch for update skip locked)
		update file_draft f set doomed_at = @now from due d where f.team_id = d.team_id and f.id = d.id`, args)
}

// loadDoomed selects the next bytes that are to be deleted and meet a condition, after those of a row.
func loadDoomed(ctx context.Context, tx *db.Tx, after doomed, condition string, args db.Args) ([]doomed, error) {
	args["after_team"], args["after"], args["batch"] = after.TeamID, after.ID, batch

	return db.Select[doomed](ctx, tx, `
		select team_id, id, blob_key from file_draft where doomed_at is not null and (@after::uuid is null or (team_id, id) > (@after_team::uuid, @after)) and `+condition+`
		order by team_id, id limit @batch`, args)
}

// deleteDrafts deletes the rows of bytes that are deleted.
func deleteDrafts(ctx context.Context, tx *db.Tx, teams, ids []id.ID) error {
	_, err := tx.Exec(ctx, `
		delete from file_draft f using unnest(@teams::uuid[], @ids::uuid[]) as x (team_id, id)
		where f.team_id = x.team_id and f.id = x.id`, db.Args{"teams": teams, "ids": ids})

	return err
}
