package team

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Shell has the fields of a team that a migration reads.
type Shell struct {
	ID               id.ID
	Type             Type
	Status           Status
	Name             string
	PartnerID        *id.ID
	IsGeneralLedger  bool
	InitializedAt    *day.Instant
	FreezeReason     *string
	StatementStartAt *day.Day
	MigratedFrom     *id.ID
}

// IsLegacy returns true for the team of a property manager that has no general ledger.
func (s *Shell) IsLegacy() bool { return s.Type == PropertyManager && !s.IsGeneralLedger }

// LoadShell loads a team that the transaction may see. It fails with apierr.NotFound.
func LoadShell(ctx context.Context, tx *db.Tx, team id.ID) (*Shell, error) {
	s, err := db.One[Shell](ctx, tx, apierr.NotFound, `
		select id, type, status, name, partner_id, is_general_ledger, initialized_at, freeze_reason, statement_start_at,
			migrated_from_tenant_id as migrated_from
		from team where id = @id and status <> 'deleted'`, db.Args{"id": team})
	if err != nil {
		return nil, fmt.Errorf("read a team: %w", err)
	}

	return &s, nil
}

// Freeze keeps everybody but the tasks of an operation from writing in a team because of a migration, until Thaw. It
// returns false for a team that is frozen already. The caller has the team in sight. Writes that have begun go on: see
// db.Settle.
func Freeze(ctx context.Context, tx *db.Tx, team, operationID id.ID) (bool, error) {
	n, err := tx.Exec(ctx, `update team set freeze_reason = 'migration', freeze_operation_id = @operation where id = @id and freeze_reason is null`,
		db.Args{"id": team, "operation": operationID})
	if err != nil {
		return false, fmt.Errorf("freeze a team: %w", err)
	}

	if n == 1 {
		audit.NoteIn(tx, team, audit.Updated, audit.Team, team, map[string]any{"freezeReason": nil},
			map[string]any{"freezeReason": "migration"})
	}

	return n == 1, Announce(ctx, tx)
}

// Thaw ends the freeze of a migration. The caller has the team in sight.
func Thaw(ctx context.Context, tx *db.Tx, team id.ID) error {
	n, err := tx.Exec(ctx, `update team set freeze_reason = null, freeze_operation_id = null where id = @id and freeze_reason = 'migration'`, db.Args{"id": team})
	if err != nil {
		return fmt.Errorf("end the freeze of a team: %w", err)
	}

	if n == 1 {
		audit.NoteIn(tx, team, audit.Updated, audit.Team, team, map[string]any{"freezeReason": "migration"},
			map[string]any{"freezeReason": nil})
	}

	return Announce(ctx, tx)
}

// CopyShell inserts the team of the transaction as a copy of the settings of a legacy team, with a general ledger. A
// zero partner means the partner of the legacy team. It visits the legacy team itself, so the caller must not visit
// any team.
func CopyShell(ctx context.Context, tx *db.Tx, from id.ID, name string, partner id.ID) error {
	instead := map[string]any{"is_general_ledger": true, "migrated_from_tenant_id": from}
	if !partner.IsZero() {
		instead["partner_id"] = partner
	}

	if err := insertLike(ctx, tx, from, name, instead); err != nil {
		return err
	}

	audit.NoteIn(tx, tx.Team, audit.Created, audit.Team, tx.Team, nil, map[string]any{
		"name":                 name,
		"migratedFromTenantId": from,
	})

	return Announce(ctx, tx)
}

// likeColumns are the settings that a new team takes over from the team that it is made like. What closes books, and
// the first day of statements, belongs to the team that has them.
const likeColumns = `type, company_name, email, support_email, phone, tax_id, region, partner_id, default_currency, default_revenue_recognition,
	long_term_stay_nights, is_general_ledger, statement_address, billing_address, owner_portal_show_draft_statements, payout_basis,
	funds_before_stay, funds_deposits_after_stay, destination_guard, destination_hold_days, owner_overdraft, time_zone, billing_partner_id,
	daily_gl_summary, operations_accounting, migrated_from_tenant_id`

// Restored is a team to be restored from its row. A zero partner leaves it without one.
type Restored struct {
	Row     []byte // of JSON
	Name    string
	Partner id.ID
	From    any // what the trail says of where it comes from
}

// Restore inserts the team of the transaction from the row of another one, with its books.
func Restore(ctx context.Context, tx *db.Tx, r *Restored) error {
	var partner *id.ID
	if !r.Partner.IsZero() {
		partner = &r.Partner

		if err := tx.Visit(ctx, r.Partner, func(ctx context.Context, tx *db.Tx) error {
			return checkPartner(ctx, tx, r.Partner)
		}); err != nil {
			return err
		}
	}

	if err := insertRow(ctx, tx, likeColumns+bookColumns, r.Row, map[string]any{
		"name": r.Name, "partner_id": partner, "billing_partner_id": nil,
	}); err != nil {
		return err
	}

	audit.Note(tx, audit.Created, audit.Team, tx.Team, nil, map[string]any{"name": r.Name, "restoredFrom": r.From})

	return Announce(ctx, tx)
}

// LoadRow returns the row of the transaction's team as Restore takes it.
func LoadRow(ctx context.Context, tx *db.Tx) (json.RawMessage, error) {
	row, err := db.Get[[]byte](ctx, tx, `select to_jsonb(t) from team t where id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	return row, nil
}

// insertLike inserts the team of the transaction with a name, the settings of another team and the given ones
// instead of its own. It visits the other team.
func insertLike(ctx context.Context, tx *db.Tx, from id.ID, name string, instead map[string]any) error {
	type settings struct{ Row []byte }

	var found settings

	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Get[settings](ctx, tx, `select to_jsonb(t) as row from team t where id = @id`, db.Args{"id": from})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the team to copy: %w", err)
	}

	instead["name"] = name

	return insertRow(ctx, tx, likeColumns, found.Row, instead)
}

// insertRow inserts the team of the transaction with columns of a row, some of them with other values; its name is one.
func insertRow(ctx context.Context, tx *db.Tx, columns string, row []byte, instead map[string]any) error {
	_, err := tx.Exec(ctx, `
		insert into team (id, name, created_at, updated_at, `+columns+`)
		select @id, name, @now, @now, `+columns+` from jsonb_populate_record(null::team, @row::jsonb || @instead)`,
		db.Args{"id": tx.Team, "now": tx.Now, "row": string(row), "instead": instead})
	if err != nil {
		return fmt.Errorf("make a team like another one: %w", err)
	}

	return nil
}

// NoteImport notes that the statements of the legacy team were imported, and that live statements begin on a day
// (MIG-31, MIG-32). Journals follow the first day of the books.
func NoteImport(ctx context.Context, tx *db.Tx, journals ledger.Sources, start day.Day) error {
	before, err := db.Get[*day.Day](ctx, tx, `select statement_start_at from team where id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read a team: %w", err)
	}

	_, err = tx.Exec(ctx, `update team set statement_start_at = @start, historical_statements_imported_at = @now, updated_at = @now where id = @team`,
		db.Args{"team": tx.Team, "start": start, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("note an import of statements: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, map[string]any{"statementStartAt": before},
		map[string]any{"statementStartAt": start})

	if equal(before, &start) {
		return nil
	}

	return journals.Outdate(ctx, tx, ledger.Basis{Settings: true}, ledger.Outdated{
		Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Team, ID: tx.Team},
	})
}
