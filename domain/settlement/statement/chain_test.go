package statement_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Every statement starts with what the one before it ended with, whatever the months hold.
func TestStatementsChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.Int64Range(-1_000_000, 1_000_000)
		month := day.Month{Year: 2026, Month: time.January}

		var months []statement.MonthSum

		for i := range rapid.IntRange(1, 24).Draw(t, "months") {
			m := statement.MonthSum{
				Month: month.First(), NetRevenue: money.Cents(cents.Draw(t, "revenue")), Expenses: money.Cents(cents.Draw(t, "expenses")),
				Payouts: money.Cents(cents.Draw(t, "payouts")),
			}
			if i == 0 {
				m.Opening = money.Cents(cents.Draw(t, "opening"))
			}

			months = append(months, m)
			month = month.Next()
		}

		figures := statement.Chained(months)
		for i := 1; i < len(figures); i++ {
			if figures[i].BalanceStart != figures[i-1].BalanceEnd {
				t.Fatalf("month %d starts with %d, the one before ended with %d", i, figures[i].BalanceStart, figures[i-1].BalanceEnd)
			}
		}
	})
}

// The chain holds over drafts and saved statements in two currencies, and ends with the balance that the books have.
func TestStatementsChainInTheBooks(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	random := rand.New(rand.NewPCG(7, 11))
	balance := map[string]int64{}

	for range 60 {
		at := fmt.Sprintf("2026-%02d-%02d", random.IntN(8)+1, random.IntN(28)+1)
		cents, account := money.Cents(random.IntN(20000)-5000), []string{"4000", "5200", "2400", "4010"}[random.IntN(4)]
		currency := []string{"usd", "usd", "eur"}[random.IntN(3)]

		if cents == 0 {
			continue
		}

		e := event{at: at, currency: currency}
		if account == "5200" {
			e.transaction = b.transaction("expense", at, account, cents, id.Zero)
			e.source, e.trigger = e.transaction, ledger.TriggerExpense
		}

		b.post(e, side{account: "2000", cents: cents}, side{account: account, cents: -cents, o: true})
		balance[currency] += int64(cents)
	}

	chain := func() {
		t.Helper()

		for _, currency := range []string{"usd", "eur"} {
			list := b.Get("/statements?sort=startAt&currency=" + currency).Want(200)
			end := int64(0)

			for i := range list.Len("data") {
				at := fmt.Sprintf("data.%d.financials.", i)
				if start := list.Int(at + "balanceStart"); start != end {
					t.Fatalf("%s: statement %d starts with %d, the one before ended with %d", currency, i, start, end)
				}

				end = list.Int(at + "balanceEnd")
			}

			if end != balance[currency] {
				t.Errorf("%s ends with %d, the books with %d", currency, end, balance[currency])
			}
		}
	}
	chain()

	for month := 1; month <= 5; month++ {
		b.Post("/statements", map[string]any{"month": fmt.Sprintf("2026-%02d", month), "status": "published"}).Want(http.StatusCreated)
		chain()
	}
}

// Two requests over one ownership period take turns: of a reopened January and a published February only one can be
// had.
func TestConcurrentChangesTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.income("2026-01-05", 100)
	b.income("2026-02-05", 100)
	january, february := b.save("2026-01", "published"), b.at("2026-02")

	const once = "?dryRun=false" // without the dry run before, which would see the other request's work

	for range 10 {
		var (
			first, second *apitest.Response
			both          sync.WaitGroup
		)
		both.Go(func() { first = b.Put("/statements/"+january+once, map[string]any{"status": "inReview"}) })
		both.Go(func() { second = b.Put("/statements/"+february+once, map[string]any{"status": "published"}) })
		both.Wait()

		switch {
		case first.Status == http.StatusOK && second.Status == http.StatusConflict:
			second.WantError(apierr.CodeConflict, apierr.ReasonPreviousStatementsOpen)
			b.Put("/statements/"+january, map[string]any{"status": "published"}).Want(200)
		case second.Status == http.StatusOK && first.Status == http.StatusConflict:
			first.WantError(apierr.CodeConflict, apierr.ReasonStatementFutureExists)
			b.Put("/statements/"+february, map[string]any{"status": "draft"}).Want(200)
		default:
			t.Fatalf("reopened: %s; published: %s", first.Body, second.Body)
		}
	}

	answers := make([]*apitest.Response, 2)

	var both sync.WaitGroup
	for i := range answers {
		both.Go(func() {
			answers[i] = b.Post("/statements"+once, map[string]any{"month": "2026-02", "status": "published"})
		})
	}

	both.Wait()

	if answers[0].Status+answers[1].Status != http.StatusCreated+http.StatusConflict {
		t.Errorf("one statement was saved by %d and %d", answers[0].Status, answers[1].Status)
	}
}

func TestPaymentStatus(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		expected, received money.Cents
		want               statement.PaymentStatus
	}{
		{100, 0, statement.Unpaid},
		{100, 40, statement.Underpaid},
		{100, 100, statement.Paid},
		{100, 101, statement.Overpaid},
		{0, 0, statement.Paid},
		{0, 5, statement.Overpaid},
		{-100, 0, statement.Unpaid},
		{-100, -40, statement.Underpaid},
		{-100, -100, statement.Paid},
		{-100, -120, statement.Overpaid},
		{100, -5, statement.Underpaid},
	} {
		if got := statement.StatusOf(c.expected, c.received, c.expected-c.received); got != c.want {
			t.Errorf("%d of %d is %s, want %s", c.received, c.expected, got, c.want)
		}
	}
}
