package statement

import (
	"context"
	"fmt"
	"maps"
	"time"

	"stayledger/domain/books/ledger"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// intent says how statements are to be changed.
type intent struct {
	to Status
	// discard removes imported statements as well, which have no draft to return to.
	discard bool
	// email sends the owners an e-mail about the statements that become published.
	email bool
	// ref is the reference that a draft is saved with.
	ref *string
}

// move returns the move that takes the row to the intended status.
func (in intent) move(r *row) move { return moveTo(r.Status, in.to) }

// refused is the result of a check: the error of each row that it refuses, and one error for all of them together.
type refused struct {
	each     map[id.ID]error
	together error
}

// check is one of the rules that statements must meet before they are moved. The function of reports whether the
// rule applies to a move; find runs it.
type check struct {
	of   func(in intent, r *row) bool
	find func(ctx context.Context, tx *db.Tx, rows []row) (refused, error)
}

// checks returns the rules in the order in which their errors are reported.
func checks() []check {
	// Imported statements were finished in the earlier system, so journals and layout do not matter for them.
	finalizes := func(in intent, r *row) bool {
		m := in.move(r)
		return (m == create || m == publish) && !r.Imported
	}
	publishes := func(in intent, r *row) bool { return in.to == Published && in.move(r) != stay }
	frees := func(in intent, r *row) bool { m := in.move(r); return m == withdraw || m == reopen }

	return []check{
		{func(in intent, r *row) bool { return r.Imported && in.to == Draft && !in.discard }, checkNotImported},
		{func(in intent, r *row) bool { return in.move(r) != stay }, checkNoLater},
		{publishes, checkNoImport},
		{finalizes, checkJournals},
		{publishes, checkEarlierPublished},
		{frees, checkNoPayouts},
		{finalizes, checkNoErrors},
	}
}

// refusals returns the first error of each row that may not be moved to a status, by the id of the statement. Each
// row is checked as it is stored: changes of other rows in the same call do not count. The caller holds the locks
// of the ownership periods.
func refusals(ctx context.Context, tx *db.Tx, rows []row, to Status) (map[id.ID]error, error) {
	out := map[id.ID]error{}

	if err := loadDataToSave(ctx, tx, rows, to); err != nil {
		return nil, err
	}

	// Each rule looks at the rows that no earlier rule refused, all in one query.
	for _, c := range checks() {
		asked := make([]row, 0, len(rows))
		for i := range rows {
			if out[rows[i].id()] == nil && c.of(intent{to: to}, &rows[i]) {
				asked = append(asked, rows[i])
			}
		}

		if len(asked) == 0 {
			continue
		}

		found, err := c.find(ctx, tx, asked)
		if err != nil {
			return nil, err
		}

		// One error per row is enough.
		maps.Copy(out, found.each)
	}

	return out, nil
}

// refuse fails with the first rule that refuses any of the rows. The caller holds the locks of the ownership
// periods.
func refuse(ctx context.Context, tx *db.Tx, rows []row, in intent) error {
	if err := loadDataToSave(ctx, tx, rows, in.to); err != nil {
		return err
	}

	// The rules run in order, so the first error does not depend on the rows.
	for _, c := range checks() {
		asked := make([]row, 0, len(rows))
		for i := range rows {
			if c.of(in, &rows[i]) {
				asked = append(asked, rows[i])
			}
		}

		if len(asked) == 0 {
			continue
		}

		found, err := c.find(ctx, tx, asked)
		if err != nil {
			return err
		}

		// One request gets one error, which names all rows that the rule refuses.
		if found.together != nil {
			return found.together
		}
	}

	return nil
}

// loadDataToSave computes the drafts that are to be saved, once for the checks and for storing them.
func loadDataToSave(ctx context.Context, tx *db.Tx, rows []row, to Status) error {
	if to == Draft {
		return nil
	}

	return loadDraftData(ctx, tx, rows)
}

// checkNotImported refuses to return imported statements to draft: their entries are in no live book, so no draft could
// be computed.
func checkNotImported(_ context.Context, _ *db.Tx, rows []row) (refused, error) {
	// The check is only asked for imported statements, so it refuses them all.
	r := refused{each: map[id.ID]error{}, together: apierr.BadRequest.At(apierr.IssueImported.InBody("status"))}
	for i := range rows {
		r.each[rows[i].id()] = r.together
	}

	return r, nil
}

// Blocking names the statement that blocks a change. Rules STM-07 to STM-10.
type Blocking struct {
	ID         id.ID   `json:"blockingStatementId"`
	StartAt    day.Day `json:"blockingStatementStartAt"`
	Status     Status  `json:"blockingStatementStatus"`
	NextAction string  `json:"nextAction" db:"-"`
}

// checkNoLater refuses a change of statements while a later one of their ownership period is saved. If there are
// several, the latest is named: it is the first one that can be returned to draft. Rules STM-02 to STM-06.
func checkNoLater(ctx context.Context, tx *db.Tx, rows []row) (refused, error) {
	type later struct {
		Place int64
		Blocking
	}

	periods, _, starts := columns(rowKeys(rows))

	// Currencies do not matter here: a later statement in any currency of the period blocks.
	found, err := db.Select[later](ctx, tx, `
		select k.place, o.* from unnest(@periods::uuid[], @starts::date[]) with ordinality k (period, start_at, place)
		cross join lateral (
			select s.id, s.start_at, s.status from statement s
			where s.team_id = @team and s.ownership_period_id = k.period and s.start_at > k.start_at
			order by s.start_at desc, s.id limit 1
		) o order by o.start_at desc, o.id`,
		db.Args{"team": tx.Team, "periods": periods, "starts": starts})
	if err != nil {
		return refused{}, fmt.Errorf("find later statements: %w", err)
	}

	r := refused{each: map[id.ID]error{}}

	// The latest of all comes first and is the one that the common error names.
	for _, o := range found {
		o.NextAction = "returnStatementsToDraft"
		refusal := ErrFuture.With(o.Blocking)

		r.each[rows[o.Place-1].id()] = refusal
		if r.together == nil {
			r.together = refusal
		}
	}

	return r, nil
}

// checkNoImport refuses to publish while historic statements are still being imported. Rule RSN-23.
func checkNoImport(ctx context.Context, tx *db.Tx, rows []row) (refused, error) {
	pending, err := db.Select[id.ID](ctx, tx, `
		select o.id from operation o where `+UnfinishedImport+` order by o.id`, db.Args{"team": tx.Team})
	if err != nil {
		return refused{}, fmt.Errorf("find statement imports: %w", err)
	}

	if len(pending) == 0 {
		return refused{}, nil
	}

	// The import may concern any ownership period, so it blocks all rows.
	r := refused{each: map[id.ID]error{}, together: ErrImporting.With(map[string]any{"operationIds": pending})}
	for i := range rows {
		r.each[rows[i].id()] = r.together
	}

	return r, nil
}

// checkJournals refuses to save or publish statements while journals under them are not current. The error does not
// invite to repeat the request: that does not help before the operations have settled. Journals that cannot change
// because of locks are final as they are. Rules ERR-59 and ERR-63 to ERR-66.
func checkJournals(ctx context.Context, tx *db.Tx, rows []row) (refused, error) {
	statuses, err := ledger.LoadListingStatuses(ctx, tx, listingIDs(rows))
	if err != nil {
		return refused{}, err
	}

	// The caller needs the operations to wait for.
	recalculating := func(s *ledger.JournalStatus) error {
		return team.ErrNotDerived.With(map[string]any{
			"journalStatus": s.Status,
			"journalReason": s.Reason,
			"journalAction": s.Action,
			"operationIds":  s.OperationIDs,
		})
	}

	// One listing that is not current refuses the request as a whole.
	blocking := ledger.Blocking(statuses)
	if blocking == nil {
		return refused{}, nil
	}

	r := refused{each: map[id.ID]error{}, together: recalculating(blocking)}

	// Within a batch, only the rows of such listings are refused.
	for i := range rows {
		listing := rows[i].ListingID
		if own := ledger.Blocking(map[id.ID]ledger.JournalStatus{listing: statuses[listing]}); own != nil {
			r.each[rows[i].id()] = recalculating(own)
		}
	}

	return r, nil
}

// checkEarlierPublished refuses to publish statements while an earlier month of their chain is not published: in
// review, or a draft with entries. Months before the team's statements begin do not count, and neither do months
// without entries. Rule RSN-43.
func checkEarlierPublished(ctx context.Context, tx *db.Tx, rows []row) (refused, error) {
	terms, err := loadTerms(ctx, tx)
	if err != nil {
		return refused{}, err
	}

	// Without a start date all months count.
	since := day.Month{Year: 1, Month: time.January}.First()
	if terms.StatementStartAt != nil {
		since = terms.StatementStartAt.FirstOfMonth()
	}

	type open struct {
		Place int64
		ID    id.ID
		key
		Status Status
	}

	// Find the earliest open month before each row: a statement in review, or an entry that no saved statement's
	// month covers.
	periods, currencies, starts := columns(rowKeys(rows))

	found, err := db.Select[open](ctx, tx, `
		select k.place, o.id, k.period as ownership_period_id, k.currency, o.start_at, o.status
		from unnest(@periods::uuid[], @currencies::text[], @starts::date[]) with ordinality k (period, currency, start_at, place)
		cross join lateral (select * from (
			select s.id, s.start_at, s.status from statement s
			where s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency and s.status = 'inReview'
				and s.start_at < k.start_at and s.start_at >= @since
			union all
			(select null, date_trunc('month', e.txn_at::timestamp)::date, 'draft' from ledger_entry e
			where `+ledger.OwnersEntry+` and e.ownership_period_id = k.period and e.currency = k.currency and e.statement_id is null
				and e.txn_at < k.start_at and e.txn_at >= @since and not exists (
					select from statement s where s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency
						and e.txn_at >= date_trunc('month', s.start_at::timestamp) and e.txn_at < date_trunc('month', s.end_at::timestamp) + interval '1 month')
			order by e.txn_at limit 1)
		) either order by start_at limit 1) o order by o.start_at, k.period, k.currency`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts, "since": since})
	if err != nil {
		return refused{}, fmt.Errorf("find earlier statements: %w", err)
	}

	r := refused{each: map[id.ID]error{}}

	// A draft has no row, so its id is derived.
	for i := range found {
		o := &found[i]
		if o.ID.IsZero() {
			o.ID = o.key.ID()
		}

		refusal := errOpen.With(Blocking{
			ID:         o.ID,
			StartAt:    o.StartAt,
			Status:     o.Status,
			NextAction: "publishPreviousStatements",
		})

		r.each[rows[o.Place-1].id()] = refusal
		if r.together == nil {
			r.together = refusal
		}
	}

	return r, nil
}

// checkNoPayouts refuses to reopen or remove statements that payouts are linked to. Archived payouts do not count,
// since they paid nothing. The rows are locked first, so that no payout is linked meanwhile. Rule RSN-60.
func checkNoPayouts(ctx context.Context, tx *db.Tx, rows []row) (refused, error) {
	// Payouts lock the rows of their statements too.
	ids := rowIDs(rows)
	if _, err := tx.Exec(ctx, `select 1 from statement where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": ids}); err != nil {
		return refused{}, fmt.Errorf("lock statements: %w", err)
	}

	type paid struct {
		StatementID    id.ID
		TransactionIDs []id.ID
	}

	// Only then look for links.
	found, err := db.Select[paid](ctx, tx, `
		select n.statement_id, array_agg(distinct n.transaction_id order by n.transaction_id) as transaction_ids
		from transaction_line n join transaction x on x.team_id = n.team_id and x.id = n.transaction_id and x.status = 'active'
		where n.team_id = @team and n.statement_id = any(@ids) group by n.statement_id order by n.statement_id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return refused{}, fmt.Errorf("find linked payouts: %w", err)
	}

	r := refused{each: map[id.ID]error{}}

	// Report each statement by itself for a batch, and all together for a single request.
	var statements, transactions []id.ID

	for _, p := range found {
		r.each[p.StatementID] = ErrPaid.With(map[string]any{
			"statementIds":   []id.ID{p.StatementID},
			"transactionIds": p.TransactionIDs,
		})
		statements, transactions = append(statements, p.StatementID), append(transactions, p.TransactionIDs...)
	}

	if len(statements) > 0 {
		r.together = ErrPaid.With(map[string]any{"statementIds": statements, "transactionIds": transactions})
	}

	return r, nil
}

// checkNoErrors refuses to save or publish statements that have an issue of severity error. Rule RSN-59.
func checkNoErrors(ctx context.Context, tx *db.Tx, rows []row) (refused, error) {
	issues, err := findIssues(ctx, tx, rows)
	if err != nil {
		return refused{}, err
	}

	// The error contains the issues, so that the caller need not read the statement again.
	blocked := func(statements []id.ID, errors []finding.Finding) error {
		return errIssues.With(map[string]any{"statementIds": statements, "issues": errors})
	}
	r := refused{each: map[id.ID]error{}}

	var (
		statements []id.ID
		all        []finding.Finding
	)

	// Warnings do not block.
	for i := range rows {
		statement := rows[i].id()
		if errors := blockingIssues(issues[statement]); len(errors) > 0 {
			r.each[statement] = blocked([]id.ID{statement}, errors)
			statements, all = append(statements, statement), append(all, errors...)
		}
	}

	if len(statements) > 0 {
		r.together = blocked(statements, all)
	}

	return r, nil
}
