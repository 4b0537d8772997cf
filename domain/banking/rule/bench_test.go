package rule_test

import (
	"fmt"
	"testing"

	"stayledger/domain/banking/rule"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

const benchRecords = 100_000

// BenchmarkRun is a run of 20 and of 200 rules over 100 thousand records. The shapes go from rules that differ in all
// that they look at to rules that all ask for the same text, so that they differ only in their other
// conditions.
func BenchmarkRun(b *testing.B) {
	shapes := map[string]func(n int) rule.Rule{
		"vendors": func(n int) rule.Rule {
			return simple(n, rule.Condition{rule.Description, rule.Contains, fmt.Sprintf("Vendor %03d", n)})
		},
		"accounts": func(n int) rule.Rule {
			r := simple(n, rule.Condition{rule.Description, rule.Contains, "payment"})
			r.AccountIDs = []id.ID{seq(n)}

			return r
		},
		"any": func(n int) rule.Rule {
			r := simple(n, rule.Condition{rule.Description, rule.StartsWith, fmt.Sprintf("no. %d", n)})

			r.MatchMode = rule.Any
			for _, word := range []string{"bill", "fee", "rent"} {
				r.Conditions = append(r.Conditions, rule.Condition{rule.Description, rule.Contains, fmt.Sprint(word, " ", n)})
			}

			return r
		},
		"same text": func(n int) rule.Rule {
			r := simple(n, rule.Condition{rule.Description, rule.Contains, "card payment"})
			r.Conditions = append(r.Conditions, rule.Condition{rule.Amount, rule.Between, fmt.Sprintf("%d...%d", n*100000, n*100000+10)})

			return r
		},
		"no text": func(n int) rule.Rule {
			return simple(n, rule.Condition{rule.Amount, rule.Between, fmt.Sprintf("%d...%d", n*100000, n*100000+10)})
		},
	}

	records := make([]rule.Record, benchRecords)
	for i := range records {
		records[i] = spent(fmt.Sprintf("CARD PAYMENT 0412 Vendor %03d SAN FRANCISCO CA %08d", i%400, i), money.Cents(1000+i%7919))
		records[i].AccountID = seq(i%250 + 1)
		records[i].Reference = fmt.Sprintf("FITID%012d", i)
	}

	for _, shape := range []string{"vendors", "accounts", "any", "same text", "no text"} {
		for _, rules := range []int{20, 200} {
			var all []rule.Rule
			for n := range rules {
				all = append(all, shapes[shape](n+1))
			}

			b.Run(fmt.Sprint(shape, "/", rules), func(b *testing.B) {
				taken := 0

				for b.Loop() {
					pass := compile(b, all...).Pass()
					taken = 0

					for i := range records {
						if d := pass.Decide(&records[i]); d.Transaction != nil {
							taken++
						}
					}
				}

				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
				b.ReportMetric(float64(taken), "taken")
			})
		}
	}
}
