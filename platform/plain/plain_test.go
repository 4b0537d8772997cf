package plain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/platform/plain"
)

func Example() {
	fmt.Println(plain.Text("  ＡＩＲＢＮＢ \t Straße "))
	fmt.Println(plain.Words("Payout: HM-42/Müller"))
	// Output:
	// airbnb strasse
	// [payout hm 42 müller]
}

func TestText(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"":                     "",
		" \t\n":                "",
		"ACH  Credit\r\nVRBO ": "ach credit vrbo",
		"a\u00a0\u2003b":       "a b",
		"Cafe\u0301":           "café",
		"ﬁne №":                "fine no",
		"ΣΊΣΥΦΟΣ":              "σίσυφοσ",
		"a\xffb":               "a\ufffdb",
		"x\x00Y":               "x\x00y",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]string{
		"":                    nil,
		" -/.":                nil,
		"BOOKING.COM B.V.":    {"booking", "com", "b", "v"},
		"ID:HMABC1,NO.7ID 8 ": {"id", "hmabc1", "no", "7id", "8"},
		"हिन्दी x":            {"हिन्दी", "x"},
	} {
		if got := plain.Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestPropertyFoldingIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune(" \taZé\u0301ß\u0345ǅΐﬃ\u212a\u00a0ΣςıİÅ")), 0, 12, -1)).Draw(t, "text")

		folded := plain.Text(s)
		if again := plain.Text(folded); again != folded {
			t.Fatalf("%q folds to %q, and that to %q", s, folded, again)
		}

		if folded != strings.Join(strings.Fields(folded), " ") {
			t.Fatalf("%q has loose white space", folded)
		}

		if len(s) == len([]rune(s)) && folded != strings.Join(strings.Fields(strings.ToLower(s)), " ") {
			t.Fatalf("%q folds to %q", s, folded)
		}
	})
}
