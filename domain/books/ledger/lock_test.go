package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func contextOf(t *testing.T, err error) ledger.LockContext {
	t.Helper()

	var refused *apierr.Error
	if !errors.As(err, &refused) {
		t.Fatalf("no condition: %v", err)
	}

	c, ok := refused.Context().(ledger.LockContext)
	if !ok {
		t.Fatalf("no lock context: %v", refused.Context())
	}

	return c
}

// Proves: ERR-69, ERR-70, RSN-16, RSN-63.
func TestLocked(t *testing.T) {
	t.Parallel()
	closed, before := date(t, "2026-02-01"), date(t, "2026-01-31")
	one, two := ledger.Saved{ID: id.ID{1}}, ledger.Saved{ID: id.ID{2}}
	base := ledger.Touched{Ledger: ledger.Trust, Status: ledger.Active, TxnAt: closed}

	with := func(change func(*ledger.Touched)) ledger.Touched {
		p := base
		change(&p)

		return p
	}
	for name, c := range map[string]struct {
		p    ledger.Touched
		l    ledger.Lenience
		want error
	}{
		"first open day":              {p: base},
		"last closed day":             {p: with(func(p *ledger.Touched) { p.TxnAt = before }), want: ledger.ErrBooksClosed},
		"closed, override":            {p: with(func(p *ledger.Touched) { p.TxnAt = before }), l: ledger.Lenience{IgnoreBooksClosed: true}},
		"closed, inactive":            {p: with(func(p *ledger.Touched) { p.TxnAt, p.Status = before, ledger.Inactive })},
		"closed, historical":          {p: with(func(p *ledger.Touched) { p.TxnAt, p.Ledger = before, ledger.Historical })},
		"attached":                    {p: with(func(p *ledger.Touched) { p.AttachedTo = []ledger.Saved{one} }), want: ledger.ErrStatementAttachment},
		"attached, override":          {p: with(func(p *ledger.Touched) { p.AttachedTo = []ledger.Saved{one} }), l: ledger.Lenience{IgnoreBooksClosed: true}, want: ledger.ErrStatementAttachment},
		"published":                   {p: with(func(p *ledger.Touched) { p.Published = []ledger.Saved{one} }), want: ledger.ErrStatementPeriod},
		"published, override":         {p: with(func(p *ledger.Touched) { p.Published = []ledger.Saved{one} }), l: ledger.Lenience{IgnoreBooksClosed: true}, want: ledger.ErrStatementPeriod},
		"in review":                   {p: with(func(p *ledger.Touched) { p.InReview = []ledger.Saved{two} }), want: ledger.ErrStatementInReview},
		"published, inactive posting": {p: with(func(p *ledger.Touched) { p.Published, p.Status = []ledger.Saved{one}, ledger.Inactive })},
	} {
		err := ledger.CheckLocks(ledger.Closing{BooksClosedAt: &closed}, c.p, c.l)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}

	got := contextOf(t, ledger.CheckLocks(ledger.Closing{BooksClosedAt: &closed}, with(func(p *ledger.Touched) { p.TxnAt = before }), ledger.Lenience{}))
	if got.LockReason != "period" || *got.BooksClosedAt != closed {
		t.Errorf("books closed: %+v", got)
	}

	got = contextOf(t, ledger.CheckLocks(ledger.Closing{}, with(func(p *ledger.Touched) { p.AttachedTo = []ledger.Saved{two, one, two} }), ledger.Lenience{}))
	if got.LockReason != "statement" || len(got.StatementIDs) != 2 || got.StatementIDs[0] != one.ID {
		t.Errorf("attached: %+v", got)
	}
}

func TestReplaceAsksTheLocks(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source, other := id.New(b.DB.Now()), id.New(b.DB.Now())
	jan, feb := date(t, "2026-01-31"), date(t, "2026-02-01")
	stored := b.posting(source, "stored", jan, 100)
	b.replace([]id.ID{source}, stored)
	fixture.CloseBooks(b.Team, "2026-02-01")

	moved := stored
	moved.TxnAt = feb
	_, err := b.try(ledger.Lenience{}, []id.ID{source}, moved)
	wantErr(t, err, ledger.ErrBooksClosed) // the old date counts
	_, err = b.try(ledger.Lenience{}, []id.ID{other}, b.posting(other, "new", jan, 100))
	wantErr(t, err, ledger.ErrBooksClosed) // and the new one

	if change := b.replace([]id.ID{source}, stored); !change.IsZero() {
		t.Fatalf("an unchanged posting is asked: %+v", change)
	}

	change, err := b.try(ledger.Lenience{SkipLocked: true}, []id.ID{source, other}, moved, b.posting(other, "new", feb, 100))
	if err != nil || change != (ledger.Change{Added: 1, Skipped: 2}) {
		t.Fatalf("skipping: %+v %v", change, err)
	}

	if change, err = b.try(ledger.Lenience{IgnoreBooksClosed: true}, []id.ID{source}, moved); err != nil || change.Added != 1 {
		t.Fatalf("override: %+v %v", change, err)
	}
}

func TestStatementsLockTheirMonth(t *testing.T) {
	t.Parallel()

	for status, want := range map[string]error{"published": ledger.ErrStatementPeriod, "inReview": ledger.ErrStatementInReview} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			statement := b.statement(status)
			source := id.New(b.DB.Now())
			lastOfJan := date(t, "2026-01-31")
			at := func(d day.Day) ledger.Posting { return b.posting(source, "p", d, 100) }
			_, err := b.try(ledger.Lenience{}, []id.ID{source}, at(lastOfJan))
			wantErr(t, err, want)

			if c := contextOf(t, err); c.LockReason != "statement" || c.StatementIDs[0] != statement {
				t.Errorf("context %+v", c)
			}

			foreign := at(lastOfJan)
			foreign.Currency = "eur"
			b.replace([]id.ID{source}, foreign)

			managers := at(lastOfJan)
			managers.Lines[1].Party = ledger.Manager
			b.replace([]id.ID{source}, managers)
			b.replace([]id.ID{source}, at(lastOfJan.AddDays(1)))
		})
	}
}

func TestAttachedEntriesStay(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())
	p := b.posting(source, "p", date(t, "2026-03-01"), 100)
	b.replace([]id.ID{source}, p)
	statement := b.statement("published")
	b.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and party = 'owners'`, db.Args{"statement": statement})

	if change := b.replace([]id.ID{source}, p); !change.IsZero() {
		t.Fatalf("an attached posting that does not change: %+v", change)
	}

	_, err := b.try(ledger.Lenience{IgnoreBooksClosed: true}, []id.ID{source})
	wantErr(t, err, ledger.ErrStatementAttachment)
}

// Proves: OPEN-61.
func TestSoftClose(t *testing.T) {
	t.Parallel()

	hard, soft := date(t, "2026-01-01"), date(t, "2026-02-01")
	for name, c := range map[string]struct {
		closing ledger.Closing
		at      string
		l       ledger.Lenience
		want    error
	}{
		"open":                      {ledger.Closing{BooksClosedAt: &hard, SoftClosedAt: &soft}, "2026-02-01", ledger.Lenience{}, nil},
		"softly closed":             {ledger.Closing{BooksClosedAt: &hard, SoftClosedAt: &soft}, "2026-01-31", ledger.Lenience{}, ledger.ErrBooksClosed},
		"softly closed, may post":   {ledger.Closing{BooksClosedAt: &hard, SoftClosedAt: &soft, MayPost: true}, "2026-01-31", ledger.Lenience{}, nil},
		"hard closed, may post":     {ledger.Closing{BooksClosedAt: &hard, SoftClosedAt: &soft, MayPost: true}, "2025-12-31", ledger.Lenience{}, ledger.ErrBooksClosed},
		"softly closed, overridden": {ledger.Closing{SoftClosedAt: &soft}, "2026-01-31", ledger.Lenience{IgnoreBooksClosed: true}, nil},
	} {
		err := ledger.CheckLocks(c.closing, ledger.Touched{Ledger: ledger.Trust, Status: ledger.Active, TxnAt: date(t, c.at)}, c.l)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestSoftCloseAsksWhoPosts(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())
	b.Exec(`update team set soft_closed_at = '2026-02-01' where id = @team`, db.Args{})
	_, err := b.try(ledger.Lenience{}, []id.ID{source}, b.posting(source, "p", date(t, "2026-01-15"), 100))
	wantErr(t, err, ledger.ErrBooksClosed)

	if c := contextOf(t, err); c.LockReason != "period" || c.SoftClosedAt == nil || *c.BooksClosedAt != date(t, "2026-02-01") {
		t.Errorf("context %+v", c)
	}

	b.Exec(`update team set soft_close_posters = array[@user::uuid] where id = @team`, db.Args{"user": b.Scope().Actor.User})
	b.replace([]id.ID{source}, b.posting(source, "p", date(t, "2026-01-15"), 100))

	shown := func() (lock ledger.Lock) {
		b.Tx(func(ctx context.Context, tx *db.Tx) error {
			all, err := ledger.Transactions.LoadStates(ctx, tx, []id.ID{source})
			lock = all[source].Lock

			return err
		})

		return lock
	}
	if lock := shown(); lock.Status != "open" {
		t.Errorf("to a poster the journal shows %+v", lock)
	}

	b.Exec(`update team set soft_close_posters = '{}' where id = @team`, nil)

	if lock := shown(); lock.BooksClosed == nil || lock.BooksClosed.Date != date(t, "2026-02-01") {
		t.Errorf("to others the journal shows %+v", lock)
	}
}

// Proves: RSN-66.
func TestReconciledMoneyStays(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	transaction, record := id.New(b.DB.Now()), id.New(b.DB.Now())
	jan := date(t, "2026-01-15")
	moved, bill := b.posting(transaction, "moved", jan, 100), b.posting(transaction, "bill", jan, 50)
	bill.Lines[0].AccountID, bill.Lines[1].AccountID = b.accounts[2], b.accounts[3]
	b.replace([]id.ID{transaction}, moved, bill)
	b.reconcile(record, transaction, b.accounts[0])

	bill.Lines[0].Description = "other words"
	b.replace([]id.ID{transaction}, moved, bill) // no money moved through the bank
	changed := moved
	changed.TxnAt = jan.AddDays(1)
	_, err := b.try(ledger.Lenience{IgnoreBooksClosed: true}, []id.ID{transaction}, changed, bill)
	wantErr(t, err, ledger.ErrReconciled)

	if c := contextOf(t, err); c.LockReason != "" || len(c.BankRecordIDs) != 1 || c.BankRecordIDs[0] != record {
		t.Errorf("context %+v", c)
	}

	if _, err := b.try(ledger.Lenience{}, []id.ID{transaction}); !ledger.IsLock(err) {
		t.Errorf("removing: %v", err)
	}
}

// A recurring fee is held by the statements of every month, the newest first, whether entries are attached to them or
// not; what comes after the last of them is free.
func TestLocksOfFeesOverMonths(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	fee := id.New(b.DB.Now())

	var (
		sources  []id.ID
		postings []ledger.Posting
	)

	for _, at := range []string{"2026-01-15", "2026-02-15", "2026-03-15", "2026-04-15"} {
		source := id.New(b.DB.Now())
		p := b.posting(source, at, date(t, at), 100)
		p.Lines[0].RecurringFeeID, p.Lines[1].RecurringFeeID = fee, fee

		sources, postings = append(sources, source), append(postings, p)
	}

	b.replace(sources, postings...)

	locks := func() (lock ledger.Lock) {
		b.Tx(func(ctx context.Context, tx *db.Tx) error {
			all, err := ledger.LoadFeeStates(ctx, tx, []id.ID{fee})
			lock = all[fee].Lock

			return err
		})

		return lock
	}
	if lock := locks(); lock.Status != "open" {
		t.Fatalf("without statements: %+v", lock)
	}

	var saved []id.ID
	for _, month := range []string{"2026-01", "2026-02", "2026-03"} {
		saved = append(saved, fixture.Statement(b.Team, b.period, "published", month+"-01", month+"-28"))
	}

	lock := locks()

	var days []string
	for _, hit := range lock.StatementPeriod.Hits {
		days = append(days, hit.TxnAt.String()+" until "+hit.OpenFrom.String())
	}

	if lock.OwnerStatement != nil || !slices.Equal(days, []string{"2026-03-15 until 2026-03-29", "2026-02-15 until 2026-03-29", "2026-01-15 until 2026-03-29"}) {
		t.Errorf("nothing attached: %v %+v", days, lock.OwnerStatement)
	}

	for _, s := range saved[:2] {
		fixture.Attach(b.Team, s)
	}

	latest := saved[:2]
	slices.SortFunc(latest, func(a, b id.ID) int { return b.Compare(a) })

	if lock := locks(); !slices.Equal(lock.OwnerStatement.IDs, latest) || len(lock.StatementPeriod.Hits) != 3 {
		t.Errorf("two months attached: %+v %+v", lock.OwnerStatement, lock.StatementPeriod)
	}
}

// Of several days that hold a journal the earliest counts, whether a posting is there or is to go there: while
// that one is closed, opening the other lets nothing through.
func TestTheEarliestDayHolds(t *testing.T) {
	t.Parallel()

	for _, days := range [][]string{{"2026-01-15", "2026-02-15"}, {"2026-02-15", "2026-01-15"}} {
		b := newBooks(t)
		source := id.New(b.DB.Now())
		moved := b.posting(source, "moved", date(t, days[0]), 100)
		b.replace([]id.ID{source}, moved)
		fixture.CloseBooks(b.Team, "2026-03-01")

		moved.TxnAt = date(t, days[1])
		if _, err := b.try(ledger.Lenience{SkipLocked: true}, []id.ID{source}, moved); err != nil {
			t.Fatal(err)
		}

		for closed, want := range map[string]string{"2026-03-01": "unlock", "2026-02-01": "unlock", "2026-01-01": "refresh"} {
			fixture.CloseBooks(b.Team, closed)
			b.Tx(func(ctx context.Context, tx *db.Tx) error {
				all, err := ledger.Reservations.LoadStatuses(ctx, tx, []id.ID{source})
				if action := all[source].Action; err == nil && (action == nil || *action != want) {
					t.Errorf("from %s to %s, closed before %s: %+v, want %s", days[0], days[1], closed, all[source], want)
				}

				return err
			})
		}
	}
}

// Replace takes as many sources at a time as its bounds admit, and no source is cut in two.
func TestChunksOfSources(t *testing.T) {
	t.Parallel()

	wide := func(lines int) []ledger.Posting { return []ledger.Posting{{Lines: make([]ledger.Line, lines)}} }

	many := make([]id.ID, ledger.ChunkSources+2)
	for i := range many {
		many[i] = id.ID{1, byte(i >> 8), byte(i)}
	}

	one, two, three := many[0], many[1], many[2]
	for name, c := range map[string]struct {
		sources  []id.ID
		postings map[id.ID][]ledger.Posting
		want     int
	}{
		"all that fit":            {[]id.ID{one, two, three}, map[id.ID][]ledger.Posting{one: wide(1), two: wide(1), three: wide(1)}, 3},
		"as many lines":           {[]id.ID{one, two, three}, map[id.ID][]ledger.Posting{one: wide(ledger.ChunkLines - 1), two: wide(1), three: wide(1)}, 2},
		"a source of its own":     {[]id.ID{one, two}, map[id.ID][]ledger.Posting{one: wide(ledger.ChunkLines + 1), two: wide(1)}, 1},
		"before a source too big": {[]id.ID{one, two}, map[id.ID][]ledger.Posting{one: wide(1), two: wide(ledger.ChunkLines)}, 1},
		"as many sources":         {many, nil, ledger.ChunkSources},
	} {
		n, postings := ledger.Chunk(c.sources, c.postings)
		if n != c.want || c.postings != nil && len(postings) != c.want {
			t.Errorf("%s: %d sources with %d postings, want %d", name, n, len(postings), c.want)
		}
	}
}
