// Package access owns keys, users, tokens and memberships, and decides for which team a request works.
//
// A credential always acts as a user; a key acts as the service user that was made with it. Secrets are stored hashed
// and shown once. Each process remembers the credential of a secret for a few seconds, and forgets it at once when a
// credential changes.
//
// The page docs/decisions/access.md says what the contract leaves open about embedded sessions and how it is answered
// here; docs/decisions/delivery.md says it of the links of owners.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Region is a data region of the contract.
type Region = team.Region

var (
	errNotPartnerTeam = apierr.New(apierr.CodeForbidden, "", "Selected team is not a partner team")
	errNotPartnerKey  = apierr.New(apierr.CodeNotFound, "", "Not a partner API key")
	errTeamNotHeld    = apierr.New(apierr.CodeForbidden, "", "Credential does not reach the selected team")
	errTeamConflict   = apierr.New(apierr.CodeForbidden, "", "Team header conflicts with the credential")
	errMisdirected    = apierr.New(apierr.CodeMisdirectedRequest, "", "Team lives in another data region")
	errNoTeam         = apierr.New(apierr.CodeBadRequest, "", "A team must be selected")
)

// Config of the gate.
type Config struct {
	DB *db.DB
	// Regions are served here, by the base address of each; other known regions are in Elsewhere.
	Regions map[Region]string
	// Elsewhere gives the base address of regions that another deployment serves.
	Elsewhere map[Region]string
	// Remember is how long a verified credential is trusted without a look; zero means three seconds.
	Remember time.Duration
}

// Gate decides who a request comes from and for which team it works.
type Gate struct {
	Config
	cache cache
}

// NewGate returns a gate that remembers credentials for three seconds unless c says otherwise.
func NewGate(c Config) *Gate {
	if c.Remember == 0 {
		c.Remember = 3 * time.Second
	}

	return &Gate{Config: c, cache: newCache()}
}

// credential has the caller behind a secret: its kind, user, scopes and teams.
type credential struct {
	Kind api.Credential
	User id.ID
	Home id.ID // team that issued a key
	// Audience of a partner key.
	Audience Audience
	Scopes   []string
	Expires  *time.Time
	Teams    []membership
	// Statement is the only one that an embedded session sees, nil when it sees all that are published.
	Statement *id.ID
	reach     []id.ID
}

// membership is a team that a credential reaches.
type membership struct {
	ID        id.ID
	Type      string
	Status    string
	Region    Region
	PartnerID id.ID
	NoLedger  bool
	Zone      day.Zone
	Freeze    *string
	Scopes    []string // of a person in this team
	ContactID *id.ID   // of an owner in this team
}

// works reports whether the credential works for the whole team: it is there, and the person behind it is no mere
// owner.
func (t *membership) works() bool { return t.Status != "deleted" && t.ContactID == nil }

// Authenticate implements api.Config.Authenticate. It refuses in this order: credential (401), closed route and missing
// scope (403), team selection (400, 403, 404, 410, 421), frozen writes (423). What a person may do depends on the team,
// so for people the selection comes before route and scope; and a route of the partner does not exist for a team's key
// (404).
func (g *Gate) Authenticate(ctx context.Context, r *http.Request, e *api.Endpoint) (db.Scope, error) {
	// First the credential. For a team's key, routes of the partner do not exist.
	c, err := g.identify(ctx, r)
	if err != nil {
		return db.Scope{}, err
	}

	if e.PartnerOnly && c.Kind == api.TeamKey {
		return db.Scope{}, refuseTeamKey(e)
	}

	scope := db.Scope{Actor: db.Actor{User: c.User, Scopes: c.Scopes, Teams: c.reach}}

	kind := c.Kind
	switch kind {
	case api.TeamKey:
		scope.Actor.Kind = db.TeamKey
	case api.PartnerKey:
		scope.Actor.Kind = db.PartnerKey
	case api.User, api.Owner:
		scope.Actor.Kind = db.Person
	case api.Embedded:
		scope.Actor.Kind, scope.Actor.Statement = db.Embedded, c.Statement
	}

	if c.Audience == ForPortal && !e.Portal {
		return db.Scope{}, apierr.RouteClosed
	}

	// Keys, owners and embedded sessions have the same scopes in all teams, so they are refused before a team is
	// selected.
	if kind != api.User {
		if err := permit(e, kind, scope.Actor.Scopes); err != nil {
			return db.Scope{}, err
		}
	}

	// Then the team, or for collections across teams all of them.
	region, err := readRegion(r, e)
	if err != nil {
		return db.Scope{}, err
	}

	selected, err := g.selectTeam(c, r, e, region)
	if err != nil {
		return db.Scope{}, err
	}

	if e.Selection == api.ManagedTeams {
		scope.Managed, scope.Actor.Scopes = managedTeams(c, e, region)

		// Who acts for a partner sees its customers here, and works in none of them by that.
		if e.PartnerOnly && c.Kind == api.User {
			if scope.Managed, err = g.customers(ctx, selected.ID, region); err != nil {
				return db.Scope{}, err
			}
		}
	}

	// The scopes of a person are those in the team, and a person can be an owner there.
	if selected != nil {
		scope.Team, scope.NoLedger, scope.Zone = selected.ID, selected.NoLedger, selected.Zone
		if c.Kind == api.User {
			scope.Actor.Scopes = selected.Scopes
		}

		if selected.ContactID != nil {
			kind, scope.Actor.Owner = api.Owner, selected.ContactID
		}
	}

	// Now route and scope, also for people.
	if err := permit(e, kind, scope.Actor.Scopes); err != nil {
		return db.Scope{}, err
	}

	// Last, nothing is written to a team that is being migrated or deleted.
	if e.Mutates() && !e.Frozen && selected != nil && selected.Freeze != nil {
		return db.Scope{}, apierr.FrozenBy(*selected.Freeze)
	}

	return scope, nil
}

// refuseTeamKey returns the refusal of a team's key by a route for partners: those below /partner do not exist for it
// (AUTH-39).
func refuseTeamKey(e *api.Endpoint) *apierr.Error {
	if strings.HasPrefix(e.Path, "/partner/") {
		return errNotPartnerKey
	}

	return apierr.RouteClosed
}

// Refusals implements api.Config.Refusals: it lists the errors with which Authenticate can refuse a request of an
// endpoint.
func Refusals(e *api.Endpoint) apierr.List {
	list := apierr.List{apierr.Unauthorized}
	if e.PartnerOnly && !errors.Is(refuseTeamKey(e), apierr.RouteClosed) {
		list = append(list, errNotPartnerKey)
	}

	list = append(list, apierr.RouteClosed)
	if len(e.Scopes) > 0 {
		list = append(list, apierr.MissingScope)
	}

	if e.Selection == api.NoTeam {
		return list
	}

	if e.Selection == api.ManagedTeams && !e.PartnerOnly {
		return append(list, errMisdirected)
	}

	list = append(list, errNoTeam, apierr.NotFound, errTeamConflict, errTeamNotHeld)
	if e.PartnerOnly {
		list = append(list, errNotPartnerTeam)
	}

	if !e.Deleted {
		list = append(list, apierr.TeamDeleted)
	}

	list = append(list, errMisdirected)
	if e.Mutates() && !e.Frozen {
		list = append(list, apierr.Freezes()...)
	}

	return list
}

// identify finds the credential of a request. A key and a bearer token together are refused rather than guessed at.
func (g *Gate) identify(ctx context.Context, r *http.Request) (*credential, error) {
	key, authorization := r.Header.Get("x-api-key"), r.Header.Get("Authorization")

	scheme, token, _ := strings.Cut(authorization, " ")
	switch {
	case key != "" && authorization == "":
		c, err := g.lookUp(ctx, secretKey{sum: hash(key)}, g.keyHolder)
		if errors.Is(err, errUnknownKey) {
			err = g.elsewhere(key)
		}

		return c, err
	case key == "" && token != "" && strings.EqualFold(scheme, "Bearer"):
		look := g.tokenHolder

		switch kind, _, _ := strings.Cut(token, "_"); kind {
		case "os":
			look = g.sessionHolder
		case embedToken:
			look = g.embedHolder
		}

		return g.lookUp(ctx, secretKey{sum: hash(token), bearer: true}, look)
	}

	return nil, apierr.Unauthorized
}

// elsewhere returns the refusal of a key that is not known here: its secret names the region that issued it, and a
// deployment that serves that region may know it. What it says of the region is no secret.
func (g *Gate) elsewhere(key string) error {
	kind, rest, _ := strings.Cut(key, "_")
	region, _, _ := strings.Cut(rest, "_")

	if _, known := g.Elsewhere[Region(region)]; kind != "sk" || !known {
		return apierr.Unauthorized
	}

	return g.here(Region(region), nil)
}

// permit refuses a route that is closed to the kind of credential, and one that asks for a scope that is not held.
func permit(e *api.Endpoint, kind api.Credential, held []string) error {
	if !slices.Contains(e.Credentials(), kind) {
		return apierr.RouteClosed
	}

	if !hasAll(held, e.Scopes) {
		return apierr.MissingScope.With(map[string]any{"requiredScopes": e.Scopes})
	}

	return nil
}

// hasAll reports whether every required scope is held. An entry may name alternatives, divided by "|".
func hasAll(held, required []string) bool {
	for _, s := range required {
		if !slices.ContainsFunc(strings.Split(s, "|"), func(alternative string) bool {
			return slices.Contains(held, alternative)
		}) {
			return false
		}
	}

	return true
}

// readRegion returns the data region that a request asks for, none without the header or where the endpoint has no
// regions. It fails with 400 for an unknown one.
func readRegion(r *http.Request, e *api.Endpoint) (Region, error) {
	region := Region(r.Header.Get("x-data-region"))
	if !e.Region || region == "" {
		return "", nil
	}

	if !slices.Contains(region.Enum(), string(region)) {
		return "", apierr.BadRequest.At(apierr.IssueEnum.InHeader("x-data-region"))
	}

	return region, nil
}

// customers returns the teams that a partner manages, in a region if one is given.
func (g *Gate) customers(ctx context.Context, partner id.ID, region Region) (teams []id.ID, err error) {
	err = g.DB.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		teams, err = db.Select[id.ID](ctx, tx, `
			select id from team where partner_id = @partner and status <> 'deleted' and (@region = '' or region = @region) order by id`,
			db.Args{"partner": partner, "region": region})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the customers of a partner: %w", err)
	}

	return teams, nil
}

// managedTeams returns the teams that a collection across teams works on, and the scopes held there: for a partner all
// its customers, for a key all its teams, for a person the teams where the person holds what the route asks for.
func managedTeams(c *credential, e *api.Endpoint, region Region) (teams []id.ID, scopes []string) {
	teams, scopes = []id.ID{}, c.Scopes
	for i := range c.Teams {
		t := &c.Teams[i]
		if !t.works() || c.Kind == api.PartnerKey && t.ID == c.Home {
			continue
		}

		// A person can hold different scopes in each team.
		if c.Kind == api.User {
			if !hasAll(t.Scopes, e.Scopes) {
				continue
			}

			scopes = union(scopes, t.Scopes)
		}

		// A region narrows the answer to the teams of that slice.
		if region == "" || t.Region == region {
			teams = append(teams, t.ID)
		}
	}

	return teams, scopes
}

func hash(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// newSecret returns a secret with 256 random bits after its kind and region.
func newSecret(kind string, region Region) string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails

	return fmt.Sprintf("%s_%s_%s", kind, region, base64.RawURLEncoding.EncodeToString(b))
}
