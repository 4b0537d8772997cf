package accountconnection_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// where returns the account that a record is on, and whether it counts.
func (b *book) where(record id.ID) (account, status, currency string) {
	b.t.Helper()
	r := b.Get("/bank-records/" + record.String()).Want(200)

	return r.String("accountId"), r.String("status"), r.String("currency")
}

func (b *book) isAt(record id.ID, account, status string) {
	b.t.Helper()

	if a, s, currency := b.where(record); a != account || s != status || currency != "usd" {
		b.t.Errorf("the record is on %s, %s, in %s; want on %s, %s, in usd", a, s, currency, account, status)
	}
}

// detach detaches by one of the two routes.
type detach struct {
	name string
	call func(b *book, connection, account id.ID, mode string) (status int)
}

var detaches = []detach{
	{"by the account connection", func(b *book, connection, _ id.ID, mode string) int {
		body := object{"accountId": nil}
		if mode != "" {
			body["mode"] = mode
		}

		return b.Put(path(connection), body).Status
	}},
	{"by the account", func(b *book, connection, account id.ID, mode string) int {
		body := object{"bankAccountId": connection}
		if mode != "" {
			body["mode"] = mode
		}

		return b.Post("/accounts/"+account.String()+"/disconnect-bank-account", body).Status
	}},
}

// History stays with the account unless it is taken along, and comes with the account connection to the next account;
// the records of others and what a person excluded stay as they are.
func TestDetachingLeavesOrTakesTheHistory(t *testing.T) {
	t.Parallel()

	for _, way := range detaches {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			c, a := b.attached("1111")
			other, next := b.add("2222", nil), b.bank("9999")
			counts, excluded := b.record(c, a, "2026-01-10"), b.record(c, a, "2026-01-11")
			foreign, early := b.record(other, a, "2026-01-12"), b.record(c, next, "2026-01-13")
			b.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": excluded})

			for _, mode := range []string{"", "preserve-history"} {
				if status := way.call(b, c, a, mode); status != 200 {
					t.Fatalf("mode %q answers %d", mode, status)
				}

				b.isAt(counts, a.String(), "active")
				b.isAt(excluded, a.String(), "inactive")
				want(t, b.Get(path(c)).Want(200), map[string]string{"status": "detached", "accountId": "null"})
				want(t, b.Get("/accounts/"+a.String()).Want(200), map[string]string{
					"banking.connections": "[]", "banking.last4": "1111", "banking.bankRecords.total": "2", "issues": "[]",
				})
				b.attach(c, a).Want(200)
			}

			if status := way.call(b, c, a, "detach-history"); status != 200 {
				t.Fatalf("detach-history answers %d", status)
			}

			b.isAt(counts, "null", "active")
			b.isAt(excluded, "null", "inactive")
			b.isAt(foreign, a.String(), "active")
			b.isAt(early, next.String(), "active")
			want(t, b.Get("/accounts/"+a.String()).Want(200), map[string]string{"banking.bankRecords.total": "1"})
			// The next account gets what is linked to none.
			b.attach(c, next).Want(200)
			b.isAt(counts, next.String(), "active")
			b.isAt(excluded, next.String(), "inactive")
			b.isAt(foreign, a.String(), "active")

			if untold := b.Untold(); len(untold) > 0 {
				t.Errorf("not told: %v", untold)
			}
		})
	}
}

// What lies before the first day of an account is left out when it comes, and counts again when it goes.
func TestTheFirstDayOfAnAccountHoldsForWhatComes(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	a := b.bank("")
	b.Exec(`update account set banking_opening_at = '2026-01-10', banking_opening = 0 where team_id = @team and id = @id`, db.Args{"id": a})
	c := b.add("", nil)
	old, fresh := b.record(c, id.Zero, "2026-01-09"), b.record(c, id.Zero, "2026-01-10")
	b.attach(c, a).Want(200)
	b.isAt(old, a.String(), "inactive")
	b.isAt(fresh, a.String(), "active")
	b.Put(path(c), object{"accountId": nil, "mode": "detach-history"}).Want(200)
	b.isAt(old, "null", "active")
	b.isAt(fresh, "null", "active")

	if n := b.stored(`select count(*) from account_excluded_record where team_id = @team`, nil); n != 0 {
		t.Errorf("%d records are still left out", n)
	}

	b.attach(c, b.bank("")).Want(200)

	if _, status, _ := b.where(old); status != "active" {
		t.Errorf("on an account without a first day the old record is %s", status)
	}

	if untold := b.Untold(); len(untold) > 0 {
		t.Errorf("not told: %v", untold)
	}
}

// What transactions make up in part or whole stays where it is, and with it all the rest; without the history the
// account connection can go.
//
// Proves: RSN-11.
func TestReconciledHistoryStays(t *testing.T) {
	t.Parallel()

	for _, way := range detaches {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			c, a := b.attached("1111")
			open, made := b.record(c, a, "2026-01-10"), b.record(c, a, "2026-01-11")
			b.reconcile(made, a)

			if status := way.call(b, c, a, "detach-history"); status != 403 {
				t.Fatalf("detach-history answers %d", status)
			}

			b.isAt(open, a.String(), "active")
			want(t, b.Get(path(c)), map[string]string{"accountId": a.String()})
			r := b.Put(path(c), object{"accountId": nil, "mode": "detach-history"}).WantError(apierr.CodeForbidden, apierr.ReasonBankRecordReconciled)
			want(t, r, map[string]string{"context.bankRecordIds": `["` + made.String() + `"]`})

			if status := way.call(b, c, a, "preserve-history"); status != 200 {
				t.Fatalf("preserve-history answers %d", status)
			}

			b.isAt(made, a.String(), "active")
		})
	}
}

// Proves: RSN-07.
func TestTooMuchHistoryAtOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")
	b.Exec(`insert into bank_record (team_id, id, bank_account_id, account_id, date, amount, source, created_at, updated_at)
		select @team, gen_random_uuid(), @connection, @account, '2026-01-01', n, 'bankfeed', now(), now() from generate_series(1, 10001) n`,
		db.Args{"connection": c, "account": a})
	r := b.Put(path(c), object{"accountId": nil, "mode": "detach-history"}).WantError(apierr.CodeBadRequest, apierr.ReasonBankAccountTooManyRecords)
	want(t, r, map[string]string{"context.maxRecords": "10000"})
	b.Exec(`delete from bank_record where team_id = @team and amount = 1`, nil)
	b.Put(path(c), object{"accountId": nil, "mode": "detach-history"}).Want(200)
	b.record(c, id.Zero, "2026-01-01")
	b.attach(c, a).WantError(apierr.CodeBadRequest, apierr.ReasonBankAccountTooManyRecords)
}

func TestDisconnectingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c, a := b.attached("1111")
	loose := b.add("2222", nil)
	_, elsewhere := b.attached("3333")
	to := func(account id.ID) string { return "/accounts/" + account.String() + "/disconnect-bank-account" }
	b.Post(to(id.New(b.DB.Now())), object{"bankAccountId": c}).WantError(apierr.CodeNotFound, "")
	b.Post(to(b.account("ledger", "")), object{"bankAccountId": c}).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).WantIssue("notBankAccount", "id")
	refuses := b.Refuses(to(a))
	refuses("unknown", object{"bankAccountId": id.New(b.DB.Now())}, "notFound", "bankAccountId")
	refuses("attached to none", object{"bankAccountId": loose}, "notFound", "bankAccountId")
	refuses("no account connection", object{}, "required", "bankAccountId")
	refuses("another mode", object{"bankAccountId": c, "mode": "forget"}, "enum", "mode")
	b.Refuses(to(elsewhere))("attached elsewhere", object{"bankAccountId": c}, "notFound", "bankAccountId")
	want(t, b.Post(to(a), object{"bankAccountId": c}).Want(200), map[string]string{"id": a.String(), "banking.connections": "[]"})
}
