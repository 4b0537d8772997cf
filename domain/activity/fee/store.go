package fee

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// feeTable has the columns of a fee.
var feeTable = db.NewTable[Fee]("fee", `
	id uuid key, unique_ref text, name text, icon text, status text, type text, formula text, rate_type text, default_rate bigint,
	revenue_recognition text, credit_party text, debit_party text, credit_account_id uuid, debit_account_id uuid, charge_basis text,
	tax_rate_id uuid, tax_behavior text, status_filter text, owner_stay_filter text, booking_channels_filter text[],
	created_at timestamptz fixed, updated_at timestamptz`)

// periodTable has the columns of a listing period.
var periodTable = db.NewTable[Period]("fee_listing_period", `
	id uuid key, fee_id uuid fixed, listing_id uuid fixed, start_at date, end_at date, rate bigint, created_at timestamptz fixed, updated_at timestamptz`)

var feeColumns = feeTable.ColumnsSQL("f") + `, ` + account.NameRefSQL("c") + ` as credit_account, ` + account.NameRefSQL("d") + ` as debit_account,
	case when t.id is not null then jsonb_build_object('id', t.id, 'name', t.name, 'basisPoints', t.basis_points) end as tax_rate,
	coalesce(terms.conditions, '[]') as account_total_conditions, coalesce(terms.refs, '[]') as "references", coalesce(terms.named, '[]') as named`

// Conditions and references of a fee f are read in one pass, because a statement costs by the tables that it names.
var feeTables = `fee f
	join account c on c.team_id = f.team_id and c.id = f.credit_account_id
	join account d on d.team_id = f.team_id and d.id = f.debit_account_id
	left join tax_rate t on t.team_id = f.team_id and t.id = f.tax_rate_id
	cross join lateral (
		select jsonb_agg(jsonb_build_object('accountId', v.account_id, 'operator', v.operator, 'centValue', v.cent_value) order by v.position)
				filter (where v.operator is not null) as conditions,
			jsonb_agg(jsonb_build_object('kind', v.kind, 'name', v.name, 'id', coalesce(v.fee_id, v.account_id), 'current', coalesce(g.name, a.code, a.name)))
				filter (where v.kind is not null) as refs,
			jsonb_agg(` + account.NameRefSQL("a") + ` order by ` + page.TextSQL("a.name") + `, a.id) filter (where a.id is not null) as named
		from (
			select n.account_id, null::uuid as fee_id, n.position, n.operator, n.cent_value, null as kind, null as name
			from fee_condition n where n.team_id = f.team_id and n.fee_id = f.id
			union all select m.target_account_id, m.target_fee_id, null::int, null::text, null::bigint, m.kind, m.name
			from fee_reference m where m.team_id = f.team_id and m.fee_id = f.id) v
		left join fee g on g.team_id = f.team_id and g.id = v.fee_id
		left join account a on a.team_id = f.team_id and a.id = v.account_id) terms`

var periodColumns = periodTable.ColumnsSQL("p") + `,
	jsonb_build_object('id', f.id, 'name', f.name, 'type', f.type, 'rateType', f.rate_type, 'defaultRate', f.default_rate) as recurring_fee`

const periodTables = `fee_listing_period p join fee f on f.team_id = p.team_id and f.id = p.fee_id`

// loadFee loads a fee without its listing periods, or fails with apierr.NotFound.
func loadFee(ctx context.Context, tx *db.Tx, feeID id.ID) (Fee, error) {
	f, err := db.One[Fee](ctx, tx, apierr.NotFound, `select `+feeColumns+` from `+feeTables+` where f.team_id = @team and f.id = @id`, db.Args{"team": tx.Team, "id": feeID})
	f.useCurrentNames()

	return f, err
}

// Active loads a fee that is in use. It fails with NOT_FOUND for one that is archived or does not exist.
func Active(ctx context.Context, tx *db.Tx, feeID id.ID) (*Fee, error) {
	f, err := loadFee(ctx, tx, feeID)

	// To callers an archived fee looks like none.
	if err == nil && f.Status != active {
		err = apierr.NotFound
	}

	return &f, err
}

// loadPeriod loads a listing period, or fails with apierr.NotFound.
func loadPeriod(ctx context.Context, tx *db.Tx, periodID id.ID) (Period, error) {
	p, err := db.One[Period](ctx, tx, apierr.NotFound, `select `+periodColumns+` from `+periodTables+` where p.team_id = @team and p.id = @id`,
		db.Args{"team": tx.Team, "id": periodID})

	return p, err
}

// loadPeriods loads the listing periods of a fee.
func loadPeriods(ctx context.Context, tx *db.Tx, feeID id.ID) ([]Period, error) {
	return db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+`
		where p.team_id = @team and p.fee_id = @fee order by p.listing_id, p.start_at nulls first, p.id`, db.Args{"team": tx.Team, "fee": feeID})
}

// loadTruncatable loads the open period of the fee on the listing, at most one, that started before p and can end where
// p starts.
func loadTruncatable(ctx context.Context, tx *db.Tx, p *Period) ([]Period, error) {
	return db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+`
		where p.team_id = @team and p.fee_id = @fee and p.listing_id = @listing and p.id <> @id
			and p.end_at is null and (p.start_at is null or p.start_at < @start)
			and @start::date is not null`, db.Args{"team": tx.Team, "fee": p.FeeID, "listing": p.ListingID, "id": p.ID, "start": p.StartAt})
}

// parsedFee is a fee with its formula, which is parsed once for all subscriptions.
type parsedFee struct {
	fee     Fee
	formula Formula
}

// activeFees keeps the active fees of teams by their ids, without their listing periods.
var activeFees = db.NewReference(readActive)

// readActive reads the active fees of the team, and the version that they have, in one statement. A team without fees
// has no version here, and is not kept.
func readActive(ctx context.Context, tx *db.Tx) (map[id.ID]parsedFee, int64, error) {
	type row struct {
		Fee
		ReferenceVersion int64
	}

	rows, err := db.Select[row](ctx, tx, `select `+feeColumns+`, `+db.VersionSQL+` as reference_version from `+feeTables+` where f.team_id = @team and f.status = 'active'`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, 0, fmt.Errorf("read the fees of a team: %w", err)
	}

	out, version := make(map[id.ID]parsedFee, len(rows)), int64(0)

	for i := range rows {
		formula, err := rows[i].parse()
		if err != nil {
			return nil, 0, fmt.Errorf("formula of recurring fee %s: %w", rows[i].ID, err)
		}

		out[rows[i].ID], version = parsedFee{rows[i].Fee, formula}, rows[i].ReferenceVersion
	}

	return out, version, nil
}

// ListSubscriptions loads the active fees of listings with their listing periods, by listing, in the order in which the
// fees were made. A member of a group has those of the group on the days that no period of its own, of fees or of
// owners, covers.
func ListSubscriptions(ctx context.Context, tx *db.Tx, listingIDs []id.ID) (map[id.ID][]Subscription, error) {
	rows, err := loadCharged(ctx, tx, listingIDs)
	if err != nil || len(rows) == 0 {
		return map[id.ID][]Subscription{}, err
	}

	fees, err := activeFees.Load(ctx, tx)
	if err != nil {
		return nil, err
	}

	out := map[id.ID][]Subscription{}

	for i := range rows {
		f, isActive := fees[rows[i].FeeID]
		if !isActive {
			continue // archived between the two reads
		}

		// The rate's amounts are in the currency of the listing.
		s := subscription(f.fee, f.formula, rows[i].Period)
		s.Currency = rows[i].ListingCurrency
		out[rows[i].ForListing] = append(out[rows[i].ForListing], s)
	}

	return out, nil
}

// loadLineTypes loads the line types that the team maps.
func loadLineTypes(ctx context.Context, tx *db.Tx) ([]string, error) {
	return db.Select[string](ctx, tx, `select distinct line_type from reservation_line_mapping where team_id = @team`, db.Args{"team": tx.Team})
}

// feeStatements returns the statements that save a fee with its conditions and the references of its formula. The
// first one writes the fee itself.
func feeStatements(tx *db.Tx, f *Fee) []db.Stmt {
	args := db.Args{"team": tx.Team, "fee": f.ID}

	// The formula is stored as it was written, not with the names that its references have now.
	row := *f
	row.Formula = f.Stored

	// Conditions and references are replaced as a whole.
	return []db.Stmt{
		feeTable.Upsert(tx, &row),
		{SQL: `delete from fee_condition where team_id = @team and fee_id = @fee`, Args: args},
		{SQL: `delete from fee_reference where team_id = @team and fee_id = @fee`, Args: args},
		{
			SQL: `insert into fee_condition (team_id, fee_id, position, account_id, operator, cent_value)
				select @team, @fee, x.position, (x.condition->>'accountId')::uuid, x.condition->>'operator', (x.condition->>'centValue')::bigint
				from jsonb_array_elements(@conditions) with ordinality as x (condition, position)`,
			Args: db.Args{"team": tx.Team, "fee": f.ID, "conditions": list(f.AccountTotalConditions)},
		},
		{
			SQL: `insert into fee_reference (team_id, fee_id, kind, name, target_fee_id, target_account_id)
				select @team, @fee, x.kind, x.name, case x.kind when 'fee' then x.id end, case x.kind when 'account' then x.id end
				from jsonb_to_recordset(@references) as x (kind text, name text, id uuid)`,
			Args: db.Args{"team": tx.Team, "fee": f.ID, "references": list(f.References)},
		},
	}
}

// list returns the values, an empty list for nil, so that JSON shows [] and not null.
func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}

	return values
}

// notePeriod writes the audit event of a listing period.
func notePeriod(tx *db.Tx, what audit.Type, before, after *Period) {
	type view struct {
		*Period
		RecurringFee *struct{} `json:"recurringFee,omitempty"` // the fee as it is now, which has events of its own
	}

	var was, now any

	either := after
	if before != nil {
		was, either = view{Period: before}, before
	}

	if after != nil {
		now = view{Period: after}
	}

	audit.Note(
		tx, what, audit.RecurringPeriod, either.ID, was, now,
		audit.Ref(audit.RoleParent, audit.RecurringFee, either.FeeID),
		audit.Ref(audit.RoleListing, audit.Listing, either.ListingID),
	)
}

// SubscribeToAll charges a new listing every fee in use, since its inception.
func SubscribeToAll(ctx context.Context, tx *db.Tx, listing id.ID) error {
	fees, err := db.Select[id.ID](ctx, tx, `select id from fee where team_id = @team and status = 'active' order by id`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read the recurring fees in use: %w", err)
	}

	if len(fees) == 0 {
		return nil
	}

	// Without dates a period is open on both sides.
	periods := make([]*Period, len(fees))
	for i, fee := range fees {
		periods[i] = &Period{
			ID:        tx.NewID(),
			FeeID:     fee,
			ListingID: listing,
			CreatedAt: day.At(tx.Now),
			UpdatedAt: day.At(tx.Now),
		}
		notePeriod(tx, audit.Created, nil, periods[i])
	}

	if err := tx.Pipeline(ctx, periodTable.Insert(tx, periods...)); err != nil {
		return fmt.Errorf("subscribe a listing to the recurring fees: %w", err)
	}

	return nil
}

// deletePeriodsSQL returns the statement that deletes all listing periods of a fee.
func deletePeriodsSQL(tx *db.Tx, feeID id.ID) db.Stmt {
	return db.Stmt{SQL: `delete from fee_listing_period where team_id = @team and fee_id = @fee`, Args: db.Args{"team": tx.Team, "fee": feeID}}
}

// deletePeriod deletes a listing period.
func deletePeriod(ctx context.Context, tx *db.Tx, periodID id.ID) error {
	_, err := tx.Exec(ctx, `delete from fee_listing_period where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": periodID})
	return err
}

// mapping is an account that lines of a type are posted on.
type mapping struct {
	LineType    string
	AccountID   id.ID
	AccountName string
	AppID       *string
	Channel     *string
}

const (
	mappingTables = `reservation_line_mapping m join account a on a.team_id = m.team_id and a.id = m.account_id where m.team_id = @team and m.status = 'mapped'`
	mappingOrder  = ` order by m.line_type, m.app_id nulls first, m.channel nulls first, a.id`
)

// loadMappings loads the accounts that line types are mapped to.
func loadMappings(ctx context.Context, tx *db.Tx) ([]mapping, error) {
	return db.Select[mapping](ctx, tx, `select m.line_type, a.id as account_id, a.name as account_name, m.app_id, m.channel from `+mappingTables+mappingOrder,
		db.Args{"team": tx.Team})
}

// wholeFee is a fee with its listing periods and the mappings that its formula may name, as one statement reads them.
type wholeFee struct {
	Fee

	Periods []Period
	Mapped  []mapping
}

// Only a quoted name can be spelled otherwise in the formula than in its mapping: with backslashes.
var wholeColumns = feeColumns + `,
	(select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'recurringFeeId', f.id, 'listingId', p.listing_id, 'startAt', p.start_at, 'endAt', p.end_at,
			'rate', p.rate, 'createdAt', p.created_at, 'updatedAt', p.updated_at) order by p.listing_id, p.start_at nulls first, p.id), '[]')
		from fee_listing_period p where p.team_id = f.team_id and p.fee_id = f.id) as periods,
	(select coalesce(jsonb_agg(jsonb_build_object('lineType', m.line_type, 'accountId', a.id, 'accountName', a.name, 'appId', m.app_id,
			'channel', m.channel)` + mappingOrder + `), '[]')
		from ` + mappingTables + ` and (f.formula like '%"%' or position(m.line_type in f.formula) > 0)) as mapped`

// loadWhole loads a fee with its listing periods and mappings, or fails with apierr.NotFound.
func loadWhole(ctx context.Context, tx *db.Tx, feeID id.ID) (wholeFee, error) {
	f, err := db.One[wholeFee](ctx, tx, apierr.NotFound, `select `+wholeColumns+` from `+feeTables+` where f.team_id = @team and f.id = @id`,
		db.Args{"team": tx.Team, "id": feeID})
	f.useCurrentNames()

	// All periods show the same fee.
	for i := range f.Periods {
		f.Periods[i].RecurringFee = Summary{f.ID, f.Name, f.Type, f.RateType, f.DefaultRate}
	}

	return f, err
}

// constraintError translates a broken constraint into the error that the caller gets; other errors stay as they are.
func constraintError(err error) error {
	switch db.Constraint(err) {
	case "fee_name":
		return errDuplicateName.Because(err)
	case "fee_unique_ref":
		return errDuplicateUniqueRef.Because(err)
	case "fee_listing_period_overlap":
		return errPeriodOverlap
	case "fee_listing_period_order":
		return errPeriodOrder
	default:
		return err
	}
}
