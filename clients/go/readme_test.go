package stayledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	stayledger "stayledger/clients/go"
)

// readme is the code of clients/README.md.
func readme(ctx context.Context, listing stayledger.Id, folder string) error {
	client := &stayledger.Client{
		BaseURL: os.Getenv("STAYLEDGER_URL"), // such as https://api.example.com
		APIKey:  os.Getenv("STAYLEDGER_KEY"),
	}

	team, err := client.GetTeam(ctx)
	if err != nil {
		return err
	}

	fmt.Println(team.Name)

	ref := "booking-4711"

	stay, err := client.CreateReservation(ctx,
		&stayledger.CreateReservationParams{IdempotencyKey: &ref},
		stayledger.ReservationCreate{ListingId: listing, CheckIn: "2026-03-05", CheckOut: "2026-03-09", UniqueRef: &ref})
	if err != nil {
		return err
	}

	guest := "Grace Hill"
	if _, err := client.UpdateReservation(ctx, stay.Id, nil, stayledger.ReservationUpdate{GuestName: &guest}); err != nil {
		return err
	}

	noGuest := stayledger.WithNull(ctx, "guestName")
	if _, err := client.UpdateReservation(noGuest, stay.Id, nil, stayledger.ReservationUpdate{}); err != nil {
		return err
	}

	params := &stayledger.ListReservationsParams{ListingIds: []string{listing}}
	for r, err := range stayledger.Rows(ctx, client.ListReservations, params) {
		if err != nil {
			return err
		}

		fmt.Println(r.CheckIn, r.Financials.Total)
	}

	queued, err := client.QueueReservationsCSV(ctx, nil, stayledger.ExportReservationSelection{})
	if err != nil {
		return err
	}

	operation, err := client.Wait(ctx, queued.OperationId)
	if err != nil {
		return err
	}

	file, err := os.Create(filepath.Join(folder, "reservations.csv"))
	if err != nil {
		return err
	}

	if err := errors.Join(client.Download(ctx, operation.FileURL(), file), file.Close()); err != nil {
		return err
	}

	_, err = client.CreateReservation(ctx, nil,
		stayledger.ReservationCreate{ListingId: listing, CheckIn: "2026-03-05", CheckOut: "2026-03-09", UniqueRef: &ref})
	if failure, ok := errors.AsType[*stayledger.Error](err); ok && failure.Reason == "duplicateUniqueRef" {
		fmt.Println("exists already, request", failure.RequestID)
	}

	return nil
}
