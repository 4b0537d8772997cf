package upload_test

import "testing"

// Who is in a file twice, or has two opening balances, is not taken twice without a look.
func TestRepeatedRowsAreAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)

	path := o.preview("contacts", "Name,Email\nAnn Miller,ann@example.com\nBen Cole,\nAnn Miller,ann@example.com\nBen Cole,\n")
	if got := o.counts(path); got != "4 rows 2 valid 2 duplicates ->" {
		t.Errorf("contacts: %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.confirm(path, object{"acceptIssues": true})

	if got := o.Get("/contacts").String("pagination.total"); got != "2" {
		t.Errorf("%s contacts", got)
	}

	o.take("listings", "name,owner,owned from\nShore House,Ann Miller,2025-01-01\n")

	path = o.preview("opening-balances", "Property,Balance\nShore House,-80.50\nShore House,10.00\n")
	if got := o.counts(path); got != "2 rows 1 valid 1 questions ->" {
		t.Errorf("opening balances: %s: %s", got, o.Get(path+"/rows").Body)
	}

	o.confirm(path, object{"acceptIssues": true})

	if got := o.Get("/listings/opening-balance").String("data.0.amount"); got != "-8050" {
		t.Errorf("the house opens with %s", got)
	}
}

// A channel gives its commission as a rate and as an amount.
func TestARateIsNoAmount(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.take("reservations", `Book number;Guest name(s);Check-in;Check-out;Status;Rent;Commission %;Commission amount;Property name
4711;Eva Poe;2026-02-03;2026-02-05;ok;400.00 EUR;15;60.00 EUR;Shore House
`)

	r := o.Get("/reservations").Want(200)
	if r.String("data.0.financials.expectedChannelFee") != "6000" || r.String("data.0.guestName") != "Eva Poe" {
		t.Errorf("%s: %s", o.counts(path), r.Body)
	}
}

// An accounting program writes bills in this way.
func TestBillsOfAnAccountingProgram(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Contact("vendor", "Keys Plumbing")

	path := o.take("transactions", `Date,Transaction Type,Num,Name,Memo/Description,Category,Amount
02/13/2026,Expense,12,Keys Plumbing,Pipe,"Repairs, supplies, utilities",120.00
02/13/2026,Expense,12,Keys Plumbing,Pipe,"Repairs, supplies, utilities",30.00
`)

	r := o.Get("/transactions").Want(200)
	if r.Len("data") != 1 || r.String("data.0.total") != "15000" || r.String("data.0.contact.name") != "Keys Plumbing" || r.String("data.0.description") != "Pipe" {
		t.Errorf("%s: %s", o.counts(path), r.Body)
	}
}

// A report of payouts says what a stay pays out and not what its rent is, so that it is not booked without a look.
func TestAStayWithAPayoutAloneIsAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("Shore House", o.Contact("owner", "Ann"))

	path := o.preview("reservations", `Confirmation code,Status,Guest name,Start date,End date,Listing,Earnings
HM1,Past guest,Dana Reed,2/13/2026,2/17/2026,Shore House,"$1,204.50"
HM2,Canceled by guest,Max Ott,2/18/2026,2/20/2026,Shore House,$0.00
`)
	if got := o.counts(path); got != "2 rows 1 valid 1 questions ->" {
		t.Errorf("the preview has %s: %s", got, o.Get(path+"/rows").Body)
	}
}
