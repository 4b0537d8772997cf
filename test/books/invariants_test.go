package books_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
)

// hold fails unless the eight invariants of the books hold. Refreshing twice without a difference, which is the fifth,
// is checked by live.
func (h *history) hold(when string) {
	h.balancedPostings(when)
	h.balancedTrials(when)
	h.trustIsOwed(when)
	h.ledgersEliminate(when)
	h.statementsChain(when)
	h.staysAreBooked(when)
	h.keptFacts(when)
	h.keptGuests(when)
}

// none fails when a query of contradictions finds one.
func (h *history) none(when, what, sql string) {
	var found []string

	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[string](ctx, tx, sql+" limit 5", db.Args{"team": tx.Team})
		return err
	})

	if len(found) > 0 {
		h.r.Fatalf("%s: %s: %s", when, what, strings.Join(found, "; "))
	}
}

// balancedPostings is the first invariant: every posting sums to zero per ledger and currency; and the balances that
// reports read are the sums of the entries.
func (h *history) balancedPostings(when string) {
	h.none(when, "a posting does not balance", `select e.txn_code from ledger_entry e where e.team_id = @team
		group by e.txn_code, e.ledger, e.currency having sum(e.cent_total) <> 0`)
	h.none(when, "a posting has several dates or sources", `select e.txn_code from ledger_entry e where e.team_id = @team
		group by e.txn_code having count(distinct (e.txn_at, e.source_id, e.ledger)) > 1`)

	const entries = `select e.ledger, e.currency, e.account_id, coalesce(e.party, '') as party, date_trunc('month', e.txn_at)::date as month,
			coalesce(sum(e.cent_total) filter (where e.cent_total > 0), 0) as debit, coalesce(-sum(e.cent_total) filter (where e.cent_total < 0), 0) as credit, count(*) as entries
		from ledger_entry e where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' group by 1, 2, 3, 4, 5`
	for kept, month := range map[string]string{"ledger_balance": "month", "ledger_month": "month", "ledger_day": "date_trunc('month', day)::date"} {
		h.none(when, kept+" is not the sum of the entries", `select concat_ws(' ', x.month, x.account_id, x.party, x.debit, x.credit, k.debit, k.credit)
			from (`+entries+`) x full join (
				select ledger, currency, account_id, party, `+month+` as month, sum(debit) as debit, sum(credit) as credit, sum(entries) as entries from `+kept+` where team_id = @team
				group by 1, 2, 3, 4, 5 having sum(debit) <> 0 or sum(credit) <> 0 or sum(entries) <> 0) k using (ledger, currency, account_id, party, month)
			where (x.debit, x.credit, x.entries) is distinct from (k.debit, k.credit, k.entries)`)
	}

	h.none(when, "ledger_owner is not the sum of the entries", `select concat_ws(' ', ownership_period_id, month, account_id, expense, x.cents, x.entries, k.cents, k.entries)
		from (select e.ownership_period_id, e.currency, date_trunc('month', e.txn_at)::date as month, e.account_id, coalesce(t.type = 'expense', false) as expense,
				sum(e.cent_total) as cents, count(*) as entries
			from ledger_entry e left join transaction t on t.team_id = e.team_id and t.id = e.transaction_id
			where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' and e.party = 'owners' and e.ownership_period_id is not null group by 1, 2, 3, 4, 5) x
		full join (select ownership_period_id, currency, month, account_id, expense, sum(cents) as cents, sum(entries) as entries from ledger_owner
			where team_id = @team group by 1, 2, 3, 4, 5 having sum(cents) <> 0 or sum(entries) <> 0) k using (ownership_period_id, currency, month, account_id, expense)
		where (x.cents, x.entries) is distinct from (k.cents, k.entries)`)
}

// balancedTrials is the second: debits equal credits at any date.
func (h *history) balancedTrials(when string) {
	start := h.date("trial from")
	end := start.AddDays(h.draw(0, 60, "trial days"))

	for _, in := range []string{"", "&ledger=trust", "&ledger=operating"} {
		var trial struct {
			Totals struct{ Beginning, Debit, Credit, Ending int64 }
		}
		h.read("/reports/trial-balance?startDate="+start.String()+"&endDate="+end.String()+in, &trial)

		if t := trial.Totals; t.Beginning != 0 || t.Ending != 0 || t.Debit != t.Credit {
			h.r.Fatalf("%s: the trial balance %s...%s%s is off: %+v", when, start, end, in, t)
		}
	}
}

// trustIsOwed is the third: what the trust's banks hold is owed to guests, tax authorities, vendors, owners and the
// manager, and all of it has a party. The party and the ownership period of every entry serve for that.
func (h *history) trustIsOwed(when string) {
	h.none(when, "income or cost of nobody", `select concat_ws(' ', e.txn_code, e.ref) from ledger_entry e
		join account a on a.team_id = e.team_id and a.id = e.account_id join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where e.team_id = @team and e.party is null and c.classification in ('revenue', 'expense')`)
	// What a stay posts belongs to the owner of its date, unless he came after the last night; else to the owner of the nearest
	// night, or by night to no one. Corrections and money for it, and what is posted on one date by night, belong to who owned a
	// night of it or a day on which it is recognised; to no one only where a night has no owner. All else goes by its date.
	h.none(when, "owners' money of no owner", `select concat_ws(' ', e.txn_code, e.ref, e.txn_at) from ledger_entry e
		left join reservation r on r.team_id = e.team_id and r.id = e.reservation_id and r.listing_id = e.listing_id
			and e.trigger_type not in ('`+ledger.TriggerManual+`', 'reversal')
		cross join lateral (select
			e.source_id = r.id and e.trigger_type <> 'adjustment' and r.status <> 'canceled' and r.general_ledger_posting_at is null as is_own,
			(select p.id from listing_ownership_period p where p.team_id = e.team_id and p.listing_id = e.listing_id
				and daterange(p.start_at, p.end_at) @> e.txn_at and coalesce(p.start_at < r.check_out, true)) as of_day,
			(select p.id from listing_ownership_period p, generate_series(r.check_in, r.check_out - 1, interval '1 day') night
				where p.team_id = e.team_id and p.listing_id = e.listing_id and daterange(p.start_at, p.end_at) @> night::date
				order by abs(night::date - e.txn_at), night limit 1) as nearest,
			array(select p.id from listing_ownership_period p, generate_series(r.check_in, r.check_out - 1, interval '1 day') night
				where p.team_id = e.team_id and p.listing_id = e.listing_id and daterange(p.start_at, p.end_at) @> night::date) as owners,
			exists (select from generate_series(r.check_in, r.check_out - 1, interval '1 day') night where not exists (
				select from listing_ownership_period p where p.team_id = e.team_id and p.listing_id = e.listing_id
					and daterange(p.start_at, p.end_at) @> night::date)) as has_gap,
			array(select p.id from listing_ownership_period p where p.team_id = e.team_id and p.listing_id = e.listing_id
				and coalesce(p.start_at < r.check_out, true) and exists (
					select from unnest(array[r.check_in, r.check_out, r.booked_at, r.cancelled_at, r.general_ledger_posting_at]) d (at)
					where daterange(p.start_at, p.end_at) @> d.at)) as recognised) n
		where e.team_id = @team and e.party = 'owners' and e.statement_id is null
			and not case
			when r.id is null then e.ownership_period_id is not distinct from (
				select p.id from listing_ownership_period p
				where p.team_id = e.team_id and p.listing_id = e.listing_id and daterange(p.start_at, p.end_at) @> e.txn_at)
			when n.is_own and n.of_day is not null then e.ownership_period_id is not distinct from n.of_day
			when n.is_own then e.ownership_period_id is not distinct from n.nearest or e.ownership_period_id is null and n.has_gap
			else coalesce(e.ownership_period_id = any(n.owners || n.recognised), n.has_gap) end
			and not exists (select from `+ledger.OutstandingSQL()+` s where s.team_id = e.team_id and s.source_id = e.source_id and s.status = 'locked')`)

	var sheet struct {
		Assets, Liabilities struct{ Total int64 }
		Balances            struct{ Total int64 }
		Check               struct{ Total int64 }
	}
	h.read("/reports/balance-sheet?ledger=trust&date="+h.date("sheet").String(), &sheet)

	if sheet.Check.Total != 0 || sheet.Assets.Total != sheet.Liabilities.Total+sheet.Balances.Total {
		h.r.Fatalf("%s: the trust's balance sheet is off: %+v", when, sheet)
	}

	var trust struct {
		Difference  struct{ BookToLiabilities int64 }
		Liabilities struct{ CentTotal int64 }
		Book        struct{ CentTotal int64 }
	}
	h.read("/reports/trust-reconciliation?date="+h.date("reconciled").String(), &trust)

	if trust.Difference.BookToLiabilities != 0 || trust.Book.CentTotal != trust.Liabilities.CentTotal {
		h.r.Fatalf("%s: the trust does not hold what it owes: %+v", when, trust)
	}
}

// ledgersEliminate belongs to the third: the trust owes the operating ledger the amount that the latter is owed, for
// every posting, so that both together owe nothing.
func (h *history) ledgersEliminate(when string) {
	h.none(when, "the ledgers do not eliminate", `select concat_ws(' ', e.source_id, e.txn_at, e.currency, sum(e.cent_total)) from ledger_entry e
		join account_assignment s on s.team_id = e.team_id and s.account_id = e.account_id and s.assignment = 'dueToFromTrust'
		where e.team_id = @team group by e.source_id, e.txn_at, e.currency having sum(e.cent_total) <> 0`)
}

// statementsChain is the fourth: a statement starts where the one before it ended; and the sixth: the members' shares
// are the whole of the available amount.
func (h *history) statementsChain(when string) {
	chains := map[string][]statement{}

	for _, s := range h.statements("") {
		key := s.Ownership.ID + " " + s.Currency
		chains[key] = append(chains[key], s)

		f := s.Financials
		if f.BalanceEnd != f.BalanceStart+f.NetIncome+f.Payouts || f.NetIncome != f.NetRevenue+f.Expenses || f.Available != f.BalanceEnd-f.Reserve {
			h.r.Fatalf("%s: the statement of %s does not add up: %+v", when, s.StartAt, f)
		}

		var shared int64
		for _, share := range s.Shares {
			shared += share.Amount
		}

		if len(s.Shares) > 0 && shared != f.Available {
			h.r.Fatalf("%s: the shares of %s are %d in all, available is %d", when, s.StartAt, shared, f.Available)
		}
	}

	for key, chain := range chains {
		slices.SortFunc(chain, func(a, b statement) int { return strings.Compare(a.StartAt, b.StartAt) })

		for i := 1; i < len(chain); i++ {
			if was, now := chain[i-1].Financials.BalanceEnd, chain[i].Financials.BalanceStart; was != now {
				h.r.Fatalf("%s: %s: %s starts with %d, the month before ended with %d", when, key, chain[i].StartAt, now, was)
			}
		}
	}
}

// staysAreBooked is the seventh, from the outside: however a stay is cut into nights, months and owners, the
// entries on the guest's account are the guest's debt, and those of deposits there are the guest's payments.
func (h *history) staysAreBooked(when string) {
	var stays struct {
		Data []struct {
			ID, Status, GeneralLedgerStatus string
			Financials                      struct{ Total, Paid int64 }
			JournalStatus                   struct{ Status string }
		}
	}
	h.read("/reservations?limit=250", &stays)

	owes, paid := map[string]int64{}, map[string]int64{}

	for _, code := range []string{"2000", "1110"} {
		for _, e := range h.entries("&accountIds=" + h.account(code).String()) {
			if e.TransactionID == "" {
				owes[e.ReservationID] += e.CentTotal
			} else {
				paid[e.ReservationID] -= e.CentTotal
			}
		}
	}

	for _, s := range stays.Data {
		want := s.Financials.Total
		if s.GeneralLedgerStatus == "inactive" {
			want = 0
		}

		if s.JournalStatus.Status != "current" {
			continue // a lock keeps it as it was
		}

		if owes[s.ID] != want || paid[s.ID] != s.Financials.Paid {
			h.r.Fatalf("%s: %s", when, fmt.Sprintf("stay %s (%s): posted %d and %d, owed %d and paid %d", s.ID, s.Status, owes[s.ID], paid[s.ID], want, s.Financials.Paid))
		}
	}
}

// journal is a reservation or transaction as its journal status is read.
type journal struct {
	ID            string
	JournalStatus journalStatus
}

type journalStatus struct{ Status, Reason, Action string }

// journalStatuses reads those of all reservations, transactions and manual journals, by the path of each.
func (h *history) journalStatuses() map[string]journalStatus {
	out := map[string]journalStatus{}

	for _, path := range []string{"/reservations", "/transactions", "/general-ledger/journals"} {
		var page struct{ Data []journal }
		h.read(path+"?limit=250", &page)

		for _, j := range page.Data {
			out[path+"/"+j.ID] = j.JournalStatus
		}
	}

	return out
}

// heldByLocks fails unless every journal is current or is held by a lock that is there, and says so. Nothing is under
// way when it is called.
func (h *history) heldByLocks(when string) map[string]journalStatus {
	said := h.journalStatuses()
	for path, s := range said {
		if s.Status != "current" && s != (journalStatus{"stale", "journalLocked", "unlock"}) {
			h.r.Fatalf("%s: all work is done and %s says %+v", when, path, s)
		}

		collection, one := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
		if s.Status == "current" || collection == "/general-ledger/journals" {
			continue
		}
		// A strict refresh of the journal is refused with the lock, so there is one.
		if status, answer := h.send("POST", collection+"/journal-entries", object{"ids": list{one}, "lockPolicy": "strict"}); status != http.StatusForbidden {
			h.r.Fatalf("%s: no lock holds %s, which says that one does: %d %s", when, path, status, answer)
		}
	}

	return said
}

// settled fails unless every journal is the one that would be derived now, or is held by a lock that is there and
// says so; and unless every saved statement shows the sum of its entries. Nothing is under way when it is called.
func (h *history) settled(when string) {
	said, stored := h.heldByLocks(when), h.rows("e.id || ' ' || ")
	h.refreshAll()
	h.same(when+": a refresh of all journals", stored, h.rows("e.id || ' ' || "))

	for path, s := range h.journalStatuses() {
		if s != said[path] {
			h.r.Fatalf("%s: %s said %+v, and %+v after it was derived again", when, path, said[path], s)
		}
	}

	h.none(when, "a saved statement is not what its entries come to", `select concat_ws(' ', s.id, s.status, s.start_at, s.balance_start, s.balance_end, x.*)
		from statement s cross join lateral (
			select coalesce(-sum(e.cent_total) filter (where e.statement_id = s.id), 0) as attached, count(*) filter (where e.statement_id is distinct from s.id) as loose
			from ledger_entry e where e.team_id = @team and e.party = 'owners' and e.status = 'active' and e.ledger in ('trust', 'operating')
				and e.ownership_period_id = s.ownership_period_id and e.currency = s.currency and e.txn_at between s.start_at and s.end_at) x
		where s.team_id = @team and (s.balance_end - s.balance_start <> x.attached or x.loose > 0)`)
}
