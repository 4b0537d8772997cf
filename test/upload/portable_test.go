package upload_test

import (
	"strings"
	"testing"
)

// An export has records that are out of the books, too. They stay out of them where the file is imported.
func TestInactiveRowsAreLeftOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.take("transactions", `id,type,status,date,description,lineAccount,listing,party,amount,transactionTotal
a,expense,inactive,2026-02-03,Wrong,"Repairs, supplies, utilities",Shore House,owners,77.00,77.00
b,expense,active,2026-02-04,Right,"Repairs, supplies, utilities",Shore House,owners,50.00,50.00
`)
	if got := o.counts(path); got != "2 rows 1 valid 1 ignored -> 1 created 1 skipped" {
		t.Errorf("transactions: %s", got)
	}

	path = o.take("bank-records", `date,status,type,account,description,amount
2026-02-03,inactive,transaction,Trust bank,Twice,1.00
2026-02-03,active,transaction,Trust bank,Once,1.00
`)
	if got := o.counts(path); got != "2 rows 1 valid 1 ignored -> 1 created 1 skipped" {
		t.Errorf("bank records: %s", got)
	}

	if got := o.Get("/bank-records").String("data.0.description"); got != "Once" {
		t.Errorf("the record is %s", got)
	}
}

// A markup is booked. An amount of tax says neither its rate nor who gets it, so that a person decides.
func TestBillsHaveMarkupAndTax(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("transactions", `type,date,description,lineAccount,listing,party,amount,taxAmount,markupAmount,total
expense,2026-02-03,Heater,"Repairs, supplies, utilities",Shore House,owners,100.00,0.00,10.00,110.00
expense,2026-02-04,Boiler,"Repairs, supplies, utilities",Shore House,owners,100.00,15.00,,115.00
expense,2026-02-05,Pipe,"Repairs, supplies, utilities",Shore House,owners,40.00,0.00,0.00,40.00
`)
	if got := o.counts(path); got != "3 rows 2 valid 1 questions ->" {
		t.Fatalf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}

	if got := o.Get(path + "/rows?status=question").String("data.0.issues.0.code"); got != "taxNotRead" {
		t.Errorf("the issue is %s", got)
	}

	o.confirm(path, object{"acceptIssues": true})

	for i, want := range []string{`"markup":{"amount":1000`, `"markup":null`} {
		one := o.Get("/transactions?sort=date").Want(200).String("data." + string(rune('0'+i)) + ".id")

		if r := o.Get("/transactions/" + one).Want(200); !strings.Contains(string(r.Body), want) {
			t.Errorf("transaction %d lacks %s: %s", i, want, r.Body)
		}
	}
}

// A stay that people keep out of the books is out of them where the file is imported. One from before the books is so by
// its days, and gets in when the first day moves.
func TestStaysStayOutOfTheBooks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.take("reservations", `confirmationCode,status,generalLedgerStatus,listing,checkIn,checkOut,rent,total
OUT,booked,inactive,Shore House,2026-02-03,2026-02-05,100.00,100.00
IN,booked,active,Shore House,2026-02-06,2026-02-07,100.00,100.00
BEFORE,booked,inactive,Shore House,2025-12-03,2025-12-05,100.00,100.00
`)
	if got := o.Get(path).String("issueCounts.keptOutOfBooks"); got != "1" {
		t.Errorf("%s stays are shown as kept out of the books", got)
	}

	r := o.Get("/reservations?sort=checkIn").Want(200)
	for path, want := range map[string]string{
		"data.0.generalLedgerInactiveReason": "beforeStatementStartDate", "data.1.generalLedgerStatus": "inactive",
		"data.1.generalLedgerInactiveReason": "null", "data.2.generalLedgerStatus": "active",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// Rows of a bank that have a balance and no amount are no movements: an export says that they are balances, and a bank
// has them at the beginning and end of what it gives to download.
func TestBalancesOfABankHaveNoAmount(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.take("bank-records", `date,status,type,account,description,amount,balance
2026-02-03,active,transaction,Trust bank,Payout,100.00,
2026-02-04,active,balance,Trust bank,End of day,,100.00
`)
	if got := o.counts(path); got != "2 rows 2 valid -> 2 created" {
		t.Errorf("an export: %s", got)
	}

	path = o.take("bank-records", `Posting Date,Description,Debit,Credit,Balance
02/27/2026,Beginning balance of the month,,,500.00
02/28/2026,Fee,12.00,,488.00
`, "bankAccountId", o.Account("1000").String())
	if got := o.counts(path); got != "2 rows 1 valid 1 ignored -> 1 created 1 skipped" {
		t.Errorf("a download: %s", got)
	}

	r := o.Get("/bank-records?includeBalanceRecords=true&sort=date").Want(200)
	if r.Len("data") != 3 || r.String("data.1.balance.current") != "10000" || r.String("data.1.type") != "balance" {
		t.Errorf("records: %s", r.Body)
	}
}

// Money names a stay without a code by its short reference, and a bill names the account that paid it.
func TestMoneyFindsStaysAndAccounts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	stays := "id,shortRef,uniqueRef,confirmationCode,listing,guestName,checkIn,checkOut,rent,total\nx,eb52dkr7,,,Shore House,Walk-in,2026-02-03,2026-02-04,90.00,90.00\n"
	o.take("reservations", stays)

	if got := o.counts(o.preview("reservations", stays)); got != "1 rows 1 duplicates ->" {
		t.Errorf("the stay again: %s", got)
	}

	o.take("transactions", `type,date,paymentDate,paid from,description,lineAccount,listing,reservation,party,amount
deposit,2026-02-03,,,Cash,"Guest deposits, net of receivables",Shore House,eb52dkr7,,90.00
expense,2026-02-04,2026-02-05,1010,Paper,"Repairs, supplies, utilities",,,manager,15.00
expense,2026-02-06,,1010,Ink,"Repairs, supplies, utilities",,,manager,15.00
`)

	if got := o.Get("/reservations").String("data.0.financials.paid"); got != "9000" {
		t.Errorf("%s of the stay are paid", got)
	}

	r := o.Get("/transactions?sort=date").Want(200)
	if r.String("data.1.payment.accountId") != o.Account("1010").String() || r.String("data.2.payment") != "null" {
		t.Errorf("transactions: %s", r.Body)
	}
}
