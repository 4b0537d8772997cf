package db

import "context"

// Gathering makes, at the end of a transaction, the statements for all that was gathered for it, in the order in which
// it came.
type Gathering struct {
	End func(tx *Tx, items []any) ([]Stmt, error)
}

type gathered struct {
	to   *Gathering
	item any
}

// Gather keeps an item until the transaction ends. Then the statements for all items of the gathering are sent with
// the commit, in the same round trip.
func (tx *Tx) Gather(to *Gathering, item any) { tx.gathered = append(tx.gathered, gathered{to, item}) }

// finish turns what was gathered into statements for the end.
func (tx *Tx) finish() error {
	for len(tx.gathered) > 0 {
		// One kind of gathering at a time, with all of its items.
		to, rest := tx.gathered[0].to, []gathered(nil)

		var items []any

		for _, g := range tx.gathered {
			if g.to == to {
				items = append(items, g.item)
			} else {
				rest = append(rest, g)
			}
		}

		// The end of one gathering can add to another.
		tx.gathered = rest

		stmts, err := to.End(tx, items)
		if err != nil {
			return err
		}

		tx.last = append(tx.last, stmts...)
	}

	return nil
}

// Spill sends the statements for what was gathered so far, so that a long transaction does not hold all of it in
// memory. Within Try it does nothing, since what fails there is undone.
func (tx *Tx) Spill(ctx context.Context, of *Gathering) error {
	if tx.depth > 0 {
		return nil
	}

	var (
		items []any
		rest  []gathered
	)

	for _, g := range tx.gathered {
		if g.to == of {
			items = append(items, g.item)
		} else {
			rest = append(rest, g)
		}
	}

	stmts, err := of.End(tx, items)
	if err != nil {
		return err
	}

	tx.gathered = rest

	return tx.Pipeline(ctx, stmts...)
}
