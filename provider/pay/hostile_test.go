package pay_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"stayledger/platform/hostile"
	"stayledger/provider/pay"
)

// An answer that means harm decides nothing, takes no longer than the call may, and little memory.
func TestHostileAnswersAreBounded(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	calls := map[string]func(p pay.Provider) error{
		"check": func(p pay.Provider) error { return p.Check(t.Context()) },
		"verify": func(p pay.Provider) error {
			_, err := p.VerifyAccount(t.Context(), "v", payment("k", 100, "2026-02-10").Recipient)
			return err
		},
		"submit": func(p pay.Provider) error {
			r, err := p.Submit(t.Context(), pay.Batch{Payments: []pay.Payment{payment("k", 100, "2026-02-10")}})
			if len(r.Outcomes) > 0 {
				t.Errorf("outcomes %v", r.Outcomes)
			}

			return err
		},
		"find":   func(p pay.Provider) error { _, err := p.Find(t.Context(), "k"); return err },
		"cancel": func(p pay.Provider) error { _, err := p.Cancel(t.Context(), "k"); return err },
	}

	answers := hostile.Answers("application/json")
	answers["refusal without end"] = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		hostile.Endless("application/json", `{"error":{"code":"`, "x")(w, r)
	}
	answers["payments without end"] = hostile.Endless("application/json", `{"payments":[`, `{"id":"p","state":"submitted"},`)

	for name, answer := range answers { //nolint:paralleltest // It counts what the process allocates.
		p := client(t, hostile.Serve(t, answer))

		for call, do := range calls {
			t.Run(name+" "+call, func(t *testing.T) {
				hostile.Bound(t, 5*time.Second, 16<<20, func() {
					if err := do(p); !errors.Is(err, pay.ErrUnavailable) && !errors.Is(err, pay.ErrTimeout) {
						t.Errorf("failed with %v", err)
					}
				})
			})
		}
	}
}
