package journal

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Add stores a new journal and posts it.
func Add(ctx context.Context, tx *db.Tx, c *Create) (*Journal, error) {
	return save(ctx, tx, drafted(c, tx.NewID()), nil)
}

// Change changes a journal and posts the difference. The money of one that a reversal takes back, or that is a reversal, stays as it is.
func Change(ctx context.Context, tx *db.Tx, one id.ID, u *Update) (*Journal, error) {
	old, err := hold(ctx, tx, one)
	if err != nil {
		return nil, err
	}
	field := u.moneyField()
	if field != "" && old.ReversedByID != nil {
		return nil, errReversed.With(Reversed{*old.ReversedByID})
	}
	if field != "" && old.ReversesID != nil {
		return nil, apierr.BadRequest.At(issueAt("A reversal takes back what its original says", "reversalFixed", field))
	}
	return save(ctx, tx, redrafted(old, u), old)
}

// Reverse takes a journal back on a date of the caller's choice; the original stays, and the two name each other. It fails with a conflict
// for one that is reversed already.
func Reverse(ctx context.Context, tx *db.Tx, one id.ID, r *Reversal) (*Journal, error) {
	original, err := hold(ctx, tx, one)
	if err != nil {
		return nil, err
	}
	if original.ReversedByID != nil {
		return nil, errReversed.With(Reversed{*original.ReversedByID})
	}
	return save(ctx, tx, original.reversal(r, tx.NewID()), original)
}

// Remove takes a journal out of the books and deletes it. It fails with reason inUse for one that a reversal names.
func Remove(ctx context.Context, tx *db.Tx, one id.ID) error {
	old, err := hold(ctx, tx, one)
	if err != nil {
		return err
	}
	if old.ReversedByID != nil {
		return errInUse.With(map[string]any{"lockReasons": []string{"reversed"}, "reversedById": old.ReversedByID})
	}
	if _, err := ledger.Replace(ctx, tx, []id.ID{one}, nil, ledger.Lenience{}); err != nil {
		return fmt.Errorf("take a journal out of the books: %w", err)
	}
	if _, err := tx.Exec(ctx, `delete from journal where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": one}); err != nil {
		return fmt.Errorf("delete a journal: %w", err)
	}
	return nil
}

// save completes a draft, stores it and posts it. Its accounts may be those of before: the journal as stored, or its original.
func save(ctx context.Context, tx *db.Tx, j, before *Journal) (*Journal, error) {
	t, err := loadTerms(ctx, tx)
	if err != nil {
		return nil, err
	}
	stored := before
	if before != nil && before.ID != j.ID {
		stored = nil
	}
	if err := t.hold(j, stored); err != nil {
		return nil, err
	}
	n, err := load(ctx, tx, []*Journal{j})
	if err != nil {
		return nil, err
	}
	if err := j.check(n, before); err != nil {
		return nil, err
	}
	p, err := j.posting(n)
	if err != nil {
		return nil, err
	}
	if err := store(ctx, tx, j); err != nil {
		return nil, err
	}
	if _, err := ledger.Replace(ctx, tx, []id.ID{j.ID}, []ledger.Posting{p}, ledger.Lenience{}); err != nil {
		return nil, fmt.Errorf("post a journal: %w", err)
	}
	return byID(ctx, tx, j.ID)
}
