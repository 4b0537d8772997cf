package contact

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Part returns the endpoints and the table of contacts.
func Part(box *seal.Box) parts.Part {
	used := parts.NewUsage("contact", "ownershipPeriods", "transactions", "journalEntries", "payments", "access")

	return parts.Part{
		Endpoints: endpoints(box, used),
		Tables:    parts.Owns("contact", "contact_former_email"),
		Copy:      &parts.Copy{Name: "contacts", Whole: true, Read: edge{box: box}.copying},
		Uses: []parts.Use{
			{Of: "account", Reason: "payoutAccounts", Columns: []string{"contact.payout_account_id"}, Holds: true},
			{Of: "connection", Reason: "contacts", Columns: []string{"contact.connection_id"}},
		},
		Used: []*parts.Usage{used},
		Deletion: parts.Deletion{Of: "contact", Do: func(ctx context.Context, tx *db.Tx, one id.ID) error {
			_, err := edge{used: used}.deleteContact(ctx, tx, &deleteInput{ID: one})
			return err
		}},
		Exports: []parts.Export{export.Declare(contactsCSV())},
	}
}
