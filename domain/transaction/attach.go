package transaction

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/file"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// checkAttachments refuses files that the team does not have with the issue attachmentNotFound, and with 409 those of another transaction.
// The files are locked first, so that of two transactions that want one only the first gets it.
func checkAttachments(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	wanted := idSet{}
	for _, d := range drafts {
		for _, a := range d.attach {
			wanted.add(a)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ids := wanted.list()
	known, err := db.Select[id.ID](ctx, tx, `
		select id from file where team_id = @team and id = any(@ids) and kind = 'attachment' and purged_at is null
			and (purge_at is null or purge_at > @now) order by id for update`, db.Args{"team": tx.Team, "ids": ids, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("lock attachments: %w", err)
	}
	type link struct{ ID, TransactionID id.ID }
	links, err := db.Select[link](ctx, tx, `select id, transaction_id from transaction_attachment where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return fmt.Errorf("read attachments: %w", err)
	}
	holder := make(map[id.ID]id.ID, len(links))
	for _, l := range links {
		holder[l.ID] = l.TransactionID
	}
	for _, d := range drafts {
		var issues []apierr.Issue
		for i, a := range d.attach {
			if _, found := slices.BinarySearchFunc(known, a, id.ID.Compare); !found {
				issues = append(issues, issueAt("Attachment is not known", "attachmentNotFound", "attachmentIds", i))
			}
		}
		if issues != nil {
			return apierr.BadRequest.At(issues...)
		}
		for i, a := range d.attach {
			if by := holder[a]; !by.IsZero() && by != d.ID {
				return errLinked.At(issueAt("Attachment is linked to another transaction", "attachmentLinked", "attachmentIds", i))
			}
			holder[a] = d.ID
		}
	}
	return nil
}

// linkStatements make the attachments of drafts those that they are to have. What is left without a transaction is purged in time.
func linkStatements(tx *db.Tx, drafts []*draft) (stmts []db.Stmt) {
	for _, d := range drafts {
		if d.attach == nil {
			continue
		}
		stmts = append(stmts, unlink(tx, d.ID, d.attach))
		if len(d.attach) == 0 {
			continue
		}
		stmts = append(stmts, db.Stmt{
			SQL: `
			with linked as (
				insert into transaction_attachment (team_id, id, transaction_id, position, created_at, updated_at)
				select @team, a.id, @transaction, min(a.n), @now, @now from unnest(@ids::uuid[]) with ordinality as a (id, n) group by a.id
				on conflict (team_id, id) do update set transaction_id = excluded.transaction_id, position = excluded.position, updated_at = excluded.updated_at
				returning id)
			update file f set purge_at = null from linked where f.team_id = @team and f.id = linked.id and f.purge_at is not null`,
			Args: db.Args{"team": tx.Team, "transaction": d.ID, "ids": d.attach, "now": tx.Now},
		})
	}
	return stmts
}

// unlink frees the attachments of a transaction, save some.
func unlink(tx *db.Tx, one id.ID, but []id.ID) db.Stmt {
	return db.Stmt{
		SQL: `
		with freed as (
			update transaction_attachment set transaction_id = null, updated_at = @now
			where team_id = @team and transaction_id = @transaction and id <> all(@but) returning id)
		update file f set purge_at = @purge from freed where f.team_id = @team and f.id = freed.id`,
		Args: db.Args{"team": tx.Team, "transaction": one, "but": but, "now": tx.Now, "purge": tx.Now.Add(file.KeepUnlinked)},
	}
}
