package upload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAHouseComesWithItsOwners imports houses with owners in one cell, in columns and in rows of their own.
func TestAHouseComesWithItsOwners(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.take("listings", `Property;Owner;Owner Email;Split;Owned from
Shore House;Ann Miller;ann@example.com;60;01.02.2026
Shore House;Ben Cole;ben@example.com;40;
Dune House;Ann Miller;ann@example.com;;13.02.2026
`)
	if got := o.counts(path); got != "3 rows 2 valid 1 parts -> 2 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.take("listings", "name,owners\nPalm House,Ann Miller 33.333%; Ben Cole 66.667%\n")

	r := o.Get("/listings/ownership-periods").Want(200)
	got := []string{}

	for i := range r.Len("data") {
		at := "data." + string(rune('0'+i))
		parts := []string{r.String(at + ".startAt")}

		for m := range r.Len(at + ".members") {
			parts = append(parts, r.String(at+".members."+string(rune('0'+m))+".split"))
		}

		got = append(got, strings.Join(parts, " "))
	}

	slices.Sort(got)

	if want := "2026-02-01 60000 40000|2026-02-13 100000|null 33333 66667"; strings.Join(got, "|") != want {
		t.Errorf("periods %v", got)
	}

	if n := o.Get("/contacts").String("pagination.total"); n != "2" {
		t.Errorf("%s owners", n)
	}
}

func TestStaysComeWithTheirLines(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.take("reservations", `Confirmation code,Listing,Guest name,Start date,End date,Status,Accommodation fare,Cleaning fee,Taxes,Total price
HM1,Shore House,Dana Reed,03/02/2026,03/17/2026,Confirmed,"1,500.00",120.00,162.00,"1,782.00"
HM2,Shore House,Max Ott,03/20/2026,03/22/2026,cancelled by guest,300.00,0.00,,300.00
HM3,Shore House,Eve Poe,04/20/2026,04/22/2026,inquiry,300.00,0.00,,300.00
`)
	if got := o.counts(path); got != "3 rows 2 valid 1 ignored -> 2 created 1 skipped" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	r := o.Get("/reservations?sort=checkIn").Want(200)
	if r.String("data.0.financials.total") != "178200" || r.String("data.0.checkOut") != "2026-03-17" || r.String("data.1.status") != "canceled" {
		t.Errorf("stays: %s", r.Body)
	}

	// Each line in a row of its own, in another order.
	path = o.take("reservations", `booking,house,arrival,departure,line type,amount
B1,Shore House,2026-05-02,2026-05-05,rent,450.00
B2,Shore House,2026-05-06,2026-05-09,rent,510.00
B1,Shore House,2026-05-02,2026-05-05,cleaningFee,80.00
`)
	if got := o.counts(path); got != "3 rows 2 valid 1 parts -> 2 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	if got := o.Get("/reservations?sort=checkIn&search=B1").String("data.0.financials.total"); got != "53000" {
		t.Errorf("B1 costs %s", got)
	}
}

func TestWhatTheTotalDoesNotExplainIsAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("reservations", "code,listing,check-in,check-out,rent,total\nHM1,Shore House,2026-03-02,2026-03-05,100.00,130.00\n",
		"mapping", `{"columns": [{"header": "code", "field": "confirmationCode"}]}`)
	if got := o.counts(path); got != "1 rows 1 questions ->" {
		t.Fatalf("the preview has %s: %s", got, o.Get(path).Body)
	}

	o.Post(path+"/confirm", object{}).Want(409)
	o.Put(path+"/rows/1", object{"decision": "import"}).Want(200)

	o.confirm(path, object{})

	r := o.Get("/reservations/" + o.Get(path+"/rows").String("data.0.entityId")).Want(200)
	if r.String("financials.total") != "13000" || r.String("lines.1.type") != "difference" {
		t.Errorf("stay: %s", r.Body)
	}
}

func TestABankFileIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	account := o.Account("1000").String()

	path := o.take("bank-records", "Umsatzanzeige;Konto 123\r\n\r\nBuchungstag;Verwendungszweck;Betrag;Saldo\r\n"+
		"15.01.2026;Miete Strand;1.234,56;2.234,56\r\n16.01.2026;Handwerker;-234,56;2.000,00\r\n17.01.2026;Gutschrift;1.000;3.000,00\r\nSumme;;2.000,00;\r\n",
		"bankAccountId", account)
	if got := o.counts(path); got != "4 rows 3 valid 1 ignored -> 3 created 1 skipped" {
		t.Errorf("the import has %s: %s %s", got, o.Get(path).Body, o.Get(path+"/rows").Body)
	}

	r := o.Get("/bank-records?sort=date").Want(200)
	if r.String("data.0.amount")+" "+r.String("data.1.amount")+" "+r.String("data.2.amount") != "123456 -23456 100000" || r.String("data.0.source") != "csv" {
		t.Errorf("records: %s", r.Body)
	}

	// An overlapping download has two rows that are here, and one that is new; a row twice is two movements.
	path = o.preview("bank-records", "Buchungstag;Verwendungszweck;Betrag;Saldo\n16.01.2026;Handwerker;-234,56;2.000,00\n"+
		"17.01.2026;Gutschrift;1.000;3.000,00\n17.01.2026;Gutschrift;1.000;4.000,00\n", "bankAccountId", account)
	if got := o.counts(path); got != "3 rows 1 valid 2 duplicates ->" {
		t.Errorf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}
}

func TestJournalsComeInLines(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.take("journal-entries", `Date,Account,Debit,Credit,Memo
2026-02-01,1000,100.00,,Deposit
2026-02-01,2400,,60.00,Deposit
2026-02-01,2400,,40.00,Deposit
2026-02-02,1000,5.00,,Other
2026-02-02,2400,,5.00,Other
`)
	if got := o.counts(path); got != "5 rows 2 valid 3 parts -> 2 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	if got := o.Get("/general-ledger/journals?sort=date").String("data.0.total"); got != "10000" {
		t.Errorf("the journal has %s: %s", got, o.Get("/general-ledger/journals").Body)
	}

	path = o.preview("journal-entries", "Journal,Date,Account,Amount\nJ1,2026-02-01,1000,100.00\nJ1,2026-02-01,2400,-90.00\n")
	if got := o.counts(path); got != "2 rows 1 faulty 1 parts ->" {
		t.Errorf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}
}

func TestBooksOpenWithWhatWasHeld(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.take("listings", "name,owner,owned from\nShore House,Ann,2025-01-01\nDune House,Ben,2025-01-01\n")

	path := o.take("opening-balances", "Property,Account,Balance\nShore House,,1250.00\nDune House,,-80.50\n,1000,1169.50\n")
	if got := o.counts(path); got != "3 rows 3 valid -> 3 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	r := o.Get("/listings/opening-balance").Want(200)
	if r.Len("data") != 2 {
		t.Errorf("opening balances: %s", r.Body)
	}

	again := o.preview("opening-balances", "Property,Account,Balance\nShore House,,1250.00\nDune House,,-80.50\n,1000,1169.50\n")
	if got := o.counts(again); got != "3 rows 3 duplicates ->" {
		t.Errorf("the preview has %s: %s", got, o.Get(again+"/rows").Body)
	}
}

func TestTransactionsComeWithVendorAndHouse(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))
	o.Contact("vendor", "Keys Plumbing")

	path := o.take("transactions", `Date,Vendor,Memo,Category,Property,Bill to,Amount
2026-02-03,Keys Plumbing,Pipe,5000,Shore House,owners,-180.00
2026-02-05,,Deposit of rent,2400,Shore House,,900.00
`)
	if got := o.counts(path); got != "2 rows 2 valid -> 2 created" {
		t.Errorf("the import has %s: %s", got, o.Get(path+"/rows").Body)
	}

	r := o.Get("/transactions?sort=date").Want(200)
	if r.String("data.0.type") != "expense" || r.String("data.0.total") != "18000" || r.String("data.1.type") != "deposit" {
		t.Errorf("transactions: %s", r.Body)
	}
}

// A list of bills has positive amounts: the mapping says so, and its rows are expenses.
func TestBillsWithPositiveAmountsAreExpenses(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("transactions", "Date,Memo,Category,Property,Bill to,Amount\n2026-02-03,Pipe,5000,Shore House,owners,180.00\n2026-02-04,Back,5000,Shore House,owners,-20.00\n")
	op := o.Put(path, object{"negated": true}).Want(202).String("operationId")
	o.Work()
	o.confirm("/csv-imports/previews/"+op, object{})

	r := o.Get("/transactions?sort=date").Want(200)
	if r.String("data.0.type") != "expense" || r.String("data.0.total") != "18000" || r.String("data.1.type") != "deposit" || r.String("data.1.total") != "2000" {
		t.Errorf("transactions: %s", r.Body)
	}
}

// A list of bills has its costs as debits and what comes back as credits, in columns of their own.
func TestBillsHaveDebitsAndCredits(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	o.take("transactions", `Date,Memo,Category,Property,Bill to,Debit,Credit
2026-02-03,Pipe,5000,Shore House,owners,180.00,
2026-02-04,Back,5000,Shore House,owners,,20.00
`)
	o.take("transactions", `Date,Type,Memo,Category,Property,Bill to,Debit,Credit
2026-02-05,Expense,Roof,5000,Shore House,owners,70.00,
`)

	r := o.Get("/transactions?sort=date").Want(200)
	for i, want := range []object{
		{"type": "expense", "total": 18000, "description": "Pipe"},
		{"type": "deposit", "total": 2000, "description": "Back"},
		{"type": "expense", "total": 7000, "description": "Roof"},
	} {
		r.WantFields(fmt.Sprintf("data.%d", i), want)
	}
}

func TestAnImportIsTakenBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.take("contacts", contactsFile)
	changed := o.take("contacts", "Name,E-Mail,Phone\nAnn Miller,ann@example.com,305-555\n")

	if got := o.counts(changed); got != "1 rows 1 valid -> 1 updated" {
		t.Errorf("the second import has %s: %s", got, o.Get(changed+"/rows").Body)
	}

	o.Post(changed+"/undo", nil).Want(202)
	o.Work()

	if got := o.counts(changed); got != "1 rows 1 valid -> 1 undone" {
		t.Errorf("the second import has %s: %s", got, o.Get(changed+"/rows").Body)
	}

	// One of the contacts owns a house meanwhile.
	ann := o.Get("/contacts?search=Ann").String("data.0.id")
	o.Post("/listings", object{"name": "Shore House"}).Want(201)
	house := o.Get("/listings").String("data.0.id")
	o.Post("/listings/ownership-periods", object{"listingId": house, "members": array{object{"contactId": ann, "split": 100000}}}).Want(202)
	o.Work()

	op := o.Post(path+"/undo", nil).Want(202).String("operationId")
	o.Work()

	if got := o.Get("/operations/" + op).String("failure.code"); got != "csvImportFailed" {
		t.Errorf("the undo ends with %s", got)
	}

	r := o.Get(path).Want(200)
	if r.Len("dependents") != 1 || r.String("dependents.0.reason") != "inUse" || r.String("status") != "imported" {
		t.Errorf("dependents: %s", r.Body)
	}

	if n := o.Get("/contacts").String("pagination.total"); n != "3" {
		t.Errorf("%s contacts", n)
	}
}
