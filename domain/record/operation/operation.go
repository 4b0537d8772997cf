// Package operation owns asynchronous work as the caller sees it: the durable record, its tasks, how they settle, and
// the reads.
//
// An operation starts in the transaction of the request that asks for it, together with one job per task. Every task
// ends exactly once, in the transaction that keeps its outcome; the last one settles the operation: completed when all
// tasks completed, failed when all have settled and at least one failed. A settled operation never changes again.
//
// The page docs/decisions/operation.md says where a person sees why an operation failed.
package operation

import (
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Type is the stable public category of an operation. Internal work has none and cannot be read.
type Type string

// The operation types of the contract, in its order (OPS-31).
const (
	ACHVerification         Type = "ach-verification"
	BankRuleRun             Type = "bank-rule-run"
	CalendarBlock           Type = "calendar-block"
	CalendarUnblock         Type = "calendar-unblock"
	ConnectionArchive       Type = "connection-archive"
	ConnectionConnect       Type = "connection-connect"
	ConnectionExtract       Type = "connection-extract"
	ConnectionSync          Type = "connection-sync"
	CSVImport               Type = "csv-import"
	CSVImportPreview        Type = "csv-import-preview"
	Export                  Type = "export"
	FlowRun                 Type = "flow-run"
	HistoricalGLImport      Type = "historical-gl-import"
	HistoricalStatements    Type = "historical-statement-import"
	ListingJournalRefresh   Type = "listing-journal-refresh"
	BankfeedInitialSync     Type = "bankfeed-initial-sync"
	PMSCutover              Type = "pms-cutover"
	PMSCutoverPreview       Type = "pms-cutover-preview"
	ProviderPayment         Type = "provider-payment"
	ProviderPaymentRecovery Type = "provider-payment-recovery"
	RecurringTransactionRun Type = "recurring-transaction-run"
	ReservationJournal      Type = "reservation-journal-refresh"
	StatementPayout         Type = "statement-payout"
	StatementPayoutPreview  Type = "statement-payout-preview"
	TeamDelete              Type = "team-delete"
	TeamDemoData            Type = "team-demo-data"
	TeamDuplicate           Type = "team-duplicate"
	TeamInitialize          Type = "team-initialize"
	TransactionJournal      Type = "transaction-journal-refresh"
	LegacyStatementImport   Type = "vri-statement-import"
	LegacyTeamMigration     Type = "vri-team-migration"
	WebhookTest             Type = "webhook-test"
)

// Enum lists the types in the contract's order.
func (Type) Enum() []string {
	return api.Texts(
		ACHVerification,
		BankRuleRun,
		CalendarBlock,
		CalendarUnblock,
		ConnectionArchive,
		ConnectionConnect,
		ConnectionExtract,
		ConnectionSync,
		CSVImport,
		CSVImportPreview,
		Export,
		FlowRun,
		HistoricalGLImport,
		HistoricalStatements,
		ListingJournalRefresh,
		BankfeedInitialSync,
		PMSCutover,
		PMSCutoverPreview,
		ProviderPayment,
		ProviderPaymentRecovery,
		RecurringTransactionRun,
		ReservationJournal,
		StatementPayout,
		StatementPayoutPreview,
		TeamDelete,
		TeamDemoData,
		TeamDuplicate,
		TeamInitialize,
		TransactionJournal,
		LegacyStatementImport,
		LegacyTeamMigration,
		WebhookTest,
	)
}

// Status says how far an operation is. Queued and running can each go to completed or failed, which are final (OPS-82 …
// OPS-87).
type Status string

// The operation states.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Enum lists the states.
func (Status) Enum() []string { return api.Texts(Queued, Running, Completed, Failed) }

// ResourceType is the kind of thing that an operation works on.
type ResourceType string

// The resource types of the contract.
const (
	BankRule                     ResourceType = "bank-rule"
	Connection                   ResourceType = "connection"
	Contact                      ResourceType = "contact"
	File                         ResourceType = "file"
	Flow                         ResourceType = "flow"
	Listing                      ResourceType = "listing"
	RecurringFee                 ResourceType = "recurring-fee"
	RecurringTransactionTemplate ResourceType = "recurring-transaction-template"
	Reservation                  ResourceType = "reservation"
	Statement                    ResourceType = "statement"
	Team                         ResourceType = "team"
	Transaction                  ResourceType = "transaction"
	Webhook                      ResourceType = "webhook"
)

// Enum lists the resource types.
func (ResourceType) Enum() []string {
	return api.Texts(
		BankRule,
		Connection,
		Contact,
		File,
		Flow,
		Listing,
		RecurringFee,
		RecurringTransactionTemplate,
		Reservation,
		Statement,
		Team,
		Transaction,
		Webhook,
	)
}

// Role says what a resource is to an operation.
type Role string

// The roles of a resource.
const (
	Source Role = "source"
	Target Role = "target"
	Result Role = "result"
)

// Enum lists the roles.
func (Role) Enum() []string { return api.Texts(Source, Target, Result) }

// Resource refers to something that an operation reads, changes or makes (OPS-23 … OPS-30).
type Resource struct {
	Type ResourceType `json:"type"`
	ID   id.ID        `json:"id"`
	Role Role         `json:"role"`
	URL  string       `json:"url,omitempty" doc:"Authenticated download path; only on a file result of a completed operation."`
}

// Initiator is the user that an operation is attributed to.
type Initiator struct {
	Type   string `json:"type" enum:"user"`
	UserID id.ID  `json:"userId"`
}

// Operation is an asynchronous operation as lists show it.
type Operation struct {
	ID         id.ID        `json:"id"`
	Type       Type         `json:"type"`
	Status     Status       `json:"status"`
	Resource   *Resource    `json:"resource" doc:"Primary resource; null when there is no public one."`
	Failure    *Failure     `json:"failure"`
	Initiator  Initiator    `json:"initiator"`
	CreatedAt  day.Instant  `json:"createdAt"`
	StartedAt  *day.Instant `json:"startedAt"`
	FinishedAt *day.Instant `json:"finishedAt"`
}

// Detail is an operation as the single read shows it.
type Detail struct {
	Operation
	Resources []Resource `json:"resources"`
}

// Acknowledgement is the answer of an initiating endpoint (OPS-01 … OPS-05).
type Acknowledgement struct {
	OperationID id.ID     `json:"operationId"`
	Type        Type      `json:"type"`
	Status      Status    `json:"status"`
	Resource    *Resource `json:"resource"`
}

// Counts are the matches of all filters but the status filter, by status.
type Counts struct {
	Total     int64 `json:"total"`
	Queued    int64 `json:"queued"`
	Running   int64 `json:"running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// List is a page of operations; its total applies every filter.
type List struct {
	Items      []Operation `json:"items"`
	Counts     Counts      `json:"counts"`
	Total      int64       `json:"total"`
	NextCursor *string     `json:"nextCursor" doc:"Null on the last page."`
}

// DownloadPath returns the path at which a credential of the team downloads a file.
func DownloadPath(file id.ID) string { return "/files/" + file.String() + "/download" }
