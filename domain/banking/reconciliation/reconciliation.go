// Package reconciliation makes bank records up of existing transactions, or of new transactions booked in the same
// request, and undoes reconciliations. Package bank stores reconciliations and decides which transactions can make up a
// record; package ledger decides which changes a reconciled transaction is locked for.
package reconciliation

import (
	"context"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Portion is a transaction that makes up a record, in whole or in part.
type Portion struct {
	ID        id.ID        `json:"id"`
	CentTotal *money.Cents `json:"centTotal,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"The part of the record that the transaction makes, positive into the account; absent: all of it that is on no other record."`
}

// Request names the transactions that make up a record, besides the transactions it is reconciled with already.
type Request struct {
	Transactions []Portion            `json:"transactions,omitempty" maxItems:"500" doc:"Transactions that are there."`
	Create       []transaction.Create `json:"create,omitempty" maxItems:"20" doc:"Transactions to be booked first, as createTransaction takes them."`
}

// Resolve wants at least one transaction.
func (r *Request) Resolve() []apierr.Issue {
	if len(r.Transactions)+len(r.Create) == 0 {
		return []apierr.Issue{apierr.IssueRequired.InBody("transactions")}
	}

	return nil
}

// Item is a record of a batch.
type Item struct {
	BankRecordID id.ID     `json:"bankRecordId"`
	Transactions []Portion `json:"transactions" minItems:"1" maxItems:"500" doc:"What the record is made up of, besides what it is reconciled with already."`
}

// newMatch returns the match for a request: the transactions it names, then the transactions created for it.
func newMatch(record id.ID, portions []Portion, made []id.ID) bank.Match {
	m := bank.Match{RecordID: record}
	for _, p := range portions {
		m.Parts = append(m.Parts, bank.Portion{TransactionID: p.ID, Cents: p.CentTotal})
	}

	for _, one := range made {
		m.Parts = append(m.Parts, bank.Portion{TransactionID: one})
	}

	return m
}

// createTransactions books the transactions of a request. It fails with the first refusal, under the path of the
// refused transaction.
func createTransactions(ctx context.Context, tx *db.Tx, all []transaction.Create) ([]id.ID, error) {
	attempts, err := transaction.AddEach(ctx, tx, all, ledger.Lenience{})
	if err != nil {
		return nil, err
	}

	made := make([]id.ID, len(all))

	for i, a := range attempts {
		if a.Refusal != nil {
			return nil, a.Refusal.Under("create", i)
		}

		made[i] = a.Added.ID
	}

	return made, nil
}

// renderRefusal returns a refusal with the path in the request for a single record: a match has first the transactions
// that the request names, then the transactions that it created.
func renderRefusal(r *bank.Refusal, given int) *apierr.Error {
	var path []any

	// A refusal without a part is about the record itself.
	switch {
	case r.Part < 0:
		// Without an issue of its own the part contradicts the record.
		if r.Issue != "" {
			return r.Err.At(r.Issue.InPath("id"))
		}

		return r.Err
	case r.Part < given:
		path = []any{"transactions", r.Part, "id"}
	default:
		path = []any{"create", r.Part - given}
	}

	if r.Issue == "" {
		return r.Err.At(apierr.IssueContradiction.InBody(path...))
	}

	return r.Err.At(r.Issue.InBody(path...))
}
