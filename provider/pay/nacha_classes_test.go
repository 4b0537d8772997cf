package pay_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/moov-io/ach"

	"stayledger/provider/pay"
)

// readBack reads a file with the library's own reader and has it validate the whole.
func readBack(t *testing.T, content []byte) ach.File {
	t.Helper()

	reader := ach.NewReader(strings.NewReader(string(content)))
	reader.SetValidation(&ach.ValidateOpts{BypassOriginValidation: true})

	file, err := reader.Read()
	if err != nil {
		t.Fatalf("%v\n%s", err, content)
	}

	if err := file.Validate(); err != nil {
		t.Fatalf("%v\n%s", err, content)
	}

	return file
}

func balanced(t *testing.T) pay.Provider {
	t.Helper()

	settings := strings.Replace(nachaSettings, "{", `{"balancedFile": "true", "offsetAccountType": "savings", `, 1)

	p, err := pay.NewNACHA(json.RawMessage(settings), json.RawMessage(`{"offsetAccountNumber": "4242424242"}`))
	if err != nil {
		t.Fatal(err)
	}

	return p
}

// Companies are paid by CCD and individuals by PPD, in batches of their own.
func TestCompaniesArePaidByCCD(t *testing.T) {
	t.Parallel()

	b := batch()
	b.Payments[0].Company = true
	file := readBack(t, submit(t, nacha(t), b).File.Content)

	var got []string

	for _, each := range file.Batches {
		h := each.GetHeader()
		for _, e := range each.GetEntries() {
			got = append(got, h.StandardEntryClassCode+" "+h.EffectiveEntryDate+" "+e.IdentificationNumber)
		}

		if h.ServiceClassCode != ach.CreditsOnly {
			t.Errorf("service class %d", h.ServiceClassCode)
		}
	}

	want := []string{
		"PPD 260116 " + pay.KeyRef(b.Payments[1].Key), "PPD 260120 " + pay.KeyRef(b.Payments[2].Key), "CCD 260120 " + pay.KeyRef(b.Payments[0].Key),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("entries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each batch of a balanced file sums to zero: what goes out is debited from the sender's own account, in several
// entries when it does not fit one.
func TestBalancedFilesSumToZero(t *testing.T) {
	t.Parallel()

	b := batch()
	b.Payments[0].Company = true
	b.Payments = append(b.Payments, payment("018f2f60-0000-7000-8000-000000000004", 9_999_999_999, "2026-01-20"))
	r := submit(t, balanced(t), b)

	file := readBack(t, r.File.Content)
	if file.Control.TotalCreditEntryDollarAmountInFile != file.Control.TotalDebitEntryDollarAmountInFile {
		t.Errorf("%d out, %d in", file.Control.TotalCreditEntryDollarAmountInFile, file.Control.TotalDebitEntryDollarAmountInFile)
	}

	traces, debits := map[string]bool{}, 0

	for _, each := range file.Batches {
		c := each.GetControl()
		if each.GetHeader().ServiceClassCode != ach.MixedDebitsAndCredits || c.TotalCreditEntryDollarAmount != c.TotalDebitEntryDollarAmount || c.TotalDebitEntryDollarAmount == 0 {
			t.Errorf("a batch has %d out, %d in", c.TotalCreditEntryDollarAmount, c.TotalDebitEntryDollarAmount)
		}

		for _, e := range each.GetEntries() {
			if traces[e.TraceNumber] {
				t.Errorf("trace number %s twice", e.TraceNumber)
			}

			traces[e.TraceNumber] = true
			if e.TransactionCode == ach.SavingsDebit {
				debits++

				if strings.TrimSpace(e.DFIAccountNumber) != "4242424242" || e.RDFIIdentification+e.CheckDigit != "091000019" {
					t.Errorf("debited is %s at %s%s", e.DFIAccountNumber, e.RDFIIdentification, e.CheckDigit)
				}
			}
		}
	}

	if debits != 4 || len(r.Outcomes) != 4 {
		t.Errorf("%d debits, %d outcomes", debits, len(r.Outcomes))
	}

	for _, o := range r.Outcomes {
		if o.State != pay.Submitted || !traces[o.Ref[len("20260115-"):]] {
			t.Errorf("outcome %+v", o)
		}
	}
}

// A balanced file needs the account that it debits.
func TestABalancedFileNeedsAnAccount(t *testing.T) {
	t.Parallel()

	for field, change := range map[string][2]string{
		"offsetAccountNumber": {`"balancedFile": "true", `, ""},
		"offsetAccountType":   {`"balancedFile": "true", "offsetAccountType": "loan", `, "1234"},
		"offsetRouting":       {`"balancedFile": "true", "offsetRouting": "091000010", `, "1234"},
	} {
		_, err := pay.NewNACHA(json.RawMessage(strings.Replace(nachaSettings, "{", "{"+change[0], 1)), json.RawMessage(`{"offsetAccountNumber": "`+change[1]+`"}`))
		if wrong, ok := errors.AsType[*pay.SettingsError](err); !ok || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
