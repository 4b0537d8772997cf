package app

import (
	"log/slog"
	"maps"
	"slices"

	"stayledger/domain/access"
	"stayledger/domain/account"
	"stayledger/domain/contact"
	"stayledger/domain/export"
	"stayledger/domain/fee"
	"stayledger/domain/file"
	"stayledger/domain/journal"
	"stayledger/domain/listing"
	"stayledger/domain/onboarding"
	"stayledger/domain/operation"
	"stayledger/domain/report"
	"stayledger/domain/reservation"
	"stayledger/domain/statement"
	"stayledger/domain/tax"
	"stayledger/domain/team"
	"stayledger/domain/transaction"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/job"
)

// Parts is what the packages of the domain contribute: endpoints, job handlers and periodic tasks.
type Parts struct {
	Endpoints []api.Endpoint
	Handlers  map[string]job.Handler
	Every     []job.Every
}

// NewParts collects them, in the order in which the reference shows them.
func NewParts(store blob.Store, signer *blob.Signer, c Config) Parts {
	exports := export.New(export.Config{Store: store, Signer: signer, PublicURL: c.PublicURL})
	handlers := map[string]job.Handler{}
	for _, m := range []map[string]job.Handler{exports.Handlers(), reservation.Handlers(), transaction.Handlers(), journal.Handlers(), onboarding.Handlers()} {
		maps.Copy(handlers, m)
	}
	handlers[listing.RefreshKind] = journal.FollowOwners(handlers[listing.RefreshKind])
	return Parts{
		Endpoints: slices.Concat(
			access.Endpoints(), team.Endpoints(onboarding.Hooks()), onboarding.Endpoints(), operation.Endpoints(),
			account.Endpoints(onboarding.AssignmentsChanged), contact.Endpoints(), listing.Endpoints(transaction.OfListings()), tax.Endpoints(),
			fee.Endpoints(), reservation.Endpoints(), transaction.Endpoints(), journal.Endpoints(), statement.Endpoints(), report.Endpoints(), exports.Endpoints(), file.Endpoints(store, signer),
		),
		Handlers: handlers,
		Every:    slices.Concat(operation.Every(c.KeepOperations), transaction.Every(), file.Every(store)),
	}
}

// Describe renders the published description without a database.
func Describe() (api.Description, error) {
	return api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler), Title: "stayledger", Description: about}, NewParts(nil, nil, Config{}).Endpoints).OpenAPI()
}
