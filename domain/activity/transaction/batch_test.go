package transaction_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// The good items of a batch land as if each had been sent by itself, and each bad one is listed with its reason; an
// atomic batch lands as a whole or not at all.
func TestABatchOfTransactions(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	fixture.CloseBooks(w.Team, "2026-02-01")
	w.Post("/transactions", fixture.With(w.deposit("2026-03-01", 5), "uniqueRef", "used")).Want(201)

	data := list{}
	for i := range 9 {
		data = append(data, fixture.With(w.deposit("2026-03-0"+strconv.Itoa(i+1), int64(100+i)), "uniqueRef", "d"+strconv.Itoa(i)))
	}

	data[2] = w.deposit("2026-01-10", 1)
	data[5] = fixture.With(w.deposit("2026-03-06", 1), "uniqueRef", "used")
	data[6] = fixture.With(w.deposit("2026-03-06", 1), "contactId", id.New(w.DB.Now()))
	data[8] = fixture.With(w.deposit("2026-03-06", 1), "uniqueRef", "d7")
	entries := fixture.Balances(w.Team, "true")

	atomic := w.Post("/transactions/batch?atomic=true", object{"data": data}).Want(200)
	if atomic.Len("data") != 0 || atomic.Len("issues") != 4 || !maps.Equal(entries, fixture.Balances(w.Team, "true")) {
		t.Errorf("an atomic batch with bad items: %s", atomic.Body)
	}

	got := w.Post("/transactions/batch", object{"data": data}).Want(200)

	var landed []int64
	for i := range got.Len("data") {
		landed = append(landed, got.Int("data."+strconv.Itoa(i)+".index"))
	}

	if !slices.Equal(landed, []int64{0, 1, 3, 4, 7}) {
		t.Errorf("landed are %v: %s", landed, got.Body)
	}

	for i, want := range []struct {
		index  int64
		reason apierr.Reason
	}{{2, apierr.ReasonBooksClosed}, {5, apierr.ReasonDuplicateUniqueRef}, {6, ""}, {8, apierr.ReasonDuplicateUniqueRef}} {
		at := "issues." + strconv.Itoa(i) + "."
		if got.Int(at+"index") != want.index || got.Has(at+"reason") != (want.reason != "") || want.reason != "" && got.String(at+"reason") != string(want.reason) {
			t.Errorf("want %+v: %s", want, got.Body)
		}
	}

	if one := w.Get("/transactions/" + got.String("data.4.id")).Want(200); one.Int("total") != 107 || one.String("uniqueRef") != "d7" || one.String("journalStatus.status") != "current" {
		t.Errorf("the last that landed: %s", one.Body)
	}

	theirs := fixture.With(w.deposit("2026-03-06", 1), "accountId", other.accounts["1000"])
	if r := w.Post("/transactions/batch", object{"data": list{theirs}}).Want(200); r.Len("data") != 0 || r.String("issues.0.code") != string(apierr.CodeBadRequest) {
		t.Errorf("another team's account: %s", r.Body)
	}

	w.Post("/transactions/batch", object{"data": list{}}).Want(400).WantIssue("items", "data")
}
