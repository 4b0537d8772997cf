package listing

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// periodTable has the columns of an ownership period without its members.
var periodTable = db.NewTable[Period]("listing_ownership_period", `
	id uuid key, listing_id uuid fixed, start_at date, end_at date, business_model text, reserve bigint, set_listing_inactive boolean,
	created_at now fixed, updated_at now`)

// memberTable has the columns of a member of an ownership period.
var memberTable = db.NewTable[memberRow](
	"listing_ownership_member", "period_id uuid, position int, contact_id uuid, split bigint",
)

// memberRow is a member with its ownership period and its place among the members, from 1.
type memberRow struct {
	Member
	PeriodID id.ID
	Position int64
}

// memberRows returns the rows of the members of a period.
func memberRows(p *Period) []*memberRow {
	rows := make([]*memberRow, len(p.Members))
	for i, m := range p.Members {
		rows[i] = &memberRow{Member: m, PeriodID: p.ID, Position: int64(i) + 1}
	}

	return rows
}

var periodColumns = periodTable.ColumnsSQL("p") + `, p.deactivation_held, ` + membersSQL("p") + ` as members`

// membersSQL returns the SQL of the members of an ownership period, which is given by its alias.
func membersSQL(period string) string {
	return `coalesce((select jsonb_agg(jsonb_build_object('contactId', m.contact_id, 'split', m.split) order by m.position)
		from listing_ownership_member m where m.team_id = ` + period + `.team_id and m.period_id = ` + period + `.id), '[]')`
}

func selectPeriods(ctx context.Context, tx *db.Tx, condition string, args db.Args) ([]Period, error) {
	rows, err := db.Select[Period](ctx, tx, `select `+periodColumns+` from listing_ownership_period p where `+condition+
		` order by p.listing_id, p.start_at nulls first`, args)
	if err != nil {
		return nil, fmt.Errorf("read ownership periods: %w", err)
	}

	return rows, nil
}

// lockedPeriod is a period with what holds it, as one statement reads it.
type lockedPeriod struct {
	Period
	ledger.PeriodLockRow
}

// The columns and tables of a lockedPeriod; they take the argument reader.
var (
	lockedColumns = periodColumns + `, ` + ledger.PeriodLockColumns("p.id")
	lockedFrom    = `listing_ownership_period p` + ledger.PeriodLockTables("p.id")
)

// period returns the period as the API shows it.
func (l *lockedPeriod) period() Period {
	p := l.Period
	p.Lock = l.PeriodLockRow.Lock()

	return p
}

// loadPeriod reads a period with its lock, or fails with apierr.NotFound.
func loadPeriod(ctx context.Context, tx *db.Tx, period id.ID) (*Period, error) {
	found, err := db.One[lockedPeriod](ctx, tx, apierr.NotFound, `select `+lockedColumns+` from `+lockedFrom+` where p.team_id = @team and p.id = @id`,
		db.Args{"team": tx.Team, "id": period, "reader": tx.Actor.User})
	if err != nil {
		return nil, fmt.Errorf("read ownership period: %w", err)
	}

	p := found.period()

	return &p, nil
}

// periodIDs returns the ids of periods.
func periodIDs(periods []Period) []id.ID {
	ids := make([]id.ID, len(periods))
	for i := range periods {
		ids[i] = periods[i].ID
	}

	return ids
}

// periodQuery returns the query of all ownership periods of the team, in rows of lockedPeriod.
func periodQuery(tx *db.Tx) page.Query {
	q := page.Query{
		Columns: lockedColumns, From: lockedFrom, Rows: "listing_ownership_period p",
		Where: []string{"p.team_id = @team"},
		Args:  db.Args{"team": tx.Team, "reader": tx.Actor.User}, Sorts: periodSorts, Default: "createdAt", ID: "p.id",
	}
	q.CountedAs("listing_ownership_period")

	return q
}

var periodSorts = page.Sorts{
	{Name: "startAt", Expr: "p.start_at", Nullable: true},
	{Name: "endAt", Expr: "p.end_at", Nullable: true},
	{Name: "createdAt", Expr: "p.created_at"},
}

// lockPeriod locks the listing of a period, under which all its periods change, and reads the period.
func lockPeriod(ctx context.Context, tx *db.Tx, period id.ID) (*Period, error) {
	n, err := tx.Exec(ctx, `select from listing l where l.team_id = @team
		and l.id = (select p.listing_id from listing_ownership_period p where p.team_id = @team and p.id = @id) for update`,
		db.Args{"team": tx.Team, "id": period})
	if err != nil {
		return nil, fmt.Errorf("lock the listing of an ownership period: %w", err)
	}

	if n == 0 {
		return nil, apierr.NotFound
	}

	return loadPeriod(ctx, tx, period)
}

// checkOwners returns an issue for each member that does not exist or is no owner. The path leads to the members.
// It locks the contacts against a change of their type.
func checkOwners(ctx context.Context, tx *db.Tx, members []Member, path []any) ([]apierr.Issue, error) {
	ids := make([]id.ID, len(members))
	for i, m := range members {
		ids[i] = m.ContactID
	}

	type row struct {
		ID    id.ID
		Owner bool
	}

	// All members are read in one statement.
	rows, err := db.Select[row](ctx, tx, `select id, type = 'owner' as owner from contact where team_id = @team and id = any(@ids::uuid[]) for share`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}

	owners := map[id.ID]bool{}
	for _, r := range rows {
		owners[r.ID] = r.Owner
	}

	// Report all bad members at once, each at its own place.
	var issues []apierr.Issue

	for i, m := range members {
		where := append(slices.Clone(path), i, "contactId")

		switch owner, known := owners[m.ContactID]; {
		case !known:
			issues = append(issues, apierr.IssueNotFound.InBody(where...))
		case !owner:
			issues = append(issues, apierr.IssueNotOwner.InBody(where...))
		}
	}

	return issues, nil
}

// notePeriod notes the change of a period. The event refers to its listing and to the owners before and after.
func notePeriod(tx *db.Tx, what audit.Type, before, after *Period) {
	var refs []audit.Reference

	one := after

	// The later of the two that exist is the subject of the event: a deleted period has no after.
	for _, p := range []*Period{before, after} {
		if p == nil {
			continue
		}

		for _, m := range p.Members {
			refs = append(refs, audit.Ref(audit.RoleOwner, audit.Contact, m.ContactID))
		}

		one = p
	}

	audit.Note(
		tx, what, audit.OwnershipPeriod, one.ID, before, after,
		append(refs, audit.Ref(audit.RoleListing, audit.Listing, one.ListingID))...,
	)
}

// savePeriod saves a period with its members in one round trip. The period that ends earlier because of it is
// updated first, so that they never overlap.
func savePeriod(ctx context.Context, tx *db.Tx, old, p, ended *Period) error {
	isNew := old == nil

	var stmts []db.Stmt
	if ended != nil {
		stmts = append(stmts, endPeriodSQL(tx, ended))
	}

	// A change never moves a period to another listing. Another end, or another word about the listing, counts anew.
	s := periodTable.Upsert(tx, p)
	if !isNew && (old.SetListingInactive != p.SetListingInactive || !isSameDay(old.EndAt, p.EndAt)) {
		s.SQL += ", " + startOverSQL
	}

	// The members are replaced as a whole; their order is that of the request.
	stmts = append(stmts, s,
		db.Stmt{
			SQL:  `delete from listing_ownership_member where team_id = @team and period_id = @id`,
			Args: db.Args{"team": tx.Team, "id": p.ID},
		},
		memberTable.Insert(tx, memberRows(p)...))
	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return fmt.Errorf("write ownership period: %w", err)
	}

	// The event shows the members too.
	what := audit.Updated
	if isNew {
		what = audit.Created
	}

	notePeriod(tx, what, old, p)

	return nil
}

// endPeriodSQL returns the statement that saves the end of a period.
func endPeriodSQL(tx *db.Tx, p *Period) db.Stmt {
	return db.Stmt{
		SQL:  `update listing_ownership_period set end_at = @end, updated_at = @now, ` + startOverSQL + ` where team_id = @team and id = @id`,
		Args: db.Args{"team": tx.Team, "id": p.ID, "end": p.EndAt, "now": tx.Now},
	}
}

// noteEnd notes that a period ends on another day now.
func noteEnd(tx *db.Tx, p *Period, end *day.Day) {
	after := *p
	after.EndAt = end
	notePeriod(tx, audit.Updated, p, &after)
}

// removePeriod deletes a period. If extended is given, that period ends where the deleted one would have ended.
func removePeriod(ctx context.Context, tx *db.Tx, p, extended *Period) error {
	// Delete first, so that the two never overlap.
	stmts := []db.Stmt{{
		SQL:  `delete from listing_ownership_period where team_id = @team and id = @id`,
		Args: db.Args{"team": tx.Team, "id": p.ID},
	}}

	if extended != nil {
		longer := *extended
		longer.EndAt = p.EndAt
		stmts = append(stmts, endPeriodSQL(tx, &longer))
	}

	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return fmt.Errorf("delete ownership period: %w", err)
	}

	// The event is made of the loaded period, because its rows are gone.
	notePeriod(tx, audit.Deleted, p, nil)

	if extended != nil {
		noteEnd(tx, extended, p.EndAt)
	}

	return nil
}

// archivePeriod ends a period after the last day that journal entries or owner statements use. An opening balance
// lies a day before its period, so the period keeps one day at least.
func archivePeriod(ctx context.Context, tx *db.Tx, p *Period) error {
	end, err := db.Get[*day.Day](ctx, tx, `
		update listing_ownership_period p set end_at = least(p.end_at, greatest(used.day + 1, p.start_at + 1)), updated_at = @now, `+startOverSQL+`
		from (select greatest(
			(select max(txn_at) from ledger_entry where team_id = @team and ownership_period_id = @id),
			(select max(end_at) from statement where team_id = @team and ownership_period_id = @id)) as day) used
		where p.team_id = @team and p.id = @id returning p.end_at`, db.Args{"team": tx.Team, "id": p.ID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("archive ownership period: %w", err)
	}

	noteEnd(tx, p, end)

	return nil
}
