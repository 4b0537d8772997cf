package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/id"
)

// The bare server writes the same rows as the service for a resource, in one round trip: the row, its lines, its
// entries, their sums and the trail. It writes to the same tables, without policies, triggers and foreign keys, and
// knows the entries beforehand.
const (
	// The sums are kept by account, listing and month.
	bareSums = `create table bench_sum (like ledger_balance_kept including all)`

	// The end of a statement that begins with the rows before the entries: $1 team, $2 source, $3 its date, $4 now, $5
	// user, $6 action, $7 listing, $8 ownership period, $9 reservation, $10 transaction, and from $11 on the columns of
	// the entries.
	barePost = `entries as (
			insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party, listing_id, ownership_period_id,
				reservation_id, transaction_id, recurring_fee_id, trigger_type, description, created_at)
			select $1::uuid, e.id, $2::uuid, e.code, e.ref, 'trust', $3::date, e.account, e.cents, 'usd', e.party, $7::uuid, $8::uuid, $9::uuid, $10::uuid, e.fee, e.trigger,
				e.description, $4::timestamptz
			from unnest($11::uuid[], $12::text[], $13::text[], $14::uuid[], $15::bigint[], $16::text[], $17::uuid[], $18::text[], $19::text[])
				as e (id, code, ref, account, cents, party, fee, trigger, description)
		), sums as (
			insert into bench_sum as s (team_id, ledger, currency, account_id, party, listing_id, month, debit, credit)
			select $1, 'trust', 'usd', e.account, coalesce(e.party, ''), $7, date_trunc('month', $3)::date, sum(greatest(e.cents, 0)), sum(greatest(-e.cents, 0))
			from unnest($14::uuid[], $15::bigint[], $16::text[]) as e (account, cents, party) group by 4, 5 order by 4, 5
			on conflict (team_id, ledger, currency, account_id, party, listing_id, month) do update set debit = s.debit + excluded.debit, credit = s.credit + excluded.credit
		)
		insert into audit_action (team_id, id, actor_type, actor_id, endpoint, request_id, created_at) values ($1, $6, 'apiKey', $5, 'bare', 'r', $4)`

	// The lines of a stay or an expense; $20 is their ids, $21 their amounts, $22 their types or accounts.
	bareStayLines = `lines as (
			insert into reservation_line (team_id, id, reservation_id, position, type, amount)
			select $1, l.id, $2, l.n, l.type, l.amount from unnest($20::uuid[], $21::bigint[], $22::text[]) with ordinality as l (id, amount, type, n)), `
	bareExpenseLines = `lines as (
			insert into transaction_line (team_id, id, transaction_id, position, account_id, amount, listing_id, total, party)
			select $1, l.id, $2, l.n, l.account, l.amount, $7, l.amount, 'owners' from unnest($20::uuid[], $21::bigint[], $22::uuid[]) with ordinality as l (id, amount, account, n)), `

	barePostStay = `with head as (
			insert into reservation (team_id, id, short_ref, listing_id, status, guest_name, confirmation_code, check_in, check_out, booked_at, booking_platform, currency,
				created_at, updated_at)
			values ($1, $2, $23, $7, 'booked', $24, $25, $3, $26, $27, $28, 'usd', $4, $4)), ` + bareStayLines + barePost
	barePostExpense = `with head as (
			insert into transaction (team_id, id, short_ref, type, date, description, currency, account_id, total, created_at, updated_at)
			values ($1, $2, $23, 'expense', $3, $24, 'usd', $25, $26, $4, $4)), ` + bareExpenseLines + barePost
	barePostContact = `with head as (
			insert into contact (team_id, id, short_ref, type, name, email, phone, created_at, updated_at) values ($1, $2, $6, $7, $8, $9, $10, $4, $4))
		insert into audit_action (team_id, id, actor_type, actor_id, endpoint, request_id, created_at) values ($1, $5, 'apiKey', $3, 'bare', 'r', $4)`

	bareTakeStay = `with lines as (delete from reservation_line where team_id = $1 and reservation_id = $2),
			entries as (delete from ledger_entry where team_id = $1 and source_id = $2)
		update reservation set check_in = $3, check_out = $4, updated_at = $5 where team_id = $1 and id = $2`
	bareTakeExpense = `with lines as (delete from transaction_line where team_id = $1 and transaction_id = $2),
			entries as (delete from ledger_entry where team_id = $1 and source_id = $2)
		update transaction set date = $3, total = $4, updated_at = $5 where team_id = $1 and id = $2`
	barePutContact = `with head as (update contact set name = $6, email = $7, updated_at = $4 where team_id = $1 and id = $2)
		insert into audit_action (team_id, id, actor_type, actor_id, endpoint, request_id, created_at) values ($1, $5, 'apiKey', $3, 'bare', 'r', $4)`
)

// serveWrites adds the writes of a desk to the bare server.
func (d *dailyBed) serveWrites(mux *http.ServeMux, k *desk) {
	for pattern, write := range map[string]func(w *writeBody, of id.ID, b *pgx.Batch){
		"POST /%d/reservations":     func(w *writeBody, of id.ID, b *pgx.Batch) { k.barePostStay(d, w, of, b) },
		"PUT /%d/reservations/{id}": func(w *writeBody, of id.ID, b *pgx.Batch) { k.barePutStay(d, w, of, b) },
		"POST /%d/transactions":     func(w *writeBody, of id.ID, b *pgx.Batch) { k.barePostExpense(d, w, of, b) },
		"PUT /%d/transactions/{id}": func(w *writeBody, of id.ID, b *pgx.Batch) { k.barePutExpense(d, w, of, b) },
		"POST /%d/contacts": func(w *writeBody, of id.ID, b *pgx.Batch) {
			b.Queue(
				barePostContact,
				k.directory.team,
				of,
				k.directory.user,
				d.db.Now(),
				id.New(d.db.Now()),
				of.String(),
				w.Type,
				w.Name,
				w.Email,
				w.Phone,
			)
		},
		"PUT /%d/contacts/{id}": func(w *writeBody, of id.ID, b *pgx.Batch) {
			b.Queue(
				barePutContact,
				k.directory.team,
				of,
				k.directory.user,
				d.db.Now(),
				id.New(d.db.Now()),
				w.Name,
				w.Email,
			)
		},
	} {
		mux.HandleFunc(fmt.Sprintf(pattern, k.size), d.bareAnswer(func(r *http.Request) (any, error) {
			var w writeBody
			if err := json.NewDecoder(r.Body).Decode(&w); err != nil {
				return nil, err
			}

			// A POST has a new id, a PUT that of its path.
			of := id.New(d.db.Now())

			if text := r.PathValue("id"); text != "" {
				var err error
				if of, err = id.Parse(text); err != nil {
					return nil, err
				}
			}

			batch := &pgx.Batch{}
			write(&w, of, batch)

			return idRecord{of}, d.pool.SendBatch(
				r.Context(),
				batch,
			).Close() // the statements of a batch are one transaction
		}))
	}
}

// barePostStay queues the statement that inserts a stay with its lines and entries.
func (k *desk) barePostStay(d *dailyBed, w *writeBody, of id.ID, b *pgx.Batch) {
	args := append(k.stayPosting(d, w, of, k.findPlace(w.ListingID)), stayLines(d, w)...)
	b.Queue(
		barePostStay,
		append(args, of.String(), w.GuestName, w.ConfirmationCode, w.CheckOut, w.BookedAt, w.BookingPlatform)...,
	)
}

// barePutStay queues the statements that replace the lines and entries of a stay.
func (k *desk) barePutStay(d *dailyBed, w *writeBody, of id.ID, b *pgx.Batch) {
	b.Queue(bareTakeStay, k.team.team, of, w.CheckIn, w.CheckOut, d.db.Now())

	// A change keeps the row and replaces all lines and entries.
	b.Queue("with "+bareStayLines+barePost, append(k.stayPosting(d, w, of, k.listings[0]), stayLines(d, w)...)...)
}

// barePostExpense queues the statement that inserts an expense with its lines and entries.
func (k *desk) barePostExpense(d *dailyBed, w *writeBody, of id.ID, b *pgx.Batch) {
	args := append(k.expensePosting(d, w, of), expenseLines(d, w)...)
	b.Queue(barePostExpense, append(args, of.String(), w.Description, w.AccountID, w.Lines[0].Amount)...)
}

// barePutExpense queues the statements that replace the lines and entries of an expense.
func (k *desk) barePutExpense(d *dailyBed, w *writeBody, of id.ID, b *pgx.Batch) {
	b.Queue(bareTakeExpense, k.team.team, of, w.Date, w.Lines[0].Amount, d.db.Now())
	args := append(k.expensePosting(d, w, of), expenseLines(d, w)...)
	b.Queue("with "+bareExpenseLines+barePost, args...)
}

// findPlace returns the ownership period of a listing, or the zero place for a listing that the desk does not have.
func (k *desk) findPlace(listing id.ID) place {
	for _, p := range k.listings {
		if p.ListingID == listing {
			return p
		}
	}

	return place{}
}

// stayPosting returns the arguments of barePost for a stay.
func (k *desk) stayPosting(d *dailyBed, w *writeBody, of id.ID, in place) []any {
	now := d.db.Now()

	// These are $1 to $10 of barePost. A stay has no transaction.
	head := []any{k.team.team, of, w.CheckIn, now, k.team.user, id.New(now), in.ListingID, in.PeriodID, of, nil}

	return append(head, entryColumns(k.stayEntries, of, now)...)
}

// expensePosting returns the arguments of barePost for an expense.
func (k *desk) expensePosting(d *dailyBed, w *writeBody, of id.ID) []any {
	now, in := d.db.Now(), k.findPlace(w.Lines[0].ListingID)

	// These are $1 to $10 of barePost. An expense has no reservation.
	head := []any{k.team.team, of, w.Date, now, k.team.user, id.New(now), in.ListingID, in.PeriodID, nil, of}

	return append(head, entryColumns(k.expenseEntries, of, now)...)
}

// entryColumns returns the columns of the entries of a source, as arrays for unnest.
func entryColumns(entries []postedEntry, of id.ID, now time.Time) []any {
	n := len(entries)
	ids := make([]id.ID, n)
	codes := make([]string, n)
	refs := make([]string, n)
	accounts := make([]id.ID, n)
	cents := make([]int64, n)
	parties, fees, triggers, descriptions := make([]*string, n), make([]*id.ID, n), make([]string, n), make([]string, n)

	for i := range entries {
		// Only the ids differ from the entries of the service, and the code with the id of the source.
		e := &entries[i]
		ids[i] = id.New(now)
		codes[i] = strings.Replace(e.Code, "$", of.String(), 1)
		refs[i] = e.Ref
		accounts[i] = e.AccountID
		cents[i] = e.CentTotal
		parties[i], fees[i], triggers[i], descriptions[i] = e.Party, e.FeeID, e.Trigger, e.Description
	}

	return []any{ids, codes, refs, accounts, cents, parties, fees, triggers, descriptions}
}

// stayLines returns the columns of the lines of a stay.
func stayLines(d *dailyBed, w *writeBody) []any {
	ids, amounts, types := make([]id.ID, len(w.Lines)), make([]int64, len(w.Lines)), make([]string, len(w.Lines))
	for i, l := range w.Lines {
		ids[i], amounts[i], types[i] = id.New(d.db.Now()), l.Amount, l.Type
	}

	return []any{ids, amounts, types}
}

// expenseLines returns the columns of the lines of an expense.
func expenseLines(d *dailyBed, w *writeBody) []any {
	ids, amounts, accounts := make([]id.ID, len(w.Lines)), make([]int64, len(w.Lines)), make([]id.ID, len(w.Lines))
	for i, l := range w.Lines {
		ids[i], amounts[i], accounts[i] = id.New(d.db.Now()), l.Amount, l.AccountID
	}

	return []any{ids, amounts, accounts}
}
