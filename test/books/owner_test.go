package books_test

import (
	"slices"
	"strings"
	"testing"
)

// sold gives a villa that its owners had until February 1 a new owner from the day given, none when it is empty.
func sold(t *testing.T, from string) (v *villa, later string) {
	t.Helper()
	v = newVilla(t)
	v.must("PUT", "/listings/ownership-periods/"+v.ownership, object{"startAt": "2026-01-01", "endAt": "2026-02-01"})

	if from != "" {
		v.must("POST", "/listings/ownership-periods", object{
			"listingId": v.listing, "startAt": from, "members": list{object{"contactId": v.ben, "split": 100000}},
		})
	}

	v.Work()

	return v, v.laterPeriod(v.ownership)
}

// laterPeriod returns the other ownership period of the listing, empty when it has one.
func (v *villa) laterPeriod(first string) (later string) {
	v.t.Helper()

	var periods struct{ Data []struct{ ID string } }
	v.read("/listings/ownership-periods?listingIds="+v.listing, &periods)

	for _, p := range periods.Data {
		if p.ID != first {
			later = p.ID
		}
	}

	return later
}

// Revenue that is recognised as a whole on a day without an owner, or with one who came after the stay, belongs to the
// owners of the nearest night of the stay, and is on a statement of theirs. By nights each owner has his own, and the
// nights between two owners are nobody's.
func TestRevenueOfADayWithoutOwnerGoesToTheNearestNight(t *testing.T) {
	t.Parallel()
	t.Run("check-out on the day on which the ownership ends", func(t *testing.T) {
		t.Parallel()
		v, _ := sold(t, "")
		v.usualFees()
		v.settings(object{"defaultRevenueRecognition": "checkOut"})
		stay := v.stay("2026-01-28", "2026-02-01", object{"rent": 40000})
		v.wantBooks("", "2026-02-01 2000 40000\n2026-02-01 4000 owners -40000\n2026-02-01 5100 owners 8000\n2026-02-01 4100 manager -8000")

		if got := v.ownerOf(v.ownership); got != 32000 {
			t.Errorf("the owners of the nights have %d", got)
		}

		v.told(t, stay, "2026-02-01", v.ownership, 32000)
	})
	t.Run("booked before the ownership begins", func(t *testing.T) {
		t.Parallel()
		v, later := sold(t, "2026-04-01")
		v.settings(object{"defaultRevenueRecognition": "bookedAt"})

		stay := v.Post("/reservations", object{
			"listingId": v.listing, "checkIn": "2026-04-01", "checkOut": "2026-04-03", "bookedAt": "2026-03-05", "lines": list{object{"type": "rent", "amount": 50000}},
		}).Want(201).String("id")
		if got := v.ownerOf(later); got != 50000 {
			t.Errorf("the owners to be have %d", got)
		}

		v.told(t, stay, "2026-03-01", later, 50000)
	})
	t.Run("a day whose owner came after the nights", func(t *testing.T) {
		t.Parallel()
		v, later := sold(t, "2026-02-01")
		v.settings(object{"defaultRevenueRecognition": "checkOut"})
		v.stay("2026-01-28", "2026-02-01", object{"rent": 40000})

		if nights, day := v.ownerOf(v.ownership), v.ownerOf(later); nights != 40000 || day != 0 {
			t.Errorf("the owners of the nights have %d, those of the day %d", nights, day)
		}
	})
	t.Run("the nights between two owners", func(t *testing.T) {
		t.Parallel()
		v, later := sold(t, "2026-02-04")
		v.settings(object{"defaultRevenueRecognition": "proRata"})
		v.stay("2026-01-31", "2026-02-05", object{"rent": 50000}) // owned: January 31 and February 4

		if first, second := v.ownerOf(v.ownership), v.ownerOf(later); first != 10000 || second != 10000 {
			t.Errorf("the first owners have %d, the second %d", first, second)
		}
	})
}

// told checks that a stay has no issue, and that its owners find what it earned on the statement of a month.
func (v *villa) told(t *testing.T, stay, month, period string, cents int64) {
	t.Helper()

	if got := v.Get("/reservations/" + stay).Want(200); got.Len("issues") != 0 {
		t.Errorf("issues %v", got.Value("issues"))
	}

	for _, s := range v.statements("") {
		if s.Ownership.ID == period && s.StartAt == month {
			if s.Financials.NetRevenue != cents {
				t.Errorf("the statement of %s has %+v", month, s.Financials)
			}

			return
		}
	}

	t.Errorf("no statement of %s for the owners of the stay", month)
}

// A stay without any owned night is an issue on it, of the team and in the trust report, with what it has for owners,
// until somebody owns it.
func TestAStayThatNobodyOwnsIsToldWithItsAmount(t *testing.T) {
	t.Parallel()
	v, _ := sold(t, "")
	v.usualFees()
	stay := v.stay("2026-02-10", "2026-02-12", object{"rent": 40000})
	other := v.stay("2026-02-14", "2026-02-16", object{"discount": -32000})

	r := v.Get("/reservations/" + stay).Want(200)
	if r.Len("issues") != 1 || r.String("issues.0.code") != "ownershipPeriodMissing" || r.String("issues.0.severity") != "error" ||
		r.Int("issues.0.context.centTotal") != 32000 || r.String("issues.0.context.currency") != "usd" || r.String("issues.0.context.listingId") != v.listing {
		t.Errorf("issues %v", r.Value("issues"))
	}

	team := v.Get("/team").Want(200)
	if team.Len("issues") != 1 || team.String("issues.0.code") != "ownershipPeriodMissing" || team.Int("issues.0.context.count") != 2 ||
		team.Int("issues.0.context.amounts.0.centTotal") != 0 || team.Len("issues.0.context.reservationIds") != 2 {
		t.Errorf("issues of the team %v", team.Value("issues"))
	}
	// The two cancel each other in the listing's balance, and are reported all the same.
	trust := v.Get("/reports/trust-reconciliation?date=2026-02-28").Want(200)

	var found []string

	for _, w := range trust.Value("warnings").([]any) { //nolint:forcetypeassert // a list
		w, _ := w.(map[string]any)
		if w["code"] != "ownerBalanceWithoutOwnership" {
			continue
		}

		items, _ := w["items"].([]any)
		for _, item := range items {
			item, _ := item.(map[string]any)
			found = append(found, item["reservationId"].(string)) //nolint:forcetypeassert // every one is of a stay
		}
	}

	slices.Sort(found)

	want := []string{stay, other}
	if slices.Sort(want); !slices.Equal(found, want) {
		t.Errorf("the trust report tells %s, want %s", strings.Join(found, " "), strings.Join(want, " "))
	}

	v.must("POST", "/listings/ownership-periods", object{
		"listingId": v.listing, "startAt": "2026-02-01", "members": list{object{"contactId": v.ben, "split": 100000}},
	})
	v.Work()

	if r, team := v.Get("/reservations/"+stay).Want(200), v.Get("/team").Want(200); r.Len("issues")+team.Len("issues") != 0 {
		t.Errorf("when somebody owns it: %v, %v", r.Value("issues"), team.Value("issues"))
	}
}
