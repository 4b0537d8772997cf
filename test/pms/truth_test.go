package pms_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"stayledger/platform/db"
	sandbox "stayledger/provider/sandbox/pms"
)

// same holds the reservations here to those of the system, each there once.
func (s *scene) same(names []string) {
	s.T.Helper()

	want, got := map[string]string{}, s.here()

	for _, name := range names {
		r, err := s.system.Reservation(name)
		if err != nil {
			s.T.Fatal(err)
		}

		want[name] = fmt.Sprint(r.Status, " ", r.CheckIn, " ", r.CheckOut, " ", cents(string(r.Total)))
	}

	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			s.T.Errorf("%s is %q here and %q at the system", name, got[name], want[name])
		}

		delete(got, name)
	}

	for name, what := range got {
		s.T.Errorf("%s is here as %q and not at the system", name, what)
	}
}

// here returns the reservations of the connection that are not inactive, by the system's id.
func (s *scene) here() map[string]string {
	s.T.Helper()

	type row struct {
		SourceID, Status, CheckIn, CheckOut string
		Total                               int64
	}

	out := map[string]string{}

	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		rows, err := db.Select[row](ctx, tx, `
			select r.source_id, r.status, r.check_in::text, r.check_out::text, coalesce(sum(l.amount), 0)::bigint as total
			from reservation r left join reservation_line l on l.team_id = r.team_id and l.reservation_id = r.id
			where r.team_id = @team and r.connection_id = @connection and r.status <> 'inactive' group by r.team_id, r.id`,
			db.Args{"team": tx.Team, "connection": s.connection})

		for _, r := range rows {
			if _, twice := out[r.SourceID]; twice {
				s.T.Errorf("%s is here twice", r.SourceID)
			}

			out[r.SourceID] = fmt.Sprint(r.Status, " ", r.CheckIn, " ", r.CheckOut, " ", r.Total)
		}

		return err
	})

	return out
}

// books returns what the ledger has of reservations: each entry without ids, sorted.
func (s *scene) books() (entries []string) {
	s.T.Helper()
	s.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		entries, err = db.Select[string](ctx, tx, `
			select concat_ws(' ', r.confirmation_code, a.code, e.txn_at, e.cent_total, e.party)
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			join reservation r on r.team_id = e.team_id and r.id = e.reservation_id
			where e.team_id = @team and e.status = 'active' order by 1`, db.Args{"team": tx.Team})

		return err
	})

	return entries
}

// cents returns the amount of a decimal with two places, by other means than the product.
func cents(decimal string) int64 {
	r, ok := new(big.Rat).SetString(decimal)
	if !ok {
		panic("no decimal: " + decimal)
	}

	return r.Mul(r, big.NewRat(100, 1)).Num().Int64()
}

// byHand enters the reservations of the system in another team, as its people would.
func (s *scene) byHand(names []string) *scene {
	s.T.Helper()

	other := newScene(s.T)
	listing := other.Post("/listings", object{"name": "House 1"}).Want(201).ID("id")
	items := array{}

	for _, name := range names {
		r, err := s.system.Reservation(name)
		if err != nil {
			s.T.Fatal(err)
		}

		items = append(items, object{
			"listingId": listing, "appId": "pmsProtocol", "confirmationCode": r.Code, "status": r.Status, "checkIn": r.CheckIn, "checkOut": r.CheckOut,
			"bookingPlatform": r.Channel, "currency": r.Currency, "lines": byHandLines(&r),
		})
	}

	if got := other.Post("/reservations/batch", object{"data": items}).Want(200); got.Len("issues") > 0 {
		s.T.Fatalf("by hand: %s", got.Body)
	}

	return other
}

// byHandLines returns the lines of a reservation with the difference to its total.
func byHandLines(r *sandbox.Reservation) array {
	lines, sum := array{}, int64(0)

	for _, l := range r.Lines {
		lines = append(lines, object{"type": l.Type, "amount": cents(l.Amount)})
		sum += cents(l.Amount)
	}

	if left := cents(string(r.Total)) - sum; left != 0 {
		lines = append(lines, object{"type": "difference", "amount": left})
	}

	return lines
}
