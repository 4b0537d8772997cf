package intake_test

import (
	"context"
	"maps"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// feedScene returns a scene whose source gives bank records, with an account at the bank that is attached to the bank
// account 1000.
func feedScene(t *testing.T) (s *scene, source *script, checking id.ID) {
	t.Helper()

	source = &script{kinds: []string{"bankRecord"}}
	s = newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})

	return s, source, s.atBank("Checking", s.Account("1000"))
}

// atBank adds an account at the bank that the connection reads, attached to an account of the chart or for the zero id
// to none.
func (s *scene) atBank(name string, account id.ID) id.ID {
	s.T.Helper()

	made := id.New(s.DB.Now())
	s.Exec(`insert into account_connection (team_id, id, connection_id, provider_account_id, name, currency, account_id, status, created_at, updated_at)
		values (@team, @id, @connection, @name::text, @name, 'usd', @account::uuid, case when @account is null then 'detached' else 'active' end, now(), now())`,
		db.Args{"id": made, "connection": s.connection, "name": name, "account": account})

	return made
}

// say makes the source give one bank record, and takes it in.
func (s *scene) say(source *script, name string, fields object) {
	s.T.Helper()

	source.changes = nil
	source.give("bankRecord", name, fields)
	s.sync(intake.Incremental)
}

// records returns the bank records of the feed by their reference.
func (s *scene) records() map[string]object {
	s.T.Helper()

	var page struct{ Data []object }

	s.Get("/bank-records?limit=250&includeBalanceRecords=true").Want(200).Into(&page)

	out := map[string]object{}

	for _, r := range page.Data {
		ref, _ := r["uniqueRef"].(string)
		out[ref] = r
	}

	return out
}

// What a feed says lands on the account that its account at the bank is attached to, and bank rules take it, whatever
// the caller may do; what is wrong with a record is told of that record.
func TestBankRecordsAreTakenIn(t *testing.T) {
	t.Parallel()
	s, source, checking := feedScene(t)
	savings := s.atBank("Savings", id.ID{})
	s.Post("/bank-records/batch", object{"data": array{object{
		"accountId": s.Account("1000"), "date": "2026-03-01", "amount": 900, "description": "From a file", "uniqueRef": "known", "source": "csv",
	}}}).Want(201)
	s.Post("/bank-rules", object{
		"name": "Fees", "transactionType": "expense", "mode": "auto", "accountIds": array{s.Account("1000")},
		"conditions": array{object{"type": "description", "operator": "contains", "value": "fee"}},
		"lines":      array{object{"splitMode": "remainder", "accountId": s.Account("5200")}},
	}).Want(201)

	of := func(bankAccount id.ID, ref string, amount int, more object) object {
		out := object{"bankAccountId": bankAccount, "uniqueRef": ref, "date": "2026-03-02", "amount": amount, "description": "Movement", "currency": "usd"}
		maps.Copy(out, more)

		return out
	}
	source.give("bankRecord", "b1", of(checking, "b1", 5000, nil))
	source.give("bankRecord", "b2", of(checking, "b2", -300, object{"description": "Monthly fee"}))
	source.give("bankRecord", "b3", of(savings, "b3", 700, nil))
	source.give("bankRecord", "b4", object{"bankAccountId": checking, "uniqueRef": "b4", "date": "2026-03-02", "type": "balance", "balance": 4700, "description": "Balance"})
	source.give("bankRecord", "b5", of(id.New(s.DB.Now()), "b5", 1, nil))
	source.give("bankRecord", "b6", of(checking, "b6", 1, object{"currency": "eur"}))
	source.give("bankRecord", "b7", object{"bankAccountId": checking, "uniqueRef": "b7", "date": "2026-03-02", "description": "Nothing"})
	source.give("bankRecord", "b8", of(checking, "b8", 1, object{"accountId": s.Account("1000")}))
	source.give("bankRecord", "b9", of(checking, "known", 901, nil))
	s.sync(intake.Incremental)

	s.want(map[string]string{
		"b1": "completed", "b2": "completed", "b3": "completed", "b4": "completed", "b5": "failed notFound", "b6": "failed currencyMismatch",
		"b7": "failed required", "b8": "failed contradiction", "b9": "completed conflict",
	})

	got := s.records()
	if len(got) != 5 {
		t.Fatalf("the records are %v", got)
	}

	for ref, account := range map[string]any{"b1": s.Account("1000").String(), "b3": nil, "b4": s.Account("1000").String()} {
		r := got[ref]
		if r["accountId"] != account || r["source"] != "bankfeed" || r["connectionId"] != s.connection.String() || r["currency"] != "usd" {
			t.Errorf("record %s is %v", ref, r)
		}
	}

	// The rule booked the fee; the record of the file stays as it was.
	if r := s.Get("/bank-records/" + got["b2"]["id"].(string)).Want(200); r.Len("reconciliation.transactions") != 1 {
		t.Errorf("the fee is %s", r.Body)
	}

	if r := got["known"]; r["amount"] != 900.0 || r["source"] != "csv" {
		t.Errorf("the record of the file is %v", r)
	}

	// The account at the bank that is attached later takes its records along.
	s.Put("/account-connections/"+savings.String(), object{"accountId": s.Account("1010")}).Want(200)

	if r := s.records()["b3"]; r["accountId"] != s.Account("1010").String() {
		t.Errorf("the record of the savings is %v", r)
	}
}

// The feed may change what it said, and take it back; a person's words stay, and what is reconciled waits until it is
// not any more.
func TestABankChangesWhatItSaid(t *testing.T) {
	t.Parallel()
	s, source, checking := feedScene(t)

	fields := object{"bankAccountId": checking, "uniqueRef": "r1", "date": "2026-03-02", "amount": 5000, "description": "PENDING DEPOSIT"}
	s.say(source, "r1", fields)
	record := "/bank-records/" + s.records()["r1"]["id"].(string)

	fields["amount"], fields["date"] = 5100, "2026-03-03"
	s.say(source, "r1", fields)
	s.want(map[string]string{"r1": "completed"})
	s.Get(record).Want(200).WantFields("", object{"amount": 5100, "date": "2026-03-03"})

	// A person names it.
	s.Put(record, object{"description": "Deposit of Ada"}).Want(200)
	s.Put(record, object{"amount": 1}).WantError("BAD_REQUEST", "bankRecordBankfeedSource")

	fields["description"], fields["amount"] = "DEPOSIT 4711", 5200
	s.say(source, "r1", fields)
	s.want(map[string]string{"r1": "completed conflict"})
	s.Get(record).Want(200).WantFields("", object{"amount": 5200, "description": "Deposit of Ada"})

	// While it is reconciled its money stays.
	deposit := s.Post("/transactions", object{
		"type": "deposit", "date": "2026-03-03", "accountId": s.Account("1000"), "lines": array{object{"accountId": s.Account("2300"), "amount": 5200}},
	}).Want(201).ID("id")
	s.Post(record+"/reconcile", object{"transactions": array{object{"id": deposit}}}).Want(200)

	fields["amount"] = 5300
	s.say(source, "r1", fields)
	s.want(map[string]string{"r1": "skipped locked"})
	s.Get(record).Want(200).WantFields("", object{"amount": 5200})

	s.Post(record+"/unreconcile", object{}).Want(200)
	s.Outlast(nil)
	s.want(map[string]string{"r1": "completed"})
	s.Get(record).Want(200).WantFields("", object{"amount": 5300, "description": "Deposit of Ada"})

	// What the bank takes back counts no more, and counts again when it comes back.
	source.changes = []intake.Change{{Kind: "bankRecord", ExternalID: "r1", Gone: true}}

	s.sync(intake.Incremental)
	s.Get(record).Want(200).WantFields("", object{"status": "inactive"})

	s.say(source, "r1", fields)
	s.Get(record).Want(200).WantFields("", object{"status": "active"})
}

// A record that waits for another of its source is not tried again when a lock goes, only with the next sync.
func TestWhatWaitsForARecordDoesNotWaitForALock(t *testing.T) {
	t.Parallel()

	source := &script{}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})

	source.give("reservation", "r1", object{"checkIn": "2026-02-01", "checkOut": "2026-02-03"})
	source.changes[0].Refs = map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: "elsewhere"}}

	s.sync(intake.Incremental)
	s.want(map[string]string{"r1": "skipped unmapped"})

	s.Tx(intake.RetryWaiting)
	s.Outlast(nil)

	if n := s.Get("/syncs?connectionIds=" + s.connection.String()).Want(200).Int("pagination.total"); n != 1 {
		t.Errorf("%d syncs, want 1", n)
	}
}
