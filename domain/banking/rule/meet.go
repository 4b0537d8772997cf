package rule

import (
	"context"

	"stayledger/domain/books/bank"
	"stayledger/platform/db"
	"stayledger/platform/ptr"
)

// selectSound returns the rules that an engine can be made of, so that a broken one does not stop the others.
func selectSound(rules []Stored) []Rule {
	var out []Rule

	for i := range rules {
		if len(Check(&rules[i].Rule)) == 0 {
			out = append(out, rules[i].Rule)
		}
	}

	return out
}

// meetRules sets the active rules that bank records meet, in the order in which these take records. It ignores the
// state of the records.
func meetRules(ctx context.Context, tx *db.Tx, records []bank.Record) error {
	stored, err := loadRules(ctx, tx, "r.status = 'active'", nil)
	if err != nil {
		return err
	}

	engine, err := Compile(selectSound(stored))
	if err != nil {
		return err
	}

	pass := engine.Pass()

	for i := range records {
		b := &records[i]
		b.MatchingRules = []bank.RuleRef{}

		r := newRecord(&bank.Open{
			ID: b.ID, AccountID: ptr.Value(b.AccountID), Currency: b.Currency, Date: b.Date, Amount: b.Amount,
			Description: b.Description, UniqueRef: b.UniqueRef,
		})
		r.Status, r.Type = b.Status, b.Type

		for _, met := range pass.Matching(&r) {
			b.MatchingRules = append(b.MatchingRules, bank.RuleRef{ID: met.ID, Name: met.Name})
		}
	}

	return nil
}
