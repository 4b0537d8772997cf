package statement_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/settlement/statement"
	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// shown lists the months (MM), listings and currencies of a list.
func (b *books) shown(query string) string {
	b.t.Helper()

	var list struct {
		Data []struct {
			StartAt  string
			Currency string
			Listing  struct{ Name string }
		}
	}
	b.Get("/statements?" + query).Want(200).Into(&list)

	var out []string
	for _, s := range list.Data {
		out = append(out, s.StartAt[5:7]+s.Listing.Name[:1]+s.Currency[:1])
	}

	return strings.Join(out, " ")
}

func TestListAndFilters(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	cabin := b.newListing("Cabin")
	ended := b.newPeriod(cabin, map[string]any{"start": "2026-02-10", "end": "2026-04-01"})
	next := b.newPeriod(cabin, map[string]any{"start": "2026-04-01"})
	b.member(next, 1, b.b, 100000)
	b.post(event{at: "2026-02-14", currency: "eur"}, side{account: "2000", cents: 100}, side{account: "4000", cents: -100, o: true})
	january, march := b.save("2026-01", "published"), b.at("2026-03")
	fee := id.New(b.DB.Now())
	b.post(event{at: "2026-02-20", source: fee, description: "Fee"}, side{account: "5100", cents: 5, o: true}, side{account: "4100", cents: -5})
	b.Exec(`update ledger_entry set recurring_fee_id = @fee where team_id = @team and source_id = @fee`, db.Args{"fee": fee})
	b.Exec(`update listing set unique_ref = 'CAB-9' where team_id = @team and id = @cabin`, db.Args{"cabin": cabin})

	ref := strings.ToUpper(b.Get("/statements?currency=usd&month=2026-01&periodIds=" + b.period.String()).Want(200).String("data.0.shortRef"))
	for _, c := range []struct{ query, want string }{
		{"recurringFeeIds=" + fee.String(), "02Vu"},
		{"recurringFeeIds=" + id.New(b.DB.Now()).String(), ""},
		{"month=2026-05&search=cab-9", "05Cu"},
		{"month=2026-05&search=ADA&currency=usd", "05Vu"},
		{"search=" + ref, "01Vu"},
		{"month=2026-03&sort=listing", "03Cu 03Ve 03Vu"},
		{"month=2026-03&sort=-listing", "03Vu 03Ve 03Cu"},
		{"month=2026-03&currency=EUR", "03Ve"},
		{"month=2026-03&search=vIL&sort=startAt", "03Ve 03Vu"},
		{"month=2026-03&search=%25", ""},
		{"dateRange=2026-01-15...2026-03-01&currency=usd&listingIds=" + b.listing.String(), "03Vu 02Vu"},
		{"dateRange=2026-01-15...2026-03-01&isDateRangeEndInclusive=false&currency=usd&listingIds=" + b.listing.String(), "02Vu"},
		{"dateRange=2026-01-15...2026-03-01&isDateRangeEndInclusive=true&currency=usd&listingIds=" + b.listing.String(), "03Vu 02Vu"},
		{"dateRange=2026-03-01&currency=usd&listingIds=" + b.listing.String(), "03Vu"},
		{"status=published", "01Vu 01Ve"},
		{"year=2025", ""},
		{"year=2026&status=published&currency=usd", "01Vu"},
		{"periodIds=" + ended.String(), "03Cu 02Cu"},
		{"ownershipPeriodIds=" + ended.String() + "&sort=startAt", "02Cu 03Cu"},
		{"periodIds=" + ended.String() + "&ownershipPeriodIds=" + next.String(), ""},
		{"month=2026-05&ownerIds=" + b.a.String() + "&currency=usd", "05Vu"},
		{"month=2026-05&sort=listing&currency=usd&ownerIds=" + b.a.String() + "," + b.b.String(), "05Cu 05Vu"},
		{"sort=startAt&statementIds=" + march + "," + january + "," + id.New(b.DB.Now()).String(), "01Ve 03Vu"},
		{"sort=-status&month=2026-01&currency=usd", "01Vu"},
	} {
		if got := b.shown(c.query); got != c.want {
			t.Errorf("%s lists %q, want %q", c.query, got, c.want)
		}
	}

	all := b.Get("/statements?limit=2&page=2").Want(200)
	months := day.Of(b.DB.Now()).Month()

	since := (months.Year-2026)*12 + int(months.Month)
	if total := all.Int("pagination.total"); total != int64(since+since+2+since-3) {
		t.Errorf("%d statements, want those of %d months", total, since)
	}
}

// What is paid out after an ownership has ended still has a statement to stand on.
func TestEndedOwnershipReachesItsLastEntry(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	period := b.newPeriod(b.newListing("Cabin"), map[string]any{"end": "2026-03-01"})
	if got := b.shown("periodIds=" + period.String()); got != "02Cu 01Cu" {
		t.Errorf("before: %s", got)
	}

	b.post(event{at: "2026-04-02", period: period}, side{account: "2400", cents: 100, o: true}, side{account: "1000", cents: -100})

	if got := b.shown("periodIds=" + period.String()); got != "04Cu 03Cu 02Cu 01Cu" {
		t.Errorf("after: %s", got)
	}
}

// A statement that is saved is listed and can be returned to draft even when the team's statements begin later now.
func TestSavedStatementBeforeTheStart(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	january := b.save("2026-01", "inReview")
	b.Exec(`update team set statement_start_at = '2026-02-01' where id = @team`, nil)

	if got := b.shown("month=2026-01"); got != "01Vu" {
		t.Errorf("listed: %q", got)
	}

	if got := b.Put("/statements/"+january, map[string]any{"status": "draft"}).Want(200).String("status"); got != "draft" {
		t.Errorf("returned to %s", got)
	}

	if got := b.shown("month=2026-01"); got != "" {
		t.Errorf("listed as a draft: %q", got)
	}
}

type selectInput struct{ Body statement.Filter }

type selectOutput struct {
	IDs []id.ID `json:"ids"`
}

// The fields of the list's query are those of an export's body.
func TestFilterAsBody(t *testing.T) {
	t.Parallel()

	endpoints := statement.Part().Endpoints
	endpoints = append(endpoints, api.Write(api.Endpoint{Method: "POST", Path: "/selection", ID: "select", Tag: "Test"},
		func(ctx context.Context, tx *db.Tx, in *selectInput) (*selectOutput, error) {
			ids, err := statement.Select(ctx, tx, in.Body)
			return &selectOutput{IDs: ids}, err
		}))
	b := &books{Team: apitest.New(t, apitest.Config{Endpoints: endpoints, Scopes: allScopes}), t: t}
	period := b.newPeriod(b.newListing("Cabin"), nil)

	body := map[string]any{
		"month": "2026-02", "currency": "USD", "periodIds": []id.ID{period}, "dateRange": "2026", "isDateRangeEndInclusive": true, "year": 2026,
		"status": "draft", "search": "cab", "sort": "-startAt",
	}
	if n := b.Post("/selection", body).Want(200).Len("ids"); n != 1 {
		t.Errorf("%d statements are selected", n)
	}

	if n := b.Post("/selection", map[string]any{"dateRange": "2026-01...x"}).Want(400).WantIssue("dateRange", "dateRange").Len("issues"); n != 1 {
		t.Errorf("%d issues", n)
	}

	b.Post("/selection", map[string]any{}).Want(200)
}

func TestSelectAndEach(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.january()
	january := b.save("2026-01", "inReview")
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		filter := statement.Filter{Dates: months("2026-01-01...2026-03-31"), Sort: "startAt"}

		ids, err := statement.Select(ctx, tx, filter)
		if err != nil {
			return err
		}

		if len(ids) != 3 || ids[0].String() != january {
			t.Errorf("selected %v", ids)
		}

		var each []id.ID

		err = statement.Each(ctx, tx, filter, func(s *statement.Statement) error {
			each = append(each, s.ID)
			return nil
		})
		if err != nil {
			return err
		}

		if !slices.Equal(ids, each) {
			t.Errorf("Each gives %v, Select %v", each, ids)
		}

		for _, v := range ids {
			d, err := statement.Read(ctx, tx, v)
			if err != nil {
				return err
			}

			if d.ID != v {
				t.Errorf("read %s as %s", v, d.ID)
			}
		}

		return nil
	})
}
