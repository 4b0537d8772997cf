package ledger_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

func TestCheckRefusesWhatTheBooksCannotTake(t *testing.T) {
	t.Parallel()

	source, account := id.ID{1}, id.ID{2}

	good := func() ledger.Posting {
		return ledger.Posting{
			SourceID: source, TxnCode: "c", Ledger: ledger.Trust, Status: ledger.Active, TxnAt: date(t, "2026-01-01"), Currency: "usd",
			Lines: []ledger.Line{{Ref: "a", AccountID: account, CentTotal: 5, Trigger: "manual"}, {Ref: "b", AccountID: account, CentTotal: -5, Trigger: "manual"}},
		}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}

	for name, spoil := range map[string]func(*ledger.Posting){
		"unbalanced":     func(p *ledger.Posting) { p.Lines[0].CentTotal = 6 },
		"zero line":      func(p *ledger.Posting) { p.Lines[0].CentTotal, p.Lines[1].CentTotal = 0, 0 },
		"beyond range":   func(p *ledger.Posting) { p.Lines[0].CentTotal, p.Lines[1].CentTotal = 1<<60, -1<<60 },
		"same ref":       func(p *ledger.Posting) { p.Lines[1].Ref = "a" },
		"no ref":         func(p *ledger.Posting) { p.Lines[1].Ref = "" },
		"no account":     func(p *ledger.Posting) { p.Lines[1].AccountID = id.Zero },
		"no trigger":     func(p *ledger.Posting) { p.Lines[1].Trigger = "" },
		"unknown party":  func(p *ledger.Posting) { p.Lines[1].Party = "guests" },
		"no lines":       func(p *ledger.Posting) { p.Lines = nil },
		"no source":      func(p *ledger.Posting) { p.SourceID = id.Zero },
		"no code":        func(p *ledger.Posting) { p.TxnCode = "" },
		"no date":        func(p *ledger.Posting) { p.TxnAt = day.Day{} },
		"no currency":    func(p *ledger.Posting) { p.Currency = "" },
		"unknown ledger": func(p *ledger.Posting) { p.Ledger = "petty" },
		"unknown status": func(p *ledger.Posting) { p.Status = "draft" },
		"sum out of range": func(p *ledger.Posting) {
			p.Lines = []ledger.Line{{Ref: "a", AccountID: account, CentTotal: money.MaxCents, Trigger: "x"}, {Ref: "b", AccountID: account, CentTotal: 1, Trigger: "x"}}
		},
		"debits out of range": func(p *ledger.Posting) {
			p.Lines = []ledger.Line{
				{Ref: "a", AccountID: account, CentTotal: money.MaxCents, Trigger: "x"},
				{Ref: "b", AccountID: account, CentTotal: -money.MaxCents, Trigger: "x"},
				{Ref: "c", AccountID: account, CentTotal: 1, Trigger: "x"},
				{Ref: "d", AccountID: account, CentTotal: -1, Trigger: "x"},
			}
		},
	} {
		p := good()
		spoil(&p)

		if p.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestReplaceWritesOnlyTheDifference(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one, two := id.New(b.DB.Now()), id.New(b.DB.Now())
	jan := date(t, "2026-01-15")
	kept, changed := b.posting(one, "kept", jan, 100), b.posting(one, "changed", jan, 200)

	other := b.posting(two, "other", jan, 300)
	if got := b.replace([]id.ID{one, two}, kept, changed, other); got != (ledger.Change{Added: 3}) {
		t.Fatalf("first: %+v", got)
	}

	before := b.rows()
	if got := b.replace([]id.ID{two, one, two}, other, changed, kept); !got.IsZero() || !slices.Equal(before, b.rows()) {
		t.Fatalf("repeating: %+v", got)
	}

	changed.Lines[1].Description = "now described"
	if got := b.replace([]id.ID{one}, kept, changed); got != (ledger.Change{Added: 1, Removed: 1}) {
		t.Fatalf("changing: %+v", got)
	}

	stayed := 0

	for _, row := range b.rows() {
		if slices.Contains(before, row) {
			stayed++
		}
	}

	if stayed != 4 {
		t.Fatalf("%d rows stayed, want those of the two postings that did not change", stayed)
	}

	if got := b.replace([]id.ID{one, two}); got != (ledger.Change{Removed: 3}) || len(b.rows()) != 0 {
		t.Fatalf("removing: %+v", got)
	}
}

func TestReplaceRefusesForeignAndRepeatedPostings(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one, two := id.New(b.DB.Now()), id.New(b.DB.Now())
	p := b.posting(one, "p", date(t, "2026-01-15"), 100)
	_, err := b.try(ledger.Lenience{}, []id.ID{two}, p)
	wantErr(t, err, ledger.ErrInvalid)
	_, err = b.try(ledger.Lenience{}, []id.ID{one}, p, p)
	wantErr(t, err, ledger.ErrInvalid)

	p.Lines[0].CentTotal = 101
	_, err = b.try(ledger.Lenience{}, []id.ID{one}, p)
	wantErr(t, err, ledger.ErrInvalid)
	p = b.posting(one, "p", date(t, "2026-01-15"), 100)
	p.Lines[0].AccountID = two
	_, err = b.try(ledger.Lenience{}, []id.ID{one}, p)
	wantErr(t, err, ledger.ErrUnknownAccount)
}

func TestDatabaseRefusesHalfAPosting(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())
	b.replace([]id.ID{source}, b.posting(source, "p", date(t, "2026-01-15"), 100))

	for name, c := range map[string]struct{ sql, state string }{
		"insert of one side": {`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, trigger_type, created_at)
			select team_id, gen_random_uuid(), source_id, 'q', ref, ledger, txn_at, account_id, cent_total, currency, trigger_type, created_at
			from ledger_entry where team_id = @team and cent_total > 0`, "SL001"},
		"delete of one side": {`delete from ledger_entry where team_id = @team and cent_total > 0`, "SL001"},
		"edit of the money":  {`update ledger_entry set cent_total = 2 * cent_total where team_id = @team`, "SL003"},
		"edit of one day":    {`update ledger_entry set txn_at = txn_at + 1 where team_id = @team and cent_total > 0`, "SL003"},
		"other listing":      {`update ledger_entry set listing_id = team_id where team_id = @team`, "SL003"},
		"other owners":       {`update ledger_entry set ownership_period_id = team_id where team_id = @team`, "SL003"},
		"history made live":  {`update ledger_entry set ledger = 'historical' where team_id = @team`, "SL003"},
	} {
		err := b.DB.Write(t.Context(), b.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, c.sql, db.Args{"team": tx.Team})
			return err
		})
		if db.SQLState(err) != c.state {
			t.Errorf("%s: %v", name, err)
		}
	}

	if n := b.unbalanced(); n != 0 {
		t.Errorf("%d balances are off", n)
	}
}

// Whoever goes around Check is refused by the database: what one statement adds to a posting sums to zero for each
// ledger, currency and status, to the cent.
func TestDatabaseRefusesAPostingThatIsACentOff(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	// entries inserts one entry per row of a posting, in one statement.
	entries := func(rows string) error {
		return b.DB.Write(t.Context(), b.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `
				insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, trigger_type, created_at)
				select @team, gen_random_uuid(), @source, x.code, x.ref, x.ledger, x.status, '2026-01-15', @account, x.cents, x.currency, 'manual', @now
				from (values `+rows+`) x (code, ref, ledger, status, currency, cents)`,
				db.Args{"team": tx.Team, "source": tx.NewID(), "account": b.accounts[0], "now": tx.Now})

			return err
		})
	}

	for name, rows := range map[string]string{
		"a cent off":                        `('p', 'a', 'trust', 'active', 'usd', 100), ('p', 'b', 'trust', 'active', 'usd', -99)`,
		"one side":                          `('p', 'a', 'trust', 'active', 'usd', 1)`,
		"two ledgers make up for each":      `('p', 'a', 'trust', 'active', 'usd', 1), ('p', 'b', 'operating', 'active', 'usd', -1)`,
		"two currencies make up for each":   `('p', 'a', 'trust', 'active', 'usd', 1), ('p', 'b', 'trust', 'active', 'eur', -1)`,
		"two postings make up for each":     `('p', 'a', 'trust', 'active', 'usd', 1), ('q', 'b', 'trust', 'active', 'usd', -1)`,
		"active and inactive ones":          `('p', 'a', 'trust', 'active', 'usd', 1), ('p', 'b', 'trust', 'inactive', 'usd', -1)`,
		"inactive, a cent off":              `('p', 'a', 'trust', 'inactive', 'usd', 2), ('p', 'b', 'trust', 'inactive', 'usd', -1)`,
		"books of an earlier system":        `('p', 'a', 'historical', 'inactive', 'usd', 2), ('p', 'b', 'historical', 'inactive', 'usd', -1)`,
		"one ledger balances, one does not": `('p', 'a', 'trust', 'active', 'usd', 5), ('p', 'b', 'trust', 'active', 'usd', -5), ('p', 'c', 'operating', 'active', 'usd', 1)`,
	} {
		if err := entries(rows); db.SQLState(err) != "SL001" {
			t.Errorf("%s: %v", name, err)
		}
	}

	if stored := b.rows(); len(stored) != 0 {
		t.Errorf("stored: %v", stored)
	}

	// The same statement is taken when it balances.
	if err := entries(`('p', 'a', 'trust', 'active', 'usd', 5), ('p', 'b', 'trust', 'active', 'usd', -5),
		('p', 'c', 'operating', 'active', 'usd', 1), ('p', 'd', 'operating', 'active', 'usd', -1)`); err != nil {
		t.Errorf("balances: %v", err)
	}
}

func TestBalancesFollowTheEntries(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	sources := []id.ID{id.New(b.DB.Now()), id.New(b.DB.Now()), id.New(b.DB.Now())}

	rapid.Check(t, func(r *rapid.T) {
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(sources), 1, 3, rapid.ID[id.ID]).Draw(r, "sources")

		var wanted []ledger.Posting

		for _, source := range chosen {
			for n := range rapid.IntRange(0, 3).Draw(r, "postings") {
				wanted = append(wanted, b.drawPosting(r, source, n))
			}
		}

		first := b.replace(chosen, wanted...)
		if n := b.unbalanced(); n != 0 {
			r.Fatalf("%d balances are off after %+v", n, first)
		}

		if rapid.Bool().Draw(r, "fold") {
			b.fold()

			if n := b.unbalanced(); n != 0 {
				r.Fatalf("%d balances are off after they were folded", n)
			}
		}

		if again := b.replace(chosen, wanted...); !again.IsZero() {
			r.Fatalf("repeating changes %+v", again)
		}
	})
}

func (b *books) drawPosting(r *rapid.T, source id.ID, n int) ledger.Posting {
	p := ledger.Posting{
		SourceID: source, TxnCode: source.String() + ":" + strconv.Itoa(n), Currency: rapid.SampledFrom([]string{"usd", "eur"}).Draw(r, "currency"),
		Ledger: rapid.SampledFrom([]ledger.Ledger{ledger.Trust, ledger.Operating, ledger.Historical}).Draw(r, "ledger"),
		Status: rapid.SampledFrom([]ledger.Status{ledger.Active, ledger.Inactive}).Draw(r, "status"),
		TxnAt:  date(b.t, "2026-01-01").AddDays(rapid.IntRange(0, 70).Draw(r, "day")),
	}

	var sum money.Cents

	for k, amount := range rapid.SliceOfN(rapid.Int64Range(1, 1000), 1, 4).Draw(r, "amounts") {
		if k%2 == 1 {
			amount = -amount / 3 * 2
		}

		if sum += money.Cents(amount); amount == 0 || sum == 0 {
			sum -= money.Cents(amount)
			continue
		}

		p.Lines = append(p.Lines, ledger.Line{
			Ref: strconv.Itoa(k), AccountID: rapid.SampledFrom(b.accounts).Draw(r, "account"), CentTotal: money.Cents(amount), Trigger: ledger.TriggerManual,
			Party:     rapid.SampledFrom([]ledger.Party{ledger.NoParty, ledger.Owners, ledger.Manager}).Draw(r, "party"),
			ListingID: rapid.SampledFrom([]id.ID{{}, b.listing}).Draw(r, "listing"),
		})
	}

	p.Lines = append(p.Lines, ledger.Line{Ref: "rest", AccountID: b.accounts[3], CentTotal: -sum, Trigger: ledger.TriggerManual})

	return p
}

func TestReplaceOfThousandsOfSources(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	jan := date(t, "2026-01-15")

	var (
		sources []id.ID
		wanted  []ledger.Posting
	)

	for range 6_000 {
		source := id.New(b.DB.Now())
		sources = append(sources, source)
		wanted = append(wanted, b.posting(source, source.String(), jan, 100))
	}

	if got := b.replace(sources, wanted...); got.Added != 6_000 {
		t.Fatalf("%+v", got)
	}

	if got := b.replace(sources, wanted...); !got.IsZero() {
		t.Fatalf("repeating changes %+v", got)
	}

	if n := b.unbalanced(); n != 0 {
		t.Fatalf("%d balances are off", n)
	}
}
