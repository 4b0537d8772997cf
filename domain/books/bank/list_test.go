package bank_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

// Proves: PAG-33, PAG-34, PAG-35.
func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	of, other := w.deposit("1000", "2026-02-10", 500, true), w.deposit("1000", "2026-02-11", 300, false)
	a, b := w.record("a", "1000", "2026-01-31", 500), w.record("b", "1000", "2026-02-01", -300)
	c, d := w.record("c", "1010", "2026-02-10", 300), w.record("d", "1000", "2026-03-01", 100)
	w.stated("e", "1000", "2026-02-01", 1000)
	w.reconcile(a, of, "1000", 500)
	w.reconcile(b, other, "1000", -100)
	w.Exec(`update bank_record set matched_by_bank_rule = @rule, unique_ref = 'Ref_1' where team_id = @team and id = @id`, db.Args{"id": b, "rule": fixture.BankRule(w.Team, "Rule")})
	w.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": d})
	feed := w.id()
	w.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
		values (@team, @id, 'feed', 'feed', 'Feed', 'active', now(), now())`, db.Args{"id": feed})
	w.Exec(`update bank_record set account_id = null, currency = 'eur', connection_id = @feed where team_id = @team and id = @id`, db.Args{"id": c, "feed": feed})

	trust := w.accounts["1000"].String()
	for query, want := range map[string]string{
		"":                                 "a b c d",
		"sort=-date":                       "d c b a",
		"sort=amount":                      "b d c a",
		"sort=-description":                "d c b a",
		"includeBalanceRecords=true":       "a b e c d",
		"reconcileStatus=paid":             "a",
		"reconcileStatus=unpaid,underpaid": "b c d",
		"reconcileStatus=unpaid&includeBalanceRecords=true":               "c d",
		"matchedByBankRule=true":                                          "b",
		"matchedByBankRule=false":                                         "a c d",
		"reservationLineFilter=all":                                       "a b c d",
		"reservationLineFilter=reservationOnly":                           "a",
		"reservationLineFilter=nonReservationOnly":                        "b c d",
		"accountId=" + trust:                                              "a b d",
		"accountId=null":                                                  "c",
		"accountIds=" + trust:                                             "a b d",
		"accountIds=" + w.accounts["1010"].String():                       "",
		"connectionId=null":                                               "a b d",
		"connectionId=" + feed.String():                                   "c",
		"dateRange=2026-02":                                               "b c",
		"dateRange=2026":                                                  "a b c d",
		"dateRange=2026-02-01...2026-03-01":                               "b c d",
		"dateRange=2026-02-01...2026-03-01&isDateRangeEndInclusive=false": "b c",
		"dateRange=2026-02-10":                                            "c",
		"status=active":                                                   "a b c",
		"status=inactive":                                                 "d",
		"amount=300":                                                      "c",
		"amount=-300...100":                                               "b d",
		"amount=500,300":                                                  "a c",
		"search=ref_1":                                                    "b",
		"search=C":                                                        "c",
		"search=%25":                                                      "",
		"ids=" + a.String() + "," + b.String():                            "a b",
		"ids=!" + a.String():                                              "b c d",
		"uniqueRefs=Ref_1,x":                                              "b",
		"limit=2&page=2":                                                  "c d",
	} {
		if !strings.Contains(query, "sort=") {
			query = strings.TrimPrefix(query+"&sort=date", "&")
		}

		if got := names(w.Get("/bank-records?" + query).Want(200)); got != want {
			t.Errorf("%s gives %q, want %q", query, got, want)
		}
	}

	if got := w.Get("/bank-records?ids=" + c.String()).Want(200); got.String("data.0.currency") != "eur" || got.Has("data.0.matchingRules") ||
		got.Has("data.0.matchingTransactions") {
		t.Errorf("got %s", got.Body)
	}

	if got := w.Get("/bank-records?includeMatchingRules=true&ids=" + c.String()).Want(200); got.Len("data.0.matchingRules") != 0 {
		t.Errorf("got %s", got.Body)
	}
}

func TestListRefusals(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	for query, want := range map[string][2]string{
		"dateRange=2026-13":                {"dateRange", "dateRange"},
		"amount=2...1":                     {"malformed", "amount"},
		"amount=1.5":                       {"malformed", "amount"},
		"accountId=none":                   {"uuid", "accountId"},
		"reconcileStatus=open":             {"enum", "reconcileStatus"},
		"reservationLineFilter=some":       {"enum", "reservationLineFilter"},
		"includeMatchingTransactions=07":   {"malformed", "includeMatchingTransactions"},
		"includeMatchingTransactions=1000": {"malformed", "includeMatchingTransactions"},
		"ids=x":                            {"uuid", "ids"},
		"color=red":                        {"unknownParameter", "color"},
		"sort=color":                       {"enum", "sort"},
	} {
		w.Get("/bank-records?"+query).Want(400).WantIssue(want[0], want[1])
	}

	w.As([]string{"transactions:read"}, nil).Get("/bank-records").WantError(apierr.CodeForbidden, "")
}

// Proves: PAG-31.
func TestRecordsOfOneTeamOnly(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	r := w.record("a", "1000", "2026-02-01", 100)
	other.Get("/bank-records/"+r.String()).WantError(apierr.CodeNotFound, "")

	for _, query := range []string{"", "?ids=" + r.String(), "?accountId=" + w.accounts["1000"].String()} {
		if got := other.Get("/bank-records" + query).Want(200); got.Len("data") != 0 {
			t.Errorf("another team reads %s", got.Body)
		}
	}
}
