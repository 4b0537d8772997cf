package access

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// EmbedView says what an embedded session shows.
type EmbedView string

// The views of embedded sessions.
const (
	ReportView    EmbedView = "report"
	StatementView EmbedView = "statement"
)

// Enum lists the views.
func (EmbedView) Enum() []string { return api.Texts(ReportView, StatementView) }

// scopes returns what a session of the view may read: reports, or statements. One that is bound to a statement of an
// owner sees no statements of the manager. (AUTH-29, AUTH-31).
func (v EmbedView) scopes(isBound bool) []string {
	switch {
	case v == ReportView:
		return []string{"reports:read"}
	case isBound:
		return []string{"statements:read"}
	default:
		return []string{"pm-statements:read", "statements:read"}
	}
}

// Portal is where the pages of the service are, as browsers see them.
type Portal struct {
	// URL is the address of the service without a trailing slash.
	URL string
	// Regions are the data regions that are served here: teams of others are shown elsewhere.
	Regions []string
	// Local also lets pages of http://localhost show embedded sessions. It is for development.
	Local bool
}

// origin returns the origin of the portal's pages, as a browser names it.
func (p Portal) origin() string {
	u, err := url.Parse(p.URL)
	if err != nil {
		return ""
	}

	return u.Scheme + "://" + u.Host
}

// What an origin may be: that of an https page as a browser names it, so without a path, a default port or a wildcard.
// Nothing else can get into a policy.
var (
	secureOrigin = regexp.MustCompile(`^https://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9][0-9]{0,4})?$`)
	localOrigin  = regexp.MustCompile(`^http://localhost(?::[1-9][0-9]{0,4})?$`)
	defaultPort  = regexp.MustCompile(`^https://.*:443$|^http://.*:80$`)
)

// allows reports whether pages of an origin may show embedded sessions.
func (p Portal) allows(origin string) bool {
	if defaultPort.MatchString(origin) {
		return false
	}

	return secureOrigin.MatchString(origin) || p.Local && localOrigin.MatchString(origin)
}

// NewEmbedSession says what a partner wants to show to a user in a frame.
type NewEmbedSession struct {
	TeamID         id.ID     `json:"teamId" doc:"A customer team of the partner, in a region that is served here."`
	View           EmbedView `json:"view"`
	ResourceID     *id.ID    `json:"resourceId,omitempty" doc:"Of view statement: the published statement that the session sees, and no other. All that are published when absent."`
	UserID         *id.ID    `json:"userId,omitempty" doc:"The user that the session acts as: a member of the team or of the partner who holds the scopes of the view. The caller when no user is named."`
	ExternalUserID string    `json:"externalUserId,omitempty" minLength:"1" maxLength:"200" doc:"In place of userId: a user of the partner's own product, by what it calls the user."`
	AutoProvision  bool      `json:"autoProvision,omitempty" doc:"Makes the user of an externalUserId that is not known yet."`
	AllowedOrigins []string  `json:"allowedOrigins" minItems:"1" maxItems:"10" uniqueItems:"true" doc:"The only pages that can show the session, each as https://host or https://host:port."`
}

// Resolve reports fields that contradict each other.
func (n *NewEmbedSession) Resolve() []apierr.Issue {
	var issues []apierr.Issue

	if n.ResourceID != nil && n.View == ReportView {
		issues = append(issues, apierr.IssueContradiction.InBody("resourceId"))
	}

	if n.UserID != nil && n.ExternalUserID != "" {
		issues = append(issues, apierr.IssueContradiction.InBody("externalUserId"))
	}

	if n.AutoProvision && n.ExternalUserID == "" {
		issues = append(issues, apierr.IssueContradiction.InBody("autoProvision"))
	}

	return issues
}

// EmbedSession is where a frame finds an embedded session.
type EmbedSession struct {
	URL       string      `json:"url" doc:"For the frame. It works once."`
	ExpiresAt day.Instant `json:"expiresAt" doc:"Until when the frame has to open it: for 60 seconds."`
}

type embedInput struct{ Body NewEmbedSession }

// embedLinkValidity is how long the address of an embedded session can be opened. (LIM-09).
const embedLinkValidity = time.Minute

// makeEmbedSession inserts a session for a customer of the partner and returns its address. It fails with
// apierr.MissingScope if the caller does not hold what the session would, and with issues for a team, statement, user
// or origin that cannot be used. (AUTH-27).
func (p Portal) makeEmbedSession(ctx context.Context, tx *db.Tx, in *embedInput) (*EmbedSession, error) {
	n := &in.Body

	scopes := n.View.scopes(n.ResourceID != nil)
	if !hasAll(tx.Actor.Scopes, scopes) {
		return nil, apierr.MissingScope.With(map[string]any{"requiredScopes": scopes})
	}

	for i, origin := range n.AllowedOrigins {
		if !p.allows(origin) {
			return nil, apierr.BadRequest.At(apierr.IssueAddressNotAllowed.InBody("allowedOrigins", i))
		}
	}

	region, err := p.loadCustomer(ctx, tx, n)
	if err != nil {
		return nil, err
	}

	// The rest is about rows of the customer as well.
	if err := tx.Join(ctx, n.TeamID); err != nil {
		return nil, err
	}

	user, err := n.findUser(ctx, tx, scopes)
	if err != nil {
		return nil, err
	}

	session, code := tx.NewID(), newSecret("ec", region)
	sum := hash(code)
	expires := day.At(tx.Now.Add(embedLinkValidity))

	_, err = tx.Exec(ctx, `
		insert into access_embed_session (team_id, id, partner_id, user_id, is_member, view, statement_id, scopes, origins, code_hash, code_expires_at, created_by, created_at)
		values (@customer, @id, @partner, @user, @is_member, @view, @statement, @scopes, @origins, @hash, @expires, @actor, @now)`,
		db.Args{
			"customer": n.TeamID, "id": session, "partner": tx.Team, "user": user, "is_member": n.UserID != nil,
			"view": string(n.View), "statement": n.ResourceID, "scopes": scopes, "origins": n.AllowedOrigins,
			"hash": sum[:], "expires": expires, "actor": tx.Actor.User, "now": tx.Now,
		})
	if err != nil {
		return nil, fmt.Errorf("make an embedded session: %w", err)
	}

	audit.NoteIn(tx, n.TeamID, audit.Created, audit.EmbedSession, session, nil, map[string]any{
		"view": n.View, "statementId": n.ResourceID, "userId": user, "allowedOrigins": n.AllowedOrigins,
	}, audit.Ref(audit.RoleStatement, audit.Statement, n.ResourceID), audit.Ref(audit.RoleParent, audit.User, user))

	return &EmbedSession{URL: p.URL + "/embed/" + session.String() + "#code=" + code, ExpiresAt: expires}, nil
}

// loadCustomer returns the region of the team to show. It fails with the issue notFound for a team that is no customer
// of the partner, is going or is served elsewhere, and for a statement that is not published there.
func (p Portal) loadCustomer(ctx context.Context, tx *db.Tx, n *NewEmbedSession) (region Region, err error) {
	partner := tx.Team

	err = tx.Visit(ctx, n.TeamID, func(ctx context.Context, tx *db.Tx) error {
		t, err := db.One[struct {
			Region      Region
			IsPublished bool
		}](ctx, tx, apierr.BadRequest.At(apierr.IssueNotFound.InBody("teamId")), `
			select t.region, exists (select from statement s where s.team_id = t.id and s.id = @statement and s.status = 'published') as is_published
			from team t where t.id = @customer and t.partner_id = @partner and t.region = any(@regions) and `+present,
			db.Args{"customer": n.TeamID, "partner": partner, "regions": p.Regions, "statement": n.ResourceID})
		if err != nil {
			return err
		}

		if n.ResourceID != nil && !t.IsPublished {
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody("resourceId"))
		}

		region = t.Region

		return nil
	})

	return region, err
}

// findUser returns the user that a session acts as. It fails with the issue notFound for one that cannot be used.
func (n *NewEmbedSession) findUser(ctx context.Context, tx *db.Tx, scopes []string) (id.ID, error) {
	switch {
	case n.UserID != nil:
		return db.One[id.ID](ctx, tx, apierr.BadRequest.At(apierr.IssueNotFound.InBody("userId")), `
			select m.user_id from access_member m where m.user_id = @user and m.team_id in (@customer, @team) and m.contact_id is null and m.scopes @> @scopes
			limit 1`, db.Args{"user": n.UserID, "customer": n.TeamID, "team": tx.Team, "scopes": scopes})
	case n.ExternalUserID != "":
		return n.findExternalUser(ctx, tx)
	default:
		return tx.Actor.User, nil
	}
}

// findExternalUser returns the user that the partner's product calls so, and makes it if that is asked for.
func (n *NewEmbedSession) findExternalUser(ctx context.Context, tx *db.Tx) (id.ID, error) {
	known, err := db.Select[id.ID](ctx, tx, `select user_id from access_external_user where team_id = @team and external_id = @external`,
		db.Args{"team": tx.Team, "external": n.ExternalUserID})

	switch {
	case err != nil:
		return id.Zero, fmt.Errorf("find a user of a partner: %w", err)
	case len(known) > 0:
		return known[0], nil
	case !n.AutoProvision:
		return id.Zero, apierr.BadRequest.At(apierr.IssueNotFound.InBody("externalUserId"))
	}

	// Another request may make the same user at this moment: then it is that one.
	user := tx.NewID()

	made, err := db.Get[id.ID](ctx, tx, `
		insert into access_external_user (team_id, external_id, user_id, created_at) values (@team, @external, @user, @now)
		on conflict (team_id, external_id) do update set external_id = excluded.external_id returning user_id`,
		db.Args{"team": tx.Team, "external": n.ExternalUserID, "user": user, "now": tx.Now})
	if err != nil {
		return id.Zero, fmt.Errorf("make a user of a partner: %w", err)
	}

	if made == user {
		audit.Note(tx, audit.Created, audit.User, user, nil, map[string]any{"externalUserId": n.ExternalUserID})
	}

	return made, nil
}

// embedEndpoints returns the routes that make an embedded session and begin it.
func (p Portal) embedEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: "POST", Path: "/partner/embed-sessions", ID: "createEmbedSession", Tag: embedTag,
			Summary: "Make an embedded session",
			Doc: "Returns an address for a frame in the partner's own product. It is shown once, works once and for 60 " +
				"seconds, and only in pages of the allowed origins. The session that it begins lasts 15 minutes and " +
				"reads the reports or the published statements of one team. It holds `reports:read`, or " +
				"`statements:read` and, unless it is bound to a statement, `pm-statements:read`: the caller has to " +
				"hold these too. An Idempotency-Key is not kept, since the answer holds a secret. Fails with 400 for " +
				"a team, statement or user that cannot be used (issue `notFound`) and for an origin that is none of " +
				"https (`addressNotAllowed`).",
			Errors: apierr.List{apierr.MissingScope},
			Scopes: []string{"partner:manage"}, PartnerOnly: true, Portal: true, AnyRegion: true, Status: 201, Secret: true,
		}, p.makeEmbedSession),
		api.External(api.Endpoint{
			Method: "POST", Path: "/embed-sessions/exchange", ID: "exchangeEmbedCode", Tag: embedTag,
			Summary: "Exchange the code of an embedded session for its token",
			Doc: "Needs no credential. The page of the frame does this; the code is what follows `#code=` in its " +
				"address. A code that comes again ends the session that it began. Fails with 401 for a code that is " +
				"unknown, older than 60 seconds or used, and with 403 for a browser on a page of another origin.",
			Errors: apierr.List{errForeignOrigin, errCodeInvalid}, Public: true, Selection: api.NoTeam, MaxBody: 4 << 10,
			Also: embedRefusals,
		}, p.exchangeEmbedCode),
	}
}
