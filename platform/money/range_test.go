package money_test

import (
	"testing"

	"stayledger/platform/money"
)

func TestRanges(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"100": "100", "100...100": "100", "-5...7": "-5...7", "1,2...3,-4": "1,2...3,-4", "9...99999999999": "9...99999999999",
		"-9007199254740991...9007199254740991": "-9007199254740991...9007199254740991", "0,1,2,3,4,5,6,7,8,9": "0,1,2,3,4,5,6,7,8,9",
		"": "refused", "2...1": "refused", "1,": "refused", "1...": "refused", "...1": "refused", "1.5": "refused", "1...2...3": "refused", "+1": "refused",
		"9007199254740992": "refused", "0,1,2,3,4,5,6,7,8,9,10": "refused",
	} {
		var r money.Ranges

		got := "refused"

		if err := r.UnmarshalText([]byte(text)); err == nil {
			written, _ := r.MarshalText()
			got = string(written)
		}

		if got != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
}
