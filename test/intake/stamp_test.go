package intake_test

import (
	"testing"
	"time"

	"stayledger/domain/record/intake"
)

// stampedBy makes the source stamp the changes of its next readings; each gives the stamp of every record of a page.
func (s *scene) stampedBy(stamp func() time.Time) {
	s.source.lie = func(_ int, _ intake.Request, p *intake.Page) error {
		for i := range p.Changes {
			p.Changes[i].ChangedAt = stamp()
		}

		return nil
	}
}

// A stamp from the future is none: what the source says afterwards is newer, whatever stamp it has.
func TestAStampFromTheFutureIsNone(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name        string
		first, then time.Duration // from now
		want        string
	}{
		{"a hundred years", 100 * 365 * 24 * time.Hour, 0, "Second"},
		{"just beyond the hour", time.Hour + time.Minute, -time.Hour, "Second"},
		{"a clock that is a little ahead is believed", 50 * time.Minute, 0, "First"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			now := s.DB.Now()

			s.stampedBy(func() time.Time { return now.Add(c.first) })
			s.source.set("HM00", func(r *record) { r.guest = "First" })
			s.sync(intake.Incremental)

			s.stampedBy(func() time.Time { return now.Add(c.then) })
			s.source.set("HM00", func(r *record) { r.guest = "Second" })
			s.sync(intake.Incremental)

			if got := s.stays()["HM00"].GuestName; got != c.want {
				t.Errorf("the guest is %s, want %s", got, c.want)
			}
		})
	}
}

// A complete reading has what the source says now, so an older stamp is believed there, and counts from then on.
func TestACompleteReadingBelievesAnOlderStamp(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	guest := func(name string, stamp time.Time, mode intake.Mode) string {
		s.stampedBy(func() time.Time { return stamp })
		s.source.set("HM00", func(r *record) { r.guest = name })
		s.sync(mode)

		return s.stays()["HM00"].GuestName
	}

	guest("First", epoch.Add(3*time.Hour), intake.Incremental)

	if got := guest("Late", epoch.Add(time.Hour), intake.Incremental); got != "First" {
		t.Errorf("after a late change the guest is %s", got)
	}

	if got := guest("Restored", epoch.Add(time.Hour), intake.Full); got != "Restored" {
		t.Errorf("after a complete reading the guest is %s", got)
	}

	if got := guest("Newer", epoch.Add(2*time.Hour), intake.Incremental); got != "Newer" {
		t.Errorf("after a change since the complete reading the guest is %s", got)
	}

	// The same content again, with an older stamp: the stamp counts all the same.
	guest("Newer", epoch.Add(time.Minute), intake.Full)

	if got := guest("Last", epoch.Add(2*time.Minute), intake.Incremental); got != "Last" {
		t.Errorf("after a change since an unchanged reading the guest is %s", got)
	}
}

// Stamps that were kept before they were checked hold nothing back either.
func TestAKeptStampFromTheFutureHoldsNothingBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.source.set("HM00", func(r *record) { r.guest = "First" })
	s.sync(intake.Incremental)
	s.Exec(`update external_record set changed_at = '2126-01-01' where team_id = @team`, nil)
	s.source.set("HM00", func(r *record) { r.guest = "Second" })
	s.sync(intake.Incremental)
	s.same()
}
