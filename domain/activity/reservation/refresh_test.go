package reservation_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// A journal that cannot be derived fails its operation and says so; the others are derived all the same, and so is it
// once it can be.
func TestJournalsThatCannotBeDerived(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one := b.Post("/reservations", b.rent("one", 100)).Want(201).String("id")
	two := b.Post("/reservations", b.rent("two", 200)).Want(201).String("id")
	rent := b.Get(mappings + "?lineType=rent").Want(200).String("data.0.id")
	b.Exec(`delete from account_assignment where team_id = @team and assignment = 'accountsReceivable'`, nil)
	b.Put("/reservations/"+two, object{"lines": []any{}}).Want(200)
	b.Put(mappings+"/"+rent, object{"accountId": b.account("4020")}).Want(200)
	b.Post("/reservations/journal-entries", object{"ids": []string{one, two}}).Want(202)
	b.Work()

	failed := b.Get("/operations?status=failed").Want(200)
	if failed.Len("items") != 2 {
		t.Errorf("%s", failed.Body)
	}

	status := func(id, want string) {
		t.Helper()

		if got := b.Get("/reservations/" + id).Want(200); got.String("journalStatus.status") != want {
			t.Errorf("%s: %s", want, got.String("journalStatus"))
		}
	}
	status(one, "failed")
	status(two, "current")
	b.wantEntries("2026-01-29 2000 100", "2026-01-29 4000o -100")
	b.Post("/reservations/journal-entries", object{"ids": []string{one}}).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
	b.Exec(`insert into account_assignment (team_id, assignment, account_id) values (@team, 'accountsReceivable', @account)`, db.Args{"account": b.account("2000")})
	b.Post("/reservations/journal-entries", object{"ids": []string{one}}).Want(200)
	status(one, "current")
	b.wantEntries("2026-01-29 2000 100", "2026-01-29 4020o -100")
}

// Deleting a fee that made journals impossible brings them up to date.
func TestJournalsOutliveTheirFee(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	path := "/reservations/" + b.Post("/reservations", b.rent("one", 100)).Want(201).String("id")
	huge := b.Post("/recurring-fees", b.fee("rateType", "flat", "formula", "", "defaultRate", 1<<53-1, "chargeBasis", "perNight")).Want(201).String("id")
	b.Work()

	if got := b.Get(path).Want(200); got.String("journalStatus.status") != "failed" {
		t.Errorf("%s", got.String("journalStatus"))
	}

	b.Delete("/recurring-fees/" + huge).Want(204)
	b.Work()

	if got := b.Get(path).Want(200); got.String("journalStatus.status") != "current" {
		t.Errorf("%s", got.String("journalStatus"))
	}
}

// A task that is given up leaves no journal waiting for it, save those that only a lock keeps stale.
func TestGivenUpRefresh(t *testing.T) {
	t.Parallel()

	var cause error

	refresh := reservation.Part().Handlers[ledger.RefreshReservations]
	refresh.Do = func(context.Context, *db.DB, job.Job) error { return job.Permanent(cause) }
	b := booksWith(t, map[job.Kind]job.Handler{ledger.RefreshReservations: refresh})
	b.ExpectInternal("reservation-journal-refresh", "its work is made to fail")

	stay := b.Post("/reservations", b.rent("one", 100)).Want(201).String("id")
	other := b.Post("/reservations", b.stay("lines", []any{})).Want(201).String("id")
	status := func(id, want string) {
		t.Helper()

		if got := b.Get("/reservations/" + id).Want(200); got.String("journalStatus.status") != want {
			t.Errorf("%s: %s", want, got.String("journalStatus"))
		}
	}
	rent := b.Get(mappings + "?lineType=rent").Want(200).String("data.0.id")
	cause = ledger.ErrBooksClosed

	b.Put(mappings+"/"+rent, object{"accountId": b.account("4020")}).Want(200)
	b.Work()
	status(stay, "stale")

	cause = errors.New("out of reach")

	b.Post("/reservations/journal-entries", object{}).Want(202)
	b.Work()
	status(stay, "failed")
	status(other, "current")
	b.Post("/reservations/journal-entries", object{"ids": []string{stay}}).Want(200)
	status(stay, "current")
}

// Whatever was done to a reservation, its stored journal is the one that is derived from nothing.
func TestRefreshEqualsRebuild(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee("formula", "rent + cancellation - discount", "statusFilter", "all")).Want(201)

	for _, m := range []object{{"lineType": "cleaningFee", "channel": "vrbo", "accountId": b.account("4010"), "revenueRecognition": "checkOut"}, {"lineType": "tax", "appId": "pms", "status": "excluded"}} {
		b.Post(mappings, m).Want(201)
	}

	n := 0

	rapid.Check(t, func(r *rapid.T) {
		n++
		reservationID := b.Post("/reservations?dryRun=false", b.stay("uniqueRef", "r"+strconv.Itoa(n))).Want(201).ID("id")
		path := "/reservations/" + reservationID.String()

		for range rapid.IntRange(1, 4).Draw(r, "changes") {
			change := object{}

			for name, values := range map[string][]any{
				"status": {"booked", "canceled", "inactive"}, "bookingPlatform": {"vrbo", nil}, "appId": {"pms", nil}, "checkOut": {"2026-01-30", "2026-03-03"},
				"generalLedgerPostingAt": {"2026-05-05", nil}, "lines": {[]any{}, []any{object{"type": "cleaningFee", "amount": 3}, object{"type": "discount", "amount": -100}}},
			} {
				if rapid.Bool().Draw(r, name) {
					change[name] = rapid.SampledFrom(values).Draw(r, name+" value")
				}
			}

			b.Put(path+"?dryRun=false", change).Want(200)

			if rapid.Bool().Draw(r, "adjust") {
				b.Post(path+"/adjustments?dryRun=false", object{"amount": rapid.IntRange(-50, 50).Draw(r, "adjusted"), "accountRef": "4090"}).Want(201)
			}
		}

		stored := b.entries()
		b.Exec(`delete from ledger_entry where team_id = @team and source_id = @id`, db.Args{"id": reservationID})
		b.Post("/reservations/journal-entries", object{"ids": []id.ID{reservationID}}).Want(200)

		if rebuilt := b.entries(); !slices.Equal(rebuilt, stored) {
			r.Fatalf("stored %q, rebuilt %q", stored, rebuilt)
		}

		b.Delete(path + "?dryRun=false").Want(204)
		b.wantEntries()
	})
}
