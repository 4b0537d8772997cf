package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// place is what is added up: an account in a month, of a listing by its id in the system.
type place struct{ listing, account, month string }

// book is a set of sums in cents by place. Sums of zero are left out.
type book map[place]int64

func (b book) add(p place, cents int64) {
	if b[p] += cents; b[p] == 0 {
		delete(b, p)
	}
}

// ofOwners are the accounts whose entries of stays are the owners'.
var ofOwners = []string{"4000", "4010", "4020", "4090", "5100"}

// accountsByHand are where a bookkeeper posts what guests pay for.
var accountsByHand = map[string]string{
	"rent": "4000", "discount": "4000", "cleaningFee": "4010", "guestFee": "4020", "tax": "2100", "channelTax": "2110", "retained": "4090",
}

// byHand posts the rows of the system by hand.
func (r *rental) byHand() book {
	r.t.Helper()

	out := book{}
	r.addByHand(out, func(string) bool { return true })

	return out
}

// addByHand posts by hand the rows of the system that are earned on days of a kind.
func (r *rental) addByHand(out book, isWanted func(day string) bool) {
	r.t.Helper()

	owned := map[string]bool{}
	for i := range r.owned {
		owned[r.system.listing(i+1)] = true
	}

	for n := 1; n <= r.stays; n++ {
		row := r.row(n)
		if row == nil {
			continue
		}

		s, counts := r.system.read(row)
		if !counts || !isWanted(s.day) {
			continue
		}

		month := cmp.Or(r.posted[r.system.stay(n)], s.day)[:len("2025-01")]
		left := s.total

		for what, cents := range s.cents {
			account, known := accountsByHand[what]
			if !known {
				r.t.Fatalf("%s of %v has no account", what, row)
			}

			out.add(place{s.listing, account, month}, -cents)
			left -= cents
		}

		// What no line explains is in no account until a person has said that it is a fee of the guest's. The manager takes a fifth of the
		// rent.
		if r.isExplained {
			out.add(place{s.listing, "4020", month}, -left)
			out.add(place{s.listing, "2000", month}, left)
		}

		out.add(place{s.listing, "2000", month}, s.total-left)

		if fee := (s.cents["rent"]*20 + 50) / 100; owned[s.listing] {
			out.add(place{s.listing, "5100", month}, fee)
			out.add(place{s.listing, "4100", month}, -fee)
		}
	}
}

// explain holds the issues about stated totals to what the lines of the rows lack of them, and has the team say what these amounts are: fees
// of the guests.
func (r *rental) explain() {
	r.t.Helper()

	want, got := map[string]int64{}, map[string]int64{}

	for n := 1; n <= r.stays; n++ {
		row := r.row(n)
		if row == nil {
			continue
		}

		s, counts := r.system.read(row)

		left := s.total
		for _, cents := range s.cents {
			left -= cents
		}

		if counts && left != 0 {
			want[fmt.Sprint(row[r.system.code])] = left
		}
	}

	for cursor := ""; ; {
		page := r.get("/teams/issues?code=totalDeviation&limit=250" + cursor).want(200)
		for _, issue := range page.list("data") {
			context, _ := issue["context"].(map[string]any)
			got[fmt.Sprint(context["confirmationCode"])] = whole(context["centTotal"])
		}

		if page.at("page.hasMore") != true {
			break
		}

		cursor = "&cursor=" + page.text("page.nextCursor")
	}

	if len(want) == 0 || !maps.Equal(got, want) {
		r.t.Errorf("%d totals are issues, want %d: %v, want %v", len(got), len(want), got, want)
	}

	r.post("/reservations/line-mappings", object{"lineType": "difference", "accountId": r.accounts["4020"], "party": "owners"}).want(201)
	r.outlast()
	r.isExplained = true
}

// bookedEntry is a row of the export of journal entries.
type bookedEntry struct {
	txn, day, ledger, listing, account string
	amount                             string
}

// export makes an export and returns its file.
func (r *rental) export(path string, selection object) []byte {
	r.t.Helper()

	ack := r.post(path, selection)
	r.done(ack)

	file := r.get("/operations/" + ack.text("operationId")).list("resources")[0]

	return r.get(fmt.Sprint(file["url"])).want(200).body
}

// entries exports the journal entries.
func (r *rental) entries() []bookedEntry {
	r.t.Helper()

	file := r.export("/reports/journal-entries/csv", object{"columns": []string{"txnCode", "txnAt", "ledger", "listingId", "accountCode", "amount", "currency"}})

	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		r.t.Fatal(err)
	}

	var out []bookedEntry

	for _, row := range rows[1:] {
		out = append(out, bookedEntry{row[0], row[1], row[2], row[3], row[4], row[5]})
	}

	return out
}

// checkBooks holds the entries of each listing, account and month to those by hand, and returns both.
func (r *rental) checkBooks(when string) ([]bookedEntry, book) {
	r.t.Helper()

	entries, want := r.entries(), r.byHand()
	r.compareBooks(when, r.refs(), entries, want)

	return entries, want
}

// compareBooks holds entries to a book by hand, in which listings have the names of refs.
func (r *rental) compareBooks(when string, refs map[string]string, entries []bookedEntry, want book) {
	r.t.Helper()

	got := book{}

	for _, e := range entries {
		got.add(place{refs[e.listing], e.account, e.day[:len("2025-01")]}, centsIn(e.amount))
	}

	r.t.Logf("%s: %d entries, %d sums", when, len(entries), len(want))

	if len(want) < 5*r.listings {
		r.t.Errorf("%s: by hand there are only %d sums", when, len(want))
	}

	shown := 0

	for p := range union(got, want) {
		if got[p] == want[p] {
			continue
		}

		if shown++; shown <= 20 {
			r.t.Errorf("%s: %v is %d, by hand %d", when, p, got[p], want[p])
		}
	}
}

// union returns the places of two books.
func union(a, b book) book {
	out := maps.Clone(a)
	maps.Copy(out, b)

	return out
}

// checkWithHledger has hledger check the exported entries and add them up by account and month, and holds the sums to
// those by hand, and the balances to the trial balance.
func (r *rental) checkWithHledger(entries []bookedEntry, want book) {
	r.t.Helper()

	file := r.writeJournal(entries)
	r.hledger(file, "check")

	sums := map[[2]string]int64{}

	for p, cents := range want {
		key := [2]string{p.account, p.month}
		if sums[key] += cents; sums[key] == 0 {
			delete(sums, key)
		}
	}

	rows := r.hledger(file, "balance", "--flat", "--no-total", "--monthly", "--output-format", "csv")
	balances, compared := map[string]int64{}, 0

	for _, row := range rows[1:] {
		for i, text := range row[1:] {
			month := rows[0][i+1][:len("2025-01")]
			cents := hledgerCents(text)
			balances[row[0]] += cents

			if want := sums[[2]string{row[0], month}]; cents != want {
				r.t.Errorf("hledger has %d on %s in %s, by hand %d", cents, row[0], month, want)
			}

			if cents != 0 {
				compared++
			}
		}
	}

	if compared != len(sums) || compared == 0 {
		r.t.Errorf("hledger has %d sums of accounts and months, by hand there are %d", compared, len(sums))
	}

	for _, row := range r.get("/reports/trial-balance?startDate=2020&endDate=2035").want(200).list("data") {
		account, _ := row["account"].(object)
		if code := fmt.Sprint(account["code"]); fmt.Sprint(row["ending"]) != strconv.FormatInt(balances[code], 10) {
			r.t.Errorf("the trial balance has %v on %s, hledger %d", row["ending"], code, balances[code])
		}
	}
}

// writeJournal writes entries in the format of hledger and returns the name of the file.
func (r *rental) writeJournal(entries []bookedEntry) string {
	r.t.Helper()

	postings := map[string][]bookedEntry{}

	for _, e := range entries {
		key := e.day + " (" + e.txn + " " + e.ledger + ")"
		postings[key] = append(postings[key], e)
	}

	var out strings.Builder

	for _, key := range slices.Sorted(maps.Keys(postings)) {
		fmt.Fprintf(&out, "\n%s\n", key)

		for _, e := range postings[key] {
			fmt.Fprintf(&out, "    %s  USD %s  ; listing:%s\n", e.account, e.amount, e.listing)
		}
	}

	file := filepath.Join(r.t.TempDir(), "books.journal")
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}

	return file
}

// hledger runs a command of hledger and returns the rows that it prints. It fails where the program is missing: books
// that only we have added up are not checked.
func (r *rental) hledger(file string, args ...string) [][]string {
	r.t.Helper()

	cmd := exec.CommandContext(r.t.Context(), "hledger", append([]string{"--file", file}, args...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LEDGER_FILE=")

	var stderr strings.Builder

	cmd.Stderr = &stderr

	printed, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("hledger %v (scripts/ensure hledger installs it): %v: %s", args, err, &stderr)
	}

	rows, err := csv.NewReader(bytes.NewReader(printed)).ReadAll()
	if err != nil {
		r.t.Fatalf("hledger %v: %v: %s", args, err, printed)
	}

	return rows
}

// hledgerCents returns the cents of an amount that hledger prints.
func hledgerCents(text string) int64 {
	return centsIn(strings.TrimSpace(strings.Replace(text, "USD", "", 1)))
}
