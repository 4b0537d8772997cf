package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/platform/db"
)

// portfolio is how many listings a bench team manages. Refreshes and reports are measured on teams that differ only
// in their bookings.
const portfolio = 200

// newBooks creates a team with the standard chart, listings, one owner for all of them, a management and a
// cleaning fee.
func (b *bed) newBooks(ctx context.Context) (tenant, error) { return b.newManager(ctx, portfolio) }

// newManager creates a team like newBooks with any number of listings.
func (b *bed) newManager(ctx context.Context, listings int) (t tenant, err error) {
	if t, err = newTenant(ctx, b.db, 0); err != nil {
		return t, err
	}

	// First the chart and the mappings, as every new team gets them.
	if err = b.db.Write(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) error {
		if err := account.InstallStandard(ctx, tx); err != nil {
			return err
		}

		return mapping.InstallStandard(ctx, tx)
	}); err != nil {
		return t, fmt.Errorf("install the chart: %w", err)
	}

	// Then the rest in bulk: the owner, the listings with their ownership, and fees on all of them.
	return t, b.asAdministrator(ctx, []string{
		`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) values ($1, gen_random_uuid(), 'owner', 'owner', 'Ada', now(), now())`,
		fmt.Sprintf(`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at)
			select $1, md5($1::uuid::text || n)::uuid, 'l' || n, 'Listing ' || n, 'usd', now(), now() from generate_series(1, %d) n`, listings),
		`insert into listing_ownership_period (team_id, id, listing_id, created_at, updated_at)
			select team_id, gen_random_uuid(), id, now(), now() from listing where team_id = $1`,
		`insert into listing_ownership_member (team_id, period_id, position, contact_id, split)
			select p.team_id, p.id, 0, c.id, 100000 from listing_ownership_period p join contact c on c.team_id = p.team_id where p.team_id = $1`,
		`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id, debit_account_id,
				created_at, updated_at)
			select $1, gen_random_uuid(), f.name, f.type, f.formula, 'percentage', f.rate, 'manager', 'owners', c.id, d.id, now(), now()
			from (values ('Management', 'managementFee', 'rent', 20000, '4100', '5100'), ('Cleaning', 'cleaningFee', 'cleaningFee', 100000, '4110', '5110'))
				as f (name, type, formula, rate, credit, debit)
			join account c on c.team_id = $1 and c.code = f.credit join account d on d.team_id = $1 and d.code = f.debit`,
		`insert into fee_listing_period (team_id, id, fee_id, listing_id, created_at, updated_at)
			select l.team_id, gen_random_uuid(), f.id, l.id, now(), now() from listing l join fee f on f.team_id = l.team_id where l.team_id = $1`,
	}, t)
}

// asAdministrator runs statements about one team in a session without row-level security and triggers. Statements
// for the zero tenant take no argument.
func (b *bed) asAdministrator(ctx context.Context, statements []string, t tenant) error {
	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	// Filling must be fast and need not survive a crash.
	for _, setting := range []string{
		"synchronous_commit = off",
		"session_replication_role = replica",
		"timezone = 'UTC'",
		"work_mem = '256MB'",
		"maintenance_work_mem = '512MB'",
	} {
		if _, err := conn.Exec(ctx, "set "+setting); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}

	for _, sql := range statements {
		// PostgreSQL refuses an argument that the statement does not use.
		args := []any{t.team}
		if t.team.IsZero() {
			args = nil
		}

		if _, err := conn.Exec(ctx, sql, args...); err != nil {
			return fmt.Errorf("seed %.80q: %w", sql, err)
		}
	}

	return nil
}

// count returns a number of rows of a team as the service sees them.
func (b *bed) count(ctx context.Context, t tenant, sql string) (n int64, err error) {
	err = b.db.ReadOne(ctx, t.scope(b.db), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, sql, db.Args{"team": tx.Team})
		return err
	})

	return n, err
}
