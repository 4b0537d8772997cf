package match_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"stayledger/domain/banking/match"
	"stayledger/platform/money"
)

// BenchmarkWorstSet is the search that uses up all steps of one record.
func BenchmarkWorstSet(b *testing.B) {
	records, candidates := []match.Record{hard(b, 1, 40)}, hardCandidates(b, 40, 2)
	for b.Loop() {
		if a := match.Suggest(records, candidates, match.Usual())[0]; a.Result != match.Unknown {
			b.Fatal(told(a))
		}
	}
}

// BenchmarkWorstPage is a page of such records, which uses up all steps of a call.
func BenchmarkWorstPage(b *testing.B) {
	records, candidates := make([]match.Record, 250), hardCandidates(b, 40, 2)
	for i := range records {
		records[i] = hard(b, i+1, 40)
	}

	for b.Loop() {
		match.Suggest(records, candidates, match.Usual())
	}
}

// BenchmarkEqualAmounts is a page and thousands of transactions that all have one amount.
func BenchmarkEqualAmounts(b *testing.B) {
	records, candidates := make([]match.Record, 250), make([]match.Candidate, 10000)
	for i := range records {
		records[i] = record(b, i+1, "2026-03-10", 10000, "TRANSFER FROM SOMEBODY")
	}

	for i := range candidates {
		candidates[i] = moved(b, i+1, "2026-03-09", 10000, "Payment by somebody else")
	}

	for b.Loop() {
		match.Suggest(records, candidates, match.Usual())
	}
}

// BenchmarkPage is a page of 250 records of a quarter among growing numbers of transactions: half of them have their
// transaction, the others are payouts of a channel.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{5000, 20000, 80000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			first := on(b, "2026-01-01")

			candidates := make([]match.Candidate, n)
			for i := range candidates {
				c := moved(b, i+1, "2026-01-01", money.Cents(5000+random.IntN(200000)), "Payment of a guest, stay at the lake")
				c.Channel = []string{"", "airbnb", "vrbo", "booking"}[random.IntN(4)]
				c.TransactionID = [16]byte{12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
				c.Date = first.AddDays(random.IntN(90))
				c.Codes = []string{fmt.Sprintf("HM%08d", i)}
				candidates[i] = c
			}

			records := make([]match.Record, 250)
			for i := range records {
				c := candidates[random.IntN(n)]
				records[i] = record(b, i+1, "2026-01-01", c.Amount, "ACH CREDIT AIRBNB PAYMENTS 4977 ID:1234567890")

				records[i].Date = c.Date.AddDays(1)
				if i%2 == 0 {
					records[i].Amount += candidates[random.IntN(n)].Amount
				}
			}

			for b.Loop() {
				match.Suggest(records, candidates, match.Usual())
			}

			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/candidate")
		})
	}
}
