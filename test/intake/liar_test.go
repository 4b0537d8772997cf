package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// record is a stay as the source has it.
type record struct {
	guest    string
	checkIn  string
	nights   int
	status   string
	lines    []line
	version  int  // grows with every change
	gone     bool // deleted at the source
	bad      bool // malformed
	listing  string
	skip     intake.Reason
	previous *record
}

// liar is a source that has a truth and may lie about it.
type liar struct {
	mu      sync.Mutex
	listing id.ID
	records map[string]*record
	clock   int

	pageSize int
	// lie is asked before each page and may change it, or fail.
	lie func(call int, ask intake.Request, p *intake.Page) error
	// silent about deletions: they show only as missing in complete readings.
	silent bool
	calls  int
}

func newLiar() *liar { return &liar{records: map[string]*record{}, pageSize: 5} }

// set changes a record, or makes it.
func (l *liar) set(name string, change func(r *record)) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.clock++

	r := record{guest: "Guest " + name, checkIn: "2026-02-10", nights: 3, status: "booked", lines: []line{{"rent", 30_000}}}

	if old := l.records[name]; old != nil {
		r = *old
		r.lines = slices.Clone(old.lines)
		r.previous = old
	}

	r.gone = false
	change(&r)
	r.version = l.clock
	l.records[name] = &r
}

// remove deletes a record.
func (l *liar) remove(name string) {
	l.set(name, func(r *record) { r.gone = true })
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// change returns a record as the source gives it.
func (l *liar) change(name string, r *record) intake.Change {
	c := intake.Change{Kind: "reservation", ExternalID: name, ChangedAt: epoch.Add(time.Duration(r.version) * time.Second), Skip: r.skip}
	if r.gone {
		c.Gone = true
		return c
	}

	from, err := day.Parse(r.checkIn)
	if err != nil {
		panic(err)
	}

	c.At = &from
	c.Values = intake.Values{}

	for field, v := range map[string]any{
		"confirmationCode": name, "guestName": r.guest, "checkIn": from, "checkOut": from.AddDays(r.nights), "status": r.status,
		"lines": r.lines, "listingId": l.listing,
	} {
		c.Values[field] = json.RawMessage(jsonText(v))
	}

	if r.bad {
		c.Values["checkIn"] = json.RawMessage(`"the first of May"`)
	}

	if r.listing != "" {
		delete(c.Values, "listingId")
		c.Refs = map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: r.listing}}
	}

	return c
}

// Kinds are what the source has.
func (l *liar) Kinds() []string { return []string{"reservation"} }

// Pull gives a page. Cursors are offsets, so records shift when others come or go while it is read.
func (l *liar) Pull(_ context.Context, ask intake.Request) (*intake.Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.calls++

	since, _ := strconv.Atoi(ask.Since)
	offset, _ := strconv.Atoi(ask.Page)

	var names []string

	for name, r := range l.records {
		if r.version > since && (!r.gone || !l.silent) {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	p := &intake.Page{Watermark: strconv.Itoa(l.clock), Complete: ask.Since == ""}

	for _, name := range names[min(offset, len(names)):min(offset+l.pageSize, len(names))] {
		p.Changes = append(p.Changes, l.change(name, l.records[name]))
	}

	if offset+l.pageSize < len(names) {
		p.Next = strconv.Itoa(offset + l.pageSize)
	}

	if l.lie != nil {
		if err := l.lie(l.calls, ask, p); err != nil {
			return nil, err
		}
	}

	return p, nil
}

// Lookup gives records by name.
func (l *liar) Lookup(_ context.Context, _ string, names []string) ([]intake.Change, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	var out []intake.Change

	for _, name := range names {
		if r := l.records[name]; r != nil {
			out = append(out, l.change(name, r))
		} else {
			out = append(out, intake.Change{Kind: "reservation", ExternalID: name, Gone: true})
		}
	}

	return out, nil
}

// checkOut returns the day on which a stay ends.
func (l *liar) checkOut(r *record) string {
	from, err := day.Parse(r.checkIn)
	if err != nil {
		panic(err)
	}

	return from.AddDays(r.nights).String()
}

// compare returns the differences between what the source has and what is here.
func (l *liar) compare(here map[string]stay) []string {
	var out []string

	for name, r := range l.records {
		got, is := here[name]
		want := stay{
			ID: got.ID, ConfirmationCode: name, Status: r.status, GuestName: r.guest, CheckIn: r.checkIn,
			CheckOut: l.checkOut(r), Lines: r.lines,
		}

		if r.gone {
			want.Status = "inactive"
		}

		if len(want.Lines) == 0 {
			want.Lines = nil
		}

		switch {
		case !is && r.gone:
		case !is:
			out = append(out, name+" is missing")
		case r.gone && got.Status != "inactive":
			out = append(out, fmt.Sprintf("%s is gone at the source and %s here", name, got.Status))
		case !r.gone && jsonText(got) != jsonText(want):
			out = append(out, fmt.Sprintf("%s is %s, want %s", name, jsonText(got), jsonText(want)))
		}
	}

	for name := range here {
		if l.records[name] == nil {
			out = append(out, name+" is not the source's")
		}
	}

	slices.Sort(out)

	return out
}

var errDown = errors.New("the source is down")
