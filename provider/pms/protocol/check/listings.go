package check

import (
	"context"
	"fmt"
	"time"

	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
)

// walk is the progress of a reading of all pages.
type walk struct {
	given map[string]time.Time // when each row was changed that was given
	rows  int
	pages int
	stale int // pages in a row that gave nothing new
}

// staleAtMost is the number of pages in a row without a new row that ends a reading.
const staleAtMost = 3

// add counts the rows of a page, and reports whether the reading should go on. A server could return the same rows for
// ever under new names of pages.
func (w *walk) add(rows []protocol.Row) bool {
	isNew := len(rows) == 0

	for _, row := range rows {
		stamp, has := w.given[row.ID]
		isNew = isNew || !has || !stamp.Equal(row.ChangedAt)
		w.given[row.ID] = row.ChangedAt
	}

	w.pages++
	w.rows += len(rows)

	if w.stale++; isNew {
		w.stale = 0
	}

	return w.stale < staleAtMost
}

// readAll reads all pages within the limits of the check, and reports whether it reached the end. Get reads a page and
// returns the name of the next.
func (c *checker) readAll(
	ctx context.Context, own part, get func(page string) (next string, err error),
) (w walk, isWhole bool) {
	w.given = map[string]time.Time{}
	seen := map[string]bool{}

	for page := ""; ; {
		var next string

		err := c.call(ctx, func() (err error) {
			next, err = get(page)
			return err
		})
		if err != nil {
			c.reportCall(ctx, own, err)
			return w, false
		}

		switch goesOn := w.add(protocol.Rows(c.body)); {
		case next == "":
			c.report.pass(own.pages)
			return w, true
		case seen[next]:
			c.wrong(own.pages, "", "next", "names a page that came before")
			return w, false
		case !goesOn:
			c.wrong(own.pages, "", "next", fmt.Sprintf("%d pages gave only rows that came before", staleAtMost))
			return w, false
		case w.pages >= c.Pages || w.rows >= c.Rows:
			c.report.note(NotChecked, fmt.Sprintf("Stopped after %d pages and %d rows.", w.pages, w.rows), own.pages)
			return w, false
		}

		seen[next] = true
		page = next
	}
}

// listingRules are the rules of fields of listings that cannot be read.
var listingRules = map[string]string{"name": listingName, "currency": listingMoney, "parentId": listingParent}

// checkListings reads all listings.
func (c *checker) checkListings(ctx context.Context) {
	own := part{list: listingList, next: listingNext, pages: listingPages, id: listingID}

	type child struct{ request, id, parent string }

	var (
		children []child
		times    = map[string]int{}
	)

	w, isWhole := c.readAll(ctx, own, func(page string) (string, error) {
		got, err := c.client.Listings(ctx, page)
		if err != nil {
			return "", err
		}

		// The client gives each listing of a page once, so that repetitions are only in the rows as they came.
		for _, row := range protocol.Rows(c.body) {
			if times[row.ID]++; times[row.ID] == 2 {
				c.wrong(listingUnique, row.ID, "id", "comes twice")
			}
		}

		for i := range got.Unreadable {
			c.listings[got.Unreadable[i].ID] = false
			c.reportRow(&got.Unreadable[i], listingRules, listingForm)
		}

		for i := range got.Listings {
			l := &got.Listings[i]
			c.listings[l.ID] = true

			if l.ParentID != "" {
				children = append(children, child{c.request, l.ID, l.ParentID})
			}

			if !l.Archived && len(c.free) < blockTries {
				c.free = append(c.free, l.ID)
			}
		}

		return got.Next, nil
	})

	// A parent can be on a later page, so parents are looked for at the end.
	for _, l := range children {
		if _, has := c.listings[l.parent]; l.parent == l.id || isWhole && !has {
			c.report.fail(listingParent, Finding{
				Request: l.request, Row: l.id, Field: "parentId", Fault: "is " + l.parent + ", which no other listing has",
			})
		}
	}

	if w.pages > 0 {
		c.hasListings = isWhole
		c.report.pass(listingList, listingNext, listingID)
		c.passRows(w.rows, "listing", listingUnique, listingName, listingMoney, listingParent, listingForm)
		c.checkPage(ctx, listingPage, w.pages > 1, func(page string) error {
			_, err := c.client.Listings(ctx, page)

			return err
		})
	}
}

// reportRow reports the rule that an unreadable row breaks.
func (c *checker) reportRow(u *pms.Unreadable, rules map[string]string, other string) {
	rule, has := rules[firstName(u.Field)]
	if !has {
		rule = other
	}

	c.wrong(rule, u.ID, u.Field, string(u.Fault))
}

// passRows passes rules of rows, or notes that there was no row.
func (c *checker) passRows(count int, noun string, rules ...string) {
	if count == 0 {
		c.report.note(NotChecked, "No "+noun+" was given.", rules...)
		return
	}

	c.report.pass(rules...)
}
