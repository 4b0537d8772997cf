package app

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"stayledger/domain/access"
	"stayledger/domain/account"
	"stayledger/domain/bank"
	"stayledger/domain/connection"
	"stayledger/domain/contact"
	"stayledger/domain/delivery"
	"stayledger/domain/export"
	"stayledger/domain/fee"
	"stayledger/domain/file"
	"stayledger/domain/journal"
	"stayledger/domain/layout"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/domain/onboarding"
	"stayledger/domain/operation"
	"stayledger/domain/payee"
	"stayledger/domain/payment"
	"stayledger/domain/payout"
	"stayledger/domain/report"
	"stayledger/domain/reservation"
	"stayledger/domain/statement"
	"stayledger/domain/tax"
	"stayledger/domain/team"
	"stayledger/domain/transaction"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/provider/mail"
	"stayledger/provider/pay"
)

// Parts is what the packages of the domain contribute: endpoints, job handlers and periodic tasks.
type Parts struct {
	Endpoints []api.Endpoint
	Handlers  map[string]job.Handler
	Every     []job.Every
}

// Outside is what the domain reaches the world beyond the database with.
type Outside struct {
	Store  blob.Store
	Signer *blob.Signer
	// Box seals what must be readable again: account numbers, tax identifiers, credentials.
	Box *seal.Box
	// Providers opens the payment provider behind a connection; nil for the service's own.
	Providers connection.Opener
	Mail      mail.Sender
}

// NewParts collects them, in the order in which the reference shows them.
func NewParts(o Outside, c Config) Parts {
	store, signer := o.Store, o.Signer
	if o.Providers == nil {
		o.Providers = connection.Open(o.Box, pay.AllowPrivate(c.LocalProviders), pay.Within(c.ProviderTimeout))
	}
	exports := export.New(export.Config{Store: store, Signer: signer, PublicURL: c.PublicURL, Box: o.Box})
	post := delivery.New(delivery.Config{Sender: o.Mail, Box: o.Box, PublicURL: c.PublicURL})
	payments := &payment.Service{Open: o.Providers, Box: o.Box, Store: store}
	handlers := map[string]job.Handler{}
	for _, m := range []map[string]job.Handler{exports.Handlers(), reservation.Handlers(), transaction.Handlers(), journal.Handlers(), onboarding.Handlers(), connection.Handlers(o.Providers), payee.Handlers(o.Box, o.Providers), statement.Handlers(), statement.HistoricHandlers(), post.Handlers(), payments.Handlers(), payout.Handlers()} {
		maps.Copy(handlers, m)
	}
	handlers[listing.RefreshKind] = journal.FollowOwners(handlers[listing.RefreshKind])
	links := func(team, attachment id.ID, expires time.Time) string {
		return file.Link(signer, c.PublicURL, team, attachment, expires)
	}
	return Parts{
		Endpoints: slices.Concat(
			access.Endpoints(), team.Endpoints(onboarding.Hooks()), onboarding.Endpoints(), operation.Endpoints(),
			account.Endpoints(onboarding.AssignmentsChanged), contact.Endpoints(o.Box), payee.Endpoints(o.Box), connection.Endpoints(connection.Config{Box: o.Box, Private: c.LocalProviders}), listing.Endpoints(transaction.OfListings()), tax.Endpoints(),
			fee.Endpoints(), reservation.Endpoints(), transaction.Endpoints(), payments.Endpoints(), journal.Endpoints(), bank.Endpoints(), layout.Endpoints(), statement.Endpoints(links), statement.BatchEndpoints(), statement.HistoricEndpoints(), payout.Endpoints(), post.Endpoints(), report.Endpoints(), exports.Endpoints(), file.Endpoints(store, signer),
		),
		Handlers: handlers,
		Every:    slices.Concat(api.Every(), access.Every(), operation.Every(c.KeepOperations), ledger.Every(), transaction.Every(), payments.Every(), file.Every(store)),
	}
}

// Describe renders the published description without a database.
func Describe() (api.Description, error) {
	return api.NewServer(api.Config{Log: slog.New(slog.DiscardHandler), Title: "stayledger", Description: about}, NewParts(Outside{}, Config{}).Endpoints).OpenAPI()
}
