package payout

import (
	"context"
	"encoding/json"
	"net/http"

	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payment"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Outcome is what became of the statements of a payment that no provider was asked for.
type Outcome struct {
	Results []Entry `json:"results"`
}

// Paid is the answer of a payment: an acknowledgement when a provider makes a payout of it, else the results at once.
type Paid struct {
	Started *operation.Acknowledgement
	Outcome
}

// HTTPStatus is 202 when a provider was asked.
func (p *Paid) HTTPStatus() int {
	if p.Started != nil {
		return http.StatusAccepted
	}

	return http.StatusOK
}

// MarshalJSON gives the one of the two that there is.
func (p *Paid) MarshalJSON() ([]byte, error) {
	if p.Started != nil {
		return json.Marshal(p.Started)
	}

	return json.Marshal(p.Outcome)
}

type payInput struct{ Body Request }

// pay records payouts and asks the provider for its part, all or nothing.
func pay(ctx context.Context, tx *db.Tx, in *payInput) (*Paid, error) {
	if err := in.Body.leaves(tx); err != nil {
		return nil, err
	}

	b, err := prepare(ctx, tx, &in.Body, true)
	if err != nil {
		return nil, err
	}

	if err := b.refuse(allCauses...); err != nil {
		return nil, err
	}

	if err := b.unaffordable(); err != nil {
		return nil, err
	}

	if err := b.record(ctx, tx, b.pending()); err != nil {
		return nil, err
	}

	tasks, err := b.ask(ctx, tx)
	if err != nil {
		return nil, err
	}

	b.conclude(Recorded)

	if len(tasks) == 0 {
		return &Paid{Outcome: Outcome{Results: b.entries()}}, nil
	}

	ack, err := operation.Start(ctx, tx, named(operation.ProviderPayment, in.Body.StatementIDs, tasks))
	if err != nil {
		return nil, err
	}

	rows := make([]resultRow, len(b.plans))
	for i, p := range b.plans {
		rows[i] = p.row()
	}

	keep(tx, ack.OperationID, rows)

	return &Paid{Started: ack}, nil
}

// ask asks the provider for the recorded payouts that it makes.
func (b *book) ask(ctx context.Context, tx *db.Tx) ([]operation.Task, error) {
	orders := map[id.ID][]payment.Order{}
	asked := map[id.ID][]*Payout{}

	for _, p := range b.pending() {
		for i := range p.payouts {
			o := &p.payouts[i]
			if o.Provider == nil {
				continue
			}

			from := b.funding(o.ContactID)
			orders[from] = append(orders[from], payment.Order{
				TransactionID: *o.TransactionID, ContactID: o.ContactID, Amount: o.Amount, Currency: p.of.Currency, Date: b.date,
			})
			asked[from] = append(asked[from], o)
			p.status = Requested
		}
	}

	var tasks []operation.Task

	for from, of := range orders {
		payments, more, err := b.desks[from].Request(ctx, tx, of, payment.Terms{CurrentLimits: b.limits, Overdraft: b.request.AllowOverdraft})
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
