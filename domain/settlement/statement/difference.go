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

// Difference is the change of a statement since its owners last saw it.
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

// ChangedLine is an entry that differs from the one that the owners saw.
type ChangedLine struct {
	Before Line `json:"before"`
	Now    Line `json:"now"`
}

// keptLine is a line with the names that identify it. They stay the same when its journal is derived anew.
type keptLine struct {
	SourceID id.ID  `json:"sourceId"`
	TxnCode  string `json:"txnCode"`
	Ref      string `json:"ref"`
	Line
}

// lineName identifies a line across derivations of its journal.
type lineName struct {
	source       id.ID
	txnCode, ref string
}

// name returns the identity of the line.
func (l *keptLine) name() lineName { return lineName{l.SourceID, l.TxnCode, l.Ref} }

// same reports whether two lines book the same. A renamed account or guest is no change.
func (l *keptLine) same(o *keptLine) bool {
	transaction := func(v *id.ID) id.ID {
		if v == nil {
			return id.Zero
		}

		return *v
	}

	return l.Date == o.Date && l.Section == o.Section && l.Account.ID == o.Account.ID && l.Total == o.Total &&
		l.Description == o.Description &&
		transaction(l.TransactionID) == transaction(o.TransactionID)
}

// readDifference compares a statement with the last version that its owners saw. It fails with apierr.NotFound if
// the statement was never published.
func readDifference(ctx context.Context, tx *db.Tx, in *idInput) (*Difference, error) {
	r, err := loadOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := loadOneDraftData(ctx, tx, r); err != nil {
		return nil, err
	}

	last, err := loadLastVersion(ctx, tx, r.id())
	if err != nil {
		return nil, err
	}

	// Begin with no difference: that is the answer for a published statement that was never reopened.
	now := r.financials()

	d := &Difference{
		StatementID: r.id(),
		Status:      r.Status,
		Version:     1,
		Before:      now,
		Now:         now,
		Difference:  now.less(now),
		Added:       []Line{},
		Removed:     []Line{},
		Changed:     []ChangedLine{},
	}
	switch {
	case last == nil && r.Status != Published:
		return nil, apierr.NotFound
	case last == nil:
		d.PublishedAt = *r.PublishedAt
		return d, nil
	}

	d.Version = last.Version
	d.PublishedAt = last.PublishedAt
	d.ReopenedAt = &last.ReopenedAt
	d.Before = last.financials()
	d.Difference = now.less(d.Before)

	// Then compare the lines that were kept when it was reopened with those of now.
	entries, err := loadEntries(ctx, tx, []row{*r})
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

// compare sorts the lines of before and now into added, removed and changed ones.
func (d *Difference) compare(before []keptLine, entries []entry) {
	// Each line of now takes its counterpart out; the rest was removed.
	gone := make(map[lineName]*keptLine, len(before))
	for i := range before {
		gone[before[i].name()] = &before[i]
	}

	lines := renderLines(entries)
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

	// Go over the slice and not over the map, so that the order is the same every time.
	for i := range before {
		if gone[before[i].name()] != nil {
			d.Removed = append(d.Removed, before[i].Line)
		}
	}

	slices.SortStableFunc(d.Removed, func(a, b Line) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Description, b.Description))
	})
}
