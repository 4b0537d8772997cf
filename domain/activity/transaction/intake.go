package transaction

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Intake says how transactions from files are taken in. Their values are the fields of Create.
func Intake() intake.Kind {
	door := &intake.Singles[Create, Update]{
		Create: api.NewForm[Create](), Update: api.NewForm[Update](), Fixed: []string{"type", "isOpeningBalance"},
		Add: func(ctx context.Context, tx *db.Tx, items []Create) ([]api.Attempt, error) {
			attempts, err := AddEach(ctx, tx, items, ledger.Lenience{})
			out := make([]api.Attempt, len(attempts))

			for i, a := range attempts {
				if out[i].Refusal = a.Refusal; a.Added != nil {
					out[i].ID = a.Added.ID
				}
			}

			return out, err
		},
		Change: func(ctx context.Context, tx *db.Tx, one id.ID, item *Update) error {
			_, err := change(ctx, tx, one, item, ledger.Lenience{})
			return err
		},
	}

	return intake.Kind{
		Name: "transaction", Entity: audit.Transaction, Match: intake.MatchByRef("transaction"),
		Current: currentValues, Show: loadValues, Save: door.Write, Any: intake.AnyIn("transaction"),
		Alike: intake.SelectAlike("d.id, d.date, coalesce(d.description, '') as description", "transaction",
			"d.date = g.date and d.total = g.amount and d.status = 'active'", "d.id"),
	}
}

// currentValues locks transactions and returns their values.
func currentValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	for _, one := range ids {
		if err := tx.Pipeline(ctx, lockSQL(tx, one)); err != nil {
			return nil, err
		}
	}

	return loadValues(ctx, tx, ids)
}

// loadValues returns the values of transactions, with their lines as a caller writes them.
func loadValues(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]intake.Values, error) {
	found, err := loadAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out := make(map[id.ID]intake.Values, len(found))

	for i := range found {
		lines := make([]LineInput, len(found[i].Lines))
		for n := range found[i].Lines {
			lines[n] = found[i].Lines[n].Input()
		}

		if out[found[i].ID], err = intake.Encode(struct {
			*Transaction
			Lines []LineInput `json:"lines"`
		}{&found[i], lines}); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// Delete takes a transaction out of the books and deletes it, as its endpoint does.
func Delete(ctx context.Context, tx *db.Tx, one id.ID) error {
	return Remove(ctx, tx, one, false, ledger.Lenience{})
}
