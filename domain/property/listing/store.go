package listing

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
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
	listingColumns = listingTable.ColumnsSQL("l") + `, ` + ofConnection + ` as connection_id, ` + sourceSQL + ` as source,
		` + NameRefSQL("g") + ` as parent, ` + intake.RecordIssuesSQL("@team", "l.id") + ` as issues`
	// The connection with a listing of its system that a listing is: the first that is not archived, else the first.
	ofConnection = `(select c.id` + firstConnection
	sourceSQL    = `(select jsonb_build_object('id', r.external_id, 'type', 'integration', 'status', c.status, 'appId', c.app_id)` + firstConnection

	firstConnection = ` from listing_connection r join connection c on c.team_id = @team and c.id = r.connection_id
		where r.team_id = @team and r.listing_id = l.id order by c.status = 'archived', r.created_at, r.id limit 1)`

	listingFrom = `listing l left join listing g on g.team_id = l.team_id and g.id = l.parent_id`
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

// load reads a listing with its ownership and fees.
func load(ctx context.Context, tx *db.Tx, listing id.ID) (*Listing, error) {
	var (
		found map[id.ID]Listing
		b     todays
	)

	ids := []id.ID{listing}

	// The listing, its ownership and its fees are read in one round trip.
	if err := tx.Together(ctx, db.LoadBy(&found, ByID, ids), db.LoadBy(&b, loadToday, ids)); err != nil {
		return nil, err
	}

	l, ok := found[listing]
	if !ok {
		return nil, apierr.NotFound
	}

	rows := []Listing{l}
	b.fill(rows)

	return &rows[0], nil
}

// complete fills in who owns the listings today and which fees they are charged.
func complete(ctx context.Context, tx *db.Tx, listings []Listing) error {
	if len(listings) == 0 {
		return nil
	}

	ids := make([]id.ID, len(listings))
	for i := range listings {
		ids[i] = listings[i].ID
	}

	b, err := loadToday(ctx, tx, ids)
	b.fill(listings)

	return err
}

// todays has what listings show besides their own rows: the ownership periods that cover today, with their locks, and
// the fees that are charged today.
type todays struct {
	owned []owned
	fees  []charged
}

// owned is the ownership period of today for a listing: its own, or that of its group.
type owned struct {
	Period
	ForListing id.ID
}

// charged is a fee that a listing is charged today.
type charged struct {
	FeePeriod
	ForListing id.ID
}

// loadToday loads the ownership periods and recurring fees of today for all listings of a page at once.
func loadToday(ctx context.Context, tx *db.Tx, listings []id.ID) (b todays, err error) {
	args := db.Args{"team": tx.Team, "ids": listings, "today": tx.Today()}

	// Two independent reads share a round trip.
	err = tx.Together(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		b.owned, err = db.Select[owned](ctx, tx, `
			select `+periodColumns+`, l.id as for_listing from listing l cross join lateral (`+ownerSource+`) h
				join listing_ownership_period p on `+coversToday+` and p.listing_id = h.id
			where l.team_id = @team and l.id = any(@ids::uuid[]) order by l.id`, args)
		if err != nil {
			return fmt.Errorf("read ownership periods of today: %w", err)
		}

		if len(b.owned) == 0 {
			return nil
		}

		// Members of a group share a period, so its lock is loaded once.
		ids := make([]id.ID, len(b.owned))
		for i := range b.owned {
			ids[i] = b.owned[i].ID
		}

		locks, err := ledger.LoadPeriodLocks(ctx, tx, id.Distinct(ids))
		for i := range b.owned {
			b.owned[i].Lock = locks[b.owned[i].ID]
		}

		return err
	}, func(ctx context.Context, tx *db.Tx) (err error) {
		b.fees, err = db.Select[charged](ctx, tx, `
			select p.id, p.start_at, p.end_at, p.rate, l.id as for_listing, jsonb_build_object('id', f.id, 'name', f.name, 'type', f.type,
				'rateType', f.rate_type, 'defaultRate', f.default_rate) as recurring_fee
			from listing l cross join lateral (`+feeSource+`) h
				join fee_listing_period p on `+coversToday+` and p.listing_id = h.id
				join fee f on f.team_id = p.team_id and f.id = p.fee_id and f.status = 'active'
			where l.team_id = @team and l.id = any(@ids::uuid[])
			order by f.id, p.id`, args)
		if err != nil {
			return fmt.Errorf("read recurring fees of listings: %w", err)
		}

		return nil
	})

	return b, err
}

// fill sets the ownership and the fees of each listing. Listings without fees get an empty list.
func (b *todays) fill(listings []Listing) {
	// Index the listings first, so that each row finds its own.
	at := make(map[id.ID]*Listing, len(listings))
	for i := range listings {
		at[listings[i].ID] = &listings[i]
		listings[i].ActiveRecurringFeePeriods = []FeePeriod{}
	}

	for i := range b.owned {
		at[b.owned[i].ForListing].ActiveOwnership = &b.owned[i].Period
	}

	for i := range b.fees {
		l := at[b.fees[i].ForListing]
		l.ActiveRecurringFeePeriods = append(l.ActiveRecurringFeePeriods, b.fees[i].FeePeriod)
	}
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
