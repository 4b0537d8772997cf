package payment

import (
	"encoding/json"

	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// changedPayment is a payment p that an update has changed, with its values before (o) and after.
type changedPayment struct {
	ID, TransactionID, ContactID, ConnectionID id.ID

	OldStatus, Status           Status
	OldDate, Date               day.Day
	OldProviderRef, ProviderRef *string
	OldFailure, Failure         *string
	OldIssues, Issues           json.RawMessage
	OldSettled, Settled         *day.Instant
	OldRecovered, Recovered     *day.Instant
	OldSent, Sent               *day.Instant
}

const toldColumns = `p.id, p.transaction_id, p.contact_id, p.connection_id, o.status as old_status, p.status, o.date as old_date, p.date,
	o.provider_ref as old_provider_ref, p.provider_ref, o.failure_code as old_failure, p.failure_code as failure, o.issues as old_issues, p.issues,
	o.settled_at as old_settled, p.settled_at as settled, o.recovered_at as old_recovered, p.recovered_at as recovered, o.sent_at as old_sent, p.sent_at as sent`

// notePayments writes the audit events of payments.
func notePayments(tx *db.Tx, all []changedPayment) {
	type view struct {
		Status      Status          `json:"status"`
		Date        day.Day         `json:"date"`
		ProviderRef *string         `json:"providerRef"`
		Failure     *string         `json:"failureCode"`
		Problems    json.RawMessage `json:"problems"` // the issues; those of other records are computed and not noted
		SentAt      *day.Instant    `json:"sentAt"`
		SettledAt   *day.Instant    `json:"settledAt"`
		RecoveredAt *day.Instant    `json:"recoveredAt"`
	}

	for i := range all {
		t := &all[i]

		// The first time that a payment arrives has its own type of event.
		what := audit.Updated
		if t.Status == Paid && t.OldStatus != Paid {
			what = audit.Paid
		}

		audit.Note(tx,
			what,
			audit.Payment,
			t.ID,
			view{
				t.OldStatus,
				t.OldDate,
				t.OldProviderRef,
				t.OldFailure,
				t.OldIssues,
				t.OldSent,
				t.OldSettled,
				t.OldRecovered,
			},
			view{t.Status, t.Date, t.ProviderRef, t.Failure, t.Issues, t.Sent, t.Settled, t.Recovered},
			audit.Ref(audit.RoleParent, audit.Transaction, t.TransactionID),
			audit.Ref(audit.RoleOwner, audit.Contact, t.ContactID),
			audit.Ref(audit.RoleConnection, audit.Connection, t.ConnectionID),
		)
	}
}
