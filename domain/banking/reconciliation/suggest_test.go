package reconciliation_test

import (
	"strconv"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func (o *office) stay(code, channel string) id.ID {
	s := fixture.Stay(o.Team, o.listing, "booked", "2026-02-01", "2026-02-05")
	o.Exec(`update reservation set confirmation_code = @code, booking_platform = @channel, guest_name = 'Guest' where team_id = @team and id = @id`,
		db.Args{"id": s, "code": code, "channel": channel})

	return s
}

// paid is a deposit that a stay's guest made.
func (o *office) paid(date string, cents int64, stay id.ID) id.ID {
	o.t.Helper()

	return o.Post("/transactions", object{
		"type": "deposit", "date": date, "accountId": o.accounts["1000"], "lines": list{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": stay}},
	}).Want(201).ID("id")
}

func (o *office) says(cents int64, description string) id.ID {
	r := o.record("1000", cents)
	o.Exec(`update bank_record set description = @text where team_id = @team and id = @id`, db.Args{"id": r, "text": description})

	return r
}

// suggested is the suggestion for a record.
func suggested(t *testing.T, all *apitest.Response, record id.ID) map[string]any {
	t.Helper()

	for i := range all.Len("data") {
		if one, _ := all.Value("data." + strconv.Itoa(i)).(map[string]any); one["bankRecord"].(map[string]any)["id"] == record.String() {
			return one
		}
	}

	t.Fatalf("%s is not among the suggestions: %s", record, all.Body)

	return nil
}

// A payout of a channel is found as the set of its stays, a deposit as the one of its amount, a code before the amount;
// two of one amount are shown and not decided. Reconciled ones and those of another team are not suggested.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	o, other := newOffice(t), newOffice(t)
	other.deposit("1000", 777)

	first, second := o.paid("2026-02-08", 30100, o.stay("HMAAAA1", "airbnb")), o.paid("2026-02-09", 21300, o.stay("HMBBBB2", "airbnb"))
	o.paid("2026-02-09", 51400-1, o.stay("HMCCCC3", "direct"))
	named, alike := o.paid("2026-02-03", 9900, o.stay("HMDDDD4", "direct")), o.paid("2026-02-09", 9900, o.stay("HMEEEE5", "direct"))
	payout, byCode, single, lone := o.says(51400, "AIRBNB PAYOUT"), o.says(9900, "Wire HMDDDD4"), o.says(777, "Cash"), o.says(123, "Interest")

	got := o.Get("/bank-records/suggestions?limit=50").Want(200)
	if got.Len("data") != 4 || got.Int("pagination.total") != 4 {
		t.Fatalf("suggestions: %s", got.Body)
	}

	set := func(one map[string]any) (ids []string) {
		for _, s := range one["sets"].([]any)[:1] {
			for _, x := range s.(map[string]any)["transactions"].([]any) {
				ids = append(ids, x.(map[string]any)["id"].(string))
			}
		}

		return ids
	}
	for _, want := range []struct {
		record         id.ID
		result, reason string
		transactions   []id.ID
	}{{payout, "unique", "set", []id.ID{first, second}}, {byCode, "unique", "key", []id.ID{named}}} {
		one := suggested(t, got, want.record)
		if one["result"] != want.result || one["reason"] != want.reason || len(set(one)) != len(want.transactions) || set(one)[0] != want.transactions[0].String() {
			t.Errorf("want %+v: %v", want, one)
		}
	}

	for _, none := range []id.ID{single, lone} {
		if one := suggested(t, got, none); one["result"] != "none" || len(one["sets"].([]any)) != 0 {
			t.Errorf("nothing fits: %v", one)
		}
	}

	twin := o.says(9900, "Wire")
	if one := suggested(t, o.Get("/bank-records/suggestions").Want(200), twin); one["result"] != "unique" || set(one)[0] != alike.String() {
		t.Errorf("what the code leaves: %v", one)
	}

	o.deposit("1000", 9900)

	if one := suggested(t, o.Get("/bank-records/suggestions").Want(200), twin); one["result"] != "ambiguous" || len(one["sets"].([]any)) != 2 {
		t.Errorf("two of one amount: %v", one)
	}

	o.Post(path(payout, "reconcile"), made(first, second)).Want(200)

	after := o.Get("/bank-records/suggestions?limit=2&accountIds=" + o.accounts["1000"].String()).Want(200)
	if after.Len("data") != 2 || after.Int("pagination.total") != 4 {
		t.Errorf("after one was reconciled: %s", after.Body)
	}

	if r := o.Get("/bank-records/suggestions?accountIds=" + o.accounts["1010"].String()).Want(200); r.Len("data") != 0 {
		t.Errorf("of another account: %s", r.Body)
	}
}

// A set is of one channel, and of transactions that no record has any of.
func TestWhatIsNoSuggestion(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.paid("2026-02-08", 10010, o.stay("HMAAAA1", "airbnb"))
	o.paid("2026-02-09", 20020, o.stay("HMBBBB2", "vrbo"))
	mixed := o.says(30030, "Payout")
	x := o.deposit("1000", 640)
	o.Post(path(o.says(400, "Cash"), "reconcile"), object{"transactions": list{object{"id": x, "centTotal": 400}}}).Want(200)
	used := o.says(640, "Cash")

	got := o.Get("/bank-records/suggestions").Want(200)
	for name, record := range map[string]id.ID{"two channels": mixed, "a transaction that another record has a part of": used} {
		if one := suggested(t, got, record); one["result"] != "none" {
			t.Errorf("%s: %v", name, one)
		}
	}
}

// What a code of the bank proves is found among twenty thousand open records.
func TestACodeAmongThousandsOfOpenRecords(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	paid := o.paid("2026-02-08", 30100, o.stay("HMAAAA1", "airbnb"))
	record := o.says(30100, "Wire HMAAAA1")
	o.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		select @team, gen_random_uuid(), @account, date '2026-02-01' + n % 20, n, 'Row ' || n, now(), now() from generate_series(1, 20000) n where n <> 30100`,
		db.Args{"account": o.accounts["1000"]})

	day := o.Get("/bank-records/" + record.String()).Want(200).String("date")

	got := o.Get("/bank-records/suggestions?limit=250&dateRange=" + day).Want(200)
	for page := 2; page <= 8; page++ {
		for i := range got.Len("data") {
			if at := "data." + strconv.Itoa(i); got.String(at+".bankRecord.id") == record.String() {
				got.WantFields(at, object{"result": "unique", "reason": "key"}).WantFields(at+".sets.0.transactions.0", object{"id": paid})

				return
			}
		}

		got = o.Get("/bank-records/suggestions?limit=250&dateRange=" + day + "&page=" + strconv.Itoa(page)).Want(200)
	}

	t.Errorf("the record is on no page of the day")
}
