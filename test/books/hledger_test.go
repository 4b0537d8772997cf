package books_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stayledger/domain/setup/demo"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// needHledger fails where the program is missing: books that only we have added up are not checked.
func needHledger(t *testing.T) {
	t.Helper()

	if _, err := exec.LookPath("hledger"); errors.Is(err, exec.ErrNotFound) {
		t.Fatal("hledger is not installed; scripts/ensure hledger installs it")
	}
}

// demoMonths are the months of the demo's books, oldest first.
var demoMonths = []string{"2026-03", "2026-04", "2026-05", "2026-06"}

// demo is a team with the sample books of four listings over four months, and a few journals written by hand.
func sampleTeam(t *testing.T) *team {
	t.Helper()
	x := newTeam(t)
	x.Exec(`update team set statement_start_at = null where team_id = @team`, nil)

	data := demo.Data{Months: int64(len(demoMonths)), Listings: 4, Seed: 11, Today: dayOf(t, "2026-06-15")}
	if err := demo.Fill(t.Context(), x.DB, x.Scope(), data, func(float64) {}); err != nil {
		t.Fatal(err)
	}

	return x
}

func dayOf(t testing.TB, text string) day.Day {
	t.Helper()

	d, err := day.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// name is an account in the plain-text format: the colon separates, and two spaces end a name.
func (a account) name() string {
	return a.Classification + ":" + strings.Join(strings.Fields(strings.ReplaceAll(a.Code+" "+a.Name, ":", "-")), " ")
}

// writeJournal writes the entries in the plain-text format of hledger and gives the file's name.
func (x *team) writeJournal(all []entry) string {
	x.t.Helper()

	classes := map[string]account{}
	for _, a := range x.accounts {
		classes[a.ID.String()] = a
	}

	postings := map[string][]entry{}

	for _, e := range all {
		key := strings.Join([]string{e.TxnAt, e.TxnCode, e.Ledger, e.Currency}, " ")
		postings[key] = append(postings[key], e)
	}

	var out strings.Builder
	out.WriteString("commodity USD 1000.00\n")

	for _, key := range slices.Sorted(maps.Keys(postings)) {
		entries := postings[key]
		first := &entries[0]
		fmt.Fprintf(&out, "\n%s (%s) %s\n", first.TxnAt, first.TxnCode, first.TriggerType)

		for i := range entries {
			e := &entries[i]

			a, known := classes[e.Account.ID.String()]
			if !known {
				x.t.Fatalf("an entry is on account %s, which the chart does not show", e.Account.ID)
			}

			unit := money.Currency(e.Currency)
			amount := money.Cents(e.CentTotal).Decimal(unit)
			fmt.Fprintf(&out, "    %s  %s %s  ; ledger:%s, party:%s, ref:%s\n",
				a.name(), unit.Code(), amount, e.Ledger, e.Party,
				strings.ReplaceAll(e.UniqueRef, ",", " "))
		}
	}

	file := filepath.Join(x.t.TempDir(), "books.journal")
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		x.t.Fatal(err)
	}

	return file
}

// centsOf reads what hledger prints.
func centsOf(t *testing.T, text string) int64 {
	t.Helper()

	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "USD"), "USD"))
	if text == "" || text == "0" {
		return 0
	}

	whole, part, _ := strings.Cut(text, ".")

	cents, err := strconv.ParseInt(whole+(part + "00")[:2], 10, 64)
	if err != nil || len(part) > 2 {
		t.Fatalf("hledger says %q", text)
	}

	return cents
}

// hledger runs a balance command and gives the amounts by account and column; the columns are the months asked for, or
// "" for a single one.
func hledger(t *testing.T, file string, args ...string) map[string]map[string]int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hledger", append([]string{"--file", file}, append(args, "--output-format", "csv")...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LEDGER_FILE=")

	var stderr strings.Builder

	cmd.Stderr = &stderr

	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("hledger %v: %v: %s", args, err, &stderr)
	}

	reader := csv.NewReader(strings.NewReader(string(printed)))
	reader.FieldsPerRecord = -1

	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatalf("hledger %v: %v: %s", args, err, printed)
	}

	out := map[string]map[string]int64{}

	for _, row := range rows[1:] {
		if !strings.Contains(row[0], ":") {
			continue // headings and totals
		}

		amounts := map[string]int64{}
		for i, column := range rows[0][1:] {
			amounts[column[:min(len(column), len("2026-01"))]] = centsOf(t, row[i+1])
		}

		out[row[0]] = amounts
	}

	return out
}

// trial is a trial balance by account name: beginning, debit, credit and ending.
func (x *team) trial(start, end, ledger string) map[string][4]int64 {
	x.t.Helper()

	var answer struct {
		Data []struct {
			Account                          account
			Beginning, Debit, Credit, Ending int64
		}
		Totals struct{ Beginning, Debit, Credit, Ending int64 }
	}

	path := "/reports/trial-balance?startDate=" + start + "&endDate=" + end
	if ledger != "" {
		path += "&ledger=" + ledger
	}

	x.read(path, &answer)

	if answer.Totals.Debit != answer.Totals.Credit || answer.Totals.Beginning != 0 || answer.Totals.Ending != 0 {
		x.t.Errorf("%s does not balance: %+v", path, answer.Totals)
	}

	out := map[string][4]int64{}
	for _, row := range answer.Data {
		out[x.accounts[row.Account.Code].name()] = [4]int64{row.Beginning, row.Debit, row.Credit, row.Ending}
	}

	return out
}

// TestBooksAgreeWithHledger writes the journal in plain text and has another program add it up: per account and month
// and over all, for both ledgers together and each alone. A cent of difference fails.
func TestBooksAgreeWithHledger(t *testing.T) {
	t.Parallel()
	needHledger(t)
	x := sampleTeam(t)

	all := x.entries("")
	if len(all) < 500 {
		t.Fatalf("the demo has %d entries", len(all))
	}

	file := x.writeJournal(all)

	var stderr strings.Builder

	check := exec.CommandContext(t.Context(), "hledger", "--file", file, "check")

	check.Stderr = &stderr
	if err := check.Run(); err != nil {
		t.Fatalf("hledger refuses the journal: %v: %s", err, &stderr)
	}

	for _, ledger := range []string{"", "trust", "operating"} {
		query := []string{}
		if ledger != "" {
			query = append(query, "tag:ledger="+ledger)
		}

		compareMonths(t, x, file, ledger, query)
		compareAll(t, x, file, ledger, query)
	}

	compareStatements(t, x, file)
}

func balanceArgs(query []string, more ...string) []string {
	return append(append([]string{"balance", "--flat", "--no-total"}, more...), query...)
}

func compareMonths(t *testing.T, x *team, file, ledger string, query []string) {
	t.Helper()
	debits := hledger(t, file, balanceArgs(query, "--monthly", "amt:>0")...)
	credits := hledger(t, file, balanceArgs(query, "--monthly", "amt:<0")...)

	endings := hledger(t, file, balanceArgs(query, "--monthly", "--historical", "--empty")...)
	for _, month := range demoMonths {
		before := dayOf(t, month+"-01").AddDays(-1).String()[:len(month)]

		got := x.trial(month, month, ledger)
		for name := range union(debits, credits, endings, got) {
			want := [4]int64{endings[name][before], debits[name][month], -credits[name][month], endings[name][month]}
			if got[name] != want {
				t.Errorf("%s %s %s: the trial balance says %v, hledger %v", ledger, month, name, got[name], want)
			}
		}
	}
}

func compareAll(t *testing.T, x *team, file, ledger string, query []string) {
	t.Helper()
	debits := hledger(t, file, balanceArgs(query, "amt:>0")...)
	credits := hledger(t, file, balanceArgs(query, "amt:<0")...)

	got := x.trial("2000", "2035", ledger)
	for name := range union(debits, credits, nil, got) {
		debit, credit := only(debits[name]), -only(credits[name])
		if want := [4]int64{0, debit, credit, debit - credit}; got[name] != want {
			t.Errorf("%s %s: the trial balance says %v, hledger %v", ledger, name, got[name], want)
		}
	}
}

// only is the amount of a table with one column.
func only(amounts map[string]int64) (cents int64) {
	for _, c := range amounts {
		cents += c
	}

	return cents
}

func union(a, b, c map[string]map[string]int64, d map[string][4]int64) map[string]bool {
	out := map[string]bool{}

	for _, m := range []map[string]map[string]int64{a, b, c} {
		for name := range m {
			out[name] = true
		}
	}

	for name := range d {
		out[name] = true
	}

	return out
}
