package payment_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// A provider is asked to pay at most 60 days ahead; what is refused leaves no payment.
func TestPaymentsAreNotFarAhead(t *testing.T) {
	t.Parallel()
	w := newTill(t)
	last := day.Of(w.DB.Now()).AddDays(60)
	bill := w.bill(300)
	ask := func(at day.Day) object { return object{"connectionId": w.connection, "date": at.String()} }
	path := "/transactions/" + bill.String()
	w.Post(path+"/pay", ask(last.AddDays(1))).WantError(apierr.CodeBadRequest, "").WantIssue("dateOutOfRange", "date")

	if w.Get(path+"/provider-payments").Want(200).Len("data") != 0 || w.Get(path).Want(200).Value("payment") != nil {
		t.Error("a refused payment was kept")
	}

	w.Post(path+"/pay", ask(last)).Want(202)
}
