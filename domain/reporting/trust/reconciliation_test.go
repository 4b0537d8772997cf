package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

// january are the books of the worked table: the stay pro rata, the opening owner balance, the payout and the bill.
type january struct {
	*trustBooks
	villa, period, anna, ben, stay id.ID
	opening, paid, cheque          id.ID
	deposits                       [2]id.ID
}

func newJanuary(t *testing.T) *january {
	t.Helper()
	j := &january{trustBooks: newTrustBooks(t)}
	j.anna, j.ben, j.villa = j.contact("Anna"), j.contact("Ben"), fixture.Listing(j.Team, "Villa")
	j.period = j.owned(j.villa, "", "", split{j.anna, 60_000}, split{j.ben, 40_000})

	j.stay = j.stayed(j.villa, "2026-01-29", "2026-02-03", "booked", "direct")
	for i, at := range []string{"2026-01-05", "2026-01-22"} {
		j.deposits[i] = j.transacted("deposit", at, false)
		j.book(j.deposits[i], true, at, dr("1000", 62502), dr("5010", 1898).manager(j.villa).of(j.stay, j.villa), cr("2000", 64400).of(j.stay, j.villa))
	}

	nights := func(at string, guest, rent, cleaning, tax, commission, merchant money.Cents) {
		o := func(l leg) leg { return l.owners(j.villa, j.period).of(j.stay, j.villa) }
		m := func(l leg) leg { return l.manager(j.villa).of(j.stay, j.villa) }

		j.book(j.stay, false, at, dr("2000", guest).of(j.stay, j.villa), o(cr("4000", rent)), o(cr("4010", cleaning)), cr("2100", tax).of(j.stay, j.villa))
		j.book(j.stay, false, at, o(dr("5100", commission)), m(cr("4100", commission)))
		j.book(j.stay, false, at, o(dr("5110", cleaning)), m(cr("4110", cleaning)))
		j.book(j.stay, false, at, o(dr("5120", merchant)), m(cr("4120", merchant)))
	}
	nights("2026-01-29", 77280, 60000, 9000, 8280, 12000, 2278)
	nights("2026-02-01", 51520, 40000, 6000, 5520, 8000, 1518)

	j.opening = j.transacted("deposit", "2025-12-31", true)
	j.book(j.opening, true, "2025-12-31", dr("1000", 30000), cr("2900", 30000).owners(j.villa, j.period))
	j.paid = j.transacted("payout", "2026-01-10", false)
	j.book(j.paid, true, "2026-01-10", dr("2400", 10000).owners(j.villa, j.period), cr("1000", 10000))
	bill := j.transacted("expense", "2026-01-15", false)
	j.book(bill, true, "2026-01-15", dr("5200", 12650).owners(j.villa, j.period), cr("2200", 10000).at(j.villa), cr("4190", 1000).manager(j.villa),
		cr("2110", 1650).at(j.villa))
	j.cheque = j.transacted("expense", "2026-01-20", false)
	j.book(j.cheque, true, "2026-01-20", dr("2200", 10000).at(j.villa), cr("1000", 10000))

	return j
}

func (j *january) banked() {
	j.stated("2025-12-31", 30000)
	j.recorded("2026-01-05", 62502, j.deposits[0])
	j.recorded("2026-01-10", -10000, j.paid)
	j.recorded("2026-01-22", 62502, j.deposits[1])
}

// claimed are the rows of the third leg by claim.
func claimed(r *apitest.Response) map[string]int64 {
	out := map[string]int64{}
	for i := range r.Len("liabilities.rows") {
		out[r.String(fmt.Sprintf("liabilities.rows.%d.claim", i))] = r.Int(fmt.Sprintf("liabilities.rows.%d.centTotal", i))
	}

	return out
}

func warned(r *apitest.Response, path string) string {
	var codes []string
	for i := range r.Len(path) {
		codes = append(codes, r.String(fmt.Sprintf("%s.%d.code", path, i)))
	}

	return strings.Join(codes, " ")
}

func wantInts(t *testing.T, r *apitest.Response, want map[string]int64) {
	t.Helper()

	for path, cents := range want {
		if got := r.Int(path); got != cents {
			t.Errorf("%s = %d, want %d", path, got, cents)
		}
	}
}

// The worked table, to the cent.
func TestTrustReconciliationOfTheWorkedTable(t *testing.T) {
	t.Parallel()
	j := newJanuary(t)
	j.banked()
	r := j.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)
	wantInts(t, r, map[string]int64{
		"bank.statementBalance": 145004, "bank.depositsInTransit": 0, "bank.outstandingPayments": -10000, "bank.adjustedBalance": 135004,
		"book.centTotal": 135004, "liabilities.centTotal": 135004, "difference.bankToBook": 0, "difference.bookToLiabilities": 0,
		"liabilities.guestBalances.centTotal": 51520, "liabilities.guestBalances.inHouse.centTotal": 51520,
		"liabilities.guestBalances.inHouse.deposits.centTotal": 51520, "liabilities.guestBalances.departed.centTotal": 0,
		"liabilities.ownerBalances.centTotal": 53072, "liabilities.ownerBalances.listings.0.periods.0.shares.0.centTotal": 31843,
		"liabilities.ownerBalances.listings.0.periods.0.shares.1.centTotal": 21229, "liabilities.managerBalance.centTotal": 20482,
		"liabilities.ownerBalances.owners.0.centTotal": 31843,
	})

	rows := claimed(r)
	if rows["taxes"] != 8280+1650 || rows["accountsPayable"] != 0 || rows["trustSurplus"] != 0 || rows["other"] != 0 {
		t.Errorf("rows: %v", rows)
	}

	if r.Len("warnings") != 0 {
		t.Errorf("warnings: %s", warned(r, "warnings"))
	}

	if n := j.proves(t, r); n < 20 {
		t.Errorf("only %d figures have a drill-down", n)
	}
	// The cheque clears: nothing is outstanding any more.
	j.recorded("2026-02-02", -10000, j.cheque)
	later := j.Get("/reports/trust-reconciliation?date=2026-02-02").Want(200)
	wantInts(t, later, map[string]int64{
		"bank.statementBalance": 135004, "bank.outstandingPayments": 0, "difference.bankToBook": 0, "liabilities.guestBalances.centTotal": 0,
		"liabilities.ownerBalances.centTotal": 53072 + 30482, "liabilities.managerBalance.centTotal": 20482 + 8000 + 6000 + 1518,
	})

	if got := j.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200).Int("bank.statementBalance"); got != 145004 {
		t.Errorf("what cleared in February counts in January: %d", got)
	}
}

func TestTrustReconciliationByListing(t *testing.T) {
	t.Parallel()
	j := newJanuary(t)
	r := j.Get("/reports/trust-reconciliation/by-listing?date=2026-01-31").Want(200)
	wantInts(t, r, map[string]int64{
		"book.centTotal": 135004, "centTotal": 135004, "difference": 0, "pagination.total": 1, "data.0.centTotal": 135004,
		"data.0.guestBalances.inHouse.centTotal": 51520, "data.0.taxes.centTotal": 9930, "data.0.ownerBalances.centTotal": 53072,
		"data.0.managerBalance.centTotal": 20482, "data.0.periods.0.shares.0.centTotal": 31843,
	})
	j.proves(t, r)
	other := fixture.Listing(j.Team, "Alder")
	x := j.transacted("deposit", "2026-01-08", false)
	j.book(x, true, "2026-01-08", dr("1000", 500), cr("2300", 400).at(other), cr("2010", 100))
	r = j.Get("/reports/trust-reconciliation/by-listing?date=2026-01-31").Want(200)
	wantInts(t, r, map[string]int64{
		"pagination.total": 3, "data.0.securityDeposits.centTotal": 400, "data.2.deferredRevenue.centTotal": 100, "difference": 0, "centTotal": 135504,
	})

	if r.String("data.0.name") != "Alder" || r.Value("data.2.id") != nil {
		t.Error("listings come by name, what belongs to none comes last")
	}

	second := j.Get("/reports/trust-reconciliation/by-listing?date=2026-01-31&limit=1&page=2").Want(200)
	if second.Len("data") != 1 || second.ID("data.0.id") != j.villa || second.Int("centTotal") != 135504 {
		t.Error("page 2 is the villa")
	}

	only := j.Get("/reports/trust-reconciliation/by-listing?date=2026-01-31&listingIds=" + other.String()).Want(200)
	if only.Len("data") != 1 || only.ID("data.0.id") != other {
		t.Error("listingIds")
	}

	j.proves(t, r)
}

// What a payout brought one member comes off that member's part alone.
func TestOwnerSharesKeepPayoutsApart(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	anna, ben, villa := b.contact("Anna"), b.contact("Ben"), fixture.Listing(b.Team, "Villa")
	first := b.owned(villa, "", "2026-02-01", split{anna, 60_000}, split{ben, 40_000})
	second := b.owned(villa, "2026-02-01", "", split{ben, 100_000})
	in := b.transacted("deposit", "2026-01-05", false)
	b.book(in, true, "2026-01-05", dr("1000", 10001), cr("4000", 10001).owners(villa, first))
	out := b.transacted("payout", "2026-01-20", false)
	b.book(out, true, "2026-01-20", dr("2400", 6001).owners(villa, first).to(anna), cr("1000", 6001))
	next := b.transacted("deposit", "2026-02-05", false)
	b.book(next, true, "2026-02-05", dr("1000", 700), cr("4000", 700).owners(villa, second))
	stray := b.transacted("deposit", "2026-02-06", false)
	b.book(stray, true, "2026-02-06", dr("1000", 50), cr("4000", 50).owners(villa, id.Zero))
	r := b.Get("/reports/trust-reconciliation?date=2026-02-28").Want(200)

	const at = "liabilities.ownerBalances.listings.0.periods."
	wantInts(t, r, map[string]int64{
		"liabilities.ownerBalances.listings.0.centTotal": 4750, at + "0.centTotal": 4000, at + "0.shares.0.centTotal": 0, at + "0.shares.1.centTotal": 4000,
		at + "1.centTotal": 700, at + "1.shares.0.centTotal": 700, at + "2.centTotal": 50,
		"liabilities.ownerBalances.owners.0.centTotal": 0, "liabilities.ownerBalances.owners.1.centTotal": 4700,
	})

	if got := warned(r, "warnings"); got != "ownerBalanceAfterOwnershipEnded ownerBalanceWithoutOwnership bankRecordsMissing" {
		t.Errorf("warnings: %s", got)
	}

	b.proves(t, r)
}

func TestTrustWarnings(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	anna, villa := b.contact("Anna"), fixture.Listing(b.Team, "Villa")
	former := b.owned(villa, "", "2026-01-10", split{anna, 100_000})
	now := b.owned(villa, "2026-01-10", "", split{anna, 100_000})
	gone, coming := b.stayed(villa, "2026-01-02", "2026-01-05", "booked", ""), b.stayed(villa, "2026-03-02", "2026-03-05", "booked", "")
	deposit := b.transacted("deposit", "2026-01-02", false)
	b.book(deposit, true, "2026-01-02", dr("1000", 90000), cr("2000", 90000).of(gone, villa))
	b.book(gone, false, "2026-01-02", dr("2000", 100000).of(gone, villa), cr("4000", 100000).owners(villa, former))
	b.book(coming, false, "2026-01-15", dr("2000", 5000).of(coming, villa), cr("4000", 5000).owners(villa, now))
	bill := b.transacted("expense", "2026-01-20", false)
	b.book(bill, true, "2026-01-20", dr("5200", 7000).manager(villa), cr("1000", 7000))
	repair := b.transacted("expense", "2026-01-21", false)
	b.book(repair, true, "2026-01-21", dr("5200", 9000).owners(villa, now), cr("1000", 9000))
	b.stated("2025-12-31", 0)
	unmatched := b.recorded("2026-01-25", 333)
	r := b.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)

	want := "negativeOwnerBalance negativeManagerBalance departedGuestBalance ownerBalanceAfterOwnershipEnded upcomingStayPastDue unmatchedBankRecords " +
		"operatingCostPaidFromTrust bankDiffersFromBooks"
	if got := warned(r, "warnings"); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}

	wantInts(t, r, map[string]int64{
		"warnings.0.total": -4000, "warnings.1.total": -7000, "warnings.2.total": -10000, "warnings.3.total": 100000, "warnings.4.total": -5000,
		"warnings.5.total": 333, "warnings.6.total": 7000, "warnings.7.total": 333, "difference.bankToBook": 333,
		"bank.depositsInTransit": 90000, "bank.outstandingPayments": -16000,
	})

	if r.ID("warnings.5.items.0.bankRecordId") != unmatched || r.ID("warnings.2.items.0.reservationId") != gone || r.ID("warnings.6.items.0.transactionId") != bill {
		t.Error("items name what they are about")
	}

	b.proves(t, r)
	byListing := b.Get("/reports/trust-reconciliation/by-listing?date=2026-01-31").Want(200)

	want = "negativeOwnerBalance negativeManagerBalance departedGuestBalance ownerBalanceAfterOwnershipEnded upcomingStayPastDue operatingCostPaidFromTrust"
	if got := warned(byListing, "data.0.warnings"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	b.proves(t, byListing)
	// In the next month the cost is no news any more.
	if got := warned(b.Get("/reports/trust-reconciliation?date=2026-02-15").Want(200), "warnings"); strings.Contains(got, "operatingCost") {
		t.Error(got)
	}
}

// Where a listing has had one ownership period only, entries dated outside it still belong to no one.
func TestOwnerBalanceOfTheOnlyPeriod(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	villa := fixture.Listing(b.Team, "Villa")
	only := b.owned(villa, "2026-01-10", "", split{b.contact("Anna"), 100_000})
	x := b.transacted("deposit", "2026-01-05", false)
	b.book(x, true, "2026-01-12", dr("1000", 1000), cr("4000", 900).owners(villa, only), cr("4010", 100).owners(villa, id.Zero))
	r := b.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)

	const at = "liabilities.ownerBalances.listings.0.periods."
	wantInts(t, r, map[string]int64{at + "0.centTotal": 900, at + "1.centTotal": 100, at + "0.shares.0.centTotal": 900})

	if r.Value(at+"1.id") != nil || r.Len(at+"1.shares") != 0 {
		t.Error("what is nobody's has no period and no owners")
	}

	b.proves(t, r)
}

// A stated balance is that of the end of its day: movements of the day are in it, later ones come on top.
func TestBankLegFromAStatedBalance(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	b.stated("2026-01-01", 7)
	b.recorded("2026-01-10", 100)
	b.stated("2026-01-10", 500)
	b.recorded("2026-01-11", 40)
	b.stated("2026-01-20", 1000)

	for at, want := range map[string]int64{"2026-01-09": 7, "2026-01-10": 500, "2026-01-11": 540, "2026-01-19": 540, "2026-01-20": 1000, "2025-12-31": 0} {
		if got := b.Get("/reports/trust-reconciliation?date=" + at).Want(200).Int("bank.statementBalance"); got != want {
			t.Errorf("%s: %d, want %d", at, got, want)
		}
	}
}

// A partly matched transaction is open for the rest, and other teams' records never count.
func TestBankLegOfPartMatches(t *testing.T) {
	t.Parallel()
	b, other := newTrustBooks(t), newTrustBooks(t)
	x := b.transacted("deposit", "2026-01-05", false)
	b.book(x, true, "2026-01-05", dr("1000", 1000), cr("2000", 1000))
	b.recorded("2026-01-06", 400, x)
	b.recorded("2026-01-09", 250, x)
	other.recorded("2026-01-06", 99)

	r := b.Get("/reports/trust-reconciliation?date=2026-01-07").Want(200)
	wantInts(t, r, map[string]int64{
		"bank.statementBalance": 400, "bank.depositsInTransit": 600, "bank.adjustedBalance": 1000, "difference.bankToBook": 0,
		"bank.accounts.0.uncleared.0.open": 600, "bank.accounts.0.uncleared.0.booked.centTotal": 1000,
	})
	wantInts(t, b.Get("/reports/trust-reconciliation?date=2026-01-09").Want(200), map[string]int64{"bank.statementBalance": 650, "bank.depositsInTransit": 350})
	b.proves(t, r)
}

func TestTrustReconciliationNeedsTheScope(t *testing.T) {
	t.Parallel()

	b := newTrustBooks(t).As([]string{"statements:read"}, nil)
	for _, path := range []string{
		"/reports/guest-balances", "/reports/sales-tax-liability?startDate=2026&endDate=2026&taxableLineIds=" + id.New(b.DB.Now()).String(),
		"/reports/manager-statements", "/reports/manager-statements/detail?startAt=2026&endAt=2026", "/reports/trust-reconciliation",
		"/reports/trust-reconciliation/by-listing",
	} {
		b.Get(path).Want(403)
	}
}

// What one ledger owes and the other is not owed is shown with its amount; what both agree on is not.
func TestTrustWarnsOfLedgersThatDoNotEliminate(t *testing.T) {
	t.Parallel()
	b := newTrustBooks(t)
	b.book(id.Zero, false, "2026-01-10", dr("1000", 7000), cr("2500", 7000))
	b.bookIn(ledger.Operating, id.Zero, false, "2026-01-10", dr("2500", 7000), cr("1010", 7000))

	r := b.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)
	if strings.Contains(warned(r, "warnings"), "ledgersDoNotEliminate") {
		t.Errorf("warned of ledgers that eliminate: %v", r.Value("warnings"))
	}

	b.bookIn(ledger.Operating, id.Zero, false, "2026-01-20", dr("1010", 350), cr("2500", 350))
	r = b.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)
	n := r.Len("warnings") - 1

	at := fmt.Sprintf("warnings.%d.", n)
	if r.String(at+"code") != "ledgersDoNotEliminate" || r.Int(at+"total") != 350 || r.ID(at+"items.0.accountId") != b.Accounts["2500"] {
		t.Errorf("warnings %v", r.Value("warnings"))
	}

	b.proves(t, r)
}
