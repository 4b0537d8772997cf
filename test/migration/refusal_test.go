package migration_test

import (
	"maps"
	"strings"
	"testing"

	"stayledger/platform/id"
)

// Everything that a migration is refused for, and that it changes nothing.
//
// Proves: MIG-02, MIG-03, MIG-05, MIG-06, MIG-20, MIG-30, MIG-34, MIG-37, OPEN-53.
func TestMigrationsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.move(nil)

	const (
		moves      = "/partner/vri-to-vrt"
		statements = "/partner/vri-to-vrt/statements"
	)

	books, foreign := s.newTeam(true), s.newStranger(false)

	importOf := func(changes object) object {
		body := s.request(nil)
		maps.Copy(body, changes)

		return body
	}

	// Before the chart of accounts.
	s.Post(statements, importOf(nil)).WantError("BAD_REQUEST", "requiredAccountMissing")
	s.target.Patch("/teams/"+s.target.ID.String()+"/init", nil).Want(200)

	before := s.Fingerprint() + s.target.Fingerprint() + s.legacy.Fingerprint()

	unknown := id.New(s.DB.Now())
	choice := func(key string, account any) object {
		return object{"accountMappings": array{object{"legacyAccountKey": key, "targetAccountId": account}}}
	}
	odd := object{"legacyAccountKey": "k-odd", "targetAccountId": s.account("5200")}

	for _, r := range []struct {
		what, path   string
		body         object
		code         string
		issue, place string
	}{
		{"no source", moves, s.bootstrap(object{"sourceTenantId": nil}), "BAD_REQUEST", "string", "sourceTenantId"},
		{"a source that is no id", moves, s.bootstrap(object{"sourceTenantId": "me"}), "BAD_REQUEST", "uuid", "sourceTenantId"},
		{"an unknown source", moves, s.bootstrap(object{"sourceTenantId": unknown}), "BAD_REQUEST", "notFound", "sourceTenantId"},
		{"a source that the caller does not reach", moves, s.bootstrap(object{"sourceTenantId": foreign.ID}), "BAD_REQUEST", "notFound", "sourceTenantId"},
		{"a source with books", moves, s.bootstrap(object{"sourceTenantId": books.ID}), "BAD_REQUEST", "sourceNotLegacy", "sourceTenantId"},
		{"the partner itself", moves, s.bootstrap(object{"sourceTenantId": s.ID}), "BAD_REQUEST", "sourceNotLegacy", "sourceTenantId"},
		{"a partner that is no id", moves, s.bootstrap(object{"targetPartnerId": "me"}), "BAD_REQUEST", "uuid", "targetPartnerId"},
		{"an unknown partner", moves, s.bootstrap(object{"targetPartnerId": unknown}), "BAD_REQUEST", "notFound", "targetPartnerId"},
		{"a partner that is none", moves, s.bootstrap(object{"targetPartnerId": books.ID}), "BAD_REQUEST", "notFound", "targetPartnerId"},
		{"no name", moves, s.bootstrap(object{"targetName": ""}), "BAD_REQUEST", "length", "targetName"},
		{"no day", moves, s.bootstrap(object{"glStartAt": "soon"}), "BAD_REQUEST", "date", "glStartAt"},
		{"credentials that are neither", moves, s.bootstrap(object{"moveConnectionCredentials": "yes"}), "BAD_REQUEST", "boolean", "moveConnectionCredentials"},
		{"statements of an unknown source", statements, importOf(object{"sourceTenantId": unknown}), "BAD_REQUEST", "notFound", "sourceTenantId"},
		{"statements of a source with books", statements, importOf(object{"sourceTenantId": books.ID}), "BAD_REQUEST", "sourceNotLegacy", "sourceTenantId"},
		{"a target that no migration has made", statements, importOf(object{"targetTenantId": books.ID}), "BAD_REQUEST", "notFound", "targetTenantId"},
		{"the source as the target", statements, importOf(object{"targetTenantId": s.legacy.ID}), "BAD_REQUEST", "notFound", "targetTenantId"},
		{"an account that is no id", statements, importOf(choice("k-odd", "5200")), "BAD_REQUEST", "uuid", "accountMappings.0.targetAccountId"},
		{"an account of nobody", statements, importOf(choice("k-odd", unknown)), "BAD_REQUEST", "notFound", "accountMappings.0.targetAccountId"},
		{"an unknown key", statements, importOf(choice("k-none", s.account("5200"))), "BAD_REQUEST", "notFound", "accountMappings.0.legacyAccountKey"},
		{"a key twice", statements, importOf(object{"accountMappings": array{odd, odd}}), "BAD_REQUEST", "unique", "accountMappings.1.legacyAccountKey"},
		{"an account that nothing is known of", statements, importOf(nil), "UNPROCESSABLE_CONTENT", "accountMappingRequired", "accountMappings.k-odd"},
	} {
		got := s.Post(r.path, r.body)
		if got.String("code") != r.code {
			t.Errorf("%s: %s", r.what, got.Body)
			continue
		}

		got.WantIssue(r.issue, r.place)
	}

	for query, issue := range map[string]string{
		"sourceTenantId=" + unknown.String() + "&targetTenantId=" + s.target.ID.String():  "notFound",
		"sourceTenantId=" + books.ID.String() + "&targetTenantId=" + s.target.ID.String(): "sourceNotLegacy",
		"sourceTenantId=" + s.legacy.ID.String() + "&targetTenantId=" + books.ID.String(): "notFound",
		"sourceTenantId=" + s.legacy.ID.String() + "&targetTenantId=" + unknown.String():  "notFound",
	} {
		if got := s.Get("/teams/migrate-vri-to-vrt/statements/account-mappings?" + query); got.Status != 400 || !strings.Contains(string(got.Body), issue) {
			t.Errorf("%s: %s", query, got.Body)
		}
	}

	if after := s.Fingerprint() + s.target.Fingerprint() + s.legacy.Fingerprint(); after != before {
		t.Error("a refusal changed something")
	}
}

// While a migration is at a team no other one is. Whatever becomes of it, the team goes on.
//
// Proves: OPEN-37.
func TestATeamIsMovedByOneMigrationAtATime(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fill(t, s.legacy, text(t, dump())).Want(201)
	s.Post("/partner/vri-to-vrt", s.bootstrap(nil)).Want(202)
	s.Post("/partner/vri-to-vrt", s.bootstrap(nil)).WantError("TEAM_MIGRATION_FROZEN", "")
	s.Work()

	// The other route is the same migration.
	if again := s.Post("/teams/migrate-vri-to-vrt", s.bootstrap(object{"targetName": "Another"})).Want(202); again.String("type") != "vri-team-migration" {
		t.Errorf("started: %s", again.Body)
	}

	s.Work()
}

// Dumps that are none are refused with the place of the record, and nothing of them stays.
func TestDumpsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.legacy.Fingerprint()

	with := func(list string, records ...object) string {
		d := dump()
		all := array{}

		for _, r := range records {
			all = append(all, r)
		}

		d[list] = all

		return text(t, d)
	}
	statement := func(changes object) object {
		out := object{
			"id": "s", "listingId": "l-1", "startAt": "2025-01-01", "endAt": "2025-01-31", "status": "posted", "balanceStart": 0, "balanceEnd": 0,
			"lines": array{},
		}
		maps.Copy(out, changes)

		return out
	}
	line := func(changes object) object {
		out := object{"id": "1", "type": "line", "accountKey": "k-rent", "amount": 1}
		maps.Copy(out, changes)

		return statement(object{"lines": array{out}})
	}

	for _, r := range []struct{ what, content, issue, place string }{
		{"an unknown list", `{"people":[]}`, "unknownField", "people"},
		{"a list that comes too late", `{"owners":[],"accounts":[]}`, "unknownField", "accounts"},
		{"an unknown field", `{"owners":[{"id":"1","name":"A","age":4}]}`, "unknownField", "owners.0.age"},
		{"an owner twice", `{"owners":[{"id":"1","name":"A"},{"id":"1","name":"B"}]}`, "unique", "owners.1.id"},
		{"a share of nobody", `{"listings":[{"id":"1","name":"A","owners":[{"ownerId":"x","split":1}]}]}`, "notFound", "listings.0.owners.0.ownerId"},
		{"a stay nowhere", `{"reservations":[{"id":"1","listingId":"x","checkIn":"2025-01-01","checkOut":"2025-01-02"}]}`, "notFound", "reservations.0.listingId"},
		{"an unknown currency", with("statements", statement(object{"currency": "zzz"})), "currency", "statements.0.currency"},
		{"days in the wrong order", with("statements", statement(object{"endAt": "2024-12-31"})), "dateOrder", "statements.0.endAt"},
		{"a statement nowhere", with("statements", statement(object{"listingId": "x"})), "notFound", "statements.0.listingId"},
		{"an unknown account", with("statements", statement(nil), line(object{"accountKey": "x"})), "notFound", "statements.1.lines.0.accountKey"},
		{"no account", with("statements", line(object{"type": "line", "accountKey": nil})), "string", "statements.0.lines.0.accountKey"},
		{"an unknown payee", with("statements", line(object{"type": "payout", "ownerId": "x"})), "notFound", "statements.0.lines.0.ownerId"},
		{"an amount beyond the range", with("statements", line(object{"amount": 1 << 60})), "unsafeNumber", "statements.0.lines.0.amount"},
	} {
		got := fill(t, s.legacy, r.content)
		if got.Status != 400 {
			t.Errorf("%s: %s", r.what, got.Body)
			continue
		}

		got.WantIssue(r.issue, r.place)
	}

	for _, content := range []string{``, `[]`, `{"owners":`, `{"owners":[]} x`, "{\"owners\":[\xff]}", strings.Repeat("[", 100_000)} {
		if got := fill(t, s.legacy, content); got.Status != 400 {
			t.Errorf("%.20q: %s", content, got.Body)
		}
	}

	if after := s.legacy.Fingerprint(); after != before {
		t.Error("a refused dump changed something")
	}

	// A team with books takes no dump, and the same dump twice is the same team.
	fill(t, s.newTeam(true), `{}`).Want(400).WantIssue("sourceNotLegacy", "x-team-id")
	fill(t, s.legacy, text(t, dump())).Want(201)

	again := fill(t, s.legacy, text(t, dump())).Want(201)
	if again.Int("counts.statements") != 9 || again.Int("counts.lines") != 14 || s.legacy.Get("/listings").Want(200).Len("data") != 3 ||
		s.legacy.Get("/contacts").Want(200).Len("data") != 2 || s.legacy.Get("/connections").Want(200).Len("data") != 1 {
		t.Errorf("again: %s", again.Body)
	}
}
