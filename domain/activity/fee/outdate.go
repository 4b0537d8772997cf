package fee

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// feeChange is a fee before and after a change, with its listing periods. The field before is nil for a new fee.
type feeChange struct {
	before, after *Fee
	old, new      []Period
}

// outdate marks the journals that a change of a fee makes stale, and starts the operation that derives them: of the
// stays that the fee is charged on and of those that it may be charged on. Fees that build on it are charged on the
// same stays. It returns nil if there are no such stays.
func outdate(ctx context.Context, tx *db.Tx, t feeChange) (*operation.Acknowledgement, error) {
	feeChanged := t.before == nil || !t.before.chargesLike(t.after)

	// A change of the fee itself affects all periods, a change of periods only those that differ.
	periods := slices.Concat(t.old, t.new)
	if !feeChanged {
		periods = diffPeriods(t.old, t.new)
	}

	// A fee that is archived before and after is charged nowhere.
	if t.after.Status != active && (t.before == nil || t.before.Status != active) {
		periods = nil
	}

	// Stays that only the former status filter let through lose their charge.
	statuses := t.after.StatusFilter.statuses()
	if t.before != nil {
		statuses = append(statuses, t.before.StatusFilter.statuses()...)
	}

	// Stays that have entries or adjustments of the fee are affected by any change of it, wherever they lie.
	reservations, err := loadChargeable(ctx, tx, chargeable{
		Fee:      t.after.ID,
		Charged:  feeChanged && t.before != nil,
		Periods:  periods,
		Statuses: statuses,
	})
	if err != nil {
		return nil, err
	}

	return ledger.Outdate(ctx, tx, ledger.Outdated{
		Reason:  ledger.FeeChanged,
		Cause:   operation.Resource{Type: operation.RecurringFee, ID: t.after.ID},
		Sources: map[ledger.Noun][]id.ID{ledger.Reservations: reservations},
	})
}

// pendingStatus returns the journal status of a fee that has started an operation, which is not readable before the
// transaction ends.
func pendingStatus(status ledger.JournalStatus, started *operation.Acknowledgement) ledger.JournalStatus {
	if started == nil {
		return status
	}

	// The status is put together here, as it will be read after the commit.
	reason, action := ledger.FeeChanged, "wait"

	return ledger.JournalStatus{
		Status:       "recalculating",
		Reason:       &reason,
		Action:       &action,
		OperationIDs: append(slices.Clone(status.OperationIDs), started.OperationID),
	}
}

// chargesLike reports whether two states of a fee lead to the same journals.
func (f *Fee) chargesLike(other *Fee) bool {
	terms := func(f *Fee) Fee {
		// Fields without effect on a charge are cleared, and the order of channels does not matter.
		t := *f
		t.UniqueRef, t.Icon, t.CreatedAt, t.UpdatedAt = nil, nil, day.Instant{}, day.Instant{}
		t.CreditAccount, t.DebitAccount = account.NameRef{}, account.NameRef{}
		t.References, t.Stored = nil, ""
		t.BookingChannelsFilter = slices.Clone(f.BookingChannelsFilter)
		slices.Sort(t.BookingChannelsFilter)

		return t
	}

	return reflect.DeepEqual(terms(f), terms(other))
}

// diffPeriods returns the listing periods that only one of two states has.
func diffPeriods(old, now []Period) []Period {
	// Periods are compared by their terms, because replacing them gives them new ids.
	count := map[string]int{}
	for i := range old {
		count[old[i].terms()]++
	}

	// Terms that both states have cancel out.
	for i := range now {
		count[now[i].terms()]--
	}

	var out []Period

	for _, p := range slices.Concat(old, now) {
		if count[p.terms()] != 0 {
			out = append(out, p)
		}
	}

	return out
}

// terms returns what a listing period says, as text: all but its id, fee and times.
func (p *Period) terms() string {
	return fmt.Sprint(p.ListingID, text(p.StartAt), text(p.EndAt), p.Rate == nil, ptr.Value(p.Rate))
}

// text returns a day as text, "-" for none.
func text(d *day.Day) string {
	if d == nil {
		return "-"
	}

	return d.String()
}

// chargeable selects stays on the listings of periods, on dates that a period covers.
type chargeable struct {
	Fee id.ID
	// Charged adds the stays that have entries or adjustments of the fee.
	Charged  bool
	Periods  []Period
	Statuses []string
}

// loadChargeable loads the reservations, in the order of their ids, that the fee may be charged on: those on the listings
// of the periods, and on the members of groups. A stay is recognised on some day between the first and the last date that it names.
func loadChargeable(ctx context.Context, tx *db.Tx, c chargeable) ([]id.ID, error) {
	listings := make([]id.ID, len(c.Periods))

	from, to := make([]*day.Day, len(c.Periods)), make([]*day.Day, len(c.Periods))
	for i := range c.Periods {
		listings[i], from[i], to[i] = c.Periods[i].ListingID, c.Periods[i].StartAt, c.Periods[i].EndAt
	}

	// Its dates may overlap a period without its recognition date lying in it: deriving such a stay changes
	// nothing.
	found, err := db.Select[id.ID](ctx, tx, `
		select id from (
			select r.id from unnest(@listings::uuid[], @from::date[], @to::date[]) as p (listing_id, start_at, end_at)
				cross join lateral (select p.listing_id as id union all
					select k.id from listing k where k.team_id = @team and k.parent_id = p.listing_id) charged
				join reservation r on r.team_id = @team and r.listing_id = charged.id
			where r.general_ledger_status = 'active' and r.status = any(@statuses)
				and least(r.check_in, r.booked_at, r.cancelled_at, r.general_ledger_posting_at) < coalesce(p.end_at, 'infinity')
				and greatest(r.check_out, r.booked_at, r.cancelled_at, r.general_ledger_posting_at) >= coalesce(p.start_at, '-infinity')
			union
			select e.reservation_id from ledger_entry e
				where e.team_id = @team and e.recurring_fee_id = @fee and e.reservation_id is not null and @charged
			union
			select j.reservation_id from reservation_adjustment j where j.team_id = @team and j.recurring_fee_id = @fee and @charged
		) v order by id`,
		db.Args{
			"team": tx.Team, "fee": c.Fee, "charged": c.Charged, "statuses": c.Statuses,
			"listings": listings, "from": from, "to": to,
		})
	if err != nil {
		return nil, fmt.Errorf("find reservations that a recurring fee is charged on: %w", err)
	}

	return found, nil
}
