package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// made is the id of the team that an answer shows.
func (a *answer) made() id.ID {
	a.t.Helper()

	v, err := id.Parse(fmt.Sprint(a.want(201).tree()["id"]))
	if err != nil {
		a.t.Fatal(err)
	}

	return v
}

// A partner makes customers that its keys reach at once, in regions that are served here. Nobody else can.
//
// Proves: AUTH-05, AUTH-26, AUTH-36.
func TestAPartnerMakesTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	partner, other := w.partner("us"), w.partner("us")
	key := w.partnerKey(partner)

	one := w.post("POST", "/teams", key, `{"name":"Sea Stays","dataRegion":"ca","timeZone":"America/Halifax","defaultCurrency":"CAD","statementStartAt":"2026-01-01"}`)
	body := one.want(201).tree()
	partnerOf, _ := body["partner"].(map[string]any)

	if body["dataRegion"] != "ca" || body["timeZone"] != "America/Halifax" || body["defaultCurrency"] != "cad" || body["isGeneralLedger"] != true ||
		body["statementStartAt"] != "2026-01-01" || fmt.Sprint(partnerOf["id"]) != partner.String() {
		t.Errorf("made %s", one.body)
	}

	legacy := w.post("POST", "/teams", key, `{"name":"Old Stays","generalLedger":false}`)
	if body := legacy.want(201).tree(); body["isGeneralLedger"] != false || body["dataRegion"] != "us" || body["timeZone"] != "America/New_York" {
		t.Errorf("made %s", legacy.body)
	}

	ready := w.post("POST", "/teams", key, `{"name":"Ready","init":{}}`)
	if ready.want(201).tree()["initializedAt"] == nil {
		t.Errorf("the chart was not installed: %s", ready.body)
	}

	// The next request of any process sees them.
	w = newWorld(t)
	if got, want := w.get("/teams", key).listed(), texts(one.made(), legacy.made(), ready.made()); !slices.Equal(got, want) {
		t.Errorf("the partner has %v, not %v", got, want)
	}

	w.get("/team", key, "x-team-id", one.made().String()).want(200)
	w.get("/team", w.partnerKey(other), "x-team-id", one.made().String()).refused(apierr.CodeForbidden, "")

	// A partner key may name its own partner beside the customer in the path, and no other team.
	path := "/toys/teams/" + one.made().String()
	w.get(path, key, "x-team-id", partner.String()).want(200)
	w.get(path, key, "x-team-id", legacy.made().String()).refused(apierr.CodeForbidden, "")

	for body, issue := range map[string]string{
		`{}`: "name", `{"name":""}`: "name", `{"name":"X","dataRegion":"mars"}`: "dataRegion", `{"name":"X","timeZone":"Mars/Here"}`: "timeZone",
		`{"name":"X","defaultCurrency":"xyz"}`: "defaultCurrency", `{"name":"X","partnerId":"` + other.String() + `"}`: "partnerId",
		`{"name":"X","init":{"copyFromTeamId":"` + w.unreached() + `"}}`: "copyFromTeamId", `{"name":"X","type":"partner"}`: "type", `{"name":"X","scopes":["admin"]}`: "scopes",
	} {
		if got := w.post("POST", "/teams", key, body).refused(apierr.CodeBadRequest, ""); !strings.Contains(got.body, issue) {
			t.Errorf("%s: %s", body, got.body)
		}
	}

	if got := w.post("POST", "/teams", key, `{"name":"X","dataRegion":"eu"}`).refused(apierr.CodeMisdirectedRequest, "").context(); got != `{"apiBaseUrl":"`+elsewhere+`","dataRegion":"eu"}` {
		t.Errorf("a region served elsewhere: %s", got)
	}

	// Others do not make teams: a team's key, a reader, a person with a customer selected.
	w.post("POST", "/teams", w.key(one.made()), `{"name":"X"}`).refused(apierr.CodeForbidden, "")

	reader := w.issue(access.NewKey{Teams: []id.ID{partner}, Partner: true, Scopes: []string{"reporting"}}).Secret
	w.post("POST", "/teams", reader, `{"name":"X"}`).refused(apierr.CodeForbidden, "")

	user, token := w.person(access.Member{Team: partner, Scopes: []string{"partner:manage", "team:read"}}, access.Member{Team: one.made(), Scopes: []string{"admin"}})
	if got := w.post("POST", "/teams", token, `{"name":"X"}`, "x-team-id", one.made().String()).refused(apierr.CodeForbidden, ""); !strings.Contains(got.body, "Selected team is not a partner team") {
		t.Error(got.body)
	}

	// A person who makes a team works in it, with no more than in the partner's.
	own := w.post("POST", "/teams", token, `{"name":"Mine"}`, "x-team-id", partner.String()).made()

	w.tx(func(ctx context.Context, tx *db.Tx) error {
		scopes, err := db.Get[[]string](ctx, tx, `select scopes from access_member where team_id = @team and user_id = @user`, db.Args{"team": own, "user": user})
		if strings.Join(scopes, " ") != "partner:manage team:read" {
			t.Errorf("the person who made the team has %v", scopes)
		}

		return err
	})
}

// A partner lets a team go, and its keys do not reach it from then on.
func TestATeamLeavesItsPartner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()
	path := "/teams/" + e.us.String()

	if got := w.post("PATCH", path, e.key, `{"status":"inactive"}`).want(200).tree(); got["status"] != "inactive" {
		t.Errorf("status %v", got["status"])
	}

	w.post("PATCH", path, e.key, `{"partnerId":"`+e.partner.String()+`"}`).refused(apierr.CodeBadRequest, "")
	w.post("PATCH", path, e.key, `{"status":"deleted"}`).refused(apierr.CodeBadRequest, "")
	w.post("PATCH", path, w.key(e.us), `{"status":"active"}`).refused(apierr.CodeForbidden, "")
	w.post("PATCH", path, w.partnerKey(w.partner("us")), `{"partnerId":null}`).refused(apierr.CodeNotFound, "")
	w.post("PATCH", "/teams/"+e.partner.String(), e.key, `{"status":"inactive"}`).refused(apierr.CodeNotFound, "")
	w.post("PATCH", "/teams/"+e.foreign.String(), e.key, `{"status":"inactive"}`).refused(apierr.CodeNotFound, "")
	w.post("PATCH", "/teams/"+w.unreached(), e.key, `{"status":"inactive"}`).refused(apierr.CodeNotFound, "")
	w.post("PATCH", "/teams/"+e.deleted.String(), e.key, `{"status":"inactive"}`).refused(apierr.CodeTeamDeleted, "")
	w.post("PATCH", "/teams/"+e.eu.String(), e.key, `{"status":"inactive"}`).refused(apierr.CodeMisdirectedRequest, "")
	w.exec(`update team set freeze_reason = 'migration' where id = @team`, db.Args{"team": e.ca})
	w.post("PATCH", "/teams/"+e.ca.String(), e.key, `{"status":"inactive"}`).refused(apierr.CodeTeamMigrationFrozen, "")

	// What a person may do counts in the partner: an administrator of the customer alone lets nobody go.
	_, weak := w.person(access.Member{Team: e.us, Scopes: []string{"admin"}}, access.Member{Team: e.partner, Scopes: []string{"reporting"}})
	w.post("PATCH", path, weak, `{"partnerId":null}`, "x-team-id", e.partner.String()).refused(apierr.CodeForbidden, "")
	w.post("PATCH", path, weak, `{"partnerId":null}`, "x-team-id", e.us.String()).refused(apierr.CodeForbidden, "")

	_, token := w.person(access.Member{Team: e.us, Scopes: []string{"admin"}})
	w.post("PATCH", path, token, `{"partnerId":null}`).refused(apierr.CodeForbidden, "")

	_, staff := w.person(access.Member{Team: e.us, Scopes: []string{"admin"}}, access.Member{Team: e.partner, Scopes: []string{"admin"}})
	contact := id.New(w.db.Now())
	_, owner := w.person(access.Member{Team: e.us, Contact: &contact, Scopes: []string{"admin"}}, access.Member{Team: e.partner, Scopes: []string{"reporting"}})
	both := w.key(e.ca, e.us)
	w.get("/team", staff, "x-team-id", e.us.String()).want(200)

	// The team was inactive, and nobody else could wake it.
	if got := w.post("PATCH", path, e.key, `{"partnerId":null}`, "x-team-id", e.partner.String()).want(200).tree(); got["partner"] != nil || got["status"] != "active" {
		t.Errorf("left: %v", got)
	}

	w = newWorld(t)
	// Nor people of the partner, nor keys that other customers have issued.
	w.get("/team", staff, "x-team-id", e.us.String()).refused(apierr.CodeNotFound, "")
	w.get("/team", both, "x-team-id", e.us.String()).refused(apierr.CodeForbidden, "")
	w.get("/team", token).want(200)
	w.get("/toys/owned", owner, "x-team-id", e.us.String()).want(200)

	w.tx(func(ctx context.Context, tx *db.Tx) error {
		told, err := db.Get[int64](ctx, tx, `select count(*) from audit_event where team_id = @partner and entity_id = @team`, db.Args{"partner": e.partner, "team": e.us})
		if told != 1 {
			t.Errorf("%d events in the partner's trail", told)
		}

		return err
	})
	w.get("/team", e.key, "x-team-id", e.us.String()).refused(apierr.CodeForbidden, "")
	w.post("PATCH", path, e.key, `{"status":"inactive"}`).refused(apierr.CodeNotFound, "")

	if slices.Contains(w.get("/teams", e.key).listed(), e.us.String()) {
		t.Error("the partner still lists the team")
	}

	w.get("/team", w.key(e.us)).want(200)
}

// A key of several teams works in a team that it makes. A key of one does not: its requests need not say which team they
// mean, and would fail from then on.
func TestAKeyOfOneTeamStaysOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.team("us", id.Zero), w.team("us", id.Zero)
	single, several := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"admin"}}), w.issue(access.NewKey{Teams: []id.ID{two, one}, Scopes: []string{"admin"}})

	for key, reach := range map[*access.Key][]id.ID{single: {one}, several: {one, two}} {
		made := w.team("us", id.Zero)
		scope := db.Scope{Team: made, Actor: db.Actor{User: key.UserID, Kind: db.TeamKey}} // as in the task of a request

		if err := w.db.Write(t.Context(), scope, func(ctx context.Context, tx *db.Tx) error { return access.AdmitMaker(ctx, tx, one, reach) }); err != nil {
			t.Fatal(err)
		}

		w = newWorld(t)
		if got := w.get("/team", key.Secret, "x-team-id", made.String()).status == 200; got != (key == several) {
			t.Errorf("a key of %d teams works in the new one: %v", len(reach), got)
		}
	}

	w.get("/team", single.Secret).want(200)
}

// A partner key for a portal makes embedded sessions and finds the teams for them, and does nothing else.
//
// Proves: AUTH-14.
func TestAPartnerKeyHasOneAudience(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()
	portal := w.issue(access.NewKey{Teams: []id.ID{e.partner}, Partner: true, Audience: access.ForPortal, Scopes: []string{"admin"}}).Secret

	w.get("/teams", portal).want(200)
	w.post("POST", "/partner/embed-sessions", portal, `{"teamId":"`+e.us.String()+`","view":"report","allowedOrigins":["https://portal.example.com"]}`).want(201)

	customer := []string{"x-team-id", e.us.String()}
	for method, path := range map[string]string{"GET": "/team", "POST": "/toys"} {
		w.call(method, path, portal, customer...).refused(apierr.CodeForbidden, "")
		w.call(method, path, e.key, customer...).want(200)
	}

	w.get("/partner/overview", portal).refused(apierr.CodeForbidden, "")
	w.get("/partner/toys", portal).refused(apierr.CodeForbidden, "")
	w.post("POST", "/teams", portal, `{"name":"X"}`).refused(apierr.CodeForbidden, "")
	w.get("/partner/overview", e.key).want(200)

	w.tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := access.IssueKey(ctx, tx, access.NewKey{Name: "X", Teams: []id.ID{e.us}, Audience: access.ForPortal, Scopes: []string{"admin"}}); err == nil {
			t.Error("a team's key was issued for a portal")
		}

		return nil
	})
}

// The command line gives a team to another partner, and to nothing else. The former partner and its people are out.
func TestATeamMovesToAnotherPartner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()
	next := w.partner("us")
	_, staff := w.person(access.Member{Team: e.us, Scopes: []string{"admin"}}, access.Member{Team: e.partner, Scopes: []string{"admin"}})
	nextKey := w.partnerKey(next)

	for _, under := range []id.ID{e.ca, id.New(w.db.Now())} {
		err := w.db.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			return team.Move(ctx, tx, e.us, under, access.DismissPartner)
		})
		if err == nil {
			t.Errorf("moved under %v, which is no partner", under)
		}
	}

	w.tx(func(ctx context.Context, tx *db.Tx) error {
		return team.Move(ctx, tx, e.us, next, access.DismissPartner)
	})
	w.get("/team", nextKey, "x-team-id", e.us.String()).want(200)
	w.get("/team", e.key, "x-team-id", e.us.String()).refused(apierr.CodeForbidden, "")
	w.get("/team", staff, "x-team-id", e.us.String()).refused(apierr.CodeNotFound, "")

	// Nor is a team made under what is no partner.
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := team.Create(ctx, tx, team.New{Name: "X", Type: team.PropertyManager, Region: "us", PartnerID: e.ca}); err == nil {
			t.Error("a team was made under a customer")
		}

		return nil
	})
}

// The overview has the customers of the partner and no other teams, by page, region and filter.
func TestTheOverviewHasThePartnersTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()

	if got, want := w.get("/partner/overview", e.key).listed(), texts(e.us, e.ca, e.eu, e.sa); !slices.Equal(got, want) {
		t.Errorf("the overview has %v, not %v", got, want)
	}

	for query, want := range map[string][]string{
		"?limit=1&sort=-createdAt": nil, "?ids=" + e.ca.String(): texts(e.ca), "?ids=" + e.foreign.String(): {}, "?status=inactive": {}, "?search=nobody": {},
	} {
		if got := w.get("/partner/overview"+query, e.key).listed(); want != nil && !slices.Equal(got, want) || want == nil && len(got) != 1 {
			t.Errorf("%s: %v, not %v", query, got, want)
		}
	}

	if got, want := w.get("/partner/overview", e.key, "x-data-region", "ca").listed(), texts(e.ca); !slices.Equal(got, want) {
		t.Errorf("the slice has %v, not %v", got, want)
	}

	w.get("/partner/overview", w.key(e.us)).refused(apierr.CodeNotFound, "")

	// A person of the partner sees all of them too, and works in none by that.
	_, staff := w.person(access.Member{Team: e.partner, Scopes: []string{"admin"}})
	if got, want := w.get("/partner/overview", staff, "x-team-id", e.partner.String()).listed(), texts(e.us, e.ca, e.eu, e.sa); !slices.Equal(got, want) {
		t.Errorf("a person of the partner sees %v, not %v", got, want)
	}

	w.get("/team", staff, "x-team-id", e.us.String()).refused(apierr.CodeNotFound, "")

	// Filters of GET /teams.
	for query, want := range map[string][]string{
		"?partnerId=" + e.partner.String(): texts(e.us, e.ca, e.eu, e.sa), "?partnerId=null": {}, "?partnerId=" + w.unreached(): {}, "?date=2001": {},
	} {
		if got := w.get("/teams"+query, e.key).listed(); !slices.Equal(got, want) {
			t.Errorf("GET /teams%s: %v, not %v", query, got, want)
		}
	}
}

// The overview counts the rows of each team and adds up its bank accounts by category and currency, folded or not.
func TestTheOverviewHasTheFiguresOfEachTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.estate()

	// The first customer has two trust accounts in dollars and one in euros; the other one has nothing.
	for _, sql := range []string{
		`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, md5('c')::uuid, 'Bank', 'asset', 1, now())`,
		`insert into account (team_id, id, code, name, type, category_id, banking_category, banking_currency, created_at, updated_at)
			select @team, md5(code)::uuid, code, 'Bank ' || code, 'bank', md5('c')::uuid, category, currency, now(), now()
			from (values ('1', 'trust', 'usd'), ('2', 'trust', 'usd'), ('3', 'trust', 'eur'), ('4', 'operating', 'usd'), ('5', 'external', 'usd')) a (code, category, currency)`,
		`insert into ledger_month_kept (team_id, ledger, currency, account_id, party, month, debit, credit, entries)
			select @team, ledger, currency, md5(code)::uuid, party, '2026-01-01', debit, credit, 1
			from (values ('1', 'trust', 'usd', 'owners', 500, 100), ('1', 'trust', 'usd', 'manager', 7, 0), ('1', 'operating', 'usd', '', 10, 0), ('1', 'historical', 'usd', '', 9000, 0),
				('2', 'trust', 'usd', '', 20, 0), ('3', 'trust', 'eur', '', 0, 3), ('4', 'operating', 'usd', '', 60, 0), ('5', 'trust', 'usd', '', 70, 0))
				m (code, ledger, currency, party, debit, credit)`,
		// What is dated later does not count today, in this month or another one.
		`insert into ledger_month_kept (team_id, ledger, currency, account_id, party, month, debit, credit, entries)
			select @team, 'trust', 'usd', md5('1')::uuid, '', date_trunc('month', now() + interval '70 days')::date, 77700, 0, 1`,
		`insert into ledger_day_kept (team_id, ledger, currency, account_id, party, day, debit, credit, entries)
			select @team, 'trust', 'usd', md5('1')::uuid, '', (now() at time zone 'America/New_York')::date + n, amount, 0, 1 from (values (0, 30), (1, 88800)) d (n, amount)`,
		`insert into list_count_kept (team_id, list, rows) values (@team, 'listing', 4), (@team, 'reservation', 50), (@team, 'contact', 9)`,
		`insert into list_delta (team_id, list, rows) values (@team, 'listing', -1), (@team, 'transaction', 6)`,
	} {
		w.exec(sql, db.Args{"team": e.us})
	}

	for team, want := range map[id.ID]string{
		e.us: `3 50 6 [map[centTotal:-3 currency:eur] map[centTotal:467 currency:usd]] [map[centTotal:60 currency:usd]]`,
		e.ca: `0 0 0 [] []`,
	} {
		rows, _ := w.get("/partner/overview?ids="+team.String(), e.key).want(200).tree()["data"].([]any)
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}

		row, _ := rows[0].(map[string]any)
		if got := fmt.Sprint(row["listings"], row["reservations"], row["transactions"], row["trustBank"], row["operatingBank"]); got != want {
			t.Errorf("figures %s, want %s", got, want)
		}
	}
}
