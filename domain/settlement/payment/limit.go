package payment

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Limits are the amounts that a team lets providers pay out in its default currency; null is no limit.
type Limits struct {
	PerPayment   *money.Cents `json:"perPayment" doc:"Cents; a payment of more is refused."`
	PerDay       *money.Cents `json:"perDay" doc:"Cents; what is asked for, or approved, on one day (UTC) is refused as far as all payments of the day together are more."`
	ApprovalFrom *money.Cents `json:"approvalFrom" doc:"Cents; a payment of so much or more waits until a second person has approved it."`
}

// LimitsSet is a set of limits and the user who has set it.
type LimitsSet struct {
	Limits
	ChangedBy *id.ID       `json:"changedBy" doc:"The user who set them; null if no one has."`
	ChangedAt *day.Instant `json:"changedAt"`
}

// LimitHistory holds the current limits of a team and the former ones.
type LimitHistory struct {
	LimitsSet
	History []LimitsSet `json:"history" doc:"The limits from each change on, the newest first; at most 100."`
}

// limitHistory is the greatest number of changes that are shown.
const limitHistory = 100

// readLimits returns the limits of the team with their history. A team that never set any has none.
func readLimits(ctx context.Context, tx *db.Tx, _ *api.None) (*LimitHistory, error) {
	found, err := db.Select[LimitsSet](ctx, tx, `
		select per_payment, per_day, approval_from, actor_id as changed_by, created_at as changed_at from payment_limit
		where team_id = @team order by id desc limit @limit`, db.Args{"team": tx.Team, "limit": limitHistory})
	if err != nil {
		return nil, fmt.Errorf("read the limits of payments: %w", err)
	}

	h := &LimitHistory{History: []LimitsSet{}}
	if len(found) > 0 {
		h.LimitsSet, h.History = found[0], found
	}

	return h, nil
}

// LimitChange replaces all limits.
type LimitChange struct {
	PerPayment   api.Opt[money.Cents] `json:"perPayment,omitzero" minimum:"1" maximum:"9007199254740991" doc:"Cents; null or absent: no limit."`
	PerDay       api.Opt[money.Cents] `json:"perDay,omitzero" minimum:"1" maximum:"9007199254740991" doc:"Cents; null or absent: no limit."`
	ApprovalFrom api.Opt[money.Cents] `json:"approvalFrom,omitzero" minimum:"1" maximum:"9007199254740991" doc:"Cents; null or absent: nothing waits."`
}

type limitInput struct{ Body LimitChange }

// setLimits sets the limits that count from now on. It waits for requests that are being decided on.
func setLimits(ctx context.Context, tx *db.Tx, in *limitInput) (*LimitHistory, error) {
	// A request that was checked against the old limits is written before these count.
	if err := LockDecisions(ctx, tx); err != nil {
		return nil, err
	}

	// Limits are never overwritten: the newest row counts and the others are the history.
	was, err := db.Select[Limits](ctx, tx, `
		with was as (select per_payment, per_day, approval_from from payment_limit where team_id = @team order by id desc limit 1), made as (
		insert into payment_limit (team_id, id, per_payment, per_day, approval_from, actor_id, created_at)
		values (@team, @id, @payment, @day, @approval, @actor, @now))
		select per_payment, per_day, approval_from from was`, db.Args{
		"team":     tx.Team,
		"id":       tx.NewID(),
		"payment":  in.Body.PerPayment.Value,
		"day":      in.Body.PerDay.Value,
		"approval": in.Body.ApprovalFrom.Value,
		"actor":    tx.Actor.User,
		"now":      tx.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("set the limits of payments: %w", err)
	}

	type view struct {
		Limits Limits `json:"paymentLimits"`
	}

	// The event shows the limits before and after.
	before := view{}
	after := view{Limits{
		PerPayment:   in.Body.PerPayment.Value,
		PerDay:       in.Body.PerDay.Value,
		ApprovalFrom: in.Body.ApprovalFrom.Value,
	}}

	if len(was) > 0 {
		before.Limits = was[0]
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, before, after)

	return readLimits(ctx, tx, nil)
}

// CurrentLimits are the limits that count now and their currency. They do not apply to payments in another
// currency.
type CurrentLimits struct {
	Limits
	Currency string
}

// loadCurrentLimits loads the limits that count now. A team that never set any has none.
func loadCurrentLimits(ctx context.Context, tx *db.Tx) (*CurrentLimits, error) {
	l, err := db.Get[CurrentLimits](ctx, tx, `
		select p.per_payment, p.per_day, p.approval_from, k.default_currency as currency
		from team k left join lateral (
			select per_payment, per_day, approval_from from payment_limit where team_id = @team order by id desc limit 1) p on true
		where k.team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the limits of payments: %w", err)
	}

	return &l, nil
}

// waits reports whether a payment needs a second person. Nil means no limits.
func (l *CurrentLimits) waits(amount money.Cents, currency string) bool {
	return l != nil && l.ApprovalFrom != nil && currency == l.Currency && amount >= *l.ApprovalFrom
}

// check adds the findings about limits to those of the claims.
func (l *CurrentLimits) check(ctx context.Context, tx *db.Tx, claims []Claim, to [][]finding.Finding) error {
	var total money.Cents

	// First the limit for each payment.
	for i := range claims {
		if claims[i].Currency != l.Currency {
			continue
		}

		total += claims[i].Amount
		if l.PerPayment != nil && claims[i].Amount > *l.PerPayment {
			to[i] = append(to[i], finding.Finding{Code: LimitExceeded, Severity: finding.Error, Context: map[string]any{
				"limit":     "perPayment",
				"allowed":   *l.PerPayment,
				"requested": claims[i].Amount,
				"currency":  claims[i].Currency,
			}})
		}
	}

	if l.PerDay == nil {
		return nil
	}

	// Then the limit for the day. Payments that are checked again because they waited are part of the claims, so
	// they are not counted twice.
	asked, err := db.Get[money.Cents](ctx, tx, `
		select coalesce(sum(amount), 0)::bigint from payment
		where team_id = @team and limit_day = @today and status not in ('failed', 'canceled') and currency = @currency and id <> all(@but)`,
		db.Args{"team": tx.Team, "today": tx.Today(), "currency": l.Currency, "but": claimedPayments(claims)})
	if err != nil {
		return fmt.Errorf("add up the payments of a day: %w", err)
	}

	// Above the limit no claim passes, because the claims are made together.
	if asked+total <= *l.PerDay {
		return nil
	}

	for i := range claims {
		if claims[i].Currency != l.Currency {
			continue
		}

		to[i] = append(to[i], finding.Finding{Code: LimitExceeded, Severity: finding.Error, Context: map[string]any{
			"limit": "perDay", "allowed": *l.PerDay, "requested": total, "asked": asked, "currency": claims[i].Currency,
		}})
	}

	return nil
}
