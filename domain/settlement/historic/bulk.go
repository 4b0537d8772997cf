package historic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// task is the kind of the job that imports the staged statements of a bulk import.
var task = job.NewKind("statement-historical-import")

// maxResults is the greatest number of statements that an operation names as its results.
const maxResults = 100

// How long one import may take, and how long another one of the team is tried while it goes on.
const (
	timeout  = 30 * time.Minute
	patience = 4 * timeout
)

// errOtherImport fails an attempt at an import while another import of the team is running.
var errOtherImport = errors.New("another import of historic statements of the team goes on")

// handler returns the handler of import jobs.
func handler() job.Handler {
	h := operation.Work(timeout, func(ctx context.Context, tx *db.Tx, run operation.Run, _ struct{}) error {
		done, err := importStaged(ctx, tx, run.OperationID)
		if err != nil {
			return err
		}

		// The first results are enough for a person to look at.
		for i := range done[:min(len(done), maxResults)] {
			result := operation.Resource{Type: operation.Statement, ID: done[i].ID, Role: operation.Result}
			if err := operation.AddResult(ctx, tx, run.OperationID, result); err != nil {
				return err
			}
		}

		return nil
	}).InBulk()
	h.TryFor = patience

	return operation.Checked(h)
}

// checkNoImport refuses statements with a reference or days that an unfinished import has: the import would
// overwrite them, or fail because of them.
func (s *arrivals) checkNoImport(ctx context.Context, tx *db.Tx) error {
	// The days travel as text; the statements themselves are not placed yet, so they have no ownership period.
	args := db.Args{"team": tx.Team}
	refs, listings, currencies := make([]string, len(s.all)), make([]id.ID, len(s.all)), make([]string, len(s.all))

	starts, ends := make([]string, len(s.all)), make([]string, len(s.all))
	for i, a := range s.all {
		refs[i], listings[i], currencies[i] = a.UniqueRef, a.ListingID, a.Currency
		starts[i], ends[i] = a.StartAt.String(), a.EndAt.String()
	}

	args["refs"] = refs
	args["listings"] = listings
	args["currencies"] = currencies
	args["starts"] = starts
	args["ends"] = ends

	// Search the staged statements by reference, and by listing, currency and days.
	pending, err := db.Select[id.ID](ctx, tx, `
		select o.id from operation o where `+statement.UnfinishedImport+` and (
			exists (select from statement_import i where i.team_id = @team and i.operation_id = o.id and i.unique_ref = any(@refs))
			or exists (select from unnest(@listings::uuid[], @currencies::text[], @starts::text[]::date[], @ends::text[]::date[]) k (listing, currency, start_at, end_at)
				join statement_import i on i.team_id = @team and i.listing_id = k.listing and i.currency = k.currency
					and i.start_at <= k.end_at and i.end_at >= k.start_at
				where i.operation_id = o.id)) order by o.id`, args)
	if err != nil {
		return fmt.Errorf("find unfinished imports: %w", err)
	}

	if len(pending) > 0 {
		return statement.ErrImporting.With(map[string]any{"operationIds": pending})
	}

	return nil
}

// stagedChunk is how many statements one insert of staging carries.
const stagedChunk = 250

// insertStaged inserts the statements for the task of the import. It also deletes the statements that failed imports
// have left.
func (s *arrivals) insertStaged(ctx context.Context, tx *db.Tx, operationID id.ID) error {
	if _, err := tx.Exec(ctx, `
		delete from statement_import i where i.team_id = @team
			and not exists (select from operation o where o.id = i.operation_id and `+statement.UnfinishedImport+`)`, db.Args{"team": tx.Team}); err != nil {
		return fmt.Errorf("remove what failed imports left: %w", err)
	}

	// The position keeps the order of the request across the chunks.
	position := 0

	for part := range slices.Chunk(s.all, stagedChunk) {
		args := rangeColumns(part)
		delete(args, "periods")

		var (
			counts            []int
			payouts           []bool
			statements, lines []string
		)

		// Statement and lines are stored apart, because the task reads all statements first and the lines in
		// portions.
		for _, a := range part {
			ownLines, err := json.Marshal(a.Lines)
			if err != nil {
				return fmt.Errorf("encode lines: %w", err)
			}

			head := *a.Import
			head.Lines = nil

			own, err := json.Marshal(head)
			if err != nil {
				return fmt.Errorf("encode a statement: %w", err)
			}

			counts, payouts = append(counts, len(a.Lines)), append(payouts, a.payouts)
			statements, lines = append(statements, string(own)), append(lines, string(ownLines))
		}

		// All columns of a chunk go into one insert.
		args["team"], args["operation"], args["position"] = tx.Team, operationID, position
		args["counts"], args["payouts"], args["statements"], args["lines"] = counts, payouts, statements, lines

		_, err := tx.Exec(ctx, `
			insert into statement_import (team_id, operation_id, position, unique_ref, listing_id, currency, start_at, end_at, line_count, has_payouts,
				statement, lines)
			select @team, @operation, @position + k.n - 1, k.ref, k.listing, k.currency, k.start_at, k.end_at, k.count, k.payouts, k.statement::json, k.lines::json
			from unnest(@refs::text[], @listings::uuid[], @currencies::text[], @starts::date[], @ends::date[], @counts::integer[], @payouts::boolean[],
				@statements::text[], @lines::text[]) with ordinality
				k (ref, listing, currency, start_at, end_at, count, payouts, statement, lines, n)`, args)
		if db.Constraint(err) == "statement_import_ref" { // another import started at the same time
			return statement.ErrImporting.Because(err)
		}

		if err != nil {
			return fmt.Errorf("stage statements: %w", err)
		}

		position += len(part)
	}

	return nil
}

// Head is a statement of a bulk import without its lines, which are loaded when it is written.
type Head struct {
	LineCount  int
	HasPayouts bool
	Statement  Import
}

// Lines loads the lines of some statements of a bulk import: of those from one place up to another, in their order.
type Lines func(ctx context.Context, tx *db.Tx, from, to int) ([][]Line, error)

// importStaged imports the staged statements of a bulk import, all or none.
func importStaged(ctx context.Context, tx *db.Tx, operationID id.ID) ([]Statement, error) {
	args := db.Args{"team": tx.Team, "operation": operationID}

	staged, err := db.Select[Head](ctx, tx, `
		select line_count, has_payouts, statement from statement_import where team_id = @team and operation_id = @operation order by position`, args)
	if err != nil {
		return nil, fmt.Errorf("read staged statements: %w", err)
	}

	done, err := ImportAll(ctx, tx, staged, func(ctx context.Context, tx *db.Tx, from, to int) ([][]Line, error) {
		lines, err := db.Select[[]Line](ctx, tx, `
			select lines from statement_import where team_id = @team and operation_id = @operation and position >= @from and position < @to
			order by position`, db.Args{"team": tx.Team, "operation": operationID, "from": from, "to": to})
		if err != nil {
			return nil, fmt.Errorf("read staged lines: %w", err)
		}

		return lines, nil
	})
	if err != nil {
		return nil, err
	}

	// Last, delete the staged rows. If the import fails, they stay until the next import is staged.
	if _, err := tx.Exec(ctx, `delete from statement_import where team_id = @team and operation_id = @operation`, args); err != nil {
		return nil, fmt.Errorf("remove what was staged: %w", err)
	}

	return done, nil
}

// ImportAll imports statements, all or none. Everything happens in one transaction, so a run that dies leaves nothing and
// the next one starts over. A few thousand lines are in memory at a time. Bulk imports of a team run one after another: an
// import that finds another one at work fails with errOtherImport and is tried again later, because waiting here would
// occupy a connection and the team's gate.
func ImportAll(ctx context.Context, tx *db.Tx, heads []Head, load Lines) ([]Statement, error) {
	turn, err := db.Get[bool](ctx, tx, `select pg_try_advisory_xact_lock(hashtextextended('historic statements ' || @team::text, 0))`,
		db.Args{"team": tx.Team.String()})
	if err != nil {
		return nil, fmt.Errorf("take the turn of an import: %w", err)
	}

	if !turn {
		return nil, errOtherImport
	}

	var done []Statement

	// A cached plan may date from when the tables were small, and would read all of them for every statement.
	err = tx.PlanAfresh(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		done, err = importAll(ctx, tx, heads, load)
		return err
	})

	audit.From(tx, audit.Migration) // Also what the caller changes next.

	return done, err
}

// importAll imports statements as ImportAll does, when it is the import's turn.
func importAll(ctx context.Context, tx *db.Tx, heads []Head, load Lines) ([]Statement, error) {
	// First the statements without their lines: they must be placed together.
	s := &arrivals{shared: true, all: make([]*arrival, len(heads))}
	for i := range heads {
		s.all[i] = &arrival{Import: &heads[i].Statement, path: []any{"statements", i}, payouts: heads[i].HasPayouts}
	}

	// Check them again, because time has passed since the import was started.
	if err := s.findPlaces(ctx, tx); err != nil {
		return nil, err
	}

	if err := s.park(ctx, tx); err != nil {
		return nil, err
	}

	// Then write them portion by portion.
	count := make(map[*arrival]int, len(heads))
	for i, a := range s.all {
		count[a] = heads[i].LineCount
	}

	var counted, entries int

	done := make([]Statement, 0, len(s.all))
	for _, part := range splitByLines(s.all, func(a *arrival) int { return count[a] }) {
		lines, err := load(ctx, tx, len(done), len(done)+len(part))
		if err != nil {
			return nil, err
		}

		if err := s.savePart(ctx, tx, part, lines); err != nil {
			return nil, err
		}

		for _, a := range part {
			done = append(done, a.render())
			entries += a.entries
		}

		// Now and then: each time there are four times as many.
		if len(done) >= counted*4 {
			counted = len(done)
			if err := errors.Join(tx.Analyze(ctx, "statement", counted), tx.Analyze(ctx, "ledger_entry", entries)); err != nil {
				return nil, err
			}
		}

		// A statement is written once, so that its event is complete.
		if err := audit.Spill(ctx, tx); err != nil {
			return nil, err //nolint:wrapcheck // It says what failed.
		}
	}

	return done, nil
}

// savePart writes statements with their lines, and drops these from memory afterwards.
func (s *arrivals) savePart(ctx context.Context, tx *db.Tx, part []*arrival, lines [][]Line) error {
	for i := range lines {
		part[i].Lines = lines[i]
	}

	if err := s.savePlaced(ctx, tx, part); err != nil {
		return err
	}

	for _, a := range part {
		a.Lines = nil
	}

	return nil
}
