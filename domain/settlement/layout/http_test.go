package layout_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"stayledger/domain/settlement/layout"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

func wantFields(t *testing.T, r *apitest.Response, want map[string]string) {
	t.Helper()

	for path, value := range want {
		if got := r.String(path); got != value {
			t.Errorf("%s is %s, want %s", path, got, value)
		}
	}
}

func TestALayoutFromTheStandard(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	villa := fixture.Listing(w.Team, "Villa")
	r := w.Post("/statement-layouts", object{"name": "Ours", "listingIds": array{villa}}).Want(201)
	wantFields(t, r, map[string]string{
		"name": "Ours", "version": "1", "summaryType": "default", "isDefault": "true", "showTeamEmail": "false",
		"activeListings.0.id": villa.String(), "activeListings.0.name": "Villa",
		"netRevenueSections.0.name": "Net revenue", "netRevenueSections.0.locked": "true", "netRevenueSections.0.visible": "all",
		"netRevenueSections.0.aggregate": "false", "netRevenueSections.0.columns.0.value": `{"field":"guestName"}`,
		"netRevenueSections.0.columns.5.name": "Rent", "netRevenueSections.0.columns.5.value.accountIds.0": w.codes["4000"].String(),
		"netRevenueSections.0.columns.6.name": "Cleaning", "netRevenueSections.0.columns.6.value.accountIds.0": w.codes["4010"].String(),
		"netRevenueSections.0.columns.7.name": "Other revenue", "netRevenueSections.0.columns.7.value": `{"accountIds":[],"classifications":["revenue"],"rest":true}`,
		"netRevenueSections.0.columns.8.name": "Fees", "netRevenueSections.0.columns.9.locked": "true", "netRevenueSections.0.columns.9.value": `{"columnIds":[]}`,
		"otherSections.0.name": "Expenses", "otherSections.0.columns.3.name": "Amount",
		"linkedAccounts.0.code": "4000", "linkedAccounts.1.code": "4010", "systemSections.0.id": "summary", "systemSections.1.id": "payouts",
	})

	if r.Len("linkedAccounts") != 2 {
		t.Errorf("linked are %s", r.String("linkedAccounts"))
	}

	if got := w.Get("/statement-layouts/" + r.String("id")).Want(200); string(got.Body) != string(r.Body) {
		t.Errorf("read %s", got.Body)
	}
}

func TestVersionsCountChanges(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	rent := w.codes["4000"]
	body := revenue("A", col("Rent", "accounts", object{"accountIds": array{rent}}))
	path := w.add(body)
	version := func(want int64) {
		t.Helper()

		if got := w.Get(path).Want(200).Int("version"); got != want {
			t.Errorf("version %d, want %d", got, want)
		}
	}
	// What the caller read can be sent back and is no change, and neither are the listings that use it.
	var read object
	w.Get(path).Want(200).Into(&read)
	w.Put(path, object{
		"name": "A", "summaryType": "default", "isDefault": true, "showTeamEmail": false,
		"netRevenueSections": read["netRevenueSections"], "otherSections": read["otherSections"], "listingIds": array{fixture.Listing(w.Team, "Villa")},
	}).Want(200)
	version(1)
	w.Put(path, object{}).Want(200)
	version(1)
	wantFields(t, w.Put(path, object{"summaryType": "invoice", "showTeamEmail": true}).Want(200), map[string]string{
		"version": "2", "summaryType": "invoice", "showTeamEmail": "true", "name": "A", "activeListings.0.name": "Villa",
	})
	w.Put(path, object{"name": "B"}).Want(200)
	version(3)
	w.Put(path, object{"netRevenueSections": array{}}).Want(200)
	version(4)
	// Losing the default is a change as well.
	other := w.add(object{"name": "C", "isDefault": true})
	wantFields(t, w.Get(path).Want(200), map[string]string{"version": "5", "isDefault": "false"})
	wantFields(t, w.Get(other).Want(200), map[string]string{"version": "1", "isDefault": "true"})
	w.Put(path, object{"isDefault": true}).Want(200)
	wantFields(t, w.Get(other).Want(200), map[string]string{"version": "2", "isDefault": "false"})
}

func TestListingsHaveOneLayoutOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	villa, cabin, boat := fixture.Listing(w.Team, "Villa"), fixture.Listing(w.Team, "Cabin"), fixture.Listing(w.Team, "Boat")
	names := func(want ...string) {
		t.Helper()

		chosen := w.chosen(villa, cabin, boat)

		got := []string{chosen[villa].Name, chosen[cabin].Name, chosen[boat].Name}
		if !slices.Equal(got, want) {
			t.Errorf("chosen are %v, want %v", got, want)
		}
	}
	names("Standard", "Standard", "Standard")

	if got := w.stored(villa); len(got) != 0 {
		t.Errorf("stored are %v", got)
	}

	if d := w.chosen(villa)[villa]; d.LayoutID != nil || d.NetRevenueSections[0].Columns[5].Value.AccountIDs[0] != w.codes["4000"] {
		t.Errorf("built in is %+v", d)
	}

	w.add(object{"name": "A", "isDefault": false, "listingIds": array{villa, cabin}})
	names("A", "A", "Standard")

	b := w.add(object{"name": "B", "isDefault": true, "listingIds": array{cabin, cabin}})

	names("A", "B", "B")

	if d := w.stored(villa, boat); len(d) != 2 || d[boat].LayoutID == nil || !d[boat].IsDefault {
		t.Errorf("stored are %v", d)
	}

	w.Put(b, object{"listingIds": array{boat}}).Want(200)
	names("A", "B", "B")
	w.Put(b, object{"listingIds": array{boat, id.New(w.DB.Now())}}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "listingIds.1")
	w.Put(b, object{"listingIds": array{}}).Want(200)
	names("A", "B", "B")
	w.Exec(`delete from listing where team_id = @team and id = @id`, db.Args{"id": villa})

	if got := w.Get("/statement-layouts?search=a&sort=name").Want(200); got.Len("data") != 1 || got.Len("data.0.activeListings") != 0 {
		t.Errorf("the listing that is gone still has %s", got.Body)
	}
}

func TestLayoutsInUseStay(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	a, b := w.add(object{"name": "A"}), w.add(object{"name": "B"})
	w.Delete(a).Want(204) // no listing relies on it
	villa := fixture.Listing(w.Team, "Villa")
	w.Put(b, object{"isDefault": true}).Want(200)

	for _, r := range []*apitest.Response{w.Delete(b), w.Put(b, object{"isDefault": false})} {
		r.WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
		wantFields(t, r, map[string]string{"context.lockReasons.0": "listings", "context.listingIds.0": villa.String()})
	}

	c := w.add(object{"name": "C", "listingIds": array{villa}})
	w.Delete(c).WantError(apierr.CodeBadRequest, apierr.ReasonInUse)
	w.Put(b, object{"isDefault": false}).Want(200) // the only listing has one of its own
	w.Delete(b).Want(204)
	w.Get(b).WantError(apierr.CodeNotFound, "")
	w.Delete(b).WantError(apierr.CodeNotFound, "")
	w.Put(b, object{"name": "D"}).WantError(apierr.CodeNotFound, "")
	w.Put(c, object{"listingIds": array{}}).Want(200)
	w.Delete(c).Want(204)
}

func TestDuplicateLayoutNames(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	w.add(object{"name": "A"})
	b := w.add(object{"name": "B"})
	w.Post("/statement-layouts", object{"name": "A"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
	w.Put(b, object{"name": "A"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateName)
}

func TestLayoutLists(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	villa := fixture.Listing(w.Team, "Villa")
	a := w.Post("/statement-layouts", fixture.With(revenue("Alpha", col("R", "accounts", object{"accountIds": array{w.codes["4030"]}})), "listingIds", array{villa})).Want(201).ID("id")
	w.add(revenue("Beta", col("R", "accounts", object{"accountIds": array{w.codes["4090"]}}), col("F", "formula.currency", object{"formula": `account("5100")`})))

	for query, want := range map[string][]string{
		"": {"Alpha", "Beta"}, "?sort=-name": {"Beta", "Alpha"}, "?isDefault=true": {"Alpha"}, "?isDefault=false": {"Beta"}, "?search=bet": {"Beta"},
		"?ids=" + a.String(): {"Alpha"}, "?listingIds=" + villa.String(): {"Alpha"}, "?accountIds=" + w.codes["4090"].String(): {"Beta"},
		"?accountIds=" + w.codes["5100"].String(): {"Beta"}, "?accountIds=" + w.codes["4000"].String(): {}, "?limit=1&page=2": {"Beta"},
	} {
		r := w.Get("/statement-layouts" + query).Want(200)

		got := []string{}
		for i := range r.Len("data") {
			got = append(got, r.String("data."+strconv.Itoa(i)+".name"))
		}

		if !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}

	r := w.Get("/statement-layouts?search=beta").Want(200)
	wantFields(t, r, map[string]string{"data.0.linkedAccounts.0.code": "4090", "data.0.linkedAccounts.1.code": "5100", "data.0.systemSections.0.id": "summary"})
}

// Another team's layouts, listings and accounts do not exist.
func TestLayoutsAreATeamsOwn(t *testing.T) {
	t.Parallel()
	w, stranger := newTeam(t), newTeam(t)
	path := w.add(object{"name": "A", "listingIds": array{fixture.Listing(w.Team, "Villa")}})
	stranger.Get(path).WantError(apierr.CodeNotFound, "")
	stranger.Put(path, object{"name": "B"}).WantError(apierr.CodeNotFound, "")
	stranger.Delete(path).WantError(apierr.CodeNotFound, "")

	if got := stranger.Get("/statement-layouts").Want(200).Len("data"); got != 0 {
		t.Errorf("the stranger sees %d layouts", got)
	}

	villa := w.Get(path).Want(200).ID("activeListings.0.id")
	stranger.Post("/statement-layouts", object{"name": "A", "listingIds": array{villa}}).WantIssue("notFound", "listingIds.0")
	stranger.Post("/statement-layouts", revenue("A", col("R", "accounts", object{"accountIds": array{w.codes["4000"]}}))).
		WantIssue("notFound", "netRevenueSections.0.columns.0.value.accountIds.0")

	if got := stranger.stored(villa); len(got) != 0 {
		t.Errorf("the stranger's listing has %v", got)
	}

	stranger.Tx(func(ctx context.Context, tx *db.Tx) error {
		if _, err := layout.ByID(ctx, tx, w.Get(path).ID("id")); apierr.From(err).Code() != apierr.CodeNotFound {
			t.Errorf("the stranger reads %v", err)
		}

		return nil
	})
}

// A design that was frozen gives the same figures after its layout was changed and deleted and its accounts and columns
// were renamed.
func TestFrozenDesignsOutliveTheirLayout(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	villa := fixture.Listing(w.Team, "Villa")
	rentColumn := id.New(w.DB.Now())
	columns := func(name, code string) array {
		return array{
			col(name, "accounts", object{"accountIds": array{w.codes["4000"]}}, "id", rentColumn),
			col("Kept", "formula.percentage", object{"formula": `Rent + account("` + code + `") / Rent`}, "id", w.codes["1000"]),
		}
	}
	path := w.add(fixture.With(revenue("A", columns("Rent", "5100")...), "listingIds", array{villa}))
	frozen := *w.stored(villa)[villa]
	on := func(code string, cents money.Cents) layout.Entry {
		e := stay(5, w.codes[code], cents)
		return e
	}
	entries := []layout.Entry{on("4000", 1000), on("5100", -200)}
	before := shown(frozen.Render(entries, false))

	w.Put("/accounts/"+w.codes["5100"].String(), object{"code": "5199"}).Want(200)
	w.Put(path, object{"netRevenueSections": array{object{"name": "Changed", "columns": columns("Nightly rent", "5199")}}}).Want(200)
	changed := w.Get(path).Want(200)
	wantFields(t, changed, map[string]string{
		"netRevenueSections.0.columns.0.name": "Nightly rent", "version": "2",
		"netRevenueSections.0.columns.1.value.formula":           `"Nightly rent" + account("5199") / "Nightly rent"`,
		"netRevenueSections.0.columns.1.value.references.0.name": "Nightly rent",
		"netRevenueSections.0.columns.1.value.references.1.id":   w.codes["5100"].String(),
	})

	if got := shown(frozen.Render(entries, false)); got != before || before != "Net revenue: Rent | Kept\n  1000 | 80000%\n  = 1000 | 80000% (1000)\n" {
		t.Errorf("before %s, after %s", before, got)
	}

	if got := shown(w.stored(villa)[villa].Render(entries, false)); got != "Changed: Nightly rent | Kept\n  1000 | 80000%\n  = 1000 | 80000% (1000)\n" {
		t.Errorf("the changed layout gives %s", got)
	}
}

func TestAccountsThatAreGoneLeaveTheirColumns(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	category := w.Get("/accounts/" + w.codes["4000"].String()).Want(200).String("category.id")
	gone := w.Post("/accounts", object{"name": "Gone", "type": "ledger", "categoryId": category}).Want(201).ID("id")
	path := w.add(revenue("A", col("R", "accounts", object{"accountIds": array{gone}}), col("F", "formula.currency", object{"formula": `account("Gone")`})))
	wantFields(t, w.Get(path).Want(200), map[string]string{"linkedAccounts.0.name": "Gone", "linkedAccounts.0.code": "null"})
	w.Delete("/accounts/" + gone.String()).Want(204)
	r := w.Get(path).Want(200)
	wantFields(t, r, map[string]string{
		"linkedAccounts": "[]", "netRevenueSections.0.columns.0.value": `{"accountIds":[]}`, "netRevenueSections.0.columns.1.value.formula": `account("Gone")`,
	})

	var read object
	r.Into(&read)
	refused := w.Put(path, object{"netRevenueSections": read["netRevenueSections"]}).WantError(apierr.CodeBadRequest, "").
		WantIssue("formulaInvalid", "netRevenueSections.0.columns.1.value.formula")
	wantFields(t, refused, map[string]string{"context.position": "9"})
}

func TestUnsavedLayouts(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	w.add(object{"name": "A"})
	before := w.Fingerprint()
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		d, err := layout.DeriveDesign(ctx, tx, &layout.Create{Name: "A"})
		if err != nil || len(d.NetRevenueSections) != 1 || d.IsDefault {
			t.Errorf("got %+v, %v", d, err)
		}

		bad := []layout.SectionInput{{Name: "S", Columns: []layout.ColumnInput{{Name: "F", Type: layout.FormulaCurrency, Value: layout.Value{Formula: "Rent"}}}}}
		if _, err := layout.DeriveDesign(ctx, tx, &layout.Create{Name: "A", OtherSections: &bad}); apierr.From(err).Code() != apierr.CodeBadRequest {
			t.Errorf("got %v", err)
		}

		return nil
	})

	if w.Fingerprint() != before {
		t.Error("something was stored")
	}
}
