package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// OwnerLinkValidity is how long a link to an owner statement can be exchanged. (OPEN-66).
const OwnerLinkValidity = 30 * 24 * time.Hour

// A session lasts an hour, unless its link ends sooner. A link has a number of live sessions; the oldest ends when one
// more begins.
const (
	ownerSessionValidity = time.Hour
	ownerSessions        = 20
)

var (
	errLinkExpired = apierr.New(apierr.CodeOwnerStatementLinkExpired, "", "The link has expired")
	errLinkInvalid = apierr.New(apierr.CodeOwnerStatementLinkInvalid, "", "The link is not valid")
)

// ErrNotOpen means that a link would open nothing: the statement is not published, or the contact is not an active
// member of its ownership.
var ErrNotOpen = errors.New("the statement is not open to the contact")

// linked are links l with the rows that decide whether they open anything.
const linked = `access_owner_link l join team t on t.id = l.team_id
	left join statement s on s.team_id = l.team_id and s.id = l.statement_id
	left join contact c on c.team_id = l.team_id and c.id = l.contact_id`

// opens holds for a link that is worth what it was when it was made. Whatever ends it ends its sessions too, and it
// comes back with its cause: a statement that is published again is open again. (AUTH-60 … AUTH-62).
const opens = `coalesce(t.status <> 'deleted' and s.status = 'published' and c.status = 'active' and c.email is not distinct from l.email
	and exists (select from listing_ownership_member m
		where m.team_id = l.team_id and m.period_id = s.ownership_period_id and m.contact_id = l.contact_id), false)`

// NewOwnerLink is a link that was just made. The token is not kept and cannot be shown again.
type NewOwnerLink struct {
	ID        id.ID
	Token     string
	ExpiresAt day.Instant
}

// MakeOwnerLink inserts a link that opens a published statement for one of its owners. It fails with ErrNotOpen.
func MakeOwnerLink(ctx context.Context, tx *db.Tx, statement, contact id.ID) (*NewOwnerLink, error) {
	region, err := db.Get[Region](ctx, tx, `select region from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("make an owner link: %w", err)
	}

	n := &NewOwnerLink{ID: tx.NewID(), Token: newSecret("ol", region), ExpiresAt: day.At(tx.Now.Add(OwnerLinkValidity))}
	sum := hash(n.Token)

	// Insert only if the link would open the statement, by the same condition that later uses check.
	made, err := tx.Exec(ctx, `
		with made as (
			select @team::uuid as team_id, @id::uuid as id, @statement::uuid as statement_id, @contact::uuid as contact_id, email
			from contact where team_id = @team and id = @contact
		)
		insert into access_owner_link (team_id, id, statement_id, contact_id, email, hash, created_by, expires_at, created_at)
		select l.team_id, l.id, l.statement_id, l.contact_id, l.email, @hash, @user, @expires, @now
		from made l join team t on t.id = l.team_id
		join statement s on s.team_id = l.team_id and s.id = l.statement_id
		join contact c on c.team_id = l.team_id and c.id = l.contact_id
		where `+opens,
		db.Args{
			"team":      tx.Team,
			"id":        n.ID,
			"statement": statement,
			"contact":   contact,
			"hash":      sum[:],
			"user":      tx.Actor.User,
			"expires":   n.ExpiresAt,
			"now":       tx.Now,
		})
	if err != nil {
		return nil, fmt.Errorf("make an owner link: %w", err)
	}

	if made == 0 {
		return nil, ErrNotOpen
	}

	noteLink(tx, audit.Created, n.ID, nil, linkView{statement, contact, &n.ExpiresAt})

	return n, nil
}

// linkView is a link as the audit events tell it.
type linkView struct {
	StatementID id.ID        `json:"statementId"`
	ContactID   id.ID        `json:"contactId"`
	ExpiresAt   *day.Instant `json:"expiresAt"`
}

// noteLink notes the change of a link, with its statement and owner if the views have them.
func noteLink(tx *db.Tx, what audit.Type, link id.ID, before, after any) {
	var refs []audit.Reference

	for _, view := range []any{before, after} {
		if v, seen := view.(linkView); seen {
			refs = append(
				refs,
				audit.Ref(audit.RoleStatement, audit.Statement, v.StatementID),
				audit.Ref(audit.RoleOwner, audit.Contact, v.ContactID),
			)
		}
	}

	audit.Note(tx, what, audit.OwnerLink, link, before, after, refs...)
}

// OwnerLink is a link without its token.
type OwnerLink struct {
	ID          id.ID        `json:"id"`
	StatementID id.ID        `json:"statementId"`
	ContactID   id.ID        `json:"contactId"`
	IsUsable    bool         `json:"isUsable" doc:"False once it has expired, and while the statement is not published, or the owner was archived, has another e-mail address or left the ownership."`
	CreatedAt   day.Instant  `json:"createdAt"`
	ExpiresAt   day.Instant  `json:"expiresAt"`
	LastUsedAt  *day.Instant `json:"lastUsedAt" doc:"When it was last exchanged; null when it never was."`
}

// OwnerLinks lists the links of a statement, newest first.
func OwnerLinks(ctx context.Context, tx *db.Tx, statement id.ID, p page.Params) (*page.Page[OwnerLink], error) {
	return page.List[OwnerLink](ctx, tx, page.Query{
		Columns: `l.id, l.statement_id, l.contact_id, l.expires_at > @now and ` + opens + ` as is_usable, l.created_at, l.expires_at, l.last_used_at`,
		From:    linked, Where: []string{"l.team_id = @team and l.statement_id = @statement"},
		Args:  db.Args{"team": tx.Team, "statement": statement, "now": tx.Now},
		Sorts: page.Sorts{{Name: "createdAt", Expr: "l.created_at"}}, Default: "-createdAt", ID: "l.id",
	}, p, "")
}

// RevokeOwnerLink ends a link of a statement, and its sessions, at once. It fails with apierr.NotFound.
func RevokeOwnerLink(ctx context.Context, tx *db.Tx, statement, link id.ID) error {
	was, err := db.One[linkView](ctx, tx, apierr.NotFound, `delete from access_owner_link where team_id = @team and statement_id = @statement and id = @id
		returning statement_id, contact_id, expires_at`, db.Args{"team": tx.Team, "statement": statement, "id": link})
	if err != nil {
		return fmt.Errorf("revoke an owner link: %w", err)
	}

	noteLink(tx, audit.Deleted, link, was, nil)

	return team.Announce(ctx, tx)
}

// OwnerLinkOpens reports whether a link of the team could be exchanged now.
func OwnerLinkOpens(ctx context.Context, tx *db.Tx, link id.ID) (bool, error) {
	return db.Get[bool](ctx, tx, `select exists (select from `+linked+` where l.team_id = @team and l.id = @id and l.expires_at > @now and `+opens+`)`,
		db.Args{"team": tx.Team, "id": link, "now": tx.Now})
}

// OwnerSession is the session that a link is exchanged for. It reads the statements of one contact's listings, and
// their files.
type OwnerSession struct {
	AccessToken string      `json:"accessToken" doc:"Sent as a bearer token."`
	ExpiresAt   day.Instant `json:"expiresAt"`
	TeamID      id.ID       `json:"teamId"`
	TeamName    string      `json:"teamName"`
	StatementID id.ID       `json:"statementId" doc:"The statement that the link was made for."`
	ContactID   id.ID       `json:"contactId"`
}

type exchangeInput struct {
	Body struct {
		Token string `json:"token" doc:"What follows the # of the link's address."`
	}
}

func exchange(ctx context.Context, d *db.DB, _ db.Scope, in *exchangeInput) (out *OwnerSession, err error) {
	err = d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = exchangeOwnerLink(ctx, tx, in.Body.Token)
		return err
	})

	return out, err
}

// exchangeOwnerLink begins a session. It fails with errLinkExpired for a link that is too old, and with
// errLinkInvalid for any other link that opens nothing. It does not give the cause, so that somebody with a bare
// token learns nothing from it.
func exchangeOwnerLink(ctx context.Context, tx *db.Tx, token string) (*OwnerSession, error) {
	sum := hash(token)

	l, err := db.One[struct {
		TeamID      id.ID
		ID          id.ID
		StatementID id.ID
		ContactID   id.ID
		ExpiresAt   time.Time
		Region      Region
		TeamName    string
		Opens       bool
	}](ctx, tx, errLinkInvalid, `
		select l.team_id, l.id, l.statement_id, l.contact_id, l.expires_at, t.region, coalesce(t.company_name, t.name) as team_name, `+opens+` as opens
		from `+linked+` where l.hash = @hash for update of l`, db.Args{"hash": sum[:]})

	// Age comes first: an old link is expired whatever else became of it.
	switch {
	case err != nil:
		return nil, fmt.Errorf("exchange an owner link: %w", err)
	case !tx.Now.Before(l.ExpiresAt):
		return nil, errLinkExpired
	case !l.Opens:
		return nil, errLinkInvalid
	}

	// A session ends with its link at the latest.
	expires := tx.Now.Add(ownerSessionValidity)
	if l.ExpiresAt.Before(expires) {
		expires = l.ExpiresAt
	}

	s := &OwnerSession{
		AccessToken: newSecret("os", l.Region),
		ExpiresAt:   day.At(expires),
		TeamID:      l.TeamID,
		TeamName:    l.TeamName,
		StatementID: l.StatementID,
		ContactID:   l.ContactID,
	}
	sum = hash(s.AccessToken)

	// A link has a limited number of sessions; the oldest ones end. The link was locked above, so two exchanges do
	// not exceed that.
	err = tx.Pipeline(ctx,
		db.Stmt{
			SQL: `
			delete from access_owner_session where team_id = @team and link_id = @link and (expires_at <= @now or id not in (
				select id from access_owner_session where team_id = @team and link_id = @link order by created_at desc, id desc limit @others))`,
			Args: db.Args{"team": l.TeamID, "link": l.ID, "now": tx.Now, "others": ownerSessions - 1},
		},
		db.Stmt{
			SQL: `
			insert into access_owner_session (team_id, id, link_id, hash, expires_at, created_at) values (@team, @id, @link, @hash, @expires, @now)`,
			Args: db.Args{
				"team":    l.TeamID,
				"link":    l.ID,
				"id":      tx.NewID(),
				"hash":    sum[:],
				"expires": s.ExpiresAt,
				"now":     tx.Now,
			},
		},
		db.Stmt{
			SQL:  `update access_owner_link set last_used_at = @now where team_id = @team and id = @link`,
			Args: db.Args{"team": l.TeamID, "link": l.ID, "now": tx.Now},
		},
	)
	if err != nil {
		return nil, fmt.Errorf("exchange an owner link: %w", err)
	}

	return s, nil
}

// linkScopes returns the scopes of a link's session: fewer than those of an owner who signs in.
func linkScopes() []string { return []string{"files:read", "statements:read"} }

// sessionHolder returns the owner of a live session with a link that still opens its statement. The session acts as
// its link, which the logs then name. It fails with apierr.Unauthorized.
func (g *Gate) sessionHolder(ctx context.Context, tx *db.Tx, hash []byte) (*credential, error) {
	s, err := db.One[struct {
		LinkID    id.ID
		ExpiresAt time.Time
		membership
	}](ctx, tx, apierr.Unauthorized, `
		select x.link_id, x.expires_at, l.contact_id, '{}'::text[] as scopes, `+membershipColumns+`
		from `+linked+` join access_owner_session x on x.team_id = l.team_id and x.link_id = l.id
		where x.hash = @hash and x.expires_at > @now and `+opens, db.Args{"hash": hash, "now": tx.Now})
	if err != nil {
		return nil, err
	}

	return &credential{
		Kind:    api.Owner,
		User:    s.LinkID,
		Home:    s.ID,
		Scopes:  linkScopes(),
		Expires: &s.ExpiresAt,
		Teams:   []membership{s.membership},
	}, nil
}
