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

// held is a payment that nobody else changes until the end of the transaction.
type held struct {
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

// hold reads payments by id and locks them, in the order of their ids.
func hold(ctx context.Context, tx *db.Tx, ids []id.ID) ([]held, error) {
	found, err := db.Select[held](ctx, tx, `
		select p.id, p.connection_id, p.batch_id, p.transaction_id, t.type as transaction_type, p.amount, p.status, p.provider_ref, p.failure_code,
			p.issues, p.recovery_operation_id, p.sent_at, p.ask_at, p.settled_at, p.recovered_at
		from payment p join transaction t on t.team_id = p.team_id and t.id = p.transaction_id
		where p.team_id = @team and p.id = any(@ids) order by p.id for update of p`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("hold payments: %w", err)
	}

	return found, nil
}

// apply takes in what providers say of payments of the team, whichever way it came: as the answer to a submission, on
// asking, by a callback or in a return file. The same news twice, and news in any order, come to the same. What follows
// from them for the books is booked here.
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

	all, err := hold(ctx, tx, slices.SortedFunc(maps.Keys(news), id.ID.Compare))
	if err != nil {
		return err
	}

	before := make([]Status, len(all))
	for i := range all {
		before[i] = all[i].Status
		for _, o := range news[all[i].ID] {
			all[i].take(o, day.At(tx.Now))
		}
	}

	if err := keep(ctx, tx, all); err != nil {
		return err
	}

	for i := range all {
		if all[i].Status == before[i] {
			continue
		}

		if err := all[i].follow(ctx, tx); err != nil {
			return err
		}
	}

	return nil
}

// take applies one piece of news.
func (h *held) take(o pay.Outcome, now day.Instant) {
	next, contradiction := h.Status.next(o.State, h.ProviderRef != nil)
	h.lower(unknownToProvider) // it was asked for before it had arrived
	h.lower(givenUp)

	if contradiction {
		h.raise(issue(contradictoryNews, map[string]string{"status": string(o.State)}))
	}

	if o.Duplicate || h.other(o.Ref) {
		h.raise(issue(duplicatePayment, nil))
	}

	if h.ProviderRef == nil && o.Ref != "" && h.Status != Requested && h.Status != Awaiting {
		h.ProviderRef = &o.Ref
	}

	if next == h.Status {
		return
	}

	h.Status = next
	if next.final() {
		h.SettledAt = &now
	}

	if o.Code != "" {
		h.FailureCode = &o.Code
	}
}

// other reports that a reference is that of another payment under the same key. The return file of a bank knows a
// reference by its end.
func (h *held) other(ref string) bool {
	return ref != "" && h.ProviderRef != nil && !strings.HasSuffix(*h.ProviderRef, ref)
}

// raise adds an issue that is not there yet.
func (h *held) raise(i Issue) {
	known := slices.ContainsFunc(h.Issues, func(o Issue) bool { return o.Code == i.Code && maps.Equal(o.Context, i.Context) })
	if !known {
		h.Issues = append(h.Issues, i)
	}
}

// lower takes away the issues with a code.
func (h *held) lower(code string) {
	h.Issues = slices.DeleteFunc(h.Issues, func(i Issue) bool { return i.Code == code })
}

// keptRow carries what changes in a payment to the database.
type keptRow struct {
	ID          id.ID        `json:"id"`
	Status      Status       `json:"status"`
	ProviderRef *string      `json:"provider_ref"`
	FailureCode *string      `json:"failure_code"`
	Issues      []Issue      `json:"issues"`
	SettledAt   *day.Instant `json:"settled_at"`
	RecoveredAt *day.Instant `json:"recovered_at"`
}

// keep writes payments back. One that is on its way stays in the round of questions; one that was paid is asked for
// daily, since it can still come back; any other is done. What the provider has said of a payment ends that nothing is
// known of it.
func keep(ctx context.Context, tx *db.Tx, all []held) error {
	rows := make([]keptRow, len(all))
	for i := range all {
		h := &all[i]

		rows[i] = keptRow{h.ID, h.Status, h.ProviderRef, h.FailureCode, h.Issues, h.SettledAt, h.RecoveredAt}
		if h.Issues == nil {
			rows[i].Issues = []Issue{}
		}
	}

	kept, err := db.Select[told](ctx, tx, `
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

	note(tx, kept)

	return nil
}

// follow books what a new state means. Our books never keep us from knowing what the provider says: what cannot be
// booked, because a lock holds it for example, is an issue of the payment.
func (h *held) follow(ctx context.Context, tx *db.Tx) error {
	var do db.Work

	code := paymentStillBooked

	switch h.Status {
	case Failed, Canceled:
		if h.TransactionType != transaction.Expense {
			return nil // a payout stays until a person archives it
		}

		do = h.unbook
	case Returned:
		if do = h.bookReturn; h.TransactionType == transaction.Expense {
			do = h.reopen
		}

		code = returnNotBooked
	case Awaiting, Requested, Sending, Submitted, Paid:
		return nil
	}

	err := tx.Try(ctx, do)
	if !apierr.Refused(err) {
		return err
	}

	h.raise(issue(code, map[string]string{"reason": string(apierr.From(err).Reason())}))

	return keep(ctx, tx, []held{*h})
}

// unbook takes back the payment of a bill that no money left for.
func (h *held) unbook(ctx context.Context, tx *db.Tx) error {
	_, err := transaction.BookPayment(ctx, tx, h.TransactionID, nil)
	return err
}

// reopen leaves a bill unpaid whose money came back. Nothing else is to be done before it can be paid again.
func (h *held) reopen(ctx context.Context, tx *db.Tx) error {
	if err := h.unbook(ctx, tx); err != nil {
		return err
	}

	return h.putAway(ctx, tx)
}

// putAway marks a payment as recovered: its transaction can be changed, archived and paid again.
func (h *held) putAway(ctx context.Context, tx *db.Tx) error {
	now := day.At(tx.Now)
	h.RecoveredAt = &now
	h.lower(paymentStillBooked)
	h.lower(returnNotBooked)

	return keep(ctx, tx, []held{*h})
}
