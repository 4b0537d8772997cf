package trust_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/trust"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// booked are the tables that reports are read from, in the order in which rows can be copied; sums are kept by the
// ledger's triggers.
var booked = []string{
	"account_category", "account", "account_assignment", "reservation_line_mapping", "contact", "listing", "listing_ownership_period",
	"listing_ownership_member", "reservation", "transaction", "bank_record", "bank_reconciliation", "statement", "ledger_entry",
}

// twin is a team with the same books, down to the ids: whatever forgets the team reads twice as much.
func (b *trustBooks) twin(t *testing.T) id.ID {
	t.Helper()
	other := apitest.New(t, apitest.Config{}).ID

	b.System(func(ctx context.Context, tx *db.Tx) error {
		for _, table := range booked {
			columns, err := db.Select[string](ctx, tx, `select quote_ident(column_name) from information_schema.columns
				where table_schema = current_schema() and table_name = @table and column_name <> 'team_id' and is_generated = 'NEVER'`, db.Args{"table": table})
			if err != nil {
				return err
			}

			names := strings.Join(columns, ", ")
			if _, err := tx.Exec(ctx, "insert into "+table+" (team_id, "+names+") select @twin, "+names+" from "+table+" where team_id = @team",
				db.Args{"team": b.ID, "twin": other}); err != nil {
				return err
			}
		}

		return nil
	})

	return other
}

// managing serves the reports to a caller with transactions that see a further team too, as a partner's do.
func (b *trustBooks) managing(team id.ID) *api.Server {
	scope := b.Scope()
	scope.Managed = []id.ID{team}

	return api.NewServer(api.Config{
		DB: b.DB, Log: slog.New(slog.DiscardHandler), CursorKey: []byte("test cursor key"), PublicURL: "http://127.0.0.1", Title: "test",
		Authenticate: func(context.Context, *http.Request, *api.Endpoint) (db.Scope, error) { return scope, nil },
		Audit:        func(*db.Tx, *api.Endpoint) {},
	}, slices.Concat(trust.Part().Endpoints, report.Part(nil).Endpoints))
}

// Where row-level security lets a second team through, the statements themselves keep to the one that was asked.
func TestReportsAreOfOneTeam(t *testing.T) {
	t.Parallel()
	j := newJanuary(t)
	j.recorded("2026-01-06", 62502, j.deposits[0])
	j.recorded("2026-01-31", 77)
	j.stated("2026-01-01", 5)
	bill := j.transacted("expense", "2026-01-30", false)
	j.book(bill, true, "2026-01-30", dr("5200", 99).manager(j.villa), cr("1000", 99))
	unexplained := j.transacted("deposit", "2026-01-09", false)
	j.book(unexplained, true, "2026-01-09", dr("1000", 31), cr("2000", 31))
	j.Exec(`insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
			expenses, payouts, balance_end, reserve, created_at, updated_at)
		values (@team, @period, 's', @period, @listing, 'published', 'usd', '2026-01-01', '2026-01-31', 0, 0, 0, 0, 0, 0, now(), now())`,
		db.Args{"period": j.period, "listing": j.villa})
	j.Exec(`update team set books_closed_at = '2026-01-10' where team_id = @team`, nil)
	stay, listing := j.stay.String(), j.villa.String()
	category := j.Get("/reports/profit-and-loss?startDate=2026&endDate=2026").String("netIncome.groups.0.categories.0.id")
	rent := j.Accounts["4000"].String() + "," + j.mapping("cleaningFee").String()

	paths := []string{
		"/reports/trial-balance?startDate=2026-01-10&endDate=2026-01-31", "/reports/balance-sheet?date=2026-01-31&view=ledger",
		"/reports/balance-sheet?date=2026-01-30&view=listing", "/reports/profit-and-loss?startDate=2026-01&endDate=2026-03&view=month",
		"/reports/profit-and-loss?startDate=2026-01-03&endDate=2026-03-03&view=listing&listingIds=null," + listing,
		"/reports/guest-balances?date=2026-01-30", "/reports/guest-balances?date=2026-02-28&includeSettled=true&search=guest&channels=direct",
		"/reports/sales-tax-liability?startDate=2026&endDate=2026&taxableLineIds=" + rent,
		"/reports/sales-tax-liability?startDate=2026&endDate=2026&channels=direct&listingIds=" + listing + "&taxableLineIds=" + rent,
		"/reports/manager-statements?year=2026", "/reports/manager-statements/detail?startAt=2026-01&endAt=2026-01",
		"/reports/trust-reconciliation?date=2026-01-31", "/reports/trust-reconciliation/by-listing?date=2026-01-31",
		"/reports/journal-entries?sort=account", "/reports/journal-entries?limit=3&page=2", "/reports/journal-entries?locked=true", "/reports/journal-entries?locked=false",
	}
	for _, filter := range []string{
		"categoryIds=" + category, "notCategoryIds=" + category, "accountClassifications=revenue", "balanceSheetRows=owners,liabilities", "channels=direct",
		"notChannels=airbnb", "transactionTypes=deposit", "notTransactionTypes=deposit", "businessModels=managed", "reservationIds=" + stay,
		"endDate=2026-01-31&occupancyStatus=inHouse", "endDate=2026-01-31&occupancyStatus=cancelled",
	} {
		paths = append(paths, "/reports/journal-entries?"+filter)
	}

	foreign := []id.ID{j.newID(), j.newID()}

	alone := map[string]string{}
	for _, path := range paths {
		alone[path] = string(j.Get(path).Want(200).Body)
	}

	twin := j.twin(t)
	both := j.managing(twin)
	j.System(func(ctx context.Context, tx *db.Tx) error {
		return tx.Pipeline(
			ctx,
			db.Stmt{SQL: `delete from account_assignment where team_id = @team and account_id = @own`, Args: db.Args{"team": twin, "own": j.Accounts["1110"]}},
			db.Stmt{SQL: `update account set id = @other where team_id = @team and id = @own`, Args: db.Args{"team": twin, "own": j.Accounts["1110"], "other": foreign[0]}},
			db.Stmt{SQL: `update reservation_line_mapping set id = @other where team_id = @team and id = @own`, Args: db.Args{"team": twin, "own": j.mapping("tax"), "other": foreign[1]}},
		)
	})

	for _, other := range foreign {
		w := httptest.NewRecorder()
		path := "/reports/sales-tax-liability?startDate=2026&endDate=2026&taxableLineIds=" + other.String()
		both.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))

		if w.Code != http.StatusBadRequest {
			t.Errorf("another team's account is taxed: %s", w.Body)
		}
	}

	for _, path := range paths {
		w := httptest.NewRecorder()
		both.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))

		if got := w.Body.String(); got != alone[path] {
			t.Errorf("%s beside another team\ngot  %s\nwant %s", path, got, alone[path])
		}
	}
}
