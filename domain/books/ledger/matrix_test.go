package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// shape is a kind of posting, as far as locks tell one from another.
type shape struct {
	books          ledger.Ledger
	status         ledger.Status
	party          ledger.Party
	currency, date string
	// bank says that an entry is on the bank account.
	bank bool
}

func shapes() (all []shape) {
	for _, kind := range []struct {
		books  ledger.Ledger
		status ledger.Status
	}{{ledger.Trust, ledger.Active}, {ledger.Operating, ledger.Active}, {ledger.Trust, ledger.Inactive}, {ledger.Historical, ledger.Inactive}} {
		for _, party := range []ledger.Party{ledger.Owners, ledger.Manager} {
			for _, currency := range []string{"usd", "eur"} {
				for _, date := range []string{"2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01"} {
					for _, bank := range []bool{true, false} {
						all = append(all, shape{kind.books, kind.status, party, currency, date, bank})
					}
				}
			}
		}
	}

	return all
}

// reported says that closed books and statements show the posting.
func (s *shape) reported() bool { return s.status == ledger.Active && s.books != ledger.Historical }

func (s *shape) inJanuaryOrBefore() bool { return s.date <= "2026-01-31" }

func (s *shape) owners() bool {
	return s.reported() && s.party == ledger.Owners && s.currency == "usd" && s.inJanuaryOrBefore()
}

// matrix are postings of every shape, each the only one of its source, on books with a lock that holds up to the end of
// January 2026.
type matrix struct {
	*books
	shapes  []shape
	sources []id.ID
	fees    []id.ID
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{books: newBooks(t), shapes: shapes()}

	var postings []ledger.Posting

	for i := range m.shapes {
		s := &m.shapes[i]
		m.sources, m.fees = append(m.sources, id.New(m.DB.Now())), append(m.fees, id.New(m.DB.Now()))
		p := m.posting(m.sources[i], fmt.Sprint("shape", i), date(t, s.date), 100)
		p.Ledger, p.Status, p.Currency = s.books, s.status, s.currency

		p.Lines[1].Party = s.party
		for k := range p.Lines {
			p.Lines[k].RecurringFeeID = m.fees[i]
		}

		if !s.bank {
			p.Lines[0].AccountID = m.accounts[2]
		}

		postings = append(postings, p)
	}

	m.replace(m.sources, postings...)

	return m
}

// team changes how far the books are closed.
func (m *matrix) team(set string) {
	m.t.Helper()
	m.Exec(`update team set `+set+` where id = @team and @user::uuid is not null`, db.Args{"user": m.Scope().Actor.User})
}

// saved saves a statement over January and attaches the entries that the condition names to it.
func (m *matrix) saved(status, attached string) {
	m.t.Helper()
	statement := m.statement(status)
	m.Exec(`update ledger_entry set statement_id = @statement where team_id = @team and `+attached, db.Args{"statement": statement})
}

// reconciled has a bank record stand for every source.
func (m *matrix) reconciled() {
	m.t.Helper()

	for i := range m.sources {
		m.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
			values (@team, @transaction, @ref, 'deposit', '2026-01-15', 'usd', @account, 100, now(), now())`,
			db.Args{"transaction": m.sources[i], "ref": fmt.Sprint("t", i), "account": m.accounts[0]})
	}

	m.Exec(`update account set type = 'bank', banking_category = 'trust' where team_id = @team and id = @account`, db.Args{"account": m.accounts[0]})
	m.Exec(`with record as (
			insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
			values (@team, gen_random_uuid(), @account, '2026-01-15', 100, now(), now()) returning id)
		insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		select @team, record.id, s.id, @account, 100, now() from record, unnest(@sources::uuid[]) as s (id)`,
		db.Args{"account": m.accounts[0], "sources": m.sources})
}

var errUndo = errors.New("undo")

// refused is the lock that keeps a source from being taken out of the books, asked where a write asks: Locked.
func (m *matrix) refused(source id.ID) error {
	m.t.Helper()

	err := m.DB.Write(m.t.Context(), m.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := ledger.Replace(ctx, tx, []id.ID{source}, nil, ledger.Lenience{}); err != nil {
			return err
		}

		return errUndo
	})
	switch {
	case errors.Is(err, errUndo):
		return nil
	case !ledger.IsLock(err):
		m.t.Fatal(err)
	}

	return err
}

// told is the answer of SQL for every source: whether a lock holds its journal for the reader, and whether one holds
// its entries for everybody.
type told struct {
	ID      id.ID
	Journal bool
	Entries int64
}

func (m *matrix) told() (rows map[id.ID]told, sources, fees map[id.ID]ledger.State) {
	m.t.Helper()

	rows = map[id.ID]told{}

	m.Tx(func(ctx context.Context, tx *db.Tx) error {
		found, err := db.Select[told](ctx, tx, `select s.id, `+ledger.SourceLockSQL("s.id")+` as journal, (select count(*) from ledger_entry e
				where e.team_id = @team and e.source_id = s.id and `+ledger.EntryLockSQL("e")+`) as entries
			from unnest(@sources::uuid[]) as s (id)`, db.Args{"team": tx.Team, "sources": m.sources, "reader": tx.Actor.User})
		if err != nil {
			return err
		}

		for _, r := range found {
			rows[r.ID] = r
		}

		if sources, err = ledger.Transactions.LoadStates(ctx, tx, m.sources); err != nil {
			return err
		}

		fees, err = ledger.LoadFeeStates(ctx, tx, m.fees)

		return err
	})

	return rows, sources, fees
}

// lockCase is a lock, put on before the matrix is asked, with what it holds.
type lockCase struct {
	name  string
	lock  func(*matrix)
	holds func(*shape) bool
	// reason is the refusal of a write that the lock holds.
	reason apierr.Reason
	// personal says that the lock holds the caller and not everybody.
	personal bool
	// whole says that the lock also shows on a source without a posting that it holds.
	whole bool
	// off says that it shows on no fee.
	off bool
}

func lockCases() []lockCase {
	closed := func(s *shape) bool { return s.reported() && s.inJanuaryOrBefore() }
	never := func(*shape) bool { return false }

	return []lockCase{
		{name: "none", lock: func(*matrix) {}, holds: never},
		{name: "books closed", reason: apierr.ReasonBooksClosed, lock: func(m *matrix) { m.team("books_closed_at = '2026-02-01'") }, holds: closed},
		{name: "softly closed", reason: apierr.ReasonBooksClosed, lock: func(m *matrix) { m.team("soft_closed_at = '2026-02-01'") }, holds: closed, personal: true},
		{name: "softly closed for others", lock: func(m *matrix) { m.team("soft_closed_at = '2026-02-01', soft_close_posters = array[@user::uuid]") }, holds: never},
		{name: "in review", reason: apierr.ReasonStatementInReview, lock: func(m *matrix) { m.saved("inReview", "false") }, holds: (*shape).owners},
		{name: "published", reason: apierr.ReasonStatementPeriod, lock: func(m *matrix) { m.saved("published", "false") }, holds: (*shape).owners},
		{name: "imported", lock: func(m *matrix) {
			m.saved("published", "false")
			m.Exec(`update statement set imported = true, unique_ref = 'before the books' where team_id = @team`, nil)
		}, holds: never},
		{name: "attached", reason: apierr.ReasonStatementAttachment, lock: func(m *matrix) {
			m.saved("published", "party = 'owners' and status = 'active' and currency = 'usd' and txn_at >= '2026-01-01'")
			m.Exec(`update statement set imported = true, unique_ref = 'attachment alone' where team_id = @team`, nil)
		}, holds: func(s *shape) bool {
			return s.reported() && s.party == ledger.Owners && s.currency == "usd" && s.date >= "2026-01-01"
		}},
		{name: "reconciled", reason: apierr.ReasonTransactionReconciled, lock: (*matrix).reconciled, holds: func(s *shape) bool { return s.bank }, whole: true, off: true},
	}
}

// Go and SQL decide alike about every lock and every kind of posting on either side of the lock's last day: a
// write is refused exactly as the lock object, the filters of journals and entries, and the lock of a fee say.
//
// Proves: RSN-16, RSN-56, RSN-61, RSN-63, RSN-66.
func TestGoAndSQLDecideAlikeAboutLocks(t *testing.T) {
	t.Parallel()

	for _, c := range lockCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMatrix(t)
			c.lock(m)

			rows, sources, fees := m.told()
			for i := range m.shapes {
				s, source := &m.shapes[i], m.sources[i]
				held := c.holds(s)

				refusal := m.refused(source)
				if (refusal != nil) != held {
					t.Errorf("%+v: a write is told %v", *s, refusal)
				}

				if held && apierr.From(refusal).Reason() != c.reason {
					t.Errorf("%+v: a write is told %v, want the reason %s", *s, refusal, c.reason)
				}

				if got := rows[source].Journal; got != (held || c.whole) {
					t.Errorf("%+v: the filter of journals says %v", *s, got)
				}

				if got := sources[source].Lock.Status == "locked"; got != rows[source].Journal {
					t.Errorf("%+v: the lock object says %+v", *s, sources[source].Lock)
				}

				entries := int64(0)
				if held && !c.personal {
					entries = 2 // the whole posting
				}

				if got := rows[source].Entries; got != entries {
					t.Errorf("%+v: the filter of entries finds %d", *s, got)
				}

				if got := fees[m.fees[i]].Lock.Status == "locked"; got != (held && !c.off) {
					t.Errorf("%+v: the lock of the fee says %+v", *s, fees[m.fees[i]].Lock)
				}
			}
		})
	}
}
