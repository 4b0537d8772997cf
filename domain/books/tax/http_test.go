package tax_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/tax"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = map[string]any

func newTeam(t *testing.T) *apitest.Team {
	t.Helper()
	return apitest.New(t, apitest.Config{Endpoints: parts.Join(tax.Part(), fee.Part(), transaction.Part()).Endpoints})
}

// Proves: DRY-46.
func TestTaxRateLife(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	r := x.Post("/tax-rates", object{"name": "Lodging tax", "basisPoints": 12000, "uniqueRef": "lodging"}).Want(201)
	x.Post("/tax-rates?dryRun=true", object{"name": "Dry", "basisPoints": 0}).Want(201)

	if got := x.Get("/tax-rates").Int("pagination.total"); got != 1 {
		t.Errorf("%d tax rates", got)
	}

	path := "/tax-rates/" + r.String("id")

	changed := x.Put(path, object{"basisPoints": 7250, "uniqueRef": nil}).Want(200)
	if changed.Int("basisPoints") != 7250 || changed.String("name") != "Lodging tax" || changed.String("uniqueRef") != "null" || changed.String("status") != "active" {
		t.Errorf("got %s", changed.Body)
	}

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		found, err := tax.ByID(ctx, tx, []id.ID{r.ID("id"), id.New(tx.Now)})
		if len(found) != 1 || found[r.ID("id")].BasisPoints != money.Rate(7250) {
			t.Errorf("found %v", found)
		}

		return err
	})
	x.Delete(path).Want(204)
	x.Get(path).WantError(apierr.CodeNotFound, "")
}

func TestTaxRateRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Post("/tax-rates", object{"name": "A", "basisPoints": 1, "uniqueRef": "a"}).Want(201)
	b := x.Post("/tax-rates", object{"name": "B", "basisPoints": 1}).Want(201).String("id")
	x.Post("/tax-rates", object{"name": "A", "basisPoints": 1}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	x.Put("/tax-rates/"+b, object{"uniqueRef": "a"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	x.Post("/tax-rates", object{"name": "C", "basisPoints": 100001}).WantError(apierr.CodeBadRequest, "").WantIssue("range", "basisPoints")
	x.Post("/tax-rates", object{"name": "C", "basisPoints": -1}).WantError(apierr.CodeBadRequest, "").WantIssue("range", "basisPoints")
	x.Post("/tax-rates", object{"name": "C", "basisPoints": 7.25}).WantError(apierr.CodeBadRequest, "").WantIssue("integer", "basisPoints")
}

// Proves: ERR-72, ERR-73, ERR-74, RSN-24.
func TestTaxRateInUse(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	rate := x.Post("/tax-rates", object{"name": "Sales tax", "basisPoints": 15000}).Want(201).ID("id")
	useInTransaction(x, rate)
	path := "/tax-rates/" + rate.String()

	r := x.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	if r.String("context.lockReasons") != `["transactions"]` || r.String("context.suggestedOnLocked") != "archive" {
		t.Errorf("got %s", r.Body)
	}

	x.Delete(path + "?onLocked=archive").Want(204)

	if got := x.Get(path).Want(200).String("status"); got != "inactive" {
		t.Errorf("the status is %s", got)
	}
}

// useInTransaction adds an expense taxed at a rate, which is a later package's to do.
func useInTransaction(x *apitest.Team, rate id.ID) {
	category, account, transaction := id.New(x.DB.Now()), id.New(x.DB.Now()), id.New(x.DB.Now())
	x.Exec(`insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, 'C', 'asset', 1, now())`,
		db.Args{"id": category})
	x.Exec(`insert into account (team_id, id, name, type, category_id, created_at, updated_at) values (@team, @id, 'A', 'ledger', @category, now(), now())`,
		db.Args{"id": account, "category": category})
	x.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
		values (@team, @id, 'ref', 'expense', '2026-01-01', 'usd', @account, 115, now(), now())`, db.Args{"id": transaction, "account": account})
	x.Exec(`insert into transaction_line (team_id, id, transaction_id, position, account_id, amount, tax_rate_id, tax_behavior, tax_amount, total)
		values (@team, @id, @transaction, 1, @account, 100, @rate, 'excluded', 15, 115)`,
		db.Args{"id": id.New(x.DB.Now()), "transaction": transaction, "account": account, "rate": rate})
}

// Proves: PAG-31.
func TestOtherTeamsTaxRatesAreUnknown(t *testing.T) {
	t.Parallel()
	x, y := newTeam(t), newTeam(t)
	one := x.Post("/tax-rates", object{"name": "Sales tax", "basisPoints": 15000}).Want(201).String("id")
	y.Get("/tax-rates/"+one).WantError(apierr.CodeNotFound, "")
	y.Put("/tax-rates/"+one, object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	y.Delete("/tax-rates/"+one).WantError(apierr.CodeNotFound, "")

	if got := y.Get("/tax-rates?ids=" + one).Int("pagination.total"); got != 0 {
		t.Error("another team's tax rate is listed")
	}
}

func TestTaxRateLists(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for name, rate := range map[string]int{"b": 3, "A": 2, "C": 1} {
		x.Post("/tax-rates", object{"name": name, "basisPoints": rate}).Want(201)
	}

	for query, want := range map[string][]string{
		"": {"A", "b", "C"}, "?sort=-name": {"C", "b", "A"}, "?sort=basisPoints": {"C", "A", "b"}, "?search=B": {"b"}, "?status=inactive": {},
	} {
		r := x.Get("/tax-rates" + query).Want(200)

		got := []string{}
		for i := range r.Len("data") {
			got = append(got, r.String(fmt.Sprintf("data.%d.name", i)))
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}
