package statement_test

import (
	"context"
	"reflect"
	"testing"

	"stayledger/domain/activity/journal"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// stays books two reservations on a listing.
func (b *books) stays(home id.ID) []id.ID {
	b.t.Helper()

	ids := []id.ID{id.New(b.DB.Now()), id.New(b.DB.Now())}
	for _, v := range ids {
		b.Exec(`insert into reservation (team_id, id, short_ref, listing_id, status, check_in, check_out, currency, created_at, updated_at)
			values (@team, @id, @ref, @listing, 'booked', '2026-01-10', '2026-01-12', 'usd', now(), now())`,
			db.Args{"id": v, "ref": v.ShortRef(), "listing": home})
	}

	return ids
}

// refreshListing starts what a change of the owners of a listing starts.
func (b *books) refreshListing(home id.ID) (started string) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		n, err := journal.Sources().Mark(ctx, tx, ledger.Basis{Listings: []id.ID{home}}, ledger.Outdated{
			Reason: ledger.OwnershipChanged, Type: operation.ListingJournalRefresh, Cause: operation.Resource{Type: operation.Listing, ID: home},
		})
		if err != nil {
			return err
		}

		ack, err := operation.Start(ctx, tx, *n)
		if err == nil {
			started = ack.OperationID.String()
		}

		return err
	})

	return started
}

// Statements are not saved and not published over journals that an operation is going to derive. The same requests are
// accepted once it has settled. Proves: ERR-35, ERR-59, ERR-63, ERR-64, ERR-65, ERR-66.
func TestStatementsWaitForTheirJournals(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		start  func(b *books, home id.ID) string
		reason string
		// everywhere says that the operation may touch every listing.
		everywhere bool
	}{
		"reservations of the listing": {func(b *books, home id.ID) string {
			return b.Post("/reservations/journal-entries", map[string]any{"ids": b.stays(home)}).Want(202).String("operationId")
		}, "reservationChanged", false},
		"more reservations than an operation names": {func(b *books, home id.ID) string {
			for range 11 {
				b.stays(home)
			}

			return b.Post("/reservations/journal-entries", map[string]any{}).Want(202).String("operationId")
		}, "reservationChanged", true},
		"owners of the listing": {(*books).refreshListing, "ownershipChanged", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			cabin := b.newPeriod(b.newListing("Cabin"), nil)
			january, february := b.save("2026-01", "inReview"), b.at("2026-02")
			requests := []func() *apitest.Response{
				func() *apitest.Response { return b.Put("/statements/"+january, map[string]any{"status": "published"}) },
				func() *apitest.Response { return b.Put("/statements/"+february, map[string]any{"status": "published"}) },
				func() *apitest.Response {
					return b.Post("/statements", map[string]any{"month": "2026-03", "listingPeriodIds": []id.ID{b.period}})
				},
				func() *apitest.Response { return b.Post("/statements", map[string]any{"month": "2026-04"}) },
				func() *apitest.Response {
					return b.Put("/statements/"+b.at("2026-05"), map[string]any{"status": "inReview"})
				},
			}

			b.wantJournal(january, "current")

			started := c.start(b, b.listing)
			for _, send := range requests {
				b.wantRecalculating(send(), c.reason, started)
			}

			b.wantJournal(january, "recalculating", started)
			b.wantJournal(february, "recalculating", started)
			ada := b.As([]string{"statements:read"}, &b.a)
			b.Exec(`update statement set status = 'published', published_at = now() where team_id = @team`, nil)

			if r := ada.Get("/statements/" + january).Want(200); r.String("journalStatus.status") != "recalculating" || r.Len("journalStatus.operationIds") != 0 {
				t.Errorf("the owner reads %v", r.Value("journalStatus"))
			}

			b.Exec(`update statement set status = 'inReview', published_at = null where team_id = @team`, nil)

			elsewhere := map[string]any{"month": "2026-04", "listingPeriodIds": []id.ID{cabin}}
			if c.everywhere {
				b.wantRecalculating(b.Post("/statements", elsewhere), c.reason, started)
			} else {
				b.Post("/statements", elsewhere).Want(201)
			}

			b.Put("/statements/"+january, map[string]any{"status": "inReview"}).Want(200) // changes nothing
			b.Put("/statements/"+january, map[string]any{"status": "draft"}).Want(200)    // finalizes nothing

			b.Work()

			if r := b.Get("/operations/" + started).Want(200); r.String("status") != "completed" {
				t.Fatalf("operation %s", r.Body)
			}

			for i, send := range requests {
				if r := send(); r.Status >= 300 {
					t.Errorf("request %d after the operation: %s", i, r.Body)
				}
			}

			b.wantJournal(january, "current")
		})
	}
}

func (b *books) wantRecalculating(r *apitest.Response, reason string, operations ...string) {
	b.t.Helper()
	r.WantError(apierr.CodeJournalRecalculationPending, "")

	if r.Has("retryable") {
		b.t.Errorf("invites to try again: %s", r.Body)
	}

	if got := r.String("context.journalStatus") + " " + r.String("context.journalReason") + " " + r.String("context.journalAction"); got != "recalculating "+reason+" wait" {
		b.t.Errorf("context %s", got)
	}

	b.wantOperations(r, "context.operationIds", operations)

	for _, v := range operations {
		b.Get("/operations/" + v).Want(200)
	}
}

// wantJournal compares the journal status of a statement, read alone and in the list.
func (b *books) wantJournal(statement, status string, operations ...string) {
	b.t.Helper()

	for path, at := range map[string]string{"/statements/" + statement: "", "/statements?statementIds=" + statement: "data.0."} {
		r := b.Get(path).Want(200)
		if got := r.String(at + "journalStatus.status"); got != status {
			b.t.Errorf("%s: the journal is %s, want %s", path, got, status)
		}

		b.wantOperations(r, at+"journalStatus.operationIds", operations)
	}
}

func (b *books) wantOperations(r *apitest.Response, path string, operations []string) {
	b.t.Helper()

	want := []any{}
	for _, v := range operations {
		want = append(want, v)
	}

	if got := r.Value(path); !reflect.DeepEqual(got, want) {
		b.t.Errorf("%s is %v, want %v", path, got, want)
	}
}

// A journal that only locks keep from changing is final as it is: it holds no statement up while that lock is there,
// and is tried again once the statement that held it is a draft. Proves: STM-13, ERR-60, ERR-61, ERR-62.
func TestStatementsOverLockedJournals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	stay := b.stays(b.listing)[0]
	january, february := b.save("2026-01", "inReview"), b.at("2026-02")

	mark := func(status string) {
		b.Exec(`insert into ledger_stale (team_id, source_id, source, reason, status, since) values (@team, @stay, 'reservation', 'feeChanged', @status, now())
			on conflict (team_id, source_id, cause_id) do update set status = excluded.status`, db.Args{"stay": stay, "status": status})
	}
	for _, status := range []string{"stale", "failed"} {
		mark(status)

		r := b.Put("/statements/"+february, map[string]any{"status": "inReview"}).WantError(apierr.CodeJournalRecalculationPending, "")
		if got := r.String("context.journalStatus") + " " + r.String("context.journalReason") + " " + r.String("context.journalAction"); got != status+" feeChanged refresh" {
			t.Errorf("context %s", got)
		}

		b.wantJournal(february, status)
	}

	mark("locked")
	b.wantJournal(february, "stale")
	b.Put("/statements/"+february, map[string]any{"status": "inReview"}).WantError(apierr.CodeJournalRecalculationPending, "") // nothing holds it
	b.Exec(`update ledger_stale set held_by = @statement::text::uuid where team_id = @team`, db.Args{"statement": january})

	for _, statement := range []string{january, february} {
		r := b.Get("/statements/" + statement).Want(200)
		if got := r.String("journalStatus.status") + " " + r.String("journalStatus.reason") + " " + r.String("journalStatus.action"); got != "stale journalLocked unlock" {
			t.Errorf("journal %s", got)
		}
	}

	b.Put("/statements/"+february, map[string]any{"status": "inReview"}).Want(200)
	b.Put("/statements/"+february, map[string]any{"status": "draft"}).Want(200)

	if got := b.Get("/statements/" + january).String("journalStatus.reason"); got != "journalLocked" {
		t.Errorf("after a statement that holds nothing was opened the journal says %s", got)
	}

	b.Put("/statements/"+january, map[string]any{"status": "draft"}).Want(200)

	if got := b.Get("/statements/" + january).String("journalStatus.status"); got != "recalculating" {
		t.Errorf("after the statement was opened the journal is %s", got)
	}

	b.Work()
	b.wantJournal(january, "current")
}
