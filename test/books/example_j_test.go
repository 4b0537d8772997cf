package books_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
)

// on dates the lines of an example that all count on one day.
func on(example, date string) string { return strings.ReplaceAll(example, "%[1]s", date) }

// statement is an owner statement as its readers see it.
type statement struct {
	ID, Status, StartAt string
	Currency            string
	Ownership           struct{ ID string }
	Financials          struct{ BalanceStart, NetRevenue, Expenses, NetIncome, Payouts, BalanceEnd, Reserve, Available int64 }
	Shares              []struct {
		ContactID string
		Amount    int64
	}
}

// statements reads every page of the owner statements.
func (x *team) statements(filter string) (all []statement) {
	x.t.Helper()

	for page := 1; ; page++ {
		var answer struct {
			Data       []statement
			Pagination struct{ NextPage *int }
		}
		x.read("/statements?limit=250&page="+strconv.Itoa(page)+filter, &answer)

		all = append(all, answer.Data...)
		if answer.Pagination.NextPage == nil {
			return all
		}
	}
}

func (v *villa) month(month string) *statement {
	v.t.Helper()

	found := v.statements("&month=" + month)
	if len(found) != 1 {
		v.t.Fatalf("%d statements of %s", len(found), month)
	}

	return &found[0]
}

// TestExampleJ: the owner statement of January, its payout, and the start of February.
func TestExampleJ(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.usualFees()
	v.Put("/listings/"+v.listing+"/opening-balance", object{"amount": 30000}).Want(200)
	v.payOut("2026-01-10", 10000, nil)
	v.payA(v.stayA())
	v.billF()
	s := v.month("2026-01")

	got := fmt.Sprint(s.Financials)
	if want := fmt.Sprint(struct{ a, b, c, d, e, f, g, h int64 }{30000, 76204, -12650, 63554, -10000, 83554, 20000, 63554}); got != want {
		t.Errorf("January is %s, want %s", got, want)
	}

	shares := map[string]int64{}
	for _, share := range s.Shares {
		shares[share.ContactID] = share.Amount
	}

	if shares[v.ada] != 38132 || shares[v.ben] != 25422 {
		t.Errorf("the shares are %v, want 381.32 and 254.22", shares)
	}

	saved := v.Post("/statements", object{"month": "2026-01", "status": "published"}).Want(201).String("data.0.id")
	v.payOut("2026-02-05", 38132, object{"contactId": v.ada, "ownerStatementId": saved})
	v.payOut("2026-02-05", 25422, object{"contactId": v.ben, "ownerStatementId": saved})
	v.wantBooks("&startDate=2026-02-05&endDate=2026-02-05", `
		2026-02-05 2400 owners 63554
		2026-02-05 1000 -63554
	`)

	for contact, cents := range map[string]int64{v.ada: 38132, v.ben: 25422} {
		var got int64
		for _, e := range v.entries("&startDate=2026-02-05&endDate=2026-02-05&party=owners&contactIds=" + contact) {
			got += e.CentTotal
		}

		if got != cents {
			t.Errorf("an owner got %d, want %d", got, cents)
		}
	}

	if paid := v.month("2026-01"); paid.Status != "published" || fmt.Sprint(paid.Financials) != got {
		t.Errorf("the payout changed the statement it pays: %+v", paid)
	}

	if f := v.month("2026-02").Financials; f.BalanceStart != 83554 || f.Payouts != -63554 {
		t.Errorf("February starts as %+v", f)
	}
}

// payOut pays the owners of the villa.
func (v *villa) payOut(date string, cents int64, more object) {
	v.t.Helper()
	line := object{"amount": cents, "listingId": v.listing}
	maps.Copy(line, more)
	v.Post("/transactions", object{"type": "payout", "date": date, "lines": list{line}}).Want(201)
}
