package main

import (
	"os"

	"stayledger/app"
)

// metricsCmd has what operators load into the programs that watch the service.
type metricsCmd struct {
	Dashboard metricsDashboard `cmd:"" help:"Print a dashboard for Grafana."`
	Alerts    metricsAlerts    `cmd:"" help:"Print alert rules for Prometheus."`
}

type metricsDashboard struct{}

// Run prints the dashboard.
func (*metricsDashboard) Run(*runContext) error { return printMade(app.Dashboard()) }

type metricsAlerts struct{}

// Run prints the rules.
func (*metricsAlerts) Run(*runContext) error { return printMade(app.AlertRules()) }

// printMade prints a file unless it could not be made.
func printMade(file []byte, err error) error {
	if err == nil {
		_, err = os.Stdout.Write(file)
	}

	return err
}
