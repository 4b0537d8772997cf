package app

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Dashboard returns a dashboard for Grafana with a panel for each row of watchedMetrics that has one.
func Dashboard() ([]byte, error) {
	type object = map[string]any

	var panels []object

	// Two panels in a row of 24 columns. Grafana asks for the data source once for all of them.
	const width, height = 12, 8

	source := object{"type": "prometheus", "uid": "${source}"}

	for i := range watchedMetrics {
		w := &watchedMetrics[i]
		if w.title == "" {
			continue
		}

		targets := make([]object, len(w.queries))
		for n, q := range w.queries {
			targets[n] = object{"refId": string(rune('A' + n)), "expr": q.expr, "legendFormat": q.legend, "datasource": source}
		}

		defaults := object{"unit": w.unit, "min": 0}

		var notes []string

		for _, a := range w.alerts {
			notes = append(notes, a.means+" "+a.do)

			// Only a limit of the expression that is drawn belongs on the panel.
			if a.expr == "" {
				defaults["custom"] = object{"thresholdsStyle": object{"mode": "line"}}
				defaults["thresholds"] = object{"mode": "absolute", "steps": []object{
					{"color": "transparent", "value": nil}, {"color": "red", "value": a.limit},
				}}
			}
		}

		n := len(panels)
		panels = append(panels, object{
			"id": n + 1, "type": "timeseries", "title": w.title, "description": strings.Join(notes, "\n\n"), "datasource": source,
			"gridPos":     object{"x": n % 2 * width, "y": n / 2 * height, "w": width, "h": height},
			"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
			"targets":     targets,
		})
	}

	out, err := json.MarshalIndent(object{
		"uid": "stayledger", "title": "stayledger", "schemaVersion": 39, "editable": true, "refresh": "1m",
		"time": object{"from": "now-6h", "to": "now"}, "tags": []string{"stayledger"}, "panels": panels,
		"templating": object{"list": []object{{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the dashboard: %w", err)
	}

	return append(out, '\n'), nil
}

// AlertRules returns the rules for Prometheus of all alerts of watchedMetrics.
func AlertRules() ([]byte, error) {
	type rule struct {
		Alert       string            `yaml:"alert"`
		Expr        string            `yaml:"expr"`
		For         string            `yaml:"for"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	}

	type group struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	}

	var rules []rule

	for i := range watchedMetrics {
		w := &watchedMetrics[i]
		for _, a := range w.alerts {
			expr := a.expr
			if expr == "" {
				expr = w.queries[0].expr
			}

			rules = append(rules, rule{
				Alert: a.name, Expr: fmt.Sprintf("%s %s %v", expr, a.op, a.limit), For: a.wait,
				Labels: map[string]string{"severity": a.severity}, Annotations: map[string]string{"summary": a.means, "description": a.do},
			})
		}
	}

	out, err := yaml.Marshal(map[string][]group{"groups": {{Name: "stayledger", Rules: rules}}})
	if err != nil {
		return nil, fmt.Errorf("write the alert rules: %w", err)
	}

	return out, nil
}
