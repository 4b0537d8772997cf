package bank_test

import (
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// matching are the matching transactions of the first record in an answer.
func matching(r *apitest.Response, at string) string {
	out := make([]string, r.Len(at+"matchingTransactions"))
	for i := range out {
		out[i] = r.String(at + "matchingTransactions." + itoa(i) + ".id")
	}

	return strings.Join(out, " ")
}

func joined(ids ...id.ID) string {
	out := make([]string, len(ids))
	for i := range ids {
		out[i] = ids[i].String()
	}

	return strings.Join(out, " ")
}

// The nearest in time come first; of two as near the earlier one, of one day the older one.
func TestMatchingTransactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	week, later := w.deposit("1000", "2026-02-03", 500, false), w.deposit("1000", "2026-02-12", 500, false)
	sameDay, earlier := w.deposit("1000", "2026-02-10", 500, false), w.deposit("1000", "2026-02-08", 500, true)
	again := w.deposit("1000", "2026-02-10", 500, false)
	far := w.deposit("1000", "2026-02-18", 500, false)
	w.deposit("1000", "2026-02-10", 501, false) // another amount
	w.deposit("1010", "2026-02-10", 500, false) // another account
	w.expense("1000", "2026-02-10", 500)        // another direction
	taken := w.deposit("1000", "2026-02-10", 500, false)
	w.reconcile(w.record("taken", "1000", "2026-02-10", 500), taken, "1000", 500)
	archived := w.deposit("1000", "2026-02-10", 500, false)
	w.Put("/transactions/"+archived.String(), object{"status": "inactive"}).Want(200)

	r := w.record("r", "1000", "2026-02-10", 500)

	one := "/bank-records/" + r.String()
	if got, want := matching(w.Get(one).Want(200), ""), joined(sameDay, again, earlier, later, week); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	for days, want := range map[string]string{
		"true": joined(sameDay, again, earlier, later, week), "0": joined(sameDay, again), "2": joined(sameDay, again, earlier, later),
		"8": joined(sameDay, again, earlier, later, week, far),
	} {
		got := w.Get("/bank-records?ids=" + r.String() + "&includeMatchingTransactions=" + days).Want(200)
		if matching(got, "data.0.") != want || got.Int("data.0.matchingTransactions.0.amount") != 500 {
			t.Errorf("%s days: %s", days, got.Body)
		}
	}

	if w.Get("/bank-records?includeMatchingTransactions=false&ids=" + r.String()).Has("data.0.matchingTransactions") {
		t.Error("matching transactions are listed without a request")
	}

	// A transaction has to make up the open amount of a record.
	w.reconcile(r, far, "1000", 200)

	if got := w.Get(one).Want(200); got.Len("matchingTransactions") != 0 {
		t.Errorf("got %s", got.Body)
	}

	rest := w.deposit("1000", "2026-02-11", 300, false)
	if got := w.Get(one).Want(200); matching(got, "") != rest.String() {
		t.Errorf("got %s", got.Body)
	}
}

func TestMatchingInEveryDirection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spent := w.expense("1000", "2026-02-10", 500)

	moved := w.Post("/transactions", object{
		"type": "transfer", "date": "2026-02-10", "accountId": w.accounts["1000"], "lines": list{object{"accountId": w.accounts["1010"], "amount": 900}},
	}).Want(201).ID("id")
	for name, test := range map[string]struct {
		code  string
		cents int64
		want  string
	}{
		"spent": {"1000", -500, spent.String()}, "from": {"1000", -900, moved.String()}, "to": {"1010", 900, moved.String()}, "wrong way": {"1010", -900, ""},
		"nothing": {"1000", 0, ""},
	} {
		r := w.record(name, test.code, "2026-02-10", test.cents)
		if got := matching(w.Get("/bank-records/"+r.String()).Want(200), ""); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}

	foreign := w.record("foreign", "1000", "2026-02-10", -500)
	w.Exec(`update bank_record set currency = 'eur' where team_id = @team and id = @id`, db.Args{"id": foreign})

	if got := matching(w.Get("/bank-records/"+foreign.String()).Want(200), ""); got != "" {
		t.Errorf("another currency: got %q", got)
	}

	excluded := w.record("excluded", "1000", "2026-02-10", -500)
	w.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": excluded})

	for query, want := range map[string]string{
		"hasMatchingTransactions=true":                                          "from spent to",
		"hasMatchingTransactions=false":                                         "excluded foreign nothing wrong way",
		"hasMatchingTransactions=true&accountId=" + w.accounts["1010"].String(): "to",
	} {
		if got := names(w.Get("/bank-records?sort=description&" + query).Want(200)); got != want {
			t.Errorf("%s gives %q, want %q", query, got, want)
		}
	}

	late, early := w.record("late", "1000", "2026-02-20", -500), w.record("early", "1000", "2026-02-03", -500)

	both := strings.ReplaceAll(joined(late, early), " ", ",")
	for query, want := range map[string]string{"": "early", "&includeMatchingTransactions=10": "early late", "&includeMatchingTransactions=6": ""} {
		if got := names(w.Get("/bank-records?hasMatchingTransactions=true&sort=date&ids=" + both + query).Want(200)); got != want {
			t.Errorf("%s gives %q, want %q", query, got, want)
		}
	}
}
