package access

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const embedTag = "Embedded sessions"

// embedSessionValidity is how long the token of an embedded session works. (LIM-11).
const embedSessionValidity = 15 * time.Minute

// embedKept is how long after its making a session is kept, so that its page can say that it is over.
const embedKept = time.Hour

var (
	errCodeInvalid   = apierr.New(apierr.CodeUnauthorized, "", "Code is not valid")
	errForeignOrigin = apierr.New(apierr.CodeForbidden, "", "Page of another origin cannot exchange a code")
)

// embedRefusals are the answers of the exchange that a public route does not have by itself.
var embedRefusals = map[int]reflect.Type{
	http.StatusUnauthorized: reflect.TypeFor[apierr.Body](),
	http.StatusForbidden:    reflect.TypeFor[apierr.Body](),
}

// present holds for a team t that is neither deleted nor about to be.
const present = `t.status <> 'deleted' and t.freeze_reason is distinct from 'deletion'`

// embeds holds for a session x of a team t while it may show it: the team is still a customer of the partner, the
// key that made it is not revoked, the person who made it still works for the partner and had no tokens taken away
// since, and the person it acts as still holds what it reads. (AUTH-30).
const embeds = `t.partner_id = x.partner_id and ` + present + `
	and not exists (select from access_key k where k.team_id = x.partner_id and k.user_id = x.created_by and k.revoked_at is not null)
	and (exists (select from access_key k where k.team_id = x.partner_id and k.user_id = x.created_by)
		or exists (select from access_member m where m.user_id = x.created_by and m.team_id = x.partner_id and m.contact_id is null and m.scopes @> x.scopes))
	and not exists (select from access_token k where k.user_id = x.created_by and k.revoked_at >= x.created_at)
	and (not x.is_member or exists (select from access_member m
		where m.user_id = x.user_id and m.team_id in (x.team_id, x.partner_id) and m.contact_id is null and m.scopes @> x.scopes))`

// EmbeddedToken is what the page of an embedded session works with.
type EmbeddedToken struct {
	AccessToken string      `json:"accessToken" doc:"Sent as a bearer token."`
	ExpiresAt   day.Instant `json:"expiresAt" doc:"15 minutes from now."`
	View        EmbedView   `json:"view"`
	TeamID      id.ID       `json:"teamId"`
}

type exchangeCodeInput struct {
	Origin string `header:"origin" hidden:"true" maxLength:"300"`
	Body   struct {
		Code      string `json:"code" maxLength:"200" doc:"What follows #code= in the address of the session."`
		SessionID *id.ID `json:"sessionId,omitempty" doc:"The session in that address. With the code of another one the exchange fails."`
	}
}

// exchangeEmbedCode answers POST /embed-sessions/exchange. A browser says which page it is on: only those of the portal
// may exchange a code. A program that is no browser has the code from its owner.
func (p Portal) exchangeEmbedCode(ctx context.Context, d *db.DB, _ db.Scope, in *exchangeCodeInput) (*EmbeddedToken, error) {
	if in.Origin != "" && in.Origin != p.origin() {
		return nil, errForeignOrigin
	}

	// What a code that comes again ends is committed, so it is no error of the transaction.
	var out *EmbeddedToken

	err := d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = beginEmbedded(ctx, tx, in.Body.Code, in.Body.SessionID)
		return err
	})
	if err == nil && out == nil {
		err = errCodeInvalid
	}

	return out, err
}

// beginEmbedded spends a code and returns the token of its session, or nil for a code that begins nothing. A code that
// was spent before ends its session: somebody else has it. (AUTH-28, LIM-09, LIM-10).
func beginEmbedded(ctx context.Context, tx *db.Tx, code string, session *id.ID) (*EmbeddedToken, error) {
	sum := hash(code)

	found, err := db.Select[struct {
		TeamID id.ID
		ID     id.ID
		View   EmbedView
		Region Region
	}](ctx, tx, `
		select x.team_id, x.id, x.view, t.region from access_embed_session x join team t on t.id = x.team_id where x.code_hash = @hash`,
		db.Args{"hash": sum[:]})
	if err != nil || len(found) == 0 || session != nil && *session != found[0].ID {
		return nil, err
	}

	x := found[0]
	out := &EmbeddedToken{
		AccessToken: newSecret(embedToken, x.Region), ExpiresAt: day.At(tx.Now.Add(embedSessionValidity)), View: x.View, TeamID: x.TeamID,
	}
	token := hash(out.AccessToken)
	args := db.Args{"team": x.TeamID, "id": x.ID, "token": token[:], "expires": out.ExpiresAt, "now": tx.Now}

	// One statement spends the code, so of two exchanges at the same time one finds it spent.
	spent, err := tx.Exec(ctx, `
		update access_embed_session x set token_hash = @token, expires_at = @expires from team t
		where x.team_id = @team and x.id = @id and x.token_hash is null and x.code_expires_at > @now and t.id = x.team_id and `+embeds, args)
	if err != nil {
		return nil, fmt.Errorf("exchange the code of an embedded session: %w", err)
	}

	if spent == 1 {
		return out, nil
	}

	ended, err := tx.Exec(ctx, `
		update access_embed_session set revoked_at = @now
		where team_id = @team and id = @id and token_hash is not null and revoked_at is null`, db.Args{"team": x.TeamID, "id": x.ID, "now": tx.Now})
	if err != nil || ended == 0 {
		return nil, err
	}

	return nil, team.Announce(ctx, tx)
}

// embedToken is what tokens of embedded sessions begin with.
const embedToken = "es"

// embedHolder returns what a live embedded session gives access to: one team, and what its view may read. It fails with
// apierr.Unauthorized.
func (g *Gate) embedHolder(ctx context.Context, tx *db.Tx, hash []byte) (*credential, error) {
	s, err := db.One[struct {
		UserID      id.ID
		StatementID *id.ID
		ExpiresAt   time.Time
		membership
	}](ctx, tx, apierr.Unauthorized, `
		select x.user_id, x.scopes, null::uuid as contact_id, x.statement_id, x.expires_at, `+membershipColumns+`
		from access_embed_session x join team t on t.id = x.team_id
		where x.token_hash = @hash and x.expires_at > @now and x.revoked_at is null and `+embeds, db.Args{"hash": hash, "now": tx.Now})
	if err != nil {
		return nil, err
	}

	return &credential{
		Kind: api.Embedded, User: s.UserID, Home: s.ID, Scopes: s.Scopes, Statement: s.StatementID, Expires: &s.ExpiresAt,
		Teams: []membership{s.membership},
	}, nil
}

// EmbedOrigins returns the origins of the pages that may show an embedded session, none for one that is not known.
func EmbedOrigins(ctx context.Context, d *db.DB, session id.ID) (origins []string, err error) {
	err = d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		found, err := db.Select[struct{ Origins []string }](ctx, tx, `select origins from access_embed_session where id = @id`, db.Args{"id": session})
		if err == nil && len(found) > 0 {
			origins = found[0].Origins
		}

		return err
	})

	return origins, err
}
