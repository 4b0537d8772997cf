package payout_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

// What a provider refused, gave back or does not answer for is open again at once on the statement, on the shares and
// in the reports, with an issue that names the payment and its amount; archived ones are not shown any more. Nothing
// goes out a second time for that.
func TestWhatWasNotReceivedIsOpen(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		state  pay.State
		set    string
		code   string
		reason apierr.Reason
	}{
		"failed":   {state: pay.Failed, code: "paymentFailed", reason: apierr.ReasonArchiveRequired},
		"canceled": {state: pay.Canceled, code: "paymentCanceled", reason: apierr.ReasonArchiveRequired},
		"came back and could not be booked": {
			set: `status = 'returned'`, code: "paymentReturned", reason: apierr.ReasonArchiveRequired,
		},
		"unknown": {
			set: `status = 'sending', unknown_since = now()`, code: "paymentUnknown", reason: apierr.ReasonPaymentAttempted,
		},
		"sending for a minute": {
			set: `status = 'sending', sent_at = now() - interval '2 minutes'`, code: "paymentUnknown", reason: apierr.ReasonPaymentAttempted,
		},
		"given up": {
			set: `status = 'sending', unknown_since = now(), issues = '[{"code": "givenUp", "severity": "error", "context": {}}]'`, code: "paymentGivenUp",
			reason: apierr.ReasonPaymentAttempted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			states := map[money.Cents]pay.State{}
			if c.state != "" {
				states[38132] = c.state
			}

			h, connection := newPayingHouse(t, states)
			january := h.january()
			op := h.Post("/statements/pay", with(body(h.today(), january), object{"connectionId": connection})).Want(202).String("operationId")
			h.Work()
			entry := h.Get("/operations/" + op + "/result").Want(200)
			payout, payment := entry.ID("results.0.payouts.0.transactionId"), entry.ID("results.0.payouts.0.paymentId")

			if c.set != "" {
				h.wantReceived(january, "paid", 38132, 25422)
				h.Exec("update payment set "+c.set+" where team_id = @team and id = @id", db.Args{"id": payment})
			}

			s := h.wantReceived(january, "underpaid", 0, 25422)
			if s.Len("issues") != 1 || s.String("issues.0.code") != c.code || s.String("issues.0.severity") != "error" ||
				s.ID("issues.0.context.transactionId") != payout || s.ID("issues.0.context.paymentId") != payment || s.Int("issues.0.context.amount") != 38132 {
				t.Errorf("issues %v", s.Value("issues"))
			}

			if x := h.Get("/transactions/" + payout.String()).Want(200); x.String("paidStatus") != "unpaid" || x.String("issues.0.code") != c.code {
				t.Errorf("the payout is %s with %v", x.String("paidStatus"), x.Value("issues"))
			}

			sums := h.Get("/reports/owner-statement-summaries-per-layout?startAt=2026-01&endAt=2026-01").Want(200)
			if sums.Int("data.0.financials.payoutsNotReceived") != 38132 || sums.Int("data.1.financials.payoutsNotReceived") != 0 || sums.Int("totals.payoutsNotReceived") != 38132 {
				t.Errorf("summaries %s", sums.Body)
			}

			for _, path := range []string{"/statements/pay", "/statements/payouts"} {
				code := apierr.CodeBadRequest
				if c.reason != apierr.ReasonArchiveRequired {
					code = apierr.CodeConflict
				}

				h.Post(path, body("2026-02-06", january)).WantError(code, c.reason)
			}

			if c.reason != apierr.ReasonArchiveRequired {
				return
			}

			h.Post("/transactions/"+payout.String()+"/provider-payments/"+payment.String()+"/archive", nil).Want(202)
			h.Work()

			s = h.wantReceived(january, "underpaid", 0, 25422)
			if c.code != "paymentReturned" && s.Len("issues") != 0 {
				t.Errorf("issues %v", s.Value("issues"))
			}

			wantEntry(t, h.Post("/statements/pay", body("2026-02-06", january)).Want(200), "results.0", isRecorded, 38132)

			if s = h.wantReceived(january, "paid", 38132, 25422); s.Len("issues") != 0 {
				t.Errorf("issues %v", s.Value("issues"))
			}
		})
	}
}

// wantReceived compares what a statement and its shares say was received.
func (h *house) wantReceived(statement id.ID, status string, ada, ben int64) *apitest.Response {
	h.T.Helper()

	s := h.Get("/statements/" + statement.String()).Want(200)
	if s.Int("payment.received") != ada+ben || s.Int("payment.expected") != 63554 || s.String("payment.status") != status {
		h.T.Errorf("payment %v, want %s with %d", s.Value("payment"), status, ada+ben)
	}

	for i, want := range []int64{ada, ben} {
		at := "shares." + string(rune('0'+i))
		if s.Int(at+".received") != want || s.Int(at+".open") != s.Int(at+".amount")-want {
			h.T.Errorf("%s is %v, want %d", at, s.Value(at), want)
		}
	}

	return s
}
