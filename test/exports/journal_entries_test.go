package exports_test

import (
	"slices"
	"testing"

	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

// fill books n postings of two entries each, on days of one year, and brings the statistics up to date.
func (w *villaTeam) fill(n int) {
	w.t.Helper()
	w.Exec(`
		insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, status, txn_at, account_id, cent_total, currency, party, listing_id,
			trigger_type, description, created_at)
		select @team, gen_random_uuid(), p.source, 'p' || p.n, side.ref, 'trust', 'active', date '2026-01-01' + (p.n * 7919) % 365,
			case side.ref when 'a' then @debit::uuid else @credit::uuid end, case side.ref when 'a' then 100 else -100 end, 'usd', null, @listing, 'manual', 'Posting', now()
		from (select n, gen_random_uuid() as source from generate_series(1, @n::int) n) p, (values ('a'), ('b')) side (ref)`,
		db.Args{"debit": w.accounts["1000"], "credit": w.accounts["2000"], "listing": w.villa, "n": n})
}

// Proves: EXP-12.
func TestReportsTooLargeForGet(t *testing.T) {
	t.Parallel()
	w := newVillaTeamWith(t, export.Config{Limits: export.Limits{Rows: 3}})
	w.fill(2)

	for path, pairs := range map[string][]string{
		"/reports/journal-entries/csv": nil, "/reports/trial-balance/csv": {"startDate", "2026", "endDate", "2026"},
		"/reports/profit-and-loss/csv": {"startDate", "2026", "endDate", "2026"}, "/reports/balance-sheet/csv": {"date", "2026"},
		"/reports/manager-statements/detail/csv": {"startAt", "2026", "endAt", "2026"}, "/reports/trust-reconciliation/csv": nil,
	} {
		wantRequiresPost(t, w.Get(fixture.Query(path, pairs...)).WantError(apierr.CodeExportRequiresPost, "").Body)
		w.queued(path, bodyOf(pairs))
	}

	w.awaited("/reports/journal-entries/csv", "startDate", "2027") // nothing is not too much
	w.awaited("/reports/guest-balances/csv")
	w.awaited("/reports/trust-reconciliation/by-listing/csv")
}

// bodyOf is a selection as a POST has it.
func bodyOf(pairs []string) object {
	body := object{}
	for i := 0; i+1 < len(pairs); i += 2 {
		body[pairs[i]] = pairs[i+1]
	}

	return body
}

func TestJournalEntriesNameWhatTheyHave(t *testing.T) {
	t.Parallel()
	w := newVillaTeam(t)
	w.fill(1)
	got := rows(t, w.awaited("/reports/journal-entries/csv", "columns", "account,accountCode,category,classification,listing,recurringFee,contact,guestName,debit,credit,amount", "sort", "-amount").Body)

	want := [][]string{
		{"Trust bank", "1000", "Bank accounts", "asset", "Villa Aurora", "", "", "", "1.00", "", "1.00"},
		{"Guest deposits, net of receivables", "2000", "Guest funds", "liability", "Villa Aurora", "", "", "", "", "1.00", "-1.00"},
	}
	if !slices.EqualFunc(got[1:], want, slices.Equal) {
		t.Errorf("got %q", got[1:])
	}
}
