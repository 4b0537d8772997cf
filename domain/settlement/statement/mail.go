package statement

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// MailKind is the kind of the job that tells the owners by e-mail that a statement was published. Package delivery
// handles it.
var MailKind = job.NewKind("statement.mail")

// MailArgs name the published statement.
type MailArgs struct {
	StatementID id.ID `json:"statementId"`
}

// unmailedSQL selects the active owners to whom nothing was sent of a statement s that was published with e-mails: either
// the latest message since then was not sent, or there is no message yet and the owner has no address. A message that
// waits or was sent excludes the owner, and so does a missing one if there is an address: then the message is still to be
// made.
const unmailedSQL = `
	select m.contact_id
	from listing_ownership_member m
	join contact c on c.team_id = @team and c.id = m.contact_id
	left join lateral (
		select e.status from delivery_email e
		where e.team_id = @team and e.statement_id = s.id and e.contact_id = m.contact_id and e.created_at >= s.published_at
		order by e.version desc limit 1
	) e on true
	where m.team_id = @team and m.period_id = s.ownership_period_id and c.status = 'active'
		and coalesce(e.status, case when coalesce(c.email, '') = '' then 'notSent' end) = 'notSent'
	order by m.position`

// loadUnmailed loads the owners of unmailedSQL by statement. Statements without any are absent.
func loadUnmailed(ctx context.Context, tx *db.Tx, statements []id.ID) (map[id.ID][]id.ID, error) {
	type unmailed struct {
		ID         id.ID
		ContactIDs []id.ID
	}

	found, err := db.Select[unmailed](ctx, tx, `
		select s.id, array(`+unmailedSQL+`) as contact_ids from statement s
		where s.team_id = @team and s.id = any(@statements) and s.email_delivery`, db.Args{"team": tx.Team, "statements": statements})
	if err != nil {
		return nil, fmt.Errorf("load owners without an address: %w", err)
	}

	out := map[id.ID][]id.ID{}

	for _, u := range found {
		if len(u.ContactIDs) > 0 {
			out[u.ID] = u.ContactIDs
		}
	}

	return out, nil
}

// queueMails queues the jobs that send the e-mails of statements that were just published.
func queueMails(ctx context.Context, tx *db.Tx, statements []id.ID) error {
	jobs := make([]job.New, len(statements))
	for i, s := range statements {
		jobs[i] = job.New{Kind: MailKind, Args: MailArgs{StatementID: s}}
	}

	ask, err := job.Statement(tx, jobs...)
	if err == nil {
		err = tx.Pipeline(ctx, ask)
	}

	if err != nil {
		return fmt.Errorf("ask for e-mails: %w", err)
	}

	return nil
}
