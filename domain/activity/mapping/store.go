package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

var (
	columns = `m.id, m.app_id, m.line_type, m.channel, m.status, m.account_id, m.party, m.revenue_recognition, m.created_at, m.updated_at,
		` + account.NameRefSQL("a") + ` as account`
	tables = `reservation_line_mapping m left join account a on a.team_id = m.team_id and a.id = m.account_id`
)

// loadMapping loads a mapping, or fails with apierr.NotFound. The suffix may lock it.
func loadMapping(ctx context.Context, tx *db.Tx, mappingID id.ID, suffix string) (*Mapping, error) {
	m, err := db.One[Mapping](ctx, tx, apierr.NotFound, `select `+columns+` from `+tables+` where m.team_id = @team and m.id = @id`+suffix,
		db.Args{"team": tx.Team, "id": mappingID})

	return &m, err
}

const insert = `
	insert into reservation_line_mapping (team_id, id, app_id, line_type, channel, status, account_id, party, revenue_recognition, created_at, updated_at)
	values (@team, @id, @app_id, @line_type, @channel, @status, @account_id, @party, @revenue_recognition, @created_at, @updated_at) `

const upsert = insert + `
	on conflict (team_id, id) do update set app_id = excluded.app_id, line_type = excluded.line_type, channel = excluded.channel,
		status = excluded.status, account_id = excluded.account_id, party = excluded.party, revenue_recognition = excluded.revenue_recognition,
		updated_at = excluded.updated_at`

// args returns the arguments of insert and upsert.
func (m *Mapping) args(tx *db.Tx) db.Args {
	return db.Args{
		"team":                tx.Team,
		"id":                  m.ID,
		"app_id":              m.AppID,
		"line_type":           m.LineType,
		"channel":             m.Channel,
		"status":              string(m.Status),
		"account_id":          m.AccountID,
		"party":               (*string)(m.Party),
		"revenue_recognition": (*string)(m.RevenueRecognition),
		"created_at":          m.CreatedAt,
		"updated_at":          m.UpdatedAt,
	}
}

// save inserts or updates a mapping. It fails with errDuplicate for a second one of the same lines.
func save(ctx context.Context, tx *db.Tx, m *Mapping) error {
	_, err := tx.Exec(ctx, upsert, m.args(tx))

	// One mapping for each line type, app and channel.
	if db.Constraint(err) == "reservation_line_mapping_once" {
		return errDuplicate
	}

	return err
}

// List loads the line mappings of a team that the transaction may read.
func List(ctx context.Context, tx *db.Tx, team id.ID) ([]Mapping, error) {
	found, err := db.Select[Mapping](ctx, tx, `select `+columns+` from `+tables+` where m.team_id = @team order by m.id`, db.Args{"team": team})
	if err != nil {
		return nil, fmt.Errorf("read the line mappings of a team: %w", err)
	}

	return found, nil
}

// copyMappings copies the line mappings of another team that have a counterpart of their account, unless the team has
// one for the same lines. Running it again adds nothing.
func copyMappings(ctx context.Context, tx *db.Tx, from []Mapping, accounts parts.Counterparts) error {
	var (
		writes []db.Stmt
		made   []id.ID
	)

	for _, m := range from {
		// A mapping without an account needs no counterpart.
		if m.AccountID != nil {
			here, exists := accounts[*m.AccountID]
			if !exists {
				continue
			}

			m.AccountID = &here
		}

		// The copy has an id of its own. It is skipped if the team has a mapping of the same lines.
		m.ID, m.CreatedAt, m.UpdatedAt = tx.NewID(), day.At(tx.Now), day.At(tx.Now)
		made = append(made, m.ID)
		writes = append(writes, db.Stmt{SQL: insert + "on conflict do nothing", Args: m.args(tx)})
	}

	if writes == nil {
		return nil
	}

	if err := tx.Pipeline(ctx, writes...); err != nil {
		return fmt.Errorf("copy line mappings: %w", err)
	}

	return noteCreated(ctx, tx, made)
}

// noteCreated writes the audit events of those mappings that were inserted; the others existed before under another
// id.
func noteCreated(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	// A skipped mapping has left no row with the new id.
	made, err := db.Select[Mapping](ctx, tx, `select `+columns+` from `+tables+` where m.team_id = @team and m.id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return fmt.Errorf("read new line mappings: %w", err)
	}

	for i := range made {
		note(tx, nil, &made[i])
	}

	return nil
}

// note writes the audit event of a mapping. A nil before means a new one, a nil after a deleted one.
func note(tx *db.Tx, before, after *Mapping) {
	type view struct {
		*Mapping
		Account *struct{} `json:"account,omitempty"`
	}

	// The event concerns the account before and after.
	refs := func(m *Mapping) audit.Reference { return audit.Ref(audit.RoleAccount, audit.Account, m.AccountID) }

	switch {
	case before == nil:
		audit.Note(tx, audit.Created, audit.LineMapping, after.ID, nil, view{Mapping: after}, refs(after))
	case after == nil:
		audit.Note(tx, audit.Deleted, audit.LineMapping, before.ID, view{Mapping: before}, nil, refs(before))
	default:
		audit.Note(
			tx, audit.Updated, audit.LineMapping, after.ID,
			view{Mapping: before},
			view{Mapping: after},
			refs(before),
			refs(after),
		)
	}
}

// deleteUnmapped deletes the unmapped row of a line type that gets a mapping now.
func deleteUnmapped(ctx context.Context, tx *db.Tx, m *Mapping) error {
	gone, err := db.Select[id.ID](ctx, tx, `delete from reservation_line_mapping where team_id = @team and status = 'unmapped' and line_type = @line_type
		and app_id is not distinct from @app_id and channel is not distinct from @channel and id <> @id returning id`,
		db.Args{"team": tx.Team, "line_type": m.LineType, "app_id": m.AppID, "channel": m.Channel, "id": m.ID})

	// The deleted row had nothing but its scope.
	for _, unmapped := range gone {
		note(
			tx, &Mapping{ID: unmapped, LineType: m.LineType, AppID: m.AppID, Channel: m.Channel, Status: Unmapped}, nil,
		)
	}

	return err
}

// deleteMapping deletes a mapping.
func deleteMapping(ctx context.Context, tx *db.Tx, mappingID id.ID) error {
	_, err := tx.Exec(ctx, `delete from reservation_line_mapping where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": mappingID})
	return err
}

// loadReservations loads the reservations with posted lines that a mapping applies to.
func loadReservations(ctx context.Context, tx *db.Tx, m *Mapping) ([]id.ID, error) {
	// Only booked reservations post their lines, and canceled ones those that are kept.
	return db.Select[id.ID](ctx, tx, `
		select r.id from reservation r
		where r.team_id = @team and `+CountsSQL("r.status", "@line_type")+` and r.general_ledger_status = 'active'
			and (@app_id::text is null or r.app_id = @app_id) and (@channel::text is null or r.booking_platform collate "case_insensitive" = @channel)
			and exists (select from reservation_line l where l.team_id = r.team_id and l.reservation_id = r.id and l.type = @line_type)
		order by r.id`, db.Args{"team": tx.Team, "app_id": m.AppID, "channel": m.Channel, "line_type": m.LineType})
}

// UnmappedLine is a type of line, of an app, that no mapping names.
type UnmappedLine struct{ AppID, LineType string }

// AddUnmapped adds unmapped rows for types of lines that have none.
func AddUnmapped(ctx context.Context, tx *db.Tx, unknown []UnmappedLine) error {
	if len(unknown) == 0 {
		return nil
	}

	// Insert in a fixed order, so that two transactions with the same new types do not wait for each other in a ring.
	unknown = slices.Clone(unknown)
	slices.SortFunc(unknown, func(a, b UnmappedLine) int {
		return strings.Compare(a.AppID+"\x00"+a.LineType, b.AppID+"\x00"+b.LineType)
	})
	unknown = slices.Compact(unknown)

	// Then insert them as columns; rows that exist already are skipped.
	ids, apps, types := make([]id.ID, len(unknown)), make([]string, len(unknown)), make([]string, len(unknown))
	for i, s := range unknown {
		ids[i], apps[i], types[i] = tx.NewID(), s.AppID, s.LineType
	}

	made, err := db.Select[id.ID](ctx, tx, `
		insert into reservation_line_mapping (team_id, id, app_id, line_type, status, created_at, updated_at)
		select @team, n.id, nullif(n.app, ''), n.type, 'unmapped', @now, @now
		from unnest(@ids::uuid[], @apps::text[], @types::text[]) with ordinality as n (id, app, type, position) order by n.position
		on conflict do nothing returning id`, db.Args{"team": tx.Team, "now": tx.Now, "ids": ids, "apps": apps, "types": types})
	if err != nil {
		return fmt.Errorf("note unmapped line types: %w", err)
	}

	// Only the rows that were inserted have an audit event.
	for i := range unknown {
		if slices.Contains(made, ids[i]) {
			m := &Mapping{ID: ids[i], LineType: unknown[i].LineType, Status: Unmapped}
			if app := unknown[i].AppID; app != "" {
				m.AppID = &app
			}

			note(tx, nil, m)
		}
	}

	return nil
}
