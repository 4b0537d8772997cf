package fee_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/fee"
	"stayledger/platform/money"
)

func lines(name string) money.Cents {
	return map[string]money.Cents{"rent": 100_000, "cleaningFee": 15_000, "discount": 5_000, "merchantFee": 3_796, "Pet fee": 2_500}[name]
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
		"nothing":                          0,
		"((rent))":                         100_000,
		"100% * rent":                      100_000,
		"-20% * rent + 20% * rent + rent":  100_000,
		"12.345% * merchantFee - 0*rent":   469,
	} {
		f, err := fee.ParseFormula(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := f.Value(lines); got != want {
			t.Errorf("%q = %d, want %d", text, got, want)
		}
	}
	if got := (fee.Formula{}).Value(lines); got != 0 {
		t.Errorf("the empty formula is worth %d", got)
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
		if got := f.Value(func(name string) money.Cents { return amounts[name] }); got != want {
			r.Fatalf("%q = %d, want %d", text, got, want)
		}
	})
}

func FuzzParseFormula(f *testing.F) {
	for _, seed := range []string{"rent", "20% * (rent - discount)", `"Pet fee"*0.5`, "-1 * a + b_2", "((((", "1.", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := fee.ParseFormula(text)
		var wrong *fee.FormulaError
		switch {
		case err == nil:
			if len(parsed.Names()) == 0 {
				t.Errorf("%q names nothing", text)
			}
			parsed.Value(lines)
		case !errors.As(err, &wrong):
			t.Errorf("%q: %v has no position", text, err)
		case wrong.Position < 1 || wrong.Position > len(text)+1:
			t.Errorf("%q: position %d is outside the text", text, wrong.Position)
		}
	})
}
