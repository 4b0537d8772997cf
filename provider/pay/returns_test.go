package pay_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/moov-io/ach"

	"stayledger/provider/pay"
)

// returns is the answer of a bank to the golden file: its first entry returned with R03, its second corrected, its
// third returned with R01.
func returns(t testing.TB) []byte {
	t.Helper()

	file := ach.NewFile()
	h := ach.NewFileHeader()
	h.ImmediateDestination, h.ImmediateOrigin, h.FileCreationDate, h.FileCreationTime = "091000019", "091000019", "260122", "0600"
	file.SetHeader(h)

	for i, e := range []struct {
		sec, trace, code string
		transaction      int
		cents            int
		key              string
	}{
		{ach.PPD, "091000010100001", "R03", ach.SavingsReturnNOCCredit, 1, batch().Payments[1].Key},
		{ach.COR, "091000010100002", "C01", ach.CheckingReturnNOCCredit, 0, batch().Payments[0].Key},
		{ach.PPD, "091000010100003", "R01", ach.CheckingReturnNOCCredit, 9_999_999_999, batch().Payments[2].Key},
	} {
		head := ach.NewBatchHeader()
		head.ServiceClassCode, head.StandardEntryClassCode, head.ODFIIdentification = ach.CreditsOnly, e.sec, "02100002"
		head.CompanyName, head.CompanyIdentification, head.CompanyEntryDescription, head.BatchNumber = "SEASIDE STAYS", "1234567890", "OWNER PAY", i+1

		b, err := ach.NewBatch(head)
		if err != nil {
			t.Fatal(err)
		}

		entry := ach.NewEntryDetail()
		entry.TransactionCode, entry.Amount, entry.DFIAccountNumber, entry.IndividualName = e.transaction, e.cents, "123456789", "ANNA MULLER-ABERG"
		entry.IdentificationNumber = pay.KeyRef(e.key)
		entry.SetRDFI("091000019").SetTraceNumber("02100002", i+1)

		entry.AddendaRecordIndicator = 1
		if e.sec == ach.COR {
			entry.Category, entry.Addenda98 = ach.CategoryNOC, ach.NewAddenda98()
			entry.Addenda98.ChangeCode, entry.Addenda98.OriginalTrace, entry.Addenda98.OriginalDFI = e.code, e.trace, "02100002"
			entry.Addenda98.CorrectedData, entry.Addenda98.TraceNumber = "987654321", entry.TraceNumber
		} else {
			entry.Category, entry.Addenda99 = ach.CategoryReturn, ach.NewAddenda99()
			entry.Addenda99.ReturnCode, entry.Addenda99.OriginalTrace, entry.Addenda99.OriginalDFI = e.code, e.trace, "02100002"
			entry.Addenda99.TraceNumber = entry.TraceNumber
		}

		b.AddEntry(entry)

		if err := b.Create(); err != nil {
			t.Fatal(err)
		}

		file.AddBatch(b)
	}

	if err := file.Create(); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	if err := ach.NewWriter(&out).Write(file); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

func TestReturnsNameTheirPayments(t *testing.T) {
	t.Parallel()
	sent := submit(t, nacha(t), batch())

	back, err := pay.ParseReturns(returns(t))
	if err != nil || len(back) != 2 {
		t.Fatalf("%+v, %v", back, err)
	}

	for i, want := range []struct {
		payment int
		code    string
	}{{1, "R03"}, {2, "R01"}} {
		o, payment := back[i], sent.Outcomes[want.payment]
		if o.Key != pay.KeyRef(payment.Key) || !strings.HasSuffix(payment.Ref, "-"+o.Ref) || o.State != pay.Returned || o.Code != want.code {
			t.Errorf("return %d: %+v of %+v", i, o, payment)
		}
	}
}

func TestReturnsThatDoNotAddUpAreRefused(t *testing.T) {
	t.Parallel()
	good := string(returns(t))

	lines := strings.SplitAfter(good, "\n")
	for name, file := range map[string]string{
		"nothing":               "",
		"not a file":            "<html>",
		"a batch is missing":    strings.Join(append(append([]string{}, lines[:1]...), lines[5:]...), ""),
		"the end is missing":    strings.Join(lines[:6], ""),
		"an amount was changed": strings.Replace(good, "0000000001", "0000000002", 1),
		"too large":             strings.Repeat("9", 21<<20),
	} {
		if back, err := pay.ParseReturns([]byte(file)); !errors.Is(err, pay.ErrReturns) || back != nil {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
	}

	if back, err := pay.ParseReturns([]byte(strings.ReplaceAll(good, "\n", "\r\n"))); err != nil || len(back) != 2 {
		t.Errorf("with Windows line ends: %+v, %v", back, err)
	}

	if back, err := pay.ParseReturns(submit(t, nacha(t), batch()).File.Content); err != nil || len(back) != 0 {
		t.Errorf("a file of payments has returns: %+v, %v", back, err)
	}
}

func FuzzParseReturns(f *testing.F) {
	good := returns(f)
	f.Add(good)
	f.Add(good[:200])
	f.Add([]byte(""))
	f.Add(bytes.ReplaceAll(good, []byte("799"), []byte("7\xff\x00")))
	f.Fuzz(func(t *testing.T, file []byte) {
		back, err := pay.ParseReturns(file)
		if err != nil && !errors.Is(err, pay.ErrReturns) {
			t.Errorf("error %v", err)
		}

		for _, o := range back {
			if o.State != pay.Returned || len(o.Code) > 40 {
				t.Errorf("outcome %+v", o)
			}
		}
	})
}
