package tax_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/tax"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/test/fixture"
)

// world is a team with a rate that is on a fee, which another builds on, and on a transaction.
type world struct {
	*apitest.Team
	rate, fee, dependent, first, second, third id.ID
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Team: apitest.New(t, apitest.Config{Endpoints: parts.Join(tax.Part(), operation.Part(time.Hour), fee.Part(), transaction.Part()).Endpoints})}
	w.rate = w.Post("/tax-rates", object{"name": "Sales tax", "basisPoints": 15_000}).Want(201).ID("id")
	useInTransaction(w.Team, w.rate)
	w.Tx(account.InstallStandard)
	w.Tx(mapping.InstallStandard)
	w.fee, w.dependent = w.addFee("Cleaning", &w.rate), w.addFee("Management", nil)
	w.Exec(`insert into fee_reference (team_id, fee_id, kind, name, target_fee_id) values (@team, @fee, 'fee', 'Cleaning', @target)`,
		db.Args{"fee": w.dependent, "target": w.fee})
	w.first, w.second, w.third = w.stay(w.fee), w.stay(w.dependent), w.stay(w.addFee("Linen", nil))

	return w
}

func (w *world) addFee(name string, rate *id.ID) id.ID {
	fee := id.New(w.DB.Now())
	w.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id, debit_account_id,
			tax_rate_id, tax_behavior, created_at, updated_at)
		select @team, @id, @name, 'additionalFee', '', 'flat', 1000, 'manager', 'owners', a.id as credit, a.id as debit, @rate::uuid,
			case when @rate::uuid is not null then 'excluded' end, now(), now()
		from account a where a.team_id = @team and a.code = '4120'`, db.Args{"id": fee, "name": name, "rate": rate})

	return fee
}

// stay is a reservation that a fee is charged on.
func (w *world) stay(fee id.ID) id.ID {
	listing := fixture.Listing(w.Team, "Villa")
	stay := fixture.Stay(w.Team, listing, "booked", "2026-02-01", "2026-02-03")
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		of, err := db.Get[id.ID](ctx, tx, `select id from account where team_id = @team and code = '4120'`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		at, err := day.Parse("2026-02-01")
		if err != nil {
			return err
		}

		line := ledger.Line{AccountID: of, Party: ledger.Manager, ListingID: listing, ReservationID: stay, RecurringFeeID: fee, Trigger: ledger.TriggerRecurringFee}
		debit, credit := line, line
		debit.Ref, debit.CentTotal, credit.Ref, credit.CentTotal = "debit", 1000, "credit", -1000
		_, err = ledger.Replace(ctx, tx, []id.ID{stay}, []ledger.Posting{{
			SourceID: stay, TxnCode: stay.String(), Ledger: ledger.Trust, Status: ledger.Active, TxnAt: at, Currency: "usd", Lines: []ledger.Line{debit, credit},
		}}, ledger.Lenience{})

		return err
	})

	return stay
}

// stale are the sources with stale journals, each with the cause.
func (w *world) stale() (out map[id.ID]id.ID) {
	out = map[id.ID]id.ID{}

	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		type row struct{ SourceID, CauseID id.ID }

		rows, err := db.Select[row](ctx, tx, `select source_id, cause_id from ledger_stale where team_id = @team`, db.Args{"team": tx.Team})
		for _, r := range rows {
			out[r.SourceID] = r.CauseID
		}

		return err
	})

	return out
}

// A changed rate outdates the stays charged with a fee that is taxed at it or builds on such a one, and nothing else: a
// bill keeps the tax that it states. A change of anything else outdates nothing.
func TestChangedRateOutdatesJournals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/tax-rates/" + w.rate.String()
	w.Put(path, object{"name": "Value added tax", "basisPoints": 15_000}).Want(200)

	if got := w.stale(); len(got) != 0 {
		t.Errorf("a new name outdates %v", got)
	}

	w.Put(path, object{"basisPoints": 16_000}).Want(200)

	got := w.stale()
	if len(got) != 2 || got[w.first] != w.fee || got[w.second] != w.fee {
		t.Errorf("stale are %v", got)
	}

	kinds := []string{}

	operations := w.Get("/operations").Want(200)
	for i := range operations.Len("items") {
		kinds = append(kinds, operations.String(fmt.Sprintf("items.%d.type", i)))
	}

	slices.Sort(kinds)

	if s := strings.Join(kinds, " "); s != "reservation-journal-refresh" {
		t.Errorf("operations: %s", s)
	}
}

// Proves: ERR-72, ERR-73, ERR-74.
func TestTaxRateOfFeeInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	path := "/tax-rates/" + w.rate.String()
	if r := w.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["transactions","recurringFees"]` {
		t.Errorf("got %s", r.Body)
	}

	w.Exec(`delete from transaction where team_id = @team`, nil)

	if r := w.Delete(path).WantError(apierr.CodeBadRequest, apierr.ReasonInUse); r.String("context.lockReasons") != `["recurringFees"]` {
		t.Errorf("got %s", r.Body)
	}

	w.Delete(path + "?onLocked=archive").Want(204)

	if got := w.stale(); len(got) != 0 {
		t.Errorf("archiving outdates %v", got)
	}

	w.Exec(`update fee set tax_rate_id = null, tax_behavior = null where team_id = @team`, nil)
	w.Delete(path).Want(204)
}
