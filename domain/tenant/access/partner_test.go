package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// estate is a partner in us with customers in us, ca, eu and sa, one that is deleted, and a stranger's team.
type estate struct {
	partner, us, ca, eu, sa, deleted, foreign id.ID
	key                                       string
}

func (w *world) estate() estate {
	w.t.Helper()
	e := estate{partner: w.partner("us")}
	e.us, e.ca, e.eu, e.sa = w.team("us", e.partner), w.team("ca", e.partner), w.team("eu", e.partner), w.team("sa", e.partner)
	e.deleted, e.foreign = w.team("us", e.partner), w.team("us", w.partner("us"))
	w.exec(`update team set status = 'deleted' where id = @team`, db.Args{"team": e.deleted})
	e.key = w.partnerKey(e.partner)

	return e
}

// listed are the ids of GET /teams.
func (a *answer) listed() []string {
	a.t.Helper()

	rows, ok := a.want(200).tree()["data"].([]any)
	if !ok {
		a.t.Fatalf("%s: %s", a.call, a.body)
	}

	out := []string{}

	for _, r := range rows {
		row, _ := r.(map[string]any)
		out = append(out, fmt.Sprint(row["id"]))
	}

	slices.Sort(out)

	return out
}

func texts(ids ...id.ID) []string {
	out := []string{}
	for _, v := range ids {
		out = append(out, v.String())
	}

	slices.Sort(out)

	return out
}

// Proves: AUTH-02, AUTH-05, AUTH-10, AUTH-11, AUTH-12, AUTH-26, OPEN-16, OPEN-67, ERR-89.
func TestPartnerKeysWorkAcrossManagedTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	e := w.estate()
	for region, want := range map[string][]string{
		"": texts(e.us, e.ca, e.eu, e.sa), "us": texts(e.us), "ca": texts(e.ca),
	} {
		for _, header := range []string{"", e.us.String(), w.unreached()} {
			if got := w.get("/teams", e.key, "x-data-region", region, "x-team-id", header).listed(); !slices.Equal(got, want) {
				t.Errorf("region %q, team %q: %v, want %v", region, header, got, want)
			}
		}
	}

	if got := w.get("/teams", e.key, "x-data-region", "eu").refused(apierr.CodeMisdirectedRequest, "").context(); got != `{"apiBaseUrl":"`+elsewhere+`","dataRegion":"eu"}` {
		t.Errorf("a region that is served elsewhere: %s", got)
	}

	for _, region := range []string{"ap", "sa"} { // known, with and without teams of the partner, and no server for them
		if got := w.get("/teams", e.key, "x-data-region", region).refused(apierr.CodeMisdirectedRequest, "").context(); got != `{"apiBaseUrl":null,"dataRegion":"`+region+`"}` {
			t.Errorf("a region that nobody serves: %s", got)
		}
	}

	for _, region := range []string{"US", "asia", "us,eu"} {
		if a := w.get("/teams", e.key, "x-data-region", region).refused(apierr.CodeBadRequest, ""); !strings.Contains(a.body, `"path":["x-data-region"]`) {
			t.Errorf("%s: %s", region, a.body)
		}
	}

	for _, v := range []id.ID{e.us, e.ca, e.partner} {
		if got := w.get("/team", e.key, "x-team-id", v.String()).want(200).tree()["id"]; got != v.String() {
			t.Errorf("team %v", got)
		}
	}

	w.get("/team", e.key).selectionMissing()
	w.get("/toys", e.key).selectionMissing()

	known := w.get("/team", e.key, "x-team-id", e.foreign.String()).refused(apierr.CodeForbidden, notHeld)
	if unknown := w.get("/team", e.key, "x-team-id", w.unreached()).refused(apierr.CodeForbidden, notHeld); known.told() != unknown.told() {
		t.Errorf("ids are confirmed: %s, %s", known.body, unknown.body)
	}

	s := w.get("/toys/managed", e.key).seen()
	if s.Team != id.Zero.String() || !slices.Equal(s.Teams, texts(e.us, e.ca, e.eu, e.sa)) {
		t.Errorf("scope: %+v", s)
	}
}

// Proves: AUTH-10.
func TestTeamKeysAndPeopleListTheTeamsTheyReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, three, us := w.team("us", id.Zero), w.team("ca", id.Zero), w.team("us", id.Zero), w.team("us", id.Zero)
	contact := id.New(w.db.Now())
	_, person := w.person(access.Member{Team: one, Scopes: []string{"team:read"}}, access.Member{Team: two, Scopes: []string{"accounts:read"}},
		access.Member{Team: three, Contact: &contact, Scopes: []string{"team:read"}}, access.Member{Team: us, Scopes: []string{"reporting"}})

	_, without := w.person(access.Member{Team: two, Scopes: []string{"accounts:read"}})
	for secret, want := range map[string][]string{w.key(one): texts(one), w.key(one, two): texts(one, two), person: texts(one, us)} {
		if got := w.get("/teams", secret).listed(); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}

	if got := w.get("/teams", w.key(one, two), "x-data-region", "ca").listed(); !slices.Equal(got, texts(two)) {
		t.Errorf("ca: %v", got)
	}

	if got := w.get("/teams", person, "x-data-region", "ca").listed(); len(got) != 0 {
		t.Errorf("ca: %v", got)
	}

	w.get("/teams", without).refused(apierr.CodeForbidden, "Credential lacks a required scope")
}

// Proves: AUTH-16, AUTH-17, OPEN-65.
func TestPartnerKeysNeedAnOpenRouteAndEveryScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	e := w.estate()
	for _, headers := range [][]string{nil, {"x-team-id", e.us.String()}} {
		a := w.get("/toys/inner", e.key, headers...).refused(apierr.CodeForbidden, "Route is not open to this kind of credential")
		if a.context() != "" {
			t.Errorf("closed: %s", a.body)
		}
	}

	reader := w.issue(access.NewKey{Teams: []id.ID{e.partner}, Partner: true, Scopes: []string{"operations:read"}}).Secret
	w.get("/operations", reader).want(200)

	for _, path := range []string{"/teams", "/team", "/partner/toys"} {
		w.get(path, reader, "x-team-id", e.partner.String()).refused(apierr.CodeForbidden, "Credential lacks a required scope")
	}
}

// Proves: AUTH-34, AUTH-35, AUTH-36, AUTH-37, AUTH-38, AUTH-39, AUTH-40, AUTH-41, OPEN-64, OPEN-80.
func TestPartnerRoutesNeedThePartnerTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()
	lonely := w.team("us", id.Zero)
	all := []string{"admin"}
	_, token := w.person(access.Member{Team: e.us, Scopes: all}, access.Member{Team: e.partner, Scopes: all}, access.Member{Team: lonely, Scopes: all})
	_, customer := w.person(access.Member{Team: e.us, Scopes: all})
	_, staff := w.person(access.Member{Team: e.partner, Scopes: all})
	_, weak := w.person(access.Member{Team: e.partner, Scopes: []string{"team:read"}})
	detail := func(selected, partner string) string {
		return `{"partnerTeamId":` + partner + `,"requiredTeamType":"partner","selectedTeamId":"` + selected + `","selectedTeamType":"propertyManager"}`
	}

	quoted := `"` + e.partner.String() + `"`
	for _, c := range []struct{ secret, header, want string }{
		{token, e.us.String(), detail(e.us.String(), quoted)},
		{customer, "", detail(e.us.String(), quoted)},
		{token, lonely.String(), detail(lonely.String(), "null")},
		{e.key, e.us.String(), detail(e.us.String(), quoted)},
	} {
		a := w.get("/partner/toys", c.secret, "x-team-id", c.header).refused(apierr.CodeForbidden, "Selected team is not a partner team")
		if a.context() != c.want {
			t.Errorf("context %s, want %s", a.context(), c.want)
		}
	}

	for _, c := range []struct{ secret, header string }{{token, e.partner.String()}, {token, strings.ToUpper(e.partner.String())}, {staff, ""}, {e.key, ""}, {e.key, e.partner.String()}} {
		if s := w.get("/partner/toys", c.secret, "x-team-id", c.header).seen(); s.Team != e.partner.String() {
			t.Errorf("scope: %+v", s)
		}
	}

	w.get("/partner/toys", token).selectionMissing()
	w.get("/partner/toys", token, "x-team-id", "mine").selectionMissing()
	w.get("/partner/toys", token, "x-team-id", w.unreached()).refused(apierr.CodeNotFound, "Not found")
	w.get("/partner/toys", e.key, "x-team-id", w.unreached()).refused(apierr.CodeForbidden, notHeld)
	w.get("/partner/toys", weak).refused(apierr.CodeForbidden, "Credential lacks a required scope")

	limited := w.issue(access.NewKey{Teams: []id.ID{e.us}, Scopes: []string{"team:read"}}).Secret
	for _, key := range []string{w.key(e.us), w.key(e.us, lonely), limited} {
		for _, header := range []string{"", e.us.String(), e.partner.String()} {
			a := w.get("/partner/toys", key, "x-team-id", header).refused(apierr.CodeNotFound, "Not a partner API key")
			if a.context() != "" {
				t.Errorf("a team's key: %s", a.body)
			}
		}
	}
}

// Proves: OPEN-35, OPS-60, OPS-66, AUTH-13, AUTH-42, AUTH-48.
func TestPartnersReadTheirOwnOperationsInOneRegion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()
	own := fmt.Sprint(w.call("POST", "/toys/operations", e.key).want(202).tree()["operationId"])
	customers := fmt.Sprint(w.call("POST", "/toys/operations", e.key, "x-team-id", e.ca.String()).want(202).tree()["operationId"])
	check := func(secret, visible string, total float64, headers ...string) {
		t.Helper()

		list := w.get("/operations", secret, headers...).want(200).tree()

		counts, _ := list["counts"].(map[string]any)
		if list["total"] != total || counts["total"] != total {
			t.Errorf("%v: %v", headers, list)
		}

		for _, one := range []string{own, customers} {
			status := 404
			if one == visible {
				status = 200
			}

			w.get("/operations/"+one, secret, headers...).want(status)
		}
	}
	check(e.key, own, 1)
	check(e.key, own, 1, "x-data-region", "us")
	check(e.key, "", 0, "x-data-region", "ca")

	for _, path := range []string{"/operations", "/operations/" + own} {
		if got := w.get(path, e.key, "x-data-region", "eu").refused(apierr.CodeMisdirectedRequest, "").context(); got != `{"apiBaseUrl":"`+elsewhere+`","dataRegion":"eu"}` {
			t.Errorf("%s: %s", path, got)
		}

		w.get(path, e.key, "x-data-region", "ap").refused(apierr.CodeMisdirectedRequest, "")
		w.get(path, e.key, "x-data-region", "mars").refused(apierr.CodeBadRequest, "")
	}

	for _, region := range []string{"us", "ca", "eu", "ap", "sa"} {
		check(e.key, customers, 1, "x-data-region", region, "x-team-id", e.ca.String())
		check(e.key, own, 1, "x-data-region", region, "x-team-id", e.partner.String())
		check(w.key(e.ca), customers, 1, "x-data-region", region)
	}

	check(w.key(e.us), "", 0)
}
