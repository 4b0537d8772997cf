package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/provider/pay"
)

// users are people and programs that work while things fail. Work that was confirmed to them is kept here, to be looked
// for in the end; unconfirmed work they ask for again under the same key, as callers should.
type users struct {
	*client
	owner    string
	listing  string // where stays are booked
	calm     string // where nothing is booked, but statements come and go
	period   string // ownership period of calm
	fee      string
	feeBody  map[string]any
	calmRent int64

	mu       sync.Mutex
	rents    map[string]int64 // of acknowledged stays by their own reference
	deposits map[string]int64
	exports  []string // operations
	retries  map[string]int
	rate     int64 // of the fee, as acknowledged last
	problems []string
}

// newUsers prepares what they work on.
func newUsers(c *client) *users {
	u := &users{client: c, rents: map[string]int64{}, deposits: map[string]int64{}, retries: map[string]int{}, rate: 20_000}
	u.owner = c.post("/contacts", map[string]any{"type": "owner", "name": "Otto Owner"}).want(201).text("id")
	house := func(name string) *answer {
		return c.post("/listings", map[string]any{"name": name, "initialOwnership": map[string]any{
			"members": []any{map[string]any{"contactId": u.owner, "split": 100000}},
		}}).want(201)
	}
	u.listing = house("Busy House").text("id")
	still := house("Calm House")
	u.calm, u.period = still.text("id"), still.text("activeOwnership.id")

	accounts := map[string]string{}
	for _, a := range c.get("/accounts?limit=250").want(200).list("data") {
		accounts[fmt.Sprint(a["code"])] = fmt.Sprint(a["id"])
	}

	u.feeBody = map[string]any{
		"name": "Commission", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": u.rate,
		"debitParty": "owners", "creditParty": "manager", "debitAccountId": accounts["5100"], "creditAccountId": accounts["4100"],
		"listingSubscriptions": []any{map[string]any{"listingId": u.calm}},
	}

	u.fee = c.post("/recurring-fees", u.feeBody).want(201).text("id")
	for i := range 12 {
		c.post("/reservations", map[string]any{
			"listingId": u.calm, "checkIn": fmt.Sprintf("2026-02-%02d", i+1), "checkOut": fmt.Sprintf("2026-02-%02d", i+2), "bookedAt": "2026-01-02",
			"lines": []any{map[string]any{"type": "rent", "amount": 10_000}},
		}).want(201)
		u.calmRent += 10_000
	}

	return u
}

// start lets them work until stop closes; pay is called for statements to be paid.
func (u *users) start(working *sync.WaitGroup, stop <-chan struct{}, pay func(u *users)) {
	again := func(pause time.Duration, do func(n int)) {
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(pause):
					do(n)
				}
			}
		})
	}
	for who := range 3 {
		again(50*time.Millisecond, func(n int) { u.book(fmt.Sprintf("stay-%d-%d", who, n), int64(1_000+n)) })
	}

	again(2500*time.Millisecond, func(int) { pay(u) })
	again(2*time.Second, func(n int) { u.export(fmt.Sprintf("export-%d", n)) })
	again(1500*time.Millisecond, func(n int) { u.statements(n) })
	again(700*time.Millisecond, func(int) { u.read() })
}

// request sends a request once. An answer that did not arrive is an error.
func (u *users) request(method, path, key string, body any) (status int, answered []byte, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}

	ctx, stop := context.WithTimeout(context.Background(), 70*time.Second)
	defer stop()

	r, err := http.NewRequestWithContext(ctx, method, u.base+path, bytes.NewReader(encoded))
	if err != nil {
		return 0, nil, err
	}

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", u.key)

	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}

	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}

	defer func() { _ = resp.Body.Close() }()

	answered, err = io.ReadAll(resp.Body)

	return resp.StatusCode, answered, err
}

// insist sends a request under its key until it is answered by something else than a fault, and gives that answer.
func (u *users) insist(method, path, key string, body any) (status int, answered []byte) {
	for {
		status, answered, err := u.request(method, path, key, body)
		if err == nil && status < 500 && status != http.StatusTooManyRequests {
			return status, answered
		}

		cause := strconv.Itoa(status)
		if err != nil {
			cause = "no answer"
		}

		u.mu.Lock()
		u.retries[cause]++
		u.mu.Unlock()
		time.Sleep(200 * time.Millisecond)
	}
}

func (u *users) problem(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()

	u.problems = append(u.problems, fmt.Sprintf(format, args...))
}

// book books a stay and the money for it.
func (u *users) book(ref string, cents int64) {
	status, answered := u.insist("POST", "/reservations", ref, map[string]any{
		"listingId": u.listing, "uniqueRef": ref, "checkIn": "2026-03-05", "checkOut": "2026-03-06", "bookedAt": "2026-01-02",
		"lines": []any{map[string]any{"type": "rent", "amount": cents}},
	})

	var stay struct{ ID string }
	if err := json.Unmarshal(answered, &stay); status != http.StatusCreated || err != nil {
		u.problem("stay %s: %d %s", ref, status, answered)
		return
	}

	u.mu.Lock()
	u.rents[ref] = cents
	u.mu.Unlock()

	status, answered = u.insist("POST", "/transactions", ref+"-money", map[string]any{
		"type": "deposit", "uniqueRef": ref + "-money", "date": "2026-03-05", "description": "Card payment",
		"lines": []any{map[string]any{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay.ID}},
	})
	if status != http.StatusCreated {
		u.problem("deposit %s: %d %s", ref, status, answered)
		return
	}

	u.mu.Lock()
	u.deposits[ref] = cents
	u.mu.Unlock()
}

func (u *users) export(key string) {
	status, answered := u.insist("POST", "/reservations/csv", key, map[string]any{})

	var queued struct{ OperationID string }
	if err := json.Unmarshal(answered, &queued); status != http.StatusAccepted || err != nil {
		u.problem("%s: %d %s", key, status, answered)
		return
	}

	u.mu.Lock()
	u.exports = append(u.exports, queued.OperationID)
	u.mu.Unlock()
}

// statements publishes the month of the calm house, changes its fee, or takes the month back. Refusals are part of it:
// a journal can be under way.
func (u *users) statements(n int) {
	switch n % 3 {
	case 0:
		_, _ = u.insist("POST", "/statements", "", map[string]any{"month": "2026-02", "status": "published", "listingPeriodIds": []any{u.period}})
	case 1:
		rate := int64(10_000 + 1_000*(n%10))
		if status, answered := u.insist("PUT", "/recurring-fees/"+u.fee, "", map[string]any{"defaultRate": rate}); status == http.StatusOK {
			u.mu.Lock()
			u.rate = rate
			u.mu.Unlock()
		} else if status != http.StatusConflict && status != http.StatusForbidden {
			u.problem("fee: %d %s", status, answered)
		}
	default:
		u.draft()
	}
}

// draft takes the month of the calm house back.
func (u *users) draft() {
	status, answered := u.insist("GET", "/statements?month=2026-02&periodIds="+u.period, "", nil)

	var found struct {
		Data []struct{ ID, Status string }
	}
	if err := json.Unmarshal(answered, &found); status != http.StatusOK || err != nil {
		u.problem("list: %d %s", status, answered)
		return
	}

	for _, s := range found.Data {
		if s.Status == "published" {
			_, _ = u.insist("PUT", "/statements/"+s.ID, "", map[string]any{"status": "draft"})
		}
	}
}

// read looks at the books, which balance whenever they can be read.
func (u *users) read() {
	status, answered := u.insist("GET", "/reports/trial-balance?startDate=2026-01-01&endDate=2026-12-31", "", nil)

	var report struct {
		Totals struct{ Ending int64 }
	}
	if err := json.Unmarshal(answered, &report); status != http.StatusOK || err != nil || report.Totals.Ending != 0 {
		u.problem("trial balance: %d %s", status, answered)
	}
}

// check looks for everything that was acknowledged.
func (u *users) check(s *storm) {
	s.t.Helper()

	for _, p := range u.problems {
		s.t.Error(p)
	}

	found := map[string]int{}

	for page := 1; ; page++ {
		a := s.get(fmt.Sprintf("/reservations?listingId=%s&limit=250&page=%d", u.listing, page)).want(200)
		for _, r := range a.list("data") {
			found[fmt.Sprint(r["uniqueRef"])]++
		}

		if a.at("pagination.nextPage") == nil {
			break
		}
	}

	for ref := range u.rents {
		if found[ref] != 1 {
			s.t.Errorf("stay %s was acknowledged and is there %d times", ref, found[ref])
		}

		delete(found, ref)
	}

	if len(found) > 0 {
		s.t.Errorf("stays that nobody was told of: %v", found)
	}

	for _, operation := range u.exports {
		a := s.get("/operations/" + operation).want(200)
		if a.text("status") != "completed" {
			s.t.Errorf("an export is %s: %s", a.text("status"), a.body)
			continue
		}

		for _, r := range a.list("resources") {
			if r["type"] == "file" && !strings.HasPrefix(string(s.get(fmt.Sprint(r["url"])).want(200).body), "id,") {
				s.t.Errorf("the file of export %s has no heading", operation)
			}
		}
	}

	u.checkFee(s)
}

// checkFee takes the month back, gives its journals time, and compares the fee in the books with the one that was
// acknowledged last.
func (u *users) checkFee(s *storm) {
	s.t.Helper()
	u.draft()
	s.calm()

	got := s.count(`select coalesce(sum(cent_total), 0)::bigint from ledger_entry where recurring_fee_id = '` + u.fee + `' and party = 'owners' and status = 'active'`)
	if want := u.calmRent * u.rate / 100_000; got != want {
		s.t.Errorf("the fee in the books is %d, at the rate of %d it has to be %d", got, u.rate, want)
	}

	if held := s.count(`select count(*) from ledger_stale`); held != 0 {
		s.t.Errorf("%d journals are not current although nothing holds them", held)
	}
}

func (u *users) summary() string {
	return fmt.Sprintf("%d stays, %d deposits, %d exports; asked again after %v", len(u.rents), len(u.deposits), len(u.exports), u.retries)
}

// payer pays some of the statements that no one has paid yet, under a key.
func (s *storm) payer() func(*users) {
	n := 0

	return func(u *users) {
		if len(s.unpaid) == 0 {
			return
		}

		some := s.unpaid[:min(1+n%2, len(s.unpaid))]
		s.unpaid = s.unpaid[len(some):]
		n++

		ids := make([]string, len(some))
		for i := range some {
			ids[i] = some[i].id
		}

		status, answered := u.insist("POST", "/statements/pay", fmt.Sprintf("pay-%d", n), map[string]any{"statementIds": ids, "connectionId": s.connection})
		if status != http.StatusAccepted {
			u.problem("pay: %d %s", status, answered)
			return
		}

		s.paid = append(s.paid, some...)
	}
}

// checkPayments holds every payment against the provider, and the books against both.
func (s *storm) checkPayments() {
	s.t.Helper()

	keys := map[string]int{}

	var total int64

	for _, p := range s.sandbox.Payments() {
		keys[p.Key]++
		if p.State == pay.Paid {
			total += p.Amount
		}
	}

	for key, n := range keys {
		if n != 1 {
			s.t.Errorf("the provider has payment %s %d times", key, n)
		}
	}

	var owed int64

	for _, v := range s.paid {
		cents, err := strconv.ParseInt(v.cents, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}

		owed += cents
		if a := s.get("/statements/" + v.id).want(200); a.text("payment.status") != "paid" || a.text("payment.received") != v.cents {
			s.t.Errorf("statement of %s: %s received, %s", v.cents, a.text("payment.received"), a.text("payment.status"))
		}
	}

	if total != owed || len(keys) != len(s.paid) {
		s.t.Errorf("the provider paid %d in %d payments, owed were %d in %d", total, len(keys), owed, len(s.paid))
	}

	var rents, deposits int64
	for _, cents := range s.users.rents {
		rents += cents
	}

	for _, cents := range s.users.deposits {
		deposits += cents
	}

	ending := map[string]int64{}

	a := s.get("/reports/trial-balance?startDate=2025-01-01&endDate=2026-12-31").want(200)
	for _, row := range a.list("data") {
		account, _ := row["account"].(map[string]any)

		n, err := strconv.ParseInt(fmt.Sprint(row["ending"]), 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}

		ending[fmt.Sprint(account["code"])] = n
	}

	if ending["2400"] != total || ending["1000"] != s.earned+deposits-total || ending["4000"] != -(s.earned+rents+s.users.calmRent) || a.text("totals.ending") != "0" {
		s.t.Errorf("paid %d, earned %d, booked %d, received %d: books %v", total, s.earned, rents, deposits, ending)
	}

	fmt.Printf("%d payments of %d cents, each once at the provider\n", len(keys), total)
}

// count asks the database for a number, across teams.
func (s *storm) count(sql string) (n int64) {
	s.t.Helper()

	ctx := s.t.Context()

	c, err := pgx.Connect(ctx, s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()

	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('stayledger.across_teams', 'on', true)`); err != nil {
			return err
		}

		return tx.QueryRow(ctx, sql).Scan(&n)
	})
	if err != nil {
		s.t.Fatal(err)
	}

	return n
}

// earnedBy is the total of the statements to be paid.
func earnedBy(t *testing.T, statements []owed) (total int64) {
	t.Helper()

	for _, v := range statements {
		cents, err := strconv.ParseInt(v.cents, 10, 64)
		if err != nil {
			t.Fatal(err)
		}

		total += cents
	}

	return total
}
