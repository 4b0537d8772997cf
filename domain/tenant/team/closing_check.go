package team

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const usersSQL = `
	select user_id from access_member where team_id = @team
	union select user_id from access_key where team_id = @team and revoked_at is null`

// checkPosters refuses users who have no access to the team: neither through a membership or key of it nor through
// its partner. The caller has access, and users named before may stay.
func checkPosters(ctx context.Context, tx *db.Tx, from Books, posters []id.ID) error {
	known := append([]id.ID{tx.Actor.User}, from.SoftClosePosters...)

	find := func(ctx context.Context, tx *db.Tx, team id.ID) error {
		users, err := db.Select[id.ID](ctx, tx, usersSQL, db.Args{"team": team})
		if err != nil {
			return fmt.Errorf("read the users of a team: %w", err)
		}

		known = append(known, users...)

		return nil
	}
	if err := find(ctx, tx, tx.Team); err != nil {
		return err
	}

	// Users of the partner act in the teams of its customers.
	partner, err := db.Get[*id.ID](ctx, tx, `select partner_id from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read team: %w", err)
	}

	if partner != nil {
		err := tx.Visit(ctx, *partner, func(ctx context.Context, tx *db.Tx) error { return find(ctx, tx, *partner) })
		if err != nil {
			return err
		}
	}

	// Name all bad users at once.
	var issues []apierr.Issue

	for i, poster := range posters {
		if !slices.Contains(known, poster) {
			issues = append(issues, apierr.IssueNotFound.InBody("softClosePosters", i))
		}
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// outstandingSQL returns the SQL that counts the outdated journals with entries before the day. It also selects the
// operations that derive journals.
func outstandingSQL() string {
	return `
	select s.*, o.* from (
		select count(*) as outstanding, count(distinct s.source_id) filter (where s.source = 'reservation') as reservations,
			count(distinct s.source_id) filter (where s.source = 'transaction') as transactions,
			count(*) filter (where s.status = 'failed') as failed,
			(array_agg(s.reason order by s.since desc, s.source_id, s.cause_id))[1] as reason
		from ` + ledger.OutdatedSQL() + ` s
	) s, (
		select coalesce((array_agg(o.id order by o.id))[1:100], '{}') as operations
		from operation o where o.team_id = @team and o.status in ('queued', 'running')
			and o.type in ('listing-journal-refresh', 'reservation-journal-refresh', 'transaction-journal-refresh')
	) o`
}

// checkDerived fails if journals of days that would be closed are still to be derived, because their changes could
// then never be posted.
func checkDerived(ctx context.Context, tx *db.Tx, closed day.Day) error {
	type row struct {
		Outstanding, Reservations, Transactions, Failed int64
		Reason                                          *string
		Operations                                      []id.ID
	}

	r, err := db.Get[row](ctx, tx, outstandingSQL(), db.Args{"team": tx.Team, "before": closed})
	if err != nil {
		return fmt.Errorf("find journals that are not derived: %w", err)
	}

	// Nothing is outstanding: the days are final.
	if r.Outstanding == 0 {
		return nil
	}

	// Say what is outstanding and what to do: wait for a running operation, or refresh.
	c := PendingContext{
		JournalStatus: "stale", JournalReason: r.Reason, JournalAction: "refresh", OperationIDs: append([]id.ID{}, r.Operations...),
		Reservations: r.Reservations, Transactions: r.Transactions,
	}
	switch {
	case len(r.Operations) > 0:
		c.JournalStatus, c.JournalAction = "recalculating", "wait"
	case r.Failed > 0:
		c.JournalStatus = "failed"
	}

	return ErrNotDerived.With(c)
}
