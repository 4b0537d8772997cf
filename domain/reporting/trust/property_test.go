package trust_test

import (
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

// randomBooks is a team with books that are written anew for every draw.
type randomBooks struct {
	*trustBooks
	listings, periods, stays, contacts, transactions []id.ID
}

func newRandomBooks(t *testing.T) *randomBooks {
	t.Helper()
	b := &randomBooks{trustBooks: newTrustBooks(t)}
	b.contacts = []id.ID{b.contact("Anna"), b.contact("Ben"), b.contact("Chris")}
	alder, birch := fixture.Listing(b.Team, "Alder"), fixture.Listing(b.Team, "Birch")
	b.listings = []id.ID{alder, birch, id.Zero}
	b.periods = []id.ID{
		b.owned(alder, "", "2026-02-01", split{b.contacts[0], 33_333}, split{b.contacts[1], 66_667}),
		b.owned(alder, "2026-02-01", "", split{b.contacts[1], 100_000}),
		b.owned(birch, "2026-01-05", "", split{b.contacts[0], 50_000}, split{b.contacts[1], 30_000}, split{b.contacts[2], 20_000}),
		id.Zero,
	}

	b.stays = []id.ID{
		b.stayed(alder, "2026-01-02", "2026-01-05", "booked", "direct"), b.stayed(alder, "2026-01-20", "2026-02-10", "booked", "airbnb"),
		b.stayed(birch, "2026-03-01", "2026-03-08", "booked", ""), b.stayed(birch, "2026-01-09", "2026-01-12", "canceled", "airbnb"), id.Zero,
	}
	for _, kind := range []string{"deposit", "expense", "transfer", "payout"} {
		b.transactions = append(b.transactions, b.transacted(kind, "2026-01-01", false))
	}

	return b
}

var codesOfTrust = []string{"1000", "1010", "1100", "1110", "2000", "2010", "2100", "2110", "2200", "2300", "2400", "2500", "2900", "4000", "4100", "5000", "5200"}

// draw writes the books of one draw; what the last one wrote is gone.
func (b *randomBooks) draw(t *rapid.T) {
	gone := b.posted
	b.posted = nil

	var all []ledger.Posting

	for n := range rapid.IntRange(1, 8).Draw(t, "postings") {
		p := ledger.Posting{SourceID: b.newID(), Ledger: ledger.Trust, Status: ledger.Active, Currency: "usd"}

		p.TxnAt = date("2025-12-20").AddDays(rapid.IntRange(0, 80).Draw(t, "day"))
		if rapid.IntRange(0, 5).Draw(t, "ledger") == 0 {
			p.Ledger = ledger.Operating
		}

		of := rapid.IntRange(-2, len(b.transactions)-1).Draw(t, "transaction")
		p.TxnCode = fmt.Sprintf("random:%s:%d", p.SourceID, n)

		var open money.Cents

		for i := range rapid.IntRange(1, 4).Draw(t, "lines") {
			l := ledger.Line{
				Ref: strconv.Itoa(i), AccountID: b.Accounts[rapid.SampledFrom(codesOfTrust).Draw(t, "account")], Trigger: ledger.TriggerManual,
				CentTotal: money.Cents(rapid.Int64Range(1, 99_999).Draw(t, "cents")), ListingID: rapid.SampledFrom(b.listings).Draw(t, "listing"),
				Party:         rapid.SampledFrom([]ledger.Party{ledger.NoParty, ledger.Owners, ledger.Manager}).Draw(t, "party"),
				ReservationID: rapid.SampledFrom(b.stays).Draw(t, "stay"), ContactID: rapid.SampledFrom(append(b.contacts, id.Zero)).Draw(t, "contact"),
			}
			if rapid.Bool().Draw(t, "credit") {
				l.CentTotal = -l.CentTotal
			}

			if l.Party == ledger.Owners {
				l.OwnershipPeriodID = b.periodOf(l.ListingID, rapid.IntRange(0, 2).Draw(t, "period"))
			}

			open += l.CentTotal
			p.Lines = append(p.Lines, l)
		}

		if open != 0 {
			p.Lines = append(p.Lines, ledger.Line{Ref: "rest", AccountID: b.Accounts["1000"], CentTotal: -open, Trigger: ledger.TriggerManual})
		}

		if of >= 0 {
			for i := range p.Lines {
				p.Lines[i].TransactionID = b.transactions[of]
			}
		}

		if len(p.Lines) < 2 {
			continue
		}

		all = append(all, p)
		b.posted = append(b.posted, p.SourceID)
	}

	b.Replace(append(gone, b.posted...), all...)
}

// periodOf is one of the listing's ownership periods, or none; entries never name another listing's.
func (b *randomBooks) periodOf(listing id.ID, n int) id.ID {
	switch listing {
	case b.listings[0]:
		return []id.ID{b.periods[0], b.periods[1], id.Zero}[n]
	case b.listings[1]:
		return []id.ID{b.periods[2], b.periods[2], id.Zero}[n]
	default:
		return id.Zero
	}
}

// Whatever the books, the second and the third leg are equal: the money at the bank is guests', tax offices', vendors',
// owners', the manager's, or between the ledgers (invariant 3). Its parts add up, by listing too, and the rest can
// be drawn.
func TestLegsOfRandomBooksAreEqual(t *testing.T) {
	t.Parallel()
	b := newRandomBooks(t)
	rapid.Check(t, func(r *rapid.T) {
		b.draw(r)
		at := date("2025-12-15").AddDays(rapid.IntRange(0, 100).Draw(r, "date")).String()
		trust := b.Get("/reports/trust-reconciliation?date=" + at).Want(200)

		total := trust.Int("liabilities.centTotal")
		if trust.Int("book.centTotal") != total || trust.Int("difference.bookToLiabilities") != 0 {
			r.Fatalf("book %d, liabilities %d", trust.Int("book.centTotal"), total)
		}

		if trust.Int("bank.adjustedBalance") != trust.Int("book.centTotal") {
			r.Fatalf("without bank records everything is on its way: %d of %d", trust.Int("bank.adjustedBalance"), trust.Int("book.centTotal"))
		}

		sum := trust.Int("liabilities.guestBalances.centTotal") + trust.Int("liabilities.ownerBalances.centTotal") +
			trust.Int("liabilities.managerBalance.centTotal") + trust.Int("liabilities.fundsHeldElsewhere.centTotal")
		for _, cents := range claimed(trust) {
			sum += cents
		}

		if sum != total {
			r.Fatalf("the rows come to %d, not %d", sum, total)
		}

		b.splitsAddUp(r, trust)
		byListing := b.Get("/reports/trust-reconciliation/by-listing?date=" + at).Want(200)

		listed := int64(0)
		for i := range byListing.Len("data") {
			listed += byListing.Int(fmt.Sprintf("data.%d.centTotal", i))
		}

		if listed != total || byListing.Int("centTotal") != total {
			r.Fatalf("the listings come to %d, not %d", listed, total)
		}

		b.canBeDrawn(r, at, trust)
	})
}

func (b *randomBooks) splitsAddUp(t *rapid.T, trust *apitest.Response) {
	guests := int64(0)

	for _, status := range []string{"departed", "inHouse", "upcoming", "cancelled", "unassigned"} {
		at := "liabilities.guestBalances." + status

		guests += trust.Int(at + ".centTotal")
		if status != "unassigned" && trust.Int(at+".deposits.centTotal")+trust.Int(at+".receivables.centTotal") != trust.Int(at+".centTotal") {
			t.Fatalf("%s: deposits and receivables do not add up", status)
		}
	}

	if guests != trust.Int("liabilities.guestBalances.centTotal") {
		t.Fatalf("guests come to %d", guests)
	}

	owners := int64(0)

	for i := range trust.Len("liabilities.ownerBalances.listings") {
		at := fmt.Sprintf("liabilities.ownerBalances.listings.%d.", i)
		owners += trust.Int(at + "centTotal")
		periods := int64(0)

		for n := range trust.Len(at + "periods") {
			of := fmt.Sprintf("%speriods.%d.", at, n)
			periods += trust.Int(of + "centTotal")

			shares := int64(0)
			for k := range trust.Len(of + "shares") {
				shares += trust.Int(fmt.Sprintf("%sshares.%d.centTotal", of, k))
			}

			if trust.Len(of+"shares") > 0 && shares != trust.Int(of+"centTotal") {
				t.Fatalf("%s: shares come to %d", of, shares)
			}
		}

		if periods != trust.Int(at+"centTotal") {
			t.Fatalf("%s: periods come to %d of %d", at, periods, trust.Int(at+"centTotal"))
		}
	}

	if owners != trust.Int("liabilities.ownerBalances.centTotal") {
		t.Fatalf("owners come to %d", owners)
	}
}

// canBeDrawn compares the available balance with the bank less everything that is held for others.
func (b *randomBooks) canBeDrawn(t *rapid.T, at string, trust *apitest.Response) {
	d := b.Get("/reports/manager-statements/detail?startAt=2026&endAt=" + max(at, "2026-01-01")).Want(200)
	if at < "2026-01-01" {
		return
	}

	rows := claimed(trust)

	left := trust.Int("book.centTotal") - rows["deferredRevenue"] - rows["taxes"] - rows["accountsPayable"] - rows["securityDeposits"]
	for _, status := range []string{"departed", "inHouse", "upcoming", "cancelled"} {
		left -= trust.Int("liabilities.guestBalances." + status + ".deposits.centTotal")
	}

	left -= max(0, trust.Int("liabilities.guestBalances.unassigned.centTotal"))
	for i := range trust.Len("liabilities.ownerBalances.listings") {
		for n := range trust.Len(fmt.Sprintf("liabilities.ownerBalances.listings.%d.periods", i)) {
			left -= max(0, trust.Int(fmt.Sprintf("liabilities.ownerBalances.listings.%d.periods.%d.centTotal", i, n)))
		}
	}

	if d.Int("financials.availableBalance") != left {
		t.Fatalf("available %d, in the bank beyond what is held for others %d", d.Int("financials.availableBalance"), left)
	}
}

// Each month starts with the end of the one before, in the list and in each statement; the end is the manager's
// balance of the reconciliation.
func TestManagerStatementsRollForward(t *testing.T) {
	t.Parallel()
	b := newRandomBooks(t)
	rapid.Check(t, func(r *rapid.T) {
		start := rapid.SampledFrom([]string{"2025-12-01", "2026-01-01", "2026-02-01"}).Draw(r, "statements from")
		b.Exec(`update team set statement_start_at = @at::text::date where team_id = @team`, db.Args{"at": start})
		b.draw(r)
		list := b.Get("/reports/manager-statements?limit=250").Want(200)
		months := list.Len("data")

		single := months - 1 - rapid.IntRange(0, 3).Draw(r, "the month that is read alone")
		for i := range months {
			at := fmt.Sprintf("data.%d.", i)
			if i > 0 && list.Int(at+"financials.balanceEnd") != list.Int(fmt.Sprintf("data.%d.financials.balanceStart", i-1)) {
				r.Fatalf("%s ends with %d, the next month starts with %d", list.String(at+"startAt"), list.Int(at+"financials.balanceEnd"),
					list.Int(fmt.Sprintf("data.%d.financials.balanceStart", i-1)))
			}

			if i != single {
				continue
			}

			month := b.Get("/reports/manager-statements/detail?startAt=" + list.String(at+"startAt") + "&endAt=" + list.String(at+"endAt")).Want(200)
			for _, figure := range []string{"balanceStart", "netRevenue", "expenses", "netIncome", "adjustments", "transfers", "balanceEnd"} {
				if month.Int("financials."+figure) != list.Int(at+"financials."+figure) {
					r.Fatalf("%s of %s: %d in the list, %d alone", figure, list.String(at+"startAt"), list.Int(at+"financials."+figure), month.Int("financials."+figure))
				}
			}
		}

		trust := b.Get("/reports/trust-reconciliation?date=" + list.String("data.0.endAt")).Want(200)
		if end := list.Int("data.0.financials.balanceEnd"); end != trust.Int("liabilities.managerBalance.centTotal") {
			r.Fatalf("the statements end with %d, the reconciliation says %d", end, trust.Int("liabilities.managerBalance.centTotal"))
		}
	})
}

// Every drill-down of every report selects exactly the entries that add up to its figure, whatever the books.
func TestDrilldownsOfRandomBooks(t *testing.T) {
	t.Parallel()
	b := newRandomBooks(t)

	for seed := range 6 {
		rapid.Custom(func(r *rapid.T) bool { b.draw(r); return true }).Example(seed)

		for _, path := range []string{
			"/reports/trust-reconciliation?date=2026-01-31", "/reports/trust-reconciliation/by-listing?date=2026-02-12",
			"/reports/guest-balances?date=2026-02-20", "/reports/manager-statements/detail?startAt=2026-01&endAt=2026-02",
			"/reports/manager-statements?limit=250&year=2026",
			"/reports/sales-tax-liability?startDate=2026&endDate=2026&taxableLineIds=" + b.Accounts["4000"].String(),
		} {
			b.proves(t, b.Get(path).Want(200))
		}
	}
}
