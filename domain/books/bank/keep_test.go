package bank_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"stayledger/domain/books/bank"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

const batch = "/bank-records/batch"

func path(record id.ID) string { return "/bank-records/" + record.String() }

// movement is the request of a caller for a movement on the account 1000.
func (w *world) movement(cents int64, more ...any) object {
	return fixture.With(object{"accountId": w.accounts["1000"], "date": "2026-02-10", "description": "Rent", "amount": cents}, more...)
}

// keep adds a record over HTTP.
func (w *world) keep(cents int64, more ...any) id.ID {
	w.t.Helper()
	return w.Post(batch, object{"data": list{w.movement(cents, more...)}}).Want(201).ID("data.0.id")
}

// another is one more bank account like the one with a code.
func (w *world) another(code string) id.ID {
	a := w.id()
	w.Exec(`insert into account select x.* from account a,
		jsonb_populate_record(a, jsonb_build_object('id', @new::uuid, 'code', null, 'name', @new::uuid, 'unique_ref', null)) x
		where a.team_id = @team and a.id = @old`, db.Args{"new": a, "old": w.accounts[code]})

	return a
}

// come makes records come from a source.
func (w *world) come(source string, records ...id.ID) {
	w.Exec(`update bank_record set source = @source where team_id = @team and id = any(@ids)`, db.Args{"source": source, "ids": records})
}

// telling compares fields of an answer.
func telling(t *testing.T, r *apitest.Response, fields map[string]string) {
	t.Helper()

	for field, want := range fields {
		if got := fmt.Sprint(r.Value(field)); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
}

// A batch answers with the records as they are read, in its order.
//
// Proves: DRY-32.
func TestABatchOfRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.Post(batch, object{"data": list{
		w.movement(9007199254740, "uniqueRef", "z", "source", "csv", "currency", "USD"),
		w.movement(-700, "uniqueRef", "a", "description", ""),
		object{"accountId": w.accounts["1010"], "date": "2026-02-09", "description": "End of day", "balance": -5},
		object{"accountId": w.accounts["1010"], "date": "2026-02-08", "description": "Stated", "balance": 0, "type": "balance", "uniqueRef": nil},
		w.movement(0, "type", "transaction", "source", "manual"),
	}}).Want(201)
	telling(t, made, map[string]string{
		"data.0.uniqueRef": "z", "data.0.amount": "9007199254740", "data.0.source": "csv", "data.0.status": "active", "data.0.type": "transaction", "data.0.date": "2026-02-10",
		"data.0.currency": "usd", "data.0.accountId": w.accounts["1000"].String(), "data.0.description": "Rent", "data.0.reconciliation.status": "unpaid",
		"data.1.uniqueRef": "a", "data.1.amount": "-700", "data.1.source": "manual", "data.1.duplicates": "[]",
		"data.2.type": "balance", "data.2.balance.current": "-5", "data.2.amount": "0", "data.2.uniqueRef": "<nil>", "data.2.date": "2026-02-09",
		"data.3.balance.current": "0", "data.4.amount": "0", "data.4.bankAccountId": "<nil>",
	})

	if made.Len("data") != 5 {
		t.Errorf("got %s", made.Body)
	}

	for i := range 5 {
		r := w.Get(path(made.ID("data." + itoa(i) + ".id"))).Want(200)
		for _, field := range []string{"uniqueRef", "amount", "balance", "date", "description", "accountId", "source", "type", "currency", "createdAt"} {
			telling(t, r, map[string]string{field: fmt.Sprint(made.Value("data." + itoa(i) + "." + field))})
		}
	}

	if n := count(w.Team, "select count(*) from bank_record where team_id = @team"); n != 5 {
		t.Errorf("%d records are kept", n)
	}
}

// What is wrong with an item is an issue at its place, and then nothing is kept.
func TestWhatABatchRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := newWorld(t)

	w.Exec(`update account set banking_currency = 'eur' where team_id = @team and id = @id`, db.Args{"id": w.accounts["1010"]})
	archived := w.another("1000")
	w.Exec(`update account set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": archived})

	without := func(field string) object {
		o := w.movement(1)
		delete(o, field)

		return o
	}
	for _, test := range []struct {
		item        object
		code, field string
	}{
		{without("accountId"), "required", "accountId"},
		{without("date"), "required", "date"},
		{without("description"), "required", "description"},
		{without("amount"), "required", "amount"},
		{w.movement(1, "balance", 1), "contradiction", "balance"},
		{w.movement(1, "type", "balance"), "contradiction", "amount"},
		{fixture.With(without("amount"), "type", "balance"), "required", "balance"},
		{fixture.With(without("amount"), "type", "transaction", "balance", 1), "contradiction", "balance"},
		{w.movement(1, "type", "other"), "enum", "type"},
		{w.movement(1, "source", "bankfeed"), "enum", "source"},
		{w.movement(1, "amount", 10_000_000_000_001), "range", "amount"},
		{w.movement(1, "amount", 0.5), "integer", "amount"},
		{fixture.With(without("amount"), "balance", -10_000_000_000_001), "range", "balance"},
		{w.movement(1, "uniqueRef", ""), "length", "uniqueRef"},
		{w.movement(1, "uniqueRef", strings.Repeat("x", 256)), "length", "uniqueRef"},
		{w.movement(1, "description", strings.Repeat("x", 1001)), "length", "description"},
		{w.movement(1, "date", "2026-02-30"), "date", "date"},
		{w.movement(1, "currency", "xxy"), "currency", "currency"},
		{w.movement(1, "currency", "eur"), "currencyMismatch", "currency"},
		{w.movement(1, "accountId", w.id()), "notFound", "accountId"},
		{w.movement(1, "accountId", other.accounts["1000"]), "notFound", "accountId"},
		{w.movement(1, "accountId", w.accounts["1100"]), "notBankAccount", "accountId"},
		{w.movement(1, "accountId", archived), "accountInactive", "accountId"},
		{w.movement(1, "accountId", w.accounts["1010"], "currency", "usd"), "currencyMismatch", "currency"},
		{w.movement(1, "matchedByBankRule", w.id()), "unknownField", "matchedByBankRule"},
	} {
		w.Post(batch, object{"data": list{w.movement(7), test.item}}).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, "data.1."+test.field)
	}

	half := strings.Replace(`{"data":[{"accountId":"A","date":"2026-02-10","amount":1,"description":"x\ud800y"}]}`, "A", w.accounts["1000"].String(), 1)
	w.Post(batch, json.RawMessage(half)).WantError(apierr.CodeBadRequest, "")
	w.Post(batch, json.RawMessage(strings.Replace(half, `\ud800`, `\ud83d\u0041`, 1))).WantError(apierr.CodeBadRequest, "")

	many := make(list, 1001)
	for i := range many {
		many[i] = w.movement(1)
	}

	w.Post(batch, object{"data": many}).WantIssue("items", "data")
	w.Post(batch, object{"data": list{}}).WantIssue("items", "data")

	if n := count(w.Team, "select count(*) from bank_record where team_id = @team"); n != 0 {
		t.Errorf("%d records are kept", n)
	}
}

// A reference is unique in the team, among what is there and in the batch, whatever the other teams have.
func TestReferencesAreUnique(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	other.keep(1, "uniqueRef", "mine")
	kept := w.keep(1, "uniqueRef", "mine")
	free := w.keep(1)
	r := w.Post(batch, object{"data": list{w.movement(1, "uniqueRef", "new"), w.movement(2, "uniqueRef", "mine"), w.movement(3), w.movement(3, "uniqueRef", "new")}})
	r.Want(201).WantFields("known.0", object{"index": 1, "id": kept, "uniqueRef": "mine", "differs": list{"amount"}}).
		WantFields("known.1", object{"index": 3, "id": r.ID("data.0.id"), "uniqueRef": "new", "differs": list{"amount"}})

	if r.Len("known") != 2 || r.Len("data") != 2 {
		t.Errorf("got %s", r.Body)
	}

	w.Post(batch, object{"data": list{w.movement(1, "uniqueRef", "mine")}}).Want(201).WantFields("", object{"data": list{}}).
		WantFields("known.0", object{"id": kept, "differs": list{}})
	w.Put(path(free), object{"uniqueRef": "mine"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef).WantIssue("duplicateUniqueRef", "uniqueRef")
	w.Put(path(kept), object{"uniqueRef": nil}).Want(200)
	telling(t, w.Put(path(free), object{"uniqueRef": "mine"}).Want(200), map[string]string{"uniqueRef": "mine"})

	if n := count(w.Team, "select count(*) from bank_record where team_id = @team"); n != 4 {
		t.Errorf("%d records are kept", n)
	}
}

// Of several balances of one day the last one of the request counts, and equal movements are listed in the order of
// their file.
// A record takes null where one that is read has it, and nowhere else.
func TestNullOfARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	moved := w.movement(100)
	moved["balance"] = nil
	movement := w.Post(batch, object{"data": list{moved}}).Want(201).ID("data.0.id")
	stated := w.Post(batch, object{"data": list{fixture.With(moved, "amount", nil, "balance", 500)}}).Want(201).ID("data.0.id")

	w.Put(path(movement), object{"balance": nil, "description": "Rent"}).Want(200)
	w.Put(path(movement), object{"accountId": nil}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "accountId")
	w.Put(path(stated), object{"balance": nil}).WantError(apierr.CodeBadRequest, "").WantIssue("required", "balance")
}

func TestTheOrderOfABatchIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stated := func(cents int64) object {
		return object{"accountId": w.accounts["1000"], "date": "2026-02-10", "description": "Balance", "type": "balance", "balance": cents}
	}

	for round := range 5 { // Identifiers of one batch are random, so a wrong order shows soon.
		last := int64(1000 * (round + 1))
		w.Post(batch, object{"data": list{stated(1), stated(2), stated(3), stated(last)}}).Want(201)

		var held []bank.Held

		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			held, err = bank.ListBalances(ctx, tx, []bank.Since{{Account: w.accounts["1000"]}}, dayOf("2026-02-11"))
			return err
		})

		if int64(held[0].Cents) != last {
			t.Fatalf("the bank says %d, want the last of the request, %d", held[0].Cents, last)
		}
	}

	many := list{}
	for i := range 10 {
		many = append(many, w.movement(500, "date", "2026-03-10", "description", "Equal "+itoa(i)))
	}

	w.Post(batch, object{"data": many}).Want(201)

	listed := w.Get("/bank-records?dateRange=2026-03&sort=date").Want(200)
	for i := range 10 {
		if got := listed.String("data." + itoa(i) + ".description"); got != "Equal "+itoa(i) {
			t.Errorf("%s is at place %d", got, i)
		}
	}
}

// What lies before an account's first day is part of its opening: it is left out from the start, and by no change does
// it count.
func TestRecordsBeforeTheFirstDayAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Exec(`update account set banking_opening_at = '2026-02-10', banking_opening = 5 where team_id = @team and id = @id`, db.Args{"id": w.accounts["1000"]})
	early, first := w.keep(1, "date", "2026-02-09"), w.keep(1)
	status := func(record id.ID, want string) {
		t.Helper()
		telling(t, w.Get(path(record)).Want(200), map[string]string{"status": want})
	}
	status(early, "inactive")
	status(first, "active")
	w.Put(path(early), object{"status": "active"}).WantError(apierr.CodeBadRequest, "").WantIssue("dateOutOfRange", "status")
	w.Put(path(early), object{"description": "Still early", "status": "inactive"}).Want(200)
	w.Put(path(early), object{"date": "2026-02-11"}).Want(200)
	status(early, "active")
	w.Put(path(early), object{"date": "2026-02-01"}).Want(200)
	status(early, "inactive")
	w.Put(path(early), object{"accountId": w.accounts["1010"]}).Want(200)
	status(early, "active")
	w.Put(path(early), object{"accountId": w.accounts["1000"]}).Want(200)
	status(early, "inactive")
	// What a person has excluded stays excluded.
	w.Put(path(first), object{"status": "inactive"}).Want(200)
	w.Put(path(first), object{"date": "2026-02-01"}).Want(200)
	w.Put(path(first), object{"date": "2026-02-12"}).Want(200)
	status(first, "inactive")
	w.Put(path(first), object{"status": "active"}).Want(200)
	status(first, "active")

	if n := count(w.Team, "select count(*) from account_excluded_record where team_id = @team"); n != 1 {
		t.Errorf("%d records are marked as left out", n)
	}
}

// Movements that would take an account beyond the range of exact JSON numbers are refused, so its reports stay
// readable.
func TestMovementsBeyondTheRangeAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := func(cents int64, n int) list {
		data := list{}
		for range n {
			data = append(data, w.movement(cents))
		}

		return data
	}

	w.Post(batch, object{"data": many(10_000_000_000_000, 1000)}).WantError(apierr.CodeBadRequest, "").WantIssue("range", "data")
	w.Post(batch, object{"data": many(10_000_000_000_000, 900)}).Want(201)
	low := w.keep(1)
	w.Post(batch, object{"data": many(10_000_000_000_000, 2)}).WantError(apierr.CodeBadRequest, "")
	w.Put(path(low), object{"amount": 10_000_000_000_000}).WantError(apierr.CodeBadRequest, "").WantIssue("range", "amount")

	if n := count(w.Team, "select count(*) from bank_record where team_id = @team"); n != 901 {
		t.Errorf("%d records are kept", n)
	}
}
