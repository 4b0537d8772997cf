package operation_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// embedding are the lists that can show operations, by path.
var embedding = map[string]operation.ResourceType{
	"/contacts": operation.Contact, "/listings": operation.Listing, "/reservations": operation.Reservation,
	"/transactions": operation.Transaction, "/statements": operation.Statement, "/bank-rules": operation.BankRule,
}

// newLists is a team that has at least two rows in each of these lists.
func newLists(t *testing.T) (*toy, house) {
	t.Helper()

	all := slices.Concat(endpoints(), contact.Part(nil).Endpoints, listing.New(nil, nil).Part().Endpoints, reservation.Part().Endpoints,
		transaction.Part().Endpoints, statement.Part().Endpoints, rule.Part().Endpoints)
	x := &toy{Team: apitest.New(t, apitest.Config{Endpoints: all, Handlers: handlers(), Undescribed: []string{"startToy"}}), t: t}
	h := x.house()
	x.house()
	category, bank := id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, 'Banks', 'asset', 1, now())`,
		db.Args{"id": category})
	x.Exec(`insert into account (team_id, id, name, type, category_id, banking_category, created_at, updated_at)
		values (@team, @id, 'Bank', 'bank', @category, 'trust', now(), now())`, db.Args{"id": bank, "category": category})

	for range 2 {
		fixture.BankRule(x.Team, "Rule")
		v := id.New(x.DB.Now())
		x.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
			values (@team, @id, @ref, 'deposit', '2026-02-01', 'usd', @bank, 100, now(), now())`, db.Args{"id": v, "ref": v.ShortRef(), "bank": bank})
	}

	return x, h
}

// Proves: OPS-81, OPEN-05.
func TestListsEmbedOperations(t *testing.T) {
	t.Parallel()

	for path, of := range embedding {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			x, _ := newLists(t)
			x.ExpectInternal("export", "the toy refuses")

			plain := x.Get(path).Want(200)
			if plain.Len("data") < 2 || plain.Has("data.0.operations") {
				t.Fatalf("without the parameter: %s", plain.Body)
			}

			of := string(of)
			resource := object{"type": of, "id": plain.ID("data.0.id"), "role": "target"}
			source := object{"type": of, "id": plain.ID("data.0.id"), "role": "source"}
			namesake := object{"type": "flow", "id": plain.ID("data.0.id"), "role": "target"}

			x.start(object{"type": "export", "primary": resource, "resources": []object{resource, source}, "tasks": []object{{}}})
			x.start(object{"type": "export", "resources": []object{source}, "tasks": []object{{}}})
			x.start(object{"type": "export", "resources": []object{resource}, "tasks": []object{{"refuse": true}}})
			x.Work()
			x.start(object{"type": "flow-run", "primary": resource, "resources": []object{resource}, "tasks": []object{{}}})
			x.start(object{"type": "export", "resources": []object{namesake}, "tasks": []object{{}}})
			x.start(object{"resources": []object{resource}, "tasks": []object{{}}})

			rows := x.Get(path + "?include=operations").Want(200)

			listed := x.Get("/operations?resourceType=" + of + "&resourceId=" + plain.String("data.0.id")).Want(200)
			if got, want := rows.Value("data.0.operations.counts"), listed.Value("counts"); !reflect.DeepEqual(got, want) {
				t.Errorf("counts %v, the operations say %v", got, want)
			}

			if got, want := rows.Value("data.0.operations.latest"), listed.Value("items.0"); !reflect.DeepEqual(got, want) {
				t.Errorf("latest %v, the operations say %v", got, want)
			}

			if got := rows.String("data.0.operations.counts.completed") + rows.String("data.0.operations.counts.failed") +
				rows.String("data.0.operations.counts.queued") + rows.String("data.0.operations.counts.total"); got != "2114" {
				t.Errorf("completed, failed, queued and total are %s", got)
			}

			if rows.Int("data.1.operations.counts.total") != 0 || rows.Value("data.1.operations.latest") != nil {
				t.Errorf("a row without operations: %v", rows.Value("data.1.operations"))
			}

			if rows.Len("data") != plain.Len("data") {
				t.Errorf("%d rows, without the parameter %d", rows.Len("data"), plain.Len("data"))
			}

			x.Get(path+"?include=foo").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "include")
			x.Get(path+"?include=operations,foo").WantError(apierr.CodeBadRequest, "")

			scope := of + "s:read"
			if path == "/bank-rules" {
				scope = "bank:read"
			}

			reader := x.As([]string{scope}, nil)
			reader.Get(path).Want(200)

			refused := reader.Get(path+"?include=operations").WantError(apierr.CodeForbidden, "")
			if refused.String("context.requiredScopes.0") != "operations:read" {
				t.Errorf("context of %s", refused.Body)
			}
		})
	}
}

// Proves: OPS-81, OPS-69.
func TestOwnersListEmbedsWhatTheyMayRead(t *testing.T) {
	t.Parallel()
	x, h := newLists(t)
	x.System(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update team set owner_portal_show_draft_statements = true where id = @team`, db.Args{"team": x.ID})
		return err
	})
	owner := x.As([]string{"statements:read", "operations:read"}, &h.after)
	draft := owner.Get("/statements").Want(200).ID("data.0.id")
	mine := object{"type": "statement", "id": draft, "role": "target"}
	stay := object{"type": "reservation", "id": h.stayNow, "role": "target"}
	refresh := x.start(object{"type": "reservation-journal-refresh", "primary": mine, "resources": []object{mine, stay}, "tasks": []object{{}}})
	x.start(object{"type": "export", "primary": mine, "resources": []object{mine}, "tasks": []object{{}}})

	if all := x.Get("/statements?include=operations&statementIds=" + draft.String()).Want(200); all.Int("data.0.operations.counts.total") != 2 {
		t.Errorf("the manager sees %s", all.Body)
	}

	rows := owner.Get("/statements?include=operations").Want(200)
	if rows.Int("data.0.operations.counts.total") != 1 || rows.String("data.0.operations.latest.id") != refresh ||
		rows.Value("data.0.operations.latest.resource") != nil {
		t.Errorf("the owner sees %s", rows.Body)
	}

	x.As([]string{"statements:read"}, &h.after).Get("/statements?include=operations").WantError(apierr.CodeForbidden, "")
}
