package payment

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

type returnFileInput struct {
	ID  id.ID `path:"id"`
	Raw api.Raw
}

// ReturnFile is the result of a file of returns.
type ReturnFile struct {
	Data   []ReturnedPayment `json:"data" doc:"The returned payments of the file, those that were known to be returned among them."`
	Issues []ReturnIssue     `json:"issues" doc:"Entries that could not be used."`
}

// ReturnedPayment is a payment that came back.
type ReturnedPayment struct {
	PaymentID           id.ID       `json:"paymentId"`
	TransactionID       id.ID       `json:"transactionId"`
	ReturnTransactionID *id.ID      `json:"returnTransactionId" doc:"The negative payout that booked the return; null for a bill, which is open again, and while the return is not booked."`
	Amount              money.Cents `json:"amount" doc:"Cents."`
	Code                string      `json:"code" doc:"The bank's code, such as R01."`
}

// ReturnIssue is an entry of a file of returns that could not be used.
type ReturnIssue struct {
	Code     string            `json:"code" enum:"paymentUnknown,contradictoryNews"`
	Severity finding.Severity  `json:"severity"`
	Context  map[string]string `json:"context" doc:"entry counts the returns of the file from 1; code is the bank's."`
}

// returnFile applies a bank's file of returns. The same file again changes nothing and has the same answer.
func returnFile(ctx context.Context, tx *db.Tx, in *returnFileInput) (*ReturnFile, error) {
	c, err := connection.Get(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if !payapp.Can(c.AppID, payapp.TakesReturnFiles) {
		return nil, errNoReturnFiles
	}

	outcomes, err := pay.ParseReturns(in.Raw)
	if err != nil {
		return nil, apierr.BadRequest.Because(err).At(apierr.IssueMalformed.InBody())
	}

	// A file names payments by the bank's numbers, so find out which are ours.
	found, err := findTraced(ctx, tx, c.ID, outcomes)
	if err != nil {
		return nil, err
	}

	// Returns are news like those of any provider.
	var known []pay.Outcome

	for i := range outcomes {
		if !found[i].IsZero() {
			outcomes[i].Key = found[i].String()
			known = append(known, outcomes[i])
		}
	}

	if err := apply(ctx, tx, known); err != nil {
		return nil, err
	}

	return renderReturns(ctx, tx, outcomes, found)
}

// findTraced finds the payments of returns, with the zero id for those that it does not find. The trace number repeats
// itself after some time, so the name in the file must fit the payment as well. Without a name only one payment may
// have the trace number.
func findTraced(ctx context.Context, tx *db.Tx, one id.ID, outcomes []pay.Outcome) ([]id.ID, error) {
	traces := make([]string, len(outcomes))
	for i := range outcomes {
		traces[i] = outcomes[i].Ref
	}

	type candidate struct {
		ID    id.ID
		Trace string
	}

	// The trace number is the second part of the reference.
	candidates, err := db.Select[candidate](ctx, tx, `
		select id, split_part(provider_ref, '-', 2) as trace from payment
		where team_id = @team and connection_id = @connection and provider_ref is not null and split_part(provider_ref, '-', 2) = any(@traces)`,
		db.Args{"team": tx.Team, "connection": one, "traces": traces})
	if err != nil {
		return nil, fmt.Errorf("find returned payments: %w", err)
	}

	byTrace := map[string][]id.ID{}
	for _, c := range candidates {
		byTrace[c.Trace] = append(byTrace[c.Trace], c.ID)
	}

	// The name decides between payments with the same number.
	found := make([]id.ID, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]

		all := slices.Clone(byTrace[o.Ref])
		if o.Key != "" {
			all = slices.DeleteFunc(all, func(p id.ID) bool { return pay.KeyRef(p.String()) != o.Key })
		}

		if len(all) == 1 {
			found[i] = all[0]
		}
	}

	return found, nil
}

// renderReturns returns the answer for a file of returns.
func renderReturns(ctx context.Context, tx *db.Tx, outcomes []pay.Outcome, found []id.ID) (*ReturnFile, error) {
	type row struct {
		ReturnedPayment
		Status Status
	}

	// Read the payments after the news were applied.
	rows, err := db.Select[row](ctx, tx, `
		select p.id as payment_id, p.transaction_id, r.transaction_id as return_transaction_id, p.amount, coalesce(p.failure_code, '') as code, p.status
		from payment p left join payment_return r on r.team_id = p.team_id and r.payment_id = p.id
		where p.team_id = @team and p.id = any(@ids)`, db.Args{"team": tx.Team, "ids": found})
	if err != nil {
		return nil, fmt.Errorf("read returned payments: %w", err)
	}

	byID := make(map[id.ID]*row, len(rows))
	for i := range rows {
		byID[rows[i].PaymentID] = &rows[i]
	}

	out := &ReturnFile{Data: []ReturnedPayment{}, Issues: []ReturnIssue{}}
	listed := map[id.ID]bool{}

	// A payment that occurs twice in the file is listed once.
	for i := range outcomes {
		r, ok := byID[found[i]]
		problem := ""

		switch {
		case !ok:
			problem = "paymentUnknown"
		case r.Status != Returned:
			problem = contradictoryNews
		case !listed[found[i]]:
			out.Data = append(out.Data, r.ReturnedPayment)
			listed[found[i]] = true
		}

		if problem != "" {
			out.Issues = append(out.Issues, ReturnIssue{
				Code:     problem,
				Severity: finding.Error,
				Context:  map[string]string{"entry": strconv.Itoa(i + 1), "code": outcomes[i].Code},
			})
		}
	}

	return out, nil
}
