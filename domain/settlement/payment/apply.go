package payment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stayledger/domain/activity/transaction"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

// lockedPayment is a payment that is locked until the end of the transaction.
type lockedPayment struct {
	ID                  id.ID
	ConnectionID        id.ID
	BatchID             id.ID
	TransactionID       id.ID
	TransactionType     transaction.Type
	Amount              money.Cents
	Status              Status
	ProviderRef         *string
	FailureCode         *string
	Issues              []Issue
	RecoveryOperationID *id.ID
	SentAt              *day.Instant
	AskAt               *day.Instant // when the provider is asked next; nil for one that cannot be asked, or need not
	SettledAt           *day.Instant
	RecoveredAt         *day.Instant
}

// lockPayments locks payments by id, in the order of their ids, and returns them.
func lockPayments(ctx context.Context, tx *db.Tx, ids []id.ID) ([]lockedPayment, error) {
	found, err := db.Select[lockedPayment](ctx, tx, `
		select p.id, p.connection_id, p.batch_id, p.transaction_id, t.type as transaction_type, p.amount, p.status, p.provider_ref, p.failure_code,
			p.issues, p.recovery_operation_id, p.sent_at, p.ask_at, p.settled_at, p.recovered_at
		from payment p join transaction t on t.team_id = p.team_id and t.id = p.transaction_id
		where p.team_id = @team and p.id = any(@ids) order by p.id for update of p`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("hold payments: %w", err)
	}

	return found, nil
}

// apply applies the news that providers have of payments of the team, whichever way the news came: as the answer to
// a submission, on asking, by a callback or in a return file. The same news twice, and news in any order, have the
// same result. It also books the consequences for the books.
func apply(ctx context.Context, tx *db.Tx, outcomes []pay.Outcome) error {
	news := make(map[id.ID][]pay.Outcome, len(outcomes))
	for _, o := range outcomes {
		key, err := id.Parse(o.Key)
		if err != nil {
			return fmt.Errorf("a payment has the key %q: %w", o.Key, err)
		}

		news[key] = append(news[key], o)
	}

	if len(news) == 0 {
		return nil
	}

	// Lock all payments in one order, so that two deliveries of news cannot wait for each other.
	all, err := lockPayments(ctx, tx, slices.SortedFunc(maps.Keys(news), id.ID.Compare))
	if err != nil {
		return err
	}

	// Then apply the news in memory and save all payments with one statement.
	before := make([]Status, len(all))
	for i := range all {
		before[i] = all[i].Status
		for _, o := range news[all[i].ID] {
			all[i].applyOutcome(o, day.At(tx.Now))
		}
	}

	if err := savePayments(ctx, tx, all); err != nil {
		return err
	}

	// Last, book the consequences of each new status.
	for i := range all {
		if all[i].Status == before[i] {
			continue
		}

		if err := all[i].bookConsequences(ctx, tx); err != nil {
			return err
		}
	}

	return nil
}

// applyOutcome applies one piece of news.
func (h *lockedPayment) applyOutcome(o pay.Outcome, now day.Instant) {
	next, contradiction := h.Status.next(o.State, h.ProviderRef != nil)
	h.removeIssues(unknownToProvider) // it was asked for before it had arrived
	h.removeIssues(givenUp)

	// News that cannot follow the known status change nothing; a person must look at them.
	if contradiction {
		h.addIssue(issue(contradictoryNews, map[string]string{"status": string(o.State)}))
	}

	if o.Duplicate || h.isOtherRef(o.Ref) {
		h.addIssue(issue(duplicatePayment, nil))
	}

	// Keep the first reference: another one belongs to a duplicate.
	if h.ProviderRef == nil && o.Ref != "" && h.Status != Requested && h.Status != Awaiting {
		h.ProviderRef = &o.Ref
	}

	if next == h.Status {
		return
	}

	// Only a new status changes the rest.
	h.Status = next
	h.removeIssues(notTakenBack)

	if next.isFinal() {
		h.SettledAt = &now
	}

	if o.Code != "" {
		h.FailureCode = &o.Code
	}
}

// isOtherRef reports whether a reference belongs to another payment under the same key. The return file of a bank
// contains only the end of a reference.
func (h *lockedPayment) isOtherRef(ref string) bool {
	return ref != "" && h.ProviderRef != nil && !strings.HasSuffix(*h.ProviderRef, ref)
}

// addIssue adds an issue unless the payment has it already.
func (h *lockedPayment) addIssue(i Issue) {
	exists := slices.ContainsFunc(h.Issues, func(o Issue) bool {
		return o.Code == i.Code && maps.Equal(o.Context, i.Context)
	})
	if !exists {
		h.Issues = append(h.Issues, i)
	}
}

// removeIssues removes the issues with a code.
func (h *lockedPayment) removeIssues(code string) {
	h.Issues = slices.DeleteFunc(h.Issues, func(i Issue) bool { return i.Code == code })
}

// paymentRow is the changeable part of a payment as it is sent to the database.
type paymentRow struct {
	ID          id.ID        `json:"id"`
	Status      Status       `json:"status"`
	ProviderRef *string      `json:"provider_ref"`
	FailureCode *string      `json:"failure_code"`
	Issues      []Issue      `json:"issues"`
	SettledAt   *day.Instant `json:"settled_at"`
	RecoveredAt *day.Instant `json:"recovered_at"`
}

// savePayments saves changed payments and writes their audit events. A payment that is on its way continues to be asked
// for. One that was paid is asked for daily, because it can still come back. Any other is finished. News from the
// provider also end the time in which the state of a payment is unknown.
func savePayments(ctx context.Context, tx *db.Tx, all []lockedPayment) error {
	rows := make([]paymentRow, len(all))
	for i := range all {
		h := &all[i]

		rows[i] = paymentRow{h.ID, h.Status, h.ProviderRef, h.FailureCode, h.Issues, h.SettledAt, h.RecoveredAt}
		if h.Issues == nil {
			rows[i].Issues = []Issue{}
		}
	}

	// A payment is unknown from the first report on, and asked for again at the latest a day from now if it was
	// paid.
	kept, err := db.Select[changedPayment](ctx, tx, `
		update payment p set status = x.status, provider_ref = x.provider_ref, failure_code = x.failure_code, issues = x.issues,
			settled_at = x.settled_at, recovered_at = x.recovered_at, updated_at = @now,
			unknown_since = case when x.status = 'sending' then p.unknown_since
				when x.status = 'submitted' and x.issues @> '[{"code": "unknownToProvider"}]' then coalesce(p.unknown_since, @now) end,
			ask_at = case when x.status in ('sending', 'submitted') then p.ask_at
				when x.status = 'paid' then p.ask_at + greatest(@now::timestamptz + interval '1 day' - p.ask_at, interval '0') end
		from jsonb_to_recordset(@rows::jsonb) as x(id uuid, status text, provider_ref text, failure_code text, issues jsonb,
			settled_at timestamptz, recovered_at timestamptz), payment o
		where p.team_id = @team and p.id = x.id and o.team_id = p.team_id and o.id = p.id returning `+toldColumns, db.Args{"team": tx.Team, "now": tx.Now, "rows": rows})
	if err != nil {
		return fmt.Errorf("keep payments: %w", err)
	}

	notePayments(tx, kept)

	return nil
}

// bookConsequences books the consequences of a new status. The books never keep us from saving the provider's news: if
// a consequence cannot be booked, for example because of a lock, the payment gets an issue instead.
func (h *lockedPayment) bookConsequences(ctx context.Context, tx *db.Tx) error {
	var do db.Work

	// First choose the consequence.
	code := paymentStillBooked

	switch h.Status {
	case Failed, Canceled:
		if h.TransactionType != transaction.Expense {
			return nil // a payout stays until a person archives it
		}

		do = h.unbookBill
	case Returned:
		if do = h.bookReturn; h.TransactionType == transaction.Expense {
			do = h.reopenBill
		}

		code = returnNotBooked
	case Awaiting, Requested, Sending, Submitted, Paid:
		return nil
	}

	// Then try it. A refusal is an issue; other errors end the transaction.
	err := tx.Try(ctx, do)
	if !apierr.IsRefusal(err) {
		return err
	}

	h.addIssue(issue(code, map[string]string{"reason": string(apierr.From(err).Reason())}))

	return savePayments(ctx, tx, []lockedPayment{*h})
}

// unbookBill takes back the booked payment of a bill, because no money left.
func (h *lockedPayment) unbookBill(ctx context.Context, tx *db.Tx) error {
	_, err := transaction.BookPayment(ctx, tx, h.TransactionID, nil)
	return err
}

// reopenBill makes a bill unpaid again after its money came back. Nothing else must be done before it can be paid
// again.
func (h *lockedPayment) reopenBill(ctx context.Context, tx *db.Tx) error {
	if err := h.unbookBill(ctx, tx); err != nil {
		return err
	}

	return h.markRecovered(ctx, tx)
}

// markRecovered marks a payment as recovered: its transaction can be changed, archived and paid again.
func (h *lockedPayment) markRecovered(ctx context.Context, tx *db.Tx) error {
	now := day.At(tx.Now)
	h.RecoveredAt = &now
	h.removeIssues(paymentStillBooked)
	h.removeIssues(returnNotBooked)

	return savePayments(ctx, tx, []lockedPayment{*h})
}
