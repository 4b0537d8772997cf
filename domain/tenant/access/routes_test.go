package access_test

import (
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/golden"
	"stayledger/platform/id"
)

// routeTable has the contract's choice for every route of the service, written by hand and no copy of the declarations: a
// line is a method, a path and a class, followed by who else is let in. An empty line divides classes.
//
//go:embed testdata/routes.txt
var routeTable string

// A team is selected by a header, or by the path of routes of class path.
const (
	own   = "own"   // a customer that the caller works for
	other = "other" // a team of somebody else
	none  = "none"
)

// in stands for an answer of a route that was reached: what it answers then is no matter of access.
const in = 0

// answers has the answer for each class of routes and each credential: of the selections own, other and none. A key of one
// team is held to it (AUTH-08, OPEN-65), one of several teams has to say which (AUTH-07), a partner key that has to as
// well (AUTH-09), and to a person other teams do not exist (ERR-93).
var answers = map[string]map[string][3]int{
	// Work in one team.
	"team": {
		"nobody": {401, 401, 401}, "teamKey": {in, 403, in}, "keyOfTwo": {in, 403, 400}, "partnerKey": {in, 403, 400}, "portalKey": {403, 403, 403},
		"user": {in, 404, in}, "partnerUser": {404, 404, in}, "owner": {403, 404, 403}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// The same, and a partner without a selection means itself (OPEN-35).
	"teamOrPartner": {
		"nobody": {401, 401, 401}, "teamKey": {in, 403, in}, "keyOfTwo": {in, 403, 400}, "partnerKey": {in, 403, in}, "portalKey": {403, 403, 403},
		"user": {in, 404, in}, "partnerUser": {404, 404, in}, "owner": {403, 404, 403}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// The team is in the path, so there is always one.
	"path": {
		"nobody": {401, 401, 401}, "teamKey": {in, 403, in}, "keyOfTwo": {in, 403, in}, "partnerKey": {in, 403, in}, "portalKey": {403, 403, 403},
		"user": {in, 404, in}, "partnerUser": {404, 404, 404}, "owner": {403, 404, 403}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// Collections across the teams of a credential; no team is selected (AUTH-10).
	"collection": {
		"nobody": {401, 401, 401}, "teamKey": {in, in, in}, "keyOfTwo": {in, in, in}, "partnerKey": {in, in, in}, "portalKey": {403, 403, 403},
		"user": {in, in, in}, "partnerUser": {in, in, in}, "owner": {403, 403, 403}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// Routes below /partner (AUTH-34, AUTH-39).
	"partner": {
		"nobody": {401, 401, 401}, "teamKey": {404, 404, 404}, "keyOfTwo": {404, 404, 404}, "partnerKey": {403, 403, in}, "portalKey": {403, 403, 403},
		"user": {403, 404, 403}, "partnerUser": {404, 404, in}, "owner": {403, 404, 403}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// Other routes for partners.
	"forPartners": {
		"nobody": {401, 401, 401}, "teamKey": {403, 403, 403}, "keyOfTwo": {403, 403, 403}, "partnerKey": {403, 403, in}, "portalKey": {403, 403, 403},
		"user": {403, 404, 403}, "partnerUser": {404, 404, in}, "owner": {403, 404, 403}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// A person's own (AUTH-24, AUTH-25).
	"session": {
		"nobody": {401, 401, 401}, "teamKey": {403, 403, 403}, "keyOfTwo": {403, 403, 403}, "partnerKey": {403, 403, 403}, "portalKey": {403, 403, 403},
		"user": {in, in, in}, "partnerUser": {in, in, in}, "owner": {in, in, in}, "report": {403, 403, 403}, "statement": {403, 403, 403},
	},
	// Anybody: what they take is a secret itself, or signed.
	"public": {
		"nobody": {in, in, in}, "teamKey": {in, in, in}, "keyOfTwo": {in, in, in}, "partnerKey": {in, in, in}, "portalKey": {in, in, in},
		"user": {in, in, in}, "partnerUser": {in, in, in}, "owner": {in, in, in}, "report": {in, in, in}, "statement": {in, in, in},
	},
}

// admitted are the answers to callers that a line of the table names besides: owners (OPS-68, OPS-69, OPEN-65), embedded
// sessions by their view (AUTH-29, AUTH-32, AUTH-33), and the partner key of a portal (AUTH-14).
var admitted = map[string][3]int{
	"owner": {in, 404, in}, "report": {in, 403, in}, "statement": {in, 403, in}, "portalKey": {403, 403, in},
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// Every route is called by every kind of caller, with all scopes, for a team of its own, another one and none, and with a
// parameter that no route has: whoever is let in gets an answer that says so, and nothing is done.
//
// Proves: AUTH-14, AUTH-24, AUTH-25, AUTH-29, AUTH-31, AUTH-32, AUTH-33, AUTH-34, AUTH-39, OPEN-65.
func TestRoutesAreOpenToThoseWhomTheContractNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	routes := app.Parts(app.External{}, app.Config{}).Endpoints
	w.server = api.NewServer(api.Config{
		DB: w.db, Log: slog.New(slog.DiscardHandler), Authenticate: w.gate.Authenticate, Refusals: access.Refusals, Audit: audit.Record,
		CursorKey: []byte("test cursor key"), PublicURL: "https://us.example.com", Title: "test",
	}, routes)

	partner := w.partner("us")
	team, second, foreign := w.team("us", partner), w.team("us", partner), w.team("us", w.partner("us"))
	contact := id.New(w.db.Now())
	_, person := w.person(access.Member{Team: team, Scopes: access.Scopes()})
	_, manager := w.person(access.Member{Team: partner, Scopes: access.Scopes()})
	_, owner := w.person(access.Member{Team: team, Contact: &contact, Scopes: access.Scopes()})
	secrets := map[string]string{
		"nobody": "", "teamKey": w.key(team), "keyOfTwo": w.key(team, second), "partnerKey": w.partnerKey(partner),
		"portalKey": w.issue(access.NewKey{Teams: []id.ID{partner}, Partner: true, Audience: access.ForPortal, Scopes: []string{"admin"}}).Secret,
		"user":      person, "partnerUser": manager, "owner": owner, "report": w.embedded(partner, team, "report"), "statement": w.embedded(partner, team, "statement"),
	}
	rows := tableOfRoutes(t)

	var known []string

	for i := range routes {
		e := &routes[i]
		route := fmt.Sprint(e.Method, " ", e.Path)
		known = append(known, route)

		row, there := rows[route]
		if !there {
			continue // the comparison of the lists says so
		}

		for caller, secret := range secrets {
			for i, selection := range []string{own, other, none} {
				got := w.reached(e, secret, map[string]id.ID{own: team, other: foreign}[selection], team)
				if want := row.answer(caller, i); got != want {
					t.Errorf("%s by %s, team %s: %d, want %d (0 is let in)", route, caller, selection, got, want)
				}
			}
		}
	}

	listed := make([]string, 0, len(rows))
	for route := range rows {
		listed = append(listed, route)
	}

	slices.Sort(listed)
	slices.Sort(known)
	golden.List(t, "routes of the service", known, listed)
}

// reached calls a route for a selected team, the zero id for none, and returns the status of a refusal or in. A route with the
// team in its path has the team there, if none is selected the fallback.
func (w *world) reached(e *api.Endpoint, secret string, selected, fallback id.ID) int {
	w.t.Helper()

	path, headers := e.Path, []string{}

	switch {
	case e.TeamInPath && selected.IsZero():
		path = strings.Replace(path, "{id}", fallback.String(), 1)
	case e.TeamInPath:
		path = strings.Replace(path, "{id}", selected.String(), 1)
	case !selected.IsZero():
		headers = append(headers, "x-team-id", selected.String())
	}

	a := w.call(e.Method, pathParameter.ReplaceAllString(path, w.unreached())+"?noRouteHasThis=1", secret, headers...)
	if a.status == http.StatusBadRequest && strings.Contains(a.body, "noRouteHasThis") {
		return in
	}

	return a.status
}

// routeRow is a line of the table.
type routeRow struct {
	class string
	more  []string
}

// answer returns the answer to a caller for the selection at a place.
func (r routeRow) answer(caller string, selection int) int {
	switch {
	case slices.Contains(r.more, caller) && r.class == "collection":
		return in
	case slices.Contains(r.more, caller):
		return admitted[caller][selection]
	}

	return answers[r.class][caller][selection]
}

// tableOfRoutes reads the table.
func tableOfRoutes(t *testing.T) map[string]routeRow {
	t.Helper()

	out := map[string]routeRow{}

	for line := range strings.Lines(routeTable) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}

		if len(words) < 3 || answers[words[2]] == nil {
			t.Fatalf("the line %q has no class", line)
		}

		out[words[0]+" "+words[1]] = routeRow{words[2], words[3:]}
	}

	return out
}
