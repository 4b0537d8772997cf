package report

import "stayledger/platform/day"

// Span shows how a period is split.
type Span struct{ Before, Head, Months, Tail day.Range }

// SpanOf splits a period.
func SpanOf(start, end day.Day) Span {
	s := spanOf(start, end)
	return Span{s.before, s.head, s.months, s.tail}
}
