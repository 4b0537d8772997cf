package reservation

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Part returns what reservations add to the service: routes, tasks and tables.
func Part() parts.Part {
	used := parts.NewUsage("reservation", "transactions", "journalEntries")

	return parts.Part{
		Endpoints: endpoints(used), Handlers: Source().Handlers(),
		Tables: parts.Owns(
			"reservation", "reservation_line", "reservation_adjustment", "reservation_unposted", "reservation_pair",
		),
		Uses: []parts.Use{
			{Of: "account", Reason: "reservations", Columns: []string{"reservation_line.account_id"}},
			{Of: "account", Reason: "adjustments", Columns: []string{"reservation_adjustment.account_id"}},
			// A listing that guests are still going to stay in cannot become inactive.
			{
				Of: "listing", Reason: "reservations", Columns: []string{"reservation.listing_id"},
				HoldsIf: `exists (select from reservation where team_id = @team and listing_id = @id and status = 'booked' and check_out > @today)`,
			},
			{Of: "connection", Reason: "reservations", Columns: []string{"reservation.connection_id"}},
			{Of: "fee", Reason: "reservations", Columns: []string{"reservation_adjustment.recurring_fee_id"}},
		},
		Used: []*parts.Usage{used},
		Deletion: parts.Deletion{Of: "reservation", Do: func(ctx context.Context, tx *db.Tx, one id.ID) error {
			_, err := handler{used}.deleteOrArchive(ctx, tx, &deleteInput{ID: one})
			return err
		}},
		MonthEnd: findUnassigned, Waits: waits(),
		Exports: []parts.Export{export.Declare(reservationsCSV())},
	}
}
