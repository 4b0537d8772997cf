package statement_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var allScopes = []string{
	"statements:read", "statements:write", "statements:delete", "statements:publish", "operations:read", "journals:post",
}

// books is a team with a chart of accounts and what its journals are derived from.
type books struct {
	*apitest.Team
	t        *testing.T
	accounts map[string]id.ID
	// a and b own 60 and 40 percent of the listing in the period.
	a, b, listing, period id.ID
}

func newBooks(t *testing.T) *books {
	t.Helper()

	handlers := parts.Join(transaction.Part(), reservation.Part(), journal.Part()).Handlers
	b := &books{t: t, accounts: map[string]id.ID{}, Team: apitest.New(t, apitest.Config{
		Endpoints: parts.Join(statement.Part(), operation.Part(time.Hour), reservation.Part()).Endpoints, Scopes: allScopes, Handlers: handlers,
	})}
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		var stmts []db.Stmt

		categories := map[string]id.ID{}
		for i, class := range []string{"asset", "liability", "revenue", "expense"} {
			categories[class] = tx.NewID()
			stmts = append(stmts, db.Stmt{
				SQL:  `insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, @class, @class, @n, @now)`,
				Args: db.Args{"team": tx.Team, "id": categories[class], "class": class, "n": i, "now": tx.Now},
			})
		}

		for _, a := range []struct{ code, name, class string }{
			{"1000", "Trust bank", "asset"},
			{"2000", "Guest deposits", "liability"},
			{"2100", "Lodging taxes", "liability"},
			{"2200", "Payable", "liability"},
			{"2400", "Distributions", "liability"},
			{"2900", "Opening balance", "liability"},
			{"4000", "Rent", "revenue"},
			{"4010", "Cleaning fees", "revenue"},
			{"4100", "Manager revenue", "revenue"},
			{"5100", "Management commission", "expense"},
			{"5110", "Cleaning", "expense"},
			{"5120", "Other fees", "expense"},
			{"5200", "Repairs", "expense"},
		} {
			b.accounts[a.code] = tx.NewID()
			stmts = append(stmts, db.Stmt{
				SQL: `insert into account (team_id, id, code, name, type, category_id, created_at, updated_at)
				values (@team, @id, @code, @name, 'ledger', @category, @now, @now)`,
				Args: db.Args{"team": tx.Team, "id": b.accounts[a.code], "code": a.code, "name": a.name, "category": categories[a.class], "now": tx.Now},
			})
		}

		for assignment, code := range map[string]string{"openingBalance": "2900", "payout_distribution": "2400"} {
			stmts = append(stmts, db.Stmt{
				SQL:  `insert into account_assignment (team_id, assignment, account_id) values (@team, @assignment, @id)`,
				Args: db.Args{"team": tx.Team, "assignment": assignment, "id": b.accounts[code]},
			})
		}

		return tx.Pipeline(ctx, stmts...)
	})
	b.a, b.b = b.contact("Ada"), b.contact("Ben")
	b.listing = b.newListing("Villa Aurora")
	b.period = b.newPeriod(b.listing, map[string]any{"reserve": 20000})
	b.member(b.period, 1, b.a, 60000)
	b.member(b.period, 2, b.b, 40000)

	return b
}

func (b *books) contact(name string) id.ID {
	b.t.Helper()
	v := id.New(b.DB.Now())
	b.Exec(`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) values (@team, @id, @ref, 'owner', @name, @now, @now)`,
		db.Args{"id": v, "ref": v.ShortRef(), "name": name, "now": b.DB.Now()})

	return v
}

func (b *books) newListing(name string) id.ID {
	b.t.Helper()
	v := id.New(b.DB.Now())
	b.Exec(`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at) values (@team, @id, @ref, @name, 'usd', @now, @now)`,
		db.Args{"id": v, "ref": v.ShortRef(), "name": name, "now": b.DB.Now()})

	return v
}

// newPeriod takes start_at, end_at and reserve.
func (b *books) newPeriod(listing id.ID, with map[string]any) id.ID {
	b.t.Helper()
	v := id.New(b.DB.Now())
	b.Exec(`insert into listing_ownership_period (team_id, id, listing_id, start_at, end_at, reserve, created_at, updated_at)
		values (@team, @id, @listing, @start::text::date, @end::text::date, @reserve, @now, @now)`,
		db.Args{"id": v, "listing": listing, "start": with["start"], "end": with["end"], "reserve": with["reserve"], "now": b.DB.Now()})

	return v
}

func (b *books) member(period id.ID, position int, contact id.ID, split int) {
	b.t.Helper()
	b.Exec(`insert into listing_ownership_member (team_id, period_id, position, contact_id, split) values (@team, @period, @position, @contact, @split)`,
		db.Args{"period": period, "position": position, "contact": contact, "split": split})
}

// side is an entry: o marks those of the owners.
type side struct {
	account string
	cents   money.Cents
	o       bool
}

// event is a posting and what it belongs to.
type event struct {
	trigger                  string // of all entries; manual when empty
	at                       string
	source, period           id.ID
	transaction, reservation id.ID
	currency                 string
	description              string
}

func (b *books) post(e event, sides ...side) {
	b.t.Helper()

	if err := b.tryPost(e, sides...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *books) tryPost(e event, sides ...side) error {
	b.t.Helper()

	if e.source.IsZero() {
		e.source = id.New(b.DB.Now())
	}

	if e.period.IsZero() {
		e.period = b.period
	}

	if e.currency == "" {
		e.currency = "usd"
	}

	p := ledger.Posting{
		SourceID: e.source, TxnCode: e.source.String(), Ledger: ledger.Trust, Status: ledger.Active, TxnAt: date(b.t, e.at), Currency: e.currency,
	}
	for i, s := range sides {
		l := ledger.Line{
			Ref: string(rune('a' + i)), AccountID: b.accounts[s.account], CentTotal: s.cents, TransactionID: e.transaction, ReservationID: e.reservation,
			Trigger: cmp.Or(e.trigger, ledger.TriggerManual), Description: e.description,
		}
		if s.o {
			l.Party, l.OwnershipPeriodID, l.ListingID = ledger.Owners, e.period, b.listing
		}

		p.Lines = append(p.Lines, l)
	}

	return b.DB.Write(b.t.Context(), b.Scope(), func(ctx context.Context, tx *db.Tx) error {
		_, err := ledger.Replace(ctx, tx, []id.ID{e.source}, []ledger.Posting{p}, ledger.Lenience{})
		return err
	})
}

// income gives the owners an amount of rent.
func (b *books) income(at string, cents money.Cents) {
	b.t.Helper()
	b.post(event{at: at}, side{account: "2000", cents: cents}, side{account: "4000", cents: -cents, o: true})
}

// transaction stores a transaction of one line; statement may be the zero id.
func (b *books) transaction(kind, at, account string, total money.Cents, statement id.ID) id.ID {
	b.t.Helper()
	v := id.New(b.DB.Now())
	b.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
		values (@team, @id, @ref, @kind, @at, 'usd', @bank, @total, @now, @now)`,
		db.Args{"id": v, "ref": v.ShortRef(), "kind": kind, "at": date(b.t, at), "bank": b.accounts["1000"], "total": total, "now": b.DB.Now()})
	b.Exec(`insert into transaction_line (team_id, id, transaction_id, position, account_id, amount, total, statement_id)
		values (@team, @id, @transaction, 1, @account, @total, @total, @statement)`,
		db.Args{"id": id.New(b.DB.Now()), "transaction": v, "account": b.accounts[account], "total": total, "statement": statement})

	return v
}

// payout pays the owners; statement may be the zero id.
func (b *books) payout(at string, cents money.Cents, statement id.ID) id.ID {
	b.t.Helper()
	v := b.transaction("payout", at, "2400", cents, statement)
	b.post(event{at: at, source: v, transaction: v, description: "Payout"}, side{account: "2400", cents: cents, o: true}, side{account: "1000", cents: -cents})

	return v
}

// january books example J: a balance of 300.00, a payout of 100.00, a stay and an expense.
func (b *books) january() {
	b.t.Helper()
	b.post(event{at: "2025-12-31"}, side{account: "1000", cents: 30000}, side{account: "2900", cents: -30000, o: true})
	b.payout("2026-01-10", 10000, id.Zero)
	stay := id.New(b.DB.Now())
	b.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, guest_name, confirmation_code, check_in, check_out, currency, created_at, updated_at)
		values (@team, @id, @ref, @listing, 'booked', 'Grace Guest', 'HM123', '2026-01-29', '2026-02-03', 'usd', @now, @now)`,
		db.Args{"id": stay, "ref": stay.ShortRef(), "listing": b.listing, "now": b.DB.Now()})
	b.post(event{at: "2026-01-29", reservation: stay, description: "Stay"}, side{account: "2000", cents: 128800}, side{account: "4000", cents: -100000, o: true},
		side{account: "4010", cents: -15000, o: true}, side{account: "2100", cents: -13800})

	for account, cents := range map[string]money.Cents{"5100": 20000, "5110": 15000, "5120": 3796} {
		b.post(event{at: "2026-01-29", reservation: stay, description: "Fee"}, side{account: account, cents: cents, o: true}, side{account: "4100", cents: -cents})
	}

	bill := b.transaction("expense", "2026-01-15", "5200", 10000, id.Zero)
	b.post(event{at: "2026-01-15", source: bill, transaction: bill, trigger: ledger.TriggerExpense, description: "Boiler"}, side{account: "5200", cents: 10000, o: true}, side{account: "5200", cents: 1000, o: true},
		side{account: "5200", cents: 1650, o: true}, side{account: "2200", cents: -10000}, side{account: "4100", cents: -1000}, side{account: "2100", cents: -1650})
}

// at is the statement of a month of the first listing's period.
func (b *books) at(month string) string {
	b.t.Helper()
	return b.Get("/statements?month=" + month + "&periodIds=" + b.period.String()).Want(200).String("data.0.id")
}

func (b *books) save(month, status string) string {
	b.t.Helper()
	return b.Post("/statements", map[string]any{"month": month, "status": status, "listingPeriodIds": []id.ID{b.period}}).Want(201).String("data.0.id")
}

func date(t *testing.T, text string) day.Day {
	t.Helper()

	d, err := day.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// mails counts the e-mails that are asked for.
func (b *books) mails() (n int) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int](ctx, tx, `select count(*)::int from job where team_id = @team and kind = @kind`, db.Args{"team": tx.Team, "kind": statement.MailKind.String()})
		return err
	})

	return n
}
