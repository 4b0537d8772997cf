package trust_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/posted"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var date = posted.Date

// trustBooks are books with a ledger that a test writes line by line.
type trustBooks struct {
	*posted.Books
	posted []id.ID
}

func newTrustBooks(t testing.TB) *trustBooks {
	t.Helper()
	b := &trustBooks{Books: posted.New(t)}
	b.Exec(`update team set statement_start_at = '2026-01-01' where team_id = @team`, db.Args{})

	return b
}

func (b *trustBooks) newID() id.ID { return id.New(b.DB.Now()) }

func (b *trustBooks) contact(name string) id.ID {
	c := b.newID()
	b.Exec(`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) values (@team, @id, @ref, 'owner', @name, now(), now())`,
		db.Args{"id": c, "ref": c.String(), "name": name})

	return c
}

type split struct {
	contact id.ID
	parts   int64
}

// owned gives a listing to owners; an empty date is no bound.
func (b *trustBooks) owned(listing id.ID, start, end string, members ...split) id.ID {
	p := b.newID()
	b.Exec(`insert into listing_ownership_period (team_id, id, listing_id, start_at, end_at, created_at, updated_at)
		values (@team, @id, @listing, nullif(@start, '')::date, nullif(@end, '')::date, now(), now())`,
		db.Args{"id": p, "listing": listing, "start": start, "end": end})

	for i, m := range members {
		b.Exec(`insert into listing_ownership_member (team_id, period_id, position, contact_id, split) values (@team, @id, @n, @contact, @split)`,
			db.Args{"id": p, "n": i + 1, "contact": m.contact, "split": m.parts})
	}

	return p
}

// stayed books a stay without lines: the test writes its journal.
func (b *trustBooks) stayed(listing id.ID, checkIn, checkOut, status, channel string) id.ID {
	r := b.newID()
	b.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, guest_name, confirmation_code, check_in, check_out, booking_platform, currency, created_at, updated_at)
		values (@team, @id, @ref, @listing, @status, 'Guest of ' || @in::text, 'C-' || @in, @in::text::date, @out::text::date, nullif(@channel, ''), 'usd', now(), now())`,
		db.Args{"id": r, "ref": r.String(), "listing": listing, "status": status, "in": checkIn, "out": checkOut, "channel": channel})

	return r
}

func (b *trustBooks) transacted(kind, at string, opening bool) id.ID {
	x := b.newID()
	b.Exec(`insert into transaction (team_id, id, short_ref, type, date, description, currency, is_opening_balance, account_id, total, created_at, updated_at)
		values (@team, @id, @ref, @kind, @at::text::date, @kind, 'usd', @opening, @account, 0, now(), now())`,
		db.Args{"id": x, "ref": x.String(), "kind": kind, "at": at, "opening": opening, "account": b.Accounts["1000"]})

	return x
}

// leg is an entry to be: cents on an account, debit positive.
type leg struct {
	code  string
	cents money.Cents
	ledger.Line
}

func dr(code string, cents money.Cents) leg { return leg{code: code, cents: cents} }

func cr(code string, cents money.Cents) leg { return leg{code: code, cents: -cents} }

func (l leg) owners(listing, period id.ID) leg {
	l.Party, l.ListingID, l.OwnershipPeriodID = ledger.Owners, listing, period
	return l
}

func (l leg) manager(listing id.ID) leg {
	l.Party, l.ListingID = ledger.Manager, listing
	return l
}

func (l leg) at(listing id.ID) leg { l.ListingID = listing; return l }

func (l leg) of(stay, listing id.ID) leg { l.ReservationID, l.ListingID = stay, listing; return l }

func (l leg) to(contact id.ID) leg { l.ContactID = contact; return l }

// book posts legs for a source, as a transaction's when it is one.
func (b *trustBooks) book(source id.ID, isTransaction bool, at string, legs ...leg) {
	b.bookIn(ledger.Trust, source, isTransaction, at, legs...)
}

func (b *trustBooks) bookIn(in ledger.Ledger, source id.ID, isTransaction bool, at string, legs ...leg) {
	p := ledger.Posting{SourceID: source, Ledger: in, Status: ledger.Active, TxnAt: date(at), Currency: "usd"}

	p.TxnCode = fmt.Sprintf("test:%s:%s:%d", source, at, len(b.posted))
	for i, l := range legs {
		l.Ref, l.AccountID, l.CentTotal, l.Trigger = strconv.Itoa(i), b.Accounts[l.code], l.cents, ledger.TriggerManual
		if isTransaction {
			l.TransactionID = source
		}

		p.Lines = append(p.Lines, l.Line)
	}

	one := b.newID() // every posting has a source of its own, so that replacing one leaves the others
	if isTransaction {
		one = source
	} else {
		p.SourceID = one
	}

	b.Replace([]id.ID{one}, p)
	b.posted = append(b.posted, one)
}

// recorded adds a bank record of the trust bank, matched with transactions when any are given.
func (b *trustBooks) recorded(at string, cents money.Cents, transactions ...id.ID) id.ID {
	r := b.newID()
	b.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at) values (@team, @id, @account, @at::text::date, @cents, now(), now())`,
		db.Args{"id": r, "account": b.Accounts["1000"], "at": at, "cents": cents})

	for _, x := range transactions {
		b.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			values (@team, @record, @transaction, @account, @cents, now())`,
			db.Args{"record": r, "transaction": x, "account": b.Accounts["1000"], "cents": cents / money.Cents(len(transactions))})
	}

	return r
}

func (b *trustBooks) stated(at string, balance money.Cents) {
	b.Exec(`insert into bank_record (team_id, id, account_id, date, type, amount, balance, created_at, updated_at)
		values (@team, @id, @account, @at::text::date, 'balance', 0, @balance, now(), now())`,
		db.Args{"id": b.newID(), "account": b.Accounts["1000"], "at": at, "balance": balance})
}

// figureAt is a figure with its drill-down as found in an answer.
type figureAt struct {
	path   string
	cents  int64
	filter any
}

// figuresOf finds the figures of an answer that have a drill-down: next to it, or, in drilldowns, the field of the same
// name above it.
func figuresOf(t *testing.T, path string, node any, above map[string]any) []figureAt {
	t.Helper()

	var out []figureAt

	switch n := node.(type) {
	case []any:
		for i, item := range n {
			out = append(out, figuresOf(t, fmt.Sprintf("%s.%d", path, i), item, above)...)
		}
	case map[string]any:
		for name, value := range n {
			at := path + "." + name

			d, _ := value.(map[string]any)
			if d == nil || d["type"] != "journalEntryReport" {
				out = append(out, figuresOf(t, at, value, n)...)
				continue
			}

			f := figureAt{path: at, filter: d["filter"]}

			holder, names := n, []string{"centTotal", "total"}
			if strings.HasSuffix(path, ".drilldowns") {
				holder, names = above, []string{name, name + "Total"}
				if financials, ok := above["financials"].(map[string]any); ok {
					holder = financials
				}
			}

			found := false

			for _, candidate := range names {
				if cents, ok := holder[candidate].(interface{ Int64() (int64, error) }); ok {
					f.cents, _ = cents.Int64()
					found = true
				} else if cents, ok := holder[candidate].(float64); ok {
					f.cents, found = int64(cents), true
				}
			}

			if !found {
				t.Errorf("%s: a drill-down without a figure", at)
			}

			out = append(out, f)
		}
	}

	return out
}

// debitSide are the figures that show money the trust has, or is owed, rather than money it owes.
var debitSide = regexp.MustCompile(`(?i)book|aging|charges`)

// proves sends every drill-down of an answer to the journal entries: they must add up to the figure.
func (b *trustBooks) proves(t *testing.T, r *apitest.Response) int {
	t.Helper()

	var answer any
	r.Into(&answer)

	figures := figuresOf(t, "", answer, nil)
	for _, f := range figures {
		totals := b.Get("/reports/journal-entries?limit=1&" + posted.AsQuery(f.filter)).Want(200)
		net := totals.Int("totals.debit") - totals.Int("totals.credit")

		want := -f.cents
		if debitSide.MatchString(f.path) {
			want = f.cents
		}

		if net != want && (!strings.HasPrefix(f.path, ".warnings") && !strings.Contains(f.path, "warnings.") || net != -want) {
			t.Errorf("%s is %d, its entries come to %d: %v", f.path, f.cents, net, f.filter)
		}
	}

	return len(figures)
}

func cents64(cents int64) money.Cents { return money.Cents(cents) }

// mapping is the id of a line type's mapping.
func (b *trustBooks) mapping(lineType string) (found id.ID) {
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Get[id.ID](ctx, tx, `select id from reservation_line_mapping where team_id = @team and line_type = @type`,
			db.Args{"team": tx.Team, "type": lineType})

		return err
	})

	return found
}
