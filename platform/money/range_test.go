package money_test

import (
	"fmt"
	"testing"

	"stayledger/platform/money"
)

func TestParseRanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"100":             "[100] [100] true",
		"-5...7":          "[-5] [7] true",
		"1,2...3,-4":      "[1 2 -4] [1 3 -4] true",
		"":                "[] [] false",
		"2...1":           "[] [] false",
		"1,":              "[] [] false",
		"1...":            "[] [] false",
		"1.5":             "[] [] false",
		"9...99999999999": "[9] [99999999999] true",
	} {
		lows, highs, ok := money.ParseRanges(text)
		if got := fmt.Sprint(lows, highs, ok); got != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
}
