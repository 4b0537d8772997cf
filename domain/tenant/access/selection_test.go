package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const (
	conflict = "Team header conflicts with the credential"
	notHeld  = "Credential does not reach the selected team"
)

// Proves: AUTH-01, AUTH-06, AUTH-07, AUTH-08, AUTH-09, AUTH-13, OPEN-65.
func TestTeamKeysSelectATeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, foreign := w.team("us", id.Zero), w.team("ca", id.Zero), w.team("us", id.Zero)

	single, several := w.key(one), w.key(one, two)
	if got := w.get("/team", single).want(200).tree()["id"]; got != one.String() {
		t.Errorf("the only team is %v", got)
	}

	w.get("/team", single, "x-team-id", one.String()).want(200)

	for _, v := range []id.ID{one, two} {
		for _, text := range []string{v.String(), strings.ToUpper(v.String())} {
			if got := w.get("/team", several, "x-team-id", text).want(200).tree()["id"]; got != v.String() {
				t.Errorf("selected %s, got %v", v, got)
			}
		}
	}

	w.get("/team", several).selectionMissing()
	w.call("POST", "/toys", several).selectionMissing()

	for key, message := range map[string]string{single: conflict, several: notHeld} {
		known := w.get("/team", key, "x-team-id", foreign.String()).refused(apierr.CodeForbidden, message)

		unknown := w.get("/team", key, "x-team-id", w.unreached()).refused(apierr.CodeForbidden, message)
		if known.told() != unknown.told() || known.context() != "" {
			t.Errorf("ids are confirmed: %s, %s", known.body, unknown.body)
		}

		w.get("/team", key, "x-team-id", id.Zero.String()).refused(apierr.CodeForbidden, message)
		w.get("/team", key, "x-team-id", "mine").selectionMissing()
	}

	plain := w.get("/team", single).want(200)
	for _, region := range []string{"us", "eu", "nonsense"} {
		if a := w.get("/team", single, "x-data-region", region).want(200); a.body != plain.body {
			t.Errorf("%s: %s", region, a.body)
		}
	}

	s := w.get("/toys", several, "x-team-id", two.String()).seen()
	if s.Team != two.String() || !slices.Equal(s.Teams, []string{two.String()}) || !slices.Equal(s.Reach, texts(one, two)) {
		t.Errorf("scope: %+v", s)
	}
}

func TestATeamInThePathIsTheSelectedTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.team("us", id.Zero), w.team("us", id.Zero)
	key := w.key(one, two)

	_, token := w.person(access.Member{Team: one, Scopes: []string{"admin"}})
	if got := w.get("/toys/teams/"+two.String(), key).seen().Team; got != two.String() {
		t.Errorf("team %s", got)
	}

	w.get("/toys/teams/"+two.String(), key, "x-team-id", strings.ToUpper(two.String())).want(200)
	w.get("/toys/teams/"+two.String(), key, "x-team-id", one.String()).refused(apierr.CodeForbidden, conflict)
	w.get("/toys/teams/"+w.unreached(), key).refused(apierr.CodeForbidden, notHeld)
	w.get("/toys/teams/"+w.unreached(), w.key(one)).refused(apierr.CodeForbidden, notHeld)
	w.get("/toys/teams/"+two.String(), token).refused(apierr.CodeNotFound, "")

	if a := w.get("/toys/teams/mine", key).refused(apierr.CodeBadRequest, ""); !strings.Contains(a.body, `"path":["id"]`) {
		t.Errorf("malformed: %s", a.body)
	}
}

// Proves: AUTH-04, OPEN-80, ERR-93, AUTH-17.
func TestPeopleSelectATeamAndHoldTheScopesOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, foreign := w.team("us", id.Zero), w.team("us", id.Zero), w.team("us", id.Zero)
	user, both := w.person(access.Member{Team: one, Scopes: []string{"transactions:write"}}, access.Member{Team: two, Scopes: []string{"transactions:delete", "team:read"}})
	_, single := w.person(access.Member{Team: one, Scopes: []string{"admin"}})

	_, nowhere := w.person()
	if s := w.get("/toys", single).seen(); s.Team != one.String() {
		t.Errorf("the only team: %+v", s)
	}

	w.get("/toys", both).selectionMissing()
	w.get("/toys", nowhere).selectionMissing()
	w.call("POST", "/toys", both, "x-team-id", one.String()).want(200)
	w.call("DELETE", "/toys", both, "x-team-id", one.String()).refused(apierr.CodeForbidden, "")
	w.call("POST", "/toys", both, "x-team-id", two.String()).refused(apierr.CodeForbidden, "")
	w.call("DELETE", "/toys", both, "x-team-id", two.String()).want(200)

	if s := w.get("/toys", both, "x-team-id", two.String()).seen(); s.User != user.String() || s.Owner != nil || !slices.Equal(s.Reach, texts(one, two)) {
		t.Errorf("scope: %+v", s)
	}

	for _, token := range []string{both, single, nowhere} {
		known := w.get("/team", token, "x-team-id", foreign.String()).refused(apierr.CodeNotFound, "Not found")
		if unknown := w.get("/team", token, "x-team-id", w.unreached()).refused(apierr.CodeNotFound, "Not found"); known.told() != unknown.told() {
			t.Errorf("ids are confirmed: %s, %s", known.body, unknown.body)
		}
	}

	w.get("/toys", both, "x-team-id", "mine").selectionMissing()
}

// Proves: OPEN-65.
func TestOwnersComeThroughOpenRoutesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.team("us", id.Zero), w.team("us", id.Zero)
	contact := id.New(w.db.Now())
	_, owner := w.person(access.Member{Team: one, Contact: &contact, Scopes: append(access.OwnerScopes(), "team:read", "transactions:write")},
		access.Member{Team: two, Scopes: []string{"statements:read", "team:read"}})

	s := w.get("/toys/owned", owner, "x-team-id", one.String()).seen()
	if s.Owner == nil || *s.Owner != contact || s.Team != one.String() || !slices.Equal(s.Reach, []string{two.String()}) {
		t.Errorf("scope: %+v", s)
	}

	if s := w.get("/toys/owned", owner, "x-team-id", two.String()).seen(); s.Owner != nil {
		t.Errorf("scope: %+v", s)
	}

	for _, path := range []string{"/toys", "/team", "/toys/inner"} {
		a := w.get(path, owner, "x-team-id", one.String()).refused(apierr.CodeForbidden, "Route is not open to this kind of credential")
		if a.context() != "" {
			t.Errorf("%s: %s", path, a.body)
		}
	}

	w.call("POST", "/toys", owner, "x-team-id", one.String()).refused(apierr.CodeForbidden, "Route is not open to this kind of credential")

	if s := w.get("/toys/managed", owner).seen(); !slices.Equal(s.Teams, []string{two.String()}) {
		t.Errorf("an owner manages %+v", s)
	}

	w.get("/operations", owner, "x-team-id", one.String()).want(200)
}

// Proves: AUTH-24, AUTH-25, OPEN-65, AUTH-63.
func TestMeIsForBearerSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	partner := w.partner("us")
	one, gone := w.team("us", partner), w.team("us", id.Zero)
	contact := id.New(w.db.Now())
	user, token := w.person(access.Member{Team: one, Contact: &contact, Scopes: access.OwnerScopes()}, access.Member{Team: gone, Scopes: []string{"admin"}},
		access.Member{Team: partner, Scopes: []string{"partner:read"}})
	w.exec(`update team set status = 'deleted' where id = @team`, db.Args{"team": gone})

	for _, secret := range []string{w.key(one), w.partnerKey(partner)} {
		w.get("/me", secret).refused(apierr.CodeForbidden, "Route is not open to this kind of credential")
	}

	w.get("/me", "").refused(apierr.CodeUnauthorized, "")

	endpoint := w.server.Find("GET", "/me")
	for kind, open := range map[api.Credential]bool{api.User: true, api.Owner: true, api.TeamKey: false, api.PartnerKey: false} {
		if slices.Contains(endpoint.Credentials(), kind) != open {
			t.Errorf("the description opens GET /me to %v", endpoint.Credentials())
		}
	}

	_, owner := w.person(access.Member{Team: one, Contact: &contact, Scopes: access.OwnerScopes()})
	w.get("/me", owner).want(200)
	me := w.get("/me", token).want(200).tree()
	teams, _ := me["teams"].([]any)

	email, _ := me["email"].(string)
	if me["id"] != user.String() || me["name"] != "Robin" || !strings.HasPrefix(email, "robin-") || len(teams) != 2 {
		t.Fatalf("me: %v", me)
	}

	for _, v := range teams {
		mine, _ := v.(map[string]any)
		switch mine["id"] {
		case partner.String():
			if mine["type"] != "partner" || mine["contactId"] != nil || fmt.Sprint(mine["scopes"]) != "[partner:read]" {
				t.Errorf("partner: %v", mine)
			}
		case one.String():
			if mine["type"] != "propertyManager" || mine["contactId"] != contact.String() || mine["region"] != "us" {
				t.Errorf("team: %v", mine)
			}
		default:
			t.Errorf("not mine: %v", mine)
		}
	}

	_, nobody := w.person()
	if teams, _ := w.get("/me", nobody).want(200).tree()["teams"].([]any); teams == nil || len(teams) != 0 {
		t.Errorf("nobody reaches %v", teams)
	}
}

// Proves: ERR-39, ERR-92, ERR-93.
func TestADeletedTeamIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	partner := w.partner("us")
	one, gone, stranger := w.team("us", partner), w.team("us", partner), w.team("us", id.Zero)
	single, several, partnerKey := w.key(gone), w.key(one, gone), w.partnerKey(partner)
	_, token := w.person(access.Member{Team: gone, Scopes: []string{"admin"}})
	w.exec(`update team set status = 'deleted' where id = @team`, db.Args{"team": gone})

	selected := []string{"x-team-id", gone.String()}
	for _, c := range []struct {
		secret  string
		headers []string
	}{{single, nil}, {single, selected}, {several, selected}, {partnerKey, selected}, {token, nil}, {token, selected}} {
		w.get("/team", c.secret, c.headers...).refused(apierr.CodeTeamDeleted, "Team was deleted")

		// What says how the deletion went stays readable (OPEN-81).
		if s := w.get("/toys/after", c.secret, c.headers...).seen(); s.Team != gone.String() {
			t.Errorf("team %s", s.Team)
		}
	}

	w.get("/team", w.key(stranger), selected...).refused(apierr.CodeForbidden, conflict)

	if s := w.get("/toys", several, "x-team-id", one.String()).seen(); !slices.Equal(s.Reach, []string{one.String()}) {
		t.Errorf("reach: %v", s.Reach)
	}

	w.exec(`update team set status = 'deleted' where id = @team`, db.Args{"team": partner})
	w.get("/operations", w.issueAnyway(partner)).refused(apierr.CodeTeamDeleted, "")
}

// issueAnyway gives a partner key of a partner that is deleted.
func (w *world) issueAnyway(partner id.ID) string {
	w.t.Helper()
	w.exec(`update team set status = 'active' where id = @team`, db.Args{"team": partner})
	key := w.partnerKey(partner)
	w.exec(`update team set status = 'deleted' where id = @team`, db.Args{"team": partner})

	return key
}

// Proves: ERR-43, ERR-89, ERR-90, ERR-91.
func TestATeamThatLivesElsewhereIsMisdirected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	partner := w.partner("us")
	here, there, nowhere := w.team("us", partner), w.team("eu", partner), w.team("sa", partner)
	_, token := w.person(access.Member{Team: there, Scopes: []string{"admin"}})
	alone := `{"apiBaseUrl":"` + elsewhere + `","dataRegion":"eu"}`
	named := `{"apiBaseUrl":"` + elsewhere + `","dataRegion":"eu","teamId":"` + there.String() + `"}`
	selected := []string{"x-team-id", there.String()}

	single := w.key(there)
	europe := newDeployment(t, map[access.Region]string{"eu": elsewhere}, nil)

	for _, c := range []struct {
		secret  string
		headers []string
		context string
	}{
		{single, nil, alone}, {single, selected, named}, {w.key(here, there), selected, named}, {w.partnerKey(partner), selected, named}, {token, nil, alone}, {token, selected, named},
	} {
		for _, path := range []string{"/team", "/operations", "/operations/" + w.unreached()} {
			if got := w.get(path, c.secret, c.headers...).refused(apierr.CodeMisdirectedRequest, "").context(); got != c.context {
				t.Errorf("%s %v: context %s, want %s", path, c.headers, got, c.context)
			}
		}

		// The address in the context serves the same request.
		if got := europe.get("/team", c.secret, c.headers...).want(200); !strings.Contains(got.body, there.String()) {
			t.Errorf("%v: %s serves %s", c.headers, elsewhere, got.body)
		}
	}

	if got := w.get("/team", w.key(nowhere)).refused(apierr.CodeMisdirectedRequest, "").context(); got != `{"apiBaseUrl":null,"dataRegion":"sa"}` {
		t.Errorf("a region without a deployment: %s", got)
	}
}

// Proves: ERR-49, ERR-50, ERR-51, ERR-94, OPEN-77.
func TestFrozenTeamsTakeNoWrites(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	for reason, code := range map[string]apierr.Code{
		"migration": apierr.CodeTeamMigrationFrozen, "deletion": apierr.CodeTeamDeletionFrozen, "unknown": apierr.CodeTeamWritesFrozen,
	} {
		partner := w.partner("us")
		one := w.team("us", partner)
		w.exec(`update team set freeze_reason = @reason where id = @team`, db.Args{"team": one, "reason": reason})

		_, token := w.person(access.Member{Team: one, Scopes: []string{"admin"}})
		for _, secret := range []string{w.key(one), w.partnerKey(partner), token} {
			header := []string{"x-team-id", one.String()}
			w.call("POST", "/toys", secret, header...).refused(code, "")
			w.call("DELETE", "/toys", secret, header...).refused(code, "")
			w.get("/toys", secret, header...).want(200)
			w.get("/team", secret, header...).want(200)
			w.call("POST", "/toys/thaw", secret, header...).want(200)
		}

		reader := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"reporting"}}).Secret
		w.call("POST", "/toys", reader).refused(apierr.CodeForbidden, "")
	}
}
