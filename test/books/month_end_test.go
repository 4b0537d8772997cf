package books_test

import (
	"fmt"
	"strings"
	"testing"

	"stayledger/test/world"
)

// wantOpen wants exactly these things to be open of a month, each as step, code, count and cents, in the order of the
// steps, and follows the list of each: it has as many records.
func wantOpen(w *world.World, month string, want ...string) {
	w.T.Helper()

	r := w.Get("/month-end?month=" + month).Want(200)
	got, steps := []string{}, []string{}

	for i := range r.Len("steps") {
		step := fmt.Sprintf("steps.%d.", i)
		steps = append(steps, r.String(step+"step"))

		count := int64(0)

		for k := range r.Len(step + "items") {
			item := fmt.Sprintf("%sitems.%d.", step, k)
			line := r.String(step+"step") + " " + r.String(item+"code") + " " + r.String(item+"count")

			if r.Value(item+"centTotal") != nil {
				line += " " + r.String(item+"centTotal")
			}

			got = append(got, line)
			count += r.Int(item + "count")

			behind := w.Get(r.String(item + "list")).Want(200)
			if behind.Has("pagination.total") && behind.Int("pagination.total") != r.Int(item+"count") && r.String(item+"code") != "booksOpen" {
				w.T.Errorf("%s: %s lists %s", line, r.String(item+"list"), behind.String("pagination"))
			}
		}

		if r.Int(step+"count") != count {
			w.T.Errorf("%s counts %s", r.String(step+"step"), r.String(step+"count"))
		}
	}

	if all := "systemsRead bankMatched journalsCurrent heldBackSettled linesAssigned statementsReviewed statementsPublished ownersPaid trustReconciled booksClosed"; strings.Join(steps, " ") != all {
		w.T.Errorf("the steps are %v", steps)
	}

	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.T.Errorf("open of %s:\n%s\nwant:\n%s", month, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	if r.Value("isDone") != (len(want) == 0) {
		w.T.Errorf("done is %v with %v", r.Value("isDone"), got)
	}
}

// wantStatus wants a status of a step of a month, and what it blocks.
func wantStatus(w *world.World, month, step, want string) {
	w.T.Helper()

	r := w.Get("/month-end?month=" + month).Want(200)
	for i := range r.Len("steps") {
		if at := fmt.Sprintf("steps.%d.", i); r.String(at+"step") == step {
			if got := r.String(at+"status") + " " + r.String(at+"blocks"); got != want {
				w.T.Errorf("%s is %s, want %s", step, got, want)
			}
		}
	}
}

// Four months are ended by what GET /month-end names alone. At each step it names what is open, with amounts computed
// by hand, and nothing else; a change of a month that is over shows in that month and not in the next.
func TestFourMonthsAreEndedByWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	trust := w.Account("1000")
	dune, reef := w.Listing("Dune", w.Contact("owner", "Ann")), w.Listing("Reef", w.Contact("owner", "Bob"))
	bank := func(date string, cents int64, text string) string {
		return w.Post("/bank-records/batch", object{"data": list{object{
			"accountId": trust, "date": date, "amount": cents, "description": text, "source": "csv",
		}}}).Want(201).String("data.0.id")
	}
	// seen has the bank see each transaction of a day, and reconciles the two.
	seen := func(days ...string) {
		t.Helper()

		for _, day := range days {
			found := w.Get("/transactions?dateRange=" + day).Want(200)
			for i := range found.Len("data") {
				at := fmt.Sprintf("data.%d.", i)

				cents := found.Int(at + "total")
				if found.String(at+"type") != "deposit" {
					cents = -cents
				}

				w.Post("/bank-records/"+bank(day, cents, "Seen")+"/reconcile", object{"transactions": list{object{"id": found.String(at + "id")}}}).Want(200)
			}
		}
	}
	closeAt := func(day string, want ...string) {
		t.Helper()

		closed := w.Post("/team/books-closing", object{"booksClosedAt": day, "reason": "The month is over"}).Want(201)
		got := []string{}

		for i := range closed.Len("issues") {
			at := fmt.Sprintf("issues.%d.", i)
			got = append(got, closed.String(at+"code")+" "+closed.String(at+"context.centTotal"))
		}

		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("closed before %s: %s", day, closed.String("issues"))
		}
	}
	pay := func(month, date string) {
		t.Helper()

		ids := list{}

		found := w.Get("/statements?month=" + month + "&status=published").Want(200)
		for i := range found.Len("data") {
			ids = append(ids, found.String(fmt.Sprintf("data.%d.id", i)))
		}

		w.Post("/statements/payouts", object{"statementIds": ids, "date": date}).Want(202)
		w.Work()
	}

	// January: two stays, and a third with a line that no account takes. The bank has seen one deposit, which is not
	// matched: 1,000.00 at the bank and 1,500.00 in transit are 1,000.00 more than the books.
	w.Stay(dune, "2026-01-10", 100000)
	w.Stay(reef, "2026-01-12", 50000)
	odd := w.Post("/reservations", object{
		"listingId": reef.ID, "checkIn": "2026-01-20", "checkOut": "2026-01-21", "bookedAt": "2026-01-20", "lines": list{object{"type": "balloonRide", "amount": 4500}},
	}).Want(201).String("id")
	early := bank("2026-01-10", 100000, "Card")

	wantOpen(w, "2026-01",
		"bankMatched unmatchedBankRecords 1 100000",
		"linesAssigned unassignedAccount 1 4500",
		"statementsReviewed statementsDraft 2 150000",
		"trustReconciled bankDiffersFromBooks 1 100000",
		"booksClosed booksOpen 1")
	wantStatus(w, "2026-01", "statementsPublished", `waiting []`)
	wantStatus(w, "2026-01", "linesAssigned", `open ["statementsPublished"]`)

	// The bank: the record is of the first deposit, another of the second.
	w.Delete("/bank-records/" + early).Want(204)
	seen("2026-01-10", "2026-01-12")

	// The line gets an account, and the guest pays it.
	mapping := w.Get("/reservations/line-mappings?lineType=balloonRide").Want(200).String("data.0.id")
	w.Put("/reservations/line-mappings/"+mapping, object{"accountId": w.Account("4000"), "party": "owners"}).Want(200)
	w.Work()
	wantOpen(w, "2026-01",
		"statementsReviewed statementsDraft 2 154500",
		"trustReconciled departedGuestBalance 1 -4500",
		"booksClosed booksOpen 1")
	deposit(w, "2026-01-21", 4500, object{"reservationId": odd})
	seen("2026-01-21")

	// Review, publish, pay and close; the payouts are of February.
	w.Post("/statements", object{"month": "2026-01", "status": "inReview"}).Want(201)
	wantOpen(w, "2026-01", "statementsPublished statementsInReview 2 154500", "booksClosed booksOpen 1")
	wantStatus(w, "2026-01", "ownersPaid", `waiting []`)

	for _, house := range []world.Listing{dune, reef} {
		w.Put("/statements/"+w.Statement(house, "2026-01").String(), object{"status": "published"}).Want(200)
	}

	wantOpen(w, "2026-01", "ownersPaid ownersUnpaid 2 154500", "booksClosed booksOpen 1")
	pay("2026-01", "2026-02-05")
	wantOpen(w, "2026-01", "booksClosed booksOpen 1")
	closeAt("2026-02-01")
	wantOpen(w, "2026-01")

	// February: balloon rides are the manager's, says the team now. The published month holds that back. February has the
	// payouts.
	w.Put("/reservations/line-mappings/"+mapping, object{"party": "manager"}).Want(200)
	w.Work()
	wantOpen(w, "2026-01", "heldBackSettled changesHeldBack 1 -4500")
	wantOpen(w, "2026-02",
		"bankMatched bankRecordsMissing 1 -154500",
		"statementsReviewed statementsDraft 2 0",
		"booksClosed booksOpen 1")

	// Caught up, it is an amount of February that the owner of Reef has no money for, until the next stay.
	w.Post("/journals/catch-up", object{}).Want(200)
	wantOpen(w, "2026-01")
	wantOpen(w, "2026-02",
		"bankMatched bankRecordsMissing 1 -154500",
		"statementsReviewed statementsDraft 2 -4500",
		"trustReconciled negativeOwnerBalance 1 -4500",
		"booksClosed booksOpen 1")
	w.Stay(reef, "2026-02-10", 10000)
	seen("2026-02-05", "2026-02-10")

	w.Publish("2026-02")
	wantOpen(w, "2026-02", "ownersPaid ownersUnpaid 1 5500", "booksClosed booksOpen 1")
	pay("2026-02", "2026-03-05")
	closeAt("2026-03-01")
	wantOpen(w, "2026-02")

	// March is published and closed without a payout, and the closing says so.
	w.Stay(dune, "2026-03-10", 30000)
	wantOpen(w, "2026-03",
		"bankMatched bankRecordsMissing 1 24500",
		"statementsReviewed statementsDraft 2 30000",
		"booksClosed booksOpen 1")
	seen("2026-03-05", "2026-03-10")
	w.Publish("2026-03")
	closeAt("2026-04-01", "ownersUnpaid 30000")
	wantOpen(w, "2026-03", "ownersPaid ownersUnpaid 1 30000")

	// April: a bill that the owner of Reef has no money for, and then a stay that pays it.
	w.Expense(reef, "2026-04-05", 20000)
	seen("2026-04-05")
	wantOpen(w, "2026-04",
		"statementsReviewed statementsDraft 1 -20000",
		"trustReconciled negativeOwnerBalance 1 -20000",
		"booksClosed booksOpen 1")
	w.Stay(reef, "2026-04-20", 50000)
	seen("2026-04-20")
	wantOpen(w, "2026-04", "statementsReviewed statementsDraft 1 30000", "booksClosed booksOpen 1")
	w.Publish("2026-04")

	// What March left open is open there, and paid with April.
	wantOpen(w, "2026-04", "ownersPaid ownersUnpaid 1 30000", "booksClosed booksOpen 1")
	pay("2026-04", "2026-05-05")
	closeAt("2026-05-01")

	for _, month := range []string{"2026-01", "2026-02", "2026-03", "2026-04"} {
		wantOpen(w, month)
	}
}

// Open records of accounts in two currencies are two things that are open, each with a list of its own records. What is
// after the month is in neither.
func TestOpenBankRecordsAreListedByCurrency(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	abroad := w.Post("/accounts", object{
		"name": "Abroad", "type": "bank", "categoryId": w.Get("/accounts/" + w.Account("1000").String()).Want(200).String("category.id"),
		"banking": object{"category": "trust", "type": "deposit", "currency": "eur"},
	}).Want(201).ID("id")

	w.Post("/bank-records/batch", object{"data": list{
		object{"accountId": w.Account("1000"), "date": "2026-01-10", "amount": 700, "description": "Here"},
		object{"accountId": w.Account("1000"), "date": "2026-02-01", "amount": 900, "description": "Later"},
		object{"accountId": abroad, "date": "2026-01-12", "amount": -300, "description": "There"},
		object{"accountId": abroad, "date": "2026-01-13", "amount": -50, "description": "There"},
	}}).Want(201)
	wantOpen(w, "2026-01",
		"bankMatched unmatchedBankRecords 2 -350",
		"bankMatched unmatchedBankRecords 1 700",
		"trustReconciled bankDiffersFromBooks 1 -350",
		"trustReconciled bankDiffersFromBooks 1 700",
		"booksClosed booksOpen 1")
}

// Statements of earlier months are published first, and a line of a stay by night is open in each month with nights of it.
func TestAMonthWaitsForEarlierMonths(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Put("/team", object{"defaultRevenueRecognition": "proRata"}).Want(200)

	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	w.Post("/reservations", object{
		"listingId": villa.ID, "checkIn": "2026-01-30", "checkOut": "2026-02-03", "bookedAt": "2026-01-20",
		"lines": list{object{"type": "rent", "amount": 40000}, object{"type": "balloonRide", "amount": 800}},
	}).Want(201)
	w.Work()

	// Two nights of 100.00 are in each month, and no money has come.
	wantOpen(w, "2026-01",
		"linesAssigned unassignedAccount 1 800",
		"statementsReviewed statementsDraft 1 20000",
		"booksClosed booksOpen 1")
	wantOpen(w, "2026-02",
		"linesAssigned unassignedAccount 1 800",
		"statementsReviewed statementsDraft 1 20000",
		"statementsPublished earlierStatementsOpen 1 20000",
		"trustReconciled departedGuestBalance 1 -40000",
		"booksClosed booksOpen 1")
	wantOpen(w, "2026-03",
		"statementsPublished earlierStatementsOpen 2 40000",
		"trustReconciled departedGuestBalance 1 -40000",
		"booksClosed booksOpen 1")

	// A month before the books needs no closing.
	wantOpen(w, "2025-11")
}
