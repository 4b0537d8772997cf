package summary_test

import (
	"slices"
	"testing"
	"time"

	"stayledger/domain/reporting/summary"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	whole "stayledger/test/world"
)

const summaries = "/reports/owner-statement-summaries-per-layout"

// owning is a team with a villa that Ann and Ben own 60 to 40, a trio in three equal parts, and a barn of Ann's alone.
type owning struct {
	*whole.World
	ann, ben, cid     id.ID
	villa, trio, barn whole.Listing
}

func newOwning(t *testing.T) *owning {
	t.Helper()
	w := &owning{World: whole.New(t)}
	w.ann, w.ben, w.cid = w.Contact("owner", "Ann"), w.Contact("owner", "ben"), w.Contact("owner", "Cid")
	w.villa.ID = w.Post("/listings", whole.Object{"name": "Villa", "initialOwnership": whole.Object{"reserve": 10_001, "members": whole.Array{
		whole.Object{"contactId": w.ann, "split": 60_000}, whole.Object{"contactId": w.ben, "split": 40_000},
	}}}).Want(201).ID("id")
	w.villa.Period = w.Get("/listings/ownership-periods?listingIds=" + w.villa.ID.String()).Want(200).ID("data.0.id")
	w.trio, w.barn = w.Listing("Trio", w.ann, w.ben, w.cid), w.Listing("Barn", w.ann)
	w.Stay(w.villa, "2026-01-09", 100_003)
	w.Expense(w.villa, "2026-01-20", 25_001)
	w.Stay(w.trio, "2026-01-12", 100_001)
	w.Stay(w.barn, "2026-01-15", 7)
	w.Publish("2026-01")
	w.Post("/transactions", whole.Object{"type": "payout", "date": "2026-02-05", "lines": whole.Array{
		whole.Object{"amount": 40_001, "listingId": w.villa.ID, "contactId": w.ann, "ownerStatementId": w.Statement(w.villa, "2026-01")},
	}}).Want(201)
	w.Stay(w.villa, "2026-02-09", 33_331)
	w.Expense(w.trio, "2026-02-20", 4_444)
	w.Stay(w.trio, "2026-03-02", 5_000)

	return w
}

func (w *owning) statements(query string) []statement.Statement {
	w.T.Helper()

	var found page.Page[statement.Statement]
	w.Get("/statements?limit=250&sort=startAt&" + query).Want(200).Into(&found)

	return found.Data
}

func (w *owning) summaries(query string) summary.OwnerSummaries {
	w.T.Helper()

	var found summary.OwnerSummaries
	w.Get(summaries + "?" + query).Want(200).Into(&found)

	return found
}

// part is a member's part of cents, computed without the report: by the weights of the ownership.
func part(s *statement.Statement, contact id.ID, cents money.Cents) money.Cents {
	weights := make([]int64, len(s.Shares))
	for i := range s.Shares {
		weights[i] = s.Shares[i].Split
	}

	at := slices.IndexFunc(s.Shares, func(share statement.Share) bool { return share.ContactID == contact })
	if at < 0 {
		return 0
	}

	return money.Split(cents, weights)[at]
}

// moved is the amount that a figure adds to a member's part of all that was earned so far.
func moved(s *statement.Statement, contact id.ID, earned *money.Cents, by money.Cents) money.Cents {
	before := part(s, contact, *earned)
	*earned += by

	return part(s, contact, *earned) - before
}

// Every figure of an owner is made of the statements', the members' parts add up to them, and a row adds up in itself.
func TestOwnerSummariesAreTheStatements(t *testing.T) {
	t.Parallel()
	w := newOwning(t)

	got := w.summaries("startAt=2026-01&endAt=2026-02-14")
	if len(got.Data) != 3 || got.Data[0].Contact.ContactID != w.ann || got.Data[1].Contact.ContactID != w.ben || got.Data[2].Contact.ContactID != w.cid {
		t.Fatalf("owners %+v", got.Data)
	}

	of := w.statements("dateRange=2026-01-01...2026-02-28")
	if len(of) != 6 {
		t.Fatalf("%d statements", len(of))
	}

	var all, totals summary.Financials

	for _, o := range got.Data {
		f := o.Financials

		var revenue, expenses, payouts money.Cents

		earned := map[id.ID]*money.Cents{w.villa.ID: new(money.Cents), w.trio.ID: new(money.Cents), w.barn.ID: new(money.Cents)}

		for i := range of {
			s := &of[i]
			revenue += moved(s, o.Contact.ContactID, earned[s.Listing.ID], s.Financials.NetRevenue)
			expenses += moved(s, o.Contact.ContactID, earned[s.Listing.ID], s.Financials.Expenses)
		}

		if o.Contact.ContactID == w.ann {
			payouts = -40_001 // the others have no part of it
		}

		if f.NetRevenue != revenue || f.Expenses != expenses || f.Payouts != payouts || f.NetIncome != revenue+expenses {
			t.Errorf("%s has %+v, the statements give %d, %d and %d", o.Contact.Name, f, revenue, expenses, payouts)
		}

		if f.BalanceStart+f.NetIncome+f.Payouts+f.Adjustments != f.BalanceEnd || f.Adjustments != 0 {
			t.Errorf("%s does not add up: %+v", o.Contact.Name, f)
		}

		all.BalanceEnd, all.Reserve, all.NetIncome = all.BalanceEnd+f.BalanceEnd, all.Reserve+f.Reserve, all.NetIncome+f.NetIncome
		all.CurrentBalance += f.CurrentBalance
	}

	for i := range of {
		totals.NetIncome += of[i].Financials.NetIncome
		if of[i].StartAt.Month().Month == time.February {
			totals.BalanceEnd += of[i].Financials.BalanceEnd
			totals.Reserve += of[i].Financials.Reserve
		}
	}

	now := w.statements("month=" + time.Now().UTC().Format("2006-01"))
	for i := range now {
		totals.CurrentBalance += now[i].Financials.BalanceEnd
	}

	if all != totals || got.Totals.BalanceEnd != totals.BalanceEnd || got.Totals.CurrentBalance != totals.CurrentBalance {
		t.Errorf("the owners have %+v, the statements %+v, the totals are %+v", all, totals, got.Totals)
	}
	// Ann: 60% of 1000.03 is 600.02; 333.31 brings what she earned from 60% of 750.02 (450.01) to 60% of 1083.33
	// (650.00); 33.334% of 1000.01 is 333.34 and gets the cent that is left; and 0.07.
	if ann := got.Data[0]; ann.Financials.NetRevenue != 60_002+19_999+33_335+7 || ann.Listings != 3 || ann.Statements != 6 || ann.Financials.Reserve != 6_001 {
		t.Errorf("Ann: %+v", ann)
	}
}

// A later period begins with what an earlier one ended with, and the drill-down leads to all entries of the ownerships
// in it.
func TestOwnerSummariesChainAndDrillDown(t *testing.T) {
	t.Parallel()
	w := newOwning(t)

	march := w.summaries("startAt=2026-03&endAt=2026-03&search=CID")
	if len(march.Data) != 1 || march.Data[0].Financials.BalanceStart != 33_333-1_481 || march.Data[0].Financials.BalanceEnd != 33_333-1_481+1_666 {
		t.Errorf("Cid in March: %+v", march.Data)
	}

	if none := w.summaries("startAt=2026-03&endAt=2026-03&search=nobody"); len(none.Data) != 0 || none.Totals != (summary.Financials{}) {
		t.Errorf("nobody has %+v", none)
	}

	cid := w.Get(summaries + "?startAt=2026-01&endAt=2026-02&listingIds=" + w.trio.ID.String() + "&limit=1&page=3").Want(200)
	if cid.Int("pagination.total") != 3 || cid.Len("data") != 1 || cid.Int("totals.netRevenue") != 100_001 {
		t.Errorf("a page of one: %s", cid.Body)
	}

	debit, credit := behind(w.Team, cid.Value("data.0.drilldown.filter"))
	if credit-debit != 100_001-4_444 {
		t.Errorf("the entries come to %d", credit-debit)
	}

	if owners := w.Get(summaries + "?startAt=2026&endAt=2026&viewAs=owner").Want(200); owners.Value("data.0.drilldown") != nil {
		t.Errorf("owners are led into the books: %s", owners.Body)
	}
}

// The statements of an owner add up to the summary, and the columns of a layout to its sections.
func TestOwnerSummaryDetails(t *testing.T) {
	t.Parallel()
	w := newOwning(t)
	path := summaries + "/details/" + w.ben.String() + "?startAt=2026-01&endAt=2026-03"

	var got summary.OwnerDetail
	w.Get(path).Want(200).Into(&got)

	if len(got.Data) != 6 || got.Statements != 6 || got.Contact.Name != "ben" || len(got.Layouts) != 1 || got.Layouts[0].Statements != 6 {
		t.Fatalf("Ben: %+v", got)
	}

	var revenue, expenses, net, costs money.Cents
	for _, s := range got.Data {
		revenue += s.Financials.NetRevenue

		expenses += s.Financials.Expenses
		if s.Drilldown == nil || s.Layout.ID == nil {
			t.Errorf("statement %+v", s)
		}
	}

	for _, s := range got.Layouts[0].Sections {
		at := slices.IndexFunc(s.Columns, func(c summary.ColumnSummary) bool { return c.Name == "Net" || c.Name == "Amount" })
		if s.Kind == "netRevenue" {
			net += s.Columns[at].Amount
		} else {
			costs += s.Columns[at].Amount
		}
	}

	if revenue != got.Financials.NetRevenue || expenses != got.Financials.Expenses || net != revenue || costs != expenses {
		t.Errorf("%d and %d by statement, %d and %d by column, the summary is %+v", revenue, expenses, net, costs, got.Financials)
	}

	if second := w.Get(path + "&limit=4&page=2").Want(200); second.Len("data") != 2 || second.Int("pagination.total") != 6 || second.Int("layouts.0.statements") != 6 {
		t.Errorf("the second page: %s", second.Body)
	}

	if owners := w.Get(path + "&viewAs=owner").Want(200); owners.Value("data.0.drilldown") != nil || owners.Value("drilldown") != nil {
		t.Errorf("owners are led into the books: %s", owners.Body)
	}

	vendor := w.Contact("vendor", "Fix-It")
	if none := w.Get(summaries + "/details/" + vendor.String() + "?startAt=2026&endAt=2026").Want(200); none.Len("data") != 0 || none.Int("financials.balanceEnd") != 0 {
		t.Errorf("a vendor owns %s", none.Body)
	}
}

// An imported statement that was given another balance shows the difference as an adjustment.
func TestOwnerSummaryOfAnImportedStatement(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	ann, ben := w.Contact("owner", "Ann"), w.Contact("owner", "Ben")
	l := w.Listing("Villa", ann, ben)
	w.Post("/statements/historic", whole.Object{
		"uniqueRef": "old", "listingId": l.ID, "startAt": "2025-11-01", "endAt": "2025-11-30", "currency": "usd", "status": "published",
		"centBalanceStart": 1001, "centBalanceEnd": 5000, "lines": whole.Array{
			whole.Object{"uniqueRef": "1", "type": "line", "accountId": w.Account("4000"), "centTotal": 3001},
			whole.Object{"uniqueRef": "2", "type": "payout", "centTotal": 501},
		},
	}).Want(201)

	r := w.Get(summaries + "?startAt=2025-11&endAt=2025-11").Want(200)
	for field, want := range map[string][2]int64{
		"balanceStart": {501, 500}, "netRevenue": {1500, 1501}, "payouts": {-251, -250}, "adjustments": {750, 749}, "balanceEnd": {2500, 2500}, "currentBalance": {0, 0},
	} {
		if got := [2]int64{r.Int("data.0.financials." + field), r.Int("data.1.financials." + field)}; got != want {
			t.Errorf("%s: %v, want %v", field, got, want)
		}
	}
}

func TestOwnerSummaryRefusals(t *testing.T) {
	t.Parallel()
	w, other := newOwning(t), whole.New(t)
	w.Get(summaries + "?startAt=2026-01").Want(400)
	w.Get(summaries+"?startAt=2026-02&endAt=2026-01").WantIssue("dateOrder", "endAt")
	w.Get(summaries+"?startAt=2026-01&endAt=2026-02&currency=zzz").WantIssue("currency", "currency")

	for _, contact := range []id.ID{other.Contact("owner", "Ann"), w.villa.ID} {
		w.Get(summaries+"/details/"+contact.String()+"?startAt=2026&endAt=2026").WantError(apierr.CodeNotFound, "")
	}

	if foreign := other.Get(summaries + "?startAt=2026&endAt=2026&listingIds=" + w.villa.ID.String()).Want(200); foreign.Len("data") != 0 {
		t.Errorf("another team sees %s", foreign.Body)
	}

	w.As([]string{"statements:read"}, nil).Get(summaries+"?startAt=2026&endAt=2026").WantError(apierr.CodeForbidden, "")
}
