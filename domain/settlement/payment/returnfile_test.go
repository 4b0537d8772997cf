package payment_test

import (
	"bytes"
	"testing"

	"github.com/moov-io/ach"

	"stayledger/domain/settlement/payment"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/provider/pay"
)

// entry is a payment in a file of returns: its trace number and its name in the file.
type entry struct{ trace, key, code string }

// fileOf is the file that a bank sends back.
func fileOf(tb testing.TB, entries ...entry) string {
	tb.Helper()

	file := ach.NewFile()
	h := ach.NewFileHeader()
	h.ImmediateDestination, h.ImmediateOrigin, h.FileCreationDate, h.FileCreationTime = "091000019", "091000019", "260122", "0600"
	file.SetHeader(h)

	for i, e := range entries {
		head := ach.NewBatchHeader()
		head.ServiceClassCode, head.StandardEntryClassCode, head.ODFIIdentification = ach.CreditsOnly, ach.PPD, "02100002"
		head.CompanyName, head.CompanyIdentification, head.CompanyEntryDescription, head.BatchNumber = "SEASIDE STAYS", "1234567890", "OWNER PAY", i+1

		b, err := ach.NewBatch(head)
		if err != nil {
			tb.Fatal(err)
		}

		d := ach.NewEntryDetail()
		d.TransactionCode, d.Amount, d.DFIAccountNumber, d.IndividualName = ach.CheckingReturnNOCCredit, 700, "123456789", "ADA"
		d.IdentificationNumber = e.key
		d.SetRDFI("091000019").SetTraceNumber("02100002", i+1)
		d.AddendaRecordIndicator, d.Category, d.Addenda99 = 1, ach.CategoryReturn, ach.NewAddenda99()
		d.Addenda99.ReturnCode, d.Addenda99.OriginalTrace, d.Addenda99.OriginalDFI, d.Addenda99.TraceNumber = e.code, e.trace, "02100002", d.TraceNumber
		b.AddEntry(d)

		if err := b.Create(); err != nil {
			tb.Fatal(err)
		}

		file.AddBatch(b)
	}

	if err := file.Create(); err != nil {
		tb.Fatal(err)
	}

	var out bytes.Buffer
	if err := ach.NewWriter(&out).Write(file); err != nil {
		tb.Fatal(err)
	}

	return out.String()
}

func TestAFileOfReturns(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	w.bank.files = true
	http := w.connection
	w.connection = w.connect("nacha", w.bank)
	out, bill := w.payout(700), w.bill(700)
	p, q := w.pay(out), w.pay(bill)
	w.work()

	traces := map[id.ID]string{}

	for _, b := range w.bank.batches {
		for i, y := range b.Payments {
			key, err := id.Parse(y.Key)
			if err != nil {
				t.Fatal(err)
			}

			traces[key] = trace(b, i)
		}
	}

	path := "/connections/" + w.connection.String() + "/return-files"
	content := fileOf(t,
		entry{traces[p], pay.KeyRef(p.String()), "R03"}, entry{traces[q], pay.KeyRef(q.String()), "R01"},
		entry{traces[p], pay.KeyRef(q.String()), "R02"}, entry{"099999990000001", pay.KeyRef(p.String()), "R02"})

	first := w.Post(path, content).Want(200)
	if first.Len("data") != 2 || first.ID("data.0.paymentId") != p || first.ID("data.0.transactionId") != out || first.String("data.0.code") != "R03" ||
		first.Int("data.0.amount") != 700 || first.String("data.1.returnTransactionId") != "null" {
		t.Errorf("answer %s", first.Body)
	}

	if first.Len("issues") != 2 || first.String("issues.0.code") != "paymentUnknown" || first.String("issues.0.context.entry") != "3" {
		t.Errorf("issues %s", first.Body)
	}

	w.wantStatus(p, payment.Returned)
	w.wantStatus(q, payment.Returned)

	if w.balance("1000") != 0 || w.Get("/transactions/"+bill.String()).Want(200).String("paidStatus") != "unpaid" {
		t.Errorf("the account has %d", w.balance("1000"))
	}

	before := w.Fingerprint()
	if again := w.Post(path, content).Want(200); !bytes.Equal(again.Body, first.Body) {
		t.Errorf("the second time %s", again.Body)
	}

	if stamped := w.Get("/transactions?type=payout").Want(200).Len("data"); stamped != 2 {
		t.Errorf("%d payouts, rows before %s", stamped, before)
	}

	w.Post(path, "no file").WantError(apierr.CodeBadRequest, "")
	w.Post("/connections/"+http.String()+"/return-files", content).WantError(apierr.CodeNotImplemented, "")
	w.Post("/connections/"+w.id().String()+"/return-files", content).WantError(apierr.CodeNotFound, "")
}
