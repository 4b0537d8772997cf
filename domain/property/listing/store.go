package listing

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// listingTable has the columns of a listing that its own writes change. Without a currency it gets the team's.
var listingTable = db.NewTable[Listing]("listing", `
	id uuid key, short_ref text fixed, name text, unique_ref text, status text, default_currency text, time_zone text, address jsonb,
	created_at now fixed, updated_at now`).
	Compute(
		"default_currency",
		"coalesce(nullif(r.default_currency, ''), (select t.default_currency from team t where t.id = @team))",
	)

var (
	listingColumns = listingTable.ColumnsSQL("l") + `, source.id as connection_id,
		case when source.id is not null then jsonb_build_object('id', source.external_id, 'type', 'integration', 'status', source.status,
			'appId', source.app_id) end as source,
		` + NameRefSQL("g") + ` as parent, ` + intake.RecordIssuesSQL("@team", "l.id") + ` as issues`
	listingFrom = groupFrom + ` left join lateral (select c.id, c.status, c.app_id, r.external_id` + firstConnection + ` source on true`

	// The connection with a listing of its system that a listing is: the first that is not archived, else the first.
	ofConnection = `(select c.id` + firstConnection
)

const (
	groupFrom       = `listing l left join listing g on g.team_id = l.team_id and g.id = l.parent_id`
	firstConnection = ` from listing_connection r join connection c on c.team_id = @team and c.id = r.connection_id
		where r.team_id = @team and r.listing_id = l.id order by c.status = 'archived', r.created_at, r.id limit 1)`
)

// ByID returns listings of the team by id; ids of no listing are absent. Ownership and fees are not filled in.
func ByID(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Listing, error) {
	rows, err := db.Select[Listing](ctx, tx, `select `+listingColumns+` from `+listingFrom+` where l.team_id = @team and l.id = any(@ids::uuid[])`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read listings: %w", err)
	}

	out := make(map[id.ID]Listing, len(rows))
	for i := range rows {
		out[rows[i].ID] = rows[i]
	}

	return out, nil
}

// load reads a listing with its ownership and fees, or fails with apierr.NotFound.
func load(ctx context.Context, tx *db.Tx, listing id.ID) (*Listing, error) {
	args := wholeArgs(tx)
	args["id"] = listing

	found, err := db.One[wholeListing](ctx, tx, apierr.NotFound, `select `+wholeColumns+` from `+wholeFrom+` where l.team_id = @team and l.id = @id`, args)
	if err != nil {
		return nil, fmt.Errorf("read listing: %w", err)
	}

	l := found.listing()

	return &l, nil
}

// lock reads a listing and keeps it, and with it its ownership periods, from changing until the transaction ends. It
// fails with apierr.NotFound.
func lock(ctx context.Context, tx *db.Tx, listing id.ID) (*Listing, error) {
	found, err := lockAll(ctx, tx, []id.ID{listing})
	if err == nil && found[listing] == nil {
		err = apierr.NotFound
	}

	return found[listing], err
}

// lockAll locks listings; ids of no listing are absent.
func lockAll(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]*Listing, error) {
	out := map[id.ID]*Listing{}
	if len(ids) == 0 {
		return out, nil
	}

	rows, err := db.Select[Listing](ctx, tx, `select `+listingColumns+` from `+listingFrom+` where l.team_id = @team and l.id = any(@ids)
		order by l.id for update of l`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("lock listings: %w", err)
	}

	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}

	return out, nil
}

func conflict(err error) error {
	if db.Constraint(err) == "listing_unique_ref" {
		return errDuplicateUniqueRef.Because(err)
	}

	return err
}

// remove deletes a listing with its ownership periods.
func remove(ctx context.Context, tx *db.Tx, l *Listing) error {
	// Read what goes with the listing, for the events.
	periods, err := LoadOwnPeriods(ctx, tx, []id.ID{l.ID})
	if err != nil {
		return err
	}

	// The choice of a statement layout goes with the listing; the event names its layout.
	args := db.Args{"team": tx.Team, "id": l.ID}

	layouts, err := db.Select[id.ID](ctx, tx, `select layout_id from layout_listing where team_id = @team and listing_id = @id`, args)
	if err != nil {
		return fmt.Errorf("read the statement layout of a listing: %w", err)
	}

	for _, chosen := range layouts {
		audit.Note(
			tx, audit.Updated, audit.StatementLayout, chosen,
			map[string]any{"listings": map[string]bool{l.ID.String(): true}}, nil,
			audit.Ref(audit.RoleListing, audit.Listing, l.ID),
		)
	}

	// Note the listing and each period before they are gone.
	audit.Note(tx, audit.Deleted, audit.Listing, l.ID, l, nil)

	for i := range periods[l.ID] {
		notePeriod(tx, audit.Deleted, &periods[l.ID][i], nil)
	}

	return tx.Pipeline(ctx,
		db.Stmt{SQL: `delete from listing_ownership_period where team_id = @team and listing_id = @id`, Args: args},
		db.Stmt{SQL: `delete from listing where team_id = @team and id = @id`, Args: args},
	)
}
