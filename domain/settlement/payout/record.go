package payout

import (
	"context"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// pending returns the plans of statements to pay.
func (b *book) pending() []*plan {
	var out []*plan

	for _, p := range b.plans {
		if p.cause == "" {
			out = append(out, p)
		}
	}

	return out
}

// transactions returns the input of the payouts of plans, in their order.
func (b *book) transactions(plans []*plan) []transaction.Create {
	var out []transaction.Create

	for _, p := range plans {
		for i := range p.payouts {
			// The line names the statement and the member; that is how the statement finds its payouts.
			o := &p.payouts[i]
			line := transaction.LineInput{Amount: o.Amount}
			line.OwnerStatementID, line.ContactID = api.Set(p.id), api.Set(o.ContactID)
			line.ListingID, line.Party = api.Set(p.of.ListingID), api.Set(ledger.Owners)
			out = append(out, transaction.Create{
				Type:        transaction.Payout,
				Date:        b.date,
				Currency:    api.Set(p.of.Currency),
				AccountID:   api.Set(p.accounts[i]),
				ContactID:   api.Set(o.ContactID),
				Description: api.Set("Owner statement " + p.of.StartAt.Month().String()),
				Lines:       []transaction.LineInput{line},
			})
		}
	}

	return out
}

// record books the payouts of plans, all or none.
func (b *book) record(ctx context.Context, tx *db.Tx, plans []*plan) error {
	if len(plans) == 0 {
		return nil
	}

	added, err := transaction.AddAll(ctx, tx, b.transactions(plans), ledger.Lenience{})
	if err != nil {
		return err
	}

	// The transactions come back in the order of the payouts.
	for _, p := range plans {
		p.status = Recorded
		for i := range p.payouts {
			p.payouts[i].TransactionID = &added[0].ID
			added = added[1:]
		}
	}

	return nil
}

// recordEach books the payouts that can be booked. If the books refuse some of the plans, the others are recorded; a
// refusal that concerns all of them is given to each that is not recorded yet.
func (b *book) recordEach(ctx context.Context, tx *db.Tx, plans []*plan) error {
	recorded := make([]bool, len(plans))
	isRefusal := func(err error) bool { return apierr.IsRefusal(err) && !isShared(err) }

	refusals, err := db.Halves(ctx, tx, len(plans), isRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		if err := b.record(ctx, tx, plans[from:to]); err != nil {
			return err
		}

		for i := from; i < to; i++ {
			recorded[i] = true
		}

		return nil
	})
	if err != nil && (!apierr.IsRefusal(err) || !isShared(err)) {
		return err
	}

	for i, p := range plans {
		switch {
		case refusals[i] != nil:
			p.cause, p.refusal = causeFor(refusals[i]), refusals[i]
		case !recorded[i]:
			p.cause, p.refusal = causeFor(err), err
		}
	}

	return nil
}

// forgetRecorded takes back from the plans what recording has noted on them, except the refusals.
func (b *book) forgetRecorded() {
	for _, p := range b.plans {
		p.status = ""
		for i := range p.payouts {
			p.payouts[i].TransactionID = nil
		}
	}
}

// setStatuses sets the status of every plan that has none. A plan with a cause is skipped or fails, and pays nothing.
func (b *book) setStatuses(done Status) {
	for _, p := range b.plans {
		if p.cause != "" {
			p.payouts, p.issues = []Payout{}, p.cause.findings(p.issues)
		}

		// A preview cannot fail for a statement; it shows the cause.
		switch {
		case p.cause.isSkipped(), p.cause != "" && done == Previewed:
			p.status = Skipped
		case p.cause != "":
			p.status = Failed
		case p.status == "":
			p.status = done
		}
	}
}

// entries returns the results in the order of the request.
func (b *book) entries() []Entry {
	out := make([]Entry, len(b.plans))
	for i, p := range b.plans {
		out[i] = p.entry()
	}

	return out
}
