package ledger_test

import (
	"context"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func (b *books) status(source id.ID) (status ledger.JournalStatus) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		all, err := ledger.Reservations.LoadStatuses(ctx, tx, []id.ID{source})
		status = all[source]

		return err
	})

	return status
}

func (b *books) want(source id.ID, status string, reason ledger.Reason, action string) {
	b.t.Helper()
	got := b.status(source)

	var (
		gotReason ledger.Reason
		gotAction string
	)

	if got.Reason != nil {
		gotReason = *got.Reason
	}

	if got.Action != nil {
		gotAction = *got.Action
	}

	if got.Status != status || gotReason != reason || gotAction != action {
		b.t.Fatalf("got %s %s %s, want %s %s %s", got.Status, gotReason, gotAction, status, reason, action)
	}
}

// Proves: OPEN-59, STM-14.
func TestJournalStatus(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	fee := operation.Resource{Type: operation.RecurringFee, ID: id.New(b.DB.Now())}
	locked, open := id.New(b.DB.Now()), id.New(b.DB.Now())
	was := b.posting(locked, "locked", date(t, "2026-01-15"), 100)
	b.replace([]id.ID{locked}, was)
	b.want(locked, "current", "", "")
	fixture.CloseBooks(b.Team, "2026-02-01")

	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		touched := func(context.Context, *db.Tx, ledger.Basis) ([]id.ID, error) { return []id.ID{locked, open}, nil }
		_, err := ledger.Sources{{Noun: ledger.Reservations, Touched: touched}}.Mark(ctx, tx, ledger.Basis{}, ledger.Outdated{Reason: ledger.FeeChanged, Cause: fee})

		return err
	})
	b.want(locked, "stale", ledger.FeeChanged, "refresh")

	now := was
	now.Lines = append([]ledger.Line{}, was.Lines...)

	now.Lines[0].CentTotal, now.Lines[1].CentTotal = 200, -200
	if _, err := b.try(ledger.Lenience{SkipLocked: true}, []id.ID{locked}, now); err != nil {
		t.Fatal(err)
	}

	b.want(locked, "stale", ledger.JournalLocked, "unlock")

	feeStatus := func() (s ledger.JournalStatus) {
		b.Tx(func(ctx context.Context, tx *db.Tx) error {
			all, err := ledger.LoadFeeStates(ctx, tx, []id.ID{fee.ID})
			s = all[fee.ID].Status

			return err
		})

		return s
	}
	if s := feeStatus(); *s.Reason != ledger.FeeChanged || !s.Blocks() {
		t.Fatalf("one is locked, the other still open: %+v", s)
	}

	b.replace([]id.ID{open}, b.posting(open, "open", date(t, "2026-02-01"), 100))
	b.want(open, "current", "", "")

	if s := feeStatus(); *s.Reason != ledger.JournalLocked || s.Blocks() {
		t.Fatalf("all that is outstanding is locked: %+v", s)
	}

	b.Exec(`update team set books_closed_at = null where id = @team`, db.Args{})
	b.want(locked, "stale", ledger.FeeChanged, "refresh") // nothing holds it any more
	b.Tx(ledger.RetryReopened)
	b.want(locked, "recalculating", ledger.FeeChanged, "wait")
	b.replace([]id.ID{locked}, now)

	if got := b.status(locked); got.Status != "recalculating" {
		t.Fatalf("the operation is not settled: %+v", got)
	}
}

func TestFailedJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		underivable := ledger.Source{Noun: ledger.Transactions, Derive: func(context.Context, *db.Tx, []id.ID) (*ledger.Derived, error) {
			return &ledger.Derived{Failed: map[id.ID]error{source: apierr.NotFound}}, nil
		}}

		return underivable.BookAfter(ctx, tx, []id.ID{source}, ledger.Lenience{})
	})
	b.want(source, "failed", ledger.TransactionChanged, "refresh")
	b.replace([]id.ID{source}, b.posting(source, "p", date(t, "2026-02-01"), 100))
	b.want(source, "current", "", "")
}

func TestOutdateStartsNothingForNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		ack, err := ledger.Outdate(ctx, tx, ledger.Outdated{Reason: ledger.FeeChanged, Cause: operation.Resource{Type: operation.Team, ID: b.ID}})
		if ack != nil {
			t.Errorf("started %+v", ack)
		}

		return err
	})
}

// A journal is held by the lock that it met, as long as that is there and no longer; whoever takes the lock away has
// it derived again.
func TestJournalsAreHeldByLocksThatStand(t *testing.T) {
	t.Parallel()

	team := func(set string) func(*books, id.ID) {
		return func(b *books, _ id.ID) { b.Exec(`update team set `+set+` where id = @team`, nil) }
	}

	reopened := func(ctx context.Context, tx *db.Tx, _ id.ID) error { return ledger.RetryReopened(ctx, tx) }
	for name, c := range map[string]struct {
		lock, release func(b *books, source id.ID)
		retry         func(ctx context.Context, tx *db.Tx, holder id.ID) error
		holder        string
	}{
		"closed books": {team("books_closed_at = '2026-02-01'"), team("books_closed_at = '2026-01-15'"), reopened, ""},
		"soft close":   {team("soft_closed_at = '2026-02-01'"), team("soft_closed_at = null"), reopened, ""},
		"new poster": {team("soft_closed_at = '2026-02-01'"), func(b *books, _ id.ID) {
			b.Exec(`update team set soft_close_posters = array[@user::uuid] where id = @team`, db.Args{"user": b.Scope().Actor.User})
		}, reopened, ""},
		"statement":      {func(b *books, _ id.ID) { b.statement("published") }, func(b *books, _ id.ID) { b.Exec(`delete from statement where team_id = @team`, nil) }, nil, "select id from statement where team_id = @team"},
		"reconciliation": {func(b *books, source id.ID) { b.reconcile(id.New(b.DB.Now()), source, b.accounts[0]) }, func(b *books, _ id.ID) { b.Exec(`delete from bank_reconciliation where team_id = @team`, nil) }, nil, "select id from bank_record where team_id = @team"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			source := fixture.Stay(b.Team, b.listing, "booked", "2026-01-10", "2026-01-15")
			was, now := b.posting(source, "p", date(t, "2026-01-15"), 100), b.posting(source, "p", date(t, "2026-01-15"), 200)
			b.replace([]id.ID{source}, was)
			c.lock(b, source)

			derive := func() {
				t.Helper()

				if _, err := b.try(ledger.Lenience{SkipLocked: true}, []id.ID{source}, now); err != nil {
					t.Fatal(err)
				}
			}
			derive()
			b.want(source, "stale", ledger.JournalLocked, "unlock")

			var holder id.ID

			retry := func() {
				t.Helper()
				b.Tx(func(ctx context.Context, tx *db.Tx) error {
					if c.retry != nil {
						return c.retry(ctx, tx, holder)
					}

					return ledger.RetryReleased(ctx, tx, []id.ID{holder}, []id.ID{b.listing})
				})
			}

			if c.holder != "" {
				b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
					holder, err = db.Get[id.ID](ctx, tx, c.holder, db.Args{"team": tx.Team})
					return err
				})
			} else {
				retry() // the days are still closed
				b.want(source, "stale", ledger.JournalLocked, "unlock")
			}

			c.release(b, source)

			if name != "new poster" { // for everybody else the days are closed as before
				b.want(source, "stale", ledger.ReservationChanged, "refresh")
			}

			retry()

			if got := b.status(source); got.Status != "recalculating" {
				t.Fatalf("the journal is not tried again: %+v", got)
			}

			derive()
			b.Exec(`update operation set status = 'completed', tasks_open = 0, finished_at = now() where team_id = @team`, nil)
			b.want(source, "current", "", "")
		})
	}
}

// What a refresh of a part leaves outstanding stays as it was, and no one waits for a journal that a lock holds.
func TestPartsLeaveTheRestOutstanding(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())
	held, free := b.posting(source, "held", date(t, "2026-01-15"), 100), b.posting(source, "free", date(t, "2026-03-01"), 100)
	b.replace([]id.ID{source}, held, free)
	fixture.CloseBooks(b.Team, "2026-02-01")

	changed := b.posting(source, "held", date(t, "2026-01-15"), 200)
	if _, err := b.try(ledger.Lenience{SkipLocked: true}, []id.ID{source}, changed, free); err != nil {
		t.Fatal(err)
	}

	part := func(wanted ...ledger.Posting) {
		t.Helper()
		b.Tx(func(ctx context.Context, tx *db.Tx) error {
			free := ledger.Source{Noun: ledger.Transactions, Replaces: func(_ string, p *ledger.Posting) bool { return p.TxnCode == "free" }}
			_, err := free.Store(ctx, tx, &ledger.Derived{Sources: []id.ID{source}, Postings: wanted}, "free", ledger.Lenience{SkipLocked: true})

			return err
		})
	}
	part(changed, b.posting(source, "free", date(t, "2026-03-01"), 300))
	b.want(source, "stale", ledger.JournalLocked, "unlock")
	b.replace([]id.ID{source}, held, b.posting(source, "free", date(t, "2026-03-01"), 300))
	b.want(source, "current", "", "")
	part(changed, free)
	b.want(source, "stale", ledger.TransactionChanged, "refresh")
}

// An operation that names the listing of a resource, or what made its journal stale, derives the journal: until it is
// settled the journal is recalculating. One that names another listing does not, nor does a listing with
// owners that a manual journal does not follow.
// Proves: OPEN-59.
func TestOperationsAroundAJournal(t *testing.T) {
	t.Parallel()

	for name, add := range map[string]func(b *books, source id.ID) ledger.Noun{
		"reservation": func(b *books, source id.ID) ledger.Noun {
			b.Exec(`update reservation set id = @source where team_id = @team and id = @stay`,
				db.Args{"source": source, "stay": fixture.Stay(b.Team, b.listing, "booked", "2026-01-10", "2026-01-15")})

			return ledger.Reservations
		},
		"transaction": func(b *books, source id.ID) ledger.Noun {
			args := db.Args{"source": source, "account": b.accounts[0]}
			b.Exec(`insert into transaction (team_id, id, short_ref, type, date, account_id, total, currency, created_at, updated_at)
				values (@team, @source, 'around', 'expense', '2026-01-15', @account, 100, 'usd', now(), now())`, args)
			b.Exec(`insert into transaction_line (team_id, id, transaction_id, position, account_id, amount, total, listing_id)
				values (@team, gen_random_uuid(), @source, 1, @account, 100, 100, @listing)`, db.Args{"source": source, "account": b.accounts[0], "listing": b.listing})

			return ledger.Transactions
		},
		"journal": func(b *books, source id.ID) ledger.Noun {
			b.Exec(`insert into journal (team_id, id, short_ref, date, currency, ledger, total, created_at, updated_at)
				values (@team, @source, 'around', '2026-01-15', 'usd', 'trust', 100, now(), now())`, db.Args{"source": source})
			b.Exec(`insert into journal_line (team_id, journal_id, position, account_id, cent_total, party, listing_id)
				values (@team, @source, 1, @account, 100, 'owners', @listing), (@team, @source, 2, @account, -100, 'manager', @managed)`,
				db.Args{"source": source, "account": b.accounts[0], "listing": b.listing, "managed": fixture.Listing(b.Team, "Managed")})

			return ledger.ManualJournals
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			source, cause := id.New(b.DB.Now()), id.New(b.DB.Now())
			noun := add(b, source)
			b.Exec(`insert into ledger_stale (team_id, source_id, source, cause_id, reason, status, since) values (@team, @source, @noun, @cause, 'feeChanged', 'stale', now())`,
				db.Args{"source": source, "noun": string(noun), "cause": cause})

			for what, c := range map[string]struct {
				named id.ID
				want  string
			}{
				"its listing": {b.listing, "recalculating"}, "itself": {source, "recalculating"}, "the cause": {cause, "recalculating"},
				"another listing":            {fixture.Listing(b.Team, "Other"), "stale"},
				"a listing of the manager's": {b.one(`select id from listing where team_id = @team and name in ('Managed', 'Other') order by name limit 1`), "stale"},
			} {
				b.Exec(`delete from operation_resource where team_id = @team`, nil)
				b.Exec(`delete from operation where team_id = @team`, nil)
				args := db.Args{"operation": id.New(b.DB.Now())}
				b.Exec(`insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at) values (@team, @operation, 'listing-journal-refresh', 'running', gen_random_uuid(), 1, now())`, args)
				args["named"] = c.named
				b.Exec(`insert into operation_resource (team_id, operation_id, position, type, resource_id, role) values (@team, @operation, 1, 'listing', @named, 'target')`, args)

				var got map[id.ID]ledger.JournalStatus

				b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
					got, err = noun.LoadStatuses(ctx, tx, []id.ID{source})
					return err
				})

				if got[source].Status != c.want {
					t.Errorf("while an operation names %s the journal is %q, want %q", what, got[source].Status, c.want)
				}
			}
		})
	}
}

// one is the only id that a query of the team's rows gives.
func (b *books) one(sql string) (found id.ID) {
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Get[id.ID](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return found
}
