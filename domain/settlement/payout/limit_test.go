package payout_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// amount asks for one amount to Ada on a statement.
func (h *house) amount(statement id.ID, cents int64) object {
	return object{"amounts": array{object{"statementId": statement, "contactId": h.ada, "centTotal": cents}}}
}

// wantShort wants the refusal of a payment of more than there is.
//
//nolint:revive // as many arguments as the refusal has figures
func wantShort(t *testing.T, r *apitest.Response, balance string, requested, available, collected, held int64) {
	t.Helper()
	r.WantError(apierr.CodeConflict, "")

	if r.String("context.reason") != "insufficientFunds" || r.String("context.balance") != balance || r.Int("context.requested") != requested ||
		r.Int("context.available") != available || r.Int("context.collected") != collected || r.Int("context.fundingBalance") != held {
		t.Errorf("the refusal is %s", r.Body)
	}
}

// without is the caller without a scope.
func (h *house) without(scope string) *apitest.Team {
	return h.As(slices.DeleteFunc(access.Scopes(), func(s string) bool { return s == scope }), nil)
}

// A provider pays to the cent what is available to the owners, and no cent more; the preview says so before.
func TestAProviderPaysWhatIsAvailable(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	cabin := h.Listing("Cabin", h.ada)
	h.Stay(h.villa, "2026-01-09", 50000) // other owners' money is on the same account
	statement := h.earn(cabin, "2026-01", 5000)

	ask := func(cents int64, more object) object {
		return with(with(with(body(h.today(), statement), object{"connectionId": c}), h.amount(statement, cents)), more)
	}
	for _, cents := range []int64{99999999, 5001} {
		wantShort(t, h.Post("/statements/pay", ask(cents, nil)), "owner", cents, 5000, 5000, 55000)

		r := h.preview(ask(cents, nil))
		if r.String("results.0.issues.0.code") != "insufficientFunds" || r.String("results.0.issues.0.severity") != "error" ||
			r.Int("results.0.issues.0.context.available") != 5000 || r.Int("results.0.issues.0.context.requested") != cents {
			t.Errorf("the preview is %s", r.Body)
		}
	}

	h.wantPayouts(statement, 0, 0)

	refused := h.without("payments:override").Post("/statements/pay", ask(5001, object{"allowOverdraft": true})).WantError(apierr.CodeForbidden, "")
	if refused.String("context.requiredScopes.0") != "payments:override" {
		t.Errorf("the refusal is %s", refused.Body)
	}

	if r := h.preview(ask(5001, object{"allowOverdraft": true})); r.String("results.0.issues.0.severity") != "warning" {
		t.Errorf("the preview is %s", r.Body)
	}

	if r := h.record(with(body(h.today(), statement), h.amount(statement, 6000))); r.String("results.0.issues.0.code") != "insufficientOwnerFunds" {
		t.Errorf("recorded: %s", r.Body) // what no provider pays is never refused
	}

	h.Delete("/transactions/" + h.Get("/statements/"+statement.String()).Want(200).String("payouts.0.id")).Want(204)
	h.Post("/statements/pay", ask(5000, nil)).Want(202)
}

// What is paid in one request is paid from the same funds, on one statement or on several.
func TestStatementsOfOneRequestShareTheFunds(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	cabin := h.Listing("Cabin", h.ada)
	h.Stay(h.villa, "2026-01-09", 50000)
	january, february := h.earn(cabin, "2026-01", 5000), h.earn(cabin, "2026-02", 3000)
	ask := func(first, second int64) object {
		return object{"statementIds": array{january, february}, "connectionId": c, "amounts": array{
			object{"statementId": january, "contactId": h.ada, "centTotal": first}, object{"statementId": february, "contactId": h.ada, "centTotal": second},
		}}
	}
	wantShort(t, h.Post("/statements/pay", ask(4001, 4000)), "owner", 8001, 8000, 8000, 58000)
	h.Post("/statements/pay", ask(4000, 4000)).Want(202)
}

// The funding account must hold what leaves it, whoever it is owed to; a cost paid from it is not there any more.
func TestTheFundingAccountHoldsWhatLeavesIt(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	cabin, barn := h.Listing("Cabin", h.ada), h.Listing("Barn", h.ben)
	one, other := h.earn(cabin, "2026-01", 5000), h.earn(barn, "2026-01", 4000)
	h.Expense(h.villa, "2026-02-01", 2000)
	short := h.Post("/statements/pay", object{"statementIds": array{one, other}, "connectionId": c})
	wantShort(t, short, "fundingAccount", 9000, 5000, 5000, 7000)

	if short.Len("issues") != 2 || short.String("issues.1.code") != "insufficientFunds" || short.String("issues.1.path.1") != "1" {
		t.Errorf("the statements that are too much together are not named: %s", short.Body)
	}

	h.wantPayouts(one, 0, 0)
	h.Post("/statements/pay", object{"statementIds": array{one}, "connectionId": c}).Want(202)
	wantShort(t, h.Post("/statements/pay", object{"statementIds": array{other}, "connectionId": c}), "fundingAccount", 4000, 4000, 4000, 2000)
	h.Post("/statements/pay", object{"statementIds": array{other}, "connectionId": c, "allowOverdraft": true}).Want(202)
}

// A payout that is dated later has taken its money today already.
func TestLaterPayoutsAreNotAvailableAgain(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	statement := h.earn(h.Listing("Cabin", h.ada), "2026-01", 5000)
	h.Stay(h.villa, "2026-01-09", 50000)
	last := day.Of(h.DB.Now()).AddDays(60)
	ahead := func(at day.Day) object {
		return with(with(body(at.String(), statement), object{"connectionId": c}), h.amount(statement, 3000))
	}
	h.Post("/statements/pay", ahead(last.AddDays(1))).WantError(apierr.CodeBadRequest, "").WantIssue("dateOutOfRange", "date")
	h.Post("/statements/pay", ahead(last)).Want(202)
	again := with(with(body(h.today(), statement), object{"connectionId": c}), h.amount(statement, 3000))
	wantShort(t, h.Post("/statements/pay", again), "owner", 3000, 2000, 2000, 52000)
	h.Post("/statements/pay", with(body("2026-02-05", statement), object{"connectionId": c})).WantError(apierr.CodeBadRequest, "").WantIssue("dateInPast", "date")
}

// The reserve is kept, but for the costs that it is there for: what a statement has made available stays so while the
// balance covers it.
func TestCostsComeOutOfTheReserveFirst(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	statement := h.earn(h.villa, "2026-01", 50000) // 20000 of them are the reserve
	ask := func(cents int64) object {
		return with(object{"statementIds": array{statement}, "connectionId": c}, h.amount(statement, cents))
	}
	wantShort(t, h.Post("/statements/pay", ask(30001)), "owner", 30001, 30000, 30000, 50000)
	h.Expense(h.villa, "2026-02-03", 15000)
	wantShort(t, h.Post("/statements/pay", ask(30001)), "owner", 30001, 30000, 30000, 35000)
	h.Expense(h.villa, "2026-02-04", 10000)
	wantShort(t, h.Post("/statements/pay", ask(25001)), "owner", 25001, 25000, 25000, 25000)
	h.Post("/statements/pay", ask(25000)).Want(202)
}

// A reserve that was given up, by a number or by none, is free.
func TestAReserveThatIsGivenUpIsFree(t *testing.T) {
	t.Parallel()

	for name, reserve := range map[string]any{"zero": 0, "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, c := newPayingHouse(t, nil)
			statement := h.earn(h.villa, "2026-01", 50000)
			ask := func(cents int64) object {
				return with(object{"statementIds": array{statement}, "connectionId": c}, h.amount(statement, cents))
			}
			wantShort(t, h.Post("/statements/pay", ask(30001)), "owner", 30001, 30000, 30000, 50000)
			h.Put("/listings/ownership-periods/"+h.villa.Period.String(), object{"reserve": reserve}).Want(202)
			h.Work()
			h.Post("/statements/pay", ask(50000)).Want(202)
		})
	}
}

// What a channel has not paid yet for a stay of a co-host is not collected, no more than what a guest owes.
func TestWhatAChannelOwesACoHostIsNotCollected(t *testing.T) {
	t.Parallel()

	for _, model := range []string{"co_host", "co_host_airbnb"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			h, _ := newPayingHouse(t, nil)
			cabin := h.Listing("Cabin", h.ada)
			h.Put("/listings/ownership-periods/"+cabin.Period.String(), object{"businessModel": model})
			h.Work()
			h.Post("/reservations", object{
				"listingId": cabin.ID, "checkIn": "2026-01-20", "checkOut": "2026-01-21", "bookedAt": "2026-01-01", "lines": array{object{"type": "rent", "amount": 4000}},
			}).Want(201)
			h.Publish("2026-01", cabin)

			r := h.Get("/statements/" + h.Statement(cabin, "2026-01").String()).Want(200)
			if r.Int("financials.available") != 4000 || r.Int("financials.collected") != 0 {
				t.Errorf("figures %s", r.String("financials"))
			}
		})
	}
}

// Whoever pays a statement and whoever pays a bill of the same listing hold what they need in one order, so that
// neither gets in the other's way: the one that came second waits for its turn before it holds anything else.
//
//nolint:paralleltest // It looks at all that waits in the database.
func TestPayingAStatementAndABillTakesTurns(t *testing.T) {
	h, c := newPayingHouse(t, nil)
	statement := h.earn(h.villa, "2026-01", 50000)
	vendor := h.Contact("vendor", "Fix-It")
	h.method(vendor)
	bill := h.Post("/transactions", object{"type": "expense", "date": "2026-02-01", "contactId": vendor, "lines": array{
		object{"accountId": h.Account("5200"), "amount": 700, "listingId": h.villa.ID},
	}}).Want(201).ID("id")

	var group sync.WaitGroup

	pay := func(path string, o object) {
		group.Go(func() { h.Post(path, o).Want(202) })
	}

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `select from listing_ownership_period where team_id = @team for update`, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		pay("/statements/pay", object{"statementIds": array{statement}, "connectionId": c})

		if err := apitest.UntilWaiting(ctx, tx, 1); err != nil {
			return err
		}

		pay("/transactions/"+bill.String()+"/pay", object{"connectionId": c})

		if err := apitest.UntilWaiting(ctx, tx, 2); err != nil {
			return err
		}

		turns, err := db.Get[int64](ctx, tx, `
			select count(*) from pg_locks where locktype = 'advisory' and not granted
				and database = (select oid from pg_database where datname = current_database())`, nil)
		if turns != 1 {
			t.Errorf("%d wait for their turn", turns)
		}

		return err
	})
	group.Wait()
}

// Of requests that come at once and need more than there is, one is made: none goes on before all of them
// have come as far as they can while no payment can be written.
//
//nolint:paralleltest // It holds a table that the other tests write.
func TestTwoRequestsDoNotSpendTheSame(t *testing.T) {
	h, c := newPayingHouse(t, nil)

	var statements []id.ID
	for i := range 8 {
		statements = append(statements, h.earn(h.Listing("Cabin "+string(rune('A'+i)), h.ada), "2026-01", 1000))
	}

	h.Expense(h.villa, "2026-02-01", 7000) // 1000 are left for eight owners

	statuses := make([]int, len(statements))

	var group sync.WaitGroup

	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `lock table payment_batch in exclusive mode`, nil); err != nil {
			return err
		}

		for i, v := range statements {
			group.Go(func() {
				statuses[i] = h.Post("/statements/pay", object{"statementIds": array{v}, "connectionId": c}).Status
			})
		}

		return apitest.UntilWaiting(ctx, tx, int64(len(statements)))
	})
	group.Wait()

	made := 0

	for _, s := range statuses {
		if s == http.StatusAccepted {
			made++
		} else if s != http.StatusConflict {
			t.Errorf("a request answered %d", s)
		}
	}

	if made != 1 {
		t.Errorf("%d of %v were made", made, statuses)
	}
}

// Suggestions are of what guests have paid, unless the team goes by the books; both figures are shown.
func TestSuggestionsAreOfWhatWasCollected(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	cabin := h.Listing("Cabin", h.ada)
	h.Stay(cabin, "2026-01-09", 5000)
	h.Stay(h.villa, "2026-01-09", 90000)
	unpaid := h.Post("/reservations", object{
		"listingId": cabin.ID, "checkIn": "2026-01-20", "checkOut": "2026-01-21", "bookedAt": "2026-01-01", "lines": array{object{"type": "rent", "amount": 4000}},
	}).Want(201).ID("id")
	h.Publish("2026-01", cabin)
	statement := h.Statement(cabin, "2026-01")
	figures := func(available, collected int64) {
		t.Helper()

		r := h.Get("/statements/" + statement.String()).Want(200)
		if r.Int("financials.available") != available || r.Int("financials.collectedToday") != collected || r.Int("financials.collected") != 5000 {
			t.Errorf("figures %v", r.Value("financials"))
		}
	}
	figures(9000, 5000)

	o := with(body(h.today(), statement), object{"connectionId": c})
	wantEntry(t, h.preview(o), "results.0", "previewed: The payouts can be made", 5000)
	h.Put("/team", object{"payoutBasis": "books"}).Want(200)
	r := h.preview(o)
	wantEntry(t, r, "results.0", "previewed: The payouts can be made", 9000)

	if r.String("results.0.issues.0.code") != "uncollectedFunds" || r.String("results.0.issues.0.severity") != "warning" || r.Int("results.0.issues.0.context.collected") != 5000 {
		t.Errorf("the preview is %s", r.Body)
	}

	if got := h.Put("/team", object{"payoutBasis": "collected"}).Want(200); got.String("payoutBasis") != "collected" {
		t.Errorf("the team is %s", got.Body)
	}

	h.Post("/statements/pay", o).Want(202)
	wantEntry(t, h.preview(o), "results.0", "skipped: Guests still owe what is available")
	h.Post("/transactions", object{
		"type": "deposit", "date": "2026-02-09", "lines": array{object{"assignment": "accountsReceivable", "amount": 2500, "reservationId": unpaid}},
	}).Want(201)
	figures(9000, 7500)
	wantEntry(t, h.preview(o), "results.0", "previewed: The payouts can be made", 2500)
}

// Whoever decides sees what will leave: what was taken back meanwhile does not count.
func TestAnApprovalTellsWhatIsLeftOfIt(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	statement := h.earn(h.villa, "2026-01", 30000) // 10000 are available: 6000 of them Ada's, 4000 Ben's
	h.Put("/payment-limits", object{"approvalFrom": 1000}).Want(200)
	h.Post("/statements/pay", object{"statementIds": array{statement}, "connectionId": c}).Want(202)

	want := func(status string, amount, count int64) {
		t.Helper()

		if a := h.Get("/approvals").Want(200); a.String("data.0.status") != status || a.Int("data.0.amount") != amount || a.Int("data.0.paymentCount") != count {
			t.Errorf("the approval is %s", a.Body)
		}
	}
	want("pending", 10000, 2)

	payouts := h.Get("/transactions?type=payout&sort=amount").Want(200)
	h.Delete("/transactions/" + payouts.String("data.0.id") + "?onLocked=archive").Want(204)
	want("pending", 6000, 1)
	h.Delete("/transactions/" + payouts.String("data.1.id") + "?onLocked=archive").Want(204)
	want("canceled", 10000, 2)
}

// A payout that waits for a second person is booked and reads as unpaid; it is not paid again meanwhile. Rejected, the
// statement can be paid anew.
func TestPayoutsThatWaitAreUnpaid(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	h.Stay(h.Listing("Cabin", h.ada), "2026-01-09", 50000)
	statement := h.earn(h.villa, "2026-01", 30000) // 10000 are available: 6000 of them Ada's
	h.Put("/payment-limits", object{"approvalFrom": 5000}).Want(200)

	o := object{"statementIds": array{statement}, "connectionId": c}
	op := h.Post("/statements/pay", o).Want(202).String("operationId")
	h.Work()

	result := func() *apitest.Response { return h.Get("/operations/" + op + "/result").Want(200) }
	wantEntry(t, result(), "results.0", "requested: A payment waits for approval", 6000, 4000)

	paid := func(status string, received int64) {
		t.Helper()

		r := h.Get("/statements/" + statement.String()).Want(200)
		if r.String("payment.status") != status || r.Int("payment.received") != received {
			t.Errorf("the statement is %v, %v", r.Value("payment"), r.Value("payouts"))
		}
	}
	paid("underpaid", 4000)
	h.Post("/statements/pay", o).WantError(apierr.CodeConflict, apierr.ReasonPaymentAttempted)
	approval := h.Get("/approvals?status=pending").Want(200).String("data.0.id")
	second := h.As(access.Scopes(), nil)
	second.Post("/approvals/"+approval+"/reject", object{"reason": "Later"}).Want(200)
	wantEntry(t, result(), "results.0", "failed: A payment was rejected", 6000, 4000)
	paid("underpaid", 4000)

	op = h.Post("/statements/pay", o).Want(202).String("operationId")
	second.Post("/approvals/"+h.Get("/approvals?status=pending").Want(200).String("data.0.id")+"/approve", nil).Want(200)
	h.Work()
	wantEntry(t, result(), "results.0", "requested: The payment was requested", 6000)
	paid("paid", 10000)
}
