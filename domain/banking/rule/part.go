package rule

import (
	"time"

	"stayledger/domain/books/bank"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Callers know these schemas as those of bank rules.
var (
	_ = api.PublishUnder[Rule]("bankRule")
	_ = api.PublishAs[Stored]("BankRule")
)

// OfBank has the functions of bank rules that bank records call.
var OfBank = bank.Rules{Meet: meetRules, Offer: Offer, OfferFed: offerFed}

// Part returns the endpoints, tasks and tables of bank rules.
func Part() parts.Part {
	used := parts.NewUsage("bank_rule", "bankRecords")

	return parts.Part{
		Endpoints: api.RequireBooks(append(endpoints(used), runEndpoints("Bank rules")...)),
		Handlers: map[job.Kind]job.Handler{
			RunKind: operation.Work(5*time.Minute, runTask), UndoKind: operation.Work(5*time.Minute, undoTask),
		},
		Tables: parts.Owns("bank_rule_run_item", "bank_rule", "bank_rule_version"),
		Used:   []*parts.Usage{used},
	}
}
