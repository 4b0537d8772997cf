package page_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/plain"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var sorts = page.Sorts{{Name: "name", Expr: "name", Text: true}, {Name: "email", Expr: "email", Text: true, Nullable: true}, {Name: "createdAt", Expr: "created_at"}}

// personSort is an order of people, declared as lists declare theirs.
type personSort string

// Enum lists the orders.
func (personSort) Enum() []string { return sorts.Enum() }

type input struct {
	page.Params
	Sort   personSort `query:"sort" default:"name"`
	Search string     `query:"search"`
}

// Person is a row of contact.
type Person struct {
	ID     id.ID   `json:"id"`
	Name   string  `json:"name"`
	Email  *string `json:"email"`
	Caller string  `json:"caller"`
}

func people(ctx context.Context, tx *db.Tx, in *input) (*page.Page[Person], error) {
	q := page.Query{
		Columns: `id, name, email, @caller::text as caller`, From: "contact", Rows: "contact", ID: "id", Default: "name", Args: db.Args{"caller": tx.Actor.User.String()},
		Sorts: sorts,
	}
	q.And("team_id = @team", db.Args{"team": tx.Team})
	q.CountedAs("contact") // without a search the total is the kept one
	q.Search(in.Search, "name", "email")

	return page.List[Person](ctx, tx, q, in.Params, in.Sort)
}

// newTeam has a contact for each name; "name:email" gives it an address.
func newTeam(t *testing.T, names ...string) *apitest.Team {
	t.Helper()
	x := apitest.New(t, apitest.Config{Endpoints: []api.Endpoint{api.Read(api.Endpoint{Method: http.MethodGet, Path: "/people", ID: "listPeople"}, people)}})
	addPeople(x, names...)

	return x
}

func addPeople(x *apitest.Team, names ...string) {
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		for i, n := range names {
			name, email, has := strings.Cut(n, ":")

			address := &email
			if !has {
				address = nil
			}

			made := id.New(tx.Now.Add(time.Duration(i) * time.Millisecond)) // in this order, which breaks ties
			if _, err := tx.Exec(ctx, `insert into contact (team_id, id, short_ref, type, name, email, created_at, updated_at) values (@team, @id, @ref, 'owner', @name, @email, @now, @now)`,
				db.Args{"team": tx.Team, "id": made, "ref": made.String(), "name": name, "email": address, "now": tx.Now}); err != nil {
				return err
			}
		}

		return nil
	})
}

func names(r *apitest.Response) string {
	out := make([]string, r.Len("data"))
	for i := range out {
		out[i] = r.String(fmt.Sprintf("data.%d.name", i))
	}

	return strings.Join(out, " ")
}

// Proves: PAG-08, PAG-10, PAG-15, PAG-16, PAG-17, PAG-18, LIM-05, OPEN-71.
func TestPagesAndOffsets(t *testing.T) {
	t.Parallel()

	var all []string
	for n := range 17 {
		all = append(all, fmt.Sprintf("%02d", n+1))
	}

	x := newTeam(t, all...)
	newTeam(t, "of another team")

	rows := func(from, to int) string { return strings.Join(all[from-1:to], " ") }
	for query, c := range map[string]struct {
		names, foot string
	}{
		"":                                 {rows(1, 17), "100 1 17 1 null"},
		"?page=1":                          {rows(1, 17), "100 1 17 1 null"},
		"?limit=17":                        {rows(1, 17), "17 1 17 1 null"},
		"?limit=16":                        {rows(1, 16), "16 1 17 2 2"},
		"?limit=1":                         {"01", "1 1 17 17 2"},
		"?limit=5&page=3":                  {rows(11, 15), "5 3 17 4 4"},
		"?limit=5&page=4":                  {rows(16, 17), "5 4 17 4 null"},
		"?limit=5&page=5":                  {"", "5 5 17 4 null"},
		"?limit=5&offset=0":                {rows(1, 5), "5 1 17 4 2"},
		"?limit=5&offset=7":                {rows(8, 12), "5 2 17 4 3"},
		"?limit=5&offset=12":               {rows(13, 17), "5 3 17 4 null"},
		"?limit=5&offset=5&page=1":         {rows(6, 10), "5 1 17 4 2"},
		"?limit=5&offset=7&page=9":         {rows(8, 12), "5 9 17 4 10"},
		"?limit=5&offset=99":               {"", "5 20 17 4 null"},
		"?limit=2&offset=9007199254740991": {"", "2 4503599627370496 17 9 null"},
		"?limit=1&page=9007199254740991":   {"", "1 9007199254740991 17 17 null"},
		"?limit=1&page=9007199254740991&offset=0": {"01", "1 9007199254740991 17 17 null"},
		"?search=1&limit=2":                       {"01 10", "2 1 9 5 2"},
		"?search=none":                            {"", "100 1 0 0 null"},
		"?search=none&limit=5&page=2":             {"", "5 2 0 0 null"},
		"?search=%25":                             {"", "100 1 0 0 null"},
	} {
		r := x.Get("/people" + query).Want(200)

		foot := strings.Join([]string{r.String("pagination.limit"), r.String("pagination.page"), r.String("pagination.total"), r.String("pagination.totalPage"), r.String("pagination.nextPage")}, " ")
		if names(r) != c.names || foot != c.foot {
			t.Errorf("%s: %q, %s; want %q, %s", query, names(r), foot, c.names, c.foot)
		}
	}
}

// Proves: PAG-08, PAG-09, PAG-11, PAG-12, PAG-13, PAG-14, PAG-19, PAG-27, LIM-05, LIM-06.
func TestBadPagesAreRefused(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for query, path := range map[string]string{
		"limit=0": "limit", "limit=251": "limit", "limit=-1": "limit", "limit=1.5": "limit", "page=0": "page", "page=-1": "page", "page=1.5": "page", "page=9007199254740993": "page",
		"page=9007199254740991&limit=250": "page", "page=9007199254740991": "page", "page=9007199254740991&limit=2": "page", "offset=-1": "offset", "offset=0.5": "offset", "offset=9007199254740993": "offset", "offset=9007199254740991&limit=1": "offset",
		"sort=phone": "sort", "sort=name_desc": "sort", "sort=--name": "sort",
	} {
		r := x.Get("/people?"+query).WantError(apierr.CodeBadRequest, "")
		if r.String("issues.0.path.0") != path || r.Len("issues") != 1 {
			t.Errorf("%s: %s", query, r.Body)
		}
	}

	x.Get("/people?limit=250").Want(200)
	x.Get("/people?limit=1").Want(200)
}

// Proves: LIM-04.
func TestAHundredRowsByDefault(t *testing.T) {
	t.Parallel()

	x := newTeam(t, slices.Repeat([]string{"same"}, 101)...)
	if r := x.Get("/people").Want(200); r.Len("data") != 100 || r.Int("pagination.total") != 101 || r.Int("pagination.nextPage") != 2 {
		t.Errorf("%d rows, %v", r.Len("data"), r.Value("pagination"))
	}
}

// Proves: PAG-20, PAG-21, PAG-22, PAG-23.
func TestSorting(t *testing.T) {
	t.Parallel()

	x := newTeam(t, "b:zoe@x", "A:Yan@x", "C", "a2:abe@x", "B2")
	for sort, want := range map[string]string{"name": "A a2 b B2 C", "-name": "C B2 b a2 A", "email": "a2 A b C B2", "-email": "b A a2 B2 C"} {
		if got := names(x.Get("/people?sort=" + sort).Want(200)); got != want {
			t.Errorf("%s: %s, want %s", sort, got, want)
		}
	}
}

// Proves: PAG-24.
func TestEqualRowsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	x := newTeam(t, slices.Repeat([]string{"same", "SAME"}, 15)...)

	for _, sort := range []string{"name", "-name", "email", "-email", "createdAt", "-createdAt"} {
		var seen []string

		for n := 1; n <= 10; n++ {
			r := x.Get(fmt.Sprintf("/people?limit=3&page=%d&sort=%s", n, sort)).Want(200)
			for i := range r.Len("data") {
				seen = append(seen, r.String(fmt.Sprintf("data.%d.id", i)))
			}
		}

		ordered := slices.Clone(seen)
		slices.Sort(ordered)

		if strings.HasPrefix(sort, "-") {
			slices.Reverse(ordered)
		}

		if len(slices.Compact(slices.Sorted(slices.Values(seen)))) != 30 || !slices.Equal(seen, ordered) {
			t.Errorf("%s: rows are lost, repeated or not in the order of their ids: %v", sort, seen)
		}
	}
}

func TestOrderTakesNothingFromTheRequest(t *testing.T) {
	t.Parallel()

	q := page.Query{Default: "-at", ID: "x.id", Sorts: page.Sorts{{Name: "at", Expr: "x.at"}, {Name: "name", Expr: "x.name", Text: true, Nullable: true}}}
	for sort, want := range map[string]string{
		"": "x.at desc, x.id desc", "at": "x.at, x.id", "-name": `x.name collate "case_insensitive" desc nulls last, x.id desc`, "name": `x.name collate "case_insensitive" nulls last, x.id`,
		"x.at; drop table team": "x.at desc, x.id desc", "--at": "x.at desc, x.id desc", "-": "x.at desc, x.id desc",
	} {
		if got := q.Order(sort); got != want {
			t.Errorf("%q: %s, want %s", sort, got, want)
		}
	}
}

// Search compares texts after NFKC, case folding and removal of combining marks. Decided on 2026-11-25.
func TestSearchFoldsTexts(t *testing.T) {
	t.Parallel()

	x := newTeam(t)
	for _, test := range []struct {
		name           string
		finds, ignores []string
	}{
		{"ÖZIL", []string{"özil", "ozil", "o\u0308zil", "OZ", "ÖZİL"}, []string{"özal"}},
		{"O\u0308zil", []string{"özil", "ozil", "ÖZIL"}, nil},
		{"Straße", []string{"STRASSE", "straße", "STRAẞE", "ſtrasse"}, []string{"strase"}},
		{"STRASSE", []string{"straße", "STRAẞE"}, nil},
		{"İstanbul", []string{"istanbul", "ISTANBUL", "i\u0307stanbul", "İSTANBUL"}, nil},
		{"Isparta", []string{"ısparta", "isparta"}, nil},
		{"ﬁlm", []string{"FILM", "ﬁlm", "film", "ﬁ"}, nil},
		{"Å", []string{"\u212b", "a\u030a", "a", "å"}, []string{"ø", "æ"}},
		{"Ｖｉｌｌａ１２", []string{"villa12", "VILLA"}, nil},
		{"ΟΔΟΣ ΑΒ", []string{"οδος", "οδοσ", "ὁδός", "οδός αβ"}, nil},
		{"οδός", []string{"ΟΔΟΣ", "οδοσ"}, nil},
		{"각", []string{"각", "\u1100\u1161\u11a8"}, []string{"가", "간"}},
		{"ガラス", []string{"ガラス", "ｶﾞﾗｽ"}, []string{"カラス"}},
		{"กิน", []string{"กิน"}, []string{"กน"}},
		{"Žižkov", []string{"zizkov", "ŽIŽKOV"}, nil},
		{"Nguyễn", []string{"nguyen", "NGUYỄN"}, nil},
		{"שָׁלוֹם", []string{"שלום"}, nil},
		{`50%_\`, []string{`%`, `_`, `\`, `50%_\`, "％"}, []string{`5_%`, `\\`, "0%%"}},
		{"plain", []string{"LAIN", "p"}, []string{"\u0308", "plains"}},
	} {
		x.Exec(`delete from contact where team_id = @team`, nil)
		addPeople(x, test.name)

		for isFound, want := range map[bool][]string{true: test.finds, false: test.ignores} {
			for _, search := range want {
				r := x.Get("/people?search=" + url.QueryEscape(search)).Want(200)
				if found := r.Len("data") == 1; found != isFound {
					t.Errorf("%q finds %q: %t, want %t", search, test.name, found, isFound)
				}
			}
		}
	}
}

// Go and the database order texts alike, so that reports that sort in Go have the order of lists. Decided on
// 2026-11-25.
func TestGoOrdersTextsAsTheDatabaseDoes(t *testing.T) {
	t.Parallel()

	texts := strings.Fields("Zebra ozan Özan ÖZAN o\u0308zil özil Ozil a-b ab a_b a.b A-B 1000 1000-1 10001 #1 é E e e\u0301 Éa ea straße strasse STRASSE " +
		"strassf ø o p æ ae af İz ız iz Iz ь я А б Ά α ω 각 가 나 漢 あ ア ｱ ① 1 2 ½ € $ (a) [a] 'a \"a ’a – — - ﬁ fi fj Å å ä z ž Ž 😀 😁 ñ n nz ŋ đ d ｚ " +
		"ł l m ث א ก ij ĳ Ｚa zb")
	texts = append(texts, "a b", "A B", "1000 1", "")

	x := newTeam(t)

	var want []string

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		want, err = db.Select[string](ctx, tx, `select t from unnest(@texts::text[]) t order by `+page.TextSQL("t")+`, t collate "C"`, db.Args{"texts": texts})
		return err
	})

	got := slices.Clone(texts)
	slices.SortFunc(got, func(a, b string) int { return cmp.Or(plain.Compare(a, b), strings.Compare(a, b)) })

	if !slices.Equal(got, want) {
		t.Errorf("Go orders\n%q, the database\n%q", got, want)
	}

	if z, o := slices.Index(got, "Zebra"), slices.Index(got, "Özan"); z < o {
		t.Error("Zebra is before Özan")
	}
}
