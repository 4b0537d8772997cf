package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const guideFolder = "../../docs/guides/first-hour"

// month is a house's owner statement of October 2026, computed by hand in cents.
type month struct {
	house string
	// start is the opening balance, net the revenue after the fees, expenses the bills, paid what the owners were paid.
	start, net, expenses, paid int64
	// end is their sum.
	end int64
}

// october has the statements that the six files of the guide are about. A stay counts on the day of check-in. Its net
// revenue is the rent, less 20 % of it, rounded to the cent, less the fee of its channel; the cleaning that guests pay
// goes to the manager in whole and cancels out. Canceled stays and the stay of November count nothing.
var october = []month{
	// HMA2KX91: 800.00 - 160.00 - 27.60 = 612.40 (Airbnb keeps 3 % of 920.00). D-1042: 540.00 - 108.00 = 432.00.
	{"Dune House", 1250_00, 612_40 + 432_00, -185_00, -1000_00, 1109_40},
	// HMB7QQ12: 1960.00 - 392.00 - 64.20 = 1503.80. HMC3ZT45 is canceled.
	{"Shore House", 840_50, 1503_80, 0, 0, 2344_30},
	// D-1043: 457.50 - 91.50 = 366.00.
	{"Palm Cottage", 312_00, 366_00, 0, 0, 678_00},
	// HMD8LP77: 2450.00 - 490.00 - 78.00 = 1882.00. HA-88120: 2310.35 - 462.07 - 123.02 = 1725.26 (Vrbo keeps 5 %).
	{"Reef Loft", 2600_75, 1882_00 + 1725_26, -1240_90, 0, 4967_11},
	// HMF1RS03: 290.00 - 58.00 - 10.95 = 221.05. The bill of 31 October is not paid, and is a cost of October.
	{"Heron Cabin", -80_50, 221_05, -450_00, 0, -309_45},
	// HA-88131: 6200.00 - 1240.00 - 327.50 = 4632.50. D-1044: 1800.00 - 360.00 = 1440.00, all of it on 30 October.
	{"Lagoon Villa", 4100_00, 4632_50 + 1440_00, 0, -1000_00, 9172_50},
	// HMG4WW58: 625.00 - 125.00 - 21.15 = 478.85.
	{"Mangrove Flat", 0, 478_85, 0, 0, 478_85},
	// HMH9DD60: 480.00 - 96.00 - 17.25 = 366.75. HA-88144 is canceled.
	{"Pelican Nest", 575_33, 366_75, 0, 0, 942_08},
	// D-1045: 380.00 - 76.00 = 304.00.
	{"Coral Studio", 120_10, 304_00, 0, 0, 424_10},
	// HMJ5FF33: 1050.00 - 210.00 - 34.80 = 805.20.
	{"Harbor Row 1", 765_00, 805_20, -90_00, 0, 1480_20},
	// HMK6GG44: 980.00 - 196.00 - 32.70 = 751.30. HA-88150: 510.00 - 102.00 - 31.00 = 377.00, out on 1 November.
	{"Harbor Row 2", 764_99, 751_30 + 377_00, -90_00, 0, 1803_29},
	// HMN2HH21: 1400.99 - 280.20 - 48.03 = 1072.76. HMP8JJ10 comes on 6 November.
	{"Lighthouse", 3050_00, 1072_76, -312_75, 0, 3810_01},
}

// firstHour is the team of the guide.
type firstHour struct {
	client

	team string
}

// TestFirstHour pastes the guide into a shell, in the folder of its files, and holds the books against what was computed
// by hand.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	h := newFirstHour(t)

	h.wantStatements()
}

// newFirstHour starts the service and runs the guide.
func newFirstHour(t *testing.T) *firstHour {
	t.Helper()

	database := emptyDatabase(t)
	p := start(t, database, t.TempDir(), "serve")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	// The last line of the output is the key of the team that the guide has made, however far it comes.
	shell := exec.CommandContext(ctx, "sh", "-euc", "trap 'echo \"$KEY\"' EXIT\n"+guideScript(t))
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "DATABASE_URL="+database, "STAYLEDGER_URL="+p.base,
		"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))

	if err := os.CopyFS(shell.Dir, os.DirFS(guideFolder)); err != nil {
		t.Fatal(err)
	}

	out, err := shell.CombinedOutput()
	lines := strings.Fields(string(out))
	h := &firstHour{client: client{t: t, base: p.base, key: lines[len(lines)-1]}}

	if err != nil {
		h.explain()
		t.Fatalf("the guide: %v\n%s", err, out)
	}

	return h
}

// explain logs the imports of the team and the rows that did not get in.
func (h *firstHour) explain() {
	h.t.Helper()

	for _, it := range h.get("/csv-imports/previews?sort=createdAt").want(200).list("data") {
		h.t.Logf("%v: %v %v %v %v", it["filename"], it["status"], it["counts"], it["outcomes"], it["issues"])

		for _, row := range h.get("/csv-imports/previews/" + fmt.Sprint(it["id"]) + "/rows?limit=250").want(200).list("data") {
			if row["status"] != "valid" && row["status"] != "part" || row["outcome"] == "failed" {
				h.t.Logf("%v %v %v %v %v", row["cells"], row["status"], row["outcome"], row["reason"], row["issues"])
			}
		}
	}
}

// guideScript returns all blocks of the guide that are for a shell.
func guideScript(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile(guideFolder + ".md")
	if err != nil {
		t.Fatal(err)
	}

	var script strings.Builder

	for i, block := range strings.Split(string(text), "```") {
		if commands, isShell := strings.CutPrefix(block, "sh\n"); i%2 == 1 && isShell {
			script.WriteString(commands)
		}
	}

	return script.String()
}

// wantStatements holds the statements of October against those that were computed by hand.
func (h *firstHour) wantStatements() {
	h.t.Helper()

	want, got := map[string]month{}, map[string]month{}
	for _, m := range october {
		want[m.house] = m

		if m.start+m.net+m.expenses+m.paid != m.end {
			h.t.Errorf("%s does not add up", m.house)
		}
	}

	for _, s := range h.get("/statements?month=2026-10&limit=100").want(200).list("data") {
		f, _ := s["financials"].(map[string]any)
		listing, _ := s["listing"].(map[string]any)
		m := month{
			house: fmt.Sprint(listing["name"]), start: number(f["balanceStart"]), net: number(f["netRevenue"]),
			expenses: number(f["expenses"]), paid: number(f["payouts"]), end: number(f["balanceEnd"]),
		}
		got[m.house] = m
	}

	compare(h.t, "the statement", want, got)
}
