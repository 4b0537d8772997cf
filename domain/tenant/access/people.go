package access

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// The refusals of AddUser.
var (
	ErrEmail      = errors.New("not an e-mail address such as dana@example.com")
	ErrEmailTaken = errors.New("another person has this e-mail address")
)

// AddUser inserts a person. Each person has an e-mail address of his or her own, in upper or lower case. Tx works
// across teams.
//
// It fails with ErrEmail or ErrEmailTaken.
func AddUser(ctx context.Context, tx *db.Tx, name, email string) (id.ID, error) {
	if parsed, err := mail.ParseAddress(email); err != nil || parsed.Address != email || len(email) > 254 {
		return id.Zero, ErrEmail
	}

	user := tx.NewID()

	n, err := tx.Exec(ctx, `
		insert into access_user (id, kind, name, email, created_at) values (@id, 'person', @name, @email, @now)
		on conflict (lower(email)) where kind = 'person' do nothing`, db.Args{"id": user, "name": name, "email": email, "now": tx.Now})
	if err != nil {
		return id.Zero, fmt.Errorf("add user: %w", err)
	}

	if n == 0 {
		return id.Zero, ErrEmailTaken
	}

	return user, nil
}

// UserByEmail finds the person with an e-mail address, in whatever case it is written, who must be there. Tx works
// across teams.
func UserByEmail(ctx context.Context, tx *db.Tx, email string) (id.ID, error) {
	return db.Get[id.ID](ctx, tx, `select id from access_user where kind = 'person' and lower(email) = lower(@email)`, db.Args{"email": email})
}

// Person is a user who signs in.
type Person struct {
	ID        id.ID
	Name      string
	Email     *string
	Teams     int64
	CreatedAt time.Time
}

// People returns the persons with a text in their name or e-mail address, by name; the empty text finds all. Tx
// works across teams.
func People(ctx context.Context, tx *db.Tx, search string) ([]Person, error) {
	return db.Select[Person](ctx, tx, `
		select u.id, u.name, u.email, (select count(*) from access_member m where m.user_id = u.id) as teams, u.created_at
		from access_user u where u.kind = 'person' and `+page.ContainsSQL("@search", "u.name", "u.email")+`
		order by `+page.TextSQL("u.name")+`, u.id`, db.Args{"search": search})
}

// Grant has the scopes of a person in a team.
type Grant struct {
	TeamID    id.ID
	Team      string
	UserID    id.ID
	User      string
	ContactID *id.ID
	Scopes    []string
}

// Grants returns the grants of a person, or on a team; the zero id means all. Tx works across teams.
func Grants(ctx context.Context, tx *db.Tx, user, on id.ID) ([]Grant, error) {
	return db.Select[Grant](ctx, tx, `
		select m.team_id, t.name as team, m.user_id, u.name as "user", m.contact_id, m.scopes
		from access_member m join team t on t.id = m.team_id join access_user u on u.id = m.user_id
		where (@user::uuid is null or m.user_id = @user) and (@on::uuid is null or m.team_id = @on)
		order by `+page.TextSQL("t.name")+`, t.id, `+page.TextSQL("u.name")+`, u.id`, db.Args{"user": user, "on": on})
}

// RevokeGrant takes a team from a person at once. It reports whether there was a grant.
func RevokeGrant(ctx context.Context, tx *db.Tx, user, on id.ID) (bool, error) {
	n, err := revokeGrants(ctx, tx, on, `user_id = @user`, db.Args{"user": user})
	if err != nil {
		return false, err
	}

	return n > 0, team.Announce(ctx, tx)
}

// revokeGrants takes a team from the people of a condition, and returns how many had it.
func revokeGrants(ctx context.Context, tx *db.Tx, on id.ID, condition string, args db.Args) (int, error) {
	type gone struct {
		UserID id.ID
		grantView
	}

	args["on"] = on

	was, err := db.Select[gone](ctx, tx, `delete from access_member where team_id = @on and `+condition+` returning user_id, contact_id, scopes`, args)
	if err != nil {
		return 0, fmt.Errorf("revoke grants: %w", err)
	}

	for _, g := range was {
		audit.NoteIn(tx, on, audit.Deleted, audit.User, g.UserID, g.grantView, nil,
			audit.Ref(audit.RoleOwner, audit.Contact, g.ContactID))
	}

	return len(was), nil
}

// TokenInfo is an issued bearer token without its secret.
type TokenInfo struct {
	ID        id.ID
	UserID    id.ID
	ExpiresAt *time.Time
	RevokedAt *time.Time
	CreatedAt time.Time
}

// State returns live, expired or revoked.
func (t TokenInfo) State(now time.Time) string { return state(t.RevokedAt, t.ExpiresAt, now) }

func state(revoked, expires *time.Time, now time.Time) string {
	switch {
	case revoked != nil:
		return "revoked"
	case expires != nil && !expires.After(now):
		return "expired"
	default:
		return "live"
	}
}

// Tokens lists the bearer tokens of a person, newest first. Tx works across teams.
func Tokens(ctx context.Context, tx *db.Tx, user id.ID) ([]TokenInfo, error) {
	return db.Select[TokenInfo](ctx, tx, `
		select id, user_id, expires_at, revoked_at, created_at from access_token where user_id = @user order by id desc`, db.Args{"user": user})
}

// RevokeTokens ends one token, or all of a person when the token is the zero id, at once. It reports how many were live
// or expired.
func RevokeTokens(ctx context.Context, tx *db.Tx, user, token id.ID) (int64, error) {
	n, err := tx.Exec(ctx, `
		update access_token set revoked_at = @now
		where revoked_at is null and (@user::uuid is null or user_id = @user) and (@token::uuid is null or id = @token)
			and (@user::uuid is not null or @token::uuid is not null)`, db.Args{"now": tx.Now, "user": user, "token": token})
	if err != nil {
		return 0, fmt.Errorf("revoke tokens: %w", err)
	}

	return n, team.Announce(ctx, tx)
}

// RevokeKey ends a key at once. It reports whether there was a live one.
func RevokeKey(ctx context.Context, tx *db.Tx, key id.ID) (bool, error) {
	of, err := db.Select[id.ID](ctx, tx, `update access_key set revoked_at = @now where id = @key and revoked_at is null returning team_id`,
		db.Args{"now": tx.Now, "key": key})
	if err != nil {
		return false, fmt.Errorf("revoke key: %w", err)
	}

	for _, home := range of {
		audit.NoteIn(tx, home, audit.Updated, audit.APIKey, key, nil, map[string]any{"revokedAt": day.At(tx.Now)})
	}

	return len(of) > 0, team.Announce(ctx, tx)
}

// KeyInfo is an issued key without its secret.
type KeyInfo struct {
	ID        id.ID
	TeamID    id.ID
	Team      string
	Name      string
	Kind      string
	Audience  Audience
	Prefix    string
	Scopes    []string
	ExpiresAt *time.Time
	RevokedAt *time.Time
	CreatedAt time.Time
}

// State returns live, expired or revoked.
func (k KeyInfo) State(now time.Time) string { return state(k.RevokedAt, k.ExpiresAt, now) }

// Keys returns the keys that a team issued, newest first; the zero id means all teams. Tx works across teams.
func Keys(ctx context.Context, tx *db.Tx, issuer id.ID) ([]KeyInfo, error) {
	return db.Select[KeyInfo](ctx, tx, `
		select k.id, k.team_id, t.name as team, k.name, k.kind, k.audience, k.prefix, k.scopes, k.expires_at, k.revoked_at, k.created_at
		from access_key k join team t on t.id = k.team_id where @issuer::uuid is null or k.team_id = @issuer order by k.id desc`,
		db.Args{"issuer": issuer})
}
