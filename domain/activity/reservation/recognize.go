package reservation

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// outsideStay is a stay of a source as far as stays here are compared with it.
type outsideStay struct {
	ListingID        id.ID    `json:"listing_id"`
	ConfirmationCode string   `json:"code"`
	GuestName        string   `json:"guest"`
	CheckIn          *day.Day `json:"check_in"`
	CheckOut         *day.Day `json:"check_out"`
	Status           Status   `json:"status"`
}

// candidate is a stay here that may be the nth stay of a source: both have the same code, or the same nights and guest.
type candidate struct {
	N         int
	ID        id.ID
	HasCode   bool
	HasNights bool
	Status    Status
}

// movedBy bounds how many days a person may have moved a stay here for it to be known by what its former source said.
const movedBy = "60"

// candidatesSQL selects the stays here that could match stays of a source: stays of the same listing with the same
// code, or if either lacks a code with the same nights and guest, as they are here or as a former source said them
// last. Left out are
//   - stays that another record of the source is already,
//   - stays of another connection that is active: a cutover says which stays of two systems are the same,
//   - stays that the accounting window of the connection would keep out of the books: what was entered before a system
//     counts goes on to count,
//   - booked stays for other nights than a canceled one has: its code was used once more,
//   - stays that were made inactive because another reservation here is the same one, and those that a cutover has paired with one of the
//     connection.
var candidatesSQL = `
	with me as materialized (select accounting_start_at, accounting_end_at, is_outside_books from connection where team_id = @team and id = @connection),
	others as materialized (
		select exists (select from connection where team_id = @team and id <> @connection and status not in ('active', 'connecting')) as has_idle)
	select g.n, s.id, s.has_code, s.check_in = g.check_in and s.check_out = g.check_out as has_nights, s.status
	from (select *, stayledger_plain(code) as code_key from rows from (jsonb_to_recordset(@wanted) as (listing_id uuid, code text, guest text, check_in date, check_out date, status text))
		with ordinality as v (listing_id, code, guest, check_in, check_out, status, n)) g
	cross join lateral (
		select r.id, r.check_in, r.check_out, r.status, r.connection_id, true as has_code, ` + accountingDateSQL + ` as counts_at
		from ( /* by the index of codes, whatever statistics there are: a listing has many stays, a code few */
			select id, team_id, listing_id, check_in, check_out, status, connection_id, general_ledger_posting_at, booked_at from reservation
			where team_id = @team and code_key = g.code_key` + db.Fence + `) r join team t on t.id = r.team_id
		where r.listing_id = g.listing_id
		union all
		select r.id, r.check_in, r.check_out, r.status, r.connection_id, false, ` + accountingDateSQL + `
		from reservation r join team t on t.id = r.team_id
		where r.team_id = @team and r.listing_id = g.listing_id and r.check_in = g.check_in and r.check_out = g.check_out
			and stayledger_plain(r.guest_name) = stayledger_plain(g.guest)
			and (r.code_key is null or g.code_key is null)
		union
		select r.id, r.check_in, r.check_out, r.status, r.connection_id, g.code_key is not null, ` + accountingDateSQL + `
		from reservation r join team t on t.id = r.team_id
		cross join (select g.code as confirmation_code, g.guest as guest_name, g.check_in, g.check_out) v
		join ` + lastSaidSQL("r") + ` said on ` + sameStaySQL("said", "v") + `
		where (select has_idle from others) and r.team_id = @team and r.listing_id = g.listing_id and r.connection_id is distinct from @connection
			and r.check_in between g.check_in - ` + movedBy + ` and g.check_in + ` + movedBy + db.Fence + `) s
	left join me on true
	where (s.connection_id is null or s.connection_id = @connection or exists (
			select from connection c where c.team_id = @team and c.id = s.connection_id and c.status not in ('active', 'connecting')))
		and (s.connection_id = @connection or me.is_outside_books is not true
			and coalesce(s.counts_at >= me.accounting_start_at, true) and coalesce(s.counts_at < me.accounting_end_at, true))
		and not exists (
			select from external_record e where e.team_id = @team and e.entity_id = s.id and e.source_id = @source and e.kind = 'reservation' and e.state = 'active')
		and (s.check_in < g.check_out and s.check_out > g.check_in or s.status <> 'booked' or g.status <> 'canceled')
		and (s.status <> 'inactive' or s.connection_id is null or exists (
			select from external_record e where e.team_id = @team and e.entity_id = s.id and e.kind = 'reservation'))
		and not exists (
			select from reservation_pair p join reservation t on t.team_id = p.team_id and t.id = p.target_id
			where p.team_id = @team and p.source_id = s.id and (p.is_retired or t.connection_id = @connection))
	order by g.n, s.id`

// recognize finds the reservations here that stays of a source are.
func recognize(ctx context.Context, tx *db.Tx, from intake.Origin, unknown []intake.Change) ([]intake.Match, error) {
	wanted := make([]outsideStay, len(unknown))

	for i := range unknown {
		w, v := &wanted[i], unknown[i].Values
		readValue(v["listingId"], &w.ListingID)
		readValue(v["confirmationCode"], &w.ConfirmationCode)
		readValue(v["guestName"], &w.GuestName)
		readValue(v["checkIn"], &w.CheckIn)
		readValue(v["checkOut"], &w.CheckOut)
		readValue(v["status"], &w.Status)
	}

	var found []candidate

	// A cached plan could date from when the table was empty, and would compare the codes of all stays of a listing.
	err := db.Afresh(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[candidate](ctx, tx, candidatesSQL, db.Args{
			"team": tx.Team, "wanted": wanted, "connection": from.ConnectionID, "source": from.SourceID,
		})

		return err
	})(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find the reservations that stays of a source could be: %w", err)
	}

	return assign(wanted, found), nil
}

// readValue sets a value from JSON. One that does not fit stays as it is: it is refused when it is saved.
func readValue[T any](raw json.RawMessage, into *T) {
	var v T
	if json.Unmarshal(raw, &v) == nil {
		*into = v
	}
}

// likeness returns how much speaks for a candidate: its code before anything else, then that it counts, its nights, its
// status.
func (c *candidate) likeness(stay *outsideStay) (sum int) {
	for weight, speaks := range map[int]bool{
		8: c.HasCode, 4: c.Status != Inactive, 2: c.HasNights, 1: c.Status == stay.Status,
	} {
		if speaks {
			sum += weight
		}
	}

	return sum
}

// assign matches stays with candidates, each candidate once, the most similar first. A stay with several equally
// similar candidates is ambiguous.
func assign(stays []outsideStay, candidates []candidate) []intake.Match {
	out, taken, settled := make([]intake.Match, len(stays)), map[id.ID]bool{}, make([]bool, len(stays))

	for level := 15; level > 0; level-- {
		fits := map[int][]id.ID{}

		for i := range candidates {
			c := &candidates[i]
			if n := c.N - 1; !settled[n] && !taken[c.ID] && c.likeness(&stays[n]) == level {
				fits[n] = append(fits[n], c.ID)
			}
		}

		for n := range stays {
			// Drop candidates that an earlier stay of this level took.
			var left []id.ID

			for _, v := range fits[n] {
				if !taken[v] {
					left = append(left, v)
				}
			}

			switch len(left) {
			case 0:
			case 1:
				out[n], taken[left[0]], settled[n] = intake.Match{ID: &left[0]}, true, true
			default:
				out[n], settled[n] = intake.Match{Ambiguous: true}, true
			}
		}
	}

	return out
}

// loadSuccessors returns for booked reservations that a source has dropped the reservation it has brought since then
// for the same stay, if there is exactly one: not inactive, on the same listing, with the same code, or without codes
// with the same nights and guest, which people may have changed here. A reservation that people have changed, or a
// deposit has paid, does not count.
func loadSuccessors(ctx context.Context, tx *db.Tx, from intake.Origin, gone []id.ID) (map[id.ID]id.ID, error) {
	type row struct{ OldID, NewID id.ID }

	found, err := db.Select[row](ctx, tx, `
		select min(o.id::text)::uuid as old_id, n.id as new_id from reservation o
		cross join lateral (
			select (array_agg(r.id))[1] as id from reservation r
			where r.team_id = @team and r.listing_id = o.listing_id and r.id > o.id and r.status <> 'inactive' and r.id <> all(@gone)
				and `+isOrWasSQL("r", "o")+` and exists (select from external_record e where e.team_id = @team and e.entity_id = r.id and e.source_id = @source
					and e.kind = 'reservation' and e.state = 'active')
				and `+untouchedSQL+`
			having count(*) = 1`+db.Fence+`) n
		where o.team_id = @team and o.id = any(@gone) and o.status = 'booked' group by n.id having count(*) = 1`,
		db.Args{"team": tx.Team, "gone": gone, "source": from.SourceID})
	if err != nil {
		return nil, fmt.Errorf("find what has taken the place of reservations: %w", err)
	}

	out := make(map[id.ID]id.ID, len(found))
	for _, r := range found {
		out[r.OldID] = r.NewID
	}

	return out, nil
}

// ListTwins returns the reservations from active connections for the same stays as reservations in the books of a
// former connection. A reservation that people have changed, or a deposit has paid, is left out, and so are pairs of a
// cutover, where one counts already.
func ListTwins(ctx context.Context, tx *db.Tx, connection id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `
		select distinct r.id from reservation o join reservation r on r.team_id = o.team_id and r.listing_id = o.listing_id and r.connection_id <> o.connection_id
			and r.status <> 'inactive' and `+isOrWasSQL("r", "o")+`
		join connection c on c.team_id = @team and c.id = r.connection_id and c.status = 'active'
		where o.team_id = @team and o.connection_id = @connection
			and not exists (select from reservation_pair p where p.team_id = @team and (p.source_id, p.target_id) in ((o.id, r.id), (r.id, o.id)))
			and not (select former.is_outside_books from connection former where former.team_id = @team and former.id = @connection) and o.status <> 'inactive' and `+untouchedSQL+` order by r.id`,
		db.Args{"team": tx.Team, "connection": connection})
	if err != nil {
		return nil, fmt.Errorf("find the stays of a connection that others have brought, too: %w", err)
	}

	return found, nil
}
