package api_test

import (
	"testing"

	"stayledger/platform/api"
)

func TestAnswersHoldNoUnsafeNumber(t *testing.T) {
	t.Parallel()

	for body, unsafe := range map[string]bool{
		`{}`:                                 false,
		`{"n":9007199254740991}`:             false,
		`{"n":-9007199254740991}`:            false,
		`{"n":9007199254740992}`:             true,
		`[1,-9007199254740992]`:              true,
		`{"n":10000000000000000}`:            true,
		`9223372036854775807`:                true,
		`{"n":"9007199254740992"}`:           false,
		`{"9007199254740992":1}`:             false,
		`{"n":"\"9007199254740992"}`:         false,
		`{"n":"\\","m":9007199254740992}`:    true,
		`{"n":0.12345678901234567890}`:       false,
		`{"n":12.3,"m":9007199254740992}`:    true,
		`{"n":1.5e+21,"m":9007199254740991}`: false,
	} {
		if got := api.UnsafeNumber([]byte(body)); got != unsafe {
			t.Errorf("%s: %t", body, got)
		}
	}
}
