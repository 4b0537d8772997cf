package listing

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/export"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// New returns what serves listings, with the journals that follow their owners, and how fees of a listing end.
func New(journals ledger.Sources, endFees EndFees) Listings {
	return Listings{
		journals: journals,
		endFees:  endFees,
		listings: parts.NewUsage(
			"listing", "reservations", "transactions", "journalEntries", "ownerStatements", "recurringFees",
			"groupedListings",
		),
		periods: parts.NewUsage("listing_ownership_period", "journalEntries", "ownerStatements"),
	}
}

// Part returns the endpoints and tables of listings and their owners.
func (h Listings) Part() parts.Part {
	return parts.Part{
		Endpoints: h.endpoints(),
		Every:     h.periodicTasks(),
		Tables:    parts.Owns("listing", "listing_ownership_period", "listing_ownership_member"),
		Copy:      &parts.Copy{Name: "listings", Whole: true, Read: h.copying},
		Uses: []parts.Use{
			{Of: "contact", Reason: "ownershipPeriods", Columns: []string{"listing_ownership_member.contact_id"}},
			{Of: "listing", Reason: "groupedListings", Columns: []string{"listing.parent_id"}},
		},
		Used: []*parts.Usage{h.listings, h.periods},
		Deletion: parts.Deletion{Of: "listing", Do: func(ctx context.Context, tx *db.Tx, one id.ID) error {
			_, err := h.deleteListing(ctx, tx, &deleteInput{ID: one})
			return err
		}},
		Exports: []parts.Export{export.Declare(listingsCSV())},
	}
}
