package books_test

import (
	"context"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// moving is a villa with a second listing, called home, of one owner.
func moving(t *testing.T) (v *villa, home string) {
	t.Helper()
	v = newVilla(t)
	home = v.must("POST", "/listings", object{"name": "Home", "initialOwnership": object{"members": list{object{"contactId": v.ben, "split": 100000}}}})

	return v, home
}

// A stay that moves to another listing takes with it what was booked for it and left the listing to the stay: deposits,
// what was kept of them, bills, and lines that found the stay by its confirmation code.
func TestAMovedStayTakesItsMoneyAlong(t *testing.T) {
	t.Parallel()
	v, home := moving(t)
	stay := v.stayA()
	v.must("PUT", "/reservations/"+stay, object{"confirmationCode": "HM7"})
	deposit := v.deposit("2026-01-05", stay, 64400, 1898, "deposit_merchantFee")
	v.Post("/transactions", object{"type": "deposit", "date": "2026-01-22", "lines": list{
		object{"assignment": "accountsReceivable", "amount": 64400, "matchReservationConfirmationCode": "HM7"},
	}}).Want(201)
	v.Post("/transactions", object{"type": "expense", "date": "2026-01-30", "lines": list{
		object{"accountId": v.account("5200"), "amount": 700, "reservationId": stay},
	}}).Want(201)
	here := v.books("&listingIds=" + v.listing)
	v.must("PUT", "/reservations/"+stay, object{"listingId": home})

	if got := v.Get("/transactions/" + deposit).Want(200); got.String("journalStatus.status") != "recalculating" {
		t.Errorf("the deposit is %s before it has followed", got.String("journalStatus"))
	}

	v.Post("/statements", object{"month": "2026-01", "listingPeriodIds": list{v.periodOf(home)}}).Want(409)
	v.Work()
	v.wantBooks("&listingIds="+v.listing, "")
	v.wantBooks("&listingIds="+home, strings.Join(here, "\n"))

	got := v.Get("/transactions/" + deposit).Want(200)
	if got.String("lines.0.listingId") != home || got.Value("lines.0.followsReservation") != true || got.String("journalStatus.status") != "current" {
		t.Errorf("the deposit after the move: %s", got.Body)
	}
	// Sent again as it is read, listing and all, it goes on following.
	v.must("PUT", "/transactions/"+deposit, object{"lines": list{
		object{"assignment": "accountsReceivable", "amount": 64400, "reservationId": stay, "listingId": home},
		object{"assignment": "deposit_merchantFee", "amount": -1898, "reservationId": stay, "listingId": home},
	}})
	v.must("PUT", "/reservations/"+stay, object{"listingId": v.listing})
	v.Work()
	v.wantBooks("&listingIds="+v.listing, strings.Join(here, "\n"))
	v.wantBooks("&listingIds="+home, "")
}

func (v *villa) periodOf(listing string) string {
	v.t.Helper()

	var periods struct{ Data []struct{ ID string } }
	v.read("/listings/ownership-periods?listingIds="+listing, &periods)

	return periods.Data[0].ID
}

// A listing that the caller named stays, and what was booked so can still be changed.
func TestANamedListingStaysWhenTheStayMoves(t *testing.T) {
	t.Parallel()
	v, home := moving(t)
	stay := v.stayA()
	deposit := v.Post("/transactions", object{"type": "deposit", "date": "2026-01-05", "lines": list{
		object{"assignment": "accountsReceivable", "amount": 64400, "reservationId": stay, "listingId": v.listing},
		object{"assignment": "deposit_merchantFee", "amount": -1898, "reservationId": stay},
	}}).Want(201).String("id")
	v.must("PUT", "/reservations/"+stay, object{"listingId": home})
	v.Work()

	got := v.Put("/transactions/"+deposit, object{"description": "Card"}).Want(200)
	if got.String("lines.0.listingId") != v.listing || got.Value("lines.0.followsReservation") != false || got.String("lines.1.listingId") != home {
		t.Errorf("the deposit after the move: %s", got.Body)
	}

	v.Put("/transactions/"+deposit, object{"lines_update": list{object{"id": got.String("lines.0.id"), "listingId": nil}}}).Want(200)
	v.wantBooks("&accountIds="+v.account("2000").String()+"&listingIds="+v.listing, "")
}

// A stay that moves while money of it is being booked takes that along as well: whoever books has read where the stay
// was, and finds it moved.
func TestMoneyThatIsBookedDuringAMoveFollows(t *testing.T) {
	t.Parallel()

	for name, o := range map[string]object{
		"deposit": {"type": "deposit", "date": "2026-01-05", "lines": list{object{"assignment": "accountsReceivable", "amount": 64400}}},
		"bill":    {"type": "expense", "date": "2026-01-30", "lines": list{object{"amount": 700}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, home := moving(t)
			stay := v.stayA()
			line, _ := o["lines"].(list)[0].(object)

			line["reservationId"] = stay
			if name == "bill" {
				line["accountId"] = v.account("5200")
			}

			booked := make(chan string, 1)

			v.Tx(func(ctx context.Context, tx *db.Tx) error {
				args := db.Args{"team": tx.Team, "stay": stay, "home": home}
				if _, err := tx.Exec(ctx, `update reservation set listing_id = @home where team_id = @team and id = @stay`, args); err != nil {
					return err
				}

				go func() { // as one request: its dry run would find rows changed by the move
					_, answer := v.send("POST", "/transactions", o)
					booked <- idOf(answer)
				}()

				return apitest.UntilWaiting(ctx, tx, 1)
			})

			if at := v.Get("/transactions/" + <-booked).Want(200).String("lines.0.listingId"); at != home {
				t.Errorf("the money is at %s, the stay at %s", at, home)
			}
		})
	}
}

// A journal by hand stays where it was written when its stay moves, and can still be described anew and taken back.
func TestAJournalOfAMovedStayCanBeChangedAndReversed(t *testing.T) {
	t.Parallel()
	v, home := moving(t)
	stay := v.stayA()
	journal := v.must("POST", "/general-ledger/journals", object{"date": "2026-01-20", "lines": list{
		object{"accountId": v.account("5200"), "centTotal": 300, "listingId": v.listing, "reservationId": stay, "party": "owners"},
		object{"accountId": v.account("1000"), "centTotal": -300},
	}})
	shed := v.must("POST", "/listings", object{"name": "Shed", "initialOwnership": object{"members": list{object{"contactId": v.ben, "split": 100000}}}})
	v.must("PUT", "/reservations/"+stay, object{"listingId": home})
	v.Work()

	path := "/general-ledger/journals/" + journal
	v.Put(path, object{"description": "Linen"}).Want(200)
	v.Put(path, object{"lines": list{
		object{"accountId": v.account("5200"), "centTotal": 500, "listingId": shed, "reservationId": stay, "party": "owners"},
		object{"accountId": v.account("1000"), "centTotal": -500},
	}}).WantIssue("listingMismatch", "lines.0.listingId")

	if r := v.Post(path+"/reverse", object{"date": "2026-01-21"}).Want(201); r.String("lines.0.listingId") != v.listing {
		t.Errorf("the reversal is %s", r.Body)
	}
}

// What a lock holds does not follow until it is given free, and says so.
func TestALockedDepositFollowsWhenItsBooksAreReopened(t *testing.T) {
	t.Parallel()
	v, home := moving(t)
	stay := v.stay("2026-03-10", "2026-03-12", object{"rent": 40000})
	deposit := v.deposit("2026-01-05", stay, 40000, 0, "")
	v.must("POST", "/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "January"})
	v.must("PUT", "/reservations/"+stay, object{"listingId": home})
	v.Work()
	v.wantBooks("&transactionIds="+deposit+"&listingIds="+v.listing, "2026-01-05 2000 -40000")

	if got := v.Get("/transactions/" + deposit).Want(200); got.String("journalStatus.reason") != "journalLocked" {
		t.Errorf("held back: %s", got.String("journalStatus"))
	}

	v.must("POST", "/team/books-closing", object{"booksClosedAt": "2026-01-01", "reason": "Mend January"})
	v.Work()
	v.wantBooks("&transactionIds="+deposit+"&listingIds="+v.listing, "")
	v.wantBooks("&transactionIds="+deposit+"&listingIds="+home, "2026-01-05 2000 -40000")
}
