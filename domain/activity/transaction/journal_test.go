package transaction_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Ids that the tables name.
var (
	trustBank, operatingBank, guestDeposits = named(1000), named(1010), named(2000)
	lodgingTax, salesTax, payable           = named(2100), named(2110), named(2200)
	securityDeposits, distributions, due    = named(2300), named(2400), named(2500)
	openingBalance, damage, markupRevenue   = named(2900), named(4030), named(4190)
	channelFees, merchantFees, repairs      = named(5000), named(5010), named(5200)
	processorReserve, vatWithheld           = named(1100), named(1120)
	villa, stay, ownerA, vendor             = named(1), named(2), named(3), named(4)
	period, laterPeriod                     = named(5), named(6)
)

func named(n int) id.ID { return id.ID{14: byte(n >> 8), 15: byte(n)} }

func date(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}

// facts: a villa that one owner has from inception to the end of January and another from February on.
func facts() *transaction.Facts {
	february := date("2026-02-01")

	return &transaction.Facts{
		Assigned: map[account.Assignment]id.ID{
			account.AccountsPayable: payable, account.ExpenseMarkup: markupRevenue, account.ExpenseSalesTax: salesTax, account.DueToFromTrust: due,
			account.PayoutDistribution: distributions,
		},
		Banks: map[id.ID]ledger.Ledger{trustBank: ledger.Trust, operatingBank: ledger.Operating},
		Periods: map[id.ID][]listing.Period{villa: {
			{ID: period, ListingID: villa, EndAt: &february}, {ID: laterPeriod, ListingID: villa, StartAt: &february},
		}},
	}
}

func line(n int, accountID id.ID, amount money.Cents, party ledger.Party) transaction.Line {
	l := transaction.Line{ID: named(100 + n), AccountID: accountID, Amount: amount, Total: amount}
	if party != "" {
		l.Party = &party
	}

	return l
}

func ofListing(l transaction.Line) transaction.Line { l.ListingID = &villa; return l }

func ofStay(l transaction.Line) transaction.Line {
	l.ListingID, l.ReservationID = &villa, &stay
	return l
}

func movement(typ transaction.Type, at string, accountID id.ID, lines ...transaction.Line) *transaction.Transaction {
	t := &transaction.Transaction{
		ID: named(99), Type: typ, Status: transaction.Active, Date: date(at), Currency: "usd", AccountID: accountID, Lines: lines,
	}
	for i := range lines {
		t.Total += lines[i].Payable()
	}

	return t
}

// told writes postings as the worked examples do: date, ledger, account, party, signed dollars.
func told(postings []ledger.Posting) []string {
	accounts := map[id.ID]string{}
	for _, n := range []int{1000, 1010, 1100, 1120, 2000, 2100, 2110, 2200, 2300, 2400, 2500, 2900, 4030, 4190, 5000, 5010, 5200} {
		accounts[named(n)] = strconv.Itoa(n)
	}

	parties := map[ledger.Party]string{"": "", ledger.Owners: " (o)", ledger.Manager: " (m)"}

	var out []string

	for _, p := range postings {
		for _, l := range p.Lines {
			account, amount := accounts[l.AccountID]+parties[l.Party], l.CentTotal.Decimal("usd")
			out = append(out, fmt.Sprintf("%s %s %s %s", p.TxnAt, p.Ledger, account, amount))
		}
	}

	return out
}

func expense(n int) transaction.Line {
	l := ofListing(line(n, repairs, 10000, ledger.Owners))
	l.AppliedAmount = &transaction.Applied{TaxRateID: named(7), TaxBehavior: transaction.TaxExcluded, TaxAmount: 1500}
	l.Markup = &transaction.Markup{Amount: 1000, TaxRateID: new(named(7)), TaxBehavior: new(transaction.TaxExcluded), TaxAmount: 150}
	l.Total = 12650

	return l
}

// withTaxInside is a bill of 115.00 with 15.00 tax of the vendor in it, charged on with 11.50 that have 1.50 of the
// manager's in them.
func withTaxInside(n int) transaction.Line {
	l := ofListing(line(n, repairs, 11500, ledger.Owners))
	l.AppliedAmount = &transaction.Applied{
		TaxRateID: named(7), TaxBehavior: transaction.TaxIncluded, TaxPayee: transaction.TaxToVendor, TaxAmount: 1500,
	}
	l.Markup = &transaction.Markup{Amount: 1150, TaxRateID: new(named(7)), TaxBehavior: new(transaction.TaxIncluded), TaxAmount: 150}
	l.Total = 12650

	return l
}

func paid(t *transaction.Transaction, at string, accountID id.ID) *transaction.Transaction {
	t.Payment = &transaction.Payment{Date: date(at), AccountID: accountID}
	return t
}

func opening(t *transaction.Transaction) *transaction.Transaction {
	t.IsOpeningBalance = true
	return t
}

// The worked examples of a transaction's own postings.
func TestJournalOfWorkedExamples(t *testing.T) {
	t.Parallel()

	bill := []string{
		"2026-01-15 trust 5200 (o) 100.00", "2026-01-15 trust 5200 (o) 10.00", "2026-01-15 trust 5200 (o) 16.50",
		"2026-01-15 trust 4190 (m) -10.00", "2026-01-15 trust 2110 -16.50", "2026-01-15 trust 2200 -100.00",
	}

	tests := map[string]struct {
		given *transaction.Transaction
		want  []string
	}{
		"A: a guest pays by card, the processor keeps its fee": {
			movement(transaction.Deposit, "2026-01-05", trustBank,
				ofStay(line(1, guestDeposits, 64400, "")), ofStay(line(2, merchantFees, -1898, ledger.Manager))),
			[]string{"2026-01-05 trust 2000 -644.00", "2026-01-05 trust 5010 (m) 18.98", "2026-01-05 trust 1000 625.02"},
		},
		"E: a channel pays out net of its fee": {
			movement(transaction.Deposit, "2026-01-30", trustBank,
				ofStay(line(1, guestDeposits, 102000, "")), ofStay(line(2, channelFees, -15810, ledger.Manager))),
			[]string{"2026-01-30 trust 2000 -1020.00", "2026-01-30 trust 5000 (m) 158.10", "2026-01-30 trust 1000 861.90"},
		},
		"F: a bill with markup and tax, still open": {
			movement(transaction.Expense, "2026-01-15", payable, expense(1)), bill,
		},
		"F: the bill paid five days later": {
			paid(movement(transaction.Expense, "2026-01-15", payable, expense(1)), "2026-01-20", trustBank),
			append(slices.Clone(bill), "2026-01-20 trust 2200 100.00", "2026-01-20 trust 1000 -100.00"),
		},
		"F: the same written with the bank as the account": {
			paid(movement(transaction.Expense, "2026-01-15", trustBank, expense(1)), "2026-01-20", trustBank),
			append(slices.Clone(bill), "2026-01-20 trust 2200 100.00", "2026-01-20 trust 1000 -100.00"),
		},
		"F: a bill that contains its tax, with a markup that contains its own": {
			paid(movement(transaction.Expense, "2026-01-15", payable, withTaxInside(1)), "2026-01-20", trustBank),
			[]string{
				"2026-01-15 trust 5200 (o) 100.00", "2026-01-15 trust 5200 (o) 10.00", "2026-01-15 trust 5200 (o) 16.50",
				"2026-01-15 trust 4190 (m) -10.00", "2026-01-15 trust 2110 -1.50", "2026-01-15 trust 2200 -115.00",
				"2026-01-20 trust 2200 115.00", "2026-01-20 trust 1000 -115.00",
			},
		},
		"F: spent at once": {
			movement(transaction.Expense, "2026-01-15", trustBank, expense(1)),
			append(slices.Clone(bill[:5]), "2026-01-15 trust 1000 -100.00"),
		},
		"F: paid from the operating account": {
			movement(transaction.Expense, "2026-01-15", operatingBank, ofListing(line(1, repairs, 10000, ledger.Owners))),
			[]string{
				"2026-01-15 trust 5200 (o) 100.00", "2026-01-15 trust 2500 -100.00",
				"2026-01-15 operating 1010 -100.00", "2026-01-15 operating 2500 100.00",
			},
		},
		"F: a bill paid later from the operating account": {
			paid(movement(transaction.Expense, "2026-01-15", payable, ofListing(line(1, repairs, 10000, ledger.Owners))), "2026-01-20", operatingBank),
			[]string{
				"2026-01-15 trust 5200 (o) 100.00", "2026-01-15 trust 2200 -100.00",
				"2026-01-20 trust 2200 100.00", "2026-01-20 trust 2500 -100.00",
				"2026-01-20 operating 1010 -100.00", "2026-01-20 operating 2500 100.00",
			},
		},
		"F: the trust reimburses the operating account": {
			movement(transaction.Transfer, "2026-01-31", trustBank, line(1, operatingBank, 10000, "")),
			[]string{
				"2026-01-31 trust 1000 -100.00", "2026-01-31 trust 2500 100.00",
				"2026-01-31 operating 1010 100.00", "2026-01-31 operating 2500 -100.00",
			},
		},
		"the manager's own cost never touches the trust": {
			movement(transaction.Expense, "2026-01-15", operatingBank, line(1, repairs, 10000, ledger.Manager)),
			[]string{"2026-01-15 operating 5200 (m) 100.00", "2026-01-15 operating 1010 -100.00"},
		},
		"G: a refund is a deposit with a negative line": {
			movement(transaction.Deposit, "2026-01-20", trustBank, ofStay(line(1, guestDeposits, -25000, ""))),
			[]string{"2026-01-20 trust 2000 250.00", "2026-01-20 trust 1000 -250.00"},
		},
		"H: a security deposit is taken": {
			movement(transaction.Deposit, "2026-01-20", trustBank, ofStay(line(1, securityDeposits, 30000, ""))),
			[]string{"2026-01-20 trust 2300 -300.00", "2026-01-20 trust 1000 300.00"},
		},
		"H: 80 of it is claimed for damage, the rest goes back": {
			movement(transaction.Deposit, "2026-01-25", trustBank,
				ofStay(line(1, securityDeposits, -30000, "")), ofStay(line(2, damage, 8000, ledger.Owners))),
			[]string{"2026-01-25 trust 2300 300.00", "2026-01-25 trust 4030 (o) -80.00", "2026-01-25 trust 1000 -220.00"},
		},
		"I: lodging tax is remitted": {
			movement(transaction.Expense, "2026-01-31", trustBank, line(1, lodgingTax, 13800, "")),
			[]string{"2026-01-31 trust 2100 138.00", "2026-01-31 trust 1000 -138.00"},
		},
		"I: an owner pays in": {
			movement(transaction.Payout, "2026-01-31", trustBank, ofListing(line(1, distributions, -50000, ledger.Owners))),
			[]string{"2026-01-31 trust 2400 (o) -500.00", "2026-01-31 trust 1000 500.00"},
		},
		"I: the manager draws": {
			movement(transaction.Payout, "2026-01-31", trustBank, line(1, distributions, 35000, ledger.Manager)),
			[]string{"2026-01-31 trust 2400 (m) 350.00", "2026-01-31 trust 1000 -350.00"},
		},
		"I: the manager draws into the operating bank": {
			movement(transaction.Payout, "2026-01-31", trustBank, line(1, operatingBank, 35000, ledger.Manager)),
			[]string{
				"2026-01-31 trust 2400 (m) 350.00", "2026-01-31 trust 1000 -350.00",
				"2026-01-31 operating 1010 350.00", "2026-01-31 operating 2400 (m) -350.00",
			},
		},
		"I: the manager pays in from the operating bank": {
			movement(transaction.Payout, "2026-01-31", operatingBank, line(1, trustBank, 35000, ledger.Manager)),
			[]string{
				"2026-01-31 trust 1000 350.00", "2026-01-31 trust 2400 (m) -350.00",
				"2026-01-31 operating 2400 (m) 350.00", "2026-01-31 operating 1010 -350.00",
			},
		},
		"a processor keeps a reserve and withholds tax": {
			movement(transaction.Deposit, "2026-01-05", trustBank,
				ofStay(line(1, guestDeposits, 100000, "")), ofStay(line(2, merchantFees, -3000, ledger.Manager)),
				line(3, processorReserve, -10000, ""), line(4, vatWithheld, -2000, "")),
			[]string{
				"2026-01-05 trust 2000 -1000.00", "2026-01-05 trust 5010 (m) 30.00", "2026-01-05 trust 1100 100.00", "2026-01-05 trust 1120 20.00",
				"2026-01-05 trust 1000 850.00",
			},
		},
		"the reserve is paid out": {
			movement(transaction.Deposit, "2026-04-05", trustBank, line(1, processorReserve, 10000, "")),
			[]string{"2026-04-05 trust 1100 -100.00", "2026-04-05 trust 1000 100.00"},
		},
		"one channel payout for two stays, of which one was refunded": {
			movement(transaction.Deposit, "2026-01-30", trustBank,
				ofStay(line(1, guestDeposits, 102000, "")), ofStay(line(2, channelFees, -15810, ledger.Manager)),
				line(3, guestDeposits, -25000, ""), line(4, channelFees, 3875, ledger.Manager)),
			[]string{
				"2026-01-30 trust 2000 -1020.00", "2026-01-30 trust 5000 (m) 158.10", "2026-01-30 trust 2000 250.00",
				"2026-01-30 trust 5000 (m) -38.75", "2026-01-30 trust 1000 650.65",
			},
		},
		"F: a bill that the manager bears carries no markup": {
			movement(transaction.Expense, "2026-01-15", payable, line(1, repairs, 10000, ledger.Manager)),
			[]string{"2026-01-15 trust 5200 (m) 100.00", "2026-01-15 trust 2200 -100.00"},
		},
		"J: owner A is paid": {
			movement(transaction.Payout, "2026-02-05", trustBank, ofListing(line(1, distributions, 38132, ledger.Owners))),
			[]string{"2026-02-05 trust 2400 (o) 381.32", "2026-02-05 trust 1000 -381.32"},
		},
		"an owner's opening balance": {
			opening(movement(transaction.Deposit, "2025-12-31", trustBank, ofListing(line(1, openingBalance, 30000, ledger.Owners)))),
			[]string{"2025-12-31 trust 2900 (o) -300.00", "2025-12-31 trust 1000 300.00"},
		},
		"nothing is booked for nothing": {movement(transaction.Deposit, "2026-01-05", trustBank, line(1, guestDeposits, 0, "")), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := transaction.Journal(test.given, facts())
			if err != nil {
				t.Fatal(err)
			}

			if !slices.Equal(told(got), test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(told(got), "\n"), strings.Join(test.want, "\n"))
			}

			for _, p := range got {
				if err := p.Check(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// What an entry carries besides its amount.
func TestJournalStampsItsEntries(t *testing.T) {
	t.Parallel()

	payout := movement(transaction.Payout, "2026-02-05", trustBank, ofListing(line(1, distributions, 38132, ledger.Owners)))
	payout.Lines[0].ContactID, payout.ContactID, payout.Description = &ownerA, &vendor, new("January")

	got, err := transaction.Journal(payout, facts())
	if err != nil {
		t.Fatal(err)
	}

	p := got[0]
	if p.SourceID != payout.ID || p.TxnCode != "transaction:"+payout.ID.String()+":payout" {
		t.Errorf("posting %+v", p)
	}

	want := ledger.Line{
		Ref: named(101).String(), AccountID: distributions, CentTotal: 38132, Party: ledger.Owners, ListingID: villa, OwnershipPeriodID: laterPeriod,
		ContactID: ownerA, TransactionID: payout.ID, Trigger: ledger.TriggerPayout, Description: "January",
	}
	if p.Lines[0] != want {
		t.Errorf("got  %+v\nwant %+v", p.Lines[0], want)
	}

	if bank := p.Lines[1]; bank.ContactID != vendor || !bank.ListingID.IsZero() || bank.Party != ledger.NoParty {
		t.Errorf("bank %+v", bank)
	}

	guest := movement(transaction.Deposit, "2026-01-05", trustBank, ofStay(line(1, guestDeposits, 64400, "")))
	if got, err = transaction.Journal(guest, facts()); err != nil {
		t.Fatal(err)
	}

	if l := got[0].Lines[0]; l.ReservationID != stay || l.ListingID != villa || !l.OwnershipPeriodID.IsZero() {
		t.Errorf("guest deposit %+v", l)
	}
}

func TestJournalTriggers(t *testing.T) {
	t.Parallel()

	tests := map[string]*transaction.Transaction{
		"deposit":                   movement(transaction.Deposit, "2026-01-05", trustBank, line(1, guestDeposits, 1, "")),
		"openingBalance":            opening(movement(transaction.Deposit, "2026-01-05", trustBank, line(1, openingBalance, 1, ""))),
		"expense expensePayment":    paid(movement(transaction.Expense, "2026-01-05", payable, line(1, lodgingTax, 1, "")), "2026-01-06", trustBank),
		"payout":                    movement(transaction.Payout, "2026-01-05", trustBank, line(1, distributions, 1, ledger.Manager)),
		"intercompany transfer":     movement(transaction.Transfer, "2026-01-05", trustBank, line(1, operatingBank, 1, "")),
		"expense and intercompany ": movement(transaction.Expense, "2026-01-05", operatingBank, line(1, lodgingTax, 1, "")),
	}
	for want, given := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()

			postings, err := transaction.Journal(given, facts())
			if err != nil {
				t.Fatal(err)
			}

			var got []string

			for _, p := range postings {
				for _, l := range p.Lines {
					got = append(got, l.Trigger)
				}
			}

			slices.Sort(got)

			wanted := strings.Fields(strings.ReplaceAll(want, "and", ""))
			if !slices.Equal(slices.Compact(got), wanted) {
				t.Errorf("got %v, want %v", got, wanted)
			}
		})
	}
}

func TestJournalOfArchivedTransactionIsEmpty(t *testing.T) {
	t.Parallel()

	archived := movement(transaction.Deposit, "2026-01-05", trustBank, line(1, guestDeposits, 64400, ""))

	archived.Status = transaction.Inactive
	if got, err := transaction.Journal(archived, facts()); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// Proves: RSN-52.
func TestJournalNeedsItsAssignments(t *testing.T) {
	t.Parallel()

	f := facts()
	delete(f.Assigned, account.DueToFromTrust)

	_, err := transaction.Journal(movement(transaction.Expense, "2026-01-15", operatingBank, ofListing(line(1, repairs, 10000, ledger.Owners))), f)
	if got := reasonOf(err); got != apierr.ReasonRequiredAccountMissing {
		t.Errorf("got %v", err)
	}
}

func reasonOf(err error) apierr.Reason {
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		return e.Reason()
	}

	return ""
}

func TestJournalNeedsAnOwner(t *testing.T) {
	t.Parallel()

	february := date("2026-02-01")
	only := func(p listing.Period) *transaction.Facts {
		f := facts()
		f.Periods = map[id.ID][]listing.Period{villa: {p}}

		return f
	}
	from := only(listing.Period{ID: period, StartAt: &february})
	spent := movement(transaction.Expense, "2026-01-31", trustBank, ofListing(line(1, repairs, 10000, ledger.Owners)))
	_, err := transaction.Journal(spent, from)

	var e *apierr.Error
	if !errors.As(err, &e) || len(e.Issues()) != 1 || e.Issues()[0].Code != "ownershipPeriodMissing" {
		t.Errorf("got %v", err)
	}
	// An opening balance of the day before belongs to whoever owns on the first day.
	first := opening(movement(transaction.Deposit, "2026-01-31", trustBank, ofListing(line(1, openingBalance, 30000, ledger.Owners))))

	got, err := transaction.Journal(first, from)
	if err != nil || got[0].Lines[0].OwnershipPeriodID != period {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Whatever the type, the accounts and the parties: on every day one ledger owes the amount that the other is owed.
func TestLedgersEliminate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		banks := rapid.SampledFrom([]id.ID{trustBank, operatingBank})
		typ := rapid.SampledFrom([]transaction.Type{transaction.Deposit, transaction.Expense, transaction.Transfer, transaction.Payout}).Draw(t, "type")
		account := banks.Draw(t, "account")

		n := 1
		if typ == transaction.Deposit || typ == transaction.Expense {
			n = rapid.IntRange(1, 5).Draw(t, "lines")
		}

		if typ == transaction.Expense && rapid.Bool().Draw(t, "owed") {
			account = payable
		}

		var lines []transaction.Line

		for i := range n {
			party := rapid.SampledFrom([]ledger.Party{"", ledger.Owners, ledger.Manager}).Draw(t, "party")
			on := rapid.SampledFrom([]id.ID{repairs, guestDeposits, lodgingTax, channelFees, distributions, payable, trustBank, operatingBank}).Draw(t, "line's account")

			l := ofListing(line(i, on, money.Cents(rapid.Int64Range(-100_000, 100_000).Draw(t, "amount")), party))
			if typ == transaction.Expense && rapid.Bool().Draw(t, "taxed") {
				l.Markup = &transaction.Markup{Amount: money.Cents(rapid.Int64Range(0, 9_000).Draw(t, "markup")), TaxAmount: 17}
			}

			lines = append(lines, l)
		}

		given := movement(typ, "2026-01-15", account, lines...)
		if typ == transaction.Expense && rapid.Bool().Draw(t, "paid apart") {
			given = paid(given, "2026-02-20", banks.Draw(t, "paid from"))
		}

		got, err := transaction.Journal(given, facts())
		if err != nil {
			t.Fatal(err)
		}

		owed := map[day.Day]money.Cents{}

		for _, p := range got {
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}

			for _, l := range p.Lines {
				if l.AccountID == due {
					owed[p.TxnAt] += l.CentTotal
				}
			}
		}

		for at, cents := range owed {
			if cents != 0 {
				t.Fatalf("on %s the ledgers owe each other %d:\n%s", at, cents, strings.Join(told(got), "\n"))
			}
		}
	})
}

// Whatever the amounts, taxes and accounts: every posting is one that the ledger takes, what moves through the bank is
// the total, and deriving it again gives the same.
func TestJournalBalances(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]transaction.Type{transaction.Deposit, transaction.Expense, transaction.Transfer, transaction.Payout}).Draw(t, "type")
		bank := rapid.SampledFrom([]id.ID{trustBank, operatingBank}).Draw(t, "bank")
		cents := rapid.Int64Range(-1_000_000_000, 1_000_000_000)

		var lines []transaction.Line

		for i := range rapid.IntRange(1, 6).Draw(t, "lines") {
			party := rapid.SampledFrom([]ledger.Party{"", ledger.Owners, ledger.Manager}).Draw(t, "party")

			l := ofListing(line(i, rapid.SampledFrom([]id.ID{repairs, guestDeposits, lodgingTax}).Draw(t, "account"), money.Cents(cents.Draw(t, "amount")), party))
			if typ == transaction.Expense && rapid.Bool().Draw(t, "taxed") {
				behavior := rapid.SampledFrom([]transaction.TaxBehavior{transaction.TaxIncluded, transaction.TaxExcluded}).Draw(t, "behavior")
				payee := rapid.SampledFrom([]transaction.TaxPayee{transaction.TaxToVendor, transaction.TaxToAuthority}).Draw(t, "payee")
				l.AppliedAmount = &transaction.Applied{TaxBehavior: behavior, TaxPayee: payee, TaxAmount: money.Cents(cents.Draw(t, "tax"))}
				l.Markup = &transaction.Markup{Amount: money.Cents(cents.Draw(t, "markup")), TaxBehavior: &behavior, TaxAmount: money.Cents(cents.Draw(t, "markupTax"))}
			}

			lines = append(lines, l)
		}

		given := movement(typ, "2026-01-15", bank, lines...)
		if typ == transaction.Expense && rapid.Bool().Draw(t, "bill") {
			given = paid(given, "2026-02-20", bank)
		}

		got, err := transaction.Journal(given, facts())
		if err != nil {
			t.Fatal(err)
		}

		var moved money.Cents

		for _, p := range got {
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}

			for _, l := range p.Lines {
				if l.AccountID == bank {
					moved += l.CentTotal
				}
			}
		}

		if typ != transaction.Deposit {
			moved = -moved
		}

		if moved != given.Total {
			t.Fatalf("moved %v of %v", moved, given.Total)
		}

		again, err := transaction.Journal(given, facts())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatalf("derived again: %v, %v", again, err)
		}
	})
}
