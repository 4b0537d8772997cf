package statement

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[statementRows]("ExportStatementRows")
	_ = api.PublishAs[statementColumn]("ExportStatementColumn")
	_ = api.PublishAs[lineRows]("ExportLineRows")
	_ = api.PublishAs[lineColumn]("ExportLineColumn")
	_ = api.PublishAs[periodRows]("ExportPeriodRows")
	_ = api.PublishAs[periodColumn]("ExportPeriodColumn")
	_ = api.PublishAs[statementSelection]("ExportStatementSelection")
)

// exports returns the exports of statements.
func exports() []parts.Export {
	return []parts.Export{
		export.Declare(statementsCSV()),
		export.Declare(statementLinesCSV()),
		export.Declare(statementPeriodsCSV()),
		export.Declare(statementsPDF()),
		export.Declare(statementsPDFBatch()),
	}
}

const statementRefusals = " Fails with 400 and context.reason ownershipPeriodsWithoutOwners when an ownership " +
	"period that the selection names has no owner."

var errWithoutOwners = apierr.New(apierr.CodeBadRequest, "", "Ownership periods have no owner")

// withoutOwners is the context of the refusal.
type withoutOwners struct {
	Reason             string  `json:"reason"`
	OwnershipPeriodIDs []id.ID `json:"ownershipPeriodIds"`
}

// checkOwners refuses a selection that names ownership periods without an owner. Every owner-statement export calls
// it, for EXP-21 to EXP-25.
func checkOwners(ctx context.Context, tx *db.Tx, f *Filter) error {
	// Only periods that the selection asks for count, not those that it excludes.
	named, _ := slices.Concat(f.PeriodIDs, f.OwnershipPeriodIDs).Parts()
	if len(named) == 0 {
		return nil
	}

	// The refusal names all of them, in a stable order.
	orphans, err := db.Select[id.ID](ctx, tx, `
		select p.id from listing_ownership_period p where p.team_id = @team and p.id = any(@ids) and not exists (
			select from listing_ownership_member m where m.team_id = p.team_id and m.period_id = p.id)
		order by p.id`, db.Args{"team": tx.Team, "ids": named})
	if err != nil {
		return fmt.Errorf("check ownership periods: %w", err)
	}

	if len(orphans) > 0 {
		return errWithoutOwners.With(withoutOwners{
			Reason:             "ownershipPeriodsWithoutOwners",
			OwnershipPeriodIDs: orphans,
		})
	}

	return nil
}

// errEnough ends a reading when no more rows are asked for.
var errEnough = errors.New("no more is wanted")

// yieldFrom returns an iterator over rows that each hands to a function. An error of each comes last, without a row.
func yieldFrom[T any](each func(f func(*T) error) error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		// If the loop ends early, the reading must end too: errEnough stops it and is no failure.
		err := each(func(row *T) error {
			if !yield(row, nil) {
				return errEnough
			}

			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}
