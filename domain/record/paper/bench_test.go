package paper_test

import (
	"io"
	"syscall"
	"testing"
	"time"

	"stayledger/domain/record/paper"
)

func BenchmarkOwnerStatement(b *testing.B) {
	doc := sampleStatement()
	doc.Notes, doc.Payouts = "", nil // one page
	doc.Expenses = doc.Expenses[:1]
	doc.Reservations.Rows = doc.Reservations.Rows[:3]
	doc.Owners[0].Name = "Ελένη Παπαδοπούλου"

	if n := len(drawnPages(b, func(w io.Writer) error { return paper.OwnerStatement(w, doc) })); n != 1 {
		b.Fatalf("%d pages", n)
	}

	before := processorTime(b)
	for b.Loop() {
		if err := paper.OwnerStatement(io.Discard, doc); err != nil {
			b.Fatal(err)
		}
	}

	b.ReportMetric(float64(b.N)/(processorTime(b)-before).Seconds(), "statements/core-s")
}

func BenchmarkOwnerStatements(b *testing.B) {
	doc := sampleStatement()
	n := 0

	before := processorTime(b)
	for b.Loop() {
		n += 500

		if err := paper.OwnerStatements(io.Discard, func(yield func(paper.StatementDoc, error) bool) {
			for range 500 {
				if !yield(doc, nil) {
					return
				}
			}
		}); err != nil {
			b.Fatal(err)
		}
	}

	b.ReportMetric(float64(n)/(processorTime(b)-before).Seconds(), "statements/core-s")
}

// processorTime is the time that the process has used: on a busy machine the clock on the wall says nothing.
func processorTime(b *testing.B) time.Duration {
	b.Helper()

	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}

	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
