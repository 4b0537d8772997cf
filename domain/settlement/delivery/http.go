package delivery

import (
	"context"
	"errors"

	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const tag = "Owner access"

// endpoints give owners access to published statements. Making a link and sending an e-mail need statements:publish:
// both show a statement to people outside the team.
func (p Post) endpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: "POST", Path: "/statements/{id}/owner-links", ID: "createOwnerLink", Tag: tag, Summary: "Make a link that opens a statement for one owner",
			Errors: apierr.List{errNotPublished, errNoRecipient},
			Doc: "The address is shown once. The link is valid for 30 days; whoever has it reads the statements of the owner's listings without " +
				"signing in. Every call makes a new link: an Idempotency-Key is not kept, since the answer holds a secret. Fails with 400 for one " +
				"that is not published (issue notPublished) and for a contact that is unknown (notFound), no member of the statement's ownership " +
				"(notMember) or archived (inactive).",
			Scopes: []string{"statements:publish"}, Status: 201, Secret: true,
		}, p.makeLink),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/statements/{id}/owner-links", ID: "listOwnerLinks", Tag: tag, Summary: "List the links to a statement",
			Doc: "Newest first, the links of e-mails included; never their addresses.", Scopes: []string{"statements:read"},
		}, listLinks),
		api.Write(api.Endpoint{
			Method: "DELETE", Path: "/statements/{id}/owner-links/{linkId}", ID: "revokeOwnerLink", Tag: tag, Summary: "Revoke a link to a statement",
			Doc:    "Ends the link and every session that came from it at once.",
			Scopes: []string{"statements:publish"}, DryRun: true,
		}, revokeLink),
		api.Write(api.Endpoint{
			Method: "POST", Path: "/statements/{id}/emails", ID: "sendStatementEmails", Tag: tag, Summary: "Send a statement to its owners by e-mail",
			Errors: apierr.List{errNotPublished, errNoRecipient},
			Doc: "Queues a message with a link for each contact, for all active members with an e-mail address when none is named, and answers with " +
				"the messages. An owner whose message still waits gets no second one. The message names the listing and the month, and no amount. " +
				"Fails with 400 for one that is not published (issue notPublished), for a contact that is unknown (notFound), no member " +
				"(notMember), archived (inactive) or without an address (emailMissing), and when nobody has one.",
			Scopes: []string{"statements:publish"}, Status: 202,
		}, p.sendEmails),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/statements/{id}/emails", ID: "listStatementEmails", Tag: tag, Summary: "List the e-mails about a statement",
			Doc:    "Newest first. An active owner who had no address when the statement was published with emailDelivery has one that is notSent.",
			Scopes: []string{"statements:read"},
		}, listEmails),
	}
}

type makeLinkInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		ContactID id.ID `json:"contactId" doc:"A member of the statement's ownership."`
	}
}

// Link is a link that was just made.
type Link struct {
	ID        id.ID       `json:"id"`
	URL       string      `json:"url" doc:"Shown once. The secret follows the #, which browsers do not send."`
	ExpiresAt day.Instant `json:"expiresAt"`
}

func (p Post) makeLink(ctx context.Context, tx *db.Tx, in *makeLinkInput) (*Link, error) {
	pub, err := published(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := pub.check(ctx, tx, in.Body.ContactID, "contactId"); err != nil {
		return nil, err
	}

	made, err := access.MakeOwnerLink(ctx, tx, in.ID, in.Body.ContactID)
	if err != nil {
		return nil, err
	}

	return &Link{ID: made.ID, URL: p.address(made.Token), ExpiresAt: made.ExpiresAt}, nil
}

// check refuses a contact that the statement cannot be shown to.
func (p *publication) check(ctx context.Context, tx *db.Tx, contact id.ID, path ...any) error {
	m := p.member(contact)
	switch {
	case m == nil:
		known, err := db.Get[bool](ctx, tx, `select exists (select from contact where team_id = @team and id = @id)`, db.Args{"team": tx.Team, "id": contact})
		if err != nil {
			return err
		}

		if !known {
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody(path...))
		}

		return apierr.BadRequest.At(apierr.IssueNotMember.InBody(path...))
	case !m.Active:
		return apierr.BadRequest.At(apierr.IssueInactive.InBody(path...))
	}

	return nil
}

// reachable are the members who can be written to.
func (p *publication) reachable() []member {
	var out []member

	for _, m := range p.members {
		if m.Active && m.Email != "" {
			out = append(out, m)
		}
	}

	return out
}

// publishedStill is the publication of a statement, or nil when it is not published any more.
func publishedStill(ctx context.Context, tx *db.Tx, of id.ID) (*publication, error) {
	pub, err := published(ctx, tx, of)
	if errors.Is(err, errNotPublished) || errors.Is(err, apierr.NotFound) {
		return nil, nil //nolint:nilnil // nothing to deliver is no failure
	}

	return pub, err
}

type ofStatement struct {
	ID id.ID `path:"id"`
	page.Params
}

func listLinks(ctx context.Context, tx *db.Tx, in *ofStatement) (*page.Page[access.OwnerLink], error) {
	if err := exists(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	return access.OwnerLinks(ctx, tx, in.ID, in.Params)
}

type linkInput struct {
	ID     id.ID `path:"id"`
	LinkID id.ID `path:"linkId"`
}

func revokeLink(ctx context.Context, tx *db.Tx, in *linkInput) (*api.None, error) {
	if err := access.RevokeOwnerLink(ctx, tx, in.ID, in.LinkID); err != nil {
		return nil, err
	}

	return &api.None{}, nil
}

type emailsInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		ContactIDs []id.ID `json:"contactIds,omitempty" maxItems:"100" doc:"Members of the statement's ownership; all who have an address when absent or empty."`
	} `required:"false"`
}

// Emails are the messages that a request queued.
type Emails struct {
	Data []Email `json:"data"`
}

func (p Post) sendEmails(ctx context.Context, tx *db.Tx, in *emailsInput) (*Emails, error) {
	pub, err := published(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	to, err := pub.chosen(ctx, tx, in.Body.ContactIDs)
	if err != nil {
		return nil, err
	}

	queued, err := p.queue(ctx, tx, pub, to)
	if err != nil {
		return nil, err
	}

	return &Emails{Data: queued}, nil
}

// chosen are the members to write to, each once.
func (p *publication) chosen(ctx context.Context, tx *db.Tx, contacts []id.ID) ([]member, error) {
	if len(contacts) == 0 {
		to := p.reachable()
		if len(to) == 0 {
			return nil, errNoRecipient.At(apierr.IssueEmailMissing.InBody("contactIds"))
		}

		return to, nil
	}

	var to []member

	seen := map[id.ID]bool{}

	for i, c := range contacts {
		if err := p.check(ctx, tx, c, "contactIds", i); err != nil {
			return nil, err
		}

		m := p.member(c)
		if m.Email == "" {
			return nil, apierr.BadRequest.At(apierr.IssueEmailMissing.InBody("contactIds", i))
		}

		if !seen[c] {
			seen[c] = true

			to = append(to, *m)
		}
	}

	return to, nil
}

func listEmails(ctx context.Context, tx *db.Tx, in *ofStatement) (*page.Page[Email], error) {
	if err := exists(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	return emails(ctx, tx, in.ID, in.Params)
}
