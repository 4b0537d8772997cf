package reservation

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/fee"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

const columns = `r.id, r.short_ref, r.unique_ref, r.listing_id, r.status, r.general_ledger_status, r.guest_name, r.booker_name, r.guests,
	r.confirmation_code, r.pms_reference_code, r.check_in, r.check_out, r.booked_at, r.cancelled_at, r.booking_platform,
	r.general_ledger_posting_at, r.currency, r.userdata, r.metadata, r.created_at, r.updated_at,
	jsonb_build_object('id', l.id, 'name', l.name, 'uniqueRef', l.unique_ref, 'shortRef', l.short_ref) as listing`

const tables = `reservation r join listing l on l.team_id = r.team_id and l.id = r.listing_id`

func get(ctx context.Context, tx *db.Tx, reservationID id.ID, suffix string) (*Reservation, error) {
	r, err := db.Get[Reservation](ctx, tx, `select `+columns+` from `+tables+` where r.team_id = @team and r.id = @id`+suffix,
		db.Args{"team": tx.Team, "id": reservationID})
	if errors.Is(err, db.ErrNoRows) {
		return nil, apierr.NotFound
	}
	return &r, err
}

// lockForChange makes a second change of the same reservation wait for the first.
const lockForChange = " for update of r"

// hold keeps what the journals of reservations depend on as it is until the transaction ends: the team's settings, and the ownership and
// fees of the listings, whose changes lock the listing. Call it before locking the reservations and before reading anything that is
// derived from: a change that commits first is then seen, and one that commits later derives what this transaction wrote. Derivations do
// not keep each other waiting.
func hold(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `select from team where team_id = @team for share`, Args: db.Args{"team": tx.Team}},
		db.Stmt{
			SQL: `select from listing where team_id = @team and id in (
				select listing_id from reservation where team_id = @team and id = any(@ids)) order by id for key share`,
			Args: db.Args{"team": tx.Team, "ids": ids},
		})
	if err != nil {
		return fmt.Errorf("hold the terms of reservations: %w", err)
	}
	return nil
}

// lockAll reads and locks reservations in the order of their ids, so that two refreshes cannot wait for each other.
func lockAll(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Reservation, error) {
	found, err := db.Select[Reservation](ctx, tx, `select `+columns+` from `+tables+`
		where r.team_id = @team and r.id = any(@ids) order by r.id`+lockForChange, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("lock reservations: %w", err)
	}
	return found, nil
}

// ofListings are the reservations of listings, of the whole team for nil.
func ofListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) ([]id.ID, error) {
	if listingIDs == nil {
		return db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team order by id`, db.Args{"team": tx.Team})
	}
	return db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and listing_id = any(@listings) order by id`,
		db.Args{"team": tx.Team, "listings": listingIDs})
}

// linesOf are the lines of reservations in their order. Classification is that of the account a line names.
func linesOf(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]Line, error) {
	rows, err := db.Select[Line](ctx, tx, `
		select l.id, l.reservation_id, l.unique_ref, l.type, l.description, l.amount, l.account_id, coalesce(c.classification, '') as classification
		from reservation_line l
		left join account a on a.team_id = l.team_id and a.id = l.account_id
		left join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where l.team_id = @team and l.reservation_id = any(@ids) order by l.reservation_id, l.position`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read reservation lines: %w", err)
	}
	out := make(map[id.ID][]Line, len(ids))
	for i := range rows {
		out[rows[i].ReservationID] = append(out[rows[i].ReservationID], rows[i])
	}
	return out, nil
}

// deposits is what the active deposits of a reservation brought in and what they cost, all positive.
type deposits struct {
	ReservationID id.ID
	Paid          money.Cents
	MerchantFee   money.Cents
	ChannelFee    money.Cents
}

// guestMoney holds for the lines l of active deposits t that settle what a guest owes.
const guestMoney = `t.type = 'deposit' and (l.assignment in ('accountsReceivable', 'deposit_coHostPayout') or l.account_id in (
		select g.account_id from account_assignment g where g.team_id = @team and g.assignment in ('accountsReceivable', 'deposit_coHostPayout')))`

// totalExpr is what the guest of reservation r owes in all, paidExpr what deposits brought in for it.
const (
	totalExpr = `(case when r.status = 'booked' then coalesce((select sum(l.amount) from reservation_line l
		where l.team_id = @team and l.reservation_id = r.id), 0) else 0 end)`
	paidExpr = `coalesce((select sum(l.amount) from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active'
		where l.team_id = @team and l.reservation_id = r.id and ` + guestMoney + `), 0)`
)

func depositsOf(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]deposits, error) {
	rows, err := db.Select[deposits](ctx, tx, `
		select l.reservation_id,
			coalesce(sum(l.amount) filter (where `+guestMoney+`), 0)::bigint as paid,
			coalesce(-sum(l.amount) filter (where l.assignment = 'deposit_merchantFee'), 0)::bigint as merchant_fee,
			coalesce(-sum(l.amount) filter (where l.assignment = 'deposit_channelFee'), 0)::bigint as channel_fee
		from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active'
		where l.team_id = @team and l.reservation_id = any(@ids)
		group by l.reservation_id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read deposits of reservations: %w", err)
	}
	out := make(map[id.ID]deposits, len(rows))
	for _, d := range rows {
		out[d.ReservationID] = d
	}
	return out, nil
}

// settings are the team's part in every journal.
type settings struct {
	DefaultRevenueRecognition fee.Recognition
	LongTermStayNights        *int64
	Mappings                  map[string]Mapping
}

func settingsOf(ctx context.Context, tx *db.Tx) (settings, error) {
	s, err := db.Get[settings](ctx, tx, `
		select t.default_revenue_recognition, t.long_term_stay_nights, coalesce((
			select jsonb_object_agg(m.line_type, jsonb_build_object('accountId', m.account_id, 'party', coalesce(m.party, '')))
			from reservation_line_mapping m where m.team_id = @team), '{}') as mappings
		from team t where t.id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return settings{}, fmt.Errorf("read team settings: %w", err)
	}
	return s, nil
}

// currencyOf is the default currency of a listing of the team, or db.ErrNoRows.
func currencyOf(ctx context.Context, tx *db.Tx, listingID id.ID) (string, error) {
	return db.Get[string](ctx, tx, `select default_currency from listing where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": listingID})
}

const upsert = `
	insert into reservation (team_id, id, short_ref, unique_ref, listing_id, status, general_ledger_status, guest_name, booker_name, guests, confirmation_code,
		pms_reference_code, check_in, check_out, booked_at, cancelled_at, booking_platform, general_ledger_posting_at, currency, userdata, metadata,
		created_at, updated_at)
	values (@team, @id, @short_ref, @unique_ref, @listing_id, @status, @general_ledger_status, @guest_name, @booker_name, @guests, @confirmation_code,
		@pms_reference_code, @check_in, @check_out, @booked_at, @cancelled_at, @booking_platform, @general_ledger_posting_at, @currency, @userdata, @metadata,
		@created_at, @updated_at)
	on conflict (team_id, id) do update set unique_ref = excluded.unique_ref, listing_id = excluded.listing_id, status = excluded.status,
		general_ledger_status = excluded.general_ledger_status, guest_name = excluded.guest_name, booker_name = excluded.booker_name,
		guests = excluded.guests, confirmation_code = excluded.confirmation_code, pms_reference_code = excluded.pms_reference_code,
		check_in = excluded.check_in, check_out = excluded.check_out, booked_at = excluded.booked_at, cancelled_at = excluded.cancelled_at,
		booking_platform = excluded.booking_platform, general_ledger_posting_at = excluded.general_ledger_posting_at, currency = excluded.currency,
		userdata = excluded.userdata, metadata = excluded.metadata, updated_at = excluded.updated_at`

func upsertStatement(tx *db.Tx, r *Reservation) db.Stmt {
	return db.Stmt{SQL: upsert, Args: db.Args{
		"team": tx.Team, "id": r.ID, "short_ref": r.ShortRef, "unique_ref": r.UniqueRef, "listing_id": r.ListingID, "status": string(r.Status),
		"general_ledger_status": string(r.GeneralLedgerStatus), "guest_name": r.GuestName, "booker_name": r.BookerName, "guests": r.Guests,
		"confirmation_code": r.ConfirmationCode, "pms_reference_code": r.PMSReferenceCode, "check_in": r.CheckIn, "check_out": r.CheckOut,
		"booked_at": r.BookedAt, "cancelled_at": r.CancelledAt, "booking_platform": r.BookingPlatform, "general_ledger_posting_at": r.GeneralLedgerPostingAt,
		"currency": r.Currency, "userdata": r.Userdata, "metadata": r.Metadata, "created_at": r.CreatedAt, "updated_at": r.UpdatedAt,
	}}
}

// replaceLines makes the lines of a reservation the given ones.
func replaceLines(tx *db.Tx, reservationID id.ID, lines []Line) []db.Stmt {
	stmts := []db.Stmt{{
		SQL:  `delete from reservation_line where team_id = @team and reservation_id = @reservation`,
		Args: db.Args{"team": tx.Team, "reservation": reservationID},
	}}
	if len(lines) == 0 {
		return stmts
	}
	n := len(lines)
	ids, refs, types, descriptions := make([]id.ID, n), make([]*string, n), make([]string, n), make([]*string, n)
	amounts, accounts := make([]int64, n), make([]*id.ID, n)
	for i := range lines {
		l := &lines[i]
		ids[i], refs[i], types[i], descriptions[i], amounts[i], accounts[i] = tx.NewID(), l.UniqueRef, l.Type, l.Description, int64(l.Amount), l.AccountID
	}
	return append(stmts, db.Stmt{
		SQL: `insert into reservation_line (team_id, id, reservation_id, position, unique_ref, type, description, amount, account_id)
			select @team, l.id, @reservation, l.position, l.unique_ref, l.type, l.description, l.amount, l.account_id
			from unnest(@ids::uuid[], @refs::text[], @types::text[], @descriptions::text[], @amounts::bigint[], @accounts::uuid[])
				with ordinality as l (id, unique_ref, type, description, amount, account_id, position)`,
		Args: db.Args{
			"team": tx.Team, "reservation": reservationID, "ids": ids, "refs": refs, "types": types, "descriptions": descriptions,
			"amounts": amounts, "accounts": accounts,
		},
	})
}

func refused(err error) error {
	if db.Constraint(err) == "reservation_unique_ref" {
		return errDuplicateUniqueRef
	}
	return err
}
