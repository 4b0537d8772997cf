package books_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

// summer is a villa with July and August published: six stays of 1,000.00 each; the manager keeps 10 % of them.
type summer struct {
	*villa
	fee    string
	months []string
}

func newSummer(t *testing.T) *summer {
	t.Helper()
	s := &summer{villa: newVilla(t), months: []string{"2026-07", "2026-08"}}
	s.must("PUT", "/team", object{"statementStartAt": "2026-07-01"})

	s.fee = s.villa.fee("Management", "managementFee", "rent", 10000, "5100", "4100")
	for _, month := range s.months {
		for _, nights := range [][2]string{{"01", "03"}, {"05", "07"}, {"09", "11"}, {"13", "15"}, {"17", "19"}, {"21", "23"}} {
			s.stay(month+"-"+nights[0], month+"-"+nights[1], object{"rent": 100000})
		}
	}

	s.Work()
	s.publish()

	return s
}

func (s *summer) publish() {
	s.t.Helper()

	for _, month := range s.months {
		s.must("POST", "/statements", object{"month": month, "status": "published"})
	}
}

// charge changes the rate of the fee and has the journals follow, which the published statements keep them from.
func (s *summer) charge(rate int64) {
	s.t.Helper()
	s.must("PUT", "/recurring-fees/"+s.fee, object{"defaultRate": rate})
	s.Work()
}

// wantPublished publishes both months and compares the total of each.
func (s *summer) wantPublished(round int, net int64) {
	s.t.Helper()
	s.publish()

	for _, month := range s.months {
		if got := s.month(month).Financials.NetRevenue; got != net {
			s.t.Fatalf("round %d: %s is published with %d, want %d", round, month, got, net)
		}
	}

	var stays struct {
		Data []struct {
			ID            string
			JournalStatus struct{ Status string }
		}
	}
	s.read("/reservations?limit=250", &stays)

	for _, stay := range stays.Data {
		if stay.JournalStatus.Status != "current" {
			s.t.Fatalf("round %d: the journal of %s is %s", round, stay.ID, stay.JournalStatus.Status)
		}
	}
}

// A journal that is being derived while the last lock on it is taken away follows: it waits behind the reopening, and
// is not kept as it is by a statement that was there when it was read.
func TestAJournalFollowsThatIsDerivedWhileItsStatementIsReopened(t *testing.T) {
	t.Parallel()
	s := newSummer(t)
	july, august := s.month("2026-07").ID, s.month("2026-08").ID
	s.charge(11000)
	s.must("PUT", "/statements/"+august, object{"status": "draft"})

	done := make(chan int)

	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		const hold = `select from listing_ownership_period where team_id = @team for update`
		if _, err := tx.Exec(ctx, hold, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		go func() {
			status, _ := s.send("PUT", "/statements/"+july, object{"status": "draft"})
			done <- status
		}()

		if err := apitest.UntilWaiting(ctx, tx, 1); err != nil {
			return err
		}

		go func() {
			s.Work()

			done <- http.StatusOK
		}()

		return apitest.UntilWaiting(ctx, tx, 2)
	})

	for range 2 {
		if status := <-done; status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}

	s.Work()
	s.wantPublished(0, 534000)
}

// Statements that are returned to draft one right after the other, while workers derive what the first set free, leave
// no journal behind: published again they tell the new rate.
func TestStatementsReopenedInARowLeaveNoJournalBehind(t *testing.T) {
	t.Parallel()

	for name, reopen := range map[string]func(s *summer, statements []string){
		"one by one": func(s *summer, statements []string) {
			for _, statement := range statements {
				s.must("PUT", "/statements/"+statement, object{"status": "draft"})
			}
		},
		"deleted": func(s *summer, statements []string) {
			for _, statement := range statements {
				s.must("DELETE", "/statements/"+statement+"?onLocked=unlockAndDelete", nil)
			}
		},
		"in a batch": func(s *summer, statements []string) {
			s.must("POST", "/statements/batch", object{"status": "draft", "statementIds": statements})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSummer(t)
			statements := []string{s.month("2026-08").ID, s.month("2026-07").ID}

			for round := range 12 {
				rate, net := int64(11000), int64(534000)
				if round%2 == 1 {
					rate, net = 10000, 540000
				}

				s.charge(rate)

				worked := make(chan struct{})
				stop := make(chan struct{})

				go func() {
					defer close(worked)

					for open := true; open; {
						select {
						case <-stop:
							open = false
						// The pause keeps the loop from turning on an empty queue; nothing is decided by its length.
						case <-time.After(time.Millisecond):
						}

						s.Work()
					}
				}()

				reopen(s, statements)
				close(stop)
				<-worked
				s.wantPublished(round, net)
			}
		})
	}
}
