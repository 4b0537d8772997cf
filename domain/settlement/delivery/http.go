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

// endpoints returns the routes that give owners access to published statements. Making a link and sending an e-mail
// need statements:publish, because both show a statement to people outside the team.
func (p Post) endpoints() []api.Endpoint {
	// First the links, then the e-mails. Answers with a secret are shown once and never listed.
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method:  "POST",
			Path:    "/statements/{id}/owner-links",
			ID:      "createOwnerLink",
			Tag:     tag,
			Summary: "Make a link that opens a statement for one owner",
			Errors:  apierr.List{errNotPublished, errNoRecipient},
			Doc: "The address is shown once. The link is valid for 30 days; whoever has it reads the statements of " +
				"the owner's listings without signing in. Every call makes a new link: an Idempotency-Key is not " +
				"kept, since the answer holds a secret. Fails with 400 for one that is not published (issue " +
				"notPublished) and for a contact that is unknown (notFound), no member of the statement's ownership " +
				"(notMember) or archived (inactive).",
			Scopes: []string{"statements:publish"},
			Status: 201,
			Secret: true,
		}, p.makeLink),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/statements/{id}/owner-links",
			ID:      "listOwnerLinks",
			Tag:     tag,
			Summary: "List the links to a statement",
			Doc:     "Newest first, the links of e-mails included; never their addresses.",
			Scopes:  []string{"statements:read"},
		}, listLinks),
		api.Write(api.Endpoint{
			Method:  "DELETE",
			Path:    "/statements/{id}/owner-links/{linkId}",
			ID:      "revokeOwnerLink",
			Tag:     tag,
			Summary: "Revoke a link to a statement",
			Doc:     "Ends the link and every session that came from it at once.",
			Scopes:  []string{"statements:publish"},
			DryRun:  true,
		}, revokeLink),
		api.Write(api.Endpoint{
			Method:  "POST",
			Path:    "/statements/{id}/emails",
			ID:      "sendStatementEmails",
			Tag:     tag,
			Summary: "Send a statement to its owners by e-mail",
			Errors:  apierr.List{errNotPublished, errNoRecipient},
			Doc: "Queues a message with a link for each contact, for all active members with an e-mail address when " +
				"none is named, and answers with the messages. An owner whose message still waits gets no second " +
				"one. The message names the listing and the month, and no amount. Fails with 400 for one that is " +
				"not published (issue notPublished), for a contact that is unknown (notFound), no member " +
				"(notMember), archived (inactive) or without an address (emailMissing), and when no one has one.",
			Scopes: []string{"statements:publish"},
			Status: 202,
		}, p.sendEmails),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/statements/{id}/emails",
			ID:      "listStatementEmails",
			Tag:     tag,
			Summary: "List the e-mails about a statement",
			Doc: "Newest first. An active owner who had no address when the statement was published with " +
				"emailDelivery has one that is notSent.",
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

// Link is a link that was made just now.
type Link struct {
	ID        id.ID       `json:"id"`
	URL       string      `json:"url" doc:"Shown once. The secret follows the #, which browsers do not send."`
	ExpiresAt day.Instant `json:"expiresAt"`
}

// makeLink makes a link that opens a published statement for one of its owners.
func (p Post) makeLink(ctx context.Context, tx *db.Tx, in *makeLinkInput) (*Link, error) {
	pub, err := lockPublished(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Only members of the ownership may see the statement.
	if err := pub.checkContact(ctx, tx, in.Body.ContactID, "contactId"); err != nil {
		return nil, err
	}

	made, err := access.MakeOwnerLink(ctx, tx, in.ID, in.Body.ContactID)
	if err != nil {
		return nil, err
	}

	return &Link{ID: made.ID, URL: p.address(made.Token), ExpiresAt: made.ExpiresAt}, nil
}

// checkContact refuses a contact who may not see the statement: one that is unknown, no member or archived.
func (p *publication) checkContact(ctx context.Context, tx *db.Tx, contact id.ID, path ...any) error {
	m := p.member(contact)
	switch {
	case m == nil:
		// Say whether the contact is unknown or only no member.
		found, err := db.Get[bool](ctx, tx, `select exists (select from contact where team_id = @team and id = @id)`, db.Args{"team": tx.Team, "id": contact})
		if err != nil {
			return err
		}

		if !found {
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody(path...))
		}

		return apierr.BadRequest.At(apierr.IssueNotMember.InBody(path...))
	case !m.Active:
		return apierr.BadRequest.At(apierr.IssueInactive.InBody(path...))
	}

	return nil
}

// reachable returns the active members with an e-mail address.
func (p *publication) reachable() []member {
	var out []member

	for _, m := range p.members {
		if m.Active && m.Email != "" {
			out = append(out, m)
		}
	}

	return out
}

// loadIfPublished loads a published statement, or returns nil when it is not published any more.
func loadIfPublished(ctx context.Context, tx *db.Tx, of id.ID) (*publication, error) {
	pub, err := lockPublished(ctx, tx, of)
	if errors.Is(err, errNotPublished) || errors.Is(err, apierr.NotFound) {
		return nil, nil //nolint:nilnil // nothing to deliver is no failure
	}

	return pub, err
}

type ofStatement struct {
	ID id.ID `path:"id"`
	page.Params
}

// listLinks returns a page of the links to a statement.
func listLinks(ctx context.Context, tx *db.Tx, in *ofStatement) (*page.Page[access.OwnerLink], error) {
	if err := checkExists(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	return access.OwnerLinks(ctx, tx, in.ID, in.Params)
}

type linkInput struct {
	ID     id.ID `path:"id"`
	LinkID id.ID `path:"linkId"`
}

// revokeLink ends a link and every session that came from it.
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

// Emails are the messages of a request, those that were already queued included.
type Emails struct {
	Data []Email `json:"data"`
}

// sendEmails queues the messages about a published statement to its owners.
func (p Post) sendEmails(ctx context.Context, tx *db.Tx, in *emailsInput) (*Emails, error) {
	pub, err := lockPublished(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Refuse the request before anything is queued.
	to, err := pub.chooseMembers(ctx, tx, in.Body.ContactIDs)
	if err != nil {
		return nil, err
	}

	queued, err := p.queueAll(ctx, tx, pub, to)
	if err != nil {
		return nil, err
	}

	return &Emails{Data: queued}, nil
}

// chooseMembers returns the members to write to, each once: the given contacts, or all reachable members. It fails for
// a contact who cannot get the message, and if no member is reachable.
func (p *publication) chooseMembers(ctx context.Context, tx *db.Tx, contacts []id.ID) ([]member, error) {
	if len(contacts) == 0 {
		to := p.reachable()
		if len(to) == 0 {
			return nil, errNoRecipient.At(apierr.IssueEmailMissing.InBody("contactIds"))
		}

		return to, nil
	}

	// A contact who was named must get a message, so a missing address is an error here.
	var to []member

	seen := map[id.ID]bool{}

	for i, c := range contacts {
		if err := p.checkContact(ctx, tx, c, "contactIds", i); err != nil {
			return nil, err
		}

		m := p.member(c)
		if m.Email == "" {
			return nil, apierr.BadRequest.At(apierr.IssueEmailMissing.InBody("contactIds", i))
		}

		// A contact who is named twice gets one message.
		if !seen[c] {
			seen[c] = true

			to = append(to, *m)
		}
	}

	return to, nil
}

// listEmails returns a page of the messages about a statement.
func listEmails(ctx context.Context, tx *db.Tx, in *ofStatement) (*page.Page[Email], error) {
	if err := checkExists(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	return loadEmails(ctx, tx, in.ID, in.Params)
}
