package intake

import (
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part returns the endpoints, the job and the tables of the intake. Sources are opened by open; kinds are those of the
// nouns.
func Part(open Open, kinds ...Kind) parts.Part {
	r := &runner{open: open, kinds: map[string]*Kind{}}
	for i := range kinds {
		r.kinds[kinds[i].Name] = &kinds[i]
	}

	return parts.Part{
		Endpoints: endpoints(),
		Handlers:  map[job.Kind]job.Handler{taskKind: r.handler()},
		// The connection is archived once it was synced, and its memory stays.
		Uses: []parts.Use{{Of: "connection", Reason: "syncs", Columns: []string{"sync_source.connection_id"}}},
		Tables: parts.Owns(
			"sync_source", "sync_cursor", "sync", "sync_item", "sync_day", "external_record", "sync_hint",
		),
	}
}
