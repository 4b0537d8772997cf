package match_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/banking/match"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// expected is the answer of the rules for a record, computed the slow way: every subset is tried.
type expected struct {
	result    match.Result
	reason    match.Reason
	contested bool
	set       []int // candidates of a unique answer
	wants     map[int]bool
	ways      int
}

// world is an input with its rules read literally.
type world struct {
	records    []match.Record
	candidates []match.Candidate
	bounds     match.Bounds
	taken      map[int]bool
}

func (w *world) sameBook(r match.Record, c match.Candidate) bool {
	return c.AccountID == r.AccountID && c.Currency == r.Currency && c.Amount != 0
}

func days(from, to day.Day) int { return from.DaysUntil(to) }

func (w *world) sum(set []int) (sum money.Cents) {
	for _, c := range set {
		sum += w.candidates[c].Amount
	}

	return sum
}

// named are the keys of a kind that a text names, written as the generator writes them: words apart by single spaces.
func named(r match.Record, keys []string) (found []string) {
	for _, key := range keys {
		for _, text := range append([]string{r.Description}, r.References...) {
			if strings.Contains(" "+strings.ToLower(text)+" ", " "+strings.ToLower(key)+" ") && !slices.Contains(found, strings.ToLower(key)) {
				found = append(found, strings.ToLower(key))
			}
		}
	}

	return found
}

func (w *world) byKey(r match.Record) (sets [][]int) {
	for _, kind := range []func(match.Candidate) []string{
		func(c match.Candidate) []string { return c.References }, func(c match.Candidate) []string { return c.Codes },
	} {
		members := map[string][]int{}

		for i, c := range w.candidates {
			if !w.sameBook(r, c) || days(r.Date, c.Date) > w.bounds.KeyDays || days(c.Date, r.Date) > w.bounds.KeyDays {
				continue
			}

			for _, key := range named(r, kind(c)) {
				members[key] = append(members[key], i)
			}
		}

		var groups [][]int

		all := map[int]bool{}

		for _, group := range members {
			groups = append(groups, group)
			for _, i := range group {
				all[i] = true
			}
		}

		groups = append(groups, sorted(all))
		for _, g := range groups {
			if len(g) > 0 && w.sum(g) == r.Amount && !slices.ContainsFunc(sets, func(s []int) bool { return slices.Equal(s, g) }) {
				sets = append(sets, g)
			}
		}
	}

	return sets
}

func sorted(set map[int]bool) []int {
	var out []int
	for i := range set {
		out = append(out, i)
	}

	slices.Sort(out)

	return out
}

func (w *world) single(r match.Record) (sets [][]int) {
	for i, c := range w.candidates {
		d := days(r.Date, c.Date)
		if w.sameBook(r, c) && !w.taken[i] && c.Amount == r.Amount && max(d, -d) <= w.bounds.Days {
			sets = append(sets, []int{i})
		}
	}

	return sets
}

func (w *world) subsets(r match.Record) (sets [][]int) {
	for mask := 1; mask < 1<<len(w.candidates); mask++ {
		var set []int

		fits := true

		for i, c := range w.candidates {
			if mask>>i&1 == 0 {
				continue
			}

			d := days(r.Date, c.Date)

			set = append(set, i)
			fits = fits && w.sameBook(r, c) && !w.taken[i] && -d <= w.bounds.Before && d <= w.bounds.After &&
				strings.EqualFold(c.Channel, w.candidates[set[0]].Channel) && (r.Channel == "" || strings.EqualFold(c.Channel, r.Channel))
		}

		if fits && w.sum(set) == r.Amount {
			sets = append(sets, set)
		}
	}

	return sets
}

// answers goes through the three stages. In each, what a record wants is wanted by all who found it in this stage or
// are still undecided from an earlier one.
func (w *world) answers() []expected {
	out := make([]expected, len(w.records))

	open := map[int]bool{}
	for i := range w.records {
		open[i] = w.records[i].Amount != 0
		out[i].result = match.None
	}

	for _, stage := range []struct {
		reason match.Reason
		find   func(match.Record) [][]int
	}{{match.Key, w.byKey}, {match.OneToOne, w.single}, {match.OfSet, w.subsets}} {
		found := map[int][][]int{}

		for i := range w.records {
			if open[i] {
				if sets := stage.find(w.records[i]); len(sets) > 0 {
					found[i] = sets
				}
			}
		}

		for i, sets := range found {
			open[i] = false

			out[i] = expected{result: match.Ambiguous, reason: stage.reason, wants: map[int]bool{}, ways: len(sets)}
			for _, set := range sets {
				for _, c := range set {
					out[i].wants[c] = true
				}
			}
		}

		for i, sets := range found {
			for k := range out {
				for c := range out[k].wants {
					out[i].contested = out[i].contested || k != i && out[i].wants[c]
				}
			}

			if len(sets) == 1 && !out[i].contested {
				out[i].set = sets[0]
			}
		}

		for i := range found {
			if out[i].set != nil {
				out[i].result = match.Unique
				for _, c := range out[i].set {
					w.taken[c] = true
				}
			}
		}
	}

	return out
}

func seq(n int) id.ID { return id.ID{14: byte(n >> 8), 15: byte(n)} }

func genWorld(t *rapid.T) *world {
	currency := rapid.SampledFrom([]string{"usd", "usd", "usd", "eur"})
	channel := rapid.SampledFrom([]string{"", "airbnb", "Airbnb", "vrbo"})

	account, most := rapid.SampledFrom([]int{1, 1, 1, 2}), 2
	if rapid.Bool().Draw(t, "sums only") {
		currency, channel, account, most = rapid.Just("usd"), rapid.Just("vrbo"), rapid.Just(1), 0
	}

	key := rapid.SampledFrom([]string{"PAY-1", "payout 77", "HMAAAA", "HMBBBB", "x1"})
	keys := rapid.SliceOfN(rapid.Map(key, func(s string) string { return strings.ReplaceAll(s, "-", " ") }), 0, most)
	start := day.Month{Year: 2026, Month: 1}.First()
	date := rapid.Map(rapid.IntRange(0, rapid.SampledFrom([]int{4, 16}).Draw(t, "span")), start.AddDays)
	amount := rapid.Map(rapid.IntRange(-4, 9), func(n int) money.Cents { return money.Cents(n) })
	w := &world{taken: map[int]bool{}, bounds: match.Usual()}

	w.bounds.KeyDays = 10
	for i := range rapid.IntRange(1, 4).Draw(t, "records") {
		w.records = append(w.records, match.Record{
			ID: seq(i + 1), AccountID: seq(account.Draw(t, "account")), Currency: currency.Draw(t, "currency"),
			Date: date.Draw(t, "date"), Amount: amount.Draw(t, "amount"), Channel: channel.Draw(t, "channel"),
			Description: strings.Join(keys.Draw(t, "named"), " and "), References: keys.Draw(t, "references"),
		})
	}

	for i := range rapid.IntRange(0, 9).Draw(t, "candidates") {
		w.candidates = append(w.candidates, match.Candidate{
			TransactionID: seq(i + 1), AccountID: seq(account.Draw(t, "account")), Currency: currency.Draw(t, "currency"),
			Date: date.Draw(t, "date"), Amount: amount.Draw(t, "amount"), Channel: channel.Draw(t, "channel"),
			References: keys.Draw(t, "references"), Codes: keys.Draw(t, "codes"),
		})
	}
	// The short key is none for either side.
	for i := range w.candidates {
		c := &w.candidates[i]
		short := func(k string) bool { return k == "x1" }
		c.References, c.Codes = slices.DeleteFunc(c.References, short), slices.DeleteFunc(c.Codes, short)
	}

	return w
}

func (w *world) ids(set []int) []id.ID {
	var ids []id.ID
	for _, c := range set {
		ids = append(ids, w.candidates[c].TransactionID)
	}

	slices.SortFunc(ids, id.ID.Compare)

	return ids
}

func members(s match.Set) []id.ID {
	var ids []id.ID
	for _, m := range s.Members {
		ids = append(ids, m.TransactionID)
	}

	slices.SortFunc(ids, id.ID.Compare)

	return ids
}

func TestPropertyAnswersAreThoseOfEverySubset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)

		got := match.Suggest(w.records, w.candidates, w.bounds)
		for i, want := range w.answers() {
			a := got[i]
			if a.RecordID != w.records[i].ID || a.Result != want.result || a.Reason != want.reason || a.Contested != want.contested {
				t.Fatalf("record %d: got %+v, want %+v", i, a, want)
			}

			if set := a.Certain(); (set != nil) != (want.set != nil) || set != nil && !slices.Equal(members(*set), w.ids(want.set)) {
				t.Fatalf("record %d: %+v is certain, want %v", i, set, w.ids(want.set))
			}

			w.checkSets(t, w.records[i], a)

			if len(a.Sets) > want.ways || len(a.Sets) < min(want.ways, 2) || len(a.Sets) < want.ways != slices.Contains(a.Cut, match.CutSets) {
				t.Fatalf("record %d: %d sets of %d, cut %v", i, len(a.Sets), want.ways, a.Cut)
			}
		}
	})
}

// checkSets compares the answer with the input: amounts that sum up, in the order of days, every transaction once.
func (w *world) checkSets(t *rapid.T, r match.Record, a match.Answer) {
	for n, set := range a.Sets {
		var sum money.Cents

		furthest := 0

		for k, m := range set.Members {
			at := slices.IndexFunc(w.candidates, func(c match.Candidate) bool { return c.TransactionID == m.TransactionID })

			c := w.candidates[at]
			if !w.sameBook(r, c) || c.Amount != m.Amount {
				t.Fatalf("%+v is no part of %+v", c, r)
			}

			if k > 0 && slices.Contains(members(match.Set{Members: set.Members[:k]}), m.TransactionID) {
				t.Fatalf("%v is in the set twice", m.TransactionID)
			}

			sum += m.Amount
			d := days(r.Date, c.Date)
			furthest = max(furthest, d, -d)
		}

		if sum != r.Amount || set.Days != furthest || n > 0 && a.Sets[n-1].Days > set.Days {
			t.Fatalf("set %d of %+v: sum %d, %d days", n, a.Sets, sum, furthest)
		}
	}
}

func TestPropertyOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		w.bounds.AllNodes = rapid.IntRange(0, 60).Draw(t, "nodes")
		w.bounds.Candidates = rapid.IntRange(1, 9).Draw(t, "most")

		want := map[id.ID]string{}
		for _, a := range match.Suggest(w.records, w.candidates, w.bounds) {
			want[a.RecordID] = fmt.Sprintf("%+v", a)
		}

		for _, a := range match.Suggest(rapid.Permutation(w.records).Draw(t, "records"), rapid.Permutation(w.candidates).Draw(t, "candidates"), w.bounds) {
			if got := fmt.Sprintf("%+v", a); got != want[a.RecordID] {
				t.Fatalf("got %s, want %s", got, want[a.RecordID])
			}
		}
	})
}

// However little a search may do, it never calls a result unique that is not, nor says none where there is one.
func TestPropertyCutSearchesSayLessNotWrong(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		for i := range w.records { // Alone, so that only its own search decides.
			alone := &world{records: w.records[i : i+1], candidates: w.candidates, bounds: w.bounds, taken: map[int]bool{}}
			alone.bounds.Nodes = rapid.IntRange(0, 40).Draw(t, "nodes")
			alone.bounds.Candidates = rapid.IntRange(1, 9).Draw(t, "most")
			want := alone.answers()[0]

			got := match.Suggest(alone.records, alone.candidates, alone.bounds)[0]
			if got.Result != want.result && got.Result != match.Unknown {
				t.Fatalf("got %+v, want %+v", got, want)
			}

			if got.Result == match.Unknown && len(got.Cut) == 0 {
				t.Fatalf("%+v does not say what was cut", got)
			}

			if got.Nodes > alone.bounds.Nodes {
				t.Fatalf("%d steps, %d allowed", got.Nodes, alone.bounds.Nodes)
			}
		}
	})
}

func TestPropertyNothingCountsBeyondTheReach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		days := rapid.SliceOfN(rapid.IntRange(0, 5), 4, 4).Draw(t, "days")
		w.bounds.Days, w.bounds.Before, w.bounds.After, w.bounds.KeyDays = days[0], days[1], days[2], days[3]
		r := w.records[:1]
		near := slices.DeleteFunc(slices.Clone(w.candidates), func(c match.Candidate) bool {
			d := c.Date.DaysUntil(r[0].Date)
			return max(d, -d) > w.bounds.Reach()
		})

		all, some := match.Suggest(r, w.candidates, w.bounds), match.Suggest(r, near, w.bounds)
		if got, want := fmt.Sprintf("%+v", some), fmt.Sprintf("%+v", all); got != want {
			t.Fatalf("without what is far away: %s, with it: %s", got, want)
		}
	})
}
