package pms_test

import (
	"fmt"
	"slices"
	"strings"

	"stayledger/platform/day"
)

// movedBlock is a block of nights of a listing, and whether that is the listing of the target.
type movedBlock struct {
	id         string
	isTwin     bool
	start, end day.Day
}

// movedRule is a bank rule that names a listing, with what it has spent on it.
type movedRule struct {
	id     string
	word   string // in the descriptions of its records
	isTwin bool
	spent  int64
}

// name has people block nights and write bank rules that name a listing of the house, before the cutover.
func (h *movedHouse) name() {
	// The last days of the time of each stay are free.
	for n := range h.stays {
		if h.dice.IntN(4) > 0 {
			continue
		}

		h.block(h.base.AddDays(n*16+13), 1+h.dice.IntN(2), h.isTwin())
	}

	for n := range h.dice.IntN(3) {
		r := &movedRule{word: fmt.Sprintf("depot %s %d", h.listing.ID, n), isTwin: h.isTwin()}
		r.id = h.Post("/bank-rules", object{
			"name": r.word, "transactionType": "expense", "mode": "suggest",
			"conditions": array{object{"type": "description", "operator": "contains", "value": r.word}},
			"lines":      array{object{"splitMode": "remainder", "accountId": h.Account("5200"), "listingId": h.listingID(r.isTwin)}},
		}).Want(201).String("id")
		h.rules = append(h.rules, r)
		h.log = append(h.log, fmt.Sprintf("rule, twin %t", r.isTwin))
		h.counted["rules"]++
	}

	// Nights that are blocked at both keep the house two listings.
	if n := len(h.blocks); n > 0 && h.twin != "" && h.dice.IntN(3) == 0 {
		b := h.blocks[h.dice.IntN(n)]
		h.block(b.start, b.start.DaysUntil(b.end), !b.isTwin)
		h.counted["blocked twice"]++
	}
}

// isTwin chooses one of the listings of the house: true for that of the target, mostly the other one.
func (h *movedHouse) isTwin() bool { return h.twin != "" && h.dice.IntN(3) == 0 }

// listingID returns a listing of the house, as it is now.
func (h *movedHouse) listingID(isTwin bool) string {
	if isTwin && !h.applied {
		return h.twin
	}

	return h.listing.ID.String()
}

// block blocks some nights of a listing of the house.
func (h *movedHouse) block(start day.Day, nights int, isTwin bool) {
	h.T.Helper()

	b := movedBlock{isTwin: isTwin, start: start, end: start.AddDays(nights)}
	h.Post("/calendar-blocks", object{"listingIds": array{h.listingID(isTwin)}, "startAt": b.start, "endAt": b.end}).Want(202)
	h.Outlast(nil)

	b.id = h.Get(fmt.Sprintf("/calendar-blocks?listingIds=%s&startAt=%s&endAt=%s", h.listingID(isTwin), b.start, b.end)).Want(200).String("data.0.id")
	h.blocks = append(h.blocks, b)
	h.log = append(h.log, fmt.Sprintf("blocked %s to %s, twin %t", b.start, b.end, b.isTwin))
	h.counted["blocks"]++
}

// clear has the cutover refused while nights are blocked at both listings, and takes the blocks of the target's away.
func (h *movedHouse) clear(ask object) {
	h.T.Helper()

	isDouble := func(b movedBlock) bool {
		return b.isTwin && slices.ContainsFunc(h.blocks, func(o movedBlock) bool { return !o.isTwin && o.start == b.start })
	}

	for _, b := range h.blocks {
		if !isDouble(b) {
			continue
		}

		if got := h.Post(applyPath, ask); got.Status != 409 && got.Status != 403 {
			h.T.Errorf("with nights that are blocked at both it answers %d: %s", got.Status, got.Body)
		}

		h.Call("DELETE", "/calendar-blocks", object{"ids": array{b.id}}).Want(202)
		h.Outlast(nil)
	}

	h.blocks = slices.DeleteFunc(slices.Clone(h.blocks), isDouble)
}

// spend has each rule take a record of the bank, unless its listing has no owner who could bear it.
func (h *movedHouse) spend() {
	h.T.Helper()

	for _, r := range h.rules {
		if r.isTwin && !h.applied {
			continue
		}

		cents := int64(1_000 + h.dice.IntN(9_000))
		record := h.Post("/bank-records/batch", object{"data": array{object{
			"accountId": h.Account("1000"), "date": h.day.AddDays(h.dice.IntN(9)), "amount": -cents, "description": strings.ToUpper(r.word),
		}}}).Want(201).String("data.0.id")
		run := h.Post("/bank-rules/"+r.id+"/run?dryRun=false", object{"bankRecordIds": array{record}}).Want(202).String("operationId")
		h.Outlast(nil)

		got := h.Get("/bank-records/" + record).Want(200)
		if !got.Has("reconciliation.transactions.0.id") {
			h.T.Errorf("%s has not taken %s: %s after %v", r.word, got.Body, h.Get("/bank-rules/"+r.id+"/runs/"+run).Body, h.log)
			continue
		}

		r.spent += cents

		made := h.Get("/transactions/" + got.String("reconciliation.transactions.0.id")).Want(200)
		if made.String("lines.0.listingId") != h.listingID(r.isTwin) || made.Int("total") != cents {
			h.T.Errorf("%s has made %s", r.word, made.Body)
		}
	}
}

// checkNamed holds the blocks and the bank rules to the listings of the world.
func (h *movedHouse) checkNamed() {
	h.T.Helper()

	var got, want []string

	for _, isTwin := range []bool{false, true} {
		in := h.listingID(isTwin)
		if in == "" || isTwin && h.applied {
			continue
		}

		found := h.Get("/calendar-blocks?listingIds=" + in).Want(200)
		for i := range found.Len("data") {
			at := fmt.Sprintf("data.%d.", i)
			got = append(got, strings.Join([]string{in, found.String(at + "id"), found.String(at + "startAt"), found.String(at + "endAt"), found.String(at + "status")}, " "))
		}
	}

	for _, b := range h.blocks {
		want = append(want, strings.Join([]string{h.listingID(b.isTwin), b.id, b.start.String(), b.end.String(), "blocked"}, " "))
	}

	slices.Sort(got)
	slices.Sort(want)

	if !slices.Equal(got, want) {
		h.T.Errorf("blocked are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	if h.applied && h.twin != "" {
		if left := h.Get("/calendar-blocks?listingIds=" + h.twin).Want(200); left.Len("data") > 0 {
			h.T.Errorf("on the listing of the target are left %s", left.Body)
		}
	}

	for _, r := range h.rules {
		if rule := h.Get("/bank-rules/" + r.id).Want(200); rule.Len("lines") != 1 || rule.String("lines.0.listingId") != h.listingID(r.isTwin) {
			h.T.Errorf("the rule is %s", rule.Body)
		}
	}
}
