package daily

import (
	"cmp"
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
)

// mostDays is how many days are taken at once.
const mostDays = 366

var errTaken = apierr.New(apierr.CodeConflict, "", "Days were taken by the other period")

// Taking is the body of a taking.
type Taking struct {
	Days
}

// Resolve refuses as Days does, and more days than are taken at once.
func (t Taking) Resolve() []apierr.Issue {
	if issues := t.Days.Resolve(); len(issues) > 0 {
		return []apierr.Issue{issues[0].Code.InBody("dateRange")}
	}

	if t.wholeDays().Days() > mostDays {
		return []apierr.Issue{apierr.IssueRange.InBody("dateRange")}
	}

	return nil
}

// TakingResult counts the days of a taking.
type TakingResult struct {
	StartDate    day.Day `json:"startDate"`
	EndDate      day.Day `json:"endDate" doc:"Last day, included."`
	Period       Period  `json:"period" doc:"As asked for."`
	Days         int     `json:"days" doc:"Days that were taken now."`
	AlreadyTaken int     `json:"alreadyTaken" doc:"Days that were taken before, which stay as they were."`
}

// takeInput is the input of POST /general-ledger/daily-summary/taken.
type takeInput struct{ Body Taking }

// Resolve refuses as Taking does.
func (in *takeInput) Resolve() []apierr.Issue { return in.Body.Resolve() }

// takeDays marks days as taken and keeps their sums. Days that were taken in the same way stay as they are. It fails with
// errTaken for days that were taken by the other period, and then takes none.
func takeDays(ctx context.Context, tx *db.Tx, in *takeInput) (*TakingResult, error) {
	if err := checkEnabled(ctx, tx); err != nil {
		return nil, err
	}

	period := cmp.Or(in.Body.Period, ByDay)

	// A day that is not over would change all the time.
	days := in.Body.wholeDays()
	if days.To.After(tx.Today()) {
		return nil, apierr.BadRequest.At(apierr.IssueDateInFuture.InBody("dateRange"))
	}

	// The key of the table lets a day be taken once. A second taking waits for the first one and finds its days.
	fresh, err := db.Select[day.Day](ctx, tx, `
		insert into gl_summary_day (team_id, day, period, taken_at)
		select @team, d::date, @period, @now from generate_series(@from::date, @last::date, interval '1 day') d order by d
		on conflict (team_id, day) do nothing returning day`,
		db.Args{"team": tx.Team, "from": days.From, "last": days.To.AddDays(-1), "period": string(period), "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("take days: %w", err)
	}

	if err := checkPeriod(ctx, tx, days, period); err != nil {
		return nil, err
	}

	// Keep the sums at the finest, so that a change is seen by whatever they are split.
	_, err = tx.Exec(ctx, `
		insert into gl_summary_sum (team_id, day, ledger, currency, account_id, party, listing_id, debit, credit)
		select team_id, txn_at, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, `+noListing+`),
			sum(greatest(cent_total, 0)), sum(greatest(-cent_total, 0))
		from ledger_entry where team_id = @team and txn_at = any(@days::date[]) and status = 'active' and ledger in ('trust', 'operating')
		group by 1, 2, 3, 4, 5, 6, 7`, db.Args{"team": tx.Team, "days": fresh})
	if err != nil {
		return nil, fmt.Errorf("keep the sums of taken days: %w", err)
	}

	out := &TakingResult{
		StartDate: days.From, EndDate: days.To.AddDays(-1), Period: period,
		Days: len(fresh), AlreadyTaken: days.Days() - len(fresh),
	}
	if len(fresh) > 0 {
		audit.Note(tx, audit.Updated, audit.Team, tx.Team, map[string]any{"dailyGlSummaryTaken": nil},
			map[string]any{"dailyGlSummaryTaken": out})
	}

	return out, nil
}

// checkPeriod fails with errTaken, and names the first day, if a day of the range was taken by the other period.
func checkPeriod(ctx context.Context, tx *db.Tx, days day.Range, by Period) error {
	type other struct {
		Date   day.Day `json:"date"`
		Period Period  `json:"period"`
	}

	found, err := db.Select[other](ctx, tx, `
		select day as date, period from gl_summary_day where team_id = @team and day >= @from and day < @to and period <> @period
		order by day limit 1`, db.Args{"team": tx.Team, "from": days.From, "to": days.To, "period": string(by)})
	if err != nil {
		return fmt.Errorf("read taken days: %w", err)
	}

	if len(found) > 0 {
		return errTaken.With(found[0])
	}

	return nil
}
