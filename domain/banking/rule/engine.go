package rule

import (
	"math/bits"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// Engine decides about records by a set of rules. It does not change, and any number of passes can use it at once.
//
// A rule is looked at only for records of its accounts and direction, within the limits that it sets to the amount,
// that have something without which its conditions cannot hold: three bytes of a text, or an amount. So the time for a
// record hardly grows with the number of rules.
type Engine struct {
	// rules are in the order in which they take records; a set of rules has a bit for each.
	rules []compiled
	// tests are the conditions of all rules, each once.
	tests []test
	// byKey are the rules that need a key, always those that none is known of.
	byKey  map[key][]int
	grams  filter
	always set
	// accounts are the rules for records of an account that some rule names, others those for all other records, each
	// by direction.
	accounts map[id.ID]*[2]set
	others   [2]set
	// bands are the rules that an amount is within the limits of.
	bands bands
}

// compiled is a rule with the numbers of its conditions.
type compiled struct {
	*Rule
	tests []int
	lines []Line
}

// set is a set of rules.
type set []uint64

func newSet(n int) set  { return make(set, (n+63)/64) }
func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

// direction numbers the ways that money moves.
func direction(in bool) int {
	if in {
		return 1
	}

	return 0
}

// filter holds hashes of keys of texts: most stretches of a text are of no rule, and need no look into the map.
type filter [1 << 10]uint64

func (f *filter) place(gram int64) (word int, bit uint64) {
	hash := uint32(gram) * 2654435761 //nolint:gosec // three bytes
	return int(hash >> 22), 1 << (hash >> 16 & 63)
}

// Compile returns an engine of the active rules, in any order. The rules must not change while the engine is used.
// It fails with 400 and the issues of Check.
func Compile(rules []Rule) (*Engine, error) {
	e := &Engine{byKey: map[key][]int{}, accounts: map[id.ID]*[2]set{}}

	for i := range rules {
		if issues := Check(&rules[i]); len(issues) > 0 {
			return nil, apierr.BadRequest.At(issues...)
		}

		if rules[i].Status == Active {
			e.rules = append(e.rules, compiled{Rule: &rules[i], lines: rules[i].sortLines()})
		}
	}

	slices.SortFunc(e.rules, func(a, b compiled) int { return a.compare(b.Rule) })
	e.compileConditions()
	e.compileAccounts()
	e.compileKeys()
	e.bands = newBands(e.rules, e.tests)

	return e, nil
}

// compileConditions gives every rule the numbers of its conditions. Equal conditions of several rules share a
// number, and are tested once for a record.
func (e *Engine) compileConditions() {
	numbers := map[test]int{}

	for i := range e.rules {
		r := &e.rules[i]
		for _, c := range r.Conditions {
			t := c.compile()

			n, known := numbers[t]
			if !known {
				n = len(e.tests)
				numbers[t] = n
				e.tests = append(e.tests, t)
			}

			r.tests = append(r.tests, n)
		}
	}
}

// compileAccounts gives each account the rules that take its records, by direction. Rules without accounts are in
// all of these sets and in others.
func (e *Engine) compileAccounts() {
	newSets := func() [2]set { return [2]set{newSet(len(e.rules)), newSet(len(e.rules))} }

	e.others = newSets()
	for i := range e.rules {
		for _, a := range e.rules[i].AccountIDs {
			if e.accounts[a] == nil {
				sets := newSets()
				e.accounts[a] = &sets
			}
		}
	}

	for i := range e.rules {
		// A deposit rule takes money in, an expense rule money out.
		r := &e.rules[i]

		towards := direction(r.TransactionType == transaction.Deposit)
		for _, a := range r.AccountIDs {
			e.accounts[a][towards].add(i)
		}

		if len(r.AccountIDs) > 0 {
			continue
		}

		e.others[towards].add(i)

		for _, sets := range e.accounts {
			sets[towards].add(i)
		}
	}
}

// compileKeys gives each rule the keys under which it is found. It picks the keys with the fewest conditions. A
// rule that needs all of its conditions is found by one of them, a rule that needs any by each.
func (e *Engine) compileKeys() {
	e.always = newSet(len(e.rules))
	uses := map[key]int{}

	for i := range e.tests {
		for _, k := range e.tests[i].keys() {
			uses[k]++
		}
	}

	// The rarest key finds the fewest rules in vain.
	rarest := func(keys []key) key {
		return slices.MinFunc(keys, func(a, b key) int { return uses[a] - uses[b] })
	}

	for i := range e.rules {
		r := &e.rules[i]

		var found []key

		loose := false

		for _, n := range r.tests {
			if keys := e.tests[n].keys(); len(keys) > 0 {
				found = append(found, rarest(keys))
			} else {
				loose = true
			}
		}

		// A rule that can hold without any key must be looked at for every record.
		switch {
		case len(found) == 0 || r.MatchMode == Any && loose:
			e.always.add(i)
			continue
		case r.MatchMode == All:
			found = []key{rarest(found)}
		}

		// The filter of grams saves most lookups in the map.
		for _, k := range found {
			e.byKey[k] = append(e.byKey[k], i)
			if k.field != Amount {
				word, bit := e.grams.place(k.value)
				e.grams[word] |= bit
			}
		}
	}
}

// Pass goes over records, one after the other.
type Pass struct {
	*Engine
	facts facts
	found set
	// known are the records for which the results of conditions were computed, by their number in this pass.
	known   []int
	results []bool
	record  int
}

// Pass returns a pass over records. A pass is for one goroutine.
func (e *Engine) Pass() *Pass {
	return &Pass{
		Engine:  e,
		found:   newSet(len(e.rules)),
		known:   make([]int, len(e.tests)),
		results: make([]bool, len(e.tests)),
	}
}

// Matching returns the rules that a record meets, in the order in which they would take it. It ignores the state of
// the record.
func (p *Pass) Matching(r *Record) []*Rule {
	var rules []*Rule

	p.each(r, func(c *compiled) bool {
		rules = append(rules, c.Rule)
		return true
	})

	return rules
}

// first returns the rule that takes a record, or nil if it meets none.
func (p *Pass) first(r *Record) (taker *compiled) {
	p.each(r, func(c *compiled) bool {
		taker = c
		return false
	})

	return taker
}

// each calls more with each rule that a record meets, in order, until more returns false.
func (p *Pass) each(r *Record, more func(*compiled) bool) {
	if r.Amount == 0 {
		return
	}

	p.record++
	p.facts.read(r)
	p.find()

	// Intersect three sets: rules with a key of the record, rules for its account and direction, rules for its
	// amount.
	sets := &p.others
	if own := p.accounts[r.AccountID]; own != nil {
		sets = own
	}

	eligible, fitting := sets[direction(r.Amount > 0)], p.bands.at(p.facts.amount)
	for word := range p.found {
		for left := p.found[word] & eligible[word] & fitting[word]; left != 0; left &= left - 1 {
			c := &p.rules[word*64+bits.TrailingZeros64(left)]
			if p.meets(c) && !more(c) {
				return
			}
		}
	}
}

// find collects the rules with a key that the record has, and those without any.
func (p *Pass) find() {
	copy(p.found, p.always)
	p.add(key{Amount, int64(p.facts.amount)})

	// Each three-letter piece of a text is a key.
	for i, text := range p.facts.texts {
		for at := 0; at+gramLength <= len(text); at++ {
			g := gram(text, at)
			if word, bit := p.grams.place(g); p.grams[word]&bit != 0 {
				p.add(key{fields[i].name, g})
			}
		}
	}
}

func (p *Pass) add(k key) {
	for _, i := range p.byKey[k] {
		p.found.add(i)
	}
}

// meets returns true if the record meets all conditions of a rule, or any of them, as the rule says. Results are
// kept for the other rules with the same conditions.
func (p *Pass) meets(c *compiled) bool {
	for _, n := range c.tests {
		if p.known[n] != p.record {
			p.known[n], p.results[n] = p.record, p.tests[n].holds(&p.facts)
		}

		if p.results[n] == (c.MatchMode == Any) {
			return p.results[n]
		}
	}

	return c.MatchMode == All
}
