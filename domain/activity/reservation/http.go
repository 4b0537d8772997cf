package reservation

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

const (
	tag     = "Reservations"
	derives = " The journal follows in the same transaction: 400 requiredAccountMissing when an account assignment " +
		"is missing; when a lock holds an entry that would change, 403 reservationLocked with what holds it in the " +
		"context."
)

// endpoints returns the routes of reservations and their adjustments.
func endpoints(used *parts.Usage) []api.Endpoint {
	read, write := []string{"reservations:read"}, []string{"reservations:write"}
	out := []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reservations",
			ID:      "listReservations",
			Tag:     tag,
			Summary: "List reservations",
			Scopes:  read,
			Doc: "Fails with 400 for a date that is none of YYYY, YYYY-MM, YYYY-MM-DD and YYYY-MM-DD...YYYY-MM-DD, " +
				"and for an amount that is none of 100 and 100...200.",
		}, listReservations),
		api.Write(api.Endpoint{
			Method: "POST", Path: "/reservations", ID: "createReservation", Tag: tag, Summary: "Create a reservation",
			Errors: apierr.List{errDuplicateUniqueRef, errAmountRange, account.ErrRequiredMissing, ledger.Refusals},
			Scopes: write, DryRun: true, Status: 201,
			Doc: "Fails with 400 for an unknown listing or account, a stay without nights or of more than ten years, " +
				"and an unknown currency; 409 for a uniqueRef that exists. The journal is made in the same " +
				"transaction: 400 requiredAccountMissing when an account assignment is missing; 403 for a date that " +
				"is locked: " + ledger.LockReasons() + ".",
		}, create),
		api.Write(api.Endpoint{
			Method:  "POST",
			Path:    "/reservations/batch",
			ID:      "batchReservations",
			Tag:     tag,
			Summary: "Create and change many reservations",
			Scopes:  write,
			DryRun:  true,
			MaxBody: batchBytes,
			Timeout: batchTimeout,
			Doc: "An item with the id or the uniqueRef of a reservation changes it; any other creates one. Good " +
				"items land and bad ones are reported with the codes and reasons of the single routes; with " +
				"atomic=true nothing lands when one item is bad. Skipped inquiries are in neither list.",
		}, batch),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reservations/{id}",
			ID:      "getReservation",
			Tag:     tag,
			Summary: "Read a reservation",
			Scopes:  read,
			OneTrip: true,
		}, getReservation),
		api.Read(api.Endpoint{
			Method:     "GET",
			Path:       "/reservations/{id}/journal-preview",
			ID:         "previewReservationJournal",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Preview a reservation's journal",
			Scopes:     read,
			Doc: "The journal as it would be derived now, without writing it, and what does not count in it and " +
				"why.",
		}, previewJournal),
		api.Write(api.Endpoint{
			Method:  "PUT",
			Path:    "/reservations/{id}",
			ID:      "updateReservation",
			Tag:     tag,
			Summary: "Change a reservation",
			Errors:  apierr.List{errDuplicateUniqueRef, errAmountRange, account.ErrRequiredMissing, errLocked},
			Scopes:  write,
			DryRun:  true,
			Doc: "Fields that are absent stay; lines, when given, replace all lines. Canceling makes the lines " +
				"inactive and leaves the adjustments. Fails as creating does, and with 404." + derives,
		}, update),
		api.Write(api.Endpoint{
			Method:  "DELETE",
			Path:    "/reservations/{id}",
			ID:      "deleteReservation",
			Tag:     tag,
			Summary: "Delete or archive a reservation",
			Errors:  apierr.List{errInUse, account.ErrRequiredMissing, errLocked},
			Scopes:  []string{"reservations:delete"},
			DryRun:  true,
			Doc: "Takes the journal out of the books. Fails with 404, and with 400 for one that transactions or " +
				"journal entries name (reason inUse, context.lockReasons); onLocked=archive makes that one inactive " +
				"instead." + derives,
		}, handler{used}.deleteOrArchive),
		api.Write(api.Endpoint{
			Method:     "POST",
			Path:       "/reservations/journal-entries",
			ID:         "refreshReservationJournals",
			NeedsBooks: true,
			Tag:        tag,
			Summary:    "Derive journals anew",
			Errors:     apierr.List{account.ErrRequiredMissing, ledger.Refusals},
			Scopes:     []string{"journals:post"},
			Also:       operation.Answers[ledger.RefreshDone](),
			Doc: "With exactly one id the work is done in the request and answered with 200. Several ids, or none " +
				"for all reservations, start an operation of type reservation-journal-refresh, answered with 202. " +
				"lockPolicy strict fails on the first journal that a lock holds, bestEffort leaves it as it is. " +
				"Fails with 400 when an id is unknown.",
		}, refresh),
		api.Read(api.Endpoint{
			Method:     "POST",
			Path:       "/recurring-fees/preview",
			ID:         "previewRecurringFee",
			NeedsBooks: true,
			Tag:        "Recurring fees",
			Summary:    "Preview a fee on a reservation",
			Scopes:     []string{"recurring-fees:read", "reservations:read"},
			Doc: "The amounts of the stay when it is charged a fee, stored or not, whether or not its listing is. " +
				"Fails with 400 for an unknown reservation, fee, account or tax rate and for a formula that cannot " +
				"be read.",
		}, previewFee),
	}

	return append(out, adjustmentEndpoints()...)
}

type byID struct {
	ID id.ID `path:"id"`
}

// getReservation answers with a reservation.
func getReservation(ctx context.Context, tx *db.Tx, in *byID) (*Reservation, error) {
	return show(ctx, tx, in.ID)
}

type createInput struct{ Body Create }

// create makes a reservation.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Reservation, error) {
	return Add(ctx, tx, &in.Body)
}

// Add makes a reservation and derives its journal. It fails as createReservation does.
func Add(ctx context.Context, tx *db.Tx, b *Create) (*Reservation, error) {
	return save(ctx, tx, newDraft(tx, b))
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a reservation.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Reservation, error) {
	r, err := lockOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	return save(ctx, tx, newUpdateDraft(tx, r, &in.Body))
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with a reservation in use."`
}

// handler looks for what uses reservations.
type handler struct{ used *parts.Usage }

// deleteOrArchive deletes a reservation, or archives one that is in use if the caller asks for it.
func (h handler) deleteOrArchive(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	r, err := lockOne(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// A reservation that other records name can only be archived.
	used, err := h.used.Load(ctx, tx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case used.Deletion != nil && in.OnLocked == "":
		return nil, errInUse.With(apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive})
	}

	// In both cases make it inactive first: that takes its journal out of the books, or fails on a lock.
	inactive := Inactive
	if _, err := saveDraft(ctx, tx, newUpdateDraft(tx, r, &Update{Status: &inactive})); err != nil {
		return nil, err
	}

	if used.Deletion == nil {
		err = deleteReservation(ctx, tx, r)
	}

	return &api.None{}, err
}
