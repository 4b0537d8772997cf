package contact_test

import (
	"fmt"
	"slices"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
)

func names(r *apitest.Response) []string {
	r.Want(200)

	out := make([]string, r.Len("data"))
	for i := range out {
		out[i] = r.String(fmt.Sprintf("data.%d.name", i))
	}

	return out
}

func wantNames(t *testing.T, r *apitest.Response, want ...string) {
	t.Helper()

	if got := names(r); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// span is the names of people from one number up to but not including another.
func span(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("Person %03d", i))
	}

	return out
}

// Proves: PAG-08, PAG-09, PAG-10, PAG-15, PAG-16, PAG-17, PAG-18.
func TestPages(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	people(x, 17)

	for _, test := range []struct {
		query    string
		from, to int
		page     int64
		next     string
	}{
		{"limit=5", 0, 5, 1, "2"},
		{"limit=5&page=1", 0, 5, 1, "2"},
		{"limit=5&offset=0", 0, 5, 1, "2"},
		{"limit=5&page=3", 10, 15, 3, "4"},
		{"limit=5&page=4", 15, 17, 4, "null"},
		{"limit=5&page=1&offset=5", 5, 10, 1, "2"},
		{"limit=5&offset=7", 7, 12, 2, "3"},
		{"limit=5&offset=7&page=9", 7, 12, 9, "10"},
		{"limit=5&offset=100", 17, 17, 21, "null"},
	} {
		r := x.Get("/contacts?sort=name&" + test.query)
		wantNames(t, r, span(test.from, test.to)...)

		if r.Int("pagination.page") != test.page || r.Int("pagination.total") != 17 || r.Int("pagination.totalPage") != 4 {
			t.Errorf("%s: %s", test.query, r.Body)
		}

		if r.String("pagination.nextPage") != test.next {
			t.Errorf("%s: next page is %s, want %s", test.query, r.String("pagination.nextPage"), test.next)
		}
	}
}

// Proves: PAG-08, PAG-09, PAG-11, PAG-12, PAG-13, PAG-14, LIM-05, LIM-06.
func TestPagesRefused(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, test := range []struct{ query, name string }{
		{"page=0", "page"},
		{"page=-1", "page"},
		{"page=1.5", "page"},
		{"page=9007199254740993", "page"},
		{"page=9007199254740991&limit=250", "page"},
		{"offset=-1", "offset"},
		{"offset=0.5", "offset"},
		{"offset=9007199254740993", "offset"},
		{"limit=0", "limit"},
		{"limit=-1", "limit"},
		{"limit=1.5", "limit"},
		{"limit=251", "limit"},
	} {
		r := x.Get("/contacts?"+test.query).WantError(apierr.CodeBadRequest, "")
		if r.String("issues.0.path.0") != test.name {
			t.Errorf("%s: %s", test.query, r.Body)
		}
	}
}

// Proves: LIM-04, LIM-05, LIM-06.
func TestLimits(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	people(x, 251)

	for query, want := range map[string]int{"": 100, "?limit=1": 1, "?limit=250": 250} {
		if got := x.Get("/contacts" + query).Want(200).Len("data"); got != want {
			t.Errorf("%q: %d rows, want %d", query, got, want)
		}
	}
}

// Proves: PAG-19, PAG-25, PAG-26, PAG-27, PAG-28.
func TestUndeclaredQueryRefused(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, test := range []struct{ query, code, name string }{
		{"sort=phone", "enum", "sort"},
		{"sort=%2Bname", "enum", "sort"},
		{"sort=created_desc", "enum", "sort"},
		{"sort=name_desc", "enum", "sort"},
		{"sortBy=name", "unknownParameter", "sortBy"},
		{"sortDirection=desc", "unknownParameter", "sortDirection"},
		{"foo=1", "unknownParameter", "foo"},
	} {
		x.Get("/contacts?"+test.query).WantError(apierr.CodeBadRequest, "").WantIssue(test.code, test.name)
	}

	one := x.Post("/contacts", object{"type": "vendor", "name": "Plumber"}).Want(201).String("id")
	x.Get("/contacts/"+one+"?foo=1").WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "foo")
	x.Delete("/contacts/"+one+"?foo=1").WantError(apierr.CodeBadRequest, "").WantIssue("unknownParameter", "foo")
}

// Proves: PAG-20, PAG-21, PAG-22, PAG-23.
func TestSorts(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, c := range []object{
		{"type": "vendor", "name": "b", "email": "B@example.com"},
		{"type": "vendor", "name": "D"},
		{"type": "vendor", "name": "A", "email": "c@example.com"},
		{"type": "vendor", "name": "C", "email": "a@example.com"},
	} {
		x.Post("/contacts", c).Want(201)
	}

	wantNames(t, x.Get("/contacts?sort=name"), "A", "b", "C", "D")
	wantNames(t, x.Get("/contacts?sort=-name"), "D", "C", "b", "A")
	wantNames(t, x.Get("/contacts?sort=email"), "C", "b", "A", "D")
	wantNames(t, x.Get("/contacts?sort=-email"), "A", "b", "C", "D")
	wantNames(t, x.Get("/contacts?sort=createdAt"), "b", "D", "A", "C")
	wantNames(t, x.Get("/contacts?sort=-createdAt"), "C", "A", "D", "b")
}

// Proves: PAG-24.
func TestTiesAreBrokenByID(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	data := make([]object, 40)
	for i := range data {
		data[i] = object{"type": "vendor", "name": "Same"}
	}

	x.Post("/contacts/batch", object{"data": data}).Want(200)

	for _, sort := range []string{"name", "-name", "email", "-email", "createdAt", "-createdAt"} {
		var ids []string

		for page := 1; page <= 8; page++ {
			r := x.Get(fmt.Sprintf("/contacts?limit=5&sort=%s&page=%d", sort, page)).Want(200)
			for i := range r.Len("data") {
				ids = append(ids, r.String(fmt.Sprintf("data.%d.id", i)))
			}
		}

		ordered := slices.Clone(ids)
		slices.Sort(ordered)

		if len(slices.Compact(slices.Clone(ordered))) != 40 {
			t.Fatalf("%s: a row came twice or not at all", sort)
		}

		if sort[0] == '-' {
			slices.Reverse(ordered)
		}

		if !slices.Equal(ids, ordered) {
			t.Errorf("%s: ties are not in the order of the ids", sort)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	ids := map[string]string{}

	for _, c := range []object{
		{"type": "owner", "name": "Ada", "firstName": "Zoe", "uniqueRef": "r1"},
		{"type": "owner", "name": "Bo_b", "status": "inactive", "uniqueRef": "r2"},
		{"type": "vendor", "name": "Cleaners", "email": "hello@cleaners.example"},
	} {
		r := x.Post("/contacts", c).Want(201)
		ids[r.String("name")] = r.String("id")
	}

	for query, want := range map[string][]string{
		"type=owner":                            {"Ada", "Bo_b"},
		"status=inactive":                       {"Bo_b"},
		"search=zo":                             {"Ada"},
		"search=HELLO":                          {"Cleaners"},
		"search=o_b":                            {"Bo_b"},
		"search=%25":                            {},
		"uniqueRefs=r1,r2,r3":                   {"Ada", "Bo_b"},
		"ids=" + ids["Ada"] + "," + ids["Bo_b"]: {"Ada", "Bo_b"},
		"ids=!" + ids["Ada"] + ",!" + ids["Bo_b"]: {"Cleaners"},
		"ids=" + ids["Ada"] + ",!" + ids["Bo_b"]:  {"Ada"},
		"ids=!" + ids["Ada"] + "," + ids["Bo_b"]:  {"Bo_b"},
		"ids=%21" + ids["Ada"] + "&type=owner":    {"Bo_b"},
		"type=vendor&ids=" + ids["Ada"]:           {},
		"status=active&search=cleaners&page=1":    {"Cleaners"},
		"status=active&type=owner&uniqueRefs=r1":  {"Ada"},
		"status=inactive&type=owner&search=other": {},
	} {
		wantNames(t, x.Get("/contacts?sort=name&"+query), want...)
	}

	x.Get("/contacts?ids=nonsense").WantError(apierr.CodeBadRequest, "").WantIssue("uuid", "ids")
	x.Get("/contacts?type=guest").WantError(apierr.CodeBadRequest, "").WantIssue("enum", "type")
}

// Proves: PAG-31.
func TestOtherTeamsContactsAreUnknown(t *testing.T) {
	t.Parallel()
	x, y := newTeam(t), newTeam(t)
	one := x.Post("/contacts", object{"type": "vendor", "name": "Plumber", "uniqueRef": "ref"}).Want(201).String("id")
	y.Get("/contacts/"+one).WantError(apierr.CodeNotFound, "")
	y.Put("/contacts/"+one, object{"name": "Mine"}).WantError(apierr.CodeNotFound, "")
	y.Delete("/contacts/"+one).WantError(apierr.CodeNotFound, "")

	for _, query := range []string{"", "?ids=" + one, "?uniqueRefs=ref", "?search=Plumber"} {
		if r := y.Get("/contacts" + query).Want(200); r.Len("data") != 0 || r.Int("pagination.total") != 0 {
			t.Errorf("%q: %s", query, r.Body)
		}
	}

	r := y.Post("/contacts/batch", object{"data": []object{{"id": one, "name": "Mine"}}}).Want(200)
	if r.String("issues.0.code") != "NOT_FOUND" || r.Len("data") != 0 {
		t.Errorf("batch: %s", r.Body)
	}

	y.Post("/contacts", object{"type": "vendor", "name": "Own", "payoutAccountId": account(x, "bank")}).
		WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "payoutAccountId")
	y.Post("/contacts", object{"type": "vendor", "name": "Plumber", "uniqueRef": "ref"}).Want(201)

	if got := x.Get("/contacts/" + one).Want(200).String("name"); got != "Plumber" {
		t.Errorf("the name is %s", got)
	}
}
