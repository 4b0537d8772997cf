package pms_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// breaker is a tracer of the driver that replaces one statement by one that fails. It counts from the moment that it is
// armed, and is meant for one request at a time.
type breaker struct {
	left   atomic.Int64 // statements until the one that fails; 0 for none
	broken atomic.Pointer[string]
}

// arm has the n-th statement from now on fail.
func (b *breaker) arm(n int) {
	b.broken.Store(nil)
	b.left.Store(int64(n))
}

// disarm lets all statements be, and returns the one that was broken, empty for none.
func (b *breaker) disarm() string {
	b.left.Store(0)

	if hit := b.broken.Load(); hit != nil {
		return *hit
	}

	return ""
}

// TraceBatchStart breaks a statement of a round trip, if it is its turn.
func (b *breaker) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		if b.left.Load() == 0 || b.left.Add(-1) > 0 {
			continue
		}

		text := strings.Join(strings.Fields(q.SQL), " ")
		b.broken.Store(&text)

		q.SQL, q.Arguments = "do $$ begin raise exception 'broken'; end $$", nil
	}

	return ctx
}

// TraceBatchQuery does nothing.
func (*breaker) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (*breaker) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceQueryStart ignores statements outside of batches, which work never sends.
func (*breaker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd does nothing.
func (*breaker) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A cutover of which one statement fails, whichever it is, has done nothing, and can be applied afterwards.
//
// Proves: CUT-41.
func TestAFaultAtEveryStatementOfACutover(t *testing.T) {
	t.Parallel()

	b := &breaker{}

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 8, Tracer: b})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	c := newMoveOn(t, newSceneIn(t, d))
	deposits := c.payAll()
	c.spendOnMerged()

	before, books := c.Fingerprint(), c.books()
	n := 1

	for ; ; n++ {
		b.arm(n)

		got := c.Post(applyPath, c.ask(nil))

		hit := b.disarm()
		if hit == "" {
			got.Want(200) // There are fewer statements: nothing was broken.
			break
		}

		if got.Status != http.StatusInternalServerError {
			t.Errorf("with statement %d broken (%s) it answers %d: %s", n, hit, got.Status, got.Body)
		}

		if c.Fingerprint() != before || !maps.Equal(c.books(), books) {
			t.Fatalf("with statement %d broken (%s) something has changed", n, hit)
		}
	}

	if n < 50 {
		t.Errorf("an apply has only %d statements", n-1)
	}

	c.Outlast(nil)
	c.after(deposits)
}

// payAll pays the stays of the source from the day of the cutover on, and returns the deposits as after wants them.
func (c *move) payAll() (deposits []string) {
	c.T.Helper()

	for i, code := range []string{"C-code", "C-guest", "C-lost"} {
		deposits = append(deposits, c.pay(c.of(c.connection, code), 1000*(i+1)))
	}

	return deposits
}

// spendOnMerged gives the listing of the target that will be merged an owner and an expense.
func (c *move) spendOnMerged() {
	c.T.Helper()

	merged := c.of(c.target, "C-code").String("listingId")
	c.Post("/listings/ownership-periods", object{
		"listingId": merged, "startAt": "2026-01-01", "members": array{object{"contactId": c.owner, "split": 100_000}},
	}).Want(202)
	c.Outlast(nil)
	c.Post("/transactions", object{
		"type": "expense", "date": "2026-02-15", "accountId": c.Account("1000"),
		"lines": array{object{"accountId": c.Account("5200"), "amount": 700, "listingId": merged}},
	}).Want(201)
}

// Of many who apply at once one does, and all others are refused.
//
// Proves: CUT-41, CUT-55.
func TestManyWhoApplyAtOnceApplyOnce(t *testing.T) {
	t.Parallel()
	c := newMove(t)
	deposits := c.payAll()

	var all sync.WaitGroup

	answers := make([]*apitest.Response, 24)
	for i := range answers {
		all.Go(func() { answers[i] = c.Post(applyPath, c.ask(nil)) })
	}

	all.Wait()

	applied := 0

	for _, a := range answers {
		if a.Status == http.StatusOK {
			applied++
			continue
		}

		// The window that the first one has given the target, and nothing else, is why.
		a.WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "targetConnectionId")
	}

	if applied != 1 {
		t.Errorf("it was applied %d times", applied)
	}

	if got := c.Get("/operations?type=pms-cutover").Want(200); got.Int("total") != 1 {
		t.Errorf("the operations are %s", got.Body)
	}

	c.Outlast(nil)
	c.after(deposits)
}
