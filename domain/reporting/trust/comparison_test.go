package trust_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/id"
	whole "stayledger/test/world"
)

// compared is a team that compares its trust bank with its books.
type compared struct {
	*whole.World

	bank, cost, income id.ID
}

func newCompared(t *testing.T) *compared {
	t.Helper()
	w := whole.New(t)

	return &compared{World: w, bank: w.Account("1000"), cost: w.Account("5200"), income: w.Account("2300")}
}

func (c *compared) deposit(date string, cents int64, pairs ...any) id.ID {
	c.T.Helper()

	body := whole.Object{
		"type": "deposit", "date": date, "accountId": c.bank, "lines": whole.Array{whole.Object{"accountId": c.income, "amount": cents}},
	}
	for i := 0; i < len(pairs); i += 2 {
		body[pairs[i].(string)] = pairs[i+1]
	}

	return c.Post("/transactions", body).Want(201).ID("id")
}

func (c *compared) expense(date string, cents int64) id.ID {
	c.T.Helper()

	return c.Post("/transactions", whole.Object{
		"type": "expense", "date": date, "accountId": c.bank, "lines": whole.Array{whole.Object{"accountId": c.cost, "amount": cents}},
	}).Want(201).ID("id")
}

// journal books cents on the bank by hand.
func (c *compared) journal(date string, cents int64) id.ID {
	c.T.Helper()

	return c.Post("/general-ledger/journals", whole.Object{"date": date, "description": "By hand", "lines": whole.Array{
		whole.Object{"accountId": c.bank, "centTotal": cents}, whole.Object{"accountId": c.income, "centTotal": -cents},
	}}).Want(201).ID("id")
}

// record adds a movement with a reference of its own.
func (c *compared) record(date string, cents int64, text string) id.ID {
	c.T.Helper()

	return c.Post("/bank-records/batch", whole.Object{"data": whole.Array{whole.Object{
		"accountId": c.bank, "date": date, "amount": cents, "description": text, "uniqueRef": id.New(c.DB.Now()).String(),
	}}}).Want(201).ID("data.0.id")
}

func (c *compared) stated(date string, cents int64) {
	c.T.Helper()
	c.Post("/bank-records/batch", whole.Object{"data": whole.Array{whole.Object{
		"accountId": c.bank, "date": date, "type": "balance", "balance": cents, "description": "Stated",
	}}}).Want(201)
}

func (c *compared) match(record, source id.ID) {
	c.T.Helper()
	c.Post("/bank-records/"+record.String()+"/reconcile", whole.Object{"transactions": whole.Array{whole.Object{"id": source}}}).Want(200)
}

func (c *compared) begin(date string, cents int64) {
	c.T.Helper()
	c.Post("/accounts/"+c.bank.String()+"/banking-init", whole.Object{"startingBalanceDate": date, "startingBalanceAmount": cents}).Want(200)
}

// figures are the balances of bank and books for the account at the end of a day.
type figures struct {
	held, book, transit, outstanding, atBank, atOpening, adjusted, difference int64
}

// agree returns the figures of a day, and fails unless the account's summary, the trust reconciliation and the rows of
// both agree.
func (c *compared) agree(date string) figures {
	c.T.Helper()

	trust := c.Get("/reports/trust-reconciliation?date=" + date).Want(200)
	at := "bank.accounts.0."

	for i := range trust.Len("bank.accounts") {
		if trust.ID("bank.accounts."+strconv.Itoa(i)+".account.id") == c.bank {
			at = "bank.accounts." + strconv.Itoa(i) + "."
		}
	}

	out := figures{
		trust.Int(at + "statementBalance"), trust.Int(at + "bookBalance.centTotal"), trust.Int(at + "depositsInTransit"), trust.Int(at + "outstandingPayments"),
		trust.Int(at + "atBankNotInBooks"), trust.Int(at + "inTransitAtOpening"), trust.Int(at + "adjustedBalance"), trust.Int(at + "difference"),
	}

	path := "/accounts/" + c.bank.String()
	c.Get(path+"/summary?dateRange=2020-01-01..."+date).Want(200).WantFields("totals", whole.Object{
		"bankAccountBalance": out.held, "bookBalance": out.book, "unclearedTransactionsBalance": out.transit + out.outstanding,
		"atBankNotInBooksBalance": out.atBank, "inTransitAtOpeningBalance": out.atOpening,
		"adjustedBankAccountBalance": out.adjusted, "difference": out.difference,
	})

	// The rows of a kind add up to its figure, page by page.
	for kind, want := range map[string]int64{
		"depositInTransit": out.transit, "outstandingPayment": out.outstanding, "atBankNotInBooks": out.atBank, "inTransitAtOpening": out.atOpening,
	} {
		var sum int64

		for page := 1; page > 0; page++ {
			rows := c.Get(fmt.Sprintf("%s/reconciling-items?kind=%s&date=%s&limit=2&page=%d", path, kind, date, page)).Want(200)
			for i := range rows.Len("data") {
				sum += rows.Int("data." + strconv.Itoa(i) + ".open")
			}

			if rows.Value("pagination.nextPage") == nil {
				break
			}
		}

		if sum != want {
			c.T.Errorf("%s: the rows of %s add up to %d, the figure is %d", date, kind, sum, want)
		}
	}

	return out
}

func (c *compared) wantFigures(date string, want figures) {
	c.T.Helper()

	if got := c.agree(date); got != want {
		c.T.Errorf("%s: got %+v, want %+v", date, got, want)
	}
}

// A bill that the bank paid on the last day of a month and that is booked on the first of the next is at the bank and
// not in the books between.
func TestABankDateBeforeTheBookDate(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	c.match(c.record("2026-09-01", 50000, "Rent"), c.deposit("2026-09-01", 50000))
	c.match(c.record("2026-09-30", -20000, "Bill"), c.expense("2026-10-01", 20000))

	c.wantFigures("2026-09-29", figures{held: 50000, book: 50000, adjusted: 50000})
	c.wantFigures("2026-09-30", figures{held: 30000, book: 50000, atBank: 20000, adjusted: 50000})
	c.wantFigures("2026-10-01", figures{held: 30000, book: 30000, adjusted: 30000})
}

// A bill that is booked on one day and paid on another moves the bank on the day of its payment, in the report, its CSV
// and the account's list, whether the books or the bank are first.
func TestAnUnclearedBillHasTheDayOfItsPayment(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	pay := func(booked, paid string, cents int64) id.ID {
		return c.Post("/transactions", whole.Object{
			"type": "expense", "date": booked, "accountId": c.Account("2200"), "payment": whole.Object{"date": paid, "accountId": c.bank},
			"lines": whole.Array{whole.Object{"accountId": c.cost, "amount": cents}},
		}).Want(201).ID("id")
	}

	// The first bill is paid and not at the bank by the end of March. The second is at the bank and paid in April.
	outstanding, early := pay("2026-03-03", "2026-03-10", 4500), pay("2026-03-05", "2026-04-02", 1200)
	c.match(c.record("2026-03-30", -1200, "Early"), early)
	c.stated("2026-03-31", 50000)

	first := whole.Object{"kind": "outstandingPayment", "transactionId": outstanding, "date": "2026-03-10", "open": -4500}
	second := whole.Object{"kind": "atBankNotInBooks", "transactionId": early, "date": "2026-04-02", "open": 1200}

	for n, want := range []whole.Object{first, second} {
		c.Get("/reports/trust-reconciliation?date=2026-03-31").Want(200).WantFields(fmt.Sprintf("bank.accounts.0.uncleared.%d", n), want)
		c.Get("/accounts/"+c.bank.String()+"/reconciling-items?date=2026-03-31").Want(200).WantFields(fmt.Sprintf("data.%d", n), want)
	}

	link := c.Get("/reports/trust-reconciliation/csv?date=2026-03-31").Want(200).String("url")
	file := string(c.Get(strings.TrimPrefix(link, "http://127.0.0.1")).Want(200).Body)

	// The columns between transactionId and transactionDate are empty.
	for bill, paid := range map[id.ID]string{outstanding: "2026-03-10", early: "2026-04-02"} {
		if row := bill.String() + ",,,,," + paid; !strings.Contains(file, row) {
			t.Errorf("the CSV lacks %s:\n%s", row, file)
		}
	}
}

// A deposit that opens the books is part of a balance that the bank stated since.
func TestAnOpeningDepositBesideAStatedBalance(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	c.deposit("2026-01-01", 100000, "isOpeningBalance", true)
	c.wantFigures("2026-01-04", figures{book: 100000, transit: 100000, adjusted: 100000})

	c.stated("2026-01-05", 100000)
	c.wantFigures("2026-01-04", figures{book: 100000, transit: 100000, adjusted: 100000})
	c.wantFigures("2026-01-05", figures{held: 100000, book: 100000, adjusted: 100000})
}

// An opening deposit on or before the first day of an account is part of the balance that the account begins with: it
// counts once, until a record of a later day shows that it came after it.
func TestAnOpeningDepositCountsOnceWhereAnAccountBegins(t *testing.T) {
	t.Parallel()

	for _, date := range []string{"2026-01-31", "2026-02-01"} {
		c := newCompared(t)
		deposit := c.deposit(date, 30000, "isOpeningBalance", true)
		c.begin("2026-02-01", 100000)
		c.wantFigures("2026-02-01", figures{held: 100000, book: 100000, adjusted: 100000})
		c.Get("/accounts/"+c.bank.String()+"/summary?dateRange=2026").Want(200).WantFields("totals", whole.Object{"unmatchedTransactionsBalance": 0})

		c.match(c.record("2026-02-03", 30000, "Deposit"), deposit)
		c.wantFigures("2026-02-02", figures{held: 100000, book: 100000, transit: 30000, atOpening: -30000, adjusted: 100000})
		c.wantFigures("2026-02-03", figures{held: 130000, book: 100000, atOpening: -30000, adjusted: 100000})

		c.begin("2026-02-01", 100000)
		c.wantFigures("2026-02-02", figures{held: 100000, book: 130000, transit: 30000, adjusted: 130000})
		c.wantFigures("2026-02-03", figures{held: 130000, book: 130000, adjusted: 130000})
	}
}

// The opening books nothing for what is outstanding on the first day of an account: of 70.00 at the bank and a payment of
// 4.50 that it has not seen the books have 65.50, before the bank pays it and after.
func TestAPaymentOutstandingWhenAnAccountBegins(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	cheque := c.expense("2026-01-30", 450)
	c.begin("2026-02-01", 7000)
	c.Get("/transactions?isOpeningBalance=true").Want(200).WantFields("data.0", whole.Object{"total": 7000, "date": "2026-01-31"})
	c.wantFigures("2026-01-31", figures{held: 7000, book: 6550, outstanding: -450, adjusted: 6550})
	c.wantFigures("2026-02-01", figures{held: 7000, book: 6550, outstanding: -450, adjusted: 6550})

	unmatched := c.Get("/accounts/" + c.bank.String() + "/summary").Want(200)
	unmatched.WantFields("totals", whole.Object{"unmatchedTransactionsBalance": -450, "difference": 0})
	unmatched.WantFields("unmatched.transactions.0", whole.Object{"id": cheque, "centTotal": -450})

	record := c.record("2026-02-03", -450, "Cheque")
	c.match(record, cheque)
	c.wantFigures("2026-02-02", figures{held: 7000, book: 6550, outstanding: -450, adjusted: 6550})
	c.wantFigures("2026-02-03", figures{held: 6550, book: 6550, adjusted: 6550})

	// Beginning again changes nothing, whether the payment is matched or not.
	c.begin("2026-02-01", 7000)
	c.wantFigures("2026-02-01", figures{held: 7000, book: 6550, outstanding: -450, adjusted: 6550})
	c.wantFigures("2026-02-03", figures{held: 6550, book: 6550, adjusted: 6550})

	c.Post("/bank-records/"+record.String()+"/unreconcile", whole.Object{}).Want(200)
	c.begin("2026-02-01", 7000)
	c.wantFigures("2026-02-01", figures{held: 7000, book: 6550, outstanding: -450, adjusted: 6550})

	// One that is written down later is outstanding, too, and one that is taken back is not any more.
	c.match(record, cheque)
	late := c.expense("2026-01-20", 1000)
	c.wantFigures("2026-02-01", figures{held: 7000, book: 5550, outstanding: -1450, adjusted: 5550})
	c.Delete("/transactions/" + late.String()).Want(204)
	c.wantFigures("2026-02-03", figures{held: 6550, book: 6550, adjusted: 6550})
}

// What was in transit on the first day of an account is in the books and not in the balance that the account begins with.
func TestADepositInTransitWhenAnAccountBegins(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	deposit := c.deposit("2026-01-30", 30000)
	c.begin("2026-02-01", 100000)
	c.wantFigures("2026-02-01", figures{held: 100000, book: 130000, transit: 30000, adjusted: 130000})
	record := c.record("2026-02-02", 30000, "Deposit")
	c.wantFigures("2026-02-03", figures{held: 130000, book: 130000, transit: 30000, adjusted: 160000, difference: 30000}) // The record is unmatched.

	for range 2 {
		c.match(record, deposit)
		c.wantFigures("2026-02-01", figures{held: 100000, book: 130000, transit: 30000, adjusted: 130000})
		c.wantFigures("2026-02-03", figures{held: 130000, book: 130000, adjusted: 130000})
		c.Post("/bank-records/"+record.String()+"/unreconcile", whole.Object{}).Want(200)
		c.begin("2026-02-01", 100000)
	}
}

// A record before an account's first day that loses its transaction shows that the opening has counted it.
func TestARecordBeforeAnAccountBegan(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	record, deposit := c.record("2026-01-30", 30000, "Deposit"), c.deposit("2026-01-30", 30000)
	c.match(record, deposit)
	c.begin("2026-02-01", 100000)
	c.wantFigures("2026-02-01", figures{held: 100000, book: 100000, adjusted: 100000})

	c.Post("/bank-records/"+record.String()+"/unreconcile", whole.Object{}).Want(200)
	c.wantFigures("2026-02-01", figures{held: 100000, book: 100000, transit: 30000, atOpening: -30000, adjusted: 100000})

	// Beginning again excludes the record, so the deposit is in transit.
	c.begin("2026-02-01", 100000)
	c.wantFigures("2026-02-01", figures{held: 100000, book: 130000, transit: 30000, adjusted: 130000})
}

// What the bank had before an account's first day and the books have later is not in the books of that day: the opening
// makes up for it, so that nothing is missing once it is booked.
func TestAPaymentBookedAfterAnAccountBegan(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	c.match(c.record("2026-01-30", -300, "Bill"), c.expense("2026-02-05", 300))
	c.wantFigures("2026-02-01", figures{held: -300, atBank: 300})

	c.begin("2026-02-01", 10000)
	c.wantFigures("2026-02-01", figures{held: 10000, book: 10300, atBank: 300, adjusted: 10300})
	c.wantFigures("2026-02-05", figures{held: 10000, book: 10000, adjusted: 10000})
}

// A manual journal on a bank account is reconciled like a transaction, and locked by it.
func TestAJournalOnABankAccountIsReconciled(t *testing.T) {
	t.Parallel()
	c := newCompared(t)
	journal := c.journal("2026-02-01", -700)
	c.wantFigures("2026-02-03", figures{book: -700, outstanding: -700, adjusted: -700})

	record := c.record("2026-02-02", -700, "Bank charges")
	c.match(record, journal)
	c.wantFigures("2026-02-01", figures{book: -700, outstanding: -700, adjusted: -700})
	c.wantFigures("2026-02-03", figures{held: -700, book: -700, adjusted: -700})
	c.Get("/bank-records/"+record.String()).Want(200).WantFields("reconciliation.transactions.0", whole.Object{"id": journal, "type": "journal", "amount": -700})
	c.Delete("/general-ledger/journals/" + journal.String()).Want(403)

	c.Post("/bank-records/"+record.String()+"/unreconcile", whole.Object{}).Want(200)
	c.wantFigures("2026-02-03", figures{held: -700, book: -700, outstanding: -700, adjusted: -1400, difference: -700})
	c.Delete("/general-ledger/journals/" + journal.String()).Want(204)
}
