package fee_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/domain/record/operation"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/money"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type object = fixture.Object

// books are those of a team with the standard chart and one listing. Its reservations are derived by the charges alone,
// at check-in.
type books struct {
	*apitest.Team
	t             testing.TB
	listing       id.ID
	credit, debit id.ID
}

func newBooks(t testing.TB) *books {
	t.Helper()
	b := &books{t: t, Team: apitest.New(t, apitest.Config{
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil)),
		Endpoints: parts.Join(fee.Part(), tax.Part(), account.Part(nil), operation.Part(time.Hour), ledger.Part(), reservation.Part()).Endpoints,
		Handlers: map[job.Kind]job.Handler{
			ledger.RefreshReservations: operation.Work(time.Minute, derive),
		},
	})}
	b.Tx(account.InstallStandard)
	b.Tx(mapping.InstallStandard)
	b.listing = b.addListing("Villa")
	b.credit, b.debit = b.account("4100"), b.account("5100")

	return b
}

func (b *books) addListing(name string) id.ID { return fixture.Listing(b.Team, name) }

func (b *books) account(code string) id.ID {
	return fixture.Accounts(b.Team)[code]
}

// stay books a rent of 1000.00 on the listing, from some day on for five nights.
func (b *books) stay(checkIn string) id.ID {
	b.t.Helper()
	return b.stayOn(b.listing, checkIn, "booked")
}

func (b *books) stayOn(listing id.ID, checkIn, status string) id.ID {
	b.t.Helper()

	in, err := day.Parse(checkIn)
	if err != nil {
		b.t.Fatal(err)
	}

	v := fixture.Stay(b.Team, listing, status, checkIn, in.AddDays(5).String())
	b.Exec(`insert into reservation_line (team_id, id, reservation_id, position, type, amount) values (@team, @id, @reservation, 1, 'rent', 100000)`,
		db.Args{"id": id.New(b.DB.Now()), "reservation": v})

	return v
}

// derive books the amounts of the fees on reservations.
func derive(ctx context.Context, tx *db.Tx, _ operation.Run, args ledger.RefreshArgs) error {
	// As the real derivations do, so that two of the same reservation take turns.
	if _, err := tx.Exec(ctx, `select from reservation where team_id = @team and id = any(@ids) order by id for update`, db.Args{"team": tx.Team, "ids": args.IDs}); err != nil {
		return err
	}

	type stay struct {
		ID, ListingID id.ID
		CheckIn       day.Day
		Nights        int
		Status        string
		Rent          money.Cents
	}

	stays, err := db.Select[stay](ctx, tx, `
		select r.id, r.listing_id, r.check_in, r.check_out - r.check_in as nights, r.status,
			(select coalesce(sum(l.amount), 0)::bigint from reservation_line l where l.team_id = r.team_id and l.reservation_id = r.id) as rent
		from reservation r where r.team_id = @team and r.id = any(@ids)`, db.Args{"team": tx.Team, "ids": args.IDs})
	if err != nil {
		return err
	}

	var wanted []ledger.Posting

	for _, s := range stays {
		subscriptions, err := fee.ListSubscriptions(ctx, tx, []id.ID{s.ListingID})
		if err != nil {
			return err
		}

		line := func(name string) money.Cents {
			if name == "rent" {
				return s.Rent
			}

			return 0
		}
		for _, c := range fee.Charges(subscriptions[s.ListingID], &fee.Stay{Line: line, Status: s.Status, Nights: s.Nights, At: s.CheckIn}) {
			f := &c.Subscription.Fee
			if c.Total() == 0 || !c.Subscription.Period.Covers(s.CheckIn) {
				continue
			}

			debit := ledger.Line{
				Ref: "debit", AccountID: f.DebitAccountID, Party: f.DebitParty, CentTotal: c.Total(), ListingID: s.ListingID, ReservationID: s.ID,
				RecurringFeeID: f.ID, Trigger: ledger.TriggerRecurringFee,
			}
			credit := debit
			credit.Ref, credit.AccountID, credit.Party, credit.CentTotal = "credit", f.CreditAccountID, f.CreditParty, -c.Total()
			wanted = append(wanted, ledger.Posting{
				SourceID: s.ID, TxnCode: s.ID.String() + f.ID.String(), Ledger: ledger.Trust, Status: ledger.Active, TxnAt: s.CheckIn, Currency: "usd",
				Lines: []ledger.Line{debit, credit},
			})
		}
	}

	_, err = ledger.Replace(ctx, tx, args.IDs, wanted, ledger.Lenience{SkipLocked: true})

	return err
}

// fee is the body of a 20 % management fee, with changes in name, value pairs; a nil value removes the field.
func (b *books) fee(changes ...any) object {
	body := object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": b.credit, "debitAccountId": b.debit,
	}

	return fixture.With(body, changes...)
}

// add makes a fee that the listing is charged all the time, and gives its path.
func (b *books) add(changes ...any) string {
	b.t.Helper()
	return "/recurring-fees/" + b.Post("/recurring-fees", b.fee(append([]any{"listingSubscriptions", b.subscriptions(object{})}, changes...)...)).Want(201).String("id")
}

func (b *books) subscriptions(periods ...object) []any {
	out := []any{}

	for _, p := range periods {
		if p["listingId"] == nil {
			p["listingId"] = b.listing
		}

		out = append(out, p)
	}

	return out
}

// wantCharged says what the owners are charged in the ledger, in cents, when the work that waits is done.
func (b *books) wantCharged(want int64) {
	b.t.Helper()
	b.Work()

	var got int64

	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		got, err = db.Get[int64](ctx, tx, `select coalesce(sum(cent_total), 0)::bigint from ledger_entry where team_id = @team and account_id = @account`,
			db.Args{"team": tx.Team, "account": b.debit})

		return err
	})

	if got != want {
		b.t.Errorf("charged %d, want %d", got, want)
	}
}

// wantStale says which reservations have a stale journal because of a fee, and lets go of them.
func (b *books) wantStale(of string, want ...id.ID) {
	b.t.Helper()

	var got []id.ID

	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		got, err = db.Select[id.ID](ctx, tx, `select source_id from ledger_stale where team_id = @team and '/recurring-fees/' || cause_id = @fee order by source_id`,
			db.Args{"team": tx.Team, "fee": of})

		return err
	})
	slices.SortFunc(want, id.ID.Compare)

	if !slices.Equal(got, want) {
		b.t.Errorf("stale are %v, want %v", got, want)
	}

	b.Exec(`delete from ledger_stale where team_id = @team`, nil)
}
