package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// Proves: OPEN-66.
func TestALinkOpensTheStatementsOfItsOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.Statement(f.villa, "2026-02") // a draft

	made := f.Post("/statements/"+f.january.String()+"/owner-links", object{"contactId": f.ada}).Want(201)
	if url := made.String("url"); !strings.HasPrefix(url, "http://127.0.0.1/owner#ol_us_") || len(url) < len("http://127.0.0.1/owner#ol_us_")+43 {
		t.Fatalf("the address is %s", url)
	}

	if at, err := time.Parse(time.RFC3339, made.String("expiresAt")); err != nil || at.Sub(f.DB.Now()).Round(time.Minute) != 30*24*time.Hour {
		t.Errorf("it expires at %s", made.String("expiresAt"))
	}

	_, link, _ := strings.Cut(made.String("url"), "#")

	s := f.exchange(link).want(200).tree()
	if s["teamId"] != f.ID.String() || s["statementId"] != f.january.String() || s["contactId"] != f.ada.String() || s["teamName"] != "Test team" {
		t.Errorf("the session is %v", s)
	}

	if at, err := time.Parse(time.RFC3339, fmt.Sprint(s["expiresAt"])); err != nil || at.Sub(f.DB.Now()).Round(time.Minute) != time.Hour {
		t.Errorf("it expires at %v", s["expiresAt"])
	}

	token, _ := s["accessToken"].(string)
	if got := f.call("GET", "/statements/"+f.january.String(), token, "").want(200).tree(); got["drilldown"] != nil || got["status"] != "published" {
		t.Errorf("the owner's view is %v", got)
	}

	if got := f.call("GET", "/statements", token, "").ids(); !slices.Equal(got, []string{f.january.String()}) {
		t.Errorf("the owner sees %v", got)
	}

	f.call("GET", "/statements/"+f.hers.String(), token, "").refused(apierr.CodeNotFound, "")
	f.call("GET", "/statements/"+other.String(), token, "").refused(apierr.CodeNotFound, "")
	f.Exec(`update team set owner_portal_show_draft_statements = true where id = @team`, nil)
	f.call("GET", "/statements/"+other.String(), token, "").want(200)
}

func TestTheSessionOfALinkOpensNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := f.session(f.link(f.january, f.ada))
	statement := "/statements/" + f.january.String()
	f.call("GET", statement, token, "", "x-team-id", f.ID.String()).want(200)

	for _, team := range []string{world.New(t).ID.String(), id.New(f.DB.Now()).String()} {
		f.call("GET", statement, token, "", "x-team-id", team).refused(apierr.CodeForbidden, "Team header conflicts with the credential")
	}

	for _, call := range [][]string{
		{"GET", "/me"},
		{"GET", "/team"},
		{"GET", "/teams"},
		{"GET", "/operations"},
		{"GET", "/listings"},
		{"GET", "/contacts"},
		{"GET", "/transactions"},
		{"GET", "/reports/journal-entries"},
		{"GET", statement + "/owner-links"},
		{"GET", statement + "/emails"},
		{"POST", statement + "/owner-links", `{"contactId":"` + f.ada.String() + `"}`},
		{"POST", statement + "/emails", `{}`},
		{"PUT", statement, `{"status":"draft"}`},
		{"DELETE", statement},
		{"POST", "/statements", `{"month":"2026-02"}`},
		{"POST", "/transactions", `{}`},
	} {
		body := ""
		if len(call) > 2 {
			body = call[2]
		}

		f.call(call[0], call[1], token, body).refused(apierr.CodeForbidden, "")
	}

	f.call("GET", statement, "", "", "x-api-key", token).refused(apierr.CodeUnauthorized, "")
	f.call("GET", statement, token+"x", "").refused(apierr.CodeUnauthorized, "")
	link := f.link(f.january, f.ada)
	f.call("GET", statement, link, "").refused(apierr.CodeUnauthorized, "") // a link is no session
	f.exchange(token).refused(apierr.CodeOwnerStatementLinkInvalid, "")
}

// Each change ends the link and its session; where it can be undone, both come back.
//
// Proves: AUTH-60, AUTH-61, AUTH-62, AUTH-63, ERR-26.
func TestALinkIsWorthNothingOnceItsStatementOrOwnerChanged(t *testing.T) {
	t.Parallel()

	path := func(f *fixture) string { return "/statements/" + f.january.String() }
	for name, test := range map[string]struct{ end, undo func(f *fixture) }{
		"reopened": {
			func(f *fixture) { f.Put(path(f), object{"status": "draft"}).Want(200) },
			func(f *fixture) { f.Put(path(f), object{"status": "published"}).Want(200) },
		},
		"in review": {
			func(f *fixture) { f.Put(path(f), object{"status": "inReview"}).Want(200) },
			func(f *fixture) { f.Put(path(f), object{"status": "published"}).Want(200) },
		},
		"another address": {
			func(f *fixture) {
				f.Put("/contacts/"+f.ada.String(), object{"email": "ada@elsewhere.example"}).Want(200)
			},
			func(f *fixture) { f.Put("/contacts/"+f.ada.String(), object{"email": "Ada@example.com"}).Want(200) },
		},
		"no address": {func(f *fixture) { f.Put("/contacts/"+f.ada.String(), object{"email": nil}).Want(200) }, nil},
		"archived": {
			func(f *fixture) { f.Put("/contacts/"+f.ada.String(), object{"status": "inactive"}).Want(200) },
			func(f *fixture) { f.Put("/contacts/"+f.ada.String(), object{"status": "active"}).Want(200) },
		},
		"no owner any more": {func(f *fixture) {
			f.Exec(`update listing_ownership_member set contact_id = @cleo where team_id = @team and contact_id = @ada`, db.Args{"cleo": f.cleo, "ada": f.ada})
		}, nil},
		"team deleted": {func(f *fixture) { f.Exec(`update team set status = 'deleted' where id = @team`, nil) }, nil},
		"revoked": {func(f *fixture) {
			links := path(f) + "/owner-links"
			f.Delete(links + "/" + f.Get(links).Want(200).String("data.0.id")).Want(204)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			bens := f.link(f.january, f.ben)
			link := f.link(f.january, f.ada)
			token := f.session(link)
			test.end(f)
			f.exchange(link).refused(apierr.CodeOwnerStatementLinkInvalid, "The link is not valid")
			f.call("GET", path(f), token, "").refused(apierr.CodeUnauthorized, "")

			switch name {
			case "reopened", "in review", "team deleted":
				f.exchange(bens).refused(apierr.CodeOwnerStatementLinkInvalid, "")
			default:
				f.exchange(bens).want(200)
			}

			if test.undo != nil {
				test.undo(f)
				f.exchange(link).want(200)
				f.call("GET", path(f), token, "").want(200)
			}
		})
	}
}

// Proves: AUTH-60, ERR-26.
func TestMadeUpLinksAreInvalid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	link := f.link(f.january, f.ada)
	for _, token := range []string{
		"", "x", link + "A", link[:len(link)-1], strings.ToUpper(link), "ol_us_", link[6:], strings.Replace(link, "_us_", "_eu_", 1), strings.Repeat("a", 3000), "ø\n", "' or true --",
	} {
		f.exchange(token).want(401).refused(apierr.CodeOwnerStatementLinkInvalid, "The link is not valid")
	}

	f.call("POST", "/owner-statement-links/exchange", "", `{}`).want(400)
	f.call("POST", "/owner-statement-links/exchange", "", `{"token":"`+strings.Repeat("a", 5000)+`"}`).want(413)
	f.exchange(link).want(200)
	f.exchange(link).want(200)
}

// Proves: AUTH-59, ERR-27.
func TestALinkExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.link(f.january, f.ada)
	age := func(d time.Duration) {
		f.Exec(`update access_owner_link set expires_at = @at, created_at = @made where team_id = @team`,
			db.Args{"at": f.DB.Now().Add(access.OwnerLinkValidity - d), "made": f.DB.Now().Add(-d)})
	}
	age(access.OwnerLinkValidity - time.Minute)

	s := f.exchange(link).want(200).tree()
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(s["expiresAt"])); err != nil || at.Sub(f.DB.Now()) > time.Minute {
		t.Errorf("the session outlives its link: %v", s["expiresAt"])
	}

	age(access.OwnerLinkValidity)
	f.exchange(link).want(401).refused(apierr.CodeOwnerStatementLinkExpired, "The link has expired")
	f.Put("/statements/"+f.january.String(), object{"status": "draft"}).Want(200)
	f.exchange(link).refused(apierr.CodeOwnerStatementLinkExpired, "")
}

func TestSessionsOfLinks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := "/statements/" + f.january.String()
	link := f.link(f.january, f.ada)
	first := f.session(link)
	f.serve(time.Hour) // another process, which remembers for long
	f.call("GET", path, first, "").want(200)

	f.Exec(`update access_owner_session set expires_at = @at where team_id = @team`, db.Args{"at": f.DB.Now()})
	f.serve(0)
	f.call("GET", path, first, "").refused(apierr.CodeUnauthorized, "")

	var tokens []string
	for range 23 {
		tokens = append(tokens, f.session(link))

		time.Sleep(2 * time.Millisecond) // instants have milliseconds
	}

	alive := 0

	for _, token := range tokens {
		if f.call("GET", path, token, "").status == 200 {
			alive++
		}
	}

	if f.call("GET", path, tokens[22], "").status != 200 || alive != 20 {
		t.Errorf("%d sessions live", alive)
	}
}

// A gate that remembers for an hour forgets a revoked link's session once it hears of it.
func TestARevokedLinkEndsItsSessionsInEveryProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	gate := access.NewGate(access.Config{DB: f.DB, Remember: time.Hour, Regions: map[access.Region]string{"us": "http://127.0.0.1"}})
	f.server.Authenticate = gate.Authenticate

	watching := make(chan struct{})
	go func() { defer close(watching); gate.Watch(t.Context()) }()

	path := "/statements/" + f.january.String()
	token := f.session(f.link(f.january, f.ada))
	f.call("GET", path, token, "").want(200)
	f.Delete(path + "/owner-links/" + f.Get(path+"/owner-links").Want(200).String("data.0.id")).Want(204)

	for deadline := time.Now().Add(2 * time.Minute); f.call("GET", path, token, "").status == 200; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the session of a revoked link goes on")
		}
	}
}

func TestSecretsOfLinksAreStoredHashedOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	made := f.Post("/statements/"+f.january.String()+"/owner-links", object{"contactId": f.ada}, "Idempotency-Key", "once").Want(201)
	_, link, _ := strings.Cut(made.String("url"), "#")
	token := f.session(link)
	f.Post("/statements/"+f.january.String()+"/emails", nil).Want(202)

	kept := f.rows("access_owner_link", "access_owner_session", "api_idempotency", "audit_action", "delivery_email", "job")
	if !strings.Contains(kept, "createOwnerLink") {
		t.Error("making a link leaves no trace")
	}

	for _, secret := range []string{link, token, link[6:], token[6:], link[6:26]} {
		if strings.Contains(kept, secret) {
			t.Errorf("%s is kept", secret)
		}
	}

	if strings.Contains(kept, "ol_us_") || strings.Contains(string(f.Get("/statements/"+f.january.String()+"/owner-links").Want(200).Body), "ol_") {
		t.Error("a link's secret is told again")
	}
}

func TestMakingALinkRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := "/statements/" + f.january.String() + "/owner-links"

	vendor := f.Contact("vendor", "Vera")
	for code, contact := range map[string]id.ID{"notMember": f.cleo, "notFound": id.New(f.DB.Now())} {
		f.Post(path, object{"contactId": contact}).WantError(apierr.CodeBadRequest, "").WantIssue(code, "contactId")
	}

	f.Post(path, object{"contactId": vendor}).WantError(apierr.CodeBadRequest, "").WantIssue("notMember", "contactId")
	f.Post(path, object{}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "contactId")
	f.Put("/contacts/"+f.ben.String(), object{"status": "inactive"}).Want(200)
	f.Post(path, object{"contactId": f.ben}).WantError(apierr.CodeBadRequest, "").WantIssue("inactive", "contactId")

	draft := f.Statement(f.villa, "2026-02").String()
	f.Post("/statements/"+draft+"/owner-links", object{"contactId": f.ada}).WantError(apierr.CodeBadRequest, "").WantIssue("notPublished", "id")
	f.Put("/statements/"+draft, object{"status": "inReview"}).Want(200)
	f.Post("/statements/"+draft+"/owner-links", object{"contactId": f.ada}).WantError(apierr.CodeBadRequest, "").WantIssue("notPublished", "id")

	elsewhere := world.New(t)
	for _, method := range []string{"GET", "POST"} {
		for _, unknown := range []string{id.New(f.DB.Now()).String(), f.january.String()} {
			for _, of := range []string{"/owner-links", "/emails"} {
				var body any
				if method == "POST" {
					body = object{"contactId": f.ada}
					if of == "/emails" {
						body = object{}
					}
				}

				elsewhere.Call(method, "/statements/"+unknown+of, body).WantError(apierr.CodeNotFound, "")
			}
		}
	}

	writer := f.As([]string{"statements:read", "statements:write", "statements:delete"}, nil)
	writer.Post(path, object{"contactId": f.ada}).WantError(apierr.CodeForbidden, "")
	writer.Post("/statements/"+f.january.String()+"/emails", object{}).WantError(apierr.CodeForbidden, "")

	if strings.Contains(f.rows("access_owner_link"), "-") {
		t.Error("a refused call leaves a link")
	}
}

func TestLinksAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	path := "/statements/" + f.january.String() + "/owner-links"
	if r := f.Get(path).Want(200); r.Len("data") != 0 {
		t.Errorf("no links: %s", r.Body)
	}

	adas := f.link(f.january, f.ada)
	f.link(f.january, f.ben)
	f.session(adas)
	f.Put("/contacts/"+f.ben.String(), object{"status": "inactive"}).Want(200)

	r := f.Get(path).Want(200)
	for at, want := range map[string]string{
		"data.0.contactId": f.ben.String(), "data.0.isUsable": "false", "data.0.lastUsedAt": "null",
		"data.1.contactId": f.ada.String(), "data.1.isUsable": "true", "data.1.statementId": f.january.String(), "pagination.total": "2",
	} {
		if got := r.String(at); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}

	if r.String("data.1.lastUsedAt") == "null" {
		t.Error("its use is not told")
	}

	one := r.String("data.1.id")
	f.Delete("/statements/"+f.hers.String()+"/owner-links/"+one).WantError(apierr.CodeNotFound, "")
	world.New(t).Delete(path+"/"+one).WantError(apierr.CodeNotFound, "")
	f.exchange(adas).want(200)
	f.Delete(path + "/" + one).Want(204)
	f.Delete(path+"/"+one).WantError(apierr.CodeNotFound, "")

	if r := f.Get(path + "?limit=1").Want(200); r.Len("data") != 1 || r.String("data.0.contactId") != f.ben.String() {
		t.Errorf("left are %s", r.Body)
	}
}
