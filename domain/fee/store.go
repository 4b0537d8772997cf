package fee

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const feeColumns = `f.id, f.unique_ref, f.name, f.icon, f.status, f.type, f.formula, f.rate_type, f.default_rate, f.revenue_recognition,
	f.credit_party, f.debit_party, f.credit_account_id, f.debit_account_id, f.booking_channels_filter, f.created_at, f.updated_at,
	jsonb_build_object('id', c.id, 'name', c.name) as credit_account, jsonb_build_object('id', d.id, 'name', d.name) as debit_account`

const feeTables = `fee f
	join account c on c.team_id = f.team_id and c.id = f.credit_account_id
	join account d on d.team_id = f.team_id and d.id = f.debit_account_id`

const periodColumns = `p.id, p.fee_id, p.listing_id, p.start_at, p.end_at, p.rate, p.created_at, p.updated_at,
	jsonb_build_object('id', f.id, 'name', f.name, 'type', f.type, 'rateType', f.rate_type, 'defaultRate', f.default_rate) as recurring_fee`

const periodTables = `fee_listing_period p join fee f on f.team_id = p.team_id and f.id = p.fee_id`

func get(ctx context.Context, tx *db.Tx, feeID id.ID) (Fee, error) {
	f, err := db.Get[Fee](ctx, tx, `select `+feeColumns+` from `+feeTables+` where f.team_id = @team and f.id = @id`, db.Args{"team": tx.Team, "id": feeID})
	if errors.Is(err, db.ErrNoRows) {
		return Fee{}, apierr.NotFound
	}
	return f, err
}

// hold makes the changes of a fee take turns, those of its listing periods among them. It finds the fee by its own id or by that of a period.
func hold(ctx context.Context, tx *db.Tx, feeOrPeriod id.ID) error {
	_, err := tx.Exec(ctx, `select from fee where team_id = @team and (id = @id
		or id = (select fee_id from fee_listing_period where team_id = @team and id = @id)) for update`, db.Args{"team": tx.Team, "id": feeOrPeriod})
	if err != nil {
		return fmt.Errorf("lock recurring fee: %w", err)
	}
	return nil
}

// holdListings makes those who derive journals of the listings wait, so that none derives with the fees of before and escapes the change.
func holdListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error {
	_, err := tx.Exec(ctx, `select from listing where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": listingIDs})
	if err != nil {
		return fmt.Errorf("lock listings: %w", err)
	}
	return nil
}

func getPeriod(ctx context.Context, tx *db.Tx, periodID id.ID) (Period, error) {
	p, err := db.Get[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+` where p.team_id = @team and p.id = @id`,
		db.Args{"team": tx.Team, "id": periodID})
	if errors.Is(err, db.ErrNoRows) {
		return Period{}, apierr.NotFound
	}
	return p, err
}

// periodsOf are the listing periods of a fee.
func periodsOf(ctx context.Context, tx *db.Tx, feeID id.ID) ([]Period, error) {
	return db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+`
		where p.team_id = @team and p.fee_id = @fee order by p.listing_id, p.start_at nulls first, p.id`, db.Args{"team": tx.Team, "fee": feeID})
}

// Subscribed are the active fees of listings with their listing periods, in the order in which the fees were made, by listing.
func Subscribed(ctx context.Context, tx *db.Tx, listingIDs []id.ID) (map[id.ID][]Subscription, error) {
	periods, err := db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+`
		where p.team_id = @team and p.listing_id = any(@listings) and f.status = 'active'
		order by p.fee_id, p.start_at nulls first, p.id`, db.Args{"team": tx.Team, "listings": listingIDs})
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}
	out := map[id.ID][]Subscription{}
	if len(periods) == 0 {
		return out, nil
	}
	fees, err := db.Select[Fee](ctx, tx, `select `+feeColumns+` from `+feeTables+` where f.team_id = @team and f.status = 'active'`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read subscribed fees: %w", err)
	}
	byID := make(map[id.ID]*Fee, len(fees))
	for i := range fees {
		byID[fees[i].ID] = &fees[i]
	}
	for i := range periods {
		f := byID[periods[i].FeeID]
		if f == nil {
			continue // archived between the two reads
		}
		s, err := NewSubscription(*f, periods[i])
		if err != nil {
			return nil, fmt.Errorf("formula of recurring fee %s: %w", f.ID, err)
		}
		out[periods[i].ListingID] = append(out[periods[i].ListingID], s)
	}
	return out, nil
}

// mappedTypes are the line types that the team maps.
func mappedTypes(ctx context.Context, tx *db.Tx) ([]string, error) {
	return db.Select[string](ctx, tx, `select line_type from reservation_line_mapping where team_id = @team`, db.Args{"team": tx.Team})
}

const upsertFee = `
	insert into fee (team_id, id, unique_ref, name, icon, status, type, formula, rate_type, default_rate, revenue_recognition, credit_party, debit_party,
		credit_account_id, debit_account_id, booking_channels_filter, created_at, updated_at)
	values (@team, @id, @unique_ref, @name, @icon, @status, @type, @formula, @rate_type, @default_rate, @revenue_recognition, @credit_party, @debit_party,
		@credit_account_id, @debit_account_id, @booking_channels_filter, @created_at, @updated_at)
	on conflict (team_id, id) do update set unique_ref = excluded.unique_ref, name = excluded.name, icon = excluded.icon, status = excluded.status,
		type = excluded.type, formula = excluded.formula, rate_type = excluded.rate_type, default_rate = excluded.default_rate,
		revenue_recognition = excluded.revenue_recognition, credit_party = excluded.credit_party, debit_party = excluded.debit_party,
		credit_account_id = excluded.credit_account_id, debit_account_id = excluded.debit_account_id,
		booking_channels_filter = excluded.booking_channels_filter, updated_at = excluded.updated_at`

func feeStatement(tx *db.Tx, f *Fee) db.Stmt {
	return db.Stmt{SQL: upsertFee, Args: db.Args{
		"team": tx.Team, "id": f.ID, "unique_ref": f.UniqueRef, "name": f.Name, "icon": f.Icon, "status": f.Status, "type": string(f.Type), "formula": f.Formula,
		"rate_type": string(f.RateType), "default_rate": f.DefaultRate, "revenue_recognition": (*string)(f.RevenueRecognition),
		"credit_party": string(f.CreditParty), "debit_party": string(f.DebitParty), "credit_account_id": f.CreditAccountID, "debit_account_id": f.DebitAccountID,
		"booking_channels_filter": f.BookingChannelsFilter, "created_at": f.CreatedAt, "updated_at": f.UpdatedAt,
	}}
}

const upsertPeriod = `
	insert into fee_listing_period (team_id, id, fee_id, listing_id, start_at, end_at, rate, created_at, updated_at)
	values (@team, @id, @fee, @listing, @start, @end, @rate, @created_at, @updated_at)
	on conflict (team_id, id) do update set start_at = excluded.start_at, end_at = excluded.end_at, rate = excluded.rate, updated_at = excluded.updated_at`

func periodStatement(tx *db.Tx, p *Period) db.Stmt {
	return db.Stmt{SQL: upsertPeriod, Args: db.Args{
		"team": tx.Team, "id": p.ID, "fee": p.FeeID, "listing": p.ListingID, "start": p.StartAt, "end": p.EndAt, "rate": p.Rate,
		"created_at": p.CreatedAt, "updated_at": p.UpdatedAt,
	}}
}

func clearPeriods(tx *db.Tx, feeID id.ID) db.Stmt {
	return db.Stmt{SQL: `delete from fee_listing_period where team_id = @team and fee_id = @fee`, Args: db.Args{"team": tx.Team, "fee": feeID}}
}

func deletePeriod(ctx context.Context, tx *db.Tx, periodID id.ID) error {
	_, err := tx.Exec(ctx, `delete from fee_listing_period where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": periodID})
	return err
}

// refused turns a broken constraint into what the caller did wrong.
func refused(err error) error {
	switch db.Constraint(err) {
	case "fee_name":
		return errDuplicateName
	case "fee_unique_ref":
		return errDuplicateUniqueRef
	case "fee_listing_period_overlap":
		return errPeriodOverlap
	case "fee_listing_period_order":
		return errPeriodOrder
	default:
		return err
	}
}
