package books_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// TestBooksHoldWhateverHappens gives random teams random histories and holds their books to the invariants; then it
// takes every derived entry out of the ledger and derives all of them from nothing, which has to give the same books.
func TestBooksHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	t.Run("lanes", func(t *testing.T) {
		for lane := range lanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				x := newTeam(t)
				rapid.Check(t, func(r *rapid.T) { live(x, r) })
			})
		}
	})
	steps.report(t)
}

func live(x *team, r *rapid.T) {
	h := begin(x, r)
	for number := range h.draw(4, 16, "steps") {
		h.step(number)
	}

	h.work()
	h.check()
}

// check holds the books of a team to the invariants: as the locks that stand keep them, with everything reopened, and
// derived from nothing.
func (h *history) check() {
	h.settled("after the history")
	h.hold("after the history")
	h.reopen()
	h.settled("after everything was reopened")
	h.hold("after everything was reopened")

	books := h.rows("")
	h.forget()
	h.refreshAll()
	h.same("derived from nothing", books, h.rows(""))
	h.hold("derived from nothing")
}

// rows are the entries of the team with everything that a reader can see but the statement that they are attached to,
// in the order of their references; more has the other fields that a row starts with.
func (h *history) rows(more string) (rows []string) {
	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[string](ctx, tx, `
			select `+more+`concat_ws(' ', e.txn_code, e.ref, e.ledger, e.status, e.txn_at, a.code, e.cent_total, e.currency, e.party, e.trigger_type,
				'listing', e.listing_id, 'period', e.ownership_period_id, 'contact', e.contact_id, 'stay', e.reservation_id,
				'transaction', e.transaction_id, 'fee', e.recurring_fee_id, e.description)
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team order by e.source_id, e.txn_code, e.ref`, db.Args{"team": tx.Team})

		return err
	})

	return rows
}

func (h *history) same(what string, before, after []string) {
	if slices.Equal(before, after) {
		return
	}

	only := func(of, without []string) string {
		in := map[string]bool{}
		for _, row := range without {
			in[row] = true
		}

		return strings.Join(slices.DeleteFunc(slices.Clone(of), func(row string) bool { return in[row] }), "\n")
	}
	h.r.Fatalf("%s: the books differ (%s)\nonly before:\n%s\nonly after:\n%s", what, h.describe(), only(before, after), only(after, before))
}

// forget takes every entry that is derived out of the ledger, so that nothing but the stays and transactions is left to
// derive from.
func (h *history) forget() {
	h.Tx(func(ctx context.Context, tx *db.Tx) error {
		sources, err := db.Select[id.ID](ctx, tx, `
			select id from reservation where team_id = @team union all select id from transaction where team_id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			return err
		}

		_, err = ledger.Replace(ctx, tx, sources, nil, ledger.Lenience{})

		return err
	})
}
