package app

// watched is a metric of the service: its panel on the dashboard, and what operators are alerted to. Each metric that
// the service exposes has a row; the files deploy/grafana-dashboard.json and deploy/alerts.yaml are made of the rows.
type watched struct {
	// metric is the name, or with a star at the end the beginning of names.
	metric string
	// title and unit (of Grafana) are those of the panel, which shows the queries; a row without a title has none.
	title, unit string
	queries     []query
	alerts      []alert
	// without says why there is neither panel nor alert.
	without string
}

// query is a PromQL expression, with the labels that name its lines.
type query struct{ expr, legend string }

// alert is a condition that a person has to look at.
type alert struct {
	name string
	// expr is compared with the limit; empty takes the first query of the panel, which then shows the limit as a line.
	expr  string
	op    string
	limit float64
	// wait is how long the condition has to hold.
	wait     string
	severity string
	// means says what has happened, and do what helps.
	means, do string
}

// Severities: critical means that callers are refused or work is lost unless somebody acts now.
const (
	critical = "critical"
	warning  = "warning"
)

// watchedMetrics has all metrics, in the order of the panels. Gauges of jobs and operations are of the whole database, and each
// process has them: the greatest value is the one.
var watchedMetrics = []watched{
	{
		metric: "up", // of Prometheus itself
		title:  "Processes that answer", unit: "none",
		queries: []query{{`up{job="stayledger"}`, "{{instance}}"}},
		alerts: []alert{{
			name: "StayledgerDown", op: "<", limit: 1, wait: "2m", severity: critical,
			means: "A process does not answer Prometheus.",
			do: "Look whether it runs and what its log says last. If the scrape job has another name " +
				"than stayledger, change the name here.",
		}},
	},
	{
		metric: "stayledger_database_up",
		title:  "Database reached", unit: "none",
		queries: []query{{`min by (instance) (stayledger_database_up)`, "{{instance}}"}},
		alerts: []alert{{
			name: "StayledgerDatabaseDown", op: "<", limit: 1, wait: "1m", severity: critical,
			means: "A process cannot read from its database, and answers 503.",
			do:    "Look at PostgreSQL, at the network between the two, and at max_connections of the server.",
		}},
	},
	{
		metric: "stayledger_request_seconds",
		title:  "Requests by status", unit: "reqps",
		queries: []query{{`sum by (status) (rate(stayledger_request_seconds_count[5m]))`, "{{status}}"}},
		alerts: []alert{
			{
				name:  "StayledgerRequestsFail",
				expr:  `sum(rate(stayledger_request_seconds_count{status=~"5.."}[5m])) / sum(rate(stayledger_request_seconds_count[5m]))`,
				op:    ">",
				limit: 0.02, wait: "5m", severity: critical,
				means: "More than 2 % of the requests end with a status from 500 on.",
				do: "The log has the cause of each under its request id; 503 and 504 come from the " +
					"database, the file store or a lack of connections.",
			},
			{
				name: "StayledgerSlow", expr: `histogram_quantile(0.5, sum by (le) (rate(stayledger_request_seconds_bucket[10m])))`,
				op: ">", limit: 1, wait: "10m", severity: warning,
				means: "Half of the requests take longer than a second.",
				do:    "Look at the slowest endpoints, at waits for connections, and at the load of the database.",
			},
		},
	},
	{
		metric: "stayledger_request_seconds",
		title:  "Slowest endpoints (95th percentile)", unit: "s",
		queries: []query{{
			`topk(10, histogram_quantile(0.95, sum by (endpoint, le) (rate(stayledger_request_seconds_bucket[10m]))))`, "{{endpoint}}",
		}},
	},
	{
		metric: "stayledger_job_oldest_due_seconds",
		title:  "Longest wait of due jobs", unit: "s",
		queries: []query{{`max by (lane) (stayledger_job_oldest_due_seconds)`, "{{lane}}"}},
		alerts: []alert{{
			name: "StayledgerJobsWait", op: ">", limit: 300, wait: "5m", severity: critical,
			means: "Work that is due has waited for more than five minutes.",
			do: "Too few workers, or none: start another `stayledger work`, or raise " +
				"STAYLEDGER_WORKERS. In lane none it is work of a newer version.",
		}},
	},
	{
		metric: "stayledger_jobs",
		title:  "Jobs", unit: "none",
		queries: []query{{`max by (lane, state) (stayledger_jobs)`, "{{lane}} {{state}}"}},
		alerts: []alert{{
			name: "StayledgerJobsUnknown",
			expr: `max by (lane) (stayledger_jobs{lane="none",state="due"})`,
			op:   ">", limit: 0, wait: "5m", severity: warning,
			means: "Jobs wait that this version of the program does not know.",
			do:    "Put back the newer version: it is given up after a quarter of an hour.",
		}},
	},
	{
		metric: "stayledger_job_attempt_seconds",
		title:  "Share of attempts at jobs that fail", unit: "percentunit",
		queries: []query{{
			`sum by (kind) (rate(stayledger_job_attempt_seconds_count{outcome="failed"}[15m])) / sum by (kind) (rate(stayledger_job_attempt_seconds_count[15m]))`, "{{kind}}",
		}},
		alerts: []alert{{
			name: "StayledgerJobsFail", op: ">", limit: 0.5, wait: "15m", severity: warning,
			means: "More than half of the attempts at jobs of a kind fail.",
			do: "The log has the errors with the kind. Kinds that call others (payments, connections, " +
				"mail, webhooks) fail while those are out of reach, and are tried again.",
		}},
	},
	{
		metric: "stayledger_operations_open",
		title:  "Operations that are not settled", unit: "none",
		queries: []query{{`max by (status) (stayledger_operations_open)`, "{{status}}"}},
	},
	{
		metric: "stayledger_operation_oldest_seconds",
		title:  "Oldest operation", unit: "s",
		queries: []query{{`max by (status) (stayledger_operation_oldest_seconds)`, "{{status}}"}},
		alerts: []alert{{
			name: "StayledgerOperationStuck", op: ">", limit: 86400, wait: "15m", severity: warning,
			means: "An operation has not been settled for a day.",
			do: "Look at the failing jobs and at the longest wait: a task is tried again for a day at " +
				"most, so a lane may have no worker.",
		}},
	},
	{
		metric: "stayledger_pool_connections",
		title:  "Share of database connections in use", unit: "percentunit",
		queries: []query{{
			`stayledger_pool_connections{state="used"} / ignoring (state) stayledger_pool_connections{state="most"}`, "{{instance}}",
		}},
		alerts: []alert{{
			name: "StayledgerPoolFull", op: ">", limit: 0.9, wait: "10m", severity: warning,
			means: "A process uses nearly all of its database connections.",
			do: "Raise STAYLEDGER_MAX_CONNECTIONS as far as max_connections of the server allows, or " +
				"start another process.",
		}},
	},
	{
		metric: "stayledger_pool_wait_seconds_total",
		title:  "Transactions that wait for a connection", unit: "none",
		queries: []query{{`rate(stayledger_pool_wait_seconds_total[5m])`, "{{instance}}"}},
		alerts: []alert{{
			name: "StayledgerPoolWaits", op: ">", limit: 1, wait: "5m", severity: warning,
			means: "At any moment more than one transaction waits for a connection.",
			do:    "As for StayledgerPoolFull.",
		}},
	},
	{
		metric: "stayledger_pool_waits_total",
		title:  "Waits for a connection", unit: "ops",
		queries: []query{{`rate(stayledger_pool_waits_total[5m])`, "{{instance}}"}},
	},
	{
		metric: "stayledger_build_info",
		title:  "Processes by version", unit: "none",
		queries: []query{{`count by (version, revision) (stayledger_build_info)`, "{{version}} {{revision}}"}},
		alerts: []alert{{
			name: "StayledgerVersionsDiffer",
			expr: `count(count by (revision) (stayledger_build_info))`,
			op:   ">", limit: 1, wait: "30m", severity: warning,
			means: "Processes of several versions run side by side.",
			do:    "End those of the older version: /changelog says whether the two can run at the same time.",
		}},
	},
	{
		metric: "process_resident_memory_bytes",
		title:  "Memory", unit: "bytes",
		queries: []query{{`process_resident_memory_bytes{job="stayledger"}`, "{{instance}}"}},
	},
	{
		metric: "process_cpu_seconds_total",
		title:  "Processors in use", unit: "none",
		queries: []query{{`rate(process_cpu_seconds_total{job="stayledger"}[5m])`, "{{instance}}"}},
	},
	{
		metric: "process_open_fds",
		title:  "Share of open files", unit: "percentunit",
		queries: []query{{`process_open_fds{job="stayledger"} / process_max_fds{job="stayledger"}`, "{{instance}}"}},
		alerts: []alert{{
			name: "StayledgerFilesOpen", op: ">", limit: 0.8, wait: "10m", severity: warning,
			means: "A process has nearly as many files and connections open as it can.",
			do:    "Raise the limit (LimitNOFILE of the unit), and look at what keeps connections open.",
		}},
	},
	{metric: "process_*", without: "limits and start times, which change with the process alone"},
	{metric: "go_*", without: "the Go runtime, for who develops the service"},
}
