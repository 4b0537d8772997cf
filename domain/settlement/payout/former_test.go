package payout_test

import (
	"context"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Who owned a listing is paid for that time after it has ended, be it that another owns the listing by then or that it
// is closed; the money comes out of the former owners' balance, and stays there when the journals are derived anew.
func TestFormerOwnersArePaid(t *testing.T) {
	t.Parallel()

	for name, next := range map[string]object{
		"sold": {"members": array{}}, "closed": {"setListingInactive": true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			path := "/listings/ownership-periods/" + h.villa.Period.String()
			h.Put(path, object{"endAt": "2026-02-01", "setListingInactive": next["setListingInactive"]})
			h.Work()

			if next["members"] != nil {
				buyer := h.Contact("owner", "Eve")
				h.Post("/listings/ownership-periods", object{"listingId": h.villa.ID, "startAt": "2026-02-01", "members": array{object{"contactId": buyer, "split": 100000}}})
				h.Work()
			}

			january := h.earn(h.villa, "2026-01", 50000)
			wantEntry(t, h.Post("/statements/pay", body("2026-02-05", january)).Want(200), "results.0", isRecorded, 30000, 20000) // with the reserve of 200.00, which is free

			for range 2 {
				var periods []id.ID

				h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
					periods, err = db.Select[id.ID](ctx, tx, `
						select distinct ownership_period_id from ledger_entry where team_id = @team and trigger_type = 'payout' and party = 'owners'`,
						db.Args{"team": tx.Team})

					return err
				})

				if len(periods) != 1 || periods[0] != h.villa.Period {
					t.Errorf("the payouts come out of %v", periods)
				}

				h.Post("/transactions/journal-entries", object{}).Want(202)
				h.Work()
			}
		})
	}
}
