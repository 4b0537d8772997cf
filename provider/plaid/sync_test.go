package plaid_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/provider/plaid"
	"stayledger/provider/sandbox/bankfeed"
)

func TestSyncReadsAllPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	ids := w.mustAdd(l, many(1203)...)

	got := w.mustSync(l, "")
	if got.Pages != 3 || got.Restarts != 0 || got.firsts != 1 || got.Status != plaid.HistoricalComplete || got.Cursor == "" {
		t.Errorf("%+v in %d runs", got.Synced, got.firsts)
	}

	if !slices.Equal(idsOf(got.added), ids) || len(got.modified)+len(got.removed)+len(got.unreadable) != 0 {
		t.Errorf("%d added, %d modified, %d removed", len(got.added), len(got.modified), len(got.removed))
	}

	for i, r := range got.added {
		if int(r.Amount) != -(i+1) || r.Currency != "usd" || r.Rounded || r.AccountID != l.accounts[0].ID || r.Date.String() != "2026-03-01" || r.Original == "" {
			t.Fatalf("row %d: %+v", i, r)
		}
	}

	if again := w.mustSync(l, got.Cursor); len(again.added) != 0 || again.Pages != 1 {
		t.Errorf("everything comes again: %+v", again)
	}

	if small, err := w.sync(w.client, l.Token, "", 7); err != nil || small.Pages != 172 || len(small.added) != 1203 {
		t.Errorf("in pages of seven: %+v, %v", small.Synced, err)
	}
}

func idsOf(rows []plaid.Transaction) []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}

	return ids
}

// Corrected, removed, posted: what the bank does afterwards.
func TestSyncTellsWhatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	ids := w.mustAdd(l, bankfeed.Transaction{Name: "one", Amount: "1"}, bankfeed.Transaction{Name: "two", Amount: "-2.5"}, bankfeed.Transaction{Name: "three", Amount: "3", Pending: true})

	first := w.mustSync(l, "")
	if p := first.added[2]; !p.Pending || p.ID != ids[2] || first.added[1].Amount != 250 {
		t.Errorf("%+v", first.added)
	}

	w.mustControl("PUT", "/control/items/"+l.ItemID+"/transactions/"+ids[0], `{"amount":1.75,"payment_meta":{"payee":"Anna","reference_number":"R-1"}}`)

	if h := w.hook(); h.err != nil || h.webhook.Topic != plaid.SyncUpdates || h.webhook.ItemID != l.ItemID || !h.webhook.HistoryComplete {
		t.Errorf("the webhook of a change: %+v", h)
	}

	w.mustControl("DELETE", "/control/items/"+l.ItemID+"/transactions/"+ids[1], "")

	posted, err := w.Post(l.ItemID, ids[2], func(r *bankfeed.Transaction) { r.Amount = "3.30" })
	if err != nil {
		t.Fatal(err)
	}

	brief := w.mustAdd(l, bankfeed.Transaction{Name: "brief", Amount: "4"})
	if err := w.Remove(l.ItemID, brief[0]); err != nil {
		t.Fatal(err)
	}

	got := w.mustSync(l, first.Cursor)
	if len(got.modified) != 1 || got.modified[0].ID != ids[0] || got.modified[0].Amount != -175 || got.modified[0].Name != "one" || got.modified[0].Payee != "Anna" ||
		got.modified[0].Reference != "R-1" {
		t.Errorf("modified %+v", got.modified)
	}

	if len(got.added) != 1 || got.added[0].ID != posted || got.added[0].PendingID != ids[2] || got.added[0].Pending || got.added[0].Amount != -330 {
		t.Errorf("added %+v", got.added)
	}

	if want := []plaid.Removed{{ID: ids[1], AccountID: l.accounts[0].ID}, {ID: ids[2], AccountID: l.accounts[0].ID}}; !slices.Equal(got.removed, want) {
		t.Errorf("removed %+v, want %+v", got.removed, want)
	}

	if all := w.mustSync(l, ""); !slices.Equal(idsOf(all.added), []string{ids[0], posted}) || len(all.removed) != 0 {
		t.Errorf("from the start: %+v", all)
	}
}

func TestSyncBeginsAgainWhenRowsMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.mustAdd(l, many(25)...)
	w.Break(bankfeed.Fault{Mode: bankfeed.Mutation, On: "/transactions/sync", Times: 2})

	got, err := w.sync(w.client, l.Token, "", 10)
	if err != nil || got.Restarts != 2 || got.firsts != 3 || got.Pages != 3 || len(got.added) != 25 {
		t.Errorf("%+v in %d runs with %d rows, %v", got.Synced, got.firsts, len(got.added), err)
	}
	// A row that is added while the second page is read, by somebody who really does.
	late := ""
	out, runs := []string{}, 0

	synced, err := w.client.SyncTransactions(t.Context(), plaid.SyncRequest{AccessToken: l.Token, Count: 10}, func(p plaid.Page) error {
		if p.First {
			out = nil
			runs++
		} else if late == "" {
			late = w.mustAdd(l, many(1)...)[0]
		}

		out = append(out, idsOf(p.Added)...)

		return nil
	})
	if err != nil || runs != 2 || synced.Restarts != 1 || len(out) != 26 || !slices.Contains(out, late) {
		t.Errorf("%+v in %d runs with %d rows, %v", synced, runs, len(out), err)
	}
	// Without end.
	w.Break(bankfeed.Fault{Mode: bankfeed.Mutation, On: "/transactions/sync"})
	before := w.Counts().Calls["/transactions/sync"]

	got, err = w.sync(w.client, l.Token, "", 10)
	if !errors.Is(err, plaid.ErrMoved) || got.Cursor != "" || got.firsts != 6 {
		t.Errorf("rows that never rest: %+v in %d runs, %v", got.Synced, got.firsts, err)
	}

	if n := w.Counts().Calls["/transactions/sync"] - before; n != 12 {
		t.Errorf("%d calls for six runs of two", n)
	}

	if code := failed(t, err).Code; code != "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION" {
		t.Errorf("the code is %s", code)
	}
}

func TestSyncOfAnItemThatIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustControl("POST", "/control/settings", `{"begins":"NOT_READY","history":20}`)
	l := w.link(harbor)

	got := w.mustSync(l, "")
	if got.Status != plaid.NotReady || got.Cursor != "" || len(got.added) != 0 {
		t.Errorf("not ready: %+v", got)
	}

	w.mustControl("POST", "/control/items/"+l.ItemID+"/progress", `{"progress":"INITIAL_UPDATE_COMPLETE"}`)

	if h := w.hook(); h.webhook.Topic != plaid.SyncUpdates || h.webhook.HistoryComplete {
		t.Errorf("the webhook of the first part: %+v", h)
	}

	first := w.mustSync(l, got.Cursor)
	recent := time.Now().AddDate(0, 0, -31).Format("2006-01-02")

	if first.Status != plaid.InitialComplete || len(first.added) == 0 || slices.ContainsFunc(first.added, func(r plaid.Transaction) bool { return r.Date.String() < recent }) {
		t.Errorf("the first part: %+v", first)
	}

	w.mustControl("POST", "/control/items/"+l.ItemID+"/progress", `{"progress":"HISTORICAL_UPDATE_COMPLETE"}`)

	if h := w.hook(); !h.webhook.HistoryComplete {
		t.Errorf("the webhook of everything: %+v", h)
	}

	rest := w.mustSync(l, first.Cursor)
	if rest.Status != plaid.HistoricalComplete || len(rest.added)+len(first.added) != 60 {
		t.Errorf("everything: %d and %d rows of 60, %s", len(first.added), len(rest.added), rest.Status)
	}

	if oldest := time.Now().AddDate(0, 0, -728).Format("2006-01-02"); !slices.ContainsFunc(rest.added, func(r plaid.Transaction) bool { return r.Date.String() < oldest }) {
		t.Errorf("the history does not reach back two years")
	}
}

func TestSyncRestsWhereCallsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.mustAdd(l, many(25)...)

	now := 0
	w.Break(bankfeed.Fault{Mode: bankfeed.TooMany, On: "/transactions/sync", Times: 3, RetryAfter: &now})

	if got, err := w.sync(w.client, l.Token, "", 10); err != nil || got.Restarts != 0 || len(got.added) != 25 {
		t.Errorf("%+v, %v", got.Synced, err)
	}

	w.Break(bankfeed.Fault{Mode: bankfeed.TooMany, On: "/transactions/sync", RetryAfter: &now})

	if _, err := w.sync(w.client, l.Token, "", 10); !errors.Is(err, plaid.ErrLimited) {
		t.Errorf("limited for ever: %v", err)
	}

	w.Reset()

	later := 7
	w.Break(bankfeed.Fault{Mode: bankfeed.TooMany, On: "/item/get", Times: 1, RetryAfter: &later})

	_, err := w.client.ItemState(t.Context(), l.Token)
	if until := time.Until(failed(t, err).Until); !errors.Is(err, plaid.ErrLimited) || until > 7*time.Second {
		t.Errorf("limited for seven seconds: %s, %v", until, err)
	}
	// By our own count: a fifth of a minute's calls at once, then no more.
	frugal := w.open(plaid.Config{CallsPerMinute: 10})
	before := w.Counts().Calls["/item/get"]

	for i := range 3 {
		_, err := frugal.ItemState(t.Context(), l.Token)
		if limited := errors.Is(err, plaid.ErrLimited); limited != (i == 2) {
			t.Errorf("call %d: %v", i+1, err)
		} else if limited && (time.Until(failed(t, err).Until) <= 0 || time.Until(failed(t, err).Until) > 10*time.Second) {
			t.Errorf("limited until %s", failed(t, err).Until)
		}
	}

	if n := w.Counts().Calls["/item/get"] - before; n != 2 {
		t.Errorf("%d calls came through, want 2", n)
	}
}

// Where nothing is ready yet there is no new cursor, and the old one is kept.
func TestSyncKeepsItsCursor(t *testing.T) {
	t.Parallel()
	client := scripted(t, http.StatusOK, `{"next_cursor":"","has_more":false,"transactions_update_status":"NOT_READY","request_id":"r"}`)

	got, err := client.SyncTransactions(t.Context(), plaid.SyncRequest{AccessToken: "a", Cursor: "c0"}, func(plaid.Page) error { return nil })
	if err != nil || got.Cursor != "c0" || got.Status != plaid.NotReady {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSyncEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	w.mustAdd(l, many(25)...)

	full := errors.New("no room")
	pages := 0

	_, err := w.client.SyncTransactions(t.Context(), plaid.SyncRequest{AccessToken: l.Token, Count: 10}, func(plaid.Page) error {
		pages++
		return full
	})
	if !errors.Is(err, full) || pages != 1 {
		t.Errorf("%v after %d pages", err, pages)
	}

	if _, err := w.client.TransactionsPage(t.Context(), l.Token, "bm9uc2Vuc2U", 0); !errors.Is(err, plaid.ErrRefused) {
		t.Errorf("a cursor that is none: %v", err)
	}
}

// One word on each row, whatever the vendor repeats.
func TestRowsThatComeTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	ids := w.mustAdd(l, many(4)...)
	w.Break(bankfeed.Fault{Mode: bankfeed.DuplicateIDs})

	first := w.mustSync(l, "")
	if !slices.Equal(idsOf(first.added), ids) {
		t.Errorf("added %v, want %v", idsOf(first.added), ids)
	}

	if accounts, _, err := w.client.Accounts(t.Context(), l.Token); err != nil || len(accounts) != 3 {
		t.Errorf("%d accounts, %v", len(accounts), err)
	}

	if err := w.Remove(l.ItemID, ids[0]); err != nil {
		t.Fatal(err)
	}

	if got := w.mustSync(l, first.Cursor); len(got.removed) != 1 {
		t.Errorf("removed %+v", got.removed)
	}

	client := scripted(t, http.StatusOK, `{"added":[`+wireRow("x", `"amount":1`)+`,`+wireRow("y", `"amount":2`)+`,`+wireRow("x", `"amount":3`)+`,`+wireRow("z", `"amount":4`)+`],
		"modified":[`+wireRow("y", `"amount":5`)+`],"removed":[{"transaction_id":"z"}],"next_cursor":"c","has_more":false,"request_id":"r"}`)

	p, err := client.TransactionsPage(t.Context(), "a", "", 0)
	if err != nil || len(p.Added) != 1 || p.Added[0].ID != "x" || p.Added[0].Amount != -300 || len(p.Modified) != 1 || p.Modified[0].Amount != -500 ||
		len(p.Removed) != 1 || p.Removed[0].ID != "z" {
		t.Errorf("%+v, %v", p, err)
	}
}

func wireRow(id, rest string) string {
	return `{"transaction_id":"` + id + `","account_id":"acc","iso_currency_code":"USD","date":"2026-03-01","name":"n",` + rest + `}`
}

// A row that cannot be used is lost alone, and reported.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ row, field, id string }{
		"good":                     {wireRow("t", `"amount":12.30`), "", "t"},
		"no identifier":            {wireRow("", `"amount":1`), "id", ""},
		"an identifier of blanks":  {wireRow("a b", `"amount":1`), "id", ""},
		"no account":               {`{"transaction_id":"t","iso_currency_code":"USD","date":"2026-03-01","amount":1}`, "account_id", "t"},
		"no currency":              {`{"transaction_id":"t","account_id":"a","date":"2026-03-01","amount":1}`, "currency", "t"},
		"no amount":                {wireRow("t", `"amount":null`), "amount", "t"},
		"an amount as text":        {wireRow("t", `"amount":"12.30"`), "amount", "t"},
		"an amount without end":    {wireRow("t", `"amount":1e300`), "amount", "t"},
		"an amount beyond numbers": {wireRow("t", `"amount":90071992547409.92`), "amount", "t"},
		"a day that there is not":  {strings.Replace(wireRow("t", `"amount":1`), "2026-03-01", "2026-02-30", 1), "date", "t"},
		"a name that is a number":  {wireRow("t", `"amount":1,"merchant_name":5`), "row", "t"},
		"no object":                {`"t"`, "row", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := scripted(t, http.StatusOK, `{"added":[`+wireRow("before", `"amount":1`)+`,`+c.row+`],"modified":[],"removed":[],"next_cursor":"c","has_more":false,
				"accounts":[],"transactions_update_status":"HISTORICAL_UPDATE_COMPLETE","request_id":"r"}`)

			p, err := client.TransactionsPage(t.Context(), "a", "", 0)
			if err != nil {
				t.Fatal(err)
			}

			if c.field == "" {
				if len(p.Added) != 2 || p.Added[1].ID != c.id || len(p.Unreadable) != 0 {
					t.Errorf("%+v", p)
				}

				return
			}

			if len(p.Added) != 1 || p.Added[0].ID != "before" || len(p.Unreadable) != 1 || p.Unreadable[0].Field != c.field || p.Unreadable[0].ID != c.id {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestTextsAreMadeSafe(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("ä", 600)
	client := scripted(t, http.StatusOK, `{"added":[`+wireRow("t", `"amount":1,"merchant_name":"a\u0000b\nc","original_description":"`+long+`"`)+`],"next_cursor":"c","has_more":false,"request_id":"r"}`)

	p, err := client.TransactionsPage(t.Context(), "a", "", 0)
	if err != nil || p.Added[0].Merchant != "a b c" || p.Added[0].Original != strings.Repeat("ä", 500) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAnswersThatAreNotOfTheProtocol(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		status int
		body   string
		kind   error
	}{
		"an empty body":               {200, ``, plaid.ErrUnavailable},
		"a list":                      {200, `[]`, plaid.ErrUnavailable},
		"no request":                  {200, `{"next_cursor":"c","has_more":false}`, plaid.ErrUnavailable},
		"pages without end":           {200, `{"next_cursor":"","has_more":true,"request_id":"r"}`, plaid.ErrUnavailable},
		"the same cursor again":       {200, `{"next_cursor":"c0","has_more":true,"request_id":"r"}`, plaid.ErrUnavailable},
		"a cursor that is too long":   {200, `{"next_cursor":"` + strings.Repeat("c", 257) + `","has_more":false,"request_id":"r"}`, plaid.ErrUnavailable},
		"a status of 401":             {401, `<html>`, plaid.ErrCredentials},
		"a status of 404":             {404, `{}`, plaid.ErrUnavailable},
		"a status of 429":             {429, ``, plaid.ErrLimited},
		"a success of another kind":   {204, ``, plaid.ErrUnavailable},
		"a worded failure as a 200":   {200, `{"error_type":"ITEM_ERROR","error_code":"ITEM_NOT_FOUND","next_cursor":5,"request_id":"r"}`, plaid.ErrUnavailable},
		"an account without a name":   {200, `{"next_cursor":"c","has_more":false,"accounts":[{}],"request_id":"r"}`, plaid.ErrUnavailable},
		"a balance that is no number": {200, `{"next_cursor":"c","has_more":false,"accounts":[{"account_id":"a","balances":{"current":"x"}}],"request_id":"r"}`, plaid.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := scripted(t, c.status, c.body)

			ctx := short(t)
			if errors.Is(c.kind, plaid.ErrLimited) {
				_, err := client.TransactionsPage(ctx, "a", "c0", 0)
				if !errors.Is(err, c.kind) {
					t.Errorf("%v, want %v", err, c.kind)
				}

				return
			}

			if _, err := client.SyncTransactions(ctx, plaid.SyncRequest{AccessToken: "a", Cursor: "c0"}, func(plaid.Page) error { return nil }); !errors.Is(err, c.kind) {
				t.Errorf("%v, want %v", err, c.kind)
			}
		})
	}
}

// A bank that gives its accounts new identifiers: the old one disappears, and its rows come again.
func TestAccountsThatAreRekeyed(t *testing.T) {
	t.Parallel()

	for body, removed := range map[string]int{`{"removeOld":true}`: 3, `{}`: 0} {
		w := newWorld(t)
		l := w.link(harbor)
		ids := w.mustAdd(l, many(3)...)
		first := w.mustSync(l, "")
		w.mustControl("POST", "/control/items/"+l.ItemID+"/accounts/"+l.accounts[0].ID+"/rekey", body)

		accounts, _, err := w.client.Accounts(t.Context(), l.Token)
		if err != nil || len(accounts) != 3 {
			t.Fatalf("%+v, %v", accounts, err)
		}

		fresh := accounts[2]
		if slices.ContainsFunc(accounts, func(a plaid.Account) bool { return a.ID == l.accounts[0].ID }) || fresh.Mask != l.accounts[0].Mask ||
			*fresh.Balance.Current != 2499994 {
			t.Errorf("%s: the accounts are %+v", body, accounts)
		}

		got := w.mustSync(l, first.Cursor)
		if len(got.added) != 3 || got.added[0].AccountID != fresh.ID || slices.Contains(ids, got.added[0].ID) || len(got.removed) != removed {
			t.Errorf("%s: %+v", body, got)
		}
	}
}
