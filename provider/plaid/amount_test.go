package plaid_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/platform/money"
	"stayledger/provider/plaid"
	"stayledger/provider/sandbox/bankfeed"
)

// Amounts are exact in their currency; what has more digits is rounded half away from zero and says so. The sign is the
// other way around.
func TestAmounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.link(harbor)
	eur, jpy, kwd, btc, xau := "EUR", "JPY", "KWD", "BTC", "XAU"

	cases := []struct {
		amount     json.Number
		iso, other *string
		want       money.Cents
		currency   money.Currency
		unofficial string
		rounded    bool
	}{
		{"12.34", nil, nil, -1234, "usd", "", false},
		{"-12.3", nil, nil, 1230, "usd", "", false},
		{"0.1", nil, nil, -10, "usd", "", false},
		{"-0", nil, nil, 0, "usd", "", false},
		{"0.005", nil, nil, -1, "usd", "", true},
		{"-0.005", nil, nil, 1, "usd", "", true},
		{"0.0049", nil, nil, 0, "usd", "", true},
		{"12.340", nil, nil, -1234, "usd", "", false},
		{"12.3400000000000001", nil, nil, -1234, "usd", "", true},
		{"1.2e3", nil, nil, -120000, "usd", "", false},
		{"125e-3", nil, nil, -13, "usd", "", true},
		{"90071992547409.91", nil, nil, -9007199254740991, "usd", "", false},
		{"12.5", &eur, nil, -1250, "eur", "", false},
		{"500", &jpy, nil, -500, "jpy", "", false},
		{"500.5", &jpy, nil, -501, "jpy", "", true},
		{"1.234", &kwd, nil, -1234, "kwd", "", false},
		{"1.5", nil, &btc, -150, "", "BTC", false},
		{"1.5", &xau, nil, -150, "", "XAU", false},
	}
	for _, c := range cases {
		w.mustAdd(l, bankfeed.Transaction{Amount: c.amount, Currency: c.iso, Unofficial: c.other})
	}

	got := w.mustSync(l, "")
	for i, c := range cases {
		if r := got.added[i]; r.Amount != c.want || r.Currency != c.currency || r.Unofficial != c.unofficial || r.Rounded != c.rounded {
			t.Errorf("%s: %+v, want %+v", c.amount, r, c)
		}
	}
}

// Whatever the digits are, the amount is that of exact arithmetic.
func TestPropertyAmounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign"), rapid.Int64Range(0, 1e14).Draw(t, "whole"))
		if fraction := rapid.StringMatching(`[0-9]{0,6}`).Draw(t, "fraction"); fraction != "" {
			text += "." + fraction
		}

		if exponent := rapid.IntRange(-8, 3).Draw(t, "exponent"); exponent != 0 {
			text += "e" + strconv.Itoa(exponent)
		}

		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}

		cents := new(big.Rat).Mul(exact, big.NewRat(-100, 1))
		want, err := strconv.ParseInt(cents.FloatString(0), 10, 64) // which rounds half away from zero

		p := plaid.ReadPage(`{"added":[` + wireRow("t", `"amount":`+text) + `]}`)
		if err != nil || !money.Cents(want).Valid() {
			if len(p.Unreadable) != 1 {
				t.Fatalf("%s passes for %+v", text, p)
			}

			return
		}

		if len(p.Added) != 1 || int64(p.Added[0].Amount) != want || p.Added[0].Rounded == cents.IsInt() {
			t.Fatalf("%s is %+v, want %d, rounded %t", text, p, want, !cents.IsInt())
		}
	})
}

func TestRowsOfAPageAreReadAtOnceOrOneByOne(t *testing.T) {
	t.Parallel()

	rows := make([]string, 500)
	for i := range rows {
		rows[i] = wireRow("t"+strconv.Itoa(i), `"amount":1`)
	}

	for bad, want := range map[string]int{"": 500, wireRow("bad", `"amount":1,"pending":"no"`): 500} {
		list := strings.Join(rows, ",")
		if bad != "" {
			list += "," + bad
		}

		client := scripted(t, http.StatusOK, `{"added":[`+list+`],"next_cursor":"c","has_more":false,"request_id":"r"}`)

		p, err := client.TransactionsPage(t.Context(), "a", "", 0)
		if err != nil || len(p.Added) != want || (len(p.Unreadable) == 0) != (bad == "") {
			t.Errorf("%d rows, %+v, %v", len(p.Added), p.Unreadable, err)
		}
	}
}
