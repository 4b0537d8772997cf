package check

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
)

// unchanged is the age of a change that a reading since a mark should not return: longer than the overlap of marks and
// the difference of clocks.
const unchanged = 48 * time.Hour

// checkAgain reads everything a second time, and reports reservations that the second reading lacks.
func (c *checker) checkAgain(ctx context.Context, all *reading) {
	if len(all.ids) == 0 || !all.isWhole {
		c.report.note(NotChecked, "No reservation was given, or not all of them were read.", stayAgain)
		return
	}

	again := c.read(ctx, part{list: stayAgain, next: stayNext, pages: stayPages, id: stayID}, pms.Query{}, nil)
	if !again.isWhole {
		return
	}

	c.reportMissing(ctx, stayAgain, all.ids, again, func(pms.Reservation) bool { return true })
	c.report.pass(stayAgain)
}

// reportMissing reports reservations that a reading lacks and an earlier one had, unless a lookup shows that they are
// gone or not wanted any more.
func (c *checker) reportMissing(
	ctx context.Context, rule string, ids []string, r *reading, isWanted func(pms.Reservation) bool,
) {
	var missing []string

	for _, id := range ids {
		if _, has := r.stays[id]; !has {
			missing = append(missing, id)
		}
	}

	if len(missing) == 0 {
		return
	}

	// The lookup is a request of its own; what is reported is the last page of the reading.
	request := c.request
	asked := missing[:min(len(missing), protocol.MaxLookup)]

	now, _, err := c.client.Lookup(ctx, asked)
	isKnown := err == nil && c.report.at(lookupKnown).Outcome == OK

	for _, id := range asked {
		at := slices.IndexFunc(now, func(r pms.Reservation) bool { return r.ID == id })
		if isKnown && at >= 0 && (now[at].Gone || !isWanted(now[at])) {
			continue
		}

		c.report.fail(rule, Finding{Request: request, Row: id, Fault: "is missing, and was given before"})
	}
}

// checkSince reads the changes since the mark of the first reading, and reports rows that did not change since.
func (c *checker) checkSince(ctx context.Context, all *reading, begun time.Time) {
	if all.mark == "" {
		c.report.note(NotOffered, "The first page has no mark, so everything is read each time.", stayMark, staySince)
		return
	}

	c.report.pass(stayMark)

	own := part{list: staySince, next: stayNext, pages: stayPages, id: stayID}

	// Begin with one page: a server may forget a mark.
	err := c.call(ctx, func() error {
		_, err := c.client.Reservations(ctx, &pms.Query{Since: all.mark})
		return err
	})
	if errors.Is(err, pms.ErrCursor) {
		c.report.note(NotChecked, "The mark is answered with 410, so everything is read again.", staySince)
		return
	}

	if err != nil {
		c.reportCall(ctx, own, err)
		return
	}

	// A row that changed long before the mark is no change. A row without a stamp cannot be judged.
	got := c.read(ctx, own, pms.Query{Since: all.mark}, nil)

	for _, id := range got.ids {
		if s := got.stays[id]; !s.changed.IsZero() && s.changed.Before(begun.Add(-unchanged)) &&
			s.changed.Equal(all.stays[id].changed) {
			c.wrong(staySince, id, "changedAt", "is "+s.changed.Format(time.RFC3339)+", long before the mark")
		}
	}

	if got.isWhole {
		c.report.pass(staySince)
	}
}

// checkBounds reads reservations with nights within bounds, and reports reservations that the answer lacks.
func (c *checker) checkBounds(ctx context.Context, all *reading) {
	if c.report.at(stayAgain).Outcome == Wrong {
		c.report.note(NotChecked, "Readings do not have the same ids.", stayBounds)
		return
	}

	from, to, has := all.chooseBounds()
	if !has {
		c.report.note(NotChecked, "No reservation was given, or not all of them were read.", stayBounds)
		return
	}

	own := part{list: stayBounds, next: stayNext, pages: stayPages, id: stayID}

	got := c.read(ctx, own, pms.Query{From: &from, To: &to}, nil)
	if !got.isWhole {
		return
	}

	// Both bounds are included, so a stay that ends on the morning of from is outside.
	isWithin := func(begin, end day.Day) bool { return !begin.After(to) && end.After(from) }

	var wanted []string

	for _, id := range all.ids {
		if s := all.stays[id]; !s.isGone && !s.isBad && isWithin(s.begin, s.end) {
			wanted = append(wanted, id)
		}
	}

	c.reportMissing(ctx, stayBounds, wanted, got, func(r pms.Reservation) bool { return isWithin(r.CheckIn, r.CheckOut) })
	c.report.pass(stayBounds)
}

// chooseBounds returns days at the edges of reservations: the last night of one in the middle, and the check-in of the
// next. A server that counts the days of the bounds differently lacks one of the two.
func (r *reading) chooseBounds() (from, to day.Day, has bool) {
	var known []stay

	for _, id := range r.ids {
		if s := r.stays[id]; !s.isGone && !s.isBad {
			known = append(known, s)
		}
	}

	if len(known) == 0 || !r.isWhole {
		return from, to, false
	}

	slices.SortStableFunc(known, func(a, b stay) int { return a.begin.Compare(b.begin) })

	// Longer stays have nights before their last one, so prefer one.
	middle := known[len(known)/2]
	for _, s := range known[len(known)/2:] {
		if s.begin.DaysUntil(s.end) > 1 {
			middle = s
			break
		}
	}

	from = middle.end.AddDays(-1)
	to = from

	if next := slices.IndexFunc(known, func(s stay) bool { return !s.begin.Before(middle.end) }); next >= 0 {
		to = known[next].begin
	}

	return from, to, true
}

// noLookup is the advice to a server without a lookup.
const noLookup = "Reservations that a message names, or that a complete reading lacks, are looked up: without it " +
	"send no messages and say complete: false."

// checkLookup looks up reservations from the first reading, and an unknown id.
func (c *checker) checkLookup(ctx context.Context, all *reading) {
	const unknown = "stayledger-check-no-such-reservation"

	asked := make([]string, 0, sampleSize)
	for i := range all.sample {
		asked = append(asked, all.sample[i].ID)
	}

	// A lookup of nothing is never sent by the client, so that without reservations only the unknown one is asked for.
	got, unread, err := c.lookUp(ctx, asked)

	switch {
	case isAbsent(err):
		c.report.note(NotOffered, noLookup, lookupKnown, lookupUnknown)
		return
	case err != nil:
		c.reportCall(ctx, only(lookupKnown), err)
		return
	}

	for i := range unread {
		c.wrong(lookupKnown, unread[i].ID, unread[i].Field, string(unread[i].Fault))
	}

	for i := range got {
		c.compareStay(&got[i], all)
	}

	c.passRows(len(asked), "reservation that can be read", lookupKnown)

	// Then an id that no server has: its answer must not be a reservation.
	got, unread, err = c.lookUp(ctx, []string{unknown})

	switch {
	case len(asked) == 0 && isAbsent(err):
		c.report.note(NotOffered, noLookup, lookupKnown, lookupUnknown)
	case err != nil:
		c.reportCall(ctx, only(lookupUnknown), err)
	case len(unread) > 0 || slices.ContainsFunc(got, func(r pms.Reservation) bool { return !r.Gone }):
		c.wrong(lookupUnknown, unknown, "", "is given, and there is no such reservation")
	default:
		c.report.pass(lookupUnknown)
	}
}

// lookUp looks reservations up.
func (c *checker) lookUp(
	ctx context.Context, ids []string,
) (got []pms.Reservation, unread []pms.Unreadable, err error) {
	err = c.call(ctx, func() (err error) {
		got, unread, err = c.client.Lookup(ctx, ids)
		return err
	})

	return got, unread, err
}

// compareStay checks that a lookup returns the same reservation as the first reading, unless it has changed since.
func (c *checker) compareStay(now *pms.Reservation, all *reading) {
	at := slices.IndexFunc(all.sample, func(r pms.Reservation) bool { return r.ID == now.ID })
	if at < 0 {
		return
	}

	then := &all.sample[at]

	switch {
	case now.Gone:
		c.wrong(lookupKnown, now.ID, "", "is left out or gone, and was given by GET /reservations")
	case now.ChangedAt.Equal(then.ChangedAt):
		if names := diffFields(now, then); names != "" {
			c.wrong(lookupKnown, now.ID, names, "differs from what GET /reservations gave")
		}
	}
}

// diffFields returns the names of the fields in which two rows differ.
func diffFields(a, b *pms.Reservation) string {
	var names []string

	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		name := x.Type().Field(i).Name
		if name != "ChangedAt" && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			names = append(names, strings.ToLower(name[:1])+name[1:])
		}
	}

	return strings.Join(names, ", ")
}
