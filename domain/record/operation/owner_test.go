package operation_test

import (
	"slices"
	"testing"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// house is a listing that one owner had until a day and another has from then on, with a stay in each one's time.
type house struct {
	before, after       id.ID // contacts
	stayBefore, stayNow id.ID // reservations
}

func (x *toy) house() house {
	x.t.Helper()
	h := house{before: fixture.Contact(x.Team, "owner", "Before"), after: fixture.Contact(x.Team, "owner", "After")}
	listing := fixture.Listing(x.Team, "House")
	fixture.Period(x.Team, listing, "", "2026-03-01", h.before)
	fixture.Period(x.Team, listing, "2026-03-01", "", h.after)
	h.stayBefore, h.stayNow = fixture.Stay(x.Team, listing, "booked", "2026-02-20", "2026-03-01"), fixture.Stay(x.Team, listing, "booked", "2026-03-01", "2026-03-05")

	return h
}

// Proves: OPS-50, OPS-68, OPS-69, OPS-12.
//
//nolint:paralleltest // Maintenance knows no teams: it would change rows under the parallel tests.
func TestOwnersReadWhatTheirAccessReaches(t *testing.T) {
	x := newToy(t)
	mine, theirs := x.house(), x.house()
	target := func(typ operation.ResourceType, v id.ID) object {
		return object{"type": typ, "id": v, "role": "target"}
	}
	start := func(typ string, resources ...object) string {
		return x.start(object{"type": typ, "primary": resources[0], "resources": resources, "tasks": []object{{}}})
	}
	refresh := start("reservation-journal-refresh", target("reservation", mine.stayNow))
	mixed := start("reservation-journal-refresh", target("reservation", theirs.stayNow), target("reservation", mine.stayNow), target("file", theirs.stayNow))
	ach := start("ach-verification", target("contact", mine.after))
	visible := []string{refresh, mixed, ach}
	hidden := []string{
		start("reservation-journal-refresh", target("reservation", theirs.stayNow)),
		start("reservation-journal-refresh", target("reservation", mine.stayBefore)),
		start("reservation-journal-refresh", target("contact", mine.after)),
		start("ach-verification", target("contact", theirs.after)),
		start("ach-verification", target("contact", mine.before)),
		start("ach-verification", target("reservation", mine.stayNow)),
		start("listing-journal-refresh", target("reservation", mine.stayNow)),
		start("export", target("contact", mine.after)),
		x.start(object{"type": "reservation-journal-refresh", "tasks": []object{{}}}),
	}
	owner := &toy{Team: x.As([]string{"operations:read"}, &mine.after), t: t}
	check := func() {
		t.Helper()

		list := owner.Get("/operations").Want(200)
		if got := idsOf(t, list); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(visible))) ||
			list.Int("total") != 3 || list.Int("counts.total") != 3 {
			t.Errorf("list: %s", list.Body)
		}

		for _, one := range visible {
			owner.read(one)
		}

		for _, one := range hidden {
			owner.Get("/operations/"+one).WantError(apierr.CodeNotFound, "")
		}

		for filter, n := range map[string]int64{
			"type=ach-verification": 1, "type=export": 0, "resourceType=reservation": 2, "resourceType=contact": 1, "initiatedBy=me": 0,
			"createdAtFrom=2026-01-01T00:00:00Z": 3, "resourceType=reservation&resourceId=" + mine.stayNow.String(): 2,
		} {
			if r := owner.Get("/operations?" + filter).Want(200); r.Int("total") != n || r.Int("counts.total") != n || int64(r.Len("items")) != n {
				t.Errorf("%s: %s", filter, r.Body)
			}
		}
	}
	check()
	x.Work()
	check()
	x.foldAll()
	check()

	if r := owner.read(mixed); r.Value("resource") != nil || r.Len("resources") != 1 || r.ID("resources.0.id") != mine.stayNow {
		t.Errorf("an owner sees what is not his: %s", r.Body)
	}

	if r := x.read(mixed); r.ID("resource.id") != theirs.stayNow || r.Len("resources") != 3 {
		t.Errorf("the manager sees: %s", r.Body)
	}

	if r := owner.Get("/operations?type=reservation-journal-refresh&limit=1").Want(200); r.String("items.0.id") != mixed || r.Value("items.0.resource") != nil {
		t.Errorf("the list shows what is not his: %s", r.Body)
	}
}
