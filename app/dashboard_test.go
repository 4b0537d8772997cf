package app_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"stayledger/app"
	"stayledger/platform/apitest"
	"stayledger/platform/golden"
)

// The files for operators are those that the table of metrics makes.
func TestTheFilesForOperatorsAreCurrent(t *testing.T) {
	t.Parallel()

	dashboard, err := app.Dashboard()
	if err != nil {
		t.Fatal(err)
	}

	golden.File(t, "../deploy/grafana-dashboard.json", dashboard)

	alerts, err := app.AlertRules()
	if err != nil {
		t.Fatal(err)
	}

	golden.File(t, "../deploy/alerts.yaml", alerts)

	if !json.Valid(dashboard) {
		t.Error("the dashboard is no JSON")
	}

	// What Prometheus asks of rules: names once, a duration, a severity that alerts are sent by, and what a person reads.
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(alerts, &rules); err != nil || len(rules.Groups) != 1 {
		t.Fatalf("the rules: %v", err)
	}

	seen := map[string]bool{}

	for _, r := range rules.Groups[0].Rules {
		if seen[r.Alert] || !regexp.MustCompile(`^Stayledger\w+$`).MatchString(r.Alert) || !regexp.MustCompile(`^\d+[mh]$`).MatchString(r.For) ||
			!regexp.MustCompile(` [<>] [\d.]+$`).MatchString(r.Expr) || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("the rule %+v", r)
		}

		seen[r.Alert] = true
	}
}

// suffixes of the series of a histogram.
var suffixes = regexp.MustCompile(`_(bucket|sum|count)$`)

// exposed returns the metrics of a service that has answered a request and done a job, with their labels.
func exposed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	r := run(t, apitest.Database(t), func(*app.Config) {})
	r.until(r.base+"/readyz", http.StatusOK, "ok")

	_, key := r.office()
	r.export(key)

	_, body := r.get(r.ops+"/metrics", "")
	labels := map[string]map[string]bool{}

	for _, m := range regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`).FindAllStringSubmatch(body, -1) {
		if labels[m[1]] == nil {
			labels[m[1]] = map[string]bool{}
		}

		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			labels[m[1]][l[1]] = true
		}
	}

	return labels
}

// Each metric that the service exposes is in the table, and the table has no other; expressions name metrics with labels
// that they have.
func TestEachMetricIsWatchedOrLeftOut(t *testing.T) {
	t.Parallel()

	metrics, table := exposed(t), app.WatchedMetrics()

	// Prometheus adds its own metric and two labels.
	metrics["up"] = map[string]bool{}

	isIn := func(name string) bool {
		_, isThere := table[name]

		return isThere || slices.ContainsFunc(slices.Collect(maps.Keys(table)), func(row string) bool {
			start, isPattern := strings.CutSuffix(row, "*")
			return isPattern && strings.HasPrefix(name, start)
		})
	}

	guide, err := os.ReadFile("../docs/guides/operating.md")
	if err != nil {
		t.Fatal(err)
	}

	known := map[string]bool{}

	for series := range metrics {
		name := suffixes.ReplaceAllString(series, "")
		known[name], known[series] = true, true

		if !isIn(name) {
			t.Errorf("%s is on no panel and has no alert: give it a row of watchedMetrics", name)
		}

		if strings.HasPrefix(name, "stayledger_") && !strings.Contains(string(guide), name) {
			t.Errorf("docs/guides/operating.md does not name %s", name)
		}
	}

	for name, without := range table {
		if isPattern := strings.HasSuffix(name, "*"); !isPattern && !known[name] || isPattern != (without != "") {
			t.Errorf("%s is in the table, but no metric", name)
		}
	}

	for _, expr := range app.WatchedExpressions() {
		checkExpression(t, expr, metrics)
	}
}

// checkExpression fails for an expression with a series that is not exposed, a label that none of its series has, or a
// parenthesis too few.
func checkExpression(t *testing.T, expr string, metrics map[string]map[string]bool) {
	t.Helper()

	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: parentheses", expr)
	}

	labels := map[string]bool{"job": true, "instance": true, "le": true}

	for _, series := range regexp.MustCompile(`\b(?:up|(?:stayledger|process|go)_\w+)\b`).FindAllString(strings.ReplaceAll(expr, `job="stayledger"`, ""), -1) {
		if metrics[series] == nil {
			t.Errorf("%s: there is no series %s", expr, series)
		}

		maps.Copy(labels, metrics[series])
	}

	for _, m := range regexp.MustCompile(`(?:by|ignoring) \(([^)]*)\)|(\w+)(?:=|=~|!=)"`).FindAllStringSubmatch(expr, -1) {
		for _, label := range strings.FieldsFunc(m[1]+m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			if !labels[label] {
				t.Errorf("%s: no series has the label %s", expr, label)
			}
		}
	}
}
