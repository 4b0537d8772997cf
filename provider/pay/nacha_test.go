package pay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moov-io/ach"
	"pgregory.net/rapid"

	"stayledger/platform/day"
	"stayledger/platform/golden"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

const nachaSettings = `{
	"immediateDestination": "091000019", "immediateDestinationName": "Wells Fargo Bank", "immediateOrigin": "1234567890",
	"immediateOriginName": "Seaside Stays", "companyName": "Seaside Stays", "companyIdentification": "1234567890",
	"odfiRouting": "091000019", "entryDescription": "Owner Pay", "fundingAccountId": "of others"}`

func nacha(t *testing.T) pay.Provider {
	t.Helper()

	p, err := pay.NewNACHA(json.RawMessage(nachaSettings), nil)
	if err != nil {
		t.Fatal(err)
	}

	return p
}

func date(s string) day.Day {
	d, err := day.Parse(s)
	if err != nil {
		panic(err)
	}

	return d
}

func payment(key string, cents money.Cents, arrives string) pay.Payment {
	return pay.Payment{Key: key, Amount: cents, Currency: "usd", Date: date(arrives), Memo: "January 2026", Recipient: pay.Account{
		Holder: "Anna Müller-Åberg", Routing: "021000021", Number: "123456789", Type: pay.Checking,
	}}
}

// batch has the payments of the golden file: two days, both kinds of accounts, a name that is too long.
func batch() pay.Batch {
	b := pay.Batch{At: time.Date(2026, 1, 15, 14, 30, 59, 0, time.UTC), Sequence: 1, Payments: []pay.Payment{
		payment("018f2f60-0000-7000-8000-000000000001", 123456, "2026-01-20"),
		payment("018f2f60-0000-7000-8000-000000000002", 1, "2026-01-16"),
		payment("018f2f60-0000-7000-8000-000000000003", 9_999_999_999, "2026-01-20"),
	}}
	b.Payments[1].Recipient = pay.Account{Holder: "Bartholomew Featherstonehaugh III", Routing: "121042882", Number: "0012-34", Type: pay.Savings}

	return b
}

func submit(t *testing.T, p pay.Provider, b pay.Batch) pay.Receipt {
	t.Helper()

	r, err := p.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func TestFileOfPaymentsIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	r := submit(t, nacha(t), batch())
	golden.File(t, "testdata/payments.ach", r.File.Content)

	if r.File.Name != "ach-2026-01-15-B.txt" {
		t.Errorf("name %q", r.File.Name)
	}

	for i, ref := range []string{"20260115-091000010100002", "20260115-091000010100001", "20260115-091000010100003"} {
		if o := r.Outcomes[i]; o.Key != batch().Payments[i].Key || o.State != pay.Submitted || o.Ref != ref {
			t.Errorf("outcome %d: %+v, want %s", i, o, ref)
		}
	}

	if again := submit(t, nacha(t), batch()); string(again.File.Content) != string(r.File.Content) {
		t.Error("the same batch gives other bytes")
	}
}

// The records of the golden file, read column by column from NACHA's layout rather than by the library that wrote them.
func TestFileHasTheColumnsOfTheLayout(t *testing.T) {
	t.Parallel()
	content := string(submit(t, nacha(t), batch()).File.Content)

	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	if len(lines)%10 != 0 {
		t.Errorf("%d lines are no whole blocks", len(lines))
	}

	for i, line := range lines {
		if len(line) != 94 {
			t.Errorf("line %d has %d characters", i+1, len(line))
		}
	}

	first := "01" + " 091000019" + "1234567890" + "260115" + "1430" + "B" + "094" + "10" + "1" + "WELLS FARGO BANK       " + "SEASIDE STAYS          " + "        "
	if lines[0] != "1"+first {
		t.Errorf("file header\n%s\nwant\n%s", lines[0], "1"+first)
	}

	var batches, entries []string

	for _, line := range lines {
		switch line[0] {
		case '5':
			batches = append(batches, line[1:4]+line[50:53]+line[69:75])
		case '6':
			entries = append(entries, strings.Join([]string{line[1:3], line[3:12], line[12:29], line[29:39], line[39:54], line[54:76], line[78:79], line[79:]}, "|"))
		}
	}

	if fmt.Sprint(batches) != "[220PPD260116 220PPD260120]" {
		t.Errorf("batches %v", batches)
	}

	want := []string{
		"32|121042882|0012-34          |0000000001|" + pay.KeyRef("018f2f60-0000-7000-8000-000000000002") + "|BARTHOLOMEW FEATHERSTO|0|091000010100001",
		"22|021000021|123456789        |0000123456|" + pay.KeyRef("018f2f60-0000-7000-8000-000000000001") + "|ANNA MULLER-ABERG     |0|091000010100002",
		"22|021000021|123456789        |9999999999|" + pay.KeyRef("018f2f60-0000-7000-8000-000000000003") + "|ANNA MULLER-ABERG     |0|091000010100003",
	}
	for i := range want {
		if i >= len(entries) || entries[i] != want[i] {
			t.Errorf("entries\n%s\nwant\n%s", strings.Join(entries, "\n"), strings.Join(want, "\n"))
			break
		}
	}
}

func TestPaymentsTakeEffectOnBankingDaysAfterTheFile(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ made, date, effective string }{
		{"2026-01-14", "2026-01-16", "260116"}, // a Friday
		{"2026-01-14", "2026-01-17", "260120"}, // a Saturday before a holiday
		{"2026-01-16", "2026-01-16", "260120"}, // not on the day of the file
		{"2026-01-14", "2025-12-01", "260115"}, // never in the past
		{"2026-06-17", "2026-06-19", "260622"}, // Juneteenth
		{"2026-07-01", "2026-07-03", "260703"}, // a holiday on Saturday leaves the Friday open
		{"2027-12-30", "2028-01-01", "280103"}, // New Year on a Saturday
		{"2022-12-23", "2022-12-25", "221227"}, // Christmas on a Sunday moves to the Monday
	} {
		b := batch()
		b.At = date(c.made).In(time.UTC).Add(12 * time.Hour)
		b.Payments = []pay.Payment{payment("a", 100, c.date)}

		line := strings.Split(string(submit(t, nacha(t), b).File.Content), "\n")[1]
		if got := line[69:75]; got != c.effective {
			t.Errorf("made %s for %s: takes effect on %s, want %s", c.made, c.date, got, c.effective)
		}
	}
}

func TestPaymentsThatDoNotFitAreLeftOut(t *testing.T) {
	t.Parallel()

	for code, change := range map[string]func(*pay.Payment){
		"amountNotSupported":   func(p *pay.Payment) { p.Amount = 10_000_000_000 },
		"currencyNotSupported": func(p *pay.Payment) { p.Currency = "eur" },
		"accountInvalid":       func(p *pay.Payment) { p.Recipient.Routing = "021000022" },
		"holderInvalid":        func(p *pay.Payment) { p.Recipient.Holder = "张伟" },
		"dateInvalid":          func(p *pay.Payment) { p.Date = day.Day{} },
		"keyDuplicate":         func(p *pay.Payment) { p.Key = batch().Payments[0].Key },
	} {
		b := batch()
		change(&b.Payments[2])

		r := submit(t, nacha(t), b)
		if o := r.Outcomes[2]; o.State != pay.Failed || o.Code != code || o.Key != b.Payments[2].Key || o.Ref != "" {
			t.Errorf("%s: %+v", code, o)
		}

		if r.Outcomes[0].State != pay.Submitted || strings.Count(string(r.File.Content), "\n622")+strings.Count(string(r.File.Content), "\n632") != 2 {
			t.Errorf("%s: the other payments are not in the file", code)
		}
	}

	b := batch()
	for i := range b.Payments {
		b.Payments[i].Amount = 0
	}

	if r := submit(t, nacha(t), b); r.File != nil || len(r.Outcomes) != 3 {
		t.Errorf("a file without payments: %+v", r)
	}

	for _, a := range []pay.Account{
		{Holder: "A", Routing: "021000021", Number: "123456789012345678", Type: pay.Checking},
		{Holder: "A", Routing: "021000021", Number: "12 34", Type: pay.Checking},
		{Holder: "A", Routing: "021000021", Number: "12\n34", Type: pay.Checking},
		{Holder: "A", Routing: "021000021", Number: "", Type: pay.Checking},
		{Holder: "A", Routing: "000000000", Number: "1234", Type: pay.Checking},
		{Holder: "A", Routing: "02100002१", Number: "1234", Type: pay.Checking},
		{Holder: "A", Routing: "021000021", Number: "1234", Type: "loan"},
	} {
		if v, err := nacha(t).VerifyAccount(t.Context(), "q", a); v != pay.Rejected || err != nil {
			t.Errorf("account %+v is %s, %v", a, v, err)
		}
	}

	if v, err := nacha(t).VerifyAccount(t.Context(), "q", batch().Payments[0].Recipient); v != pay.Verified || err != nil {
		t.Errorf("a good account is %s, %v", v, err)
	}
}

func TestDayHasThirtySixFiles(t *testing.T) {
	t.Parallel()

	b := batch()
	refs := map[string]bool{}

	for b.Sequence = range 36 {
		r := submit(t, nacha(t), b)
		if got, want := string(r.File.Content[33]), string("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[b.Sequence]); got != want {
			t.Errorf("file %d is %s, want %s", b.Sequence, got, want)
		}

		for _, o := range r.Outcomes {
			if refs[o.Ref] {
				t.Errorf("reference %s twice", o.Ref)
			}

			refs[o.Ref] = true
		}
	}

	b.Sequence = 36
	if _, err := nacha(t).Submit(t.Context(), b); !errors.Is(err, pay.ErrNotReady) {
		t.Errorf("file 37 of a day: %v", err)
	}
}

// A process that has to stop has not decided anything about payments.
func TestFileOfAnAttemptThatWasStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()

	r, err := nacha(t).Submit(ctx, batch())
	if !errors.Is(err, context.Canceled) || errors.Is(err, pay.ErrNotReady) || errors.Is(err, pay.ErrRefused) || r.File != nil || len(r.Outcomes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFileThatHasGoneStaysGone(t *testing.T) {
	t.Parallel()

	p := nacha(t)
	if err := p.Check(t.Context()); err != nil {
		t.Error(err)
	}

	if _, err := p.Find(t.Context(), "a"); !errors.Is(err, pay.ErrUnknown) {
		t.Errorf("find: %v", err)
	}

	if _, err := p.Cancel(t.Context(), "a"); !errors.Is(err, pay.ErrRefused) {
		t.Errorf("cancel: %v", err)
	}
}

func TestFileSettingsAreChecked(t *testing.T) {
	t.Parallel()

	for field, value := range map[string]string{
		"immediateDestination": "091000010", "immediateDestinationName": "", "immediateOrigin": "12345678901", "immediateOriginName": strings.Repeat("x", 24),
		"companyName": "Seventeen letters", "companyIdentification": "张", "odfiRouting": "0910000", "entryDescription": "Reversal",
	} {
		var settings map[string]string
		if err := json.Unmarshal([]byte(nachaSettings), &settings); err != nil {
			t.Fatal(err)
		}

		settings[field] = value

		raw, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}

		_, err = pay.NewNACHA(raw, nil)

		var wrong *pay.SettingsError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s = %q: %v", field, value, err)
		}
	}

	for _, raw := range []string{"", "null", "[]", `{"odfiRouting": 91000019}`} {
		if _, err := pay.NewNACHA(json.RawMessage(raw), nil); err == nil {
			t.Errorf("settings %q were taken", raw)
		}
	}
}

func TestNamesOfPaymentsInFiles(t *testing.T) {
	t.Parallel()

	seen := map[string]bool{}

	for i := range 20000 {
		ref := pay.KeyRef(fmt.Sprintf("018f2f60-0000-7000-8000-%012d", i))
		if len(ref) != 15 || seen[ref] {
			t.Fatalf("name %q", ref)
		}

		seen[ref] = true
	}
	// Names are in files at banks: they must never change.
	if got := pay.KeyRef("018f2f60-0000-7000-8000-000000000001"); got != "TFFESTILWJQV3IC" {
		t.Errorf("name %q", got)
	}
}

// Whatever the payments, the file adds up, is pure ASCII and names each payment that fits exactly once.
func TestAnyFileAddsUp(t *testing.T) {
	t.Parallel()
	p := nacha(t)
	rapid.Check(t, func(t *rapid.T) {
		b := pay.Batch{At: time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0), Sequence: rapid.IntRange(0, 35).Draw(t, "sequence")}
		for i := range rapid.IntRange(1, 40).Draw(t, "payments") {
			b.Payments = append(b.Payments, pay.Payment{
				Key: fmt.Sprint("k", i), Amount: money.Cents(rapid.Int64Range(1, 9_999_999_999).Draw(t, "cents")), Currency: "USD",
				Date: date("2026-01-01").AddDays(rapid.IntRange(0, 40).Draw(t, "days")),
				Recipient: pay.Account{
					Holder: "X" + rapid.String().Draw(t, "holder"), Routing: rapid.SampledFrom([]string{"021000021", "121042882", "091000019"}).Draw(t, "routing"),
					Number: rapid.StringMatching(`[0-9A-Z]{1,17}`).Draw(t, "number"), Type: rapid.SampledFrom([]pay.AccountType{pay.Checking, pay.Savings}).Draw(t, "type"),
				},
			})
		}

		r, err := p.Submit(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}

		read, err := ach.NewReader(strings.NewReader(string(r.File.Content))).Read()
		if err != nil {
			t.Fatal(err)
		}

		var total money.Cents

		refs := map[string]bool{}

		for i := range b.Payments {
			total += b.Payments[i].Amount
			refs[pay.KeyRef(b.Payments[i].Key)] = true
		}

		if money.Cents(read.Control.TotalCreditEntryDollarAmountInFile) != total || read.Control.TotalDebitEntryDollarAmountInFile != 0 {
			t.Fatalf("total %d, want %d", read.Control.TotalCreditEntryDollarAmountInFile, total)
		}

		for _, each := range read.Batches {
			for _, e := range each.GetEntries() {
				if !refs[e.IdentificationNumber] {
					t.Fatalf("entry %q is there twice or of nobody", e.IdentificationNumber)
				}

				delete(refs, e.IdentificationNumber)
			}
		}

		if len(refs) > 0 {
			t.Fatalf("%d payments are missing", len(refs))
		}
	})
}
