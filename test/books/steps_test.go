package books_test

import (
	"cmp"
	"context"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
)

// kinds is how many kinds of steps there are, common ones counted several times.
const kinds = 29

// step does one random thing. Draws lean to small numbers, so their meaning moves from step to step.
func (h *history) step(number int) {
	switch (h.draw(0, kinds-1, "step") + 7*number) % kinds {
	case 0, 1, 2, 3:
		h.book()
	case 4, 5, 6:
		h.changeStay()
	case 7, 8:
		h.adjust()
	case 9, 10, 11:
		h.deposit()
	case 12, 13:
		h.spend()
	case 14:
		h.payOut()
	case 15, 16:
		h.changeTransaction()
	case 17:
		h.writeJournal()
	case 18:
		h.changeFee()
	case 19:
		h.changeMapping()
	case 20:
		h.changeOwnership()
	case 21:
		h.changeTeam()
		h.do("tax", "PUT", "/tax-rates/"+h.rates[0], object{"basisPoints": h.draw(0, 30_000, "new tax rate")})
	case 22:
		h.changeStatement()
	case 23:
		h.work()
	case 24:
		h.closeBooks()
	case 25, 26:
		h.saveMonth()
	case 27, 28:
		h.returnInARow()
	}
}

func (h *history) lines() list {
	out := list{object{"type": "rent", "amount": h.cents("rent")}}
	for _, kind := range []string{"cleaningFee", "tax", "guestFee"} {
		if h.often(2, kind) {
			out = append(out, object{"type": kind, "amount": h.cents(kind)})
		}
	}

	if h.often(4, "discount") {
		out = append(out, object{"type": "discount", "amount": -h.cents("off")})
	}

	return out
}

func (h *history) book() {
	checkIn := h.date("check-in")

	body := object{
		"listingId": one(h, "listing", h.listings...), "checkIn": checkIn, "checkOut": checkIn.AddDays(h.draw(1, 12, "nights")), "lines": h.lines(),
		"type": one(h, "stay of", "guest", "guest", "guest", "ownerStay"),
	}
	if h.often(2, "booked before") {
		body["bookedAt"] = day.Max(checkIn.AddDays(-h.draw(0, 40, "days before")), first) // what is earlier, TestStatementsKeepWhatTheyCarry books
	}

	if h.often(8, "posted apart") {
		body["generalLedgerPostingAt"] = h.date("posting date")
	}

	keep(&h.stays, h.do("book", "POST", "/reservations", body))
}

func (h *history) changeStay() {
	if len(h.stays) == 0 {
		h.book()
		return
	}

	checkIn := h.date("new check-in")
	change := one(h, "change of a stay",
		object{"checkIn": checkIn, "checkOut": checkIn.AddDays(h.draw(1, 40, "new nights"))}, object{"lines": h.lines()},
		object{"status": "canceled", "cancelledAt": h.date("canceled")}, object{"status": "booked", "cancelledAt": nil}, object{"status": "inactive"},
		object{"generalLedgerStatus": one(h, "in the books", "active", "inactive")}, object{"generalLedgerPostingAt": h.date("new posting date")},
		object{"generalLedgerPostingAt": nil}, object{"listingId": one(h, "other listing", h.listings...)})
	h.do("change stay", "PUT", "/reservations/"+one(h, "stay", h.stays...), change)
}

func (h *history) adjust() {
	if len(h.stays) == 0 {
		h.book()
		return
	}

	path := "/reservations/" + one(h, "adjusted stay", h.stays...)

	var stay struct{ Adjustments []struct{ ID string } }
	if !h.look(path, &stay) {
		return
	}

	if n := len(stay.Adjustments); n > 0 && h.often(2, "existing adjustment") {
		path += "/adjustments/" + stay.Adjustments[h.draw(0, n-1, "adjustment")].ID
		if h.often(2, "take it away") {
			h.do("remove adjustment", "DELETE", path, nil)
		} else {
			h.do("change adjustment", "PUT", path, object{"amount": h.cents("new amount")})
		}

		return
	}

	body := object{"amount": h.cents("adjustment") * int64(one(h, "sign", 1, -1)), "accountId": h.account(one(h, "adjusted account", "4020", "4030", "2100"))}
	switch {
	case len(h.fees) > 0 && h.often(3, "adjust a fee"):
		delete(body, "accountId")
		body["type"], body["recurringFeeId"] = "fee", one(h, "adjusted fee", h.fees...)
	case h.often(3, "kept of it"):
		delete(body, "accountId")
	}

	if h.often(3, "adjustment posted apart") {
		body["generalLedgerPostingAt"] = h.date("adjusted on")
	}

	h.do("adjust", "POST", path+"/adjustments", body)
}

func (h *history) deposit() {
	if len(h.stays) == 0 {
		h.book()
	}

	lines := list{}

	for range h.draw(1, 2, "paid stays") {
		if len(h.stays) == 0 {
			return
		}

		stay := one(h, "paid stay", h.stays...)

		// A stay that is paid in full is settled, as most are.
		if owed := h.owed(stay); owed > 0 && h.often(2, "paid in full") {
			lines = append(lines, object{"assignment": "accountsReceivable", "amount": owed, "reservationId": stay})
			continue
		}

		lines = append(lines, object{"assignment": "accountsReceivable", "amount": h.cents("paid") * int64(one(h, "paid or refunded", 1, 1, 1, -1)), "reservationId": stay})
		if h.often(2, "kept by the processor") {
			lines = append(lines, object{"assignment": one(h, "kept as", "deposit_merchantFee", "deposit_channelFee"), "amount": -int64(h.draw(1, 3000, "kept")), "reservationId": stay})
		}
	}

	keep(&h.transactions, h.do("deposit", "POST", "/transactions", object{"type": "deposit", "date": h.date("paid on"), "lines": lines}))
}

// owed returns what the guest of a stay owes.
func (h *history) owed(stay string) (cents int64) {
	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		cents, err = db.Get[int64](ctx, tx, `select coalesce(sum(e.cent_total), 0)::bigint from ledger_entry e
			join account_assignment a on a.team_id = e.team_id and a.account_id = e.account_id and a.assignment = 'accountsReceivable'
			where e.team_id = @team and e.reservation_id = @stay::uuid`, db.Args{"team": tx.Team, "stay": stay})

		return err
	})

	return cents
}

func (h *history) spend() {
	line := object{"accountId": h.account(one(h, "spent on", "5200", "5290", "2100")), "amount": h.cents("spent")}
	if h.often(2, "for an owner") {
		line["listingId"] = one(h, "for listing", h.listings...)

		line["accountId"] = h.account("5200")
		if h.often(2, "markup") {
			line["markup"] = object{"amount": h.draw(1, 5000, "added"), "taxRateId": h.rates[0], "taxBehavior": one(h, "markup's tax is", "included", "excluded")}
		}

		if h.often(2, "taxed") {
			line["appliedAmount"] = object{"taxRateId": h.rates[0], "taxBehavior": one(h, "tax is", "included", "excluded")}
		}
	}

	body := object{"type": "expense", "date": h.date("billed on"), "lines": list{line}}
	if account := one(h, "billed to", "", "1000", "1010"); account != "" {
		body["accountId"] = h.account(account)
	}

	if h.often(2, "paid later") {
		body["payment"] = object{"date": h.date("bill paid on"), "accountId": h.account(one(h, "bill paid from", "1000", "1010"))}
	}

	keep(&h.transactions, h.do("expense", "POST", "/transactions", body))
}

func (h *history) payOut() {
	body := object{"type": "payout", "date": h.date("paid out on"), "lines": list{object{
		"amount": h.cents("paid out") * int64(one(h, "out or in", 1, 1, -1)), "listingId": one(h, "paid listing", h.listings...),
	}}}
	switch h.draw(0, 4, "kind of payout") {
	case 3:
		draw := object{"amount": h.cents("drawn across") * int64(one(h, "drawn or paid in", 1, 1, -1)), "date": h.date("drawn on"), "lineAccountId": h.account("1010")}
		if h.often(3, "from the office") {
			draw["bankAccountId"], draw["lineAccountId"] = h.account("1010"), h.account("1000")
		}

		keep(&h.transactions, h.do("draw", "POST", "/statements/manager/pay", draw))

		return
	case 4:
		body["type"], body["lines"] = "transfer", list{object{"amount": h.cents("lent"), "accountId": h.account("1000")}}
		body["accountId"] = h.account("1010")
	case 0:
		body["lines"] = list{object{"amount": h.cents("drawn"), "party": "manager"}}
	case 1:
		body["type"], body["lines"] = "transfer", list{object{"amount": h.cents("moved"), "accountId": h.account("1010")}}
		body["accountId"] = h.account("1000")
	}

	keep(&h.transactions, h.do("payout", "POST", "/transactions", body))
}

func (h *history) changeTransaction() {
	if len(h.transactions) == 0 {
		h.spend()
		return
	}

	path := "/transactions/" + one(h, "transaction", h.transactions...)
	switch h.draw(0, 4, "change of a transaction") {
	case 0:
		h.do("change transaction", "PUT", path, object{"date": h.date("new date")})
	case 1:
		h.do("archive", "PUT", path, object{"status": "inactive"})
	case 2:
		h.do("bring back", "PUT", path, object{"status": "active"})
	case 3:
		h.do("delete transaction", "DELETE", path, nil)
	case 4:
		var t struct{ Lines []struct{ ID string } }
		if !h.look(path, &t) {
			return
		}

		h.do("change lines", "PUT", path, object{"lines_update": list{object{"id": t.Lines[0].ID, "amount": h.cents("new line amount")}}})
	}
}

// writeJournal writes a journal by hand, or changes or reverses one.
func (h *history) writeJournal() {
	const path = "/general-ledger/journals"
	if len(h.journals) > 0 && h.often(2, "existing journal") {
		journal := path + "/" + one(h, "journal", h.journals...)
		switch h.draw(0, 2, "change of a journal") {
		case 0:
			h.do("change journal", "PUT", journal, object{"date": h.date("journal's new date")})
		case 1:
			h.do("delete journal", "DELETE", journal, nil)
		case 2:
			keep(&h.journals, h.do("reverse journal", "POST", journal+"/reverse", object{"date": h.date("reversed on")}))
		}

		return
	}

	cents := h.cents("corrected")
	keep(&h.journals, h.do("journal", "POST", path, object{"date": h.date("written on"), "lines": list{
		object{"accountId": h.account("5200"), "centTotal": cents, "party": "manager"},
		object{"accountId": h.account("4000"), "centTotal": -cents, "listingId": one(h, "corrected listing", h.listings...)},
	}}))
}

// changeStatement saves, publishes and reopens owner statements, in any order that is not refused.
func (h *history) changeStatement() {
	h.work() // nothing is saved over journals that wait to be derived

	next := slices.DeleteFunc(h.inOrder(), func(s statement) bool { return s.StartAt >= "2026-05" })
	if len(next) == 0 {
		return
	}

	s := one(h, "statement", next...)
	if s.Status == "draft" && h.often(2, "by month") {
		h.do("save statements", "POST", "/statements", object{
			"month": s.StartAt[:len("2026-01")], "status": one(h, "saved as", "inReview", "published"), "listingPeriodIds": list{s.Ownership.ID},
		})

		return
	}

	h.do("statement", "PUT", "/statements/"+s.ID, object{"status": one(h, "statement's status", "draft", "inReview", "published")})
}

// inOrder are the team's statements, the earliest first.
func (h *history) inOrder() []statement {
	all := h.statements("")
	slices.SortFunc(all, func(a, b statement) int { return cmp.Or(cmp.Compare(a.StartAt, b.StartAt), cmp.Compare(a.ID, b.ID)) })

	return all
}

// closeBooks closes and softly closes the books, or opens them again.
func (h *history) closeBooks() {
	body := object{"reason": "month end"}

	for _, field := range []string{"booksClosedAt", "softClosedAt"} {
		switch h.draw(0, 3, field) {
		case 0, 1:
			body[field] = h.date(field)
		case 2:
			body[field] = nil
		}
	}

	if h.often(3, "posters") {
		body["softClosePosters"] = one(h, "who may post", list{}, list{h.User})
	}

	if len(body) > 1 {
		h.do("close books", "POST", "/team/books-closing", body)
	}
}

// saveMonth saves or publishes the next month of every owner, or months in a batch, whether journals wait to be derived
// or not.
func (h *history) saveMonth() {
	status := one(h, "saved as", "inReview", "published", "published")

	month := one(h, "month", "2026-01", "2026-02", "2026-03", "2026-04")
	if h.often(2, "in a batch") {
		h.do("save in a batch", "POST", "/statements/batch", object{"status": status, "month": month})
		return
	}

	h.do("save month", "POST", "/statements", object{"month": month, "status": status})
}

// returnInARow returns the latest saved statements to draft, one right after the other or in a batch.
func (h *history) returnInARow() {
	var saved []string

	for _, s := range slices.Backward(h.inOrder()) {
		if s.Status != "draft" {
			saved = append(saved, s.ID)
		}
	}

	if len(saved) == 0 {
		return
	}

	if h.often(2, "some of them") {
		saved = saved[:h.draw(1, len(saved), "statements in a row")]
	}

	if h.often(3, "returned in a batch") {
		h.do("return in a batch", "POST", "/statements/batch", object{"status": "draft", "statementIds": saved})
		return
	}

	for _, id := range saved {
		h.do("return in a row", "PUT", "/statements/"+id, object{"status": "draft"})
	}
}

// reopen opens the books and returns every saved statement to draft, the latest first, without waiting for what that
// sets free.
func (h *history) reopen() {
	h.must("POST", "/team/books-closing", object{"booksClosedAt": nil, "softClosedAt": nil, "reason": "late changes"})

	for _, s := range slices.Backward(h.inOrder()) {
		if s.Status != "draft" {
			h.must("PUT", "/statements/"+s.ID, object{"status": "draft"})
		}
	}

	h.work()
}
