package account_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
)

func mappings(x *apitest.Team) []string {
	var out []string

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		out, err = db.Select[string](ctx, tx, `select m.line_type || ' ' || a.code || ' ' || coalesce(m.party, '-')
			from reservation_line_mapping m join account a on a.team_id = m.team_id and a.id = m.account_id
			where m.team_id = @team order by 1`, db.Args{"team": tx.Team})

		return err
	})

	return out
}

func TestStandardChart(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	golden.List(t, "accounts of the standard chart", slices.Sorted(maps.Keys(codes)), strings.Fields(`1000 1010 1100 1110 1120
		2000 2010 2100 2110 2200 2300 2400 2500 2900 4000 4010 4020 4030 4090 4100 4110 4120 4190 5000 5010 5100 5110 5120 5200 5290`))

	want := []string{
		"cancellation 4090 owners", "cleaningFee 4010 owners", "damage 4030 owners", "discount 4000 owners", "guestFee 4020 owners",
		"other 4020 owners", "rent 4000 owners", "resolution 4020 owners", "retainedDeposit 2300 -", "retainedTax 2100 -", "securityDeposit 2300 -", "tax 2100 -",
	}
	golden.List(t, "line mappings", mappings(x), want)
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		have, err := account.LoadAssigned(ctx, tx)
		if err != nil {
			return err
		}

		want := map[account.Assignment]string{
			account.PayoutBankAccount: "1000", account.AccountsReceivable: "2000", account.DeferredRevenue: "2010", account.AccountsPayable: "2200",
			account.PayoutDistribution: "2400", account.DueToFromTrust: "2500", account.OpeningBalance: "2900", account.CancellationRevenue: "4090",
			account.ExpenseMarkup: "4190", account.DepositChannelFee: "5000", account.DepositMerchantFee: "5010",
			account.ExpenseReimbursement: "5290", account.ExpenseSalesTax: "2110", account.DepositReserve: "1100",
			account.DepositCoHostPayout: "1110", account.DepositVAT: "1120",
		}
		for part, code := range want {
			if have[part] != codes[code] {
				t.Errorf("%s is not played by %s", part, code)
			}
		}

		golden.List(t, "assignments", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)))

		found, err := account.ByID(ctx, tx, []id.ID{codes["1000"], codes["2000"], id.New(tx.Now)})
		if err != nil {
			return err
		}

		bank, deposits := found[codes["1000"]], found[codes["2000"]]
		if len(found) != 2 || bank.Type != account.TypeBank || bank.Banking.Category != account.Trust || bank.Banking.Currency != "usd" ||
			bank.Classification != account.Asset || deposits.Classification != account.Liability || deposits.Banking != nil {
			t.Errorf("got %+v", found)
		}

		return nil
	})

	if got := x.Get("/accounts?classification=liability").Want(200).Int("pagination.total"); got != 9 {
		t.Errorf("%d liabilities", got)
	}
}

func TestStandardChartTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	x, _ := standard(t)
	before := x.Fingerprint()
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)

	if after := x.Fingerprint(); after != before {
		t.Errorf("changed:\n%s\n%s", before, after)
	}
}

func TestStandardChartKeepsWhatTheTeamChanged(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	own := category(x, "Own", "revenue")
	x.Post("/accounts", object{"name": "Rent", "type": "ledger", "categoryId": own}).Want(201)
	x.Post("/accounts", object{"name": "Lost stays", "code": "777", "type": "ledger", "categoryId": own, "assignments": []string{"cancellationRevenue"}}).
		Want(201)
	x.Post("/accounts", object{"name": "Washing", "code": "4010", "type": "ledger", "categoryId": own}).Want(201)
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)

	r := x.Get("/accounts?search=4010").Want(200)
	if r.Len("data") != 1 || r.String("data.0.name") != "Washing" {
		t.Errorf("4010 is %s", r.Body)
	}

	if r := x.Get("/accounts?assignment=cancellationRevenue").Want(200); r.String("data.0.code") != "777" {
		t.Errorf("cancellation revenue is %s", r.Body)
	}

	if r := x.Get("/accounts?search=Rent").Want(200); r.Len("data") != 1 || r.String("data.0.code") != "null" {
		t.Errorf("the account Rent is %s", r.Body)
	}

	codes := byCode(x)
	if !codes["4000"].IsZero() || !codes["4090"].IsZero() {
		t.Error("a place in the chart was filled twice")
	}

	before := x.Fingerprint()
	x.Tx(account.InstallStandard)
	x.Tx(mapping.InstallStandard)

	if after := x.Fingerprint(); after != before {
		t.Errorf("the second run changed:\n%s\n%s", before, after)
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()

	have := map[account.Assignment]id.ID{account.AccountsPayable: {1}}
	if err := account.Require(have, account.AccountsPayable); err != nil {
		t.Error(err)
	}

	err := account.Require(have, account.PayoutDistribution, account.AccountsPayable, account.DueToFromTrust, account.PayoutDistribution)

	var refused *apierr.Error
	if !errors.As(err, &refused) || refused.Reason() != apierr.ReasonRequiredAccountMissing || refused.Code() != apierr.CodeBadRequest {
		t.Fatalf("got %v", err)
	}

	missing, _ := refused.Context().(account.Missing)
	if !slices.Equal(missing.Assignments, []account.Assignment{account.PayoutDistribution, account.DueToFromTrust}) {
		t.Errorf("missing %v", missing)
	}
}
