package match_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/banking/match"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

const (
	trustBank = iota + 1
	operatingBank
)

func on(t testing.TB, date string) day.Day {
	t.Helper()

	d, err := day.Parse(date)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// record is one of the trust bank in dollars; what it is besides is set on it.
func record(t testing.TB, n int, date string, amount money.Cents, description string) match.Record {
	t.Helper()
	return match.Record{ID: seq(n), AccountID: seq(trustBank), Currency: "usd", Date: on(t, date), Amount: amount, Description: description}
}

// moved is a transaction on the trust bank in dollars. A text of the form "channel: text" names its channel first.
func moved(t testing.TB, n int, date string, amount money.Cents, text string) match.Candidate {
	t.Helper()

	channel, rest, some := strings.Cut(text, ": ")
	if !some {
		channel, rest = "", text
	}

	return match.Candidate{
		TransactionID: seq(n), AccountID: seq(trustBank), Currency: "usd", Date: on(t, date), Amount: amount, Channel: channel, Text: rest,
	}
}

// told writes an answer as the tables expect it: result, reason, the transactions of each set, what was cut.
func told(a match.Answer) string {
	text := []string{string(a.Result)}
	if a.Reason != "" {
		text = append(text, string(a.Reason))
	}

	for _, s := range a.Sets {
		numbers := make([]int, len(s.Members))
		for i, m := range s.Members {
			numbers[i] = int(m.TransactionID[14])<<8 | int(m.TransactionID[15])
		}

		text = append(text, fmt.Sprint(numbers))
	}

	if a.Contested {
		text = append(text, "contested")
	}

	if len(a.Cut) > 0 {
		text = append(text, fmt.Sprint("cut ", a.Cut))
	}

	return strings.Join(text, " ")
}

// The books of domain.md 2.4 and 2.6, and what a bank says of them.
func TestTheWorkedCases(t *testing.T) {
	t.Parallel()
	deposits := []match.Candidate{
		moved(t, 1, "2026-01-05", 62502, "Guest payment"), moved(t, 2, "2026-01-22", 62502, "Guest payment"),
	}
	// Eleven stays of a channel; the first is that of example E, one was paid before.
	nets := []money.Cents{86190, 41233, 129950, 77001, 58817, 93404, 31090, 110225, 64538, 50909, 72346}

	var (
		stays []match.Candidate
		paid  money.Cents
	)

	for i, net := range nets {
		c := moved(t, 100+i, "2026-02-03", net, "airbnb: Payout of a stay")
		c.Codes = []string{fmt.Sprintf("HM00%04d", i)}
		stays, paid = append(stays, c), paid+net
	}

	before := moved(t, 99, "2026-01-20", 45000, "airbnb: Payout of a stay")
	direct := moved(t, 98, "2026-02-03", 45001, "Guest payment")
	cheque := moved(t, 3, "2026-01-20", -10000, "Plumber")
	other := moved(t, 4, "2026-01-10", -10000, "Owner payout December")
	out, in := moved(t, 5, "2026-01-30", -35000, "Manager draw"), moved(t, 5, "2026-01-30", 35000, "Manager draw")
	in.AccountID = seq(operatingBank)
	arrived := record(t, 2, "2026-02-02", 35000, "TRANSFER")
	arrived.AccountID = seq(operatingBank)

	for name, test := range map[string]struct {
		records    []match.Record
		candidates []match.Candidate
		want       []string
	}{
		"A: two deposits of one amount, weeks apart": {
			[]match.Record{record(t, 1, "2026-01-06", 62502, "STRIPE"), record(t, 2, "2026-01-23", 62502, "STRIPE")},
			deposits,
			[]string{"unique oneToOne [1]", "unique oneToOne [2]"},
		},
		"A: gross is not what arrived": {
			[]match.Record{record(t, 1, "2026-01-06", 64400, "STRIPE")}, deposits, []string{"none"},
		},
		"E: one stay": {
			[]match.Record{record(t, 1, "2026-02-05", 86190, "AIRBNB PAYMENTS")}, stays, []string{"unique oneToOne [100]"},
		},
		"E: eleven stays in one sum": {
			[]match.Record{record(t, 1, "2026-02-05", paid, "AIRBNB PAYMENTS")},
			append([]match.Candidate{before, direct}, stays...),
			[]string{"unique set [100 101 102 103 104 105 106 107 108 109 110]"},
		},
		"E: the same with a stay deducted": {
			[]match.Record{record(t, 1, "2026-02-05", paid-12000, "AIRBNB PAYMENTS")},
			append([]match.Candidate{moved(t, 120, "2026-02-03", -12000, "airbnb: Resolution")}, stays...),
			[]string{"unique set [100 101 102 103 104 105 106 107 108 109 110 120]"},
		},
		"E: a cent less": {
			[]match.Record{record(t, 1, "2026-02-05", paid-1, "AIRBNB PAYMENTS")}, stays, []string{"none"},
		},
		"F and 2.6: a cheque and a payout of one amount": {
			[]match.Record{record(t, 1, "2026-01-12", -10000, "TRANSFER TO OWNER")}, []match.Candidate{cheque, other}, []string{"unique oneToOne [4]"},
		},
		"F and 2.6: which of them nobody can tell": {
			[]match.Record{record(t, 1, "2026-01-16", -10000, "CHECK 1001 PLUMBER")},
			[]match.Candidate{cheque, other},
			[]string{"ambiguous oneToOne [3] [4]"},
		},
		"I: a transfer on both of its legs": {
			[]match.Record{record(t, 1, "2026-01-30", -35000, "TRANSFER"), arrived},
			[]match.Candidate{out, in},
			[]string{"unique oneToOne [5]", "unique oneToOne [5]"},
		},
		"I: the other leg is no match": {
			[]match.Record{record(t, 1, "2026-01-30", 35000, "TRANSFER")}, []match.Candidate{out, in}, []string{"none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for i, a := range match.Suggest(test.records, test.candidates, match.Usual()) {
				if got := told(a); got != test.want[i] {
					t.Errorf("record %d: got %s, want %s", i+1, got, test.want[i])
				}
			}
		})
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()

	const date = "2026-03-10"

	keyed := func(n int, date string, amount money.Cents, references, codes string) match.Candidate {
		c := moved(t, n, date, amount, "booking: ")
		c.References, c.Codes = strings.Fields(references), strings.Fields(codes)

		return c
	}
	euros := moved(t, 1, date, 500, "")
	euros.Currency = "eur"
	vrbo := record(t, 1, date, 300, "")
	vrbo.Channel = " VRBO "
	referred := record(t, 1, date, 900, "CREDIT")
	referred.References = []string{"/ROC/po_7x91//"}
	split := []match.Candidate{moved(t, 1, date, 100, "vrbo: "), moved(t, 2, date, 200, "vrbo: "), moved(t, 3, date, 200, "airbnb: ")}

	for name, test := range map[string]struct {
		records    []match.Record
		candidates []match.Candidate
		bounds     func(*match.Bounds)
		want       []string
	}{
		"nothing at all":          {[]match.Record{record(t, 1, date, 500, "")}, nil, nil, []string{"none"}},
		"a record of nothing":     {[]match.Record{record(t, 1, date, 0, "")}, []match.Candidate{moved(t, 1, date, 5, ""), moved(t, 2, date, -5, "")}, nil, []string{"none"}},
		"nothing is in no set":    {[]match.Record{record(t, 1, date, 500, "")}, []match.Candidate{moved(t, 1, date, 500, ""), moved(t, 2, date, 0, "")}, nil, []string{"unique oneToOne [1]"}},
		"another currency":        {[]match.Record{record(t, 1, date, 500, "")}, []match.Candidate{euros}, nil, []string{"none"}},
		"the other sign":          {[]match.Record{record(t, 1, date, 500, "")}, []match.Candidate{moved(t, 1, date, -500, "")}, nil, []string{"none"}},
		"at the edge of the days": {[]match.Record{record(t, 1, date, 500, "")}, []match.Candidate{moved(t, 1, "2026-03-17", 500, "")}, nil, []string{"unique oneToOne [1]"}},
		"beyond the days":         {[]match.Record{record(t, 1, date, 500, "")}, []match.Candidate{moved(t, 1, "2026-03-18", 500, "")}, nil, []string{"none"}},
		"the nearest first, of equally near ones the most similar": {
			[]match.Record{record(t, 1, date, 500, "ACME PLUMBING 42")},
			[]match.Candidate{
				moved(t, 1, "2026-03-12", 500, "Acme Plumbing"), moved(t, 2, "2026-03-09", 500, "Gardener"),
				moved(t, 3, "2026-03-11", 500, "acme plumbing, bill 42"), moved(t, 4, "2026-03-09", 500, "Plumber"),
			},
			nil,
			[]string{"ambiguous oneToOne [3] [4] [2] [1]"},
		},
		"two records want one transaction": {
			[]match.Record{record(t, 1, date, 500, ""), record(t, 2, "2026-03-12", 500, "")},
			[]match.Candidate{moved(t, 1, date, 500, "")},
			nil,
			[]string{"ambiguous oneToOne [1] contested", "ambiguous oneToOne [1] contested"},
		},
		"a reference comes before the sum": {
			[]match.Record{record(t, 1, date, 900, "BOOKING.COM B.V. NO.ab-77 ID:x")},
			[]match.Candidate{keyed(1, "2026-02-20", 500, "AB-77", ""), keyed(2, "2026-02-21", 400, "ab.77", ""), keyed(3, date, 900, "", "")},
			nil,
			[]string{"unique key [1 2]"},
		},
		"a reference given apart": {
			[]match.Record{referred},
			[]match.Candidate{keyed(1, "2026-03-01", 1000, "po_7X91", ""), keyed(2, "2026-03-01", -100, "PO_7x91", "")},
			nil,
			[]string{"unique key [1 2]"},
		},
		"confirmation codes together": {
			[]match.Record{record(t, 1, date, 900, "VRBO HA-1234 AND HA-5678")},
			[]match.Candidate{keyed(1, "2026-02-20", 500, "", "HA-1234"), keyed(2, "2026-02-21", 400, "", "HA-5678"), keyed(3, date, 400, "", "HA-9999")},
			nil,
			[]string{"unique key [1 2]"},
		},
		"a code inside of a word is none": {
			[]match.Record{record(t, 1, date, 900, "XHA1234")}, []match.Candidate{keyed(1, "2026-02-20", 900, "", "HA1234")}, nil, []string{"none"},
		},
		"a key that does not sum up decides nothing": {
			[]match.Record{record(t, 1, date, 900, "AB-77")},
			[]match.Candidate{keyed(1, date, 500, "AB-77", ""), keyed(2, date, 900, "", "")},
			nil,
			[]string{"unique oneToOne [2]"},
		},
		"two keys name two explanations": {
			[]match.Record{record(t, 1, date, 900, "AB-77 HA1234")},
			[]match.Candidate{keyed(1, date, 900, "AB-77", ""), keyed(2, date, 900, "", "HA1234")},
			nil,
			[]string{"ambiguous key [1] [2]"},
		},
		"what a key takes is gone": {
			[]match.Record{record(t, 1, date, 900, "AB-77"), record(t, 2, date, 900, "")},
			[]match.Candidate{keyed(1, date, 900, "AB-77", "")},
			nil,
			[]string{"unique key [1]", "none"},
		},
		"what a pair takes is in no set": {
			[]match.Record{record(t, 1, date, 300, ""), record(t, 2, date, 200, "")}, split[:2], nil, []string{"none", "unique oneToOne [2]"},
		},
		"a set is of one channel":  {[]match.Record{record(t, 1, date, 300, "")}, split[:2], nil, []string{"unique set [1 2]"}},
		"not of two":               {[]match.Record{record(t, 1, date, 300, "")}, []match.Candidate{split[0], split[2]}, nil, []string{"none"}},
		"the channel of the bank":  {[]match.Record{vrbo}, append(split, moved(t, 4, date, 100, "airbnb: ")), nil, []string{"unique set [1 2]"}},
		"two channels fit":         {[]match.Record{record(t, 1, date, 300, "")}, append(split, moved(t, 4, date, 100, "airbnb: ")), nil, []string{"ambiguous set [1 2] [3 4]"}},
		"days of a set":            {[]match.Record{record(t, 1, date, 300, "")}, []match.Candidate{moved(t, 1, "2026-03-03", 100, ""), moved(t, 2, "2026-03-12", 200, "")}, nil, []string{"unique set [1 2]"}},
		"a set too early":          {[]match.Record{record(t, 1, date, 300, "")}, []match.Candidate{moved(t, 1, "2026-03-02", 100, ""), moved(t, 2, date, 200, "")}, nil, []string{"none"}},
		"a set too late":           {[]match.Record{record(t, 1, date, 300, "")}, []match.Candidate{moved(t, 1, "2026-03-13", 100, ""), moved(t, 2, date, 200, "")}, nil, []string{"none"}},
		"two of three equal ones":  {[]match.Record{record(t, 1, date, 200, "")}, []match.Candidate{moved(t, 1, date, 100, ""), moved(t, 2, "2026-03-08", 100, ""), moved(t, 3, "2026-03-09", 100, "")}, nil, []string{"ambiguous set [3 1] [2 3] [2 1]"}},
		"three of three":           {[]match.Record{record(t, 1, date, 300, "")}, []match.Candidate{moved(t, 1, date, 100, ""), moved(t, 2, date, 100, ""), moved(t, 3, date, 100, "")}, nil, []string{"unique set [1 2 3]"}},
		"money out":                {[]match.Record{record(t, 1, date, -300, "")}, []match.Candidate{moved(t, 1, date, -400, ""), moved(t, 2, date, 100, ""), moved(t, 3, date, 7, "")}, nil, []string{"unique set [1 2]"}},
		"two records want one set": {[]match.Record{record(t, 1, date, 300, ""), record(t, 2, date, 300, "")}, split[:2], nil, []string{"ambiguous set [1 2] contested", "ambiguous set [1 2] contested"}},
		"one is wanted by pairs that nobody can tell apart": {
			[]match.Record{record(t, 1, date, 300, ""), record(t, 2, date, 200, ""), record(t, 3, date, 200, "")},
			split[:2], nil,
			[]string{"ambiguous set [1 2] contested", "ambiguous oneToOne [2] contested", "ambiguous oneToOne [2] contested"},
		},
		"channels in any spelling": {
			[]match.Record{record(t, 1, date, 300, "")},
			[]match.Candidate{moved(t, 1, date, 100, "VRBO: "), moved(t, 2, date, 200, "vrbo: ")},
			nil,
			[]string{"unique set [1 2]"},
		},
		"a short reference is no key": {
			[]match.Record{record(t, 1, date, 900, "BILL 77 A")}, []match.Candidate{keyed(1, "2026-02-20", 900, "77-A", "")}, nil, []string{"none"},
		},
		"one of nine words is none": {
			[]match.Record{record(t, 1, date, 900, "a b c d e f g h i"), record(t, 2, date, 800, "a b c d e f g h")},
			[]match.Candidate{keyed(1, "2026-02-20", 900, "a-b-c-d-e-f-g-h-i", ""), keyed(2, "2026-02-20", 800, "a-b-c-d-e-f-g-h", "")},
			nil,
			[]string{"none", "unique key [2]"},
		},
		"two references of one payout": {
			[]match.Record{record(t, 1, date, 900, "AB-77 CD-88")},
			[]match.Candidate{keyed(1, date, 500, "AB-77 CD-88", ""), keyed(2, date, 400, "AB-77 CD-88", "")},
			nil,
			[]string{"unique key [1 2]"},
		},
		"two records name one payout": {
			[]match.Record{record(t, 1, date, 900, "AB-77"), record(t, 2, date, 900, "AB-77")},
			[]match.Candidate{keyed(1, date, 500, "AB-77", ""), keyed(2, date, 400, "AB-77", "")},
			nil,
			[]string{"ambiguous key [1 2] contested", "ambiguous key [1 2] contested"},
		},
		"what a key may mean is not certain for another": {
			[]match.Record{record(t, 1, "2026-02-28", 900, "AB-77 HA1234"), record(t, 2, "2026-03-09", 900, "")},
			[]match.Candidate{keyed(1, "2026-03-10", 900, "AB-77", ""), keyed(2, "2026-02-20", 900, "", "HA1234")},
			nil,
			[]string{"ambiguous key [2] [1]", "ambiguous oneToOne [1] contested"},
		},
		"the nearest are searched, of equally near ones the earlier": {
			[]match.Record{record(t, 1, date, 300, "")},
			[]match.Candidate{
				moved(t, 1, "2026-03-08", 100, ""), moved(t, 2, "2026-03-12", 90, ""), moved(t, 3, "2026-03-11", 200, ""), moved(t, 4, "2026-03-03", 80, ""),
			},
			func(b *match.Bounds) { b.Candidates = 2 },
			[]string{"unknown set [1 3] cut [candidates]"},
		},
		"too large to be brought back": {
			[]match.Record{record(t, 1, date, 300, "")},
			append(split[:2:2], moved(t, 4, date, -1, "vrbo: ")),
			func(b *match.Bounds) { b.Candidates = 2 },
			[]string{"unique set [1 2]"},
		},
		"brought back by what goes against it": {
			[]match.Record{record(t, 1, date, 300, "")},
			[]match.Candidate{moved(t, 1, date, 900, ""), moved(t, 2, date, -600, "")},
			nil,
			[]string{"unique set [1 2]"},
		},
		"any of equal ones may be wanted": {
			[]match.Record{record(t, 1, date, 300, ""), record(t, 2, "2026-03-19", 107, "")},
			[]match.Candidate{moved(t, 1, date, 100, ""), moved(t, 2, "2026-03-12", 100, ""), moved(t, 3, date, 200, ""), moved(t, 4, "2026-03-19", 7, "")},
			nil,
			[]string{"ambiguous set [1 3] [3 2] contested", "ambiguous set [2 4] contested"},
		},
		"the two largest of many": {
			[]match.Record{record(t, 1, date, 1700, "")},
			[]match.Candidate{
				moved(t, 1, date, 1000, ""), moved(t, 2, date, 700, ""), moved(t, 3, date, 5, ""), moved(t, 4, date, 3, ""), moved(t, 5, date, 2, ""),
				moved(t, 6, date, 1, ""), moved(t, 7, date, 4, ""), moved(t, 8, date, 6, ""),
			},
			nil,
			[]string{"unique set [1 2]"},
		},
		"more than are shown": {
			[]match.Record{record(t, 1, date, 100, "")},
			[]match.Candidate{moved(t, 1, date, 100, ""), moved(t, 2, date, 100, ""), moved(t, 3, date, 100, "")},
			func(b *match.Bounds) { b.Shown = 2 },
			[]string{"ambiguous oneToOne [1] [2] cut [sets]"},
		},
		"one set among the nearest": {
			[]match.Record{record(t, 1, date, 300, "")},
			append(split[:2:2], moved(t, 4, "2026-03-04", 50, "vrbo: ")),
			func(b *match.Bounds) { b.Candidates = 2 },
			[]string{"unknown set [1 2] cut [candidates]"},
		},
		"none among the nearest": {
			[]match.Record{record(t, 1, date, 350, "")},
			append(split[:2:2], moved(t, 4, "2026-03-04", 50, "vrbo: ")),
			func(b *match.Bounds) { b.Candidates = 2 },
			[]string{"unknown cut [candidates]"},
		},
		"no step left": {
			[]match.Record{record(t, 1, date, 300, "")}, split[:2], func(b *match.Bounds) { b.AllNodes = 0 }, []string{"unknown cut [search]"},
		},
		"too large to be in any set": {
			[]match.Record{record(t, 1, date, 300, "")},
			append(split[:2:2], moved(t, 4, "2026-03-10", 301, "vrbo: ")),
			func(b *match.Bounds) { b.Candidates = 2 },
			[]string{"unique set [1 2]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			bounds := match.Usual()
			if test.bounds != nil {
				test.bounds(&bounds)
			}

			for i, a := range match.Suggest(test.records, test.candidates, bounds) {
				if got := told(a); got != test.want[i] {
					t.Errorf("record %d: got %s, want %s", i+1, got, test.want[i])
				}
			}
		})
	}
}

func TestTheNearestOfManyAreTold(t *testing.T) {
	t.Parallel()

	var candidates []match.Candidate

	for i := range 300 {
		c := moved(t, i+1, "2026-03-03", 500, "")
		c.Date = c.Date.AddDays(i / 20)
		candidates = append(candidates, c)
	}

	a := match.Suggest([]match.Record{record(t, 1, "2026-03-11", 500, "")}, candidates, match.Usual())[0]
	if a.Result != match.Ambiguous || len(a.Sets) != 5 || a.Sets[4].Days != 0 || !slices.Equal(a.Cut, []match.Cut{match.CutSets}) {
		t.Errorf("got %+v", a)
	}
}

func TestAKeyOfThousandsIsNone(t *testing.T) {
	t.Parallel()

	var candidates []match.Candidate

	for i := range 1200 {
		c := moved(t, i+1, "2026-03-10", money.Cents(100+i), "airbnb: ")
		c.References = []string{[]string{"AIRBNB", "OTHER"}[i/600]}
		candidates = append(candidates, c)
	}

	sum := func(n int) (all money.Cents) {
		for _, c := range candidates[:n] {
			all += c.Amount
		}

		return all
	}
	for name, test := range map[string]struct {
		description string
		amount      money.Cents
		want        string
	}{
		"six hundred":          {"Airbnb", sum(600), "unique key"},
		"both are not tried":   {"Airbnb and other", sum(1200), "unknown cut [keys candidates]"},
		"nor does it say none": {"Airbnb and other", 1, "unknown cut [keys]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := match.Suggest([]match.Record{record(t, 1, "2026-03-10", test.amount, test.description)}, candidates, match.Usual())[0]
			if got := told(a); !strings.HasPrefix(got, test.want) || a.Certain() != nil && len(a.Certain().Members) != 600 {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}

	all := slices.Clone(candidates)
	for i := range all {
		all[i].References = []string{"AIRBNB"}
	}

	a := match.Suggest([]match.Record{record(t, 1, "2026-03-10", sum(1200), "Airbnb")}, all, match.Usual())[0]
	if got, want := told(a), "unknown cut [keys candidates]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Two searches that the bounds can just hold: the steps that are left show whether the table halves the work.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()

	bounds := match.Usual()
	for name, test := range map[string]struct {
		candidates int
		step       money.Cents
		want       string
		most       int
	}{
		// All amounts are even, so nothing sums to an odd one, and only going through all sums can tell.
		"thirty in full":     {30, 2, "none", 1 << 17},
		"forty are cut":      {40, 2, "unknown cut [search]", bounds.Nodes},
		"forty equal in all": {40, 0, "none", 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := match.Suggest([]match.Record{hard(t, 1, test.candidates)}, hardCandidates(t, test.candidates, test.step), bounds)[0]
			if got := told(a); got != test.want || a.Nodes > test.most {
				t.Errorf("got %s after %d steps, want %s after at most %d", got, a.Nodes, test.want, test.most)
			}
		})
	}
	// One hard search gets what 49 easy ones leave.
	records, candidates := []match.Record{hard(t, 1, 30)}, hardCandidates(t, 30, 2)
	for i := range 49 {
		records = append(records, record(t, i+2, "2026-05-10", 300, ""))
	}

	candidates = append(candidates, moved(t, 101, "2026-05-10", 100, ""), moved(t, 102, "2026-05-10", 200, ""))
	shared := bounds

	shared.AllNodes = 150_000
	if got := told(match.Suggest(records, candidates, shared)[0]); got != "none" {
		t.Errorf("got %s", got)
	}

	records = make([]match.Record, 250)
	for i := range records {
		records[i] = hard(t, i+1, 40)
	}

	steps := 0
	for _, a := range match.Suggest(records, hardCandidates(t, 40, 2), bounds) {
		steps += a.Nodes
		if a.Result != match.Unknown || !slices.Contains(a.Cut, match.CutSearch) {
			t.Fatalf("got %s", told(a))
		}
	}

	if steps > bounds.AllNodes {
		t.Errorf("%d steps, %d allowed", steps, bounds.AllNodes)
	}
}

// hard is a record with an amount in the middle of all sums of n amounts, but is none of them.
func hard(t testing.TB, n, candidates int) match.Record {
	t.Helper()
	return record(t, n, "2026-03-10", money.Cents(candidates)*100000+1, "")
}

// hardCandidates are amounts around 2000.00 of both signs that differ by steps that make their sums differ, all even.
func hardCandidates(t testing.TB, n int, step money.Cents) []match.Candidate {
	t.Helper()

	out := make([]match.Candidate, n)
	for i := range out {
		amount := 200000 + step*money.Cents(i*i*i+7*i)
		if i%8 == 7 {
			amount = -amount
		}

		out[i] = moved(t, i+1, "2026-03-09", amount, "airbnb: ")
	}

	return out
}
