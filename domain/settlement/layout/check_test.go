package layout_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func TestLayoutsAreRefused(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	rent, cleaning := w.codes["4000"], w.codes["4010"]
	first, second := id.New(w.DB.Now()), id.New(w.DB.Now())
	on := func(more ...any) object { return col("Rent", "accounts", object{"accountIds": array{rent}}, more...) }
	at := "netRevenueSections.0.columns."
	refused := w.Refuses("/statement-layouts")
	refused("no columns", revenue("A"), "items", "netRevenueSections.0.columns")
	refused("no name", fixture.With(revenue("A", on()), "name", ""), "length", "name")
	refused("an unknown type", revenue("A", col("A", "text", object{})), "enum", at+"0.type")
	refused("an unknown visibility", revenue("A", on("visible", "some")), "enum", at+"0.visible")
	refused("an unknown field", revenue("A", col("A", "field", object{"field": "color"})), "enum", at+"0.value.field")
	refused("no field", revenue("A", col("A", "field", object{})), "required", at+"0.value.field")
	refused("no accounts", revenue("A", col("A", "accounts", object{})), "required", at+"0.value.accountIds")
	refused("no formula", revenue("A", col("A", "formula.currency", object{})), "required", at+"0.value.formula")
	refused("a value of other types", revenue("A", col("A", "field", object{"field": "date", "rest": true})), "contradiction", at+"0.value.rest")
	refused("accounts of a subtotal", revenue("A", col("A", "subTotal", object{"accountIds": array{rent}})), "contradiction", at+"0.value.accountIds")
	refused("classes without a rest", revenue("A", on(), col("A", "accounts", object{"accountIds": array{}, "classifications": array{"revenue"}})), "contradiction", at+"1.value.classifications")
	refused("an unknown class", revenue("A", col("A", "accounts", object{"rest": true, "classifications": array{"equity"}})), "enum", at+"0.value.classifications.0")
	refused("an unknown account", revenue("A", col("A", "accounts", object{"accountIds": array{rent, first}})), "notFound", at+"0.value.accountIds.1")
	refused("an account twice in a column", revenue("A", col("A", "accounts", object{"accountIds": array{rent, rent}})), "unique", at+"0.value.accountIds.1")
	refused("an account in two columns", revenue("A", on(), col("B", "accounts", object{"accountIds": array{cleaning, rent}})), "accountTwice", at+"1.value.accountIds.1")
	refused("an account in two sections", fixture.With(revenue("A"), "netRevenueSections", array{
		object{"name": "S", "columns": array{on("visible", "manager")}}, object{"name": "T", "columns": array{on()}},
	}), "accountTwice", "netRevenueSections.1.columns.0.value.accountIds.0")
	refused("two rests", revenue("A", col("A", "accounts", object{"rest": true}), col("B", "accounts", object{"rest": true})), "accountTwice", at+"1.value.rest")
	refused("two rests of a class", revenue("A", col("A", "accounts", object{"rest": true, "classifications": array{"asset", "revenue"}}),
		col("B", "accounts", object{"rest": true, "classifications": array{"revenue"}})), "accountTwice", at+"1.value.classifications.0")
	refused("a class twice", revenue("A", col("A", "accounts", object{"rest": true, "classifications": array{"asset", "asset"}})), "unique", at+"0.value.classifications.1")
	refused("a column id twice", revenue("A", on("id", first), col("B", "field", object{"field": "date"}, "id", first)), "unique", at+"1.id")
	refused("a section's id too", fixture.With(revenue("A"), "netRevenueSections", array{object{"id": first, "name": "S", "columns": array{on("id", first)}}}), "unique", at+"0.id")
	refused("an id in both kinds", fixture.With(revenue("A", on("id", first)), "otherSections", array{object{"name": "S", "columns": array{on("id", first)}}}), "unique", "otherSections.0.columns.0.id")
	refused("a name twice", revenue("A", on(), col("Rent", "field", object{"field": "date"})), "unique", at+"1.name")
	refused("an unknown column", revenue("A", on(), col("S", "subTotal", object{"columnIds": array{first}})), "notFound", at+"1.value.columnIds.0")
	refused("a column of another section", fixture.With(revenue("A", on("id", first)), "otherSections", array{object{"name": "S", "columns": array{col("S", "subTotal", object{"columnIds": array{first}})}}}), "notFound", "otherSections.0.columns.0.value.columnIds.0")
	refused("a column without an amount", revenue("A", col("D", "field", object{"field": "date"}, "id", first), col("S", "subTotal", object{"columnIds": array{first}})), "contradiction", at+"1.value.columnIds.0")
	refused("a column twice in a subtotal", revenue("A", on("id", first), col("S", "subTotal", object{"columnIds": array{first, first}})), "unique", at+"1.value.columnIds.1")
	refused("a subtotal of itself", revenue("A", col("S", "subTotal", object{"columnIds": array{first}}, "id", first)), "ring", at+"0.value.columnIds.0")
	refused("a ring of subtotals", revenue("A", on(), col("S", "subTotal", object{"columnIds": array{second}}, "id", first), col("T", "subTotal", object{"columnIds": array{first}}, "id", second)),
		"ring", at+"1.value.columnIds.0")
	refused("too many columns", fixture.With(revenue("A"), "otherSections", array{object{"name": "S", "columns": many(51)}}), "items", "otherSections.0.columns")
	refused("an unknown body field", fixture.With(revenue("A", on()), "sections", array{}), "unknownField", "sections")
	refused("an unknown column field", revenue("A", on("width", 3)), "unknownField", at+"0.width")

	if got := w.Get("/statement-layouts").Want(200).Int("pagination.total"); got != 0 {
		t.Fatalf("%d refused layouts were stored", got)
	}
}

func many(n int) (columns array) {
	for i := range n {
		columns = append(columns, col(strings.Repeat("c", i+1), "field", object{"field": "date"}))
	}

	return columns
}

func TestFormulasAreRefusedWithTheirPosition(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	rent := col("Rent", "accounts", object{"accountIds": array{w.codes["4000"]}})
	dateColumn := col("Date", "field", object{"field": "date"})
	share := col("Share", "formula.percentage", object{"formula": "Rent / Rent"})

	currency := func(name, formula string) object { return col(name, "formula.currency", object{"formula": formula}) }
	for formula, position := range map[string]string{
		"Rent +": "7", "Rent / Rent": "6", "Unknown": "1", `Rent - column("Unknown")`: "15", `Rent + account("9999")`: "16", "Date + Rent": "1", "Rent - Share": "8",
		"Rent + Loop": "8", "Rent * Rent": "8", `fee("Commission")`: "4", "2 * F": "5",
	} {
		r := w.Post("/statement-layouts", revenue("A", rent, dateColumn, share, currency("F", formula), currency("Loop", "50% * F"))).
			WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "netRevenueSections.0.columns.3.value.formula")
		if got := r.String("context.position"); got != position {
			t.Errorf("%q is refused at %s, want %s: %s", formula, got, position, r.String("context.problem"))
		}
	}

	for formula, position := range map[string]string{"Rent": "5", "Rent / ": "8", "Rent / Rent / Rent": "13", "Rent / (Rent": "13", "Rent / None": "8"} {
		r := w.Post("/statement-layouts", revenue("A", rent, col("P", "formula.percentage", object{"formula": formula}))).
			WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "netRevenueSections.0.columns.1.value.formula")
		if got := r.String("context.position"); got != position {
			t.Errorf("%q is refused at %s, want %s: %s", formula, got, position, r.String("context.problem"))
		}
	}

	r := w.Post("/statement-layouts", revenue("A", rent, currency("F", "G"), currency("G", "Rent + F"))).Want(400)
	if got := r.String("context.problem"); got != `the columns build on each other in a ring: "F" → "G" → "F"` {
		t.Errorf("the ring is told as %s", got)
	}
}

// Manager and owner may be shown the same account differently, and hidden columns may repeat it.
func TestAccountsMayRepeatForDifferentViewers(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	list := object{"accountIds": array{w.codes["4000"]}}
	w.add(revenue("A",
		col("Rent", "accounts", list, "visible", "manager"), col("Income", "accounts", list, "visible", "owner"), col("Helper", "accounts", list, "visible", "none"),
		col("Rest", "accounts", object{"rest": true}, "visible", "manager"), col("Others", "accounts", object{"rest": true}, "visible", "owner"),
	))
	w.add(fixture.With(revenue("B", col("Rent", "accounts", list)), "otherSections", array{object{"name": "Costs", "columns": array{col("Rent", "accounts", list)}}}))
}

func TestTheStandardsLocksHold(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	r := w.Post("/statement-layouts", object{"name": "A"}).Want(201)
	path := "/statement-layouts/" + r.String("id")
	sections := func(key string) (list array) {
		var read object
		w.Get(path).Want(200).Into(&read)
		list, _ = read[key].(array)

		return list
	}
	columnsOf := func(section any) array {
		s, _ := section.(object)
		list, _ := s["columns"].(array)

		return list
	}
	net := sections("netRevenueSections")
	whole, _ := net[0].(object)
	columns := columnsOf(whole)
	put := func(code, at string, sections ...any) {
		t.Helper()
		w.Put(path, object{"netRevenueSections": append(array{}, sections...)}).WantError(apierr.CodeBadRequest, "").WantIssue(code, at)
	}
	put("locked", "netRevenueSections")

	costs, _ := sections("otherSections")[0].(object)
	put("unique", "netRevenueSections.1.id", whole, object{"id": costs["id"], "name": "S", "columns": array{col("D", "field", object{"field": "date"})}})
	put("locked", "netRevenueSections.0.columns", fixture.With(whole, "columns", columns[:9]))
	put("locked", "netRevenueSections.0.columns", fixture.With(whole, "columns", columns[:9]), fixture.With(whole, "id", nil, "columns", columns[9:]))
	last, _ := columns[9].(object)
	put("locked", "netRevenueSections.0.columns.9.type", fixture.With(whole, "columns", append(columns[:9:9], fixture.With(last, "type", "field", "value", object{"field": "date"}))))
	w.Put(path, object{"otherSections": array{}}).WantError(apierr.CodeBadRequest, "").WantIssue("locked", "otherSections")
	// Whatever else of it may change, and a caller neither locks nor unlocks anything.
	guest, _ := columns[0].(object)
	changed := fixture.With(whole, "locked", false, "name", "Income", "visible", "manager", "aggregate", true,
		"columns", append(array{fixture.With(last, "name", "Left", "visible", "none", "locked", false), fixture.With(guest, "locked", true)}, columns[5:9]...))
	wantFields(t, w.Put(path, object{"netRevenueSections": array{changed}}).Want(200), map[string]string{
		"netRevenueSections.0.name": "Income", "netRevenueSections.0.locked": "true", "netRevenueSections.0.aggregate": "true",
		"netRevenueSections.0.columns.0.name": "Left", "netRevenueSections.0.columns.0.locked": "true", "netRevenueSections.0.columns.1.locked": "false",
	})
}

// Formulas follow columns that are renamed: what was not changed means what it meant, and what was changed may use the
// old names for the last time.
func TestFormulasFollowRenamedColumns(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	a, b, f := id.New(w.DB.Now()), id.New(w.DB.Now()), id.New(w.DB.Now())
	body := func(first, second, formula string) array {
		return array{object{"name": "S", "id": w.codes["1000"], "columns": array{
			col(first, "accounts", object{"accountIds": array{w.codes["4000"]}}, "id", a), col(second, "accounts", object{"accountIds": array{w.codes["4010"]}}, "id", b),
			col("F", "formula.currency", object{"formula": formula}, "id", f),
		}}}
	}
	path := w.add(object{"name": "A", "netRevenueSections": body("A", "B", "A - 50% * B"), "otherSections": array{}})
	put := func(first, second, formula, want string) {
		t.Helper()

		r := w.Put(path, object{"netRevenueSections": body(first, second, formula)}).Want(200)
		wantFields(t, r, map[string]string{"netRevenueSections.0.columns.2.value.formula": want})
	}
	put("Rents", "B", "A - 50% * B", "Rents - 50% * B")
	put("B", "Rents", "Rents - 50% * B", "B - 50% * Rents")     // swapped: each means its column
	put("Net rent", "Rents", "B + Rents", `"Net rent" + Rents`) // changed, by an old name
	put("x", "y", `"Net rent" + Rents`, "x + y")                // both
	w.Put(path, object{"netRevenueSections": body("x", "y", "A")}).Want(400)
}
