package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/trial"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// Add stores a new transaction and books it. It fails with what Refusals lists.
func Add(ctx context.Context, tx *db.Tx, c *Create, l ledger.Lenience) (*Transaction, error) {
	added, err := AddAll(ctx, tx, []Create{*c}, l)
	if err != nil {
		return nil, err
	}

	return &added[0], nil
}

// AddAll stores and books many transactions with a fixed number of statements, all or none. It returns them in the
// order given. The issues of a refused one have the paths of its own body.
func AddAll(ctx context.Context, tx *db.Tx, all []Create, l ledger.Lenience) ([]Transaction, error) {
	drafts := make([]*draft, len(all))

	ids := make([]id.ID, len(all))
	for i := range all {
		drafts[i] = newDraft(&all[i], tx.NewID)
		ids[i] = drafts[i].ID
	}

	if err := save(ctx, tx, nil, drafts, l); err != nil {
		return nil, err
	}

	return loadInOrder(ctx, tx, ids)
}

// loadInOrder loads transactions in the order of the given ids.
func loadInOrder(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Transaction, error) {
	// The database returns them by id, the caller expects his own order.
	found, err := loadAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	place := make(map[id.ID]int, len(ids))
	for i := range ids {
		place[ids[i]] = i
	}

	out := make([]Transaction, len(ids))
	for i := range found {
		out[place[found[i].ID]] = found[i]
	}

	return out, nil
}

// Change changes a transaction and books the difference. In addition to the conditions of Refusals it fails with
// NOT_FOUND, for an archived transaction that stays archived, and for one with a payment that is under way or was
// returned.
func Change(ctx context.Context, tx *db.Tx, one id.ID, u *Update, l ledger.Lenience) (*Transaction, error) {
	// The result is read after the change, so that it shows what the database has stored.
	if _, err := change(ctx, tx, one, u, l); err != nil {
		return nil, err
	}

	return load(ctx, tx, one)
}

// change does the work of Change and returns the draft that was stored, without loading the result.
func change(ctx context.Context, tx *db.Tx, one id.ID, u *Update, l ledger.Lenience) (*draft, error) {
	var (
		old   *Transaction
		by    payer
		books *account.Books
	)

	// First lock and read, in one round trip. A change of the description alone does not touch the money, so
	// payments do not matter to it.
	works := []db.Work{db.Send(lockSQL(tx, one)), db.LoadBy(&old, load, one), db.Load(&books, account.LoadBooks)}
	if !u.describes() {
		works = append(works, db.LoadBy(&by, loadPayer, payerQuery{one, u.archives()}))
	}

	if err := tx.Together(ctx, works...); err != nil {
		return nil, err
	}

	// Refuse what cannot be changed: an archived transaction, or money that a payment handles.
	if old.Status == Inactive && u.Status != Active {
		return nil, ErrArchived
	}

	if err := by.refusal(); err != nil {
		return nil, err
	}

	// Then apply the change and save it.
	d, issues := newUpdateDraft(old, u, tx.NewID)
	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	if d.Status == Inactive {
		if err := noteTakenBack(ctx, tx, old); err != nil {
			return nil, err
		}
	}

	return d, save(ctx, tx, books, []*draft{d}, l)
}

// Remove takes a transaction out of the books and deletes it, or keeps its row as archived. It fails with
// NOT_FOUND, with a lock that holds an entry of it, and for one that a payment, a reconciled bank record or another
// transaction needs.
func Remove(ctx context.Context, tx *db.Tx, one id.ID, archive bool, l ledger.Lenience) error {
	old, err := Lock(ctx, tx, one)
	if err != nil {
		return err
	}

	if err := checkPayer(ctx, tx, one, archive); err != nil {
		return err
	}

	// First lock everything that follows from the removal: the reversal of opening balances, and the stays of a
	// deposit.
	reverse := func(context.Context, *db.Tx) error { return nil }
	if old.IsOpeningBalance {
		if reverse, err = trial.LockReversal(ctx, tx); err != nil {
			return err
		}
	}

	stays := idSet{}
	stays.addReservations(old)

	if len(stays) > 0 {
		if err := tx.Pipeline(ctx, lockStays(tx, stays)); err != nil {
			return fmt.Errorf("lock reservations: %w", err)
		}
	}

	// Then take the entries out of the books; a lock refuses that.
	if _, err := ledger.Replace(ctx, tx, []id.ID{one}, nil, l); err != nil {
		return fmt.Errorf("take a transaction out of the books: %w", err)
	}

	if err := reverse(ctx, tx); err != nil {
		return err
	}

	// Keep the row as inactive, or delete it with its lines.
	if archive {
		if err := noteTakenBack(ctx, tx, old); err != nil {
			return err
		}

		archived := *old
		archived.Status = Inactive
		note(tx, audit.Updated, old, &archived)
		_, err = tx.Exec(ctx, `update transaction set status = 'inactive', updated_at = @now where team_id = @team and id = @id`,
			db.Args{"team": tx.Team, "id": one, "now": tx.Now})
	} else {
		if err := noteUnopened(ctx, tx, one); err != nil {
			return err
		}

		note(tx, audit.Deleted, old, nil)
		err = deleteRow(ctx, tx, one)
	}

	if err != nil {
		return fmt.Errorf("remove a transaction: %w", err)
	}

	// Last, derive the stays of a deposit again: their fees charge its costs on.
	return reservation.Source().BookAfter(ctx, tx, stays.list(), l)
}

// save completes drafts, checks them, stores them and books them. It loads the books if they are nil.
func save(ctx context.Context, tx *db.Tx, books *account.Books, drafts []*draft, l ledger.Lenience) error {
	r, err := fillDrafts(ctx, tx, books, drafts)
	if err != nil {
		return err
	}

	// First, without writing: check each draft and derive its journal. Note the stays of deposits, of before and
	// after.
	var postings []ledger.Posting

	sources := make([]id.ID, len(drafts))
	stays, opening, made := idSet{}, false, true

	for i, d := range drafts {
		if err := d.check(r); err != nil {
			return err
		}

		derived, err := d.derive(ctx, tx, r)
		if err != nil {
			return err
		}

		postings, sources[i] = append(postings, derived...), d.ID
		stays.addReservations(&d.Transaction)

		if d.old != nil {
			stays.addReservations(d.old)
		}

		opening, made = opening || d.IsOpeningBalance, made && d.old == nil
	}

	// Opening balances are balanced by a reversal, which is locked before anything is written.
	reverse := func(context.Context, *db.Tx) error { return nil }
	if opening {
		if reverse, err = trial.LockReversal(ctx, tx); err != nil {
			return err
		}
	}

	// New transactions have no entries that could be replaced.
	book := ledger.Replace
	if made {
		book = ledger.Post
	}

	// Then all writes in one round trip.
	err = tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) error {
			if err := saveRows(ctx, tx, drafts, stays); err != nil {
				return err
			}

			for _, d := range drafts {
				if d.old == nil {
					note(tx, audit.Created, nil, d.after())
				} else {
					note(tx, audit.Updated, d.old, d.after())
				}
			}

			return nil
		},
		func(ctx context.Context, tx *db.Tx) error {
			if _, err := book(ctx, tx, sources, postings, l); err != nil {
				return fmt.Errorf("book transactions: %w", err)
			}

			return nil
		})
	if err != nil {
		return err
	}

	// Last, the journals that depend on these: the reversal of opening balances, and the stays of deposits.
	if err := reverse(ctx, tx); err != nil {
		return err
	}

	return reservation.SourceKnowing(reservation.Known{Periods: r.facts.Periods}).BookAfter(ctx, tx, stays.list(), l)
}

// fillDrafts gives drafts the values that the caller left to the service, and loads the records that they name.
func fillDrafts(ctx context.Context, tx *db.Tx, books *account.Books, drafts []*draft) (_ *references, err error) {
	if books == nil {
		if books, err = account.LoadBooks(ctx, tx); err != nil {
			return nil, err
		}
	}

	if err := findBankAccounts(ctx, tx, drafts); err != nil {
		return nil, err
	}

	// Defaults and the rules of the type need no record that a draft names, so they are checked before loading any.
	for _, d := range drafts {
		if err := d.fill(books); err != nil {
			return nil, err
		}
	}

	if err := checkAttachments(ctx, tx, drafts); err != nil {
		return nil, err
	}

	// Reservations before the other records, because lines may get their listing from them.
	if err := match(ctx, tx, drafts); err != nil {
		return nil, err
	}

	return loadReferences(ctx, tx, books, drafts)
}

// findBankAccounts finds the bank accounts that drafts name by their last digits alone. It fails with the issue
// notFound for digits without an active account.
func findBankAccounts(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	for _, d := range drafts {
		if d.bankLast4 == "" || !d.AccountID.IsZero() {
			continue
		}

		// The digits are unique in the team, so they name at most one account.
		found, err := db.Select[id.ID](ctx, tx, `select id from account where team_id = @team and banking_last4 = @last4 and status = 'active'`,
			db.Args{"team": tx.Team, "last4": d.bankLast4})
		if err != nil {
			return fmt.Errorf("find a bank account: %w", err)
		}

		if len(found) == 0 {
			return apierr.BadRequest.At(apierr.IssueNotFound.InBody("matchBankAccountLast4"))
		}

		d.AccountID = found[0]
	}

	return nil
}

// addReservations adds the stays of a deposit: their fees charge its costs on. Other types have no effect on stays.
func (s idSet) addReservations(t *Transaction) {
	if t.Type != Deposit {
		return
	}

	for i := range t.Lines {
		s.add(ptr.Value(t.Lines[i].ReservationID))
	}
}
