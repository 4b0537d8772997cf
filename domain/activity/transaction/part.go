package transaction

import (
	"maps"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part is transactions and what they are made from.
func Part() parts.Part {
	handlers := map[job.Kind]job.Handler{RunKind: operation.Work(10*time.Minute, runTask)}
	maps.Copy(handlers, Source().Handlers())
	return parts.Part{Endpoints: endpoints(), Handlers: handlers, Every: every()}
}
