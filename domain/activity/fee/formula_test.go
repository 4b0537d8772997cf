package fee_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/fee"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

func lines(name string) money.Cents {
	return map[string]money.Cents{"rent": 100_000, "cleaningFee": 15_000, "discount": 5_000, "merchantFee": 3_796, "Pet fee": 2_500}[name]
}

var named = fee.Values{
	Line:    lines,
	Fee:     func(v id.ID) money.Cents { return map[id.ID]money.Cents{numbered(1): 7_000}[v] },
	Account: func(v id.ID) money.Cents { return map[id.ID]money.Cents{numbered(2): 500}[v] },
}

func TestFormulaValue(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]money.Cents{
		"rent":                             100_000,
		" rent + cleaningFee - discount ":  110_000,
		"20% * rent":                       20_000,
		"rent*0.2":                         20_000,
		"0.2 * rent + 50 % * cleaningFee":  27_500,
		"15.5% * (rent + cleaningFee)":     17_825,
		"-discount":                        -5_000,
		"rent - (cleaningFee - discount)":  90_000,
		"rent - (20% * (rent + discount))": 79_000,
		`"Pet fee" + merchantFee`:          6_296,
		"33.333% * cleaningFee":            5_000,
		"0.00001 * rent":                   1,
		"9.09% * rent":                     9_090,
		"nothing":                          0,
		"((rent))":                         100_000,
		"100% * rent":                      100_000,
		"-20% * rent + 20% * rent + rent":  100_000,
		"12.345% * merchantFee - 0*rent":   469,
		`10% * fee("Clean\"ing\\")`:        700,
		`fee ( "Clean\"ing\\" ) + rent`:    107_000,
		`account("4000") * 0.5`:            250,
		`fee("Other") + account("Other")`:  0,
		"fee + account":                    0,
	} {
		f, err := fee.ParseFormula(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}

		f.Bind([]fee.Reference{{Kind: fee.RefFee, Name: `Clean"ing\`, ID: numbered(1)}, {Kind: fee.RefAccount, Name: "4000", ID: numbered(2)}})

		if got := f.Value(named); got != want {
			t.Errorf("%q = %d, want %d", text, got, want)
		}
	}

	if got := (fee.Formula{}).Value(fee.Values{Line: lines}); got != 0 {
		t.Errorf("the empty formula is worth %d", got)
	}
}

// Parentheses may stand nineteen deep, so that a formula of nothing but parentheses takes no more of the stack than
// another.
func TestFormulaDepth(t *testing.T) {
	t.Parallel()

	nested := func(deep int) string { return strings.Repeat("(", deep) + "rent" + strings.Repeat(")", deep) }
	if _, err := fee.ParseFormula(nested(19)); err != nil {
		t.Errorf("19 deep: %v", err)
	}

	if _, err := fee.ParseFormula(nested(20)); err == nil {
		t.Error("20 deep: accepted")
	}
}

func TestFormulaErrorsSayWhere(t *testing.T) {
	t.Parallel()

	for text, position := range map[string]int{
		"":                1,
		"   ":             4,
		"rent +":          7,
		"rent cleaning":   6,
		"20%":             4,
		"20% rent":        5,
		"20% * ":          7,
		"rent * rent":     8,
		"rent * 0.2 * 2":  12,
		"(rent":           6,
		"rent)":           5,
		"1.2.3 * rent":    1,
		"1. * rent":       1,
		"0.123456 * rent": 1,
		"1.2345% * rent":  1,
		"9999999 * rent":  1,
		`rent + "pet`:     8,
		`""`:              1,
		"é":               1,
		`"é" ?`:           5,
		"rent / 2":        6,
		"--rent":          2,
		"fee(":            5,
		"fee(rent)":       5,
		`fee("")`:         5,
		`fee("a`:          5,
		`fee("a"`:         8,
		`fee("a" rent`:    9,
		`account("a\")`:   9,
		`rent("a")`:       5,
	} {
		_, err := fee.ParseFormula(text)

		var wrong *fee.FormulaError
		if !errors.As(err, &wrong) {
			t.Errorf("%q is accepted", text)
			continue
		}

		if wrong.Position != position {
			t.Errorf("%q: position %d (%s), want %d", text, wrong.Position, wrong.Message, position)
		}
	}
}

func TestFormulaIsLinearInWholeTerms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		amounts := map[string]money.Cents{}

		names := []string{"rent", "cleaningFee", "guestFee", "tax"}
		for _, name := range names {
			amounts[name] = money.Cents(rapid.Int64Range(-1e9, 1e9).Draw(r, name))
		}

		text, want := "", money.Cents(0)

		for i := range rapid.IntRange(1, 8).Draw(r, "terms") {
			name := rapid.SampledFrom(names).Draw(r, "name")

			negative := rapid.Bool().Draw(r, "negative")
			switch {
			case negative:
				text += " - " + name
				want -= amounts[name]
			case i == 0:
				text += name
				want += amounts[name]
			default:
				text += "+" + name
				want += amounts[name]
			}
		}

		f, err := fee.ParseFormula(text)
		if err != nil {
			r.Fatal(err)
		}

		if got := f.Value(fee.Values{Line: func(name string) money.Cents { return amounts[name] }}); got != want {
			r.Fatalf("%q = %d, want %d", text, got, want)
		}
	})
}

func TestFormulaText(t *testing.T) {
	t.Parallel()

	const text = `20% *fee("A") - "Pet fee" + account("1") + fee( "A") + fee("B")`

	f, err := fee.ParseFormula(text)
	if err != nil {
		t.Fatal(err)
	}

	if f.Text() != text {
		t.Errorf("unbound it is %s", f.Text())
	}

	f.Bind([]fee.Reference{
		{Kind: fee.RefFee, Name: "A", ID: numbered(1), Current: "B"},
		{Kind: fee.RefFee, Name: "B", ID: numbered(2), Current: `"A"`},
		{Kind: fee.RefAccount, Name: "1", ID: numbered(3), Current: "1"},
		{Kind: fee.RefAccount, Name: "A", ID: numbered(4), Current: "2"},
	})

	if want := `20% *fee("B") - "Pet fee" + account("1") + fee( "B") + fee("\"A\"")`; f.Text() != want {
		t.Errorf("got %s, want %s", f.Text(), want)
	}

	if got := f.References(); len(got) != 3 || got[0].ID != numbered(1) || got[1].ID != numbered(3) || got[2].ID != numbered(2) {
		t.Errorf("%+v", got)
	}
}

// Whatever a formula refers to is called, its text with the new names reads as the same formula.
func TestFormulaTextSurvivesRenaming(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringN(1, 30, 200).Draw(r, "name")

		f, err := fee.ParseFormula(`rent - 10% * fee("A") + account("A")`)
		if err != nil {
			r.Fatal(err)
		}

		f.Bind([]fee.Reference{
			{Kind: fee.RefFee, Name: "A", ID: numbered(1), Current: name}, {Kind: fee.RefAccount, Name: "A", ID: numbered(2), Current: name + "2"},
		})

		again, err := fee.ParseFormula(f.Text())
		if err != nil {
			r.Fatalf("%s: %v", f.Text(), err)
		}

		if got := again.References(); len(got) != 2 || got[0].Name != name || got[1].Name != name+"2" {
			r.Fatalf("%s means %+v", f.Text(), got)
		}

		again.Bind([]fee.Reference{{Kind: fee.RefFee, Name: name, ID: numbered(1)}, {Kind: fee.RefAccount, Name: name + "2", ID: numbered(2)}})

		if again.Value(named) != f.Value(named) || f.Value(named) != 99_800 {
			r.Fatalf("%d and %d", again.Value(named), f.Value(named))
		}
	})
}

func FuzzParseFormula(f *testing.F) {
	for _, seed := range []string{
		"rent", "20% * (rent - discount)", `"Pet fee"*0.5`, "-1 * a + b_2", "((((", "1.", "é", `fee("Clean") - account ( "4000" )`, `fee("\"")`, `fee("`, `"\`,
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := fee.ParseFormula(text)

		var wrong *fee.FormulaError
		switch {
		case err == nil:
			if len(parsed.Names())+len(parsed.References()) == 0 {
				t.Errorf("%q names nothing", text)
			}

			if parsed.Text() != text {
				t.Errorf("%q reads as %q", text, parsed.Text())
			}

			known := parsed.References()
			for i := range known {
				known[i].ID, known[i].Current = numbered(1), known[i].Name+`\"`
			}

			parsed.Bind(known)

			again, err := fee.ParseFormula(parsed.Text())
			if err != nil {
				t.Fatalf("%q renamed: %v", parsed.Text(), err)
			}

			for i := range known {
				known[i].Name = known[i].Current
			}

			if again.Bind(known); again.Value(named) != parsed.Value(named) {
				t.Errorf("%q is worth %d, renamed %d", text, parsed.Value(named), again.Value(named))
			}
		case !errors.As(err, &wrong):
			t.Errorf("%q: %v has no position", text, err)
		case wrong.Position < 1 || wrong.Position > len(text)+1:
			t.Errorf("%q: position %d is outside the text", text, wrong.Position)
		}
	})
}
