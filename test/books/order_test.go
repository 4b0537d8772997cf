package books_test

import (
	"fmt"
	"testing"

	"stayledger/platform/apitest"
)

// chainMonths are the months of the statements that are saved, published, reopened and returned to draft in every
// order.
var chainMonths = []string{"2026-01", "2026-02", "2026-03", "2026-04"}

// chainState is the status of each month's statement.
type chainState [4]string

// verdict is how a change of a statement ends: the reason of a refusal with the month in the way, or nothing.
type verdict struct {
	Reason   string
	Blocking int
	Next     string
}

// decide is the order rule in the words of the contract: nothing changes under a later statement that is not a draft,
// and nothing is published over an earlier one that is not published.
func (s chainState) decide(month int, to string) verdict {
	if s[month] == to {
		return verdict{}
	}

	for later := len(s) - 1; later > month; later-- {
		if s[later] != "draft" {
			return verdict{Reason: "statementFutureExists", Blocking: later, Next: "returnStatementsToDraft"}
		}
	}

	for earlier := range month {
		if to == "published" && s[earlier] != "published" {
			return verdict{Reason: "previousStatementsOpen", Blocking: earlier, Next: "publishPreviousStatements"}
		}
	}

	return verdict{}
}

// TestTheOrderRuleInEveryOrder goes through every state that four months of statements can reach, and in each tries
// every change of every statement: those that the rule allows lead on, the others are refused with the statement in the
// way.
// Proves: STM-02, STM-03, STM-04, STM-05, STM-06, STM-07, STM-08, STM-09, STM-10, RSN-43, RSN-58.
func TestTheOrderRuleInEveryOrder(t *testing.T) {
	t.Parallel()

	v := newVilla(t)
	for _, month := range chainMonths {
		v.stay(month+"-10", month+"-12", object{"rent": 50000})
	}

	c := &chainWalk{villa: v, t: t, ids: map[int]string{}, seen: map[chainState]bool{}}
	for i, month := range chainMonths {
		c.ids[i] = v.month(month).ID
	}

	c.from(chainState{"draft", "draft", "draft", "draft"})

	if len(c.seen) != 31 || c.refused < 100 {
		t.Errorf("%d states with %d refusals were seen", len(c.seen), c.refused)
	}
}

// chainWalk visits states; the statements are in the state that it is at.
type chainWalk struct {
	*villa
	t       *testing.T
	ids     map[int]string
	seen    map[chainState]bool
	refused int
}

// from tries every change in a state, following each that leads to a state not seen before, and goes back.
func (c *chainWalk) from(s chainState) {
	c.seen[s] = true
	for month := range s {
		for _, to := range []string{"draft", "inReview", "published"} {
			want := s.decide(month, to)
			path := "/statements/" + c.ids[month]

			dry := c.Call("PUT", path+"?dryRun=true", object{"status": to})
			if got := c.verdictOf(dry); got != want {
				c.t.Errorf("%v: %s to %s: %+v, want %+v", s, chainMonths[month], to, got, want)
			}

			if want.Reason != "" {
				c.refused++
				continue
			}

			next := s

			next[month] = to
			if c.seen[next] {
				continue
			}

			c.must("PUT", path, object{"status": to})
			c.chains(next)
			c.from(next)
			c.back(next, s)
		}
	}
}

// back returns to a state that was left by one change, by way of drafts when there is no direct one.
func (c *chainWalk) back(from, to chainState) {
	for month := range from {
		if from[month] != to[month] {
			c.must("PUT", "/statements/"+c.ids[month], object{"status": to[month]})
		}
	}
}

// verdictOf reads an answer.
func (c *chainWalk) verdictOf(r *apitest.Response) verdict {
	if r.Status == 200 {
		return verdict{}
	}

	v := verdict{Reason: r.Want(409).String("reason"), Next: r.String("context.nextAction"), Blocking: -1}
	for month, statement := range c.ids {
		if statement == r.String("context.blockingStatementId") && r.String("context.blockingStatementStartAt") == chainMonths[month]+"-01" {
			v.Blocking = month
		}
	}

	return v
}

// chains checks that the balances lead from month to month whatever their states are.
func (c *chainWalk) chains(s chainState) {
	var end int64

	for i, month := range chainMonths {
		st := c.month(month)
		if st.Status != s[i] || st.Financials.BalanceStart != end || st.Financials.BalanceEnd != end+50000 {
			c.t.Errorf("%v: %s is %s", s, month, fmt.Sprint(st.Status, st.Financials))
		}

		end = st.Financials.BalanceEnd
	}
}
