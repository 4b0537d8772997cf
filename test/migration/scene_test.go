package migration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

type (
	object = world.Object
	array  = world.Array
)

func TestMain(m *testing.M) { apitest.Main(m) }

// scene is a partner with a legacy team, which has two owners, a few listings and a year of statements.
type scene struct {
	*world.World

	legacy *apitest.Team
	target *apitest.Team
}

// dump returns a legacy team with what the rules name: two owners, one of whom sells her share, a listing whose shares do
// not make up the whole, a statement with all kinds of lines, and statements that are not final or have no owners.
func dump() object {
	line := func(name, key string, cents int) object {
		return object{"id": name, "type": "line", "accountKey": key, "amount": cents, "description": "of " + name}
	}

	return object{
		"accounts": array{
			object{"key": "k-rent", "name": "Rental income", "classification": "revenue"},
			object{"key": "k-clean", "name": "Cleaning fee", "classification": "expense"},
			object{"key": "k-odd", "ref": "X-9", "name": "Goodwill and sundries", "classification": "expense"},
			object{"key": "k-zero", "name": "Nothing", "classification": "expense"},
			object{"key": "k-draft", "name": "Only in drafts", "classification": "expense"},
			object{"key": "k-template", "name": "Only in templates", "classification": "expense"},
			object{"key": "k-skipped", "name": "Only where nobody owns", "classification": "expense"},
		},
		"owners": array{
			object{"id": "o-ada", "name": "Stone", "firstName": "Ada", "email": "ada@example.com"},
			object{"id": "o-bob", "name": "Bob"},
		},
		"listings": array{
			object{"id": "l-1", "name": "Beach House", "owners": array{
				object{"ownerId": "o-ada", "split": 60_000},
				object{"ownerId": "o-bob", "split": 40_000, "endAt": "2025-03-01"},
				object{"ownerId": "o-ada", "split": 40_000, "startAt": "2025-03-01"},
			}},
			object{"id": "l-2", "name": "Cabin", "address": object{"line1": "1 Wood Way", "city": "Pine", "countryCode": "US"}, "owners": array{
				object{"ownerId": "o-bob", "split": 50_000},
			}},
			object{"id": "l-3", "name": "Nobody's"},
		},
		"connections": array{
			object{
				"id": "c-1", "appId": "pmsProtocol", "name": "Rentals", "settings": object{"baseUrl": "http://127.0.0.1:9"},
				"credentials": object{"token": "secret"},
			},
		},
		"reservations": array{
			object{"id": "r-1", "listingId": "l-1", "guestName": "Grace Hill", "checkIn": "2025-01-05", "checkOut": "2025-01-09"},
		},
		"templates": array{
			object{"id": "t-1", "name": "Our statement", "isDefault": true, "netRevenueSections": array{
				object{"name": "Income", "columns": array{object{"name": "Rent", "accountKeys": array{"k-rent"}}}},
			}, "otherSections": array{
				object{"name": "Costs", "columns": array{object{"name": "All", "accountKeys": array{"k-clean", "k-odd", "k-template"}}}},
			}},
		},
		"statements": array{
			object{
				"id": "s-1", "listingId": "l-1", "startAt": "2025-01-01", "endAt": "2025-01-31", "status": "published", "balanceStart": 1_000,
				"balanceEnd": 70_000, "lines": array{
					line("1", "k-rent", 100_000), line("2", "k-clean", -15_000), line("3", "k-odd", -6_000), line("4", "k-zero", 0),
					object{"id": "5", "type": "payout", "amount": 10_000, "ownerId": "o-ada", "date": "2025-01-20"},
				},
			},
			object{
				"id": "s-2", "listingId": "l-1", "startAt": "2025-02-01", "endAt": "2025-02-28", "status": "posted", "balanceStart": 70_000,
				"balanceEnd": 20_000, "lines": array{object{"id": "1", "type": "payout", "amount": 50_000}},
			},
			object{
				"id": "s-3", "listingId": "l-1", "startAt": "2025-03-01", "endAt": "2025-03-31", "status": "published", "balanceStart": 20_000,
				"balanceEnd": 55_500, "lines": array{line("1", "k-rent", 40_000), line("2", "k-clean", -4_500)},
			},
			object{
				"id": "s-draft", "listingId": "l-1", "startAt": "2025-04-01", "endAt": "2025-04-30", "status": "draft", "balanceStart": 55_500,
				"balanceEnd": 55_400, "lines": array{line("1", "k-draft", -100)},
			},
			object{
				"id": "s-void", "listingId": "l-1", "startAt": "2025-01-01", "endAt": "2025-01-31", "status": "void", "balanceStart": 0,
				"balanceEnd": -100, "lines": array{line("1", "k-draft", -100)},
			},
			object{
				"id": "s-two", "listingId": "l-1", "startAt": "2025-02-15", "endAt": "2025-03-15", "status": "posted", "balanceStart": 0,
				"balanceEnd": -7, "lines": array{line("1", "k-skipped", -7)},
			},
			object{
				"id": "s-nobody", "listingId": "l-3", "startAt": "2025-01-01", "endAt": "2025-01-31", "status": "published", "balanceStart": 0,
				"balanceEnd": -5, "lines": array{line("1", "k-skipped", -5)},
			},
			object{
				"id": "s-half", "listingId": "l-2", "startAt": "2025-01-01", "endAt": "2025-01-31", "status": "published", "balanceStart": 0,
				"balanceEnd": 800, "lines": array{line("1", "k-rent", 800)},
			},
			object{
				"id": "s-paid", "listingId": "l-2", "startAt": "2025-02-01", "endAt": "2025-02-28", "status": "published", "balanceStart": 800,
				"balanceEnd": 0, "lines": array{object{"id": "1", "type": "payout", "amount": 800}},
			},
		},
	}
}

// newScene returns a partner with a legacy team that is not filled yet.
func newScene(t *testing.T) *scene {
	t.Helper()

	s := &scene{World: world.New(t)}
	s.legacy = s.newTeam(false)
	s.Exec(`update team set type = 'partner' where id = @team`, nil)

	return s
}

// newTeam returns a team of the partner, with a general ledger or without.
func (s *scene) newTeam(ledger bool) *apitest.Team {
	s.T.Helper()

	of := s.newStranger(ledger)
	s.Reach(of.ID)

	return of
}

// newStranger returns a team that the partner's caller does not reach.
func (s *scene) newStranger(ledger bool) *apitest.Team {
	s.T.Helper()

	of := s.In(id.New(s.DB.Now()))
	of.Exec(`insert into team (id, type, name, region, partner_id, created_at, updated_at)
		values (@team, 'propertyManager', 'Old', 'us', @partner, now(), now())`, db.Args{"partner": s.ID})
	of.KeepLedger(ledger)

	return of
}

// fill sends a dump to a team.
func fill(t testing.TB, to *apitest.Team, content string) *apitest.Response {
	t.Helper()

	var body bytes.Buffer

	w := multipart.NewWriter(&body)

	part, err := w.CreateFormFile("file", "dump.json")
	if err != nil {
		t.Fatal(err)
	}

	_, _ = part.Write([]byte(content))
	_ = w.Close()

	return to.Post("/legacy/import", body.String(), "Content-Type", w.FormDataContentType())
}

// text returns a value as JSON, with its members in the order of a dump.
func text(t testing.TB, dump object) string {
	t.Helper()

	out := "{"

	for _, name := range []string{"accounts", "owners", "listings", "connections", "reservations", "templates", "statements"} {
		if dump[name] == nil {
			continue
		}

		raw, err := json.Marshal(dump[name])
		if err != nil {
			t.Fatal(err)
		}

		if out != "{" {
			out += ","
		}

		out += fmt.Sprintf("%q:%s", name, raw)
	}

	return out + "}"
}

// bootstrap returns the body of a migration of the legacy team, with changes.
func (s *scene) bootstrap(changes object) object {
	body := object{"sourceTenantId": s.legacy.ID, "targetName": "New", "glStartAt": "2025-01-01", "moveConnectionCredentials": false}
	maps.Copy(body, changes)

	return body
}

// move migrates the legacy team, and installs the chart of the new one.
func (s *scene) move(changes object) {
	s.T.Helper()
	s.moveDump(dump(), changes)
}

// moveDump migrates a legacy team that is filled with a dump.
func (s *scene) moveDump(of object, changes object) {
	s.T.Helper()
	fill(s.T, s.legacy, text(s.T, of)).Want(201)
	started := s.Post("/partner/vri-to-vrt", s.bootstrap(changes)).Want(202)
	s.Work()

	done := s.Get("/operations/" + started.String("operationId")).Want(200)
	if done.String("status") != "completed" || done.String("resources.1.role") != "result" {
		s.T.Fatalf("the migration is %s", done.Body)
	}

	made := done.ID("resources.1.id")
	s.Reach(made)
	s.target = s.In(made)
}

// mappingsPath is that of the accounts which legacy lines would go to.
func (s *scene) mappingsPath() string {
	return "/teams/migrate-vri-to-vrt/statements/account-mappings?sourceTenantId=" + s.legacy.ID.String() + "&targetTenantId=" + s.target.ID.String()
}
