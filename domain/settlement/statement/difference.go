package statement

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Difference is what has changed in a statement since its owners last saw it.
type Difference struct {
	StatementID id.ID         `json:"statementId"`
	Status      Status        `json:"status" doc:"The status now."`
	Version     int64         `json:"version" doc:"The published version that is compared: the last that was reopened, else the one that is published."`
	PublishedAt day.Instant   `json:"publishedAt" doc:"When that version was published."`
	ReopenedAt  *day.Instant  `json:"reopenedAt" doc:"When it was reopened; null while it is still the published one."`
	Before      Financials    `json:"before"`
	Now         Financials    `json:"now"`
	Difference  Financials    `json:"difference" doc:"Now less before."`
	Added       []Line        `json:"added"`
	Removed     []Line        `json:"removed"`
	Changed     []ChangedLine `json:"changed"`
}

// ChangedLine is an entry that is told otherwise than before.
type ChangedLine struct {
	Before Line `json:"before"`
	Now    Line `json:"now"`
}

// keptLine is a line with what tells it apart from the others, and stays the same when its journal is derived anew.
type keptLine struct {
	SourceID id.ID  `json:"sourceId"`
	TxnCode  string `json:"txnCode"`
	Ref      string `json:"ref"`
	Line
}

type lineName struct {
	source       id.ID
	txnCode, ref string
}

func (l *keptLine) name() lineName { return lineName{l.SourceID, l.TxnCode, l.Ref} }

// same compares what is booked; a renamed account or guest changes no line.
func (l *keptLine) same(o *keptLine) bool {
	transaction := func(v *id.ID) id.ID {
		if v == nil {
			return id.Zero
		}

		return *v
	}

	return l.Date == o.Date && l.Section == o.Section && l.Account.ID == o.Account.ID && l.Total == o.Total && l.Description == o.Description &&
		transaction(l.TransactionID) == transaction(o.TransactionID)
}

func readDifference(ctx context.Context, tx *db.Tx, in *idInput) (*Difference, error) {
	r, err := one(ctx, tx, in.ID, false)
	if err != nil {
		return nil, err
	}

	if err := drawOne(ctx, tx, r); err != nil {
		return nil, err
	}

	last, err := lastVersion(ctx, tx, r.id())
	if err != nil {
		return nil, err
	}

	now := r.financials()

	d := &Difference{
		StatementID: r.id(), Status: r.Status, Version: 1, Before: now, Now: now, Difference: now.less(now), Added: []Line{}, Removed: []Line{}, Changed: []ChangedLine{},
	}
	switch {
	case last == nil && r.Status != Published:
		return nil, apierr.NotFound
	case last == nil:
		d.PublishedAt = *r.PublishedAt
		return d, nil
	}

	d.Version, d.PublishedAt, d.ReopenedAt, d.Before = last.Version, last.PublishedAt, &last.ReopenedAt, last.financials()
	d.Difference = now.less(d.Before)

	entries, err := entriesOf(ctx, tx, []row{*r})
	if err != nil {
		return nil, err
	}

	var before []keptLine
	if err := json.Unmarshal(last.Lines, &before); err != nil {
		return nil, fmt.Errorf("read kept lines: %w", err)
	}

	d.compare(before, entries[r.id()])

	return d, nil
}

// compare sorts the lines of before and now into those that came, went and changed, each by date.
func (d *Difference) compare(before []keptLine, entries []entry) {
	gone := make(map[lineName]*keptLine, len(before))
	for i := range before {
		gone[before[i].name()] = &before[i]
	}

	lines := linesOf(entries)
	for i := range entries {
		now := keptLine{SourceID: entries[i].SourceID, TxnCode: entries[i].TxnCode, Ref: entries[i].Ref, Line: lines[i]}
		was, known := gone[now.name()]
		delete(gone, now.name())

		switch {
		case !known:
			d.Added = append(d.Added, now.Line)
		case !was.same(&now):
			d.Changed = append(d.Changed, ChangedLine{was.Line, now.Line})
		}
	}

	for i := range before {
		if gone[before[i].name()] != nil {
			d.Removed = append(d.Removed, before[i].Line)
		}
	}

	slices.SortStableFunc(d.Removed, func(a, b Line) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Description, b.Description)) })
}
