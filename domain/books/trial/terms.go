package trial

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

// The errors of changes of opening balances that come before all others.
var (
	ErrNoStart = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonGeneralLedgerStartDateMissing, "The team has no statement start date",
	)
	ErrBusy = apierr.New(
		apierr.CodeConflict, apierr.ReasonOpeningBalanceUpdateInProgress, "The opening balance is being updated",
	)
)

// Terms says when the books of a team begin.
type Terms struct {
	StatementStartAt *day.Day
	DefaultCurrency  string
}

// At returns the day before the first day of the books.
func (t *Terms) At() day.Day { return t.StatementStartAt.AddDays(-1) }

// LockTerms loads the terms for a change of the opening balances of a team. One change runs at a time; a second one
// gets ErrBusy and has to try again (RSN-34). It fails with generalLedgerStartDateMissing.
func LockTerms(ctx context.Context, tx *db.Tx) (*Terms, error) {
	t, err := loadTerms(ctx, tx)
	switch {
	case err != nil:
		return nil, err
	case t.StatementStartAt == nil:
		return nil, ErrNoStart
	}

	// The lock is only tried: waiting could take as long as the other change.
	held, err := db.Get[bool](ctx, tx, `select pg_try_advisory_xact_lock(hashtextextended('opening balances ' || @team::uuid, 0))`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("hold the opening balances: %w", err)
	}

	if !held {
		return nil, ErrBusy.RetryAfter(apierr.ServiceUnavailable.Delay())
	}

	return t, nil
}

// loadTerms loads the terms of the team.
func loadTerms(ctx context.Context, tx *db.Tx) (*Terms, error) {
	t, err := db.Get[Terms](ctx, tx, `select statement_start_at, default_currency from team where team_id = @team`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	return &t, nil
}
