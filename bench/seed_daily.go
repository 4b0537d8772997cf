package main

import (
	"context"
	"crypto/md5" //nolint:gosec // nothing is kept secret by it
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stayledger/domain/settlement/payapp"
	"stayledger/platform/id"
)

const (
	// The bookings of a team are on dailyListings listings, however many bookings there are.
	dailyListings = 1000
	// A team with statements has them for dailyMonths months, up to the current one.
	dailyMonths = 24
	// The newest unpaidStays stays are paid for after today.
	unpaidStays = 500
	// The database has neighbors other teams.
	neighbors = 9
)

// kind is a kind of filled rows, which is part of their ids.
type kind int

// The kinds of filled rows.
const (
	noID kind = iota
	aContact
	aListing
	aPeriod
	anAccount
	aFee
	aReservation
	aReservationLine
	aTransaction
	aTransactionLine
	aJournal
	anEntry
	aBankRecord
	aPayment
	aStatement
	aSupport // rows that the others need once in a team
)

// idSQL returns the SQL of the id of the n-th row of a kind in the team $1. The ids of a kind ascend with n, as those
// of the service do with time.
func (k kind) idSQL(n string) string { return fmt.Sprintf("bench_id($1, %d, %s)", int(k), n) }

// idFor returns the same id, computed here.
func (k kind) idFor(team id.ID, n int) string {
	sum := md5.Sum([]byte(team.String())) //nolint:gosec // as the database makes it
	hex := fmt.Sprintf("%012x7%03x8%x", 1_700_000_000_000+n, int(k), sum)

	return fmt.Sprintf("%s-%s-%s-%s-%s", hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:32])
}

// createIDs is SQL that creates the function of the ids.
const createIDs = `
	create or replace function bench_id(team uuid, kind integer, n bigint) returns uuid language sql immutable parallel safe as $$
		select (lpad(to_hex(1700000000000 + n), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8' || left(md5(team::text), 15))::uuid $$`

// The service writes a few rows for each team into templateTables, which are then copied as often as needed. The tables
// of filledTables are filled while they have no indexes.
var (
	templateTables = []string{
		"reservation",
		"reservation_line",
		"transaction",
		"transaction_line",
		"journal",
		"journal_line",
		"ledger_entry",
	}
	filledTables = append([]string{
		"contact",
		"listing",
		"listing_ownership_period",
		"listing_ownership_member",
		"account",
		"fee",
		"bank_record",
		"bank_reconciliation",
		"payment",
		"statement",
	}, templateTables...)
)

// dailyTeams are the teams of one size: books has that many reservations, transactions, journals, bank records and
// payments, and about ten times as many journal entries; directory has that many contacts, listings, ownership
// periods, accounts and fees; portfolio has that many statements.
type dailyTeams struct {
	rows                        int
	books, directory, portfolio tenant
}

// dailySeed is the teams of some sizes and nine others of different sizes, which have some rows of everything.
func dailySeed(sizes []int) *seed {
	return &seed{name: "daily", sizes: sizes, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		f, err := b.newFiller(ctx)
		if err != nil {
			return err
		}

		for _, rows := range slices.Backward(slices.Sorted(slices.Values(sizes))) { // the largest is filled first
			if err := f.addMeasured(ctx, rows); err != nil {
				return err
			}
		}

		if err := f.addNeighbors(ctx, slices.Max(sizes)); err != nil {
			return err
		}

		return f.fill(ctx)
	}}
}

// dailyTeams returns the teams of one size. It returns false if the seed has none.
func (b *bed) dailyTeams(rows int) (t dailyTeams, is bool) {
	t.rows = rows
	for name, to := range t.names() {
		if *to, is = b.teams[name]; !is {
			return t, false
		}
	}

	return t, true
}

// names returns the teams by the names that they have in the seed.
func (t *dailyTeams) names() map[string]*tenant {
	return map[string]*tenant{
		fmt.Sprint("books", t.rows): &t.books, fmt.Sprint("directory", t.rows): &t.directory, fmt.Sprint("portfolio", t.rows): &t.portfolio,
	}
}

// filler collects the work of filling teams.
type filler struct {
	*bed

	columns map[string][]string // by table
	work    []filling
}

// newFiller returns a filler, and creates the function of the ids.
func (b *bed) newFiller(ctx context.Context) (*filler, error) {
	return &filler{bed: b, columns: map[string][]string{}}, b.asAdministrator(ctx, []string{createIDs}, tenant{})
}

// filling is the work for a team: fill it while there are no indexes, and add up its books when there are.
type filling struct {
	team       tenant
	statements []string
}

// addMeasured adds the three teams of one size.
func (f *filler) addMeasured(ctx context.Context, rows int) (err error) {
	t := &dailyTeams{rows: rows}
	if t.directory, err = newTenant(ctx, f.db, rows); err != nil {
		return err
	}

	f.work = append(f.work, filling{t.directory, directorySQL(rows)})
	if t.books, err = f.newManager(ctx, dailyListings); err != nil {
		return err
	}

	bookings, err := f.bookingsSQL(ctx, t.books, rows, dailyListings)
	f.work = append(f.work, filling{t.books, bookings})

	if err != nil {
		return err
	}

	// A listing has a statement for each month, so few listings are enough.
	t.portfolio, err = f.newManager(ctx, max(rows/dailyMonths, 50))
	f.work = append(f.work, filling{t.portfolio, []string{insertStatements}})

	if err != nil {
		return err
	}

	for name, team := range t.names() {
		if err := f.keepTeam(ctx, name, *team); err != nil {
			return err
		}
	}

	return nil
}

// addNeighbors adds nine other teams, of which the largest has a tenth of some rows.
func (f *filler) addNeighbors(ctx context.Context, rows int) error {
	for i := range neighbors {
		if err := f.addNeighbor(ctx, max(rows/10>>i, 100)); err != nil {
			return err
		}
	}

	return nil
}

// addNeighbor adds one of the other teams, with all kinds of rows.
func (f *filler) addNeighbor(ctx context.Context, rows int) error {
	listings := max(rows/100, 10)

	t, err := f.newManager(ctx, listings)
	if err != nil {
		return err
	}

	bookings, err := f.bookingsSQL(ctx, t, rows, listings)
	f.work = append(f.work, filling{t, slices.Concat(bookings, directorySQL(rows), []string{insertStatements})})

	return err
}

// fill fills all teams, two at a time.
func (f *filler) fill(ctx context.Context) error {
	var first []string

	// First copy the templates into tables of their own: the indexes that lead to them are dropped next.
	for _, table := range templateTables {
		columns := "t.*"
		if table == "ledger_entry" {
			columns = "t.*, row_number() over (partition by team_id, source_id order by txn_code, ref) as place"
		}

		first = append(first, fmt.Sprintf(`create table bench_%s as select %s from %s t where t.team_id in (%s)`, table, columns, table, f.teamIDs()))
	}

	// Number the listings of each team, for rows to find theirs by number.
	first = append(first, fmt.Sprintf(`create table bench_place as
		select team_id, row_number() over (partition by team_id order by listing_id) - 1 as n, listing_id, id as period_id
		from listing_ownership_period where team_id in (%s)`, f.teamIDs()), "analyze")

	if err := f.asAdministrator(ctx, first, tenant{}); err != nil {
		return err
	}

	// Then fill the tables without indexes, and build those afterwards, which is much faster.
	if err := f.withoutIndexes(ctx, filledTables, func() error {
		return inPairs(f.work, func(w filling) error { return f.asAdministrator(ctx, w.statements, w.team) })
	}); err != nil {
		return err
	}

	// Last, the kept sums and counts. The triggers have kept some for the templates: delete those first.
	err := inPairs(f.work, func(w filling) error {
		statements := slices.Concat(insertSums, settleStays)
		for _, table := range []string{
			"ledger_delta",
			"ledger_balance_kept",
			"ledger_listing_kept",
			"ledger_month_kept",
			"ledger_day_kept",
			"ledger_owner_kept",
			"ledger_source",
			"ledger_unsettled", "ledger_guest", "ledger_guest_settled", "ledger_guest_kept",
			"list_delta",
			"list_count_kept",
			"bank_delta",
			"bank_day_kept",
			"bank_clearing",
		} {
			statements = append([]string{"delete from " + table + " where team_id = $1"}, statements...)
		}

		return f.asAdministrator(ctx, append(statements, insertListed), w.team)
	})
	if err != nil {
		return err
	}

	return f.asAdministrator(ctx, []string{"vacuum analyze", "checkpoint"}, tenant{})
}

// teamIDs returns the ids of the teams to be filled, as a list of SQL.
func (f *filler) teamIDs() string {
	ids := make([]string, len(f.work))
	for i := range f.work {
		ids[i] = "'" + f.work[i].team.team.String() + "'"
	}

	return strings.Join(ids, ", ")
}

// inPairs calls do for all of a list, two at a time, in their order.
func inPairs[T any](all []T, do func(T) error) error {
	next := make(chan T, len(all))
	for _, one := range all {
		next <- one
	}

	close(next)

	return each(2, func(int) error {
		for one := range next {
			if err := do(one); err != nil {
				return err
			}
		}

		return nil
	})
}

// copies returns the statement that inserts copies of rows: all columns as the row t has them, except those in set,
// which have another value.
func (f *filler) copies(ctx context.Context, table, from string, set map[string]string) (string, error) {
	// Generated columns cannot be inserted. The columns of a table are read once.
	if f.columns[table] == nil {
		rows, err := f.bare.Query(ctx, `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`, table)
		if err != nil {
			return "", fmt.Errorf("read the columns of %s: %w", table, err)
		}

		if f.columns[table], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return "", fmt.Errorf("read the columns of %s: %w", table, err)
		}
	}

	values := make([]string, len(f.columns[table]))
	for i, column := range f.columns[table] {
		if values[i] = set[column]; values[i] == "" {
			values[i] = "t." + column
		}
	}

	return fmt.Sprintf(
		"insert into %s (%s) select %s from %s",
		table,
		strings.Join(f.columns[table], ", "),
		strings.Join(values, ", "),
		from,
	), nil
}

// templates are rows that the service has written for a team.
type templates struct{ shortStay, longStay, deposit, expense, journal id.ID }

// templates has the service write two stays, a deposit that pays both, an expense and a journal.
func (b *bed) templates(ctx context.Context, t tenant) (w templates, err error) {
	c, err := dial(ctx, b.ours, t.secret)
	if err != nil {
		return w, err
	}
	defer c.close()

	post := func(path, body string, args ...any) (made id.ID) {
		if err == nil {
			made, err = c.make(path, fmt.Sprintf(body, args...))
		}

		return made
	}

	// The accounts and the listing that the templates are about.
	found := map[string]id.ID{}
	for name, sql := range map[string]string{
		"listing":  `select id from listing where team_id = @team order by id limit 1`,
		"bank":     `select id from account where team_id = @team and code = '1000'`,
		"cleaning": `select id from account where team_id = @team and code = '5110'`,
		"repairs":  `select id from account where team_id = @team and code = '5200'`,
	} {
		if found[name], err = b.loadID(ctx, t, sql); err != nil {
			return w, fmt.Errorf("find a %s: %w", name, err)
		}
	}

	const stay = `{"listingId": %q, "checkIn": "2025-03-01", "checkOut": "2025-03-04", "bookedAt": "2025-01-01", "guestName": "Guest", "confirmationCode": "HM",
		"bookingPlatform": "airbnb", "lines": [{"type": "rent", "amount": 98765}%s]}`

	// After a failure the other posts do nothing, and the failure is returned.
	w.shortStay = post("/reservations", stay, found["listing"], "")
	w.longStay = post("/reservations", stay, found["listing"], `, {"type": "cleaningFee", "amount": 15000}`)
	w.deposit = post("/transactions", `{"type": "deposit", "date": "2025-02-20", "description": "Payout", "lines": [
		{"assignment": "accountsReceivable", "amount": 98765, "reservationId": %q}, {"assignment": "accountsReceivable", "amount": 113765, "reservationId": %q}]}`,
		w.shortStay, w.longStay)
	w.expense = post("/transactions", `{"type": "expense", "date": "2025-02-20", "accountId": %q, "description": "Plumber",
		"lines": [{"accountId": %q, "amount": 25000, "listingId": %q}]}`, found["bank"], found["repairs"], found["listing"])
	w.journal = post("/general-ledger/journals", `{"date": "2025-02-20", "description": "Correction",
		"lines": [{"accountId": %q, "centTotal": -1000}, {"accountId": %q, "centTotal": 1000, "listingId": %q}]}`, found["cleaning"], found["repairs"], found["listing"])

	return w, err
}

// make posts a resource and returns its id.
func (c *client) make(path, body string) (id.ID, error) {
	answer, err := c.send(c.request(http.MethodPost, path, body), true)
	if err != nil {
		return id.Zero, err
	}

	var made struct{ ID id.ID }
	if err := json.Unmarshal(answer, &made); err != nil {
		return id.Zero, fmt.Errorf("%s: %w", path, err)
	}

	return made.ID, nil
}

// rowsSQL is the relation s of so many rows n over three years.
func rowsSQL(rows int) string {
	return fmt.Sprintf(`(select n, n %% 2 as half, current_date - 1095 + (n::bigint * 1095 / %d)::int as at, now() - (%d - n) * interval '1 minute' as made
		from generate_series(0, %d) n) s`, rows, rows, rows-1)
}

// bookingsSQL returns the statements that fill a team's books. Even transactions are deposits that pay the stay of the
// same number and the next one, odd ones are expenses.
func (f *filler) bookingsSQL(ctx context.Context, t tenant, rows, listings int) (out []string, err error) {
	w, err := f.templates(ctx, t)
	if err != nil {
		return nil, err
	}

	// Deposits pay pairs of stays, so the number must be even.
	rows += rows % 2

	var (
		either = func(even, odd id.ID) string {
			return rowsSQL(rows) + fmt.Sprintf(" join (values (0, '%s'::uuid), (1, '%s'::uuid)) w (half, id) on "+
				"w.half = s.half", even, odd)
		}
		stays, moves, manual = either(
			w.shortStay,
			w.longStay,
		), either(w.deposit, w.expense), either(w.journal, w.journal)
		// The join with the place p of a number.
		in = func(number string) string {
			return fmt.Sprintf(" join bench_place p on p.team_id = $1 and p.n = (%s) %% %d", number, listings)
		}
		line   = "s.n + coalesce(l.position, 0)"
		paidAt = fmt.Sprintf(
			"case when s.half = 1 then s.at when s.n >= %d then current_date + 60 else s.at - 9 end",
			rows-unpaidStays,
		)
		some = func(column, value string) string {
			return fmt.Sprintf("case when t.%s is not null then %s end", column, value)
		}
		// The columns that all entries of a source have in common.
		entry = func(nth int, source, at string, more map[string]string) map[string]string {
			set := map[string]string{
				"id":                  anEntry.idSQL(fmt.Sprintf("(%d::bigint + s.n) * 8 + t.place", nth*rows)),
				"source_id":           source,
				"created_at":          "s.made",
				"txn_at":              at,
				"txn_code":            "replace(t.txn_code, w.id::text, " + source + "::text)",
				"listing_id":          some("listing_id", "p.listing_id"),
				"ownership_period_id": some("ownership_period_id", "p.period_id"),
			}
			maps.Copy(set, more)

			return set
		}
	)

	// Each table is filled from the templates of its rows: stays, transactions and journals with their lines and
	// entries.
	for _, c := range []struct {
		table, from string
		set         map[string]string
	}{
		{
			"reservation",
			stays + " join bench_reservation t on t.team_id = $1 and t.id = w.id" + in("s.n"),
			map[string]string{
				"id":                aReservation.idSQL("s.n"),
				"short_ref":         "'s' || s.n",
				"listing_id":        "p.listing_id",
				"guest_name":        "'Guest ' || s.n",
				"confirmation_code": "'HM' || s.n",
				"check_in":          "s.at",
				"check_out":         "s.at + 3",
				"booked_at":         "s.at - 60",
				"created_at":        "s.made",
				"updated_at":        "s.made",
			},
		},
		{
			"reservation_line",
			stays + " join bench_reservation_line t on t.team_id = $1 and t.reservation_id = w.id",
			map[string]string{
				"id": aReservationLine.idSQL("s.n * 4 + t.position"), "reservation_id": aReservation.idSQL("s.n"),
			},
		},
		{
			"ledger_entry", stays + " join bench_ledger_entry t on t.team_id = $1 and t.source_id = w.id" + in("s.n"),
			entry(0, aReservation.idSQL("s.n"), "s.at", map[string]string{"reservation_id": aReservation.idSQL("s.n")}),
		},
		{"transaction", moves + " join bench_transaction t on t.team_id = $1 and t.id = w.id", map[string]string{
			"id":         aTransaction.idSQL("s.n"),
			"short_ref":  "'t' || s.n",
			"date":       paidAt,
			"created_at": "s.made",
			"updated_at": "s.made",
		}},
		{
			"transaction_line",
			moves + " join bench_transaction_line t on t.team_id = $1 and t.transaction_id = w.id" + in("s.n + t.position"),
			map[string]string{
				"id":             aTransactionLine.idSQL("s.n * 2 + t.position"),
				"transaction_id": aTransaction.idSQL("s.n"),
				"listing_id":     "p.listing_id",
				"reservation_id": some("reservation_id", aReservation.idSQL("s.n + t.position")),
			},
		},
		{
			"ledger_entry", moves + ` join bench_ledger_entry t on t.team_id = $1 and t.source_id = w.id
			left join bench_transaction_line l on l.team_id = $1 and l.transaction_id = w.id and l.id::text = t.ref` + in(line),
			entry(1, aTransaction.idSQL("s.n"), paidAt, map[string]string{
				"ref":            "case when l.id is null then t.ref else " + aTransactionLine.idSQL("s.n * 2 + l.position") + "::text end",
				"reservation_id": some("reservation_id", aReservation.idSQL(line)),
				"transaction_id": aTransaction.idSQL("s.n"),
			}),
		},
		{"journal", manual + " join bench_journal t on t.team_id = $1 and t.id = w.id", map[string]string{
			"id":         aJournal.idSQL("s.n"),
			"short_ref":  "'j' || s.n",
			"date":       "s.at",
			"created_at": "s.made",
			"updated_at": "s.made",
		}},
		{
			"journal_line",
			manual + " join bench_journal_line t on t.team_id = $1 and t.journal_id = w.id" + in("s.n"),
			map[string]string{
				"journal_id": aJournal.idSQL("s.n"), "listing_id": some("listing_id", "p.listing_id"),
			},
		},
		{
			"ledger_entry", manual + " join bench_ledger_entry t on t.team_id = $1 and t.source_id = w.id" + in("s.n"),
			entry(2, aJournal.idSQL("s.n"), "s.at", nil),
		},
	} {
		sql, err := f.copies(ctx, c.table, c.from, c.set)
		if err != nil {
			return nil, err
		}

		out = append(out, sql)
	}

	return append(out, bankingSQL(rows)...), nil
}

// openRecords is how many of the latest bank records of a team are not reconciled yet.
const openRecords = 250

// bankingSQL returns the statements that fill bank records and payments through a provider. Each deposit and each
// expense has a bank record. Each expense was paid in a second attempt.
//
//nolint:dupword // columns of the same value
func bankingSQL(rows int) []string {
	source := fmt.Sprintf("generate_series(0, %d) n join account a on a.team_id = $1 and a.code = '1000'", rows-1)
	day := fmt.Sprintf("current_date - 1095 + (n::bigint * 1095 / %d)::int", rows)
	reconciled := fmt.Sprintf("n < %d", rows-openRecords)

	const moved = "case n % 2 when 0 then 212530 else -25000 end"

	return []string{
		`insert into bank_record (team_id, id, account_id, date, amount, made, description, source, created_at, updated_at)
			select $1, ` + aBankRecord.idSQL("n") + `, a.id, ` + day + `, ` + moved + `, case when ` + reconciled + ` then ` + moved + ` else 0 end, 'Booking ' || n,
				'csv', now(), now() from ` + source,
		`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
			select $1, ` + aBankRecord.idSQL("n") + `, ` + aTransaction.idSQL("n") + `, a.id, ` + moved + `, now() from ` + source + ` where ` + reconciled,
		`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
			values ($1, ` + aSupport.idSQL("1") + `, 'c', '` + string(payapp.Apps(nil)[0].ID) + `', 'Bank', 'active', now(), now())`,
		`insert into payee_method (team_id, id, contact_id, status, account_holder, account_type, last4, routing_last4, numbers, chosen_at, created_at, updated_at)
			select $1, ` + aSupport.idSQL("2") + `, id, 'verified', 'Ada', 'checking', '1234', '1234', '', now(), now(), now() from contact where team_id = $1 and short_ref = 'owner'`,
		`insert into payment_batch (team_id, id, connection_id, created_at) values ($1, ` + aSupport.idSQL("3") + `, ` + aSupport.idSQL("1") + `, now())`,
		`insert into payment (team_id, id, short_ref, connection_id, batch_id, transaction_id, contact_id, payee_method_id, funding_account_id, amount, currency, date,
				status, sent_at, settled_at, recovered_at, created_at, updated_at)
			select $1, ` + aPayment.idSQL("n") + `, 'p' || n, ` + aSupport.idSQL("1") + `, ` + aSupport.idSQL("3") + `, ` + aTransaction.idSQL("n | 1") + `, m.contact_id, m.id, a.id,
				25000, 'usd', ` + day + `, case n % 2 when 0 then 'failed' else 'paid' end, now(), now(), case n % 2 when 0 then now() end, now(), now()
			from ` + source + ` join payee_method m on m.team_id = $1`,
	}
}

// directorySQL returns the statements that fill the directory of a team.
func directorySQL(rows int) []string {
	source := fmt.Sprintf("(select n, lpad(n::text, 7, '0') as number, now() - (%d - n) * interval '1 minute' as "+
		"made from generate_series(0, %d) n) s", rows, rows-1)

	return []string{
		`insert into contact (team_id, id, short_ref, type, name, first_name, email, phone, address, created_at, updated_at)
			select $1, ` + aContact.idSQL("n") + `, 'c' || n, 'owner', 'Owner ' || number, 'Ada', 'owner' || n || '@example.com', '+1 207 555 0143',
				'{"street": "71 Spruce Hill Road", "city": "Brunswick", "countryCode": "US"}', made, made from ` + source,
		`insert into listing (team_id, id, short_ref, name, default_currency, address, created_at, updated_at)
			select $1, ` + aListing.idSQL("n") + `, 'd' || n, 'Listing ' || number, 'usd', '{"street": "8 Keeper''s Lane", "city": "Cape Elizabeth", "countryCode": "US"}', made, made
			from ` + source,
		`insert into listing_ownership_period (team_id, id, listing_id, created_at, updated_at)
			select $1, ` + aPeriod.idSQL("n") + `, ` + aListing.idSQL("n") + `, made, made from ` + source,
		`insert into listing_ownership_member (team_id, period_id, position, contact_id, split)
			select $1, ` + aPeriod.idSQL("n") + `, 0, ` + aContact.idSQL("n") + `, 100000 from ` + source,
		`insert into account_category (team_id, id, name, classification, position, created_at) values ($1, ` + aSupport.idSQL("0") + `, 'All', 'revenue', 1000, now())`,
		`insert into account (team_id, id, code, name, type, category_id, created_at, updated_at)
			select $1, ` + anAccount.idSQL("n") + `, 'A' || number, 'Account ' || number, 'ledger', ` + aSupport.idSQL("0") + `, made, made from ` + source,
		`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id, debit_account_id, created_at, updated_at)
			select $1, ` + aFee.idSQL("n") + `, 'Fee ' || number, 'managementFee', 'rent', 'percentage', 20000, 'manager', 'owners', ` + anAccount.idSQL("0") + `,
				` + anAccount.idSQL("1") + `, made, made from ` + source,
	}
}

// insertListed is SQL that counts a team's rows as the triggers of the listed tables do.
const insertListed = `
	insert into list_count_kept (team_id, list, rows)
	select $1, * from (
		select 'contact', count(*) from contact where team_id = $1
		union all select 'listing', count(*) from listing where team_id = $1
		union all select 'listing_ownership_period', count(*) from listing_ownership_period where team_id = $1
		union all select 'account', count(*) from account where team_id = $1
		union all select 'fee', count(*) from fee where team_id = $1
		union all select 'reservation', count(*) from reservation where team_id = $1
		union all select 'transaction', count(*) from transaction where team_id = $1
		union all select 'journal', count(*) from journal where team_id = $1
		union all select 'bank_record', count(*) from bank_record where team_id = $1 and type = 'transaction'
		union all select 'payment', count(*) from payment where team_id = $1) counts`

// insertStatements is SQL that gives every ownership period of a team the published statements of two years. The
// ids of a month ascend with the periods.
//
//nolint:dupword // columns of the same value
var insertStatements = strings.NewReplacer("$id", aStatement.idSQL("month * 100000 + place"), "$months", strconv.Itoa(dailyMonths)).Replace(`
	insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue, expenses,
		payouts, balance_end, reserve, published_at, created_at, updated_at)
	select $1, $id, concat('o', month, '-', place), id, listing_id, 'published', 'usd', at, at + interval '1 month - 1 day',
		month * 155000, 155000, 0, 0, (month + 1) * 155000, 0, now(), now(), now()
	from (
		select p.id, p.listing_id, dense_rank() over (order by p.id) as place, month,
			(date_trunc('month', current_date) - make_interval(months => $months - 1 - month))::date as at
		from listing_ownership_period p cross join generate_series(0, $months - 1) month where p.team_id = $1) x`)
