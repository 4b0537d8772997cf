package reservation

import (
	"context"
	"errors"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/plain"
	"stayledger/platform/ptr"
)

// Stay is a reservation as far as a cutover compares it with others.
type Stay struct {
	Dates

	ID               id.ID
	ListingID        id.ID
	ConfirmationCode *string
	GuestName        *string
	Status           Status
	Currency         string
	// IsPosted says that it has active entries.
	IsPosted bool
	// IsPairSource and IsPairTarget say that it is one of a pair already.
	IsPairSource, IsPairTarget bool
	// HasEditedDays says that its nights are the word of people: not what its source said last.
	HasEditedDays bool
	// IsTyped says that no system has brought it.
	IsTyped bool
	// RetiredStatus is the status before a cutover made the stay inactive, nil if none did.
	RetiredStatus *Status
	// IsGone says that its source has it no more, HasMoney that lines of transactions or journals name it.
	IsGone   bool
	HasMoney bool
}

// ListStays loads the reservations of a connection for a cutover to compare: every active reservation, and an inactive
// reservation if the system dropped it, a cutover retired it, or lines name it.
func ListStays(ctx context.Context, tx *db.Tx, connection id.ID) ([]Stay, error) {
	return loadStays(ctx, tx, `r.connection_id = @connection`, db.Args{"connection": connection})
}

// ListNamed loads reservations by their ids, with the conditions of ListStays.
func ListNamed(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Stay, error) {
	return loadStays(ctx, tx, `r.id = any(@ids)`, db.Args{"ids": ids})
}

// ListCandidates loads the reservations of a connection (nil: entered by people) on the given listings with the code or
// the nights of another given reservation.
func ListCandidates(ctx context.Context, tx *db.Tx, connection *id.ID, listings, others []id.ID) ([]Stay, error) {
	return loadStays(ctx, tx, `r.connection_id is not distinct from @connection and r.listing_id = any(@listings) and (
		r.code_key in (select t.code_key from reservation t where t.team_id = @team and t.id = any(@others))
		or (r.check_in, r.check_out) in (select t.check_in, t.check_out from reservation t where t.team_id = @team and t.id = any(@others)))`,
		db.Args{"connection": connection, "listings": listings, "others": others})
}

// loadStays loads reservations r that meet a condition as far as a cutover compares them.
func loadStays(ctx context.Context, tx *db.Tx, condition string, args db.Args) ([]Stay, error) {
	args["team"] = tx.Team

	found, err := db.Select[Stay](ctx, tx, `
		select * from (
			select r.id, r.listing_id, r.confirmation_code, r.guest_name, r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at, r.status, r.currency,
				exists (select from ledger_entry e where e.team_id = @team and e.source_id = r.id and e.status = 'active') as is_posted,
				exists (select from reservation_pair p where p.team_id = @team and p.source_id = r.id) as is_pair_source,
				exists (select from reservation_pair p where p.team_id = @team and p.target_id = r.id) as is_pair_target,
				(said.check_in, said.check_out) is distinct from (r.check_in, r.check_out) and (said.check_in is not null or r.connection_id is null) as has_edited_days,
				r.connection_id is null as is_typed, case when r.status = 'inactive' then r.retired_status end as retired_status,
				coalesce(said.is_gone, false) as is_gone,
				exists (select from transaction_line l where l.team_id = @team and l.reservation_id = r.id)
					or exists (select from journal_line l where l.team_id = @team and l.reservation_id = r.id) as has_money
			from reservation r left join lateral (
				select (e.taken ->> 'checkIn')::date as check_in, (e.taken ->> 'checkOut')::date as check_out, e.state = 'gone' as is_gone
				from external_record e where e.team_id = @team and e.entity_id = r.id and (r.connection_id is null or e.source_id = r.connection_id)
					and e.kind = 'reservation'
				order by e.state limit 1) said on true
			where r.team_id = @team and `+condition+`) r
		where r.status <> 'inactive' or r.is_gone or r.retired_status is not null or r.has_money order by r.id`, args)
	if err != nil {
		return nil, fmt.Errorf("read the reservations that a cutover compares: %w", err)
	}

	return found, nil
}

// Twins are two reservations for the same stay.
type Twins struct{ Source, Target *Stay }

// place is the part that stays of two systems have in common: a listing, and a text.
type place struct {
	listing id.ID
	text    string
}

// Alike pairs stays of a source with stays of a target that are in no pair yet: by the confirmation code, else by
// nights and guest. The map becomes gives the listing to which a cutover moves a listing.
func Alike(sources, targets []*Stay, becomes map[id.ID]id.ID) (out []Twins) {
	taken := map[id.ID]bool{}

	// at returns where a stay is to be found by a text.
	at := func(r *Stay, text string) place {
		if now, moves := becomes[r.ListingID]; moves {
			return place{now, text}
		}

		return place{r.ListingID, text}
	}

	for _, text := range []func(*Stay) string{codeKey, guestKey} {
		from, to := map[place][]*Stay{}, map[place][]*Stay{}

		for _, s := range sources {
			if key := text(s); key != "" && !taken[s.ID] && !s.IsPairSource {
				from[at(s, key)] = append(from[at(s, key)], s)
			}
		}

		for _, t := range targets {
			if key := text(t); key != "" && !taken[t.ID] && !t.IsPairTarget {
				to[at(t, key)] = append(to[at(t, key)], t)
			}
		}

		for _, s := range sources {
			here := at(s, text(s))
			for _, one := range pairUp(from[here], to[here]) {
				taken[one.Source.ID], taken[one.Target.ID] = true, true
				out = append(out, one)
			}

			delete(from, here)
		}
	}

	return out
}

// codeKey returns the confirmation code of a stay as it is compared, empty for none.
func codeKey(r *Stay) string { return plain.Text(ptr.Value(r.ConfirmationCode)) }

// guestKey returns the nights and the guest of a stay as they are compared, empty for a stay without a guest.
func guestKey(r *Stay) string {
	name := plain.Text(ptr.Value(r.GuestName))
	if name == "" {
		return ""
	}

	return r.CheckIn.String() + " " + r.CheckOut.String() + " " + name
}

// pairUp pairs stays with equal codes, or equal nights and guests. The most similar stays are paired first; an
// ambiguous match counts as no match.
func pairUp(sources, targets []*Stay) []Twins {
	var out []Twins

	taken := map[id.ID]bool{}

	for level := mostAlike; level >= 0; level-- {
		fits := map[*Stay][]*Stay{}

		for _, s := range sources {
			for _, t := range targets {
				if !taken[s.ID] && !taken[t.ID] && likeness(s, t) == level {
					fits[s], fits[t] = append(fits[s], t), append(fits[t], s)
				}
			}
		}

		for _, s := range sources {
			if len(fits[s]) == 1 && len(fits[fits[s][0]]) == 1 {
				t := fits[s][0]
				taken[s.ID], taken[t.ID] = true, true
				out = append(out, Twins{s, t})
			}
		}
	}

	return out
}

// mostAlike is the likeness of stays that have everything in common.
const mostAlike = 7

// likeness returns how similar two stays with equal codes are: an active source counts most, then equal nights, then an
// equal status. It is negative if the code was used again after a cancellation, or if the source was entered by people
// and has another code.
func likeness(s, t *Stay) (sum int) {
	if s.IsTyped && codeKey(s) != "" && codeKey(t) != "" && codeKey(s) != codeKey(t) {
		return -1
	}

	overlap := s.CheckIn.Before(t.CheckOut) && t.CheckIn.Before(s.CheckOut)
	if !overlap && (s.Status == Canceled) != (t.Status == Canceled) {
		return -1
	}

	for weight, has := range map[int]bool{
		4: s.Status != Inactive || s.RetiredStatus != nil, 2: s.CheckIn == t.CheckIn && s.CheckOut == t.CheckOut,
		1: s.Status == t.Status,
	} {
		if has {
			sum += weight
		}
	}

	return sum
}

// errTriedDates undoes what was only tried.
var errTriedDates = errors.New("dates of a reservation were tried")

// IsHeldBack reports whether a lock keeps the source of twins from getting these dates, and the status of the target if
// it is inactive. It tries the change and undoes it.
func IsHeldBack(ctx context.Context, tx *db.Tx, t *Twins, to *Dates) (bool, error) {
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := lockReservations(ctx, tx, []id.ID{t.Source.ID}); err != nil {
			return err
		}

		if _, err := tx.Exec(ctx, `
			update reservation set check_in = @check_in, check_out = @check_out, booked_at = @booked_at, general_ledger_posting_at = @posting_at,
				status = case status when 'inactive' then @status else status end
			where team_id = @team and id = @id`,
			db.Args{
				"team": tx.Team, "id": t.Source.ID, "check_in": to.CheckIn, "check_out": to.CheckOut,
				"booked_at":  to.BookedAt,
				"posting_at": to.GeneralLedgerPostingAt, "status": t.Target.Status,
			}); err != nil {
			return fmt.Errorf("try the dates of a reservation: %w", err)
		}

		if err := Derive(ctx, tx, []id.ID{t.Source.ID}); err != nil {
			return err
		}

		return errTriedDates
	})

	switch {
	case errors.Is(err, errTriedDates):
		return false, nil
	case IsLocked(err):
		return true, nil
	}

	return false, err
}
