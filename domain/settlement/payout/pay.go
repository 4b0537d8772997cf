package payout

import (
	"context"

	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Outcome is the result for the statements of a payment that no provider was asked for.
type Outcome struct {
	Results []Entry `json:"results"`
}

type payInput struct{ Body Request }

// pay records payouts and asks the provider for its part, all or nothing.
func pay(ctx context.Context, tx *db.Tx, in *payInput) (*operation.Answer[Outcome], error) {
	if err := in.Body.checkOutgoing(tx); err != nil {
		return nil, err
	}

	// Decide on all statements under their locks.
	b, err := preparePlans(ctx, tx, &in.Body, true)
	if err != nil {
		return nil, err
	}

	// First what the statements refuse, then what the funds and limits refuse.
	if err := b.checkPlans(false); err != nil {
		return nil, err
	}

	if err := b.checkFunds(); err != nil {
		return nil, err
	}

	// Then book the payouts. Payments name their transactions, so they come second.
	if err := b.record(ctx, tx, b.pending()); err != nil {
		return nil, err
	}

	tasks, err := b.requestPayments(ctx, tx)
	if err != nil {
		return nil, err
	}

	b.setStatuses(Recorded)

	// No provider pays anything, so the results are final.
	if len(tasks) == 0 {
		return &operation.Answer[Outcome]{Done: &Outcome{Results: b.entries()}}, nil
	}

	// Otherwise an operation sends the payments, and its result is read later.
	ack, err := operation.Start(ctx, tx, newOperation(operation.ProviderPayment, in.Body.StatementIDs, tasks))
	if err != nil {
		return nil, err
	}

	rows := make([]resultRow, len(b.plans))
	for i, p := range b.plans {
		rows[i] = p.row()
	}

	insertResults(tx, ack.OperationID, rows)

	return &operation.Answer[Outcome]{Started: ack}, nil
}

// requestPayments asks the provider for the recorded payouts that it makes, and returns the tasks that send the
// payments.
func (b *book) requestPayments(ctx context.Context, tx *db.Tx) ([]operation.Task, error) {
	orders := map[id.ID][]payment.Order{}
	asked := map[id.ID][]*Payout{}

	// Collect the orders by the account that pays.
	for _, p := range b.pending() {
		for i := range p.payouts {
			o := &p.payouts[i]
			if o.Provider == nil {
				continue
			}

			from := b.funding(o.ContactID)
			orders[from] = append(orders[from], payment.Order{
				TransactionID: *o.TransactionID,
				ContactID:     o.ContactID,
				Amount:        o.Amount,
				Currency:      p.of.Currency,
				Date:          b.date,
			})
			asked[from] = append(asked[from], o)
			p.status = Requested
		}
	}

	// Each account has a payer of its own. Payments come back in the order of the orders.
	var tasks []operation.Task

	for from, of := range orders {
		payments, more, err := b.payers[from].Request(ctx, tx, of, payment.Terms{
			CurrentLimits: b.limits,
			Overdraft:     b.request.AllowOverdraft,
		})
		if err != nil {
			return nil, err
		}

		for i := range payments {
			asked[from][i].PaymentID = &payments[i]
		}

		tasks = append(tasks, more...)
	}

	return tasks, nil
}
