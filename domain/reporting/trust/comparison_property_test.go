package trust_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/platform/id"
	whole "stayledger/test/world"
)

// source is a transaction or journal of the model, with what it moved on the bank.
type source struct {
	id    id.ID
	date  string
	cents int64
	opens bool
	// record is the place of the record that it makes up; -1 for none.
	record int
}

// movement is a bank record of the model.
type movement struct {
	id     id.ID
	date   string
	cents  int64
	source int // the place of the source that makes it up; -1 for none
	// excluded records are of days before the account's first one.
	excluded bool
}

// bankModel has the figures of a bank account and its books, computed in the plainest way from lists of all events.
type bankModel struct {
	sources   []source
	movements []movement
	stated    []struct {
		date  string
		cents int64
	}
	first   string // "" before the account began
	opening int64
	counted int64 // what the opening counted of what compared figures find in transit at it
	balance int64 // of the opening transaction
}

// String returns the model in short lines.
func (m *bankModel) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "first %s, opening %d, counted %d, opening transaction %d, stated %v\n", m.first, m.opening, m.counted, m.balance, m.stated)

	for _, s := range m.sources {
		fmt.Fprintf(&text, "source %s %d, opens %t, record %d\n", s.date, s.cents, s.opens, s.record)
	}

	for _, r := range m.movements {
		fmt.Fprintf(&text, "record %s %d, source %d\n", r.date, r.cents, r.source)
	}

	return text.String()
}

// figures returns what bank and books say at the end of a day.
func (m *bankModel) figures(date string) figures {
	out := figures{}
	counts := func(at string) bool { return at <= date && at >= m.first }

	// The bank: its last stated balance, or the opening, and the movements since.
	since := ""

	out.held = m.opening
	for _, s := range m.stated {
		if counts(s.date) && s.date >= since {
			since, out.held = s.date, s.cents
		}
	}

	for _, r := range m.movements {
		if counts(r.date) && r.date > since {
			out.held += r.cents
		}
	}

	// The books, and what one of the two has and the other does not.
	if m.first != "" && date >= dayBefore(m.first) {
		out.book += m.balance
	}

	for _, s := range m.sources {
		if s.date <= date {
			out.book += s.cents
		}

		m.place(&s, date, since, &out)
	}

	if m.first != "" && date >= dayBefore(m.first) {
		out.atOpening = -m.counted - m.found()
	}

	out.adjusted = out.held + out.transit + out.outstanding + out.atBank + out.atOpening
	out.difference = out.adjusted - out.book

	return out
}

// found returns what the opening of the account is off by unless it has counted it: records before the first day that have
// no source, and sources that open the books and came to the bank later.
func (m *bankModel) found() (cents int64) {
	for _, r := range m.movements {
		if r.date < m.first && r.source < 0 && !r.excluded {
			cents += r.cents
		}
	}

	for _, s := range m.sources {
		if s.opens && s.date <= m.first && s.record >= 0 && m.movements[s.record].date >= m.first {
			cents += s.cents
		}
	}

	return cents
}

// place adds what is open of a source on a day to the figure of its kind.
func (m *bankModel) place(s *source, date, statedAt string, out *figures) {
	var booked, seen int64

	seenAt := ""
	if s.record >= 0 {
		seenAt = m.movements[s.record].date
	}

	if s.date <= date {
		booked = s.cents
	}

	if seenAt != "" && seenAt <= date {
		seen = s.cents
	}

	// What opens the books is part of the balance on the first day, or of one that was stated since.
	if s.opens && s.date <= m.first && seenAt < m.first || s.opens && seen == 0 && statedAt != "" && s.date <= statedAt {
		return
	}

	switch open := booked - seen; {
	case open == 0:
	case booked == 0:
		out.atBank -= seen
	case open > 0:
		out.transit += open
	default:
		out.outstanding += open
	}
}

// dayBefore returns the day before another by the calendar, which can be one that the model does not use, such as
// 2026-01-31. The opening transaction is booked on it.
func dayBefore(date string) string {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}

	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// modelDays are the days of the model in their order.
func modelDays() []string {
	days := []string{}

	for _, month := range []string{"2026-01", "2026-02", "2026-03"} {
		for d := 1; d <= 28; d++ {
			days = append(days, fmt.Sprintf("%s-%02d", month, d))
		}
	}

	return days
}

// Whatever arrives, in whatever order: the summary of the account and the trust reconciliation agree with each other
// and with a model, to the cent, on any day; and no rule books what another transaction explains.
func TestBankAndBooksAgreeWithAModel(t *testing.T) {
	t.Parallel()

	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 7))

	for range 4 {
		c, m := newCompared(t), &bankModel{}
		c.Post("/bank-rules", whole.Object{
			"name": "Fees", "transactionType": "expense", "mode": "auto", "accountIds": whole.Array{c.bank},
			"conditions": whole.Array{whole.Object{"type": "description", "operator": "contains", "value": "fee"}},
			"lines":      whole.Array{whole.Object{"splitMode": "remainder", "accountId": c.cost}},
		}).Want(201)

		for range 30 {
			c.step(m, random)
		}

		days := modelDays()
		for _, date := range []string{days[5], days[27], days[28], days[30+random.IntN(20)], days[50+random.IntN(20)], days[len(days)-1]} {
			if got, want := c.agree(date), m.figures(date); got != want {
				t.Fatalf("%s: got %+v, want %+v of %s", date, got, want, m)
			}
		}
	}
}

// step does one random thing to the team and the model.
func (c *compared) step(m *bankModel, random *rand.Rand) {
	c.T.Helper()

	days := modelDays()
	date := days[2+random.IntN(len(days)-2)]
	cents := int64(1 + random.IntN(6))

	switch random.IntN(13) {
	case 0, 1:
		m.sources = append(m.sources, source{c.deposit(date, cents), date, cents, false, -1})
	case 2, 3:
		m.sources = append(m.sources, source{c.expense(date, cents), date, -cents, false, -1})
	case 4:
		m.sources = append(m.sources, source{c.journal(date, -cents), date, -cents, false, -1})
	case 5:
		m.sources = append(m.sources, source{c.deposit(date, 100*cents, "isOpeningBalance", true), date, 100 * cents, true, -1})
	case 6, 7, 8:
		c.arrive(m, date, cents*int64(1-2*random.IntN(2)), random.IntN(2) == 0)
	case 9:
		c.matchAny(m, random)
	case 10:
		c.stated(date, cents*1000)
		m.stated = append(m.stated, struct {
			date  string
			cents int64
		}{date, cents * 1000})
	case 11:
		c.beginOnce(m, days[28+random.IntN(20)], cents*10)
	default:
		c.undoAny(m, random)
	}
}

// beginOnce begins the books of the account on a day, unless they have begun.
func (c *compared) beginOnce(m *bankModel, first string, opening int64) {
	c.T.Helper()

	if m.first != "" {
		return
	}

	c.begin(first, opening)
	m.first, m.opening = first, opening

	for i := range m.movements {
		r := &m.movements[i]
		r.excluded = r.date < first && r.source < 0
	}

	// The opening books what the bank had, less what the books explain of it: records before the first day, and sources
	// that open the books and are on no later record.
	m.balance, m.counted = opening, -m.found()

	for _, s := range m.sources {
		seenAt := ""
		if s.record >= 0 {
			seenAt = m.movements[s.record].date
		}

		if s.opens && s.date <= first && seenAt < first || seenAt != "" && seenAt < first {
			m.balance -= s.cents
		}
	}
}

// arrive adds a record; a fee is booked by the rule, unless a transaction explains it.
func (c *compared) arrive(m *bankModel, date string, cents int64, fee bool) {
	c.T.Helper()

	text := "Movement"
	if fee {
		text = "Fee"
	}

	r := movement{c.record(date, cents, text), date, cents, -1, date < m.first}
	c.Work()

	found := c.Get("/bank-records/" + r.id.String()).Want(200)
	if found.Len("reconciliation.transactions") > 0 {
		for _, s := range m.sources {
			if s.record < 0 && s.cents == cents && near(s.date, date) {
				c.T.Fatalf("a rule booked record %s of %d on %s, which %s explains", r.id, cents, date, s.id)
			}
		}

		r.source = len(m.sources)
		m.sources = append(m.sources, source{found.ID("reconciliation.transactions.0.id"), date, cents, false, len(m.movements)})
	}

	m.movements = append(m.movements, r)
}

// near reports whether two days are at most seven days of the model apart.
func near(a, b string) bool {
	days := modelDays()
	apart := slices.Index(days, a) - slices.Index(days, b)

	return max(apart, -apart) <= 4 // The model's months are short by up to three days.
}

// matchAny reconciles an open record with an open source of its amount, if there is any.
func (c *compared) matchAny(m *bankModel, random *rand.Rand) {
	c.T.Helper()

	for _, i := range random.Perm(len(m.movements)) {
		for j := range m.sources {
			if r, s := &m.movements[i], &m.sources[j]; r.source < 0 && s.record < 0 && r.cents == s.cents && r.date >= m.first {
				c.match(r.id, s.id)
				r.source, s.record = j, i

				return
			}
		}
	}
}

// undoAny opens a reconciled record again.
func (c *compared) undoAny(m *bankModel, random *rand.Rand) {
	c.T.Helper()

	for _, i := range random.Perm(len(m.movements)) {
		if r := &m.movements[i]; r.source >= 0 {
			c.Post("/bank-records/"+r.id.String()+"/unreconcile", whole.Object{}).Want(200)
			m.sources[r.source].record, r.source = -1, -1

			return
		}
	}
}
