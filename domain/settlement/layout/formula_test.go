package layout_test

import (
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/fee"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// shareOf is the figure of a percentage of two amounts.
func shareOf(dividend, divisor money.Cents) *int64 {
	d := &layout.Design{NetRevenueSections: []layout.Section{section("S", column(11, "A", layout.Accounts, of(rent)), column(12, "B", layout.Accounts, of(cleaning)),
		column(13, "Share", layout.FormulaPercentage, formula("A / B", map[string]int{"A": 11, "B": 12}, nil)))}}

	return d.Render([]layout.Entry{stay(5, rent, dividend), stay(5, cleaning, divisor)}, false).Tables[0].Rows[0].Cells[2].Percent
}

func TestPercentages(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		dividend, divisor money.Cents
		want              int64
	}{
		{1, 3, 33_333},
		{2, 3, 66_667},
		{-2, 3, -66_667},
		{2, -3, -66_667},
		{-2, -3, 66_667},
		{1, 200_000, 1},
		{-1, 200_000, -1},
		{1, 200_001, 0},
		{0, 5, 0},
		{7, 1, 700_000},
		{money.MaxCents, 1, int64(money.MaxCents)},
		{-money.MaxCents, 1, -int64(money.MaxCents)},
		{money.MaxCents, money.MaxCents, 100_000},
	} {
		if got := shareOf(c.dividend, c.divisor); got == nil || *got != c.want {
			t.Errorf("%d of %d is %v, want %d", c.dividend, c.divisor, got, c.want)
		}
	}

	if got := shareOf(5, 0); got != nil {
		t.Errorf("a share of nothing is %d", *got)
	}
}

func TestPropertyPercentagesRoundHalfAwayFromZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dividend, divisor := rapid.Int64Range(-1e10, 1e10).Draw(r, "dividend"), rapid.Int64Range(-1e10, 1e10).Draw(r, "divisor")
		if divisor == 0 {
			return
		}

		exact := big.NewRat(1, 1).SetFrac(big.NewInt(dividend), big.NewInt(divisor))
		exact.Mul(exact, big.NewRat(100_000, 1))

		got := *shareOf(money.Cents(dividend), money.Cents(divisor))
		off := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(got))

		half := big.NewRat(1, 2)
		if off.Abs(off).Cmp(half) > 0 || off.Cmp(half) == 0 && new(big.Rat).SetInt64(got).Cmp(exact)*exact.Sign() < 0 {
			r.Fatalf("%d of %d is %v, got %d", dividend, divisor, exact.FloatString(3), got)
		}
	})
}

// Whatever a formula says, rendering ends, repeats and gives no share of nothing; what can be read keeps its
// meaning when everything that it names is renamed.
func FuzzFormula(f *testing.F) {
	for _, seed := range []string{
		"Rent", "Rent - 20% * (Fees + account(\"4000\"))", `column("Rent") / "Rent"`, "-Rent / Fees", "Rent / (Rent - Rent)", "a / b / c", "/", "((((", `account("`, "é / 1", "0.2 * Rent /",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []layout.ColumnType{layout.FormulaCurrency, layout.FormulaPercentage} {
			grammar := fee.Grammar{Names: fee.RefColumn, References: []fee.RefKind{fee.RefColumn, fee.RefAccount}, Quotient: kind == layout.FormulaPercentage}
			value, renamed := layout.Value{Formula: text}, layout.Value{}

			parsed, err := grammar.Parse(text)
			if err == nil {
				places := parsed.Places()
				if len(places) == 0 {
					t.Fatalf("%q names nothing", text)
				}

				for i, p := range places {
					if p.Position < 1 || i > 0 && p.Position <= places[i-1].Position {
						t.Fatalf("%q names %q at %d", text, p.Name, p.Position)
					}
				}

				value.References, renamed = rename(t, grammar, parsed)
			}

			render := func(v layout.Value) layout.Rendered {
				d := &layout.Design{NetRevenueSections: []layout.Section{section("S", column(11, "Rent", layout.Accounts, of(rent)), column(12, "Formula", kind, v))}}
				return d.Render([]layout.Entry{stay(5, rent, 10_000), stay(6, rent, 0), stay(6, fees, -77)}, false)
			}

			got := render(value)
			if got.NetRevenue != 10_000 || len(got.Tables[0].Rows) != 2 {
				t.Fatalf("%q changes the statement to %s", text, shown(got))
			}

			if again := render(value); !reflect.DeepEqual(got, again) {
				t.Fatalf("%q gives %s and %s", text, shown(got), shown(again))
			}

			if err == nil && !reflect.DeepEqual(got, render(renamed)) {
				t.Fatalf("%q gives %s, as %q %s", text, shown(got), renamed.Formula, shown(render(renamed)))
			}
		}
	})
}

// rename makes all columns of a formula the first and all accounts the fees, and gives the references as they are and
// the formula renamed.
func rename(t *testing.T, grammar fee.Grammar, f fee.Formula) ([]layout.Reference, layout.Value) {
	t.Helper()

	whole, known := f.Text(), f.References()

	var before, after []layout.Reference

	for i := range known {
		r := &known[i]
		r.ID, r.Current = map[fee.RefKind]id.ID{fee.RefColumn: numbered(11), fee.RefAccount: fees}[r.Kind], r.Name+` "\`
		before = append(before, layout.Reference{Kind: r.Kind, Name: r.Name, ID: r.ID})
		after = append(after, layout.Reference{Kind: r.Kind, Name: r.Current, ID: r.ID})
	}

	f.Bind(known)

	text := f.Text()
	if _, err := grammar.Parse(text); err != nil && len(text) <= 4000 {
		t.Fatalf("renamed %q: %v", text, err)
	} else if err != nil {
		return before, layout.Value{Formula: whole, References: before} // renamed it is too long for a formula
	}

	return before, layout.Value{Formula: text, References: after}
}
