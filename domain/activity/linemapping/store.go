package linemapping

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
var mappingTable = db.NewTable[Mapping]("transaction_line_mapping", `
	id uuid key, app_id text, line_type text, line_key text, status text, account_id uuid, assignment text, party text, description text,
	created_at timestamptz fixed, updated_at timestamptz`)

var (
	columns = mappingTable.ColumnsSQL("m") + ", " + account.NameRefSQL("a") + " as account"
	tables  = `transaction_line_mapping m left join account a on a.team_id = m.team_id and a.id = m.account_id`
)

// Load loads all mappings of the team.
func Load(ctx context.Context, tx *db.Tx) (Set, error) {
	all, err := list(ctx, tx, tx.Team)
	return newSet(all), err
}

// list loads the mappings of a team that the transaction may read.
func list(ctx context.Context, tx *db.Tx, team id.ID) ([]Mapping, error) {
	found, err := db.Select[Mapping](
		ctx, tx, `select `+columns+` from `+tables+` where m.team_id = @team order by m.id`, db.Args{"team": team},
	)
	if err != nil {
		return nil, fmt.Errorf("read the line mappings of transactions: %w", err)
	}

	return found, nil
}

// loadMapping loads a mapping, or fails with apierr.NotFound. The suffix may lock it.
func loadMapping(ctx context.Context, tx *db.Tx, mappingID id.ID, suffix string) (*Mapping, error) {
	m, err := db.One[Mapping](
		ctx, tx, apierr.NotFound,
		`select `+columns+` from `+tables+` where m.team_id = @team and m.id = @id`+suffix,
		db.Args{"team": tx.Team, "id": mappingID},
	)

	return &m, err
}

// upsertMapping inserts or updates a mapping. It fails with errDuplicate for a second one of the same lines.
func upsertMapping(ctx context.Context, tx *db.Tx, m *Mapping) error {
	m.LineKey, m.UpdatedAt = lineKey(m.LineType), day.At(tx.Now)
	err := tx.Pipeline(ctx, mappingTable.Upsert(tx, m))

	// One mapping for each line type and app.
	if db.Constraint(err) == "transaction_line_mapping_once" {
		return errDuplicate
	}

	return err
}

// deleteUnmapped deletes the unmapped row of the lines that a mapping applies to, whose place the mapping takes.
func deleteUnmapped(ctx context.Context, tx *db.Tx, m *Mapping) error {
	gone, err := db.Select[Mapping](ctx, tx, `
		delete from transaction_line_mapping m
		where m.team_id = @team and m.status = 'unmapped' and m.line_key = @line_key
			and m.app_id is not distinct from @app_id and m.id <> @id
		returning `+mappingTable.ColumnsSQL("m")+`, null::jsonb as account`,
		db.Args{"team": tx.Team, "line_key": lineKey(m.LineType), "app_id": m.AppID, "id": m.ID})

	for i := range gone {
		note(tx, &gone[i], nil)
	}

	return err
}

// deleteMapping deletes a mapping.
func deleteMapping(ctx context.Context, tx *db.Tx, mappingID id.ID) error {
	_, err := tx.Exec(
		ctx, `delete from transaction_line_mapping where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": mappingID},
	)

	return err
}

// NoteUnmapped inserts unmapped rows for types of lines from an app, nil for lines from none, that no mapping of the
// app or for every app knows. Types that differ in case alone are one. Call it once in a transaction: rows are inserted
// in one order, so that two imports with the same new types do not wait for each other in a ring.
func NoteUnmapped(ctx context.Context, tx *db.Tx, appID *string, lineTypes []string) error {
	rows := newUnmapped(tx, appID, lineTypes)
	if len(rows) == 0 {
		return nil
	}

	ids, types, keys := make([]id.ID, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	for i, m := range rows {
		ids[i], types[i], keys[i] = m.ID, m.LineType, m.LineKey
	}

	inserted, err := db.Select[id.ID](ctx, tx, `
		insert into transaction_line_mapping (team_id, id, app_id, line_type, line_key, status, created_at, updated_at)
		select @team, n.id, @app_id, n.line_type, n.line_key, 'unmapped', @now, @now
		from unnest(@ids::uuid[], @types::text[], @keys::text[]) as n (id, line_type, line_key)
		where not exists (
			select from transaction_line_mapping m
			where m.team_id = @team and m.line_key = n.line_key and (m.app_id is null or m.app_id = @app_id))
		order by n.line_key
		on conflict do nothing returning id`,
		db.Args{"team": tx.Team, "app_id": appID, "ids": ids, "types": types, "keys": keys, "now": day.At(tx.Now)})
	if err != nil {
		return fmt.Errorf("note unmapped line types of transactions: %w", err)
	}

	noteInserted(tx, rows, inserted)

	return nil
}

// newUnmapped returns an unmapped row for each line type, the first spelling of those that differ in case alone.
func newUnmapped(tx *db.Tx, appID *string, lineTypes []string) (rows []*Mapping) {
	seen := map[string]bool{}

	for _, t := range lineTypes {
		key := lineKey(t)
		if seen[key] {
			continue
		}

		seen[key] = true

		rows = append(rows, &Mapping{
			ID: tx.NewID(), AppID: appID, LineType: t, LineKey: key, Status: StatusUnmapped,
			CreatedAt: day.At(tx.Now), UpdatedAt: day.At(tx.Now),
		})
	}

	return rows
}

// copyMappings copies the mappings of another team that have a counterpart of their account, unless the team has one
// for the same lines. Running it again adds nothing. Unmapped rows stay: nothing of theirs waits in this team.
func copyMappings(ctx context.Context, tx *db.Tx, from []Mapping, accounts parts.Counterparts) error {
	var copies []*Mapping

	for _, m := range from {
		if m.Status == StatusUnmapped {
			continue
		}

		// A mapping without an account needs no counterpart.
		if m.AccountID != nil {
			here, exists := accounts[*m.AccountID]
			if !exists {
				continue
			}

			m.AccountID = &here
		}

		m.ID, m.CreatedAt, m.UpdatedAt = tx.NewID(), day.At(tx.Now), day.At(tx.Now)
		copies = append(copies, &m)
	}

	if err := insertNew(ctx, tx, copies); err != nil {
		return fmt.Errorf("copy line mappings of transactions: %w", err)
	}

	return nil
}

// insertNew inserts mappings for lines that have none, with their audit events and jobs.
func insertNew(ctx context.Context, tx *db.Tx, mappings []*Mapping) error {
	if len(mappings) == 0 {
		return nil
	}

	ordered := slices.SortedFunc(slices.Values(mappings), func(a, b *Mapping) int {
		return cmp.Or(strings.Compare(a.LineKey, b.LineKey), strings.Compare(ptr.Value(a.AppID), ptr.Value(b.AppID)))
	})
	insert := mappingTable.Insert(tx, ordered...)

	inserted, err := db.Select[id.ID](ctx, tx, insert.SQL+" on conflict do nothing returning id", insert.Args)
	if err != nil {
		return err
	}

	return insertJobs(ctx, tx, noteInserted(tx, ordered, inserted)...)
}

// noteInserted writes the audit events of those of the mappings that were inserted, and returns these.
func noteInserted(tx *db.Tx, mappings []*Mapping, inserted []id.ID) (made []*Mapping) {
	for _, m := range mappings {
		if slices.Contains(inserted, m.ID) {
			note(tx, nil, m)

			made = append(made, m)
		}
	}

	return made
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
