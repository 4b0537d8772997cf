package layout_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// numbered is an id for tests.
func numbered(n int) id.ID {
	var v id.ID

	v[14], v[15] = byte(n>>8), byte(n)

	return v
}

// The accounts of the tests.
var (
	rent     = numbered(4000)
	cleaning = numbered(4010)
	extras   = numbered(4020)
	fees     = numbered(5100)
	repairs  = numbered(5200)
)

func accountName(v id.ID) string {
	return map[id.ID]string{rent: "Rent", cleaning: "Cleaning", extras: "Extras", fees: "Management fees", repairs: "Repairs"}[v]
}

func date(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}

// stay is an entry of net revenue of a reservation that arrives on a day of January.
func stay(n int, account id.ID, cents money.Cents) layout.Entry {
	in := date(fmt.Sprintf("2026-01-%02d", n))
	out := in.AddDays(3)

	classification := "revenue"
	if account == fees || account == repairs {
		classification = "expense"
	}

	return layout.Entry{
		ID: numbered(n*100 + int(account[15])), Section: "netRevenue", Date: in, Description: "Stay", AccountID: account, AccountName: accountName(account),
		Classification: classification, ReservationID: new(numbered(n)), GuestName: new(fmt.Sprintf("Guest %d", n)), Confirmation: new(fmt.Sprintf("C%d", n)),
		BookingChannel: new("airbnb"), ReservationStatus: new("booked"), CheckIn: &in, CheckOut: &out, Total: cents,
	}
}

// expense is an entry of an expense transaction.
func expense(n int, account id.ID, what string, cents money.Cents) layout.Entry {
	return layout.Entry{
		ID: numbered(n*100 + 7), Section: "expenses", Date: date(fmt.Sprintf("2026-01-%02d", n)), Description: what, AccountID: account,
		AccountName: accountName(account), Classification: "expense", TransactionID: new(numbered(n + 5000)), Total: cents,
	}
}

// shown is a rendered statement as text: a line for the heads, the rows and the totals of each table.
func shown(r layout.Rendered) string {
	var b strings.Builder

	cells := func(list []layout.Cell) string {
		var out []string

		for _, c := range list {
			switch {
			case c.Text != nil:
				out = append(out, *c.Text)
			case c.Amount != nil:
				out = append(out, strconv.FormatInt(int64(*c.Amount), 10))
			case c.Percent != nil:
				out = append(out, strconv.FormatInt(*c.Percent, 10)+"%")
			default:
				out = append(out, "-")
			}
		}

		return strings.Join(out, " | ")
	}

	for _, t := range r.Tables {
		var heads []string
		for _, h := range t.Columns {
			heads = append(heads, h.Name)
		}

		fmt.Fprintf(&b, "%s: %s\n", t.Name, strings.Join(heads, " | "))

		for _, row := range t.Rows {
			fmt.Fprintf(&b, "  %s\n", cells(row.Cells))
		}

		fmt.Fprintf(&b, "  = %s (%d)\n", cells(t.Totals), t.Total)
	}

	return b.String()
}

func column(n int, name string, t layout.ColumnType, v layout.Value) layout.Column {
	return layout.Column{ID: numbered(n), Name: name, Visible: layout.VisibleAll, Type: t, Value: v}
}

func of(accounts ...id.ID) layout.Value { return layout.Value{AccountIDs: accounts} }

// formula is the value of a formula that names columns by plain names, each with its number, and accounts by code.
func formula(text string, columns map[string]int, accounts map[string]id.ID) layout.Value {
	v := layout.Value{Formula: text}
	for name, n := range columns {
		v.References = append(v.References, layout.Reference{Kind: fee.RefColumn, Name: name, ID: numbered(n)})
	}

	for code, a := range accounts {
		v.References = append(v.References, layout.Reference{Kind: fee.RefAccount, Name: code, ID: a})
	}

	return v
}

func section(name string, columns ...layout.Column) layout.Section {
	return layout.Section{ID: numbered(1), Name: name, Visible: layout.VisibleAll, Columns: columns}
}

// month is two stays, revenue without a stay, and two expenses.
func month() []layout.Entry {
	loose := stay(20, extras, 700)
	loose.ReservationID, loose.GuestName, loose.CheckIn, loose.CheckOut, loose.Description = nil, nil, nil, nil, "Grant"
	paid := stay(5, extras, -99)
	paid.Section = "payouts"

	return []layout.Entry{
		stay(9, rent, 50_000), stay(9, fees, -10_000), loose, stay(5, rent, 100_000), stay(5, cleaning, 15_000), stay(5, fees, -20_001), paid,
		expense(20, repairs, "Door", -5_000), expense(20, cleaning, "Mop", -250), expense(11, repairs, "Roof", -12_650),
	}
}

func TestTheStandardPlacesEverything(t *testing.T) {
	t.Parallel()

	r := layout.Standard().Render(month(), false)

	want := `Net revenue: Guest | Confirmation | Check-in | Check-out | Nights | Revenue | Fees | Net
  Guest 5 | C5 | 2026-01-05 | 2026-01-08 | 3 | 115000 | -20001 | 94999
  Guest 9 | C9 | 2026-01-09 | 2026-01-12 | 3 | 50000 | -10000 | 40000
  Grant | C20 | - | - | - | 700 | - | 700
  = - | - | - | - | - | 165700 | -30001 | 135699 (135699)
Expenses: Date | Description | Account | Amount
  2026-01-11 | Roof | Repairs | -12650
  2026-01-20 | Door, Mop | Repairs, Cleaning | -5250
  = - | - | - | -17900 (-17900)
`
	if got := shown(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	if r.NetRevenue != 135_699 || r.Expenses != -17_900 || len(r.Unplaced) != 0 || len(r.EmptyColumns) != 0 {
		t.Errorf("net revenue %d, expenses %d, unplaced %v, empty %v", r.NetRevenue, r.Expenses, r.Unplaced, r.EmptyColumns)
	}

	if row := r.Tables[0].Rows[0]; *row.ReservationID != numbered(5) || row.TransactionID != nil || len(row.EntryIDs) != 3 {
		t.Errorf("the first row is of %v, %v and %v", row.ReservationID, row.TransactionID, row.EntryIDs)
	}

	if row := r.Tables[1].Rows[0]; row.ReservationID != nil || *row.TransactionID != numbered(5011) {
		t.Errorf("the first expense is of %v", row.TransactionID)
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()

	entries := []layout.Entry{
		stay(5, rent, 100_000), stay(5, cleaning, 15_000), stay(5, fees, -20_000), stay(9, rent, 30_000), stay(9, fees, -6_001),
	}
	rests := layout.Value{AccountIDs: []id.ID{}, Rest: true}
	revenue := layout.Value{AccountIDs: []id.ID{}, Rest: true, Classifications: []account.Classification{account.Revenue}}

	refs := map[string]int{"Rent": 11, "Fees": 12, "Half": 13}
	for name, c := range map[string]struct {
		columns []layout.Column
		want    string
	}{
		"accounts and the rest of them": {
			[]layout.Column{column(11, "Rent", layout.Accounts, of(rent)), column(12, "Other", layout.Accounts, revenue), column(13, "Fees", layout.Accounts, rests)},
			"100000 | 15000 | -20000; 30000 | - | -6001; = 130000 | 15000 | -26001 (118999)",
		},
		"a rest with an account of its own": {
			[]layout.Column{column(11, "All", layout.Accounts, layout.Value{AccountIDs: []id.ID{rent}, Rest: true}), column(12, "Cleaning", layout.Accounts, of(cleaning))},
			"80000 | 15000; 23999 | -; = 103999 | 15000 (118999)",
		},
		"a subtotal of what comes before it": {
			[]layout.Column{
				column(11, "Rent", layout.Accounts, of(rent)), column(14, "So far", layout.SubTotal, layout.Value{}),
				column(12, "Fees", layout.Accounts, of(fees)), column(13, "Same", layout.FormulaCurrency, formula("Rent", refs, nil)),
				column(15, "Net", layout.SubTotal, layout.Value{}),
			},
			"100000 | 100000 | -20000 | 100000 | 80000; 30000 | 30000 | -6001 | 30000 | 23999; = 130000 | 130000 | -26001 | 130000 | 103999 (103999)",
		},
		"a subtotal of columns that follow, of subtotals and of formulas": {
			[]layout.Column{
				column(15, "Both", layout.SubTotal, layout.Value{ColumnIDs: []id.ID{numbered(16), numbered(13)}}),
				column(16, "Sub", layout.SubTotal, layout.Value{ColumnIDs: []id.ID{numbered(11), numbered(12)}}),
				column(11, "Rent", layout.Accounts, of(rent)), column(12, "Fees", layout.Accounts, of(fees)),
				column(13, "Half", layout.FormulaCurrency, formula("50% * Rent", refs, nil)),
			},
			"130000 | 80000 | 100000 | -20000 | 50000; 38999 | 23999 | 30000 | -6001 | 15000; = 168999 | 103999 | 130000 | -26001 | 65000 (103999)",
		},
		"formulas of columns, formulas and accounts": {
			[]layout.Column{
				column(14, "Back", layout.FormulaCurrency, formula(`Half - column("Rent") + account("5100") + account("4010")`, refs, map[string]id.ID{"5100": fees, "4010": cleaning})),
				column(13, "Half", layout.FormulaCurrency, formula("50% * Rent", refs, nil)), column(11, "Rent", layout.Accounts, of(rent)),
			},
			"-55000 | 50000 | 100000; -21001 | 15000 | 30000; = -76001 | 65000 | 130000 (130000)",
		},
		"percentages": {
			[]layout.Column{
				column(11, "Rent", layout.Accounts, of(rent)), column(12, "Fees", layout.Accounts, of(fees)),
				column(14, "Share", layout.FormulaPercentage, formula(`-Fees / Rent`, refs, nil)),
				column(15, "Cleaned", layout.FormulaPercentage, formula(`Rent / account("4010")`, refs, map[string]id.ID{"4010": cleaning})),
			},
			"100000 | -20000 | 20000% | 666667%; 30000 | -6001 | 20003% | -; = 130000 | -26001 | 20001% | 866667% (103999)",
		},
		"an account that nobody lists is left out": {
			[]layout.Column{column(11, "Cleaning", layout.Accounts, of(cleaning)), column(12, "None", layout.Accounts, of())},
			"15000 | -; = 15000 | 0 (15000)",
		},
		"an account in two columns counts once": {
			[]layout.Column{
				column(11, "Rent", layout.Accounts, of(rent)), column(12, "Again", layout.Accounts, of(rent, cleaning)), column(13, "Net", layout.SubTotal, layout.Value{}),
			},
			"100000 | 115000 | 115000; 30000 | 30000 | 30000; = 130000 | 145000 | 145000 (145000)",
		},
	} {
		d := &layout.Design{NetRevenueSections: []layout.Section{section("S", c.columns...)}}
		_, got, _ := strings.Cut(shown(d.Render(entries, false)), "\n")

		got = strings.ReplaceAll(strings.TrimSpace(got), "\n  ", "; ")
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()

	var columns []layout.Column
	for i, f := range layout.FieldName("").Enum() {
		columns = append(columns, column(10+i, f, layout.Field, layout.Value{Field: layout.FieldName(f)}))
	}

	columns = append(columns, column(30, "All", layout.Accounts, layout.Value{Rest: true}))
	d := &layout.Design{NetRevenueSections: []layout.Section{section("S", columns...)}, OtherSections: []layout.Section{section("O", columns...)}}
	second := stay(5, cleaning, 50)
	second.Date, second.Description, second.AccountCode = date("2026-01-03"), "Clean", "4010"
	got := shown(d.Render([]layout.Entry{stay(5, rent, 100), second, expense(7, repairs, "Roof", -9)}, true))

	want := `S: ` + strings.Join(append(layout.FieldName("").Enum(), "All"), " | ") + `
  2026-01-03 | Stay, Clean | Guest 5 | C5 | 2026-01-05 | 2026-01-08 | 3 | airbnb | booked | Rent, Cleaning | 4010 | 150
  = ` + strings.Repeat("- | ", 11) + `150 (150)
O: ` + strings.Join(append(layout.FieldName("").Enum(), "All"), " | ") + `
  2026-01-07 | Roof | Roof | - | - | - | - | - | - | Repairs | - | -9
  = ` + strings.Repeat("- | ", 11) + `-9 (-9)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What has no stay is a row per transaction and description, or per date and description, whatever order it comes in.
func TestRowsWithoutAStay(t *testing.T) {
	t.Parallel()

	loose := func(day int, transaction int, what string, cents money.Cents) layout.Entry {
		e := stay(day, rent, cents)

		e.ReservationID, e.GuestName, e.CheckIn, e.CheckOut, e.Description = nil, nil, nil, nil, what
		if transaction != 0 {
			e.TransactionID = new(numbered(transaction))
		}

		return e
	}
	d := &layout.Design{NetRevenueSections: []layout.Section{section("S", column(10, "Date", layout.Field, layout.Value{Field: layout.Date}),
		column(11, "What", layout.Field, layout.Value{Field: layout.GuestName}), column(12, "All", layout.Accounts, layout.Value{Rest: true}))}}
	entries := []layout.Entry{
		loose(9, 2, "Refund", 1), loose(9, 2, "Fee", 2), loose(9, 1, "Refund", 3), loose(9, 2, "Refund", 4), loose(7, 0, "Journal", 5), loose(8, 0, "Journal", 6),
		loose(7, 0, "Journal", 7), stay(28, rent, 8),
	}

	want := `S: Date | What | All
  2026-01-28 | Guest 28 | 8
  2026-01-07 | Journal | 12
  2026-01-08 | Journal | 6
  2026-01-09 | Refund | 3
  2026-01-09 | Fee | 2
  2026-01-09 | Refund | 5
  = - | - | 36 (36)
`
	for range 2 {
		if got := shown(d.Render(entries, false)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}

		slices.Reverse(entries)
	}
}

func TestAggregateSections(t *testing.T) {
	t.Parallel()

	s := section("S", column(10, "Guest", layout.Field, layout.Value{Field: layout.GuestName}), column(11, "Rent", layout.Accounts, of(rent)),
		column(12, "Part", layout.FormulaPercentage, formula(`account("5100") / Rent`, map[string]int{"Rent": 11}, map[string]id.ID{"5100": fees})))
	s.Aggregate = true
	d := &layout.Design{NetRevenueSections: []layout.Section{s}}

	r := d.Render(month(), false)
	if got := shown(r); got != "S: Guest | Rent | Part\n  - | 150000 | -20001%\n  = - | 150000 | -20001% (150000)\n" {
		t.Errorf("got %s", got)
	}

	if row := r.Tables[0].Rows[0]; row.ReservationID != nil || row.TransactionID != nil || len(row.EntryIDs) != 2 {
		t.Errorf("the row is of %v and %v", row.ReservationID, row.EntryIDs)
	}

	if got := shown(d.Render(nil, false)); got != "S: Guest | Rent | Part\n  = - | 0 | - (0)\n" {
		t.Errorf("without entries got %s", got)
	}
}

// What is hidden counts where something visible is built on it, and shows nowhere.
func TestHiddenColumnsCount(t *testing.T) {
	t.Parallel()

	for visible, who := range map[layout.Visible][2]bool{
		layout.VisibleAll: {true, true}, layout.VisibleManager: {true, false}, layout.VisibleOwner: {false, true}, layout.VisibleNone: {false, false},
	} {
		feesColumn := column(12, "Fees", layout.Accounts, of(fees))
		feesColumn.Visible = visible
		hidden := section("Hidden", column(21, "Extras", layout.Accounts, of(extras)))
		hidden.Visible = visible

		d := &layout.Design{NetRevenueSections: []layout.Section{
			section("S", column(10, "Account", layout.Field, layout.Value{Field: layout.Account}), column(11, "Rent", layout.Accounts, of(rent)), feesColumn,
				column(13, "Net", layout.SubTotal, layout.Value{})),
			hidden,
		}}
		for i, asOwner := range []bool{false, true} {
			r := d.Render(month(), asOwner)
			if r.NetRevenue != 120_699 || r.Tables[0].Total != 119_999 || *r.Tables[0].Totals[len(r.Tables[0].Totals)-1].Amount != 119_999 {
				t.Errorf("%s changes totals to %d, %d", visible, r.NetRevenue, r.Tables[0].Total)
			}

			names := len(r.Tables[0].Columns)
			if shows := names == 4 && len(r.Tables) == 2; shows != who[i] || !shows && (names != 3 || len(r.Tables) != 1) {
				t.Errorf("%s as owner %v: %d columns, %d tables", visible, asOwner, names, len(r.Tables))
			}
		}
	}
}

// A row says nothing when all its amounts are hidden, so its texts are not shown either.
func TestHiddenEntriesAreNotTold(t *testing.T) {
	t.Parallel()

	secret := column(12, "Secret", layout.Accounts, of(fees))
	secret.Visible = layout.VisibleManager
	d := &layout.Design{NetRevenueSections: []layout.Section{
		section("S", column(10, "Account", layout.Field, layout.Value{Field: layout.Account}), column(11, "Rents", layout.Accounts, of(rent)), secret),
	}}

	entries := []layout.Entry{stay(5, rent, 100), stay(5, fees, -20), stay(6, fees, -7)}
	if got := shown(d.Render(entries, false)); got != "S: Account | Rents | Secret\n  Rent, Management fees | 100 | -20\n  Management fees | - | -7\n  = - | 100 | -27 (73)\n" {
		t.Errorf("the manager sees %s", got)
	}

	if got := shown(d.Render(entries, true)); got != "S: Account | Rents\n  Rent | 100\n  = - | 100 (73)\n" {
		t.Errorf("the owner sees %s", got)
	}

	seen := d.ForViewer(true)
	if len(seen.NetRevenueSections[0].Columns) != 2 || seen.NetRevenueSections[0].Columns[1].Value.AccountIDs != nil || seen.NetRevenueSections[0].Columns[0].Value.Field != "account" {
		t.Errorf("the owner is told %+v", seen.NetRevenueSections[0])
	}

	if len(d.ForViewer(false).NetRevenueSections[0].Columns) != 3 || len(d.NetRevenueSections[0].Columns) != 3 {
		t.Error("the manager is told less")
	}

	all := d.NetRevenueSections[0]

	all.Visible = layout.VisibleNone
	if got := (&layout.Design{NetRevenueSections: []layout.Section{all}}).ForViewer(true).NetRevenueSections; len(got) != 0 {
		t.Errorf("the owner is told %v", got)
	}
}

func TestRenderNamesWhatIsMissing(t *testing.T) {
	t.Parallel()

	empty := column(12, "Empty", layout.Accounts, of())
	empty.Visible = layout.VisibleNone
	d := &layout.Design{
		NetRevenueSections: []layout.Section{section("S", column(11, "Rent", layout.Accounts, of(rent)), empty)},
		OtherSections:      []layout.Section{section("E", column(21, "Rent", layout.Accounts, of(rent, repairs)))},
	}

	r := d.Render(month(), true)
	if !slices.Equal(r.Unplaced, []id.ID{fees, extras, cleaning}) {
		t.Errorf("unplaced are %v", r.Unplaced)
	}

	if !slices.Equal(r.EmptyColumns, []id.ID{numbered(12)}) || r.NetRevenue != 150_000 || r.Expenses != -17_650 {
		t.Errorf("empty %v, net revenue %d, expenses %d", r.EmptyColumns, r.NetRevenue, r.Expenses)
	}
}

// The heads tell the manager what a column adds up; owners have no drill-down.
func TestHeadsAreDrillDowns(t *testing.T) {
	t.Parallel()

	d := &layout.Design{NetRevenueSections: []layout.Section{section("S", column(11, "Rent", layout.Accounts, of(rent, cleaning)),
		column(12, "Rest", layout.Accounts, layout.Value{Rest: true}), column(13, "Net", layout.SubTotal, layout.Value{}))}}

	entries := []layout.Entry{stay(5, fees, -1), stay(5, extras, 2), stay(6, extras, 2)}
	for i, want := range [][]id.ID{{rent, cleaning}, {fees, extras}, {rent, cleaning, fees, extras}} {
		if got := d.Render(entries, false).Tables[0].Columns[i].AccountIDs; !slices.Equal(got, want) {
			t.Errorf("column %d adds up %v, want %v", i, got, want)
		}

		if got := d.Render(entries, true).Tables[0].Columns[i].AccountIDs; got == nil || len(got) > 0 {
			t.Errorf("column %d tells the owner %v", i, got)
		}
	}
}

// A frozen design refers to columns and accounts by id: it renders the same from its JSON, whatever anything is called
// by then.
func TestAFrozenDesignRendersAsBefore(t *testing.T) {
	t.Parallel()

	d := &layout.Design{
		Name: "Mine", Version: 3, SummaryType: "invoice", NetRevenueSections: []layout.Section{section("S",
			column(11, "Rent", layout.Accounts, of(rent)),
			column(12, "Kept", layout.FormulaPercentage, formula(`Rent + account("5100") / column("Rent")`, map[string]int{"Rent": 11}, map[string]id.ID{"5100": fees})),
			column(13, "Net", layout.SubTotal, layout.Value{ColumnIDs: []id.ID{numbered(11)}}),
		)},
		OtherSections: layout.Standard().OtherSections,
	}

	stored, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}

	var frozen layout.Design
	if err := json.Unmarshal(stored, &frozen); err != nil {
		t.Fatal(err)
	}

	entries := month()

	before := d.Render(entries, false)
	for i := range entries {
		entries[i].AccountName, entries[i].AccountCode = "Renamed", "9999"
	}

	after := frozen.Render(entries, false)

	if *before.Tables[0].Rows[0].Cells[1].Percent != 79_999 {
		t.Errorf("the percentage is %d", *before.Tables[0].Rows[0].Cells[1].Percent)
	}

	if !reflect.DeepEqual(before.Tables[0], after.Tables[0]) || before.Expenses != after.Expenses {
		t.Errorf("before\n%s\nafter\n%s", shown(before), shown(after))
	}
}

// A ring is refused when it is written; a design that has one all the same ends.
func TestARingEnds(t *testing.T) {
	t.Parallel()

	refs := map[string]int{"A": 11, "B": 12}

	d := &layout.Design{NetRevenueSections: []layout.Section{section("S",
		column(11, "A", layout.FormulaCurrency, formula("B", refs, nil)), column(12, "B", layout.SubTotal, layout.Value{ColumnIDs: []id.ID{numbered(11), numbered(13), numbered(12)}}),
		column(13, "Rent", layout.Accounts, of(rent)), column(14, "Broken", layout.FormulaCurrency, layout.Value{Formula: "(("}),
	)}}
	if got := d.Render([]layout.Entry{stay(5, rent, 5)}, false); got.NetRevenue != 5 {
		t.Errorf("got %s", shown(got))
	}
}
