package reservation

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// reservationTable has the columns of a reservation.
var reservationTable = db.NewTable[Reservation]("reservation", `
	id uuid key, short_ref text fixed, unique_ref text, app_id text, source_id text, connection_id uuid, listing_id uuid, type text, status text,
	general_ledger_status text, guest_name text, booker_name text, guests int, confirmation_code text, pms_reference_code text, check_in date,
	check_out date, booked_at date, cancelled_at date, cancelled_at_is_assumed boolean, booking_platform text, general_ledger_posting_at date,
	currency text, expected_payout bigint, expected_channel_fee bigint, expected_processing_fee bigint, userdata jsonb, metadata jsonb,
	created_at timestamptz fixed, updated_at timestamptz`).
	// A reservation that counts again forgets the status that it had before it was retired.
	Merge("retired_status", "case when excluded.status = 'inactive' then reservation.retired_status end")

// lineTable has the columns of a line of a reservation.
var lineTable = db.NewTable[lineRow]("reservation_line", `
	id uuid, reservation_id uuid, position int, unique_ref text, type text, description text, amount bigint, account_id uuid`)

// lineRow is a line with its place among the lines of its reservation, from 1.
type lineRow struct {
	Line
	Position int64
}

var columns = reservationTable.ColumnsSQL("r") + ", " + listing.RefSQL("l") + " as listing"

const tables = `reservation r join listing l on l.team_id = r.team_id and l.id = r.listing_id`

// lockReservations makes changes and derivations of the same reservations take turns, and keeps their listings from
// being deleted or deactivated, until the transaction ends. Everything else that journals depend on changes under the
// team's gate. Reservations are locked in the order of their ids, so that two transactions cannot wait for each other
// in a ring.
//
// The rows are read afterwards, in a statement of its own: one that locked and read at once would, after waiting
// for a reservation to be moved, join it with the listing that it has left and find nothing.
func lockReservations(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	args := db.Args{"team": tx.Team, "ids": ids}

	// Listings first: a share lock is enough, because it only has to keep deletion and deactivation out.
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `select from listing where team_id = @team and id = any(array(
				select r.listing_id from unnest(@ids::uuid[]) g (id) cross join lateral (
					select listing_id from reservation where team_id = @team and id = g.id` + db.Fence + `) r)) order by id for key share`,
			Args: args,
		},

		// Reservations get the lock of an update that leaves the key alone: rows only referring to them need not wait.
		// Paired reservations of a former system, which follow, are locked too.
		db.Stmt{
			SQL: `select from reservation where team_id = @team and id = any(array(
				select unnest(@ids::uuid[]) union all select source_id from reservation_pair where team_id = @team and target_id = any(@ids)))
				order by id for no key update`,
			Args: args,
		})
	if err != nil {
		return fmt.Errorf("hold reservations: %w", err)
	}

	return nil
}

// lockAndLoad locks reservations and loads them in the order of their ids.
func lockAndLoad(ctx context.Context, tx *db.Tx, ids []id.ID) (found []Reservation, err error) {
	take := func(ctx context.Context, tx *db.Tx) error { return lockReservations(ctx, tx, ids) }
	err = tx.Together(ctx, take, db.LoadBy(&found, loadReservations, ids))

	return found, err
}

// loadReservations loads reservations in the order of their ids.
func loadReservations(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Reservation, error) {
	found, err := db.Select[Reservation](ctx, tx, `select `+columns+` from `+tables+`
		where r.team_id = @team and r.id = any(@ids) order by r.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read reservations: %w", err)
	}

	return found, nil
}

// lockNamed locks reservations by their ids or uniqueRefs and returns their ids.
func lockNamed(ctx context.Context, tx *db.Tx, ids []id.ID, refs []string) ([]id.ID, error) {
	named, err := db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and (id = any(@ids::uuid[]) or unique_ref = any(@refs::text[]))`,
		db.Args{"team": tx.Team, "ids": ids, "refs": refs})
	if err != nil {
		return nil, fmt.Errorf("find reservations: %w", err)
	}

	return named, lockReservations(ctx, tx, named)
}

// loadIDsByListing loads the ids of the reservations of listings, none for nil.
func loadIDsByListing(ctx context.Context, tx *db.Tx, listingIDs []id.ID) ([]id.ID, error) {
	if listingIDs == nil {
		return nil, nil
	}

	return db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and listing_id = any(@listings)`,
		db.Args{"team": tx.Team, "listings": listingIDs})
}

// loadIDsByConnection loads the ids of the reservations that came over a connection.
func loadIDsByConnection(ctx context.Context, tx *db.Tx, connection id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and connection_id = @connection order by id`,
		db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return nil, fmt.Errorf("find the reservations of a connection: %w", err)
	}

	return found, nil
}

// loadUnlinkedTransactions loads the active transactions with a line that is not linked and names one of these
// confirmation codes or guests. Empty texts name nothing.
func loadUnlinkedTransactions(ctx context.Context, tx *db.Tx, codes, guests []string) ([]id.ID, error) {
	named := func(text string) bool { return text != "" }
	if !slices.ContainsFunc(codes, named) && !slices.ContainsFunc(guests, named) {
		return nil, nil
	}

	// A line that names both ways must match by either; the union lets each half use its own index.
	found, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and t.status = 'active' and t.id in (
			select l.transaction_id from transaction_line l
			where l.team_id = @team and l.reservation_id is null
				and l.match_code_key = any(array(select stayledger_plain(c) from unnest(@codes::text[]) c))
			union all
			select l.transaction_id from transaction_line l
			where l.team_id = @team and l.reservation_id is null and l.match_stripe_guest_ref = any(@guests) and l.match_stripe_guest_ref <> '')
		order by t.id`, db.Args{"team": tx.Team, "codes": codes, "guests": guests})
	if err != nil {
		return nil, fmt.Errorf("find transactions that wait for reservations: %w", err)
	}

	return found, nil
}

// loadNaming loads the active transactions with a line that is linked to one of these reservations and names it by a
// confirmation code or guest: another reservation may have the same.
func loadNaming(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select distinct t.id from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active'
		where l.team_id = @team and l.reservation_id = any(@ids) and (l.match_confirmation_code is not null or l.match_stripe_guest_ref is not null)
		order by t.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find transactions that name reservations: %w", err)
	}

	return found, nil
}

// loadFollowers loads the transactions with a line that has its listing from one of these reservations. Archived ones
// count too: otherwise they would return to the former listing when they are brought back.
func loadFollowers(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select distinct transaction_id from transaction_line where team_id = @team and reservation_id = any(@ids) and follows_reservation
		order by transaction_id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find transactions that follow reservations: %w", err)
	}

	return found, nil
}

// loadLines loads the lines of reservations in their order, by reservation. Classification comes from the account that
// a line names.
func loadLines(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]Line, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	rows, err := db.Select[Line](ctx, tx, `
		select l.id, l.reservation_id, l.unique_ref, l.type, l.description, l.amount, l.account_id, coalesce(c.classification, '') as classification
		from reservation_line l
		left join account a on a.team_id = l.team_id and a.id = l.account_id
		left join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where l.team_id = @team and l.reservation_id = any(@ids) order by l.reservation_id, l.position`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read reservation lines: %w", err)
	}

	// The rows are in the order of their positions, so each reservation gets its lines in order.
	out := make(map[id.ID][]Line, len(ids))
	for i := range rows {
		out[rows[i].ReservationID] = append(out[rows[i].ReservationID], rows[i])
	}

	return out, nil
}

// deposits are the sums that the active deposits of a reservation brought in and cost, all positive.
type deposits struct {
	Paid, MerchantFee, ChannelFee money.Cents
}

// guestMoney is the SQL condition on the lines l of active deposits t that settle what a guest owes.
var guestMoney = `t.type = 'deposit' and ` + account.ActingSQL("l", account.AccountsReceivable, account.DepositCoHostPayout)

// depositCost is the SQL of the assignment that a line l of a deposit acts as when channel or processor kept its
// amount, else null.
var depositCost = account.ActingPartSQL("l", account.DepositChannelFee, account.DepositMerchantFee)

// moneyTables join, once for all reservations r, the sums that guests owe for lines and for adjustments, by the
// same rules as settle, and the sum that deposits brought in. An absent row means none. The sums of the kinds of
// lines add up to amount. Excluded line types are looked up only if the team has any.
var moneyTables = `
	left join (
		select l.reservation_id, sum(l.amount) as amount,
			sum(l.amount) filter (where l.type = 'rent') as rent, sum(l.amount) filter (where l.type = 'cleaningFee') as cleaning_fee,
			sum(l.amount) filter (where l.type = 'guestFee') as guest_fee, sum(l.amount) filter (where l.type = 'tax') as tax,
			sum(l.amount) filter (where l.type = 'discount') as discount,
			sum(l.amount) filter (where l.type not in ('rent', 'cleaningFee', 'guestFee', 'tax', 'discount')) as other
		from reservation_line l join reservation s on s.team_id = l.team_id and s.id = l.reservation_id
			and ` + mapping.CountsSQL("s.status", "l.type") + `
		where l.team_id = @team and not (
			(select exists (select from reservation_line_mapping x where x.team_id = @team and x.status = 'excluded')) and coalesce((
				select m.status = 'excluded' from reservation_line_mapping m
				where m.team_id = @team and m.line_type = l.type and m.status <> 'unmapped' and (m.app_id is null or m.app_id = s.app_id)
					and (m.channel is null or m.channel = s.booking_platform)
				order by m.app_id is not null desc, m.channel is not null desc limit 1), false))
		group by l.reservation_id) stated on stated.reservation_id = r.id
	left join (
		select a.reservation_id, sum(a.amount) as amount from reservation_adjustment a where a.team_id = @team and a.type = 'financial'
		group by a.reservation_id) adjusted on adjusted.reservation_id = r.id and r.status <> 'inactive'
	left join (
		select l.reservation_id, sum(l.amount) as amount from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active'
		where l.team_id = @team and l.reservation_id is not null and ` + guestMoney + `
		group by l.reservation_id) received on received.reservation_id = r.id
	cross join lateral (
		select coalesce(stated.amount, 0) + coalesce(adjusted.amount, 0) as expected, coalesce(received.amount, 0) as received) f
	cross join lateral (
		select case when f.received = f.expected then 'paid' when f.received > f.expected then 'overpaid'
			when f.received = 0 then 'unpaid' else 'underpaid' end as status) payment`

// depositRows are the lines of a reservation's active deposits, as the columns of depositColumns.
type depositRows struct {
	DepositAccounts    []id.ID
	DepositAssignments []*account.Assignment
	DepositAmounts     []money.Cents
}

// depositColumns are the lines of the active deposits of a reservation r, in a statement that joins depositTables.
const (
	depositColumns = `paid.deposit_accounts, paid.deposit_assignments, paid.deposit_amounts`
	depositTables  = ` cross join lateral (
		select array_agg(l.account_id) as deposit_accounts, array_agg(l.assignment) as deposit_assignments, array_agg(l.amount) as deposit_amounts
		from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active' and t.type = 'deposit'
		where l.team_id = @team and l.reservation_id = r.id) paid`
)

// sum returns what the deposits brought in and cost. Costs are negative lines of a deposit, hence the minus signs.
func (d *depositRows) sum(books *account.Books) (out deposits) {
	for i, cents := range d.DepositAmounts {
		of, booked := d.DepositAccounts[i], d.DepositAssignments[i]
		if books.Part(of, booked, account.AccountsReceivable, account.DepositCoHostPayout) != "" {
			out.Paid += cents
		}

		part := books.Part(of, booked, account.DepositChannelFee, account.DepositMerchantFee)
		if part == account.DepositChannelFee {
			out.ChannelFee -= cents
		}

		if part == account.DepositMerchantFee {
			out.MerchantFee -= cents
		}
	}

	return out
}

// loadDeposits loads the deposits of reservations, by reservation, and which of them have adjustments.
func loadDeposits(ctx context.Context, tx *db.Tx, ids []id.ID) (out map[id.ID]deposits, adjusted []id.ID, err error) {
	type row struct {
		ID id.ID
		depositRows

		IsAdjusted bool
	}

	var (
		books *account.Books
		rows  []row
	)

	err = tx.Together(ctx, db.Load(&books, account.LoadBooks), func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[row](ctx, tx, `select r.id, `+depositColumns+`, `+isAdjusted+` from unnest(@ids::uuid[]) as r (id)`+depositTables,
			db.Args{"team": tx.Team, "ids": ids})

		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read deposits of reservations: %w", err)
	}

	out = make(map[id.ID]deposits, len(rows))
	for i := range rows {
		out[rows[i].ID] = rows[i].sum(books)
		if rows[i].IsAdjusted {
			adjusted = append(adjusted, rows[i].ID)
		}
	}

	return out, adjusted, nil
}

// settings are the team's settings that every journal depends on. They are shared and must not be changed.
type settings struct {
	DefaultRevenueRecognition fee.Recognition
	LongTermStayNights        *int64
	// NoLedger says that the team keeps no general ledger.
	NoLedger bool
	// FirstDay is the first day of the books, nil for none.
	FirstDay *day.Day
	// Windows are the accounting windows of the connections that have one.
	Windows map[id.ID]Window
	// mappings are where line types are posted.
	mappings mapping.Set
}

// keptSettings keeps the settings of teams.
var keptSettings = db.NewReference(readSettings)

// loadSettings loads the team's settings and its mappings of line types.
func loadSettings(ctx context.Context, tx *db.Tx) (*settings, error) {
	return keptSettings.Load(ctx, tx)
}

// readSettings reads the settings, and the version that they have, in one statement.
func readSettings(ctx context.Context, tx *db.Tx) (*settings, int64, error) {
	type row struct {
		settings

		Mappings         []mapping.Mapping
		ReferenceVersion int64
	}

	// The mappings travel as one JSON array. Until the statements of a team that moved here are imported, its books
	// begin on the requested day.
	r, err := db.Get[row](ctx, tx, `
		select t.default_revenue_recognition, t.long_term_stay_nights, not t.is_general_ledger as no_ledger, t.reference_version,
			coalesce(t.statement_start_at, (select g.gl_start_at from migration g where g.team_id = @team)) as first_day, coalesce((
			select jsonb_agg(jsonb_build_object('appId', m.app_id, 'lineType', m.line_type, 'channel', m.channel, 'status', m.status,
				'accountId', m.account_id, 'party', m.party, 'revenueRecognition', m.revenue_recognition))
			from reservation_line_mapping m where m.team_id = @team), '[]') as mappings, coalesce((
			select jsonb_object_agg(c.id, jsonb_build_object('startAt', c.accounting_start_at, 'endAt', c.accounting_end_at, 'closed', c.is_outside_books))
			from connection c where c.team_id = @team and (c.accounting_start_at is not null or c.accounting_end_at is not null or c.is_outside_books)), '{}') as windows
		from team t where t.id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, 0, fmt.Errorf("read team settings: %w", err)
	}

	r.mappings = mapping.NewSet(r.Mappings)

	return &r.settings, r.ReferenceVersion, nil
}

// namedListing is a listing that a reservation is on or moves to.
type namedListing struct {
	listing.Ref

	DefaultCurrency string
	// Zone is the time zone of the listing, or else of the team.
	Zone day.Zone
	// MergedIntoID is the listing that this listing was merged into, nil for none and for a listing made active again.
	MergedIntoID *id.ID
}

// followMerged moves drafts on a merged listing to the listing it was merged into, and returns true if there are any:
// whoever names the former listing may not have seen the merge yet.
func (k *saveContext) followMerged(drafts []*draft) (found bool) {
	for _, d := range drafts {
		if into := k.listings[d.ListingID].MergedIntoID; into != nil &&
			(d.before == nil || d.before.ListingID != d.ListingID) {
			d.ListingID, found = *into, true
		}
	}

	return found
}

// lockListings keeps listings from being deleted or deactivated until the transaction ends, and loads them. A
// listing that the team does not have is absent.
func lockListings(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]namedListing, error) {
	rows, err := db.Select[namedListing](ctx, tx, `
		select id, name, unique_ref, short_ref, default_currency, coalesce(time_zone, @zone) as zone, case when status = 'inactive' then merged_into_id end as merged_into_id from listing where team_id = @team and id = any(@ids) order by id for key share`,
		db.Args{"team": tx.Team, "ids": ids, "zone": string(tx.Zone)})
	if err != nil {
		return nil, fmt.Errorf("read the listings of reservations: %w", err)
	}

	out := make(map[id.ID]namedListing, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}

	return out, nil
}

// loadCurrencyConflicts returns the reservations that a record in another currency names; currencies has the wanted
// currency of each reservation, in the same order. Each reservation is locked first, so that no new record can name it
// until the change is committed.
func loadCurrencyConflicts(ctx context.Context, tx *db.Tx, ids []id.ID, currencies []string) (map[id.ID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	if _, err := tx.Exec(ctx, `select from reservation where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": ids}); err != nil {
		return nil, fmt.Errorf("lock reservations: %w", err)
	}

	// Transactions, manual journals and historical entries can name a reservation.
	found, err := db.Select[id.ID](ctx, tx, `
		select w.id from unnest(@ids::uuid[], @currencies::text[]) w (id, currency) where exists (
				select from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id
				where l.team_id = @team and l.reservation_id = w.id and t.status = 'active' and t.currency <> w.currency)
			or exists (select from journal_line l join journal j on j.team_id = l.team_id and j.id = l.journal_id
				where l.team_id = @team and l.reservation_id = w.id and j.currency <> w.currency)
			or exists (select from ledger_entry e where e.team_id = @team and e.reservation_id = w.id and e.ledger = 'historical'
				and e.currency <> w.currency)`, db.Args{"team": tx.Team, "ids": ids, "currencies": currencies})
	if err != nil {
		return nil, fmt.Errorf("find what names reservations in another currency: %w", err)
	}

	out := make(map[id.ID]bool, len(found))
	for _, reservationID := range found {
		out[reservationID] = true
	}

	return out, nil
}

// upsertReservations returns the statement that inserts new drafts and updates existing ones. No reservation may be
// among them twice.
func upsertReservations(tx *db.Tx, drafts []*draft) db.Stmt {
	rows := make([]*Reservation, len(drafts))
	for i, d := range drafts {
		rows[i] = &d.Reservation
	}

	return reservationTable.Upsert(tx, rows...)
}

// saveStmts returns the statements that insert new drafts and update existing ones, and replace the stored lines of
// those that have others in memory.
func saveStmts(tx *db.Tx, drafts []*draft) []db.Stmt {
	var (
		owners []id.ID
		rows   []*lineRow
	)

	// First number the lines of all drafts. Only stored reservations have lines to delete.
	for _, d := range drafts {
		if !d.relined {
			continue
		}

		if d.before != nil {
			owners = append(owners, d.ID)
		}

		for k, l := range d.Lines {
			l.ReservationID = d.ID
			rows = append(rows, &lineRow{Line: l, Position: int64(k) + 1})
		}
	}

	saved := upsertReservations(tx, drafts)
	if len(owners) > 0 {
		saved = db.Both(db.Stmt{
			SQL:  `delete from reservation_line where team_id = @team and reservation_id = any(@reservations)`,
			Args: db.Args{"team": tx.Team, "reservations": owners},
		}, saved)
	}

	// The old lines are gone before the new ones are inserted: a line keeps its place.
	switch {
	case len(rows) == 0:
		return []db.Stmt{saved}
	case len(owners) > 0:
		return []db.Stmt{saved, lineTable.Insert(tx, rows...)}
	default:
		return []db.Stmt{db.Both(lineTable.Insert(tx, rows...), saved)}
	}
}

// deleteReservation deletes a reservation with its lines and adjustments, and writes the audit events.
func deleteReservation(ctx context.Context, tx *db.Tx, r *Reservation) error {
	adjusted, err := loadAdjustments(ctx, tx, []id.ID{r.ID})
	if err != nil {
		return err
	}

	lines, err := loadLines(ctx, tx, []id.ID{r.ID})
	if err != nil {
		return err
	}

	// The audit event shows the lines, so they are read before the database deletes them with the reservation.
	gone := *r

	gone.Lines = lines[r.ID]
	if _, err := tx.Exec(ctx, `delete from reservation where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": r.ID}); err != nil {
		return fmt.Errorf("delete a reservation: %w", err)
	}

	note(tx, audit.Deleted, &gone, nil)

	for i := range adjusted[r.ID] {
		noteAdjustment(tx, audit.Deleted, &adjusted[r.ID][i], nil)
	}

	return nil
}

// ownerlessSQL is the SQL condition that an entry e is of owners without an ownership period.
const ownerlessSQL = `e.party = 'owners' and e.ownership_period_id is null and e.status = 'active' and e.ledger in ('trust', 'operating')`

// loadOwnerless loads the sums that journals of reservations have credited to owners without an ownership period,
// because no one owned the listing on those days. A reservation without such entries is absent.
func loadOwnerless(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]*money.Cents, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	type row struct {
		ReservationID id.ID
		Total         money.Cents
	}

	rows, err := db.Select[row](ctx, tx, `
		select e.reservation_id, -sum(e.cent_total)::bigint as total from ledger_entry e
		where e.team_id = @team and e.reservation_id = any(@ids) and `+ownerlessSQL+`
		group by e.reservation_id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find what belongs to no owner: %w", err)
	}

	out := make(map[id.ID]*money.Cents, len(rows))
	for i := range rows {
		out[rows[i].ReservationID] = &rows[i].Total
	}

	return out, nil
}

// loadByCostAccounts loads the reservations, in the order of their ids, that have a deposit with a line on an account
// that gained or lost an assignment, if the line was or becomes the cost of the channel or the processor. Fees charge
// that cost on, and no entry of the stay's own journal names the account.
func loadByCostAccounts(ctx context.Context, tx *db.Tx, changed []ledger.Reassigned) ([]id.ID, error) {
	costs := []string{string(account.DepositChannelFee), string(account.DepositMerchantFee)}

	// Lines on an account that gains or loses a cost assignment are affected in any case. On the other accounts
	// only those that were booked under a cost assignment are.
	var accounts, moved []id.ID
	for _, c := range changed {
		accounts = append(accounts, c.From, c.To)
		if slices.Contains(costs, c.Assignment) {
			moved = append(moved, c.From, c.To)
		}
	}

	if len(accounts) == 0 {
		return nil, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select distinct l.reservation_id from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.type = 'deposit' and t.status = 'active'
		where l.team_id = @team and l.reservation_id is not null
			and (l.account_id = any(@moved::uuid[]) or l.account_id = any(@accounts::uuid[]) and l.assignment = any(@costs::text[]))
		order by l.reservation_id`, db.Args{"team": tx.Team, "accounts": accounts, "moved": moved, "costs": costs})
	if err != nil {
		return nil, fmt.Errorf("find the stays whose deposits a change touches: %w", err)
	}

	return found, nil
}

// constraintError translates a broken constraint into the error that the caller gets; other errors stay as they are.
func constraintError(err error) error {
	switch db.Constraint(err) {
	case "reservation_unique_ref":
		return errDuplicateUniqueRef.Because(err)
	case "reservation_adjustment_unique_ref":
		return errDuplicateAdjustment.Because(err)
	default:
		return err
	}
}
