package migration_test

import (
	"context"
	"strconv"
	"testing"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// count counts rows of a team, which is @of.
func (s *scene) count(team id.ID, sql string) (n int64) {
	s.T.Helper()
	s.System(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, sql, db.Args{"of": team})
		return err
	})

	return n
}

// canOpen checks that the credentials of the connection of a team can be opened.
func (s *scene) canOpen(team id.ID) {
	s.T.Helper()

	of := s.In(team)
	of.Tx(func(ctx context.Context, tx *db.Tx) error {
		found, err := db.Get[id.ID](ctx, tx, `select id from connection where team_id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		c, err := connection.Get(ctx, tx, found)
		if err != nil {
			return err
		}

		plain, err := c.OpenCredentials(s.Box)
		if err == nil && string(plain) != `{"token":"secret"}` {
			s.T.Errorf("the credentials are %s", plain)
		}

		return err
	})
}

// request returns the body of an import, with an account for each key.
func (s *scene) request(mappings map[string]any) object {
	list := array{}
	for key, account := range mappings {
		list = append(list, object{"legacyAccountKey": key, "targetAccountId": account})
	}

	return object{"sourceTenantId": s.legacy.ID, "targetTenantId": s.target.ID, "accountMappings": list}
}

// account returns the account of the new team with a code.
func (s *scene) account(code string) string {
	s.T.Helper()

	found := s.target.Get("/accounts?limit=250").Want(200)
	for i := range found.Len("data") {
		at := "data." + itoa(i) + "."
		if found.String(at+"code") == code {
			return found.String(at + "id")
		}
	}

	s.T.Fatalf("no account %s", code)

	return ""
}

// importAll imports the statements of the legacy team by a path.
func (s *scene) importAll(path string, mappings map[string]any) {
	s.T.Helper()

	started := s.Post(path, s.request(mappings)).Want(202)
	if started.String("type") != "vri-statement-import" {
		s.T.Errorf("started: %s", started.Body)
	}

	s.Work()

	if done := s.Get("/operations/" + started.String("operationId")).Want(200); done.String("status") != "completed" {
		s.T.Fatalf("the import is %s", done.Body)
	}
}

// Proves: MIG-30..MIG-32, MIG-36, MIG-38..MIG-44, MIG-46, MIG-47, INIT-06.
func TestStatementsOfALegacyTeamAreImported(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.move(nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	s.target.Exec(`update team set statement_start_at = '2025-02-01' where id = @team`, nil)

	before := s.target.Get("/reports/trial-balance?startDate=2024&endDate=2026").Want(200)

	s.importAll("/partner/vri-to-vrt/statements", map[string]any{"k-odd": s.account("5200")})

	team := s.target.Get("/team").Want(200)
	if team.String("statementStartAt") != "2025-04-01" || team.String("historicalStatementsImportedAt") == "null" {
		t.Errorf("the team is %s", team.Body)
	}

	s.wantStatements(s.account("4000"), s.account("5110"), s.account("5200"))

	// Nothing is in the live books.
	if after := s.target.Get("/reports/trial-balance?startDate=2024&endDate=2026").Want(200); string(after.Body) != string(before.Body) {
		t.Errorf("the trial balance was %s and is %s", before.Body, after.Body)
	}

	if n := s.count(s.target.ID, `select count(*) from ledger_entry where team_id = @of and (ledger <> 'historical' or status <> 'inactive')`); n != 0 {
		t.Errorf("%d entries are live", n)
	}

	// The template is a layout with accounts of the new chart only.
	layouts := s.target.Get("/statement-layouts?sort=name").Want(200)
	if layouts.Len("data") != 2 || layouts.String("data.0.name") != "Our statement" {
		t.Fatalf("the layouts are %s", layouts.Body)
	}

	layout := s.target.Get("/statement-layouts/" + layouts.String("data.0.id")).Want(200)
	if layout.String("netRevenueSections.0.columns.3.value.accountIds.0") != s.account("4000") || layout.Len("otherSections.0.columns.2.value.accountIds") != 2 {
		t.Errorf("the layout is %s", layout.Body)
	}

	// The mappings are kept.
	got := s.Get(s.mappingsPath()).Want(200)
	if got.String("oldAccounts.1.currentTargetAccount.id") != s.account("5200") || got.String("oldAccounts.2.currentTargetAccount.title") != "Rent" {
		t.Errorf("the mappings are %s", got.Body)
	}

	// Again, without saying what is known and with another account for the rent: everything is replaced.
	s.importAll("/teams/migrate-vri-to-vrt/statements", map[string]any{"k-rent": s.account("4020")})
	s.wantStatements(s.account("4020"), s.account("5110"), s.account("5200"))

	if got := s.target.Get("/statement-layouts").Want(200); got.Len("data") != 2 {
		t.Errorf("the layouts are %s", got.Body)
	}

	// Once more in the same way: a layout in which nothing changes has no other version.
	changed := s.target.Get("/statement-layouts/" + layout.String("id")).Want(200)
	if changed.Int("version") != layout.Int("version")+1 {
		t.Errorf("the layout with another account is %s", changed.Body)
	}

	s.importAll("/teams/migrate-vri-to-vrt/statements", map[string]any{"k-rent": s.account("4020")})

	if got := s.target.Get("/statement-layouts/" + layout.String("id")).Want(200); string(got.Body) != string(changed.Body) {
		t.Errorf("the layout was %s and is %s", changed.Body, got.Body)
	}
}

// wantStatements holds the statements of the new team to those of the legacy team, with the accounts of its lines.
func (s *scene) wantStatements(rent, cleaning, odd string) {
	s.T.Helper()

	all := s.target.Get("/statements?status=published&limit=50").Want(200)

	found := map[string]string{}

	for i := range all.Len("data") {
		at := "data." + itoa(i) + "."
		if all.String(at+"source.type") == "import" {
			found[all.String(at+"uniqueRef")] = all.String(at + "id")
		}
	}

	if len(found) != 4 {
		s.T.Fatalf("the statements are %s", all.Body)
	}

	for ref, want := range map[string][2]int64{"legacy:s-1": {1_000, 70_000}, "legacy:s-2": {70_000, 20_000}, "legacy:s-3": {20_000, 55_500}, "legacy:s-half": {0, 800}} {
		got := s.target.Get("/statements/" + found[ref] + "?include=provenance").Want(200)
		if got.Int("financials.balanceStart") != want[0] || got.Int("financials.balanceEnd") != want[1] || got.String("status") != "published" {
			s.T.Errorf("%s: %s", ref, got.Body)
		}

		if got.String("provenance.sourceTenantId") != s.legacy.ID.String() || "legacy:"+got.String("provenance.sourceId") != ref {
			s.T.Errorf("%s comes from %s", ref, got.Body)
		}

		if plain := s.target.Get("/statements/" + found[ref]).Want(200); plain.Has("provenance") {
			s.T.Errorf("provenance without being asked for: %s", plain.Body)
		}
	}

	// The lines of the first one by account, without that of zero.
	got := s.target.Get("/statements/" + found["legacy:s-1"]).Want(200)
	sums := map[string]int64{}

	for i := range got.Len("lines") {
		at := "lines." + itoa(i) + "."
		sums[got.String(at+"account.id")] += got.Int(at + "total")
	}

	if sums[rent] != 100_000 || sums[cleaning] != -15_000 || sums[odd] != -6_000 || got.Len("lines") != 4 {
		s.T.Errorf("the lines are %v: %s", sums, got.Body)
	}
}

func itoa(i int) string { return strconv.Itoa(i) }

// The first live statement goes on from the last imported one if the import may open the books.
func TestLiveStatementsGoOnFromImportedOnes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.move(nil)
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	body := s.request(map[string]any{"k-odd": s.account("5200")})
	body["openingBalances"] = true
	s.Post("/partner/vri-to-vrt/statements", body).Want(202)
	s.Work()

	first := s.target.Get("/statements?month=2025-04&limit=50").Want(200)
	if first.Len("data") == 0 {
		t.Fatalf("the statements are %s", first.Body)
	}

	for i := range first.Len("data") {
		at := "data." + itoa(i) + "."

		want := map[string]int64{"Beach House": 55_500}[first.String(at+"listing.name")]
		if first.Int(at+"financials.balanceStart") != want || first.Len(at+"issues") != 0 && want != 0 {
			t.Errorf("the first live statement is %s", first.Body)
		}
	}

	// Again it is as it was.
	s.Post("/partner/vri-to-vrt/statements", body).Want(202)
	s.Work()

	if again := s.target.Get("/listings/opening-balance").Want(200); again.Len("data") != 1 || again.Int("data.0.amount") != 55_500 {
		t.Errorf("the opening balances are %s", again.Body)
	}
}
