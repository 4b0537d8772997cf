package pms_test

import "testing"

// Other days of a stay under a published statement block a cutover only where an entry would differ by them, and the refusal says which
// stay that is.
//
// Proves: CUT-35, CUT-36.
func TestOnlyWhatChangesAHeldEntryBlocksACutover(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name, in, out string
		locked        int64
	}{
		{"a later check-out", "2026-06-05", "2026-06-09", 0},
		{"a later check-in", "2026-06-06", "2026-06-09", 1}, // the entry has another date
		{"another month", "2026-07-05", "2026-07-08", 1},
	} {
		m := newMoving(t, nil)
		m.before("stay", "2026-06-05", "2026-06-08", 300)
		m.after("stay", c.in, c.out, 300)
		m.begin()
		m.Post("/statements", object{"month": "2026-06", "status": "published", "listingPeriodIds": array{m.home.Period}}).Want(201)

		source := m.find(m.connection, "stay").String("id")

		if preview := m.Post(previewPath, m.ask(nil)).Want(200); preview.Int("impactedReservations.lockedCount") != c.locked {
			t.Errorf("%s: the preview is %s", c.name, preview.Body)
		}

		if c.locked > 0 {
			if got := m.Post(applyPath, m.ask(nil)).WantError("CONFLICT", "reservationLocked"); got.String("context.reservationIds.0") != source {
				t.Errorf("%s: the refusal is %s", c.name, got.Body)
			}

			continue
		}

		m.apply()
		m.want("stay", [2]int64{30_000, 0}, "booked", c.in, c.out)
	}
}
