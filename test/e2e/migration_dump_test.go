package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// legacyDump is a dump of a legacy team as the test reads it.
type legacyDump struct {
	Accounts     []struct{ Key, Name, Classification string }
	Owners       []struct{ ID string }
	Listings     []legacyListing
	Connections  []struct{ ID string }
	Reservations []struct{ ID string }
	Templates    []struct{ ID, Name string }
	Statements   []legacyStatement

	raw      string
	listings map[string]*legacyListing
}

type legacyListing struct {
	ID, Currency string
	Owners       []struct {
		OwnerID, StartAt, EndAt string
		Split                   int64
	}
}

type legacyStatement struct {
	ID, ListingID, Status, StartAt, EndAt, Currency string
	BalanceStart, BalanceEnd                        int64
	Lines                                           []legacyLine
}

type legacyLine struct {
	Type, AccountKey, Description, Date, OwnerID string
	Amount                                       int64
}

// generateDump returns a dump that the binary prints.
func generateDump(t *testing.T, listings, months int) *legacyDump {
	t.Helper()

	d := &legacyDump{listings: map[string]*legacyListing{}}
	d.raw = command(t, "", "sandbox", "legacy", "--listings", strconv.Itoa(listings), "--months", strconv.Itoa(months), "--seed", "5")

	if err := json.Unmarshal([]byte(d.raw), d); err != nil {
		t.Fatal(err)
	}

	for i := range d.Listings {
		d.listings[d.Listings[i].ID] = &d.Listings[i]
	}

	return d
}

// codesByHand are the accounts of the standard chart that a bookkeeper would choose for the legacy ones.
var codesByHand = map[string]string{
	"acc-rent": "4000", "acc-cleaning-income": "4010", "acc-pet": "4020", "acc-channel": "5000", "acc-commission": "5100", "acc-cleaning": "5110",
	"acc-repairs": "5200",
}

// oddKey is the legacy account for which nothing is suggested.
const oddKey = "acc-goodwill"

// importable returns the statements that a new team gets, and the reasons for which final ones are left out by their ids.
func (d *legacyDump) importable() (taken []*legacyStatement, skipped map[string]string) {
	skipped = map[string]string{}

	var final []*legacyStatement

	for i := range d.Statements {
		if s := &d.Statements[i]; s.Status == "posted" || s.Status == "published" {
			final = append(final, s)
		}
	}

	slices.SortFunc(final, func(a, b *legacyStatement) int {
		return cmp.Or(cmp.Compare(a.ListingID, b.ListingID), cmp.Compare(a.StartAt, b.StartAt), cmp.Compare(a.ID, b.ID))
	})

	until := map[string]string{} // the last day that a listing has a statement of

	for _, s := range final {
		if reason := d.whyNot(s, until[s.ListingID]); reason != "" {
			skipped[s.ID] = reason
			continue
		}

		until[s.ListingID] = s.EndAt
		taken = append(taken, s)
	}

	return taken, skipped
}

// whyNot returns why a statement cannot be imported, empty for one that can; until is the last day of those before it.
func (d *legacyDump) whyNot(s *legacyStatement, until string) string {
	var sum int64

	owners, changes := map[string]bool{}, false

	for _, o := range d.listings[s.ListingID].Owners {
		for _, at := range []string{o.StartAt, o.EndAt} {
			changes = changes || at > s.StartAt && at <= s.EndAt
		}

		if o.StartAt <= s.StartAt && (o.EndAt == "" || o.EndAt > s.StartAt) {
			sum += o.Split
			owners[o.OwnerID] = true
		}
	}

	paid, others := false, false

	for _, l := range s.Lines {
		if l.Type == "payout" && l.Amount != 0 {
			paid = true
			others = others || l.OwnerID != "" && !owners[l.OwnerID]
		}
	}

	switch {
	case sum == 0 || changes:
		return "noOwnershipPeriod"
	case s.StartAt <= until:
		return "overlap"
	case paid && sum != 100_000:
		return "noMembers"
	case others:
		return "payeeNotMember"
	default:
		return ""
	}
}

// cutover returns the first day of the month after the last final statement.
func (d *legacyDump) cutover(t *testing.T) string {
	t.Helper()

	last := ""

	for _, s := range d.Statements {
		if s.Status == "posted" || s.Status == "published" {
			last = max(last, s.EndAt)
		}
	}

	day, err := time.Parse(time.DateOnly, last)
	if err != nil {
		t.Fatal(err)
	}

	return time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// movedStatement is what of a statement has to be the same before and after it has moved.
type movedStatement struct {
	currency, startAt, endAt               string
	start, revenue, expenses, payouts, end int64
	lines                                  []string // code, cents, day and description of each but the payouts
	byAccount                              map[string]int64
	payoutDays                             map[string]int64 // cents by day
	listing                                string
}

// expect returns the statements that a new team has when the goodwill is on an account.
func (d *legacyDump) expect(odd string) map[string]*movedStatement {
	out := map[string]*movedStatement{}
	taken, _ := d.importable()

	for _, s := range taken {
		m := &movedStatement{
			currency: cmp.Or(s.Currency, "usd"), startAt: s.StartAt, endAt: s.EndAt, start: s.BalanceStart, end: s.BalanceEnd,
			byAccount: map[string]int64{}, payoutDays: map[string]int64{}, listing: s.ListingID,
		}

		for _, l := range s.Lines {
			day := cmp.Or(l.Date, s.EndAt)

			if l.Amount == 0 {
				continue
			}

			if l.Type == "payout" {
				m.payouts -= l.Amount
				m.payoutDays[day] -= l.Amount

				continue
			}

			code := cmp.Or(codesByHand[l.AccountKey], odd)
			m.byAccount[code] += l.Amount
			m.lines = append(m.lines, fmt.Sprintf("%s %d %s %s", code, l.Amount, day, l.Description))

			if strings.HasPrefix(code, "4") {
				m.revenue += l.Amount
			} else {
				m.expenses += l.Amount
			}
		}

		slices.Sort(m.lines)

		out[s.ID] = m
	}

	return out
}
