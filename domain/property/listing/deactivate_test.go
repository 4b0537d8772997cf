package listing_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

// calendar is a team on a database of its own, with a clock that the test moves on.
type calendar struct {
	*apitest.Team
	t     *testing.T
	days  *atomic.Int64 // that the clock is ahead
	every []job.Every
}

func newCalendar(t *testing.T) *calendar {
	t.Helper()

	c := &calendar{t: t, days: &atomic.Int64{}}

	d, err := db.Open(t.Context(), db.Config{
		URL: apitest.Database(t), Now: func() time.Time { return time.Now().AddDate(0, 0, int(c.days.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	own := listing.New(journal.Sources(), fee.EndPeriods).Part()
	all := parts.Join(own, fee.Part(), ledger.Part(), contact.Part(nil), operation.Part(time.Hour), reservation.Part(), audit.Part(), team.Part(team.Config{}))
	c.every, c.Team = own.Every, apitest.New(t, apitest.Config{Endpoints: all.Endpoints, Handlers: all.Handlers, DB: d})
	c.KeepLedger(false)

	return c
}

// on returns a day, counted from the first one of the test.
func (c *calendar) on(days int) string { return day.Of(time.Now()).AddDays(days).String() }

// moveTo moves the clock to a day and does what the service does by itself.
func (c *calendar) moveTo(days int) {
	c.t.Helper()
	c.days.Store(int64(days))

	for _, e := range c.every {
		if err := e.Do(c.t.Context(), c.DB); err != nil {
			c.t.Fatal(err)
		}
	}
}

// ending adds an ownership period that makes its listing inactive.
func (c *calendar) ending(home, owner id.ID, end string) *apitest.Response {
	c.t.Helper()

	return c.Post(periods, object{"listingId": home, "members": []object{member(owner, 100_000)}, "endAt": end, "setListingInactive": true}).Want(201)
}

func (c *calendar) want(when string, home id.ID, status string) {
	c.t.Helper()

	if got := c.Get("/listings/" + home.String()).Want(200).String("status"); got != status {
		c.t.Errorf("%s it is %s, want %s", when, got, status)
	}
}

// A listing becomes inactive on the day after a period that says so, unless somebody owns it then.
func TestAListingEndsWithItsPeriod(t *testing.T) {
	t.Parallel()
	c := newCalendar(t)
	ada, bob := owner(c.Team, "Ada"), owner(c.Team, "Bob")
	alone, sold, gap, kept := home(c.Team, "Alone"), home(c.Team, "Sold"), home(c.Team, "Sold later"), home(c.Team, "Kept")

	for _, one := range []id.ID{alone, sold, gap} {
		c.ending(one, ada, c.on(2))
	}

	c.Post(periods, object{"listingId": kept, "members": []object{member(ada, 100_000)}, "endAt": c.on(2)}).Want(201)
	period(c.Team, sold, bob, c.on(2), "").Want(201)
	period(c.Team, gap, bob, c.on(4), "").Want(201)

	c.moveTo(1)
	c.want("on its last day", alone, "active")

	c.moveTo(2)
	c.want("the day after", alone, "inactive")
	c.want("sold on", sold, "active")
	c.want("sold later", gap, "inactive")
	c.want("without the setting", kept, "active")

	// A person has the last word, until another end is set.
	c.Put("/listings/"+alone.String(), object{"status": "active"}).Want(200)
	c.moveTo(3)
	c.want("active again", alone, "active")
}

// What keeps a listing from being made inactive holds its deactivation, which is shown and tried again each day.
func TestADeactivationThatIsHeld(t *testing.T) {
	t.Parallel()
	c := newCalendar(t)
	ada := owner(c.Team, "Ada")
	cabin := home(c.Team, "Cabin")
	path := periods + "/" + c.ending(cabin, ada, c.on(1)).String("id")
	fixture.Stay(c.Team, cabin, "booked", c.on(0), c.on(3))

	if got := c.Get(path).Want(200); got.String("deactivationHeld") != "null" {
		t.Errorf("before its end: %s", got.Body)
	}

	for _, at := range []int{1, 2} {
		c.moveTo(at)
		c.want("while a guest stays", cabin, "active")

		got := c.Get(path).Want(200)
		if got.String("deactivationHeld.lockReasons") != `["reservations"]` || got.String("deactivationHeld.triedOn") != c.on(at) {
			t.Errorf("held: %s", got.Body)
		}
	}

	if got := c.Get("/listings?issue=missingOwnershipOrDeactivation").Want(200); got.Int("pagination.total") != 1 {
		t.Errorf("listings to look at: %s", got.Body)
	}

	issues := func() int { return c.Get("/team").Want(200).Len("issues") }

	c.KeepLedger(true)

	all := c.Get("/team").Want(200)
	last := fmt.Sprintf("issues.%d.", all.Len("issues")-1)

	if all.String(last+"code") != "listingDeactivationHeld" || all.Int(last+"context.count") != 1 || all.ID(last+"context.listingIds.0") != cabin {
		t.Errorf("issues of the team: %s", all.String("issues"))
	}

	held := issues()

	c.moveTo(3)

	if got := issues(); got != held-1 {
		t.Errorf("%d issues, want one less than %d", got, held)
	}

	c.want("when the guest has left", cabin, "inactive")

	if got := c.Get(path).Want(200); got.String("deactivationHeld") != "null" {
		t.Errorf("when it is done: %s", got.Body)
	}
}

// An end that is past when it is saved counts at once.
func TestAPeriodThatHasEndedCountsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCalendar(t)
	ada := owner(c.Team, "Ada")
	made, changed, guest := home(c.Team, "Made"), home(c.Team, "Changed"), home(c.Team, "Guest")
	c.days.Store(10)

	c.ending(made, ada, c.on(10))
	c.want("created", made, "inactive")

	path := periods + "/" + c.ending(changed, ada, c.on(20)).String("id")
	c.Put(path, object{"endAt": c.on(5)}).Want(200)
	c.want("changed", changed, "inactive")

	// A change of something else does not count again.
	c.Put("/listings/"+changed.String(), object{"status": "active"}).Want(200)
	c.Put(path, object{"reserve": 100}).Want(200)
	c.want("with another reserve", changed, "active")
	c.Put(path, object{"setListingInactive": false}).Want(200)
	c.Put(path, object{"setListingInactive": true}).Want(200)
	c.want("wanted again", changed, "inactive")

	fixture.Stay(c.Team, guest, "booked", c.on(9), c.on(12))

	if got := c.ending(guest, ada, c.on(10)).String("deactivationHeld.lockReasons"); got != `["reservations"]` {
		t.Errorf("held by %s", got)
	}

	first := c.Post("/listings", object{"name": "Old", "initialOwnership": object{
		"members": []object{member(ada, 100_000)}, "endAt": c.on(1), "setListingInactive": true,
	}}).Want(201)
	if first.String("status") != "inactive" {
		t.Errorf("a listing that was owned until lately is %s", first.Body)
	}
}
