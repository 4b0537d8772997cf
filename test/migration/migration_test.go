package migration_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
)

// Proves: MIG-01, MIG-04, MIG-07..MIG-12, MIG-15..MIG-20, MIG-47, INIT-05.
func TestALegacyTeamMoves(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.move(nil)

	// The shell, without chart, layouts and statements.
	team := s.target.Get("/team").Want(200)
	if team.String("name") != "New" || team.String("migratedFromTenantId") != s.legacy.ID.String() || team.String("isGeneralLedger") != "true" ||
		team.String("partner.id") != s.ID.String() || team.String("historicalStatementsImportedAt") != "null" {
		t.Errorf("the team is %s", team.Body)
	}

	for _, path := range []string{"/accounts", "/statement-layouts", "/statements?status=published", "/statements?status=inReview"} {
		if got := s.target.Get(path).Want(200); got.Len("data") != 0 {
			t.Errorf("%s: %s", path, got.Body)
		}
	}

	// The people and places.
	if got := s.target.Get("/contacts?sort=name").Want(200); got.Len("data") != 2 || got.String("data.1.firstName") != "Ada" || got.String("data.1.email") != "ada@example.com" {
		t.Errorf("the contacts are %s", got.Body)
	}

	listings := s.target.Get("/listings?sort=name").Want(200)
	if listings.Len("data") != 3 || listings.String("data.1.address.city") != "Pine" {
		t.Fatalf("the listings are %s", listings.Body)
	}

	// A period for each day on which a share changes; no members where the shares do not make up the whole.
	got := s.target.Get("/listings/ownership-periods?sort=startAt&listingIds=" + listings.String("data.0.id")).Want(200)
	if got.Len("data") != 2 || got.Len("data.1.members") != 2 || got.String("data.1.startAt") != "null" || got.String("data.1.endAt") != "2025-03-01" ||
		got.Len("data.0.members") != 1 || got.Int("data.0.members.0.split") != 100_000 || got.String("data.0.endAt") != "null" {
		t.Errorf("the periods are %s", got.Body)
	}

	got = s.target.Get("/listings/ownership-periods?listingIds=" + listings.String("data.1.id")).Want(200)
	if got.Len("data") != 1 || got.Len("data.0.members") != 0 {
		t.Errorf("the periods of half a listing are %s", got.Body)
	}

	// The connection is a shell.
	if got := s.target.Get("/connections").Want(200); got.Len("data") != 1 || got.String("data.0.status") != "disabled" || got.String("data.0.settings.baseUrl") != "http://127.0.0.1:9" {
		t.Errorf("the connections are %s", got.Body)
	}

	s.wantCredentials(s.target.ID, false)
	s.wantCredentials(s.legacy.ID, true)

	// Nothing is frozen any more, and the new team needs a chart before its mappings.
	s.legacy.Put("/team", object{"companyName": "Old Ltd"}).Want(200)
	s.Get(s.mappingsPath()).WantError("BAD_REQUEST", "requiredAccountMissing")
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	if s.target.Get("/accounts").Want(200).Len("data") == 0 || s.target.Get("/statement-layouts").Want(200).Len("data") != 1 {
		t.Error("the team has no chart or no layout")
	}

	s.Get(s.mappingsPath()).Want(200)
}

// wantCredentials checks whether the connection of a team has credentials.
func (s *scene) wantCredentials(team id.ID, want bool) {
	s.T.Helper()

	if got := s.count(team, `select count(*) from connection where team_id = @of and credentials is not null`); got == 1 != want {
		s.T.Errorf("%d connections have credentials", got)
	}
}

// Credentials go along with the token that was given for them; one of earlier credentials is dropped.
//
// Proves: MIG-13, MIG-14.
func TestCredentialsMoveWhenAskedTo(t *testing.T) {
	t.Parallel()

	for _, earlier := range []bool{false, true} {
		s := newScene(t)
		fill(t, s.legacy, text(t, dump())).Want(201)
		old := s.legacy.Get("/connections").Want(200).ID("data.0.id")
		s.legacy.Exec(`insert into connection_token (team_id, id, token, credentials_sum)
			select @team, @id, @token, case when @earlier then '\x00' else sha256(credentials) end from connection where team_id = @team and id = @id`,
			db.Args{"id": old, "token": s.Box.Seal([]byte(`{"access":"given"}`), "connection-token:"+old.String()), "earlier": earlier})
		s.move(object{"moveConnectionCredentials": true})

		found := s.target.Get("/connections").Want(200)
		if found.String("data.0.status") != "active" {
			t.Errorf("the connections are %s", found.Body)
		}

		s.wantCredentials(s.target.ID, true)
		s.wantCredentials(s.legacy.ID, false)

		if got := s.legacy.Get("/connections").Want(200); got.String("data.0.status") != "disabled" {
			t.Errorf("the old connections are %s", got.Body)
		}

		// They open under the new connection's name, and so does the token.
		s.canOpen(s.target.ID)
		s.wantToken(found.ID("data.0.id"), !earlier)

		if n := s.count(s.legacy.ID, `select count(*) from connection_token where team_id = @of`); n != 0 {
			t.Errorf("%d tokens are left", n)
		}
	}
}

// Over connections that come with their credentials the listings of the systems are read at once, so that they can be mapped
// before the first sync.
//
// Proves: MIG-13.
func TestListingsOfMovedConnectionsCanBeMapped(t *testing.T) {
	t.Parallel()
	s := newScene(t)

	system, err := sandbox.New(sandbox.Config{Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})
	system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	of := dump()
	of["connections"] = array{object{
		"id": "c-1", "appId": "pmsProtocol", "name": "Rentals", "settings": object{"baseUrl": server.URL}, "credentials": object{"token": "secret"},
	}}
	s.moveDump(of, object{"moveConnectionCredentials": true})
	s.target.Work()

	moved := s.target.Get("/connections").Want(200).String("data.0.id")
	if got := s.target.Get("/connections/" + moved + "/listing-mappings").Want(200); got.Len("data") != 1 || got.String("data.0.name") != "House 1" {
		t.Errorf("the mappings are %s", got.Body)
	}
}

// wantToken checks that a connection of the new team has the token of the old one, which counts for its credentials, or
// none.
func (s *scene) wantToken(of id.ID, want bool) {
	s.T.Helper()

	s.target.Tx(func(ctx context.Context, tx *db.Tx) error {
		tokens, err := db.Select[[]byte](ctx, tx, `select t.token from connection_token t join connection c on c.team_id = @team and c.id = t.id
			where t.team_id = @team and t.id = @id and t.credentials_sum = sha256(c.credentials)`, db.Args{"team": tx.Team, "id": of})
		if err != nil || len(tokens) == 0 {
			if want {
				s.T.Error("the token is gone")
			}

			return err
		}

		plain, err := s.Box.Open(tokens[0], "connection-token:"+of.String())
		if err != nil || !want || string(plain) != `{"access":"given"}` {
			s.T.Errorf("the token is %s, %v", plain, err)
		}

		return nil
	})
}

// Whoever may work in the legacy team may work in the new one: people, keys of several teams and the key that asks, but no
// key of the legacy team alone and no owner.
func TestGrantsGoAlong(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := s.DB.Now()
	person, owner, contact := id.New(at), id.New(at), id.New(at)
	asks, alone, several := id.New(at), id.New(at), id.New(at)
	other := s.newTeam(true)

	s.System(func(ctx context.Context, tx *db.Tx) error {
		stmts := []db.Stmt{{
			SQL:  `insert into access_user (id, kind, name, created_at) select u, 'service', 'Somebody', now() from unnest(@users::uuid[]) u`,
			Args: db.Args{"users": []id.ID{person, owner, alone, several}},
		}, {
			SQL: `insert into access_member (team_id, user_id, contact_id, scopes, created_at)
				values (@team, @person, null, '{statements:read}', now()), (@team, @owner, @contact, '{}', now())`,
			Args: db.Args{"team": s.legacy.ID, "person": person, "owner": owner, "contact": contact},
		}}

		for _, k := range []struct{ key, user, home id.ID }{{asks, s.User, s.legacy.ID}, {alone, alone, s.legacy.ID}, {several, several, other.ID}} {
			stmts = append(stmts, db.Stmt{
				SQL: `insert into access_key (team_id, id, user_id, name, kind, prefix, hash, scopes, created_at)
					values (@team, @id, @user, 'Key', 'team', 'sk', sha256(@id::uuid::text::bytea), '{}', now())`,
				Args: db.Args{"team": k.home, "id": k.key, "user": k.user},
			}, db.Stmt{
				SQL:  `insert into access_key_team (team_id, home_team_id, key_id) values (@team, @home, @id)`,
				Args: db.Args{"team": s.legacy.ID, "home": k.home, "id": k.key},
			})
		}

		return tx.Pipeline(ctx, stmts...)
	})
	s.move(nil)

	if n := s.count(s.target.ID, `select count(*) from access_member where team_id = @of and scopes = '{statements:read}'`); n != 1 {
		t.Error("the person may not work in the new team")
	}

	if n := s.count(s.target.ID, `select count(*) from access_member where team_id = @of`); n != 1 {
		t.Errorf("%d people may work in the new team", n)
	}

	var keys []id.ID

	s.System(func(ctx context.Context, tx *db.Tx) (err error) {
		keys, err = db.Select[id.ID](ctx, tx, `select key_id from access_key_team where team_id = @of order by key_id`, db.Args{"of": s.target.ID})
		return err
	})

	if !slices.Equal(keys, id.Distinct([]id.ID{asks, several})) {
		t.Errorf("the keys are %v, not %v and %v", keys, asks, several)
	}
}

// Proves: MIG-21..MIG-29, MIG-33, MIG-35, MIG-37, MIG-45.
func TestMappingsOfLegacyAccounts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.move(nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	got := s.Get(s.mappingsPath()).Want(200)

	// The first day of the month after the last final statement, which is later than the day that was asked for.
	if got.String("effectiveGlStartAt") != "2025-04-01" {
		t.Errorf("the cutover is %s", got.Body)
	}

	classes := map[string]string{}
	for i := range got.Len("newAccounts") {
		classes[got.String(fmt.Sprintf("newAccounts.%d.id", i))] = got.String(fmt.Sprintf("newAccounts.%d.category.classification", i))
	}

	// A cleaning fee can be a revenue and an expense: the classification decides.
	want := []string{"k-clean Cleaning expense", "k-odd null", "k-rent Rent revenue"}
	if got.Len("oldAccounts") != len(want) {
		t.Fatalf("the accounts are %s", got.Body)
	}

	for i, w := range want {
		at := fmt.Sprintf("oldAccounts.%d.", i)

		suggested := got.String(at + "suggestedTargetAccount")
		if suggested != "null" {
			suggested = got.String(at+"suggestedTargetAccount.title") + " " + classes[got.String(at+"suggestedTargetAccount.id")]
		}

		if got.String(at+"legacyAccount.key")+" "+suggested != w || got.String(at+"currentTargetAccount") != "null" || got.String(at+"sources.0") != "line" {
			t.Errorf("want %s: %s", w, got.Body)
		}
	}

	if got.String("oldAccounts.1.legacyAccount.ref") != "X-9" || got.String("oldAccounts.1.legacyAccount.classification") != "expense" ||
		got.String("oldAccounts.1.sources.1") != "template" {
		t.Errorf("the account is %s", got.Body)
	}

	for _, field := range []string{"id", "title", "category.id", "category.name", "category.classification", "type", "status"} {
		if !got.Has("newAccounts.0." + field) {
			t.Errorf("a new account has no %s", field)
		}
	}

	// What is left out is told with its amount.
	var skipped []string

	for i := range got.Len("skippedStatements") {
		at := fmt.Sprintf("skippedStatements.%d.", i)
		skipped = append(skipped, got.String(at+"sourceId")+" "+got.String(at+"reason")+" "+got.String(at+"balanceEnd"))
	}

	slices.Sort(skipped)

	if all := strings.Join(skipped, ", "); all != "s-nobody noOwnershipPeriod -5, s-paid noMembers 0, s-two noOwnershipPeriod -7" {
		t.Errorf("left out are %s", all)
	}

	// A requested day that is later than all statements stands.
	later := s.newTeam(false)
	s.legacy = later
	s.move(object{"glStartAt": "2026-02-01"})
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	if got := s.Get(s.mappingsPath()).Want(200); got.String("effectiveGlStartAt") != "2026-02-01" {
		t.Errorf("the cutover is %s", got.Body)
	}
}

// What a dump says of an owner who is there twice, and of a listing, goes along with a merge, and so into the new team.
func TestMergesInALegacyTeamGoAlong(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fill(t, s.legacy, text(t, dump())).Want(201)

	people, places := map[string]string{}, map[string]string{}

	found := s.legacy.Get("/contacts").Want(200)
	for i := range found.Len("data") {
		people[found.String(fmt.Sprintf("data.%d.uniqueRef", i))] = found.String(fmt.Sprintf("data.%d.id", i))
	}

	found = s.legacy.Get("/listings").Want(200)
	for i := range found.Len("data") {
		places[found.String(fmt.Sprintf("data.%d.uniqueRef", i))] = found.String(fmt.Sprintf("data.%d.id", i))
	}

	for _, m := range []struct{ path, into string }{
		{"/contacts/" + people["o-ada"] + "/merge", people["o-bob"]}, {"/listings/" + places["l-3"] + "/merge", places["l-2"]},
	} {
		plan := s.legacy.Post(m.path+"?dryRun=true", object{"intoId": m.into}).Want(200)
		s.legacy.Post(m.path, object{"intoId": m.into, "planHash": plan.String("planHash")}).Want(200)
	}

	if n := s.count(s.legacy.ID, `select count(*) from legacy_ownership o join contact c on c.team_id = o.team_id and c.id = o.contact_id
		where o.team_id = @of and c.status = 'inactive'`); n != 0 {
		t.Errorf("%d shares are of an owner who is not there any more", n)
	}

	started := s.Post("/partner/vri-to-vrt", s.bootstrap(nil)).Want(202)
	s.Work()

	made := s.Get("/operations/" + started.String("operationId")).Want(200).ID("resources.1.id")
	s.Reach(made)
	s.target = s.In(made)
	s.target.Patch("/teams/"+made.String()+"/init", nil).Want(200)

	// The statement of the house of nobody is one of the cabin now, and its payee is Bob everywhere.
	got := s.Get(s.mappingsPath()).Want(200)

	var skipped []string
	for i := range got.Len("skippedStatements") {
		skipped = append(skipped, got.String(fmt.Sprintf("skippedStatements.%d.sourceId", i))+" "+got.String(fmt.Sprintf("skippedStatements.%d.reason", i)))
	}

	slices.Sort(skipped)

	if all := strings.Join(skipped, ", "); all != "s-nobody overlap, s-paid noMembers, s-two overlap" {
		t.Errorf("left out are %s", all)
	}
}
