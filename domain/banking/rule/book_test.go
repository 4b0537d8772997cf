package rule_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

func part(mode rule.SplitMode, n int64) rule.Line {
	l := rule.Line{SplitMode: mode, AccountID: new(seq(900))}
	switch mode {
	case rule.Fixed:
		l.FixedCentAmount = new(money.Cents(n))
	case rule.Percentage:
		l.PercentageBps = new(money.Rate(n))
	case rule.Remainder:
	}

	return l
}

func TestSplits(t *testing.T) {
	t.Parallel()

	const fixed, percentage, remainder = rule.Fixed, rule.Percentage, rule.Remainder
	for name, test := range map[string]struct {
		lines []rule.Line
		total money.Cents
		want  string
	}{
		"the whole":                            {[]rule.Line{part(remainder, 0)}, 1001, "[1001]"},
		"halves":                               {[]rule.Line{part(percentage, 50000), part(percentage, 50000)}, 1001, "[501 500]"},
		"thirds, the rest to the last":         {[]rule.Line{part(percentage, 33333), part(percentage, 33333), part(remainder, 0)}, 100, "[33 33 34]"},
		"fixed and rest":                       {[]rule.Line{part(fixed, 300), part(remainder, 0)}, 1000, "[300 700]"},
		"the rest comes first":                 {[]rule.Line{part(remainder, 0), part(fixed, 300)}, 1000, "[700 300]"},
		"percentages of what fixed ones leave": {[]rule.Line{part(fixed, 200), part(percentage, 25000), part(remainder, 0)}, 1000, "[200 200 600]"},
		"a deduction":                          {[]rule.Line{part(fixed, -158), part(remainder, 0)}, 862, "[-158 1020]"},
		"nothing is left, so there is no line": {[]rule.Line{part(fixed, 1000), part(remainder, 0)}, 1000, "[1000]"},
		"fixed alone":                          {[]rule.Line{part(fixed, 600), part(fixed, 400)}, 1000, "[600 400]"},
		"fixed alone, a cent too few":          {[]rule.Line{part(fixed, 600), part(fixed, 399)}, 1000, "splitMismatch"},
		"fixed alone, a cent too many":         {[]rule.Line{part(fixed, 600), part(fixed, 401)}, 1000, "splitMismatch"},
		"fixed is more than there is":          {[]rule.Line{part(fixed, 1001), part(remainder, 0)}, 1000, "splitMismatch"},
		"one cent for three":                   {[]rule.Line{part(percentage, 30000), part(percentage, 30000), part(percentage, 40000)}, 1, "[1]"},
		"the largest there is":                 {[]rule.Line{part(percentage, 50000), part(remainder, 0)}, money.MaxCents, "[4503599627370496 4503599627370495]"},
		"beyond the safe range":                {[]rule.Line{part(fixed, -1), part(remainder, 0)}, money.MaxCents, "splitMismatch"},
		"far beyond":                           {[]rule.Line{part(fixed, -money.MaxCents), part(remainder, 0)}, money.MaxCents, "splitMismatch"},
	} {
		for _, kind := range []transaction.Type{transaction.Deposit, transaction.Expense} {
			t.Run(name+", "+string(kind), func(t *testing.T) {
				t.Parallel()

				r := simple(1, rule.Condition{rule.Description, rule.Contains, "x"})
				r.TransactionType, r.Lines = kind, test.lines

				record := spent("x", test.total)
				if kind == transaction.Deposit {
					record.Amount = test.total
				}

				d := compile(t, r).Pass().Decide(&record)

				got := string(d.Reason)
				if d.Transaction != nil {
					var amounts []money.Cents
					for _, l := range d.Transaction.Lines {
						amounts = append(amounts, l.Amount)
					}

					got = strings.ReplaceAll(fmt.Sprintf("%d", amounts), "money.Cents", "")
				}

				if got != test.want || d.Rule == nil {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		}
	}
}

func genLines(t *rapid.T) []rule.Line {
	var lines []rule.Line
	for range rapid.IntRange(0, 3).Draw(t, "fixed") {
		lines = append(lines, part(rule.Fixed, rapid.Int64Range(1, 2000).Draw(t, "cents")*rapid.SampledFrom([]int64{1, 1, -1}).Draw(t, "sign")))
	}

	left := int64(money.WholeRate)
	for range rapid.IntRange(0, 3).Draw(t, "percentages") {
		p := rapid.Int64Range(1, left/2).Draw(t, "percentage")
		lines, left = append(lines, part(rule.Percentage, p)), left-p
	}

	if rapid.Bool().Draw(t, "remainder") {
		lines = append(lines, part(rule.Remainder, 0))
	} else if left < int64(money.WholeRate) {
		lines = append(lines, part(rule.Percentage, left))
	}

	if len(lines) == 0 {
		lines = append(lines, part(rule.Remainder, 0))
	}

	return rapid.Permutation(lines).Draw(t, "lines")
}

func TestPropertyLinesAddUpToTheRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := simple(1, rule.Condition{rule.Amount, rule.GreaterThan, "0"})
		r.Lines = genLines(t)
		r.TransactionType = rapid.SampledFrom([]transaction.Type{transaction.Deposit, transaction.Expense}).Draw(t, "type")

		engine, err := rule.Compile([]rule.Rule{r})
		if err != nil {
			t.Fatalf("%v: %+v", err, r.Lines)
		}

		total := money.Cents(rapid.OneOf(rapid.Int64Range(1, 5000), rapid.Int64Range(1, money.MaxCents/2)).Draw(t, "total"))

		record := spent("", total)
		if r.TransactionType == transaction.Deposit {
			record.Amount = total
		}

		var fixed money.Cents

		open := false

		for _, l := range r.Lines {
			if l.FixedCentAmount != nil {
				fixed += *l.FixedCentAmount
			} else {
				open = true
			}
		}

		d := engine.Pass().Decide(&record)
		if booked := fixed == total || open && fixed < total; booked != (d.Transaction != nil) || !booked && d.Reason != rule.SplitMismatch {
			t.Fatalf("%d by %+v: %+v", total, r.Lines, d)
		}

		if d.Transaction == nil {
			return
		}

		var sum money.Cents

		for _, l := range d.Transaction.Lines {
			if l.Amount == 0 {
				t.Fatalf("a line of nothing in %+v", d.Transaction.Lines)
			}

			sum += l.Amount
		}

		if sum != total {
			t.Fatalf("%d by %+v gives %d", total, r.Lines, sum)
		}
	})
}

// booked is a transaction as it would be sent.
func booked(t *testing.T, d rule.Decision) string {
	t.Helper()

	text, err := json.Marshal(d.Transaction)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// Example F of domain.md 2.4 from the record of its payment: base 100.00, markup 10.00, tax 15 % on both.
func TestAnOwnersBillFromItsPayment(t *testing.T) {
	t.Parallel()

	r := simple(1, rule.Condition{rule.Description, rule.StartsWith, "check"})
	r.Conditions = append(r.Conditions, rule.Condition{rule.Description, rule.Contains, "plumber"})
	r.Mode, r.VendorContactID, r.DescriptionOverride = rule.Auto, new(seq(50)), new("Repair of the sink")
	excluded := transaction.TaxExcluded
	r.Lines = []rule.Line{{
		SplitMode: rule.Remainder, AccountID: new(seq(52)), Party: new(ledger.Owners), ListingID: new(seq(9)), TaxRateID: new(seq(15)),
		DescriptionOverride: new("Sink"), Markup: &rule.Markup{Amount: 1000, TaxRateID: new(seq(15)), TaxBehavior: &excluded},
	}}
	record := spent("CHECK 1001 PLUMBER", 10000)

	d := compile(t, r).Pass().Decide(&record)

	want := `{"type":"expense","date":"2026-03-15","description":"Repair of the sink","currency":"usd","accountId":"` + seq(1).String() +
		`","contactId":"` + seq(50).String() + `","lines":[{"amount":10000,"description":"Sink","accountId":"` + seq(52).String() +
		`","appliedAmount":{"taxRateId":"` + seq(15).String() + `","taxBehavior":"excluded"},"markup":{"amount":1000,"taxRateId":"` + seq(15).String() +
		`","taxBehavior":"excluded"},"listingId":"` + seq(9).String() + `","party":"owners"}]}`
	if got := booked(t, d); got != want || !d.Auto() {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// What the bank moves is the bill, whatever the owner is charged.
	line := transaction.Line{Amount: 10000, AppliedAmount: &transaction.Applied{TaxBehavior: excluded, TaxPayee: transaction.TaxToAuthority, TaxAmount: 1500}}
	if line.Payable() != 10000 {
		t.Errorf("a line of 100.00 moves %d", line.Payable())
	}

	r.UsePriorMonthEnd, r.DescriptionOverride, r.Mode = true, nil, rule.Suggest
	included := transaction.TaxIncluded
	r.Lines[0].Markup, r.Lines[0].TaxBehavior, r.Lines[0].DescriptionOverride = nil, &included, nil
	d = compile(t, r).Pass().Decide(&record)

	want = `{"type":"expense","date":"2026-02-28","description":"CHECK 1001 PLUMBER","currency":"usd","accountId":"` + seq(1).String() +
		`","contactId":"` + seq(50).String() + `","payment":{"date":"2026-03-15","accountId":"` + seq(1).String() + `"},"lines":[{"amount":10000,"accountId":"` +
		seq(52).String() + `","appliedAmount":{"taxRateId":"` + seq(15).String() + `","taxBehavior":"included"},"listingId":"` + seq(9).String() + `","party":"owners"}]}`
	if got := booked(t, d); got != want || d.Auto() {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	line = transaction.Line{Amount: 10000, AppliedAmount: &transaction.Applied{TaxBehavior: included, TaxPayee: transaction.TaxToVendor, TaxAmount: 1304}}
	if line.Payable() != 10000 {
		t.Errorf("a line of 100.00 with its tax moves %d", line.Payable())
	}
}

// A resolution payout that owner and manager share, and the gross of example E with the fee that the channel kept.
func TestDepositsOfAChannel(t *testing.T) {
	t.Parallel()

	r := simple(1, rule.Condition{rule.Description, rule.Contains, "airbnb"})
	r.TransactionType = transaction.Deposit
	r.Lines = []rule.Line{
		{SplitMode: rule.Percentage, PercentageBps: new(money.Rate(80000)), AccountID: new(seq(40)), Party: new(ledger.Owners), ListingID: new(seq(9))},
		{SplitMode: rule.Remainder, AccountID: new(seq(41)), Party: new(ledger.Manager)},
	}
	record := spent("AIRBNB PAYMENTS", 0)
	record.Amount = 10003

	lines := compile(t, r).Pass().Decide(&record).Transaction.Lines
	if len(lines) != 2 || lines[0].Amount != 8002 || lines[1].Amount != 2001 || *lines[1].Party.Value != ledger.Manager {
		t.Errorf("got %+v", lines)
	}

	r.Lines = []rule.Line{
		{SplitMode: rule.Remainder, Assignment: new(account.AccountsReceivable)},
		{SplitMode: rule.Fixed, FixedCentAmount: new(money.Cents(-15810)), Assignment: new(account.DepositChannelFee)},
	}
	record.Amount = 86190

	lines = compile(t, r).Pass().Decide(&record).Transaction.Lines
	if len(lines) != 2 || lines[0].Amount != 102000 || lines[1].Amount != -15810 || *lines[1].Assignment.Value != account.DepositChannelFee {
		t.Errorf("got %+v", lines)
	}
}

func TestLimitsOfARecord(t *testing.T) {
	t.Parallel()

	r := simple(1, rule.Condition{rule.Description, rule.Contains, "x"})
	r.UsePriorMonthEnd = true
	pass := compile(t, r).Pass()
	record := spent("x", 100)

	record.Date = day.Month{Year: 1, Month: 1}.First()
	if d := pass.Decide(&record); d.Reason != rule.DateOutOfRange || d.Transaction != nil {
		t.Errorf("got %+v", d)
	}

	record.Date = day.Month{Year: 2024, Month: 3}.Last()
	record.Description = strings.Repeat("é", 2000) + "x"

	d := pass.Decide(&record)
	if got := *d.Transaction.Description.Value; got != strings.Repeat("é", 1000) || d.Transaction.Date.String() != "2024-02-29" {
		t.Errorf("on %s with %d characters", d.Transaction.Date, len([]rune(got)))
	}

	silent := simple(1, rule.Condition{rule.Amount, rule.Equals, "100"})

	record.Description = ""
	if d := compile(t, silent).Pass().Decide(&record); d.Transaction.Description.Present {
		t.Errorf("described as %q", *d.Transaction.Description.Value)
	}
}
