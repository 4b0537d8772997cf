package mapping

import (
	"cmp"
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
	"stayledger/platform/ptr"
)

// mappingTable has the columns of a mapping.
var mappingTable = db.NewTable[Mapping]("reservation_line_mapping", `
	id uuid key, app_id text, line_type text, channel text, status text, account_id uuid, party text, revenue_recognition text,
	created_at timestamptz fixed, updated_at timestamptz`)

var (
	columns = mappingTable.ColumnsSQL("m") + ", " + account.NameRefSQL("a") + " as account"
	tables  = `reservation_line_mapping m left join account a on a.team_id = m.team_id and a.id = m.account_id`
)

// loadMapping loads a mapping, or fails with apierr.NotFound. The suffix may lock it.
func loadMapping(ctx context.Context, tx *db.Tx, mappingID id.ID, suffix string) (*Mapping, error) {
	m, err := db.One[Mapping](ctx, tx, apierr.NotFound, `select `+columns+` from `+tables+` where m.team_id = @team and m.id = @id`+suffix,
		db.Args{"team": tx.Team, "id": mappingID})

	return &m, err
}

// save inserts or updates a mapping. It fails with errDuplicate for a second one of the same lines.
func save(ctx context.Context, tx *db.Tx, m *Mapping) error {
	err := tx.Pipeline(ctx, mappingTable.Upsert(tx, m))

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
	var copies []*Mapping

	for _, m := range from {
		// A mapping without an account needs no counterpart.
		if m.AccountID != nil {
			here, exists := accounts[*m.AccountID]
			if !exists {
				continue
			}

			m.AccountID = &here
		}

		copies = append(copies, &m)
	}

	if err := addNew(ctx, tx, copies); err != nil {
		return fmt.Errorf("copy line mappings: %w", err)
	}

	return nil
}

// addNew inserts mappings with ids of their own and writes their audit events. A mapping is skipped if the team has a
// mapping for the same lines.
func addNew(ctx context.Context, tx *db.Tx, mappings []*Mapping) error {
	if len(mappings) == 0 {
		return nil
	}

	for _, m := range mappings {
		m.ID, m.CreatedAt, m.UpdatedAt = tx.NewID(), day.At(tx.Now), day.At(tx.Now)
	}

	// Insert in one order, so that two transactions with the same new types do not wait for each other in a ring.
	ordered := slices.SortedFunc(slices.Values(mappings), func(a, b *Mapping) int {
		return cmp.Or(strings.Compare(ptr.Value(a.AppID), ptr.Value(b.AppID)), strings.Compare(a.LineType, b.LineType))
	})
	insert := mappingTable.Insert(tx, ordered...)

	made, err := db.Select[id.ID](ctx, tx, insert.SQL+" on conflict do nothing returning id", insert.Args)
	if err != nil {
		return err
	}

	// Only the rows that were inserted have an audit event.
	for _, m := range mappings {
		if slices.Contains(made, m.ID) {
			note(tx, nil, m)
		}
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

	var (
		mappings []*Mapping
		seen     = map[UnmappedLine]bool{}
	)

	for _, u := range unknown {
		if seen[u] {
			continue
		}

		seen[u] = true

		m := &Mapping{LineType: u.LineType, Status: Unmapped}
		if u.AppID != "" {
			m.AppID = &u.AppID
		}

		mappings = append(mappings, m)
	}

	if err := addNew(ctx, tx, mappings); err != nil {
		return fmt.Errorf("note unmapped line types: %w", err)
	}

	return nil
}
