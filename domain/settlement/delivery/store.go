package delivery

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/settlement/statement"
	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/page"
	"stayledger/platform/seal"
)

// member is an owner in the ownership of a statement.
type member struct {
	ContactID id.ID
	Email     string // empty for none
	Active    bool
}

// publication is a published statement with its owners in their order.
type publication struct {
	StatementID id.ID
	PublishedAt day.Instant
	members     []member
}

// member returns the member who is a contact, nil if there is none.
func (p *publication) member(contact id.ID) *member {
	for i := range p.members {
		if p.members[i].ContactID == contact {
			return &p.members[i]
		}
	}

	return nil
}

// lockPublished loads a published statement and locks it, so that it is not reopened until the transaction ends. It
// fails with apierr.NotFound for an id that names no statement, and with errNotPublished for a draft or one in
// review.
func lockPublished(ctx context.Context, tx *db.Tx, of id.ID) (*publication, error) {
	type stored struct {
		Status      statement.Status
		PublishedAt *day.Instant
	}

	found, err := db.Maybe[stored](ctx, tx, `select status, published_at from statement where team_id = @team and id = @id for no key update`,
		db.Args{"team": tx.Team, "id": of})

	// A draft has no row, so a missing row needs a second look.
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a statement to deliver: %w", err)
	case found == nil:
		return nil, checkDraft(ctx, tx, of)
	case found.Status != statement.Published:
		return nil, notPublished()
	}

	// The members come in the order of the ownership.
	members, err := db.Select[member](ctx, tx, `
		select m.contact_id, coalesce(c.email, '') as email, c.status = 'active' as active
		from statement s join listing_ownership_member m on m.team_id = s.team_id and m.period_id = s.ownership_period_id
		join contact c on c.team_id = m.team_id and c.id = m.contact_id
		where s.team_id = @team and s.id = @id order by m.position`, db.Args{"team": tx.Team, "id": of})
	if err != nil {
		return nil, fmt.Errorf("read the owners of a statement: %w", err)
	}

	return &publication{StatementID: of, PublishedAt: *found.PublishedAt, members: members}, nil
}

// notPublished returns errNotPublished with an issue at the path parameter.
func notPublished() error {
	return errNotPublished.At(apierr.IssueNotPublished.InPath("id"))
}

// checkDraft returns errNotPublished for a draft, which has no row, and apierr.NotFound for an id that names no
// statement.
func checkDraft(ctx context.Context, tx *db.Tx, of id.ID) error {
	found, err := statement.Select(ctx, tx, statement.Filter{StatementIDs: page.Only(of)})
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return apierr.NotFound
	}

	return notPublished()
}

// checkExists fails with apierr.NotFound unless the id names a statement, saved or draft.
func checkExists(ctx context.Context, tx *db.Tx, of id.ID) error {
	if err := checkDraft(ctx, tx, of); !errors.Is(err, errNotPublished) {
		return err
	}

	return nil
}

const emailColumns = `e.id, e.contact_id, e.address as "to", e.status, e.failure, e.created_at, e.sent_at`

// loadEmails loads a page of the messages about a statement, newest first.
func loadEmails(ctx context.Context, tx *db.Tx, of id.ID, p page.Params) (*page.Page[Email], error) {
	return page.List[Email](ctx, tx, page.Query{
		Columns: emailColumns,
		From:    "delivery_email e",
		Where:   []string{"e.team_id = @team and e.statement_id = @statement"},
		Args:    db.Args{"team": tx.Team, "statement": of},
		Sorts:   page.Sorts{{Name: "createdAt", Expr: "e.created_at"}},
		Default: "-createdAt",
		ID:      "e.id",
	}, p, "")
}

// queueAll inserts a message with its link and job for each member. An owner with a message that still waits gets no
// second one. It returns the messages in the members' order.
func (p Post) queueAll(ctx context.Context, tx *db.Tx, pub *publication, to []member) ([]Email, error) {
	out := make([]Email, 0, len(to))

	contacts := make([]id.ID, len(to))
	for i := range to {
		contacts[i] = to[i].ContactID
	}

	// First load the messages that wait already.
	waiting, err := db.Select[Email](ctx, tx, `
		select `+emailColumns+` from delivery_email e
		where e.team_id = @team and e.statement_id = @statement and e.contact_id = any(@contacts) and e.status = 'queued'`,
		db.Args{"team": tx.Team, "statement": pub.StatementID, "contacts": contacts})
	if err != nil {
		return nil, fmt.Errorf("read queued e-mails: %w", err)
	}

	byContact := map[id.ID]Email{}
	for _, e := range waiting {
		byContact[e.ContactID] = e
	}

	// Then write the missing ones.
	for i := range to {
		e, already := byContact[to[i].ContactID]
		if !already {
			if e, err = p.insertEmail(ctx, tx, pub.StatementID, &to[i]); err != nil {
				return nil, err
			}
		}

		out = append(out, e)
	}

	return out, nil
}

// insertMissing inserts a row for each active owner without an address, so that the list of e-mails contains every
// owner. An owner who has such a row for this publication already gets no second one.
func insertMissing(ctx context.Context, tx *db.Tx, pub *publication) error {
	var contacts, ids []id.ID

	for _, m := range pub.members {
		if m.Active && m.Email == "" {
			contacts, ids = append(contacts, m.ContactID), append(ids, tx.NewID())
		}
	}

	if len(contacts) == 0 {
		return nil
	}

	// The version counts the messages to the owner about the statement.
	_, err := tx.Exec(ctx, `
		insert into delivery_email (team_id, id, statement_id, contact_id, version, status, failure, created_at)
		select @team, m.id, @statement, m.contact, coalesce(max(e.version), 0) + 1, @status, @failure, @now::timestamptz
		from unnest(@ids::uuid[], @contacts::uuid[]) m (id, contact)
		left join delivery_email e on e.team_id = @team and e.statement_id = @statement and e.contact_id = m.contact
		group by m.id, m.contact
		having count(*) filter (where e.status = @status and e.created_at >= @since) = 0`,
		db.Args{
			"team": tx.Team, "statement": pub.StatementID, "ids": ids, "contacts": contacts, "status": string(NotSent),
			"failure": string(EmailMissing), "since": pub.PublishedAt, "now": tx.Now,
		})
	if err != nil {
		return fmt.Errorf("insert e-mails that are not sent: %w", err)
	}

	return nil
}

// insertEmail inserts a message with its link and its job.
func (p Post) insertEmail(ctx context.Context, tx *db.Tx, of id.ID, to *member) (Email, error) {
	link, err := access.MakeOwnerLink(ctx, tx, of, to.ContactID)
	if err != nil {
		return Email{}, err
	}

	message := tx.NewID()

	// The secret is sealed under the id of the message, so it cannot be used in another row.
	e, err := db.Get[Email](ctx, tx, `
		insert into delivery_email as e (team_id, id, statement_id, contact_id, version, address, status, link_id, token, created_at)
		select @team, @id, @statement, @contact, coalesce(max(version), 0) + 1, @address, 'queued', @link, @token, @now
		from delivery_email where team_id = @team and statement_id = @statement and contact_id = @contact
		returning `+emailColumns, db.Args{
		"team": tx.Team, "id": message, "statement": of, "contact": to.ContactID, "address": to.Email, "link": link.ID,
		"token": p.Box.Seal([]byte(link.Token), label(message)), "now": tx.Now,
	})
	if err != nil {
		return Email{}, fmt.Errorf("queue an e-mail: %w", err)
	}

	return e, job.Insert(ctx, tx, job.New{Kind: sendKind, Args: sendArgs{message}, Priority: sendPriority})
}

// label returns the name under which the secret of a message is sealed.
func label(message id.ID) string { return "delivery_email:" + message.String() }

// SealedColumn returns the column of the secrets of queued messages.
func SealedColumn() seal.Column {
	return seal.Column{Table: "delivery_email", Name: "token", Label: label}
}

// letter is a queued message with the data that its text needs.
type letter struct {
	ID       id.ID
	Address  string
	LinkID   id.ID
	Token    []byte
	Attempts int
	letterFacts
}

// loadLetter loads a message that still waits, or returns nil.
func loadLetter(ctx context.Context, tx *db.Tx, message id.ID) (*letter, error) {
	// The names are those that the statement was published with, if it has them. Joins are outer joins because
	// statement and contact may be gone.
	l, err := db.Maybe[letter](ctx, tx, `
		select e.id, e.address, e.link_id, e.token, e.attempts, e.created_at as written_at,
			coalesce(c.first_name, c.name, '') as greeting_name, coalesce(c.name, '') as owner_name, coalesce(s.words -> 'listing' ->> 'name', p.name, '') as listing_name,
			s.start_at, s.end_at, coalesce(t.company_name, t.name) as team_name,
			case when coalesce((s.layout ->> 'showTeamEmail')::boolean, false) then coalesce(t.support_email, t.email) end as team_email
		from delivery_email e join team t on t.id = e.team_id
		left join statement s on s.team_id = e.team_id and s.id = e.statement_id
		left join listing p on p.team_id = e.team_id and p.id = s.listing_id
		left join contact c on c.team_id = e.team_id and c.id = e.contact_id
		where e.team_id = @team and e.id = @id and e.status = 'queued'`, db.Args{"team": tx.Team, "id": message})
	if err != nil {
		return nil, fmt.Errorf("read an e-mail: %w", err)
	}

	return l, nil
}

// updateSettled ends a message: without a failure it was sent. The secret of its link is deleted.
func updateSettled(ctx context.Context, tx *db.Tx, message id.ID, f Failure) error {
	status := Sent

	var failure *Failure
	if f != "" {
		status, failure = Failed, &f
	}

	// A message that is settled already stays as it is.
	_, err := tx.Exec(ctx, `
		update delivery_email set status = @status, failure = @failure, token = null, sent_at = case when @status = 'sent' then @now::timestamptz end
		where team_id = @team and id = @id and status = 'queued'`,
		db.Args{"team": tx.Team, "id": message, "status": string(status), "failure": failure, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("settle an e-mail: %w", err)
	}

	return nil
}

// updateAttempts counts an attempt to send a message.
func updateAttempts(ctx context.Context, tx *db.Tx, message id.ID) error {
	_, err := tx.Exec(ctx, `update delivery_email set attempts = attempts + 1 where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": message})
	if err != nil {
		return fmt.Errorf("count an attempt: %w", err)
	}

	return nil
}
