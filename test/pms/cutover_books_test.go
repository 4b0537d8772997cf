package pms_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"stayledger/platform/db"
)

// books returns the sums of the ledger of a team, by account, month and currency.
func (c *move) books() map[string]int64 {
	c.T.Helper()

	type row struct {
		Name  string
		Cents int64
	}

	var rows []row

	c.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[row](ctx, tx, `
			select account_id || ' ' || to_char(txn_at, 'YYYY-MM') || ' ' || currency as name, sum(cent_total)::bigint as cents
			from ledger_entry where team_id = @team and status = 'active' group by 1 having sum(cent_total) <> 0`, db.Args{"team": tx.Team})

		return err
	})

	out := map[string]int64{}
	for _, r := range rows {
		out[r.Name] = r.Cents
	}

	return out
}

// What a preview says of the books is what the cutover then does to them, and the preview itself does nothing to them.
func TestAPreviewSaysHowTheBooksWillDiffer(t *testing.T) {
	t.Parallel()
	c := newMove(t)

	c.postEarly()

	// Each deposit is behind other reservations afterwards; the last one behind none.
	stays := []string{}

	for i, code := range []string{"C-code", "C-guest", "C-lost"} {
		stay := c.of(c.connection, code)
		stays = append(stays, stay.String("id"))
		c.pay(stay, 1000*(i+1))
	}

	if got := c.Post(previewPath, c.ask(object{"listingMappings": nil})).Want(200); got.String("journalChanges") != "null" {
		t.Errorf("a cutover that is blocked changes %s", got.Body)
	}

	before := c.books()
	preview := c.Post(previewPath, c.ask(nil)).Want(200)

	if after := c.books(); !maps.Equal(before, after) {
		t.Fatalf("the preview changed the books from %v to %v", before, after)
	}

	said, behind := maps.Clone(before), map[string]bool{}

	for i := range preview.Len("journalChanges") {
		at := fmt.Sprintf("journalChanges.%d.", i)
		name := preview.String(at+"accountId") + " " + preview.String(at+"month") + " " + preview.String(at+"currency")
		said[name] += preview.Int(at+"after") - preview.Int(at+"before")

		var sum int64

		for j := range preview.Len(at + "reservations") {
			of := fmt.Sprintf("%sreservations.%d.", at, j)
			behind[preview.String(of+"reservationId")] = true
			sum += preview.Int(of+"after") - preview.Int(of+"before")
		}

		if sum != preview.Int(at+"after")-preview.Int(at+"before") {
			t.Errorf("the reservations do not sum to the change: %s", preview.Body)
		}
	}

	maps.DeleteFunc(said, func(_ string, cents int64) bool { return cents == 0 })

	for _, stay := range append(stays, c.of(c.target, "C-code").String("id"), c.of(c.target, "C-early").String("id"), "null") {
		if !behind[stay] {
			t.Errorf("%s is behind no change: %s", stay, preview.Body)
		}
	}

	c.Post(applyPath, c.ask(nil)).Want(200)
	c.Outlast(nil)

	if after := c.books(); !maps.Equal(said, after) || maps.Equal(before, after) {
		t.Errorf("the books were %v, the preview said %v, they are %v", before, said, after)
	}
}
