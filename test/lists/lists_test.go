package lists_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

const unknown = "018bcfe5-6800-7000-8000-000000000000"

// books are a world with rows in its lists, and examples of ids that filters name.
type books struct {
	*world.World

	example map[string]string
}

func newBooks(t *testing.T) *books {
	t.Helper()

	return booksIn(t, nil)
}

// booksIn returns books in a database of the test's own; nil is the package's.
func booksIn(t *testing.T, d *db.DB) *books {
	t.Helper()
	w := world.In(t, d)
	ann, ben := w.Contact("owner", "Ann"), w.Contact("owner", "Ben")
	villa, hut := w.Listing("Villa", ann), w.Listing("Hut", ben)
	stay := w.Stay(villa, "2026-01-10", 10000)
	w.Stay(hut, "2026-01-20", 20000)
	w.Stay(villa, "2026-02-10", 30000)
	expense := w.Expense(villa, "2026-01-31", 4000)
	w.Expense(hut, "2026-02-01", 5000)

	var fees []string
	for i, l := range []world.Listing{villa, hut} {
		fees = append(fees, w.Post("/recurring-fees", world.Object{
			"name": "Fee " + strconv.Itoa(i), "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 1000, "debitParty": "owners",
			"creditParty": "manager", "debitAccountId": w.Account("5100"), "creditAccountId": w.Account([]string{"4100", "4110"}[i]),
			"listingSubscriptions": world.Array{world.Object{"listingId": l.ID}},
		}).Want(201).String("id"))
		w.Post("/tax-rates", world.Object{"name": "Rate " + strconv.Itoa(i), "basisPoints": 1000 * (i + 1)}).Want(201)
	}

	w.Post("/transactions/line-mappings", world.Object{"lineType": "resolution", "accountId": w.Account("4000")}).Want(201)
	w.Post("/transactions/line-mappings", world.Object{"lineType": "withheldTax", "appId": "airbnb", "status": "excluded"}).Want(201)

	w.Post("/account-connections/batch", world.Object{"data": world.Array{
		world.Object{"name": "Checking", "accountId": w.Account("1000")}, world.Object{"name": "Savings", "lastDigits": "1234"},
	}}).Want(200)

	for i, day := range []string{"2026-01-15", "2026-02-15"} {
		w.Post("/general-ledger/journals", world.Object{"date": day, "description": "Correction", "lines": world.Array{
			world.Object{"accountId": w.Account("5200"), "centTotal": 100 + i, "party": "manager"},
			world.Object{"accountId": w.Account([]string{"4000", "4100"}[i]), "centTotal": -100 - i, "party": "manager"},
		}}).Want(201)
		account := w.Account("1000")
		record := id.New(w.DB.Now())
		w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, currency, description, created_at, updated_at)
			values (@team, @id, case when @linked::boolean then @account::uuid end, @date, 100, case when not @linked::boolean then 'usd' end, 'Movement', now(), now())`,
			db.Args{"id": record, "account": account, "date": day, "linked": i == 0})
	}

	for i, kind := range []string{"expense", "deposit"} {
		body := world.Object{
			"name": "Rule " + strconv.Itoa(i), "priority": i, "transactionType": kind, "mode": []string{"suggest", "auto"}[i],
			"conditions": world.Array{world.Object{"type": "description", "operator": "contains", "value": "x"}},
			"lines":      world.Array{world.Object{"splitMode": "remainder", "accountId": w.Account([]string{"5200", "4000"}[i]), "listingId": []id.ID{villa.ID, hut.ID}[i]}},
		}
		if i == 0 {
			body["vendorContactId"] = ann
		}

		w.Post("/bank-rules", body).Want(201)
	}

	w.Work()

	return &books{w, map[string]string{
		"/account-connections accountIds": w.Account("1000").String(), "/bank-records accountIds": w.Account("1000").String(), "/recurring-fees accountIds": w.Account("4100").String(),
		"accountIds": w.Account("4000").String(), "categoryIds": w.Get("/account-categories").Want(200).String("data.0.id"), "contactIds": ann.String(),
		"listingIds": villa.ID.String(), "ownerIds": ann.String(), "periodIds": villa.Period.String(), "ownershipPeriodIds": villa.Period.String(),
		"reservationIds": stay.String(), "transactionIds": expense.String(), "recurringFeeIds": fees[0], "statementIds": w.Statement(villa, "2026-01").String(),
	}}
}

// exampleFor is an id for a filter, one of the list's own where there is one.
func (b *books) exampleFor(path, filter string) (string, bool) {
	if own, ok := b.example[path+" "+filter]; ok {
		return own, true
	}

	v, ok := b.example[filter]

	return v, ok
}

// list reads a list, 250 rows at most, and gives the ids of the rows.
func list(x *apitest.Team, path, query string) []string {
	if query != "" {
		query = "&" + query
	}

	r := x.Get(path + "?limit=250" + query).Want(200)

	ids := make([]string, r.Len("data"))
	for i := range ids {
		ids[i] = r.String("data." + strconv.Itoa(i) + ".id")
	}

	return ids
}

// without are the rows that are not among others, in their order.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return slices.Contains(others, v) })
}

// described is a parameter as the description has it.
type described struct {
	Type  string
	Enum  []string
	Items struct {
		Type, Format string
		Enum         []string
	}
}

// isTexts reports whether a filter takes several free texts.
func (d described) isTexts() bool {
	return d.Type == "array" && d.Items.Type == "string" && d.Items.Enum == nil && d.Items.Format == ""
}

// values are those that a filter can be asked with; nil for one that takes any text.
func (d described) values() []string {
	if d.Type == "boolean" {
		return []string{"true", "false"}
	}

	return append(slices.Clone(d.Enum), d.Items.Enum...)
}

// describedLists are the query parameters of every GET, by path and name.
func describedLists(t *testing.T, w *world.World) map[string]map[string]described {
	t.Helper()

	description, err := w.Server().OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	tree, err := description.Resolve()
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}

	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   described
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}

	out := map[string]map[string]described{}

	for path, methods := range d.Paths {
		if get, ok := methods["get"]; ok {
			out[path] = map[string]described{}

			for _, p := range get.Parameters {
				if p.In == "query" {
					out[path][p.Name] = p.Schema
				}
			}
		}
	}

	return out
}

// Every list that the service has is either in the table or named as apart, and has the parameters of the table and no
// others.
func TestEveryListIsHeldToTheContract(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	described := describedLists(t, w)
	for path, filters := range described {
		names := slices.Collect(maps.Keys(filters))

		at := slices.IndexFunc(promises, func(p promise) bool { return p.path == path })
		switch {
		case !slices.Contains(names, "limit"):
		case at >= 0:
			slices.Sort(names)

			if want := promises[at].parameters(); !slices.Equal(names, want) {
				t.Errorf("%s takes %v; beyond the contract %v, missing %v", path, names, without(names, want), without(want, names))
			}
		case !slices.Contains(apart, path):
			t.Errorf("%s is a list that test/lists does not know: say in table_test.go what the contract promises of it", path)
		}
	}

	for _, p := range promises {
		filters, ok := described[p.path]
		if !ok {
			t.Errorf("there is no list %s", p.path)
		}

		for _, name := range p.parameters() {
			named := slices.Contains(strings.Fields(p.texts), name)
			if named != (filters[name].isTexts() && slices.Contains(strings.Fields(p.others), name)) {
				t.Errorf("%s: say in table_test.go whether %s takes free texts", p.path, name)
			}
		}
	}
}

func (p promise) parameters() []string {
	names := strings.Fields(strings.Join([]string{"limit page offset sort", p.ids, p.refs, p.nullable, p.former, p.others}, " "))
	if p.date != "" {
		names = append(names, "dateRange", "isDateRangeEndInclusive")
	}

	if p.amount {
		names = append(names, "amount")
	}

	slices.Sort(names)

	return names
}

// Proves: PAG-08..PAG-14, PAG-19..PAG-28, PAG-31, PAG-33, PAG-34, PAG-35, LIM-04, LIM-05, LIM-06.
func TestListsKeepTheContract(t *testing.T) {
	t.Parallel()
	b, other := newBooks(t), newBooks(t)

	filters := describedLists(t, b.World)
	for _, p := range promises {
		all := list(b.Team, p.path, "")
		if len(all) < 2 && !p.few {
			t.Fatalf("%s: the world has %d rows", p.path, len(all))
		}

		p.refusals(t, b)
		p.pages(t, b, all)

		if p.ids != "" && !p.few {
			p.ownIDs(t, b, other, all)
		}

		for name := range strings.FieldsSeq(p.refs + " " + p.nullable) {
			p.references(t, b, name, all, other.example[name])
		}

		for name := range strings.FieldsSeq(p.nullable) {
			p.none(t, b, name, all)
		}

		if p.date != "" && !p.few {
			p.dates(t, b)
		}

		for name := range strings.FieldsSeq(p.texts) {
			p.records(t, b, name)
		}

		for name := range strings.FieldsSeq(p.others) {
			p.narrows(t, b, name, filters[p.path][name].values(), all)
		}
	}
}

func (p promise) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf(p.path+": "+format, args...)
}

// refusals are the same for each fault on every list.
func (p promise) refusals(t *testing.T, b *books) {
	t.Helper()

	type fault struct{ query, code, at string }

	faults := []fault{
		{"limit=0", "range", "limit"},
		{"limit=251", "range", "limit"},
		{"limit=1.5", "integer", "limit"},
		{"page=0", "range", "page"},
		{"page=x", "integer", "page"},
		{"offset=-1", "range", "offset"},
		{"page=9007199254740991", "range", "page"},
		{"page=9007199254740992", "integer", "page"},
		{"offset=9007199254740992", "integer", "offset"},
		{"sort=color", "enum", "sort"},
		{"sort=createdAt_desc", "enum", "sort"},
		{"sortBy=name", "unknownParameter", "sortBy"},
		{"sortDirection=asc", "unknownParameter", "sortDirection"},
		{"color=red", "unknownParameter", "color"},
	}

	for name := range strings.FieldsSeq(p.ids + " " + p.refs + " " + p.nullable) {
		for _, text := range []string{"x", "!x", "!", unknown + ",x", "!!" + unknown} {
			faults = append(faults, fault{name + "=" + text, "uuid", name})
		}
	}

	for name := range strings.FieldsSeq(p.ids + " " + p.refs) {
		faults = append(faults, fault{name + "=null", "uuid", name})
	}

	if p.date != "" {
		for _, text := range []string{"yesterday", "2026-13", "2026-02-30", "2026-02-01...2026-01-01", "2026-01...2026-02"} {
			faults = append(faults, fault{"dateRange=" + text, "dateRange", "dateRange"})
		}

		faults = append(faults, fault{"dateRange=1800", "dateOutOfRange", "dateRange"}, fault{"isDateRangeEndInclusive=1", "boolean", "isDateRangeEndInclusive"})
	}

	if p.amount {
		for _, text := range []string{"x", "1.5", "2...1", "1...", "9007199254740992"} {
			faults = append(faults, fault{"amount=" + text, "malformed", "amount"})
		}
	}

	for _, f := range faults {
		r := b.Get(p.path + "?" + f.query).Want(400)
		if r.String("code") != string(apierr.CodeBadRequest) || r.String("issues.0.code") != f.code || r.String("issues.0.path.0") != f.at {
			p.errorf(t, "%s: %s, want %s at %s", f.query, r.Body, f.code, f.at)
		}
	}
}

// pages read one after the other are the whole list, in each of its orders.
func (p promise) pages(t *testing.T, b *books, all []string) {
	t.Helper()

	sorted := slices.Sorted(slices.Values(all))
	size := max(2, (len(all)+3)/4)

	for name := range strings.FieldsSeq(p.sorts) {
		orders := [2][]string{}
		for i, sort := range []string{name, "-" + name} {
			orders[i] = list(b.Team, p.path, "sort="+sort)

			var joined []string

			for n := 0; n*size <= len(all); n++ {
				r := b.Get(p.path + "?sort=" + sort + "&limit=" + strconv.Itoa(size) + "&page=" + strconv.Itoa(n+1)).Want(200)
				for row := range r.Len("data") {
					joined = append(joined, r.String("data."+strconv.Itoa(row)+".id"))
				}

				if r.Int("pagination.total") != int64(len(all)) {
					p.errorf(t, "sort=%s: page %d tells %d rows, want %d", sort, n+1, r.Int("pagination.total"), len(all))
				}
			}

			if !slices.Equal(joined, orders[i]) {
				p.errorf(t, "sort=%s: pages joined are %v, the whole list is %v", sort, joined, orders[i])
			}

			if got := slices.Sorted(slices.Values(orders[i])); !slices.Equal(got, sorted) {
				p.errorf(t, "sort=%s lists %v, want the rows %v", sort, got, sorted)
			}
		}

		if len(all) > 1 && name != "status" && slices.Equal(orders[0], orders[1]) { // all rows can have one status
			p.errorf(t, "sort=-%s is in the order of sort=%s", name, name)
		}
	}

	if len(all) > 1 {
		if got := list(b.Team, p.path, "offset=1"); len(got) != len(all)-1 {
			p.errorf(t, "offset=1 gives %d rows of %d", len(got), len(all))
		}
	}
}

// same holds a selection to the rows that it must have, in any order.
func (p promise) same(t *testing.T, b *books, query string, want []string) {
	t.Helper()

	got := slices.Sorted(slices.Values(list(b.Team, p.path, query)))
	if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		p.errorf(t, "%s lists %v, want %v", query, got, want)
	}
}

func (p promise) ownIDs(t *testing.T, b, other *books, all []string) {
	t.Helper()

	first, second := all[0], all[1]

	foreign := list(other.Team, p.path, "")[0]
	for items, want := range map[string][]string{
		first: {first}, first + "," + second: {first, second}, "!" + first: without(all, []string{first}), "!" + first + ",!" + second: without(all, []string{first, second}),
		first + "," + second + ",!" + second: {first}, first + ",!" + first: nil, strings.ToUpper(first): {first},
		unknown: nil, "!" + unknown: all, foreign: nil, "!" + foreign: all, first + "," + foreign: {first},
	} {
		p.same(t, b, p.ids+"="+items, want)
	}
}

// references parts the list in the rows that have an id and those that have not.
func (p promise) references(t *testing.T, b *books, name string, all []string, foreign string) {
	t.Helper()
	p.same(t, b, name+"="+unknown, nil)
	p.same(t, b, name+"=!"+unknown, all)

	if foreign != "" {
		p.same(t, b, name+"="+foreign, nil)
	}

	example, ok := b.exampleFor(p.path, name)
	if !ok || p.few {
		return
	}

	with := list(b.Team, p.path, name+"="+example)
	p.same(t, b, name+"=!"+example, without(all, with))
	p.same(t, b, name+"="+example+",!"+example, nil)
	p.same(t, b, name+"="+unknown+","+example, with)

	if len(with) == len(all) {
		p.errorf(t, "%s=%s leaves nothing out", name, example)
	}

	if len(with) == 0 && !slices.Contains([]string{"/general-ledger/journals", "/reports/journal-entries", "/transactions", "/statements", "/accounts"}, p.path) {
		p.errorf(t, "%s=%s finds nothing", name, example)
	}
}

// none parts the list in the rows that have no reference and those that have one.
func (p promise) none(t *testing.T, b *books, name string, all []string) {
	t.Helper()

	empty := list(b.Team, p.path, name+"=null")
	p.same(t, b, name+"=!null", without(all, empty))

	if example, ok := b.exampleFor(p.path, name); ok {
		with := list(b.Team, p.path, name+"="+example)
		p.same(t, b, name+"=null,"+example, append(slices.Clone(empty), with...))
	}
}

// records holds a list of free texts to what CSV says of its values. Those with a pattern have none with a comma.
func (p promise) records(t *testing.T, b *books, name string) {
	t.Helper()

	for _, record := range []string{`"`, `1234,"1234`, `1234"`, `"1234" `, `""`, `1234,`} {
		r := b.Get(p.path + "?" + name + "=" + url.QueryEscape(record)).Want(400)
		if r.String("issues.0.code") != "malformed" || r.String("issues.0.path.0") != name {
			p.errorf(t, "%s=%s: %s, want malformed", name, record, r.Body)
		}
	}

	value := cmp.Or(telling[name], "none")
	want := list(b.Team, p.path, name+"="+value)
	p.same(t, b, name+"="+url.QueryEscape(`"`+value+`"`), want)
	p.same(t, b, name+"="+value+"&"+name+"="+value, want)
}

// narrows says that a filter which is declared is asked: one of its values selects fewer rows than the list has.
func (p promise) narrows(t *testing.T, b *books, name string, values, all []string) {
	t.Helper()

	if slices.Contains(shapes, name) || slices.Contains(unlike, p.path+" "+name) || p.few {
		return
	}

	if value, ok := telling[p.path+" "+name]; ok {
		values = []string{value}
	}

	if values == nil {
		value, ok := telling[name]
		if without, excludes := strings.CutPrefix(name, "not"); excludes && !ok {
			value, ok = b.exampleFor(p.path, strings.ToLower(without[:1])+without[1:])
		}

		if !ok {
			p.errorf(t, "say in table_test.go which %s selects other rows", name)
			return
		}

		values = []string{value}
	}

	for _, value := range values {
		r := b.Get(p.path + "?limit=250&" + name + "=" + strings.ReplaceAll(value, " ", "+"))
		if r.Status != 200 {
			p.errorf(t, "%s=%s: %s", name, value, r.Body)
			return
		}

		if r.Len("data") != len(all) {
			return
		}
	}

	p.errorf(t, "%s selects all rows with each of %v", name, values)
}

// dates narrow to the days named, and leave the last one out when they are asked to.
func (p promise) dates(t *testing.T, b *books) {
	t.Helper()

	r := b.Get(p.path + "?limit=250&dateRange=2026").Want(200)
	days := map[string][]string{}

	for i := range r.Len("data") {
		row := "data." + strconv.Itoa(i) + "."
		days[r.String(row+p.date)] = append(days[r.String(row+p.date)], r.String(row+"id"))
	}

	if len(days) < 2 {
		t.Fatalf("%s: the rows are of %d days", p.path, len(days))
	}

	for day, rows := range days {
		at := url.QueryEscape(day)
		p.same(t, b, "dateRange="+at, rows)
		p.same(t, b, "dateRange="+at+"&isDateRangeEndInclusive=true", rows)
		p.same(t, b, "dateRange="+at+"&isDateRangeEndInclusive=false", nil)
		p.same(t, b, "dateRange=2026-01-01..."+at+"&isDateRangeEndInclusive=false", p.before(days, day))
		p.same(t, b, "dateRange=2026-01-01..."+at, append(p.before(days, day), rows...))
	}
}

// before are the rows of 2026 that are of earlier days.
func (promise) before(days map[string][]string, day string) []string {
	var rows []string

	for d, of := range days {
		if d < day {
			rows = append(rows, of...)
		}
	}

	return rows
}

// A reference with a comma or a quotation mark is found in quotation marks, among others.
func TestReferencesWithACommaAreFound(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	ids := map[string]string{}
	for _, ref := range []string{"INV 12,3", `12" pipe`, "B7", "INV 12", "3"} {
		ids[ref] = w.Post("/contacts", world.Object{"type": "vendor", "name": "V", "uniqueRef": ref}).Want(201).String("id")
	}

	for _, test := range []struct {
		records []string
		want    []string
	}{
		{[]string{`"INV 12,3"`}, []string{"INV 12,3"}},
		{[]string{`INV 12,3`}, []string{"INV 12", "3"}},
		{[]string{`B7,"INV 12,3"`}, []string{"B7", "INV 12,3"}},
		{[]string{`"12"" pipe"`, "B7", "INV 12,3"}, []string{`12" pipe`, "B7", "INV 12", "3"}},
	} {
		var want []string
		for _, ref := range test.want {
			want = append(want, ids[ref])
		}

		promise{path: "/contacts"}.same(t, &books{World: w}, url.Values{"uniqueRefs": test.records}.Encode(), want)
	}
}

// A listing has an opening balance while a deposit that is nothing else says so.
func TestListingsByOpeningBalance(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ann := w.Contact("owner", "Ann")
	villa, hut := w.Listing("Villa", ann), w.Listing("Hut", ann)
	w.Put("/listings/"+villa.ID.String()+"/opening-balance", world.Object{"amount": 1000}).Want(200)

	for wanted, want := range map[string]world.Listing{"true": villa, "false": hut} {
		if got := list(w.Team, "/listings", "openingBalance="+wanted); !slices.Equal(got, []string{want.ID.String()}) {
			t.Errorf("openingBalance=%s lists %v, want %s", wanted, got, want.ID)
		}
	}
}

// A listing has an issue while it is active and its setup lacks something; an inactive one lacks nothing.
func TestListingsByIssue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	bare := w.Post("/listings", world.Object{"name": "Bare"}).Want(201).String("id")
	gone := w.Post("/listings", world.Object{"name": "Gone"}).Want(201).String("id")
	w.Put("/listings/"+gone, world.Object{"status": "inactive"}).Want(200)

	check := func(issue string, want ...string) {
		t.Helper()

		got := list(w.Team, "/listings", "sort=name&issue="+issue)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("issue=%s lists %v, want %v", issue, got, want)
		}
	}

	all := []string{villa.ID.String(), bare}
	check("missingOwnershipOrDeactivation", bare)
	check("missingFeesAndCommission", all...)
	check("missingOpeningBalance", all...)
	check("any", all...)
	check("all", bare)

	w.Put("/listings/"+villa.ID.String()+"/opening-balance", world.Object{"amount": 0}).Want(200)
	w.Post("/recurring-fees", world.Object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 1000, "debitParty": "owners",
		"creditParty": "manager", "debitAccountId": w.Account("5100"), "creditAccountId": w.Account("4100"),
		"listingSubscriptions": world.Array{world.Object{"listingId": villa.ID}},
	}).Want(201)
	check("missingFeesAndCommission", bare)
	check("missingOpeningBalance", bare)
	check("any", bare)

	w.Put("/listings/"+bare, world.Object{"status": "inactive"}).Want(200)
	check("missingOwnershipOrDeactivation")
	w.Get("/listings?issue=lazy").WantError("BAD_REQUEST", "").WantIssue("enum", "issue")
}
