package layout_test

import (
	"context"
	"strconv"
	"testing"

	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func (w *team) install() {
	w.t.Helper()
	w.Tx(layout.InstallStandard)
}

func TestTheStandardIsInstalledOnce(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	villa := fixture.Listing(w.Team, "Villa")
	builtIn := w.chosen(villa)[villa]
	w.install()
	w.install()
	r := w.Get("/statement-layouts").Want(200)
	wantFields(t, r, map[string]string{
		"pagination.total": "1", "data.0.name": "Standard", "data.0.isDefault": "true", "data.0.version": "1", "data.0.netRevenueSections.0.locked": "true",
		"data.0.netRevenueSections.0.columns.5.name": "Rent",
	})

	stored := w.stored(villa)[villa]
	if stored == nil || stored.LayoutID == nil || *stored.LayoutID != r.ID("data.0.id") {
		t.Fatalf("stored is %+v", stored)
	}

	entries := []layout.Entry{stay(5, w.codes["4000"], 900), stay(5, w.codes["4010"], 80), stay(5, w.codes["5100"], -7)}

	entries[2].Classification = "expense"
	if a, b := shown(builtIn.Render(entries, true)), shown(stored.Render(entries, true)); a != b {
		t.Errorf("built in\n%s, stored\n%s", a, b)
	}

	if layout.Standard().NetRevenueSections[0].ID != stored.NetRevenueSections[0].ID {
		t.Error("the standard's section has another id")
	}

	other := newTeam(t)
	other.add(revenue("Mine", col("R", "accounts", object{"rest": true})))
	other.install()

	if got := other.Get("/statement-layouts").Want(200).Int("pagination.total"); got != 1 {
		t.Errorf("a team with a layout has %d", got)
	}
}

// Rents and cleaning fees of teams that post both on one account are one column.
func TestTheStandardFollowsTheLineMappings(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	w.Exec(`update reservation_line_mapping set account_id = @rent where team_id = @team and line_type = 'cleaningFee'`, db.Args{"rent": w.codes["4000"]})
	w.install()
	wantFields(t, w.Get("/statement-layouts").Want(200), map[string]string{
		"data.0.netRevenueSections.0.columns.5.name": "Rent", "data.0.netRevenueSections.0.columns.6.name": "Other revenue",
	})
	w = newTeam(t)
	w.Exec(`delete from reservation_line_mapping where team_id = @team`, nil)
	w.install()
	wantFields(t, w.Get("/statement-layouts").Want(200), map[string]string{"data.0.netRevenueSections.0.columns.5.name": "Revenue", "data.0.linkedAccounts": "[]"})
}

func TestCopiesLeaveOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	from, to := newTeam(t), newTeam(t)
	rent, sub, gone := id.New(from.DB.Now()), id.New(from.DB.Now()), id.New(from.DB.Now())
	from.add(fixture.With(revenue("Full",
		col("Rent", "accounts", object{"accountIds": array{from.codes["4000"], from.codes["4030"]}}, "id", rent),
		col("Damage", "accounts", object{"accountIds": array{from.codes["4090"]}, "rest": true}),
		col("Lost", "formula.currency", object{"formula": `Rent + account("4030")`}, "id", gone),
		col("Built on it", "formula.percentage", object{"formula": `Lost / Rent`}),
		col("Sum", "subTotal", object{"columnIds": array{gone, rent}}, "id", sub),
		col("Sum of it", "subTotal", object{"columnIds": array{gone}}),
		col("Kept", "formula.percentage", object{"formula": `Sum / account("4000")`}),
	), "summaryType", "invoice", "showTeamEmail", true))
	from.add(object{"name": "Taken"})
	from.add(fixture.With(revenue("Second", col("Lost", "formula.currency", object{"formula": `account("4030")`})), "isDefault", true))
	to.add(revenue("Taken", col("Own", "accounts", object{"rest": true})))

	var designs []layout.Design

	from.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		designs, err = layout.All(ctx, tx, tx.Team)
		return err
	})

	mapping := map[id.ID]id.ID{}

	for code, v := range from.codes {
		if code != "4030" && code != "4090" {
			mapping[v] = to.codes[code]
		}
	}

	for range 2 {
		to.Tx(func(ctx context.Context, tx *db.Tx) error { return layout.Copy(ctx, tx, designs, mapping) })
	}

	r := to.Get("/statement-layouts?sort=name").Want(200)
	at := "data.0.netRevenueSections.0.columns."
	wantFields(t, r, map[string]string{
		"pagination.total": "3", "data.0.name": "Full", "data.0.isDefault": "false", "data.0.summaryType": "invoice", "data.0.showTeamEmail": "true",
		at + "0.value": `{"accountIds":["` + to.codes["4000"].String() + `"]}`, at + "1.value": `{"accountIds":[],"rest":true}`,
		at + "2.name": "Sum", at + "2.value.columnIds": `["` + rent.String() + `"]`, at + "3.value.references.1.id": to.codes["4000"].String(),
		"data.1.name": "Second", "data.1.isDefault": "false", "data.1.netRevenueSections": "[]",
		"data.2.name": "Taken", "data.2.isDefault": "true", "data.2.netRevenueSections.0.columns.0.name": "Own",
	})

	if got := r.Len("data.0.netRevenueSections.0.columns"); got != 4 {
		t.Errorf("%d columns: %s", got, r.String("data.0.netRevenueSections.0.columns"))
	}
	// A copy is a layout like any other.
	var read object
	r.Into(&read)
	rows, _ := read["data"].(array)
	full, _ := rows[0].(object)
	to.Put("/statement-layouts/"+r.String("data.0.id"), object{"netRevenueSections": full["netRevenueSections"]}).Want(200)

	if designs[0].NetRevenueSections[0].Columns[0].Value.AccountIDs[0] != from.codes["4000"] || len(designs[0].NetRevenueSections[0].Columns) != 7 {
		t.Error("the original was changed")
	}

	fresh := newTeam(t)
	fresh.Tx(func(ctx context.Context, tx *db.Tx) error { return layout.Copy(ctx, tx, designs, nil) })
	wantFields(t, fresh.Get("/statement-layouts?isDefault=true").Want(200), map[string]string{"pagination.total": "1", "data.0.name": "Second"})
}

// Thousands of listings cost as many statements as one.
func TestManyListingsAreReadTogether(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	w.install()
	w.Exec(`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at)
		select @team, gen_random_uuid(), n::text, 'Villa ' || n, 'usd', now(), now() from generate_series(1, 3000) n`, nil)

	var listings []id.ID

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		listings, err = db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team order by id`, db.Args{"team": tx.Team})
		return err
	})
	own := w.add(object{"name": "Own", "listingIds": listings[:1000]})
	designs := w.stored(listings...)

	different := map[*layout.Design]int{}
	for _, d := range designs {
		different[d]++
	}

	if len(designs) != 3000 || len(different) != 2 || different[designs[listings[0]]] != 1000 {
		t.Errorf("%d listings have %s", len(designs), strconv.Itoa(len(different)))
	}

	if got := w.Get(own).Want(200).Len("activeListings"); got != 1000 {
		t.Errorf("%d listings have it as their own", got)
	}
}
