package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

type keyRow struct {
	ID        id.ID
	TeamID    id.ID
	UserID    id.ID
	Kind      string
	Audience  Audience
	Scopes    []string
	ExpiresAt *time.Time
	IsLive    bool
}

// errUnknownKey is a key that this deployment has never had.
var errUnknownKey = errors.New("unknown key")

// membershipColumns are the columns of a membership that the team t has, whatever the credential.
const membershipColumns = `t.id, t.type, t.status, t.region, t.partner_id, not t.is_general_ledger as no_ledger, t.time_zone as zone, t.freeze_reason as freeze`

// keyHolder returns the credential of a live key by its hash, with its teams. It fails with apierr.Unauthorized, or with
// errUnknownKey.
func (g *Gate) keyHolder(ctx context.Context, tx *db.Tx, hash []byte) (*credential, error) {
	k, err := db.One[keyRow](ctx, tx, errUnknownKey, `
		select id, team_id, user_id, kind, audience, scopes, expires_at, revoked_at is null and (expires_at is null or expires_at > @now) as is_live
		from access_key where hash = @hash`, db.Args{"hash": hash, "now": tx.Now})
	if err != nil {
		return nil, err
	}

	if !k.IsLive {
		return nil, apierr.Unauthorized
	}

	c := &credential{Kind: api.TeamKey, User: k.UserID, Home: k.TeamID, Audience: k.Audience, Scopes: k.Scopes, Expires: k.ExpiresAt}
	condition := "t.id in (select team_id from access_key_team where home_team_id = @home and key_id = @key)"

	args := db.Args{"home": k.TeamID, "key": k.ID}
	if k.Kind == "partner" {
		c.Kind, condition, args = api.PartnerKey, "(t.id = @home or t.partner_id = @home)", db.Args{"home": k.TeamID}
	}

	c.Teams, err = db.Select[membership](ctx, tx, `
		select `+membershipColumns+`, '{}'::text[] as scopes, null::uuid as contact_id from team t where `+condition+` order by t.id`, args)

	return c, err
}

// tokenHolder finds the user of a live bearer token.
func (g *Gate) tokenHolder(ctx context.Context, tx *db.Tx, hash []byte) (*credential, error) {
	t, err := db.One[struct {
		UserID    id.ID
		ExpiresAt *time.Time
	}](ctx, tx, apierr.Unauthorized, `
		select user_id, expires_at from access_token
		where hash = @hash and revoked_at is null and (expires_at is null or expires_at > @now)`, db.Args{"hash": hash, "now": tx.Now})
	if err != nil {
		return nil, err
	}

	c := &credential{Kind: api.User, User: t.UserID, Expires: t.ExpiresAt}
	c.Teams, err = db.Select[membership](ctx, tx, `
		select `+membershipColumns+`, m.scopes, m.contact_id
		from access_member m join team t on t.id = m.team_id where m.user_id = @user order by t.id`, db.Args{"user": t.UserID})

	return c, err
}

// Audience says what a partner key is for. Such a key is issued for one (AUTH-14).
type Audience string

// The audiences: the partner's backend, and a portal that only makes embedded sessions.
const (
	ForBackend Audience = "backend"
	ForPortal  Audience = "portal"
)

// NewKey describes a key to issue.
type NewKey struct {
	Name string
	// Teams the key reaches; the first one issues it. A partner key names its partner alone and reaches every managed
	// team.
	Teams   []id.ID
	Partner bool
	// Audience of a partner key; empty for the partner's backend.
	Audience Audience
	// Scopes are scopes or bundle names.
	Scopes  []string
	Expires *time.Time
}

// Key is an issued key. The secret is not kept and cannot be shown again.
type Key struct {
	ID     id.ID
	UserID id.ID
	Secret string
}

var errUnknownTeam = errors.New("no such team")

// IssueKey inserts a key and the service user that it acts as. Tx works across teams. It fails for unknown scopes,
// without a team, for a team that does not exist, and if the key of a partner is not for a partner team or the
// other way round.
func IssueKey(ctx context.Context, tx *db.Tx, n NewKey) (*Key, error) {
	granted, unknown := Expand(n.Scopes)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown scopes %q", unknown)
	}

	if len(n.Teams) == 0 {
		return nil, errors.New("a key needs a team")
	}

	// The first team issues the key; its region is part of the secret.
	home, err := db.One[struct {
		Region Region
		Type   string
	}](ctx, tx, errUnknownTeam, `select region, type from team where id = @team and status <> 'deleted'`, db.Args{"team": n.Teams[0]})
	if err != nil {
		return nil, err
	}

	if n.Partner != (home.Type == "partner") {
		return nil, errors.New("a partner key belongs to a partner team, and a partner team has no other keys")
	}

	if n.Audience == ForPortal && !n.Partner {
		return nil, errors.New("only a partner key is for a portal")
	}

	n.Audience = cmp.Or(n.Audience, ForBackend)

	kind := "team"
	if n.Partner {
		kind = "partner"
	}

	// Only the hash of the secret is stored.
	k := &Key{ID: tx.NewID(), UserID: tx.NewID(), Secret: newSecret("sk", home.Region)}
	sum := hash(k.Secret)

	stmts := []db.Stmt{
		{
			SQL:  `insert into access_user (id, kind, name, created_at) values (@id, 'service', @name, @now)`,
			Args: db.Args{"id": k.UserID, "name": n.Name, "now": tx.Now},
		},
		{
			SQL: `insert into access_key (team_id, id, user_id, name, kind, audience, prefix, hash, scopes, expires_at, created_at)
			values (@team, @id, @user, @name, @kind, @audience, @prefix, @hash, @scopes, @expires, @now)`,
			Args: db.Args{
				"team": n.Teams[0], "id": k.ID, "user": k.UserID, "name": n.Name, "kind": kind, "audience": n.Audience, "prefix": k.Secret[:12],
				"hash": sum[:], "scopes": granted, "expires": n.Expires, "now": tx.Now,
			},
		},
	}

	// A partner key reaches all customers of its team, so it needs no list.
	if !n.Partner {
		stmts = append(stmts, db.Stmt{
			SQL:  `insert into access_key_team (team_id, home_team_id, key_id) select unnest(@teams::uuid[]), @home, @key`,
			Args: db.Args{"teams": n.Teams, "home": n.Teams[0], "key": k.ID},
		})
	}

	// The foreign key catches teams that do not exist.
	if err := tx.Pipeline(ctx, stmts...); err != nil {
		if db.SQLState(err) == "23503" {
			return nil, errUnknownTeam
		}

		return nil, fmt.Errorf("issue key: %w", err)
	}

	audit.NoteIn(tx, n.Teams[0], audit.Created, audit.APIKey, k.ID, nil, map[string]any{
		"name":      n.Name,
		"kind":      kind,
		"audience":  n.Audience,
		"prefix":    k.Secret[:12],
		"scopes":    granted,
		"expiresAt": n.Expires,
		"teamIds":   n.Teams,
	}, audit.Ref(audit.RoleParent, audit.User, k.UserID))

	return k, team.Announce(ctx, tx)
}

// Member has the scopes of a person in a team. Contact makes the person an owner who sees only that contact's listings.
type Member struct {
	Team    id.ID
	User    id.ID
	Contact *id.ID
	Scopes  []string
}

// OwnerScopes returns the scopes of an owner's session.
func OwnerScopes() []string { return []string{"files:read", "operations:read", "statements:read"} }

// grantView is a grant as audit events show it.
type grantView struct {
	ContactID *id.ID   `json:"contactId"`
	Scopes    []string `json:"scopes"`
}

// SetMember grants a person a team, or changes the grant. It fails for unknown scopes and for a team or person that
// does not exist.
func SetMember(ctx context.Context, tx *db.Tx, m Member) error {
	granted, unknown := Expand(m.Scopes)
	if len(unknown) > 0 {
		return fmt.Errorf("unknown scopes %q", unknown)
	}

	// Return the old grant, which the event needs.
	was, err := db.Select[grantView](ctx, tx, `
		with was as (select contact_id, scopes from access_member where team_id = @team and user_id = @user), made as (
			insert into access_member (team_id, user_id, contact_id, scopes, created_at) values (@team, @user, @contact, @scopes, @now)
			on conflict (team_id, user_id) do update set contact_id = excluded.contact_id, scopes = excluded.scopes)
		select contact_id, scopes from was`,
		db.Args{"team": m.Team, "user": m.User, "contact": m.Contact, "scopes": granted, "now": tx.Now})
	if db.SQLState(err) == "23503" {
		return errors.New("no such team or user")
	}

	if err != nil {
		return fmt.Errorf("set member: %w", err)
	}

	granting := grantView{m.Contact, granted}
	if len(was) == 0 {
		audit.NoteIn(tx,
			m.Team,
			audit.Created,
			audit.User,
			m.User,
			nil,
			granting,
			audit.Ref(audit.RoleOwner, audit.Contact, m.Contact),
		)
	} else {
		audit.NoteIn(tx,
			m.Team,
			audit.Updated,
			audit.User,
			m.User,
			was[0],
			granting,
			audit.Ref(audit.RoleOwner, audit.Contact, m.Contact),
		)
	}

	return team.Announce(ctx, tx)
}

// IssueToken inserts a bearer token for a person and returns its secret, which is shown once. It fails for a user
// that is no person.
func IssueToken(ctx context.Context, tx *db.Tx, user id.ID, expires *time.Time) (string, error) {
	secret := newSecret("ut", "dev")
	sum := hash(secret)

	n, err := tx.Exec(ctx, `
		insert into access_token (id, user_id, hash, expires_at, created_at)
		select @id, id, @hash, @expires, @now from access_user where id = @user and kind = 'person'`,
		db.Args{"id": tx.NewID(), "user": user, "hash": sum[:], "expires": expires, "now": tx.Now})
	if err != nil {
		return "", fmt.Errorf("issue token: %w", err)
	}

	if n == 0 {
		return "", errors.New("no such person")
	}

	return secret, nil
}

// Me is the user behind a bearer session and the teams it reaches.
type Me struct {
	ID    id.ID    `json:"id"`
	Name  string   `json:"name"`
	Email *string  `json:"email"`
	Teams []MyTeam `json:"teams"`
}

// MyTeam is a team that a session reaches.
type MyTeam struct {
	ID        id.ID    `json:"id"`
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Region    Region   `json:"region"`
	ContactID *id.ID   `json:"contactId" doc:"Set for an owner, who sees only this contact's listings."`
	Scopes    []string `json:"scopes"`
}

// me fails with apierr.RouteClosed for the session of an owner link, which acts as its link and is no user.
func me(ctx context.Context, tx *db.Tx, user id.ID) (*Me, error) {
	m, err := db.One[struct {
		ID    id.ID
		Name  string
		Email *string
	}](ctx, tx, apierr.RouteClosed, `select id, name, email from access_user where id = @user`, db.Args{"user": user})
	if err != nil {
		return nil, err
	}

	teams, err := db.Select[MyTeam](ctx, tx, `
		select t.id, t.name, t.type, t.region, m.contact_id, m.scopes
		from access_member m join team t on t.id = m.team_id where m.user_id = @user and t.status <> 'deleted' order by t.id`, db.Args{"user": user})
	if err != nil {
		return nil, err
	}

	return &Me{ID: m.ID, Name: m.Name, Email: m.Email, Teams: teams}, nil
}

// endpoints returns the routes of the signed-in user and of owner links.
func endpoints() []api.Endpoint {
	return []api.Endpoint{
		api.External(api.Endpoint{
			Method: "GET", Path: "/me", ID: "getMe", Tag: "Access", Summary: "Read the signed-in user",
			Doc: "For signed-in users only; a key gets 403, and so does the session of an owner link, which has no " +
				"user.", Open: []api.Credential{api.User, api.Owner}, Selection: api.NoTeam,
		}, func(ctx context.Context, d *db.DB, scope db.Scope, _ *api.None) (out *Me, err error) {
			err = d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
				out, err = me(ctx, tx, scope.Actor.User)
				return err
			})

			return out, err
		}),
		api.External(api.Endpoint{
			Method:  "POST",
			Path:    "/owner-statement-links/exchange",
			ID:      "exchangeOwnerLink",
			Tag:     "Owner access",
			Summary: "Exchange the link to an owner statement for a session",
			Errors:  apierr.List{errLinkExpired, errLinkInvalid},
			Doc: "Needs no credential. The session lasts an hour, reads the statements that the link's owner may " +
				"see, and their files, in the link's team, and ends with the link. A link can be exchanged again " +
				"while it is valid. Fails with 401 OWNER_STATEMENT_LINK_EXPIRED when the link is older than 30 " +
				"days, then with 401 OWNER_STATEMENT_LINK_INVALID for every other link that opens nothing: an " +
				"unknown or revoked one, a statement that is not published, an owner who was archived, left the " +
				"ownership or has another e-mail address, a deleted team.",
			Public:    true,
			Selection: api.NoTeam,
			MaxBody:   4 << 10,
			Also:      map[int]reflect.Type{http.StatusUnauthorized: reflect.TypeFor[apierr.Body]()},
		}, exchange),
	}
}
