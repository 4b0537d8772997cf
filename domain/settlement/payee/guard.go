package payee

import (
	"context"
	"fmt"
	"time"

	"stayledger/domain/tenant/team"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Destination says how old a payment method is as a place where money goes, and who made it one.
type Destination struct {
	Since      day.Instant  `json:"since" doc:"When it was added, or made the default last."`
	By         *id.ID       `json:"by" doc:"The user who did that; null for a method of before this was kept."`
	ReleasedAt *day.Instant `json:"releasedAt" doc:"When a second person freed it."`
	ReleasedBy *id.ID       `json:"releasedBy" doc:"Who that was."`
	IsPaid     bool         `json:"isPaid" doc:"Whether a provider has paid to it since; the guard is about the first payment."`
}

// The causes for which a payment to a destination is refused.
const (
	// CauseHeld means that it is younger than the hold.
	CauseHeld = "destinationHeld"
	// CauseSecondPerson means that another person has to free it or to pay.
	CauseSecondPerson = "destinationNeedsSecondPerson"
)

// Guard is the team's setting of who may pay to a new destination.
type Guard struct {
	Mode     team.DestinationGuard
	HoldDays int64
	// WeakenedBy is the user who last made the guard weaker.
	WeakenedBy *id.ID
}

// LoadGuard loads the guard of the team.
func LoadGuard(ctx context.Context, tx *db.Tx) (Guard, error) {
	g, err := db.Get[Guard](ctx, tx, `
		select destination_guard as mode, destination_hold_days as hold_days, destination_guard_by as weakened_by from team where team_id = @team`,
		db.Args{"team": tx.Team})
	if err != nil {
		return g, fmt.Errorf("read the guard of destinations: %w", err)
	}

	return g, nil
}

// hold returns how long a destination waits.
func (g Guard) hold() time.Duration { return time.Duration(g.HoldDays) * 24 * time.Hour }

// FreeAt returns when the hold of a destination ends.
func (g Guard) FreeAt(d *Destination) time.Time { return d.Since.Add(g.hold()) }

// Refusal returns the cause for which a user may not have a provider pay to a destination, empty for none. The first
// payment needs that the hold has passed and that the user is not who chose the destination; or that a second person has
// freed it, who does not pay. Whoever has made the guard weaker has no gain from it for destinations of his own.
func (g Guard) Refusal(d *Destination, payer id.ID, now time.Time) string {
	is := func(user *id.ID, other id.ID) bool { return user != nil && *user == other }

	mode := g.Mode
	if is(d.By, payer) && is(g.WeakenedBy, payer) {
		mode = team.GuardApprove
	}

	switch {
	case d.IsPaid, mode == team.GuardOff, d.ReleasedBy != nil && !is(d.ReleasedBy, payer):
		return ""
	case mode == team.GuardApprove, is(d.By, payer):
		return CauseSecondPerson
	case now.Before(g.FreeAt(d)):
		return CauseHeld
	}

	return ""
}
