package access_test

import (
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
	"stayledger/platform/apierr"
	"stayledger/platform/golden"
	"stayledger/platform/id"
)

// The contract's choice for every route of the service, and not a copy of the routes' declarations. All others are
// open to keys and to the people of a team, and closed to owners.
var (
	// Anybody may call these: what they take is a secret itself, or signed.
	publicRoutes = []string{
		"GET /links/{teamId}/{fileId}", "POST /embed-sessions/exchange", "POST /owner-statement-links/exchange", "POST /payment-callbacks/{connectionId}", "POST /pms-messages/{connectionId}",
		"POST /pms-messages/apps/{appId}",
	}
	// A person's own. (AUTH-24, AUTH-25).
	sessionRoutes = []string{"GET /me"}
	// What owners may read, and nothing else. (OPS-68, OPS-69, OPEN-65).
	ownerRoutes = []string{
		"GET /me", "GET /operations", "GET /operations/{id}", "GET /operations/{id}/progress", "GET /statements", "GET /statements/{id}",
		"GET /files/{id}", "GET /files/{id}/download", "GET /transaction-attachments/{attachmentId}", "GET /transaction-attachments/{attachmentId}/download",
	}
	// What embedded sessions may read, by their view, and nothing else. (AUTH-29, AUTH-33).
	reportRoutes = []string{
		"GET /reports/balance-sheet", "GET /reports/guest-balances", "GET /reports/journal-entries", "GET /reports/owner-statement-summaries-per-layout",
		"GET /reports/owner-statement-summaries-per-layout/details/{contactId}", "GET /reports/profit-and-loss", "GET /reports/sales-tax-liability",
		"GET /reports/trial-balance", "GET /reports/trust-reconciliation", "GET /reports/trust-reconciliation/by-listing",
	}
	statementRoutes = []string{
		"GET /reports/manager-statements", "GET /reports/manager-statements/detail", "GET /statements", "GET /statements/{id}",
	}
)

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// Every route is called by every kind of caller, with all scopes and a parameter that no route has: whoever is let in
// gets an answer that says so, and nothing is done.
//
// Proves: AUTH-24, AUTH-25, AUTH-29, AUTH-31, AUTH-33, OPEN-65.
func TestRoutesAreOpenToThoseWhomTheContractNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	routes := app.Parts(app.External{}, app.Config{}).Endpoints
	w.server = api.NewServer(api.Config{
		DB: w.db, Log: slog.New(slog.DiscardHandler), Authenticate: w.gate.Authenticate, Refusals: access.Refusals, Audit: audit.Record,
		CursorKey: []byte("test cursor key"), PublicURL: "https://us.example.com", Title: "test",
	}, routes)
	partner := w.partner("us")
	team := w.team("us", partner)
	contact := id.New(w.db.Now())
	report, statement := w.embedded(partner, team, "report"), w.embedded(partner, team, "statement")
	_, person := w.person(access.Member{Team: team, Scopes: access.Scopes()})
	_, owner := w.person(access.Member{Team: team, Contact: &contact, Scopes: access.Scopes()})
	open := map[string][]string{}
	callers := map[string]string{"nobody": "", "teamKey": w.key(team), "partnerKey": w.partnerKey(partner), "user": person, "owner": owner, "report": report, "statement": statement}

	for i := range routes {
		e := &routes[i]

		path := e.Path
		if e.TeamInPath {
			path = strings.Replace(path, "{id}", team.String(), 1)
		}

		path = pathParameter.ReplaceAllString(path, w.unreached()) + "?noRouteHasThis=1"
		for kind, secret := range callers {
			a := w.call(e.Method, path, secret, "x-team-id", team.String())
			switch {
			case strings.HasPrefix(e.Path, "/partner/") && kind == "teamKey":
				a.refused(apierr.CodeNotFound, "") // they need the team of a partner, which is not selected here
			case a.status == http.StatusBadRequest && strings.Contains(a.body, "noRouteHasThis"):
				open[kind] = append(open[kind], e.Method+" "+e.Path)
			case a.status == http.StatusUnauthorized && kind == "nobody":
			default:
				a.refused(apierr.CodeForbidden, "")
			}
		}
	}

	want := map[string][]string{
		"nobody": slices.Clone(publicRoutes), "owner": slices.Concat(ownerRoutes, publicRoutes),
		"report": slices.Concat(reportRoutes, publicRoutes), "statement": slices.Concat(statementRoutes, publicRoutes),
		"user": {}, "teamKey": {}, "partnerKey": {},
	}

	for i := range routes {
		route := fmt.Sprint(routes[i].Method, " ", routes[i].Path)
		if strings.HasPrefix(routes[i].Path, "/partner/") {
			continue
		}

		want["user"] = append(want["user"], route)
		if !slices.Contains(sessionRoutes, route) {
			want["teamKey"], want["partnerKey"] = append(want["teamKey"], route), append(want["partnerKey"], route)
		}
	}

	for kind := range callers {
		slices.Sort(open[kind])
		slices.Sort(want[kind])
		golden.List(t, "routes that are open to "+kind, open[kind], want[kind])
	}
}
