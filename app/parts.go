package app

import (
	"log/slog"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/journal"
	"stayledger/domain/activity/linemapping"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/opening"
	"stayledger/domain/activity/recurring"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/accountconnection"
	"stayledger/domain/banking/channelpayout"
	"stayledger/domain/banking/reconciliation"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/domain/books/trial"
	"stayledger/domain/exchange/archive"
	"stayledger/domain/exchange/calendar"
	"stayledger/domain/exchange/cutover"
	"stayledger/domain/exchange/flow"
	"stayledger/domain/exchange/legacy"
	"stayledger/domain/exchange/merge"
	"stayledger/domain/exchange/migration"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/exchange/upload"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/export"
	"stayledger/domain/record/file"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/record/proof"
	"stayledger/domain/record/trail"
	"stayledger/domain/reporting/daily"
	"stayledger/domain/reporting/metric"
	"stayledger/domain/reporting/monthend"
	"stayledger/domain/reporting/report"
	"stayledger/domain/reporting/summary"
	"stayledger/domain/reporting/trust"
	"stayledger/domain/settlement/delivery"
	"stayledger/domain/settlement/historic"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/settlement/payee"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/settlement/payout"
	"stayledger/domain/settlement/statement"
	"stayledger/domain/setup/demo"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/connection"
	"stayledger/domain/tenant/team"
	"stayledger/domain/tenant/webhook"
	"stayledger/platform/api"
	"stayledger/platform/blob"
	"stayledger/platform/budget"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/page"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
	"stayledger/provider/mail"
	"stayledger/provider/pay"
)

// External has the connections of the domain to the world outside the database.
type External struct {
	Store  blob.Store
	Signer *blob.Signer
	// Box seals what must be readable again: account numbers, tax identifiers, credentials.
	Box *seal.Box
	// Providers opens the payment provider behind a connection; nil for the service's own.
	Providers payapp.Opener
	// Systems are the property-management systems; nil for those without registrations.
	Systems *pms.Systems
	// Sources opens what gives records over a connection; nil for the service's own.
	Sources intake.Open
	Mail    mail.Sender
}

// Parts returns the sum of all packages' parts, in the order in which the reference shows them. A new noun is a
// line here.
func Parts(o External, c Config) parts.Part {
	if o.Providers == nil {
		o.Providers = payapp.Open(o.Box, pay.AllowPrivate(c.LocalProviders), pay.Within(c.ProviderTimeout))
	}

	if o.Systems == nil {
		o.Systems = pms.New(o.Box, c.systems())
	}

	if o.Sources == nil {
		o.Sources = o.Systems.Open
	}

	// Some nouns need connections to the outside or other nouns.
	payments := &payment.Gateway{Open: o.Providers, Box: o.Box, Store: o.Store}
	links := func(team, attachment id.ID, expires time.Time) string {
		return file.Link(o.Signer, c.PublicURL, team, attachment, expires)
	}

	apps := append(payapp.Apps(o.Providers, pay.AllowPrivate(c.LocalProviders)), o.Systems.Apps()...)
	journals := journal.Sources()
	listings := listing.New(journals, fee.EndPeriods)
	listingDoor, stayDoor := listings.Intake(), reservation.Intake()
	stayDoor.Join = cutover.Join(reservation.Intake())

	nouns := []parts.Part{
		operation.Part(c.KeepOperations),
		trail.Part(),
		proof.Part(proof.Config{Box: o.Box, Store: o.Store}),
		webhook.Part(webhook.Config{Box: o.Box, Private: c.LocalProviders, Mail: o.Mail}),
		intake.Part(intake.Config{
			Open: o.Sources, Refused: connection.RequireReconnect, MakeFile: o.Systems.Extracts(o.Store),
			Most:  pms.MostRecords,
			Kinds: []intake.Kind{pms.Listings(&listingDoor), contact.Intake(o.Box), stayDoor, bank.Intake(rule.OfBank), channelpayout.Intake()},
		}),
		account.Part(journals),
		contact.Part(o.Box),
		payee.Part(o.Box, o.Providers, o.Mail),
		connection.Part(connection.Config{
			Box: o.Box, Private: c.LocalProviders, PublicURL: c.PublicURL, Journals: journals,
			Apps: apps,
		}),
		o.Systems.Part(),
		cutover.Part(o.Systems.Apps(), listingDoor, reservation.Intake()),
		legacy.Part(o.Box, contact.Intake(o.Box), listingDoor, reservation.Intake()),
		migration.Part(o.Box, contact.Intake(o.Box), listingDoor),
		calendar.Part(o.Systems),
		flow.Part(),
		listings.Part(),
		merge.Part(),
		tax.Part(),
		fee.Part(),
		mapping.Part(),
		reservation.Part(),
		recurring.Part(),
		transaction.Part(),
		linemapping.Part(upload.AfterMapping()),
		opening.Part(rule.OfBank),
		trial.Part(),
		payments.Part(),
		ledger.Part(),
		journal.Part(),
		bank.Part(rule.OfBank),
		rule.Part(),
		accountconnection.Part(),
		channelpayout.Part(),
		reconciliation.Part(),
		layout.Part(),
		statement.Part(links),
		historic.Part(),
		payout.Part(),
		delivery.New(delivery.Config{Sender: o.Mail, Box: o.Box, PublicURL: c.PublicURL}).Part(),
		trust.Part(),
		report.Part(o.Box),
		summary.Part(),
		metric.Part(),
		daily.Part(),
	}

	// Imports of files delete what they have made by the doors of the nouns.
	nouns = append(nouns, upload.Part(upload.Config{
		Store: o.Store, Apps: apps, Deletions: parts.Deletions(nouns...), UndoOpening: opening.Undo(rule.OfBank),
		Nouns: upload.Nouns{
			Contact: contact.Intake(o.Box), Listing: upload.WithOwners(listings, contact.Intake(o.Box)), Reservation: reservation.Intake(),
			Transaction: transaction.Intake(), BankRecord: bank.Intake(rule.OfBank), Journal: journal.Intake(), Opening: opening.Intake(rule.OfBank),
		},
	}))

	// Exports of all nouns are served in one place, since their callers take turns.
	exported := export.New(
		export.Config{Store: o.Store, Signer: o.Signer, PublicURL: c.PublicURL},
		parts.Exports(nouns...)...,
	)
	nouns = append(
		nouns,
		exported.Part(),
		file.Part(o.Store, o.Signer),
		audit.Part(),
		parts.Part{Every: append(
			api.Every(),
			page.Counts.Every(),
			budget.Every(),
			job.Every{Name: "table-statistics", Interval: 5 * time.Second, Do: db.AnalyzeGrown},
		), Tables: append(
			parts.Keeps(append(page.Tables(), "api_idempotency")...),
			parts.Table{Name: "job", Archived: parts.Left, Keep: `r.operation_id = @operation`}, // the job that deletes the team
		)},
	)

	checks := parts.JoinMonthChecks(nouns...)
	nouns = append(nouns, monthend.Part(append(checks, team.FindUnclosed)))

	// Access, teams and sample books come first; teams copy the settings of all nouns.
	all := parts.Join(append([]parts.Part{
		access.Part(access.Portal{URL: c.PublicURL, Regions: c.Regions, Local: c.LocalProviders}),
		team.Part(team.Config{
			Journals: journals, Extractable: apps.Extractable(), MonthChecks: checks, Waits: parts.Waits(nouns...), Admit: access.AdmitMaker, Dismiss: access.DismissPartner,
			Serves: access.NewRegionCheck(c.regions()),
		}, parts.Copies(nouns...)...),
		demo.Part(journals),
	}, nouns...)...)

	// A team is archived and deleted with the rows of all nouns.
	return parts.Join(all, archive.Part(o.Store, all.Tables), team.Deleting(all.Erase))
}

// Describe renders the published description without a database.
func Describe() (api.Description, error) {
	return api.NewServer(
		withDescription(api.Config{Log: slog.New(slog.DiscardHandler)}),
		Parts(External{}, Config{}).Endpoints,
	).OpenAPI()
}
