package transaction

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Checked is a transaction that could be made now, locks aside.
type Checked struct {
	Transaction
	// OnBank says that its account is one of a bank.
	OnBank bool
	// Assigned are the accounts that the team has assigned.
	Assigned map[account.Assignment]id.ID

	draft *draft
}

// Check completes a transaction and checks it against all rules but the locks, without storing it. It fails as Add
// does before the locks.
func Check(ctx context.Context, tx *db.Tx, c *Create) (*Checked, error) {
	d := newDraft(c, tx.NewID)

	r, err := fillDrafts(ctx, tx, nil, []*draft{d})
	if err != nil {
		return nil, err
	}

	if err := d.check(r); err != nil {
		return nil, err
	}

	// Deriving the journal finds missing ownership periods and assignments.
	if _, err := d.derive(ctx, tx, r); err != nil {
		return nil, err
	}

	return &Checked{
		Transaction: d.Transaction,
		OnBank:      r.isBank(d.AccountID),
		Assigned:    r.books.Assigned,
		draft:       d,
	}, nil
}

// LinesDocument returns the lines as a JSON document, for a column of lines in another table.
func (c *Checked) LinesDocument() any { return lineTable.Records(c.draft.lineRows(nil)...) }

// LinesFromSQL returns the SQL of lines from a column of a row t that LinesDocument filled, in the form of
// Transaction.Lines; template is the SQL of the id of their template.
func LinesFromSQL(column, template string) string {
	return linesSQL("jsonb_to_recordset("+column+") as l("+lineTable.TypesSQL()+")", template, "true")
}
