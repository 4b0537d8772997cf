package transaction

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// RefreshRequest selects the journals to derive. The journal of a transaction is derived as a whole, so every mode comes to the same.
type RefreshRequest struct {
	IDs        []id.ID           `json:"ids,omitempty" minItems:"1" maxItems:"10000" doc:"Absent means every active transaction of the team."`
	Mode       string            `json:"mode,omitempty" enum:"full,recurringFeesOnly,arOnly"`
	LockPolicy ledger.LockPolicy `json:"lockPolicy,omitempty" doc:"strict fails, bestEffort leaves locked journals as they are; absent means bestEffort."`
}

type refreshInput struct {
	Body RefreshRequest `required:"false"`
}

// refreshJournals derives one journal in the request and starts an operation for several (OPEN-74).
func refreshJournals(ctx context.Context, tx *db.Tx, in *refreshInput) (*ledger.RefreshAnswer, error) {
	ids, err := selected(ctx, tx, in.Body.IDs)
	if err != nil {
		return nil, err
	}
	strict := in.Body.LockPolicy == ledger.Strict
	if in.Body.IDs == nil || len(ids) != 1 {
		ack, err := operation.Start(ctx, tx, refreshOperation(ids, strict))
		return &ledger.RefreshAnswer{Acknowledgement: ack}, err
	}
	if _, err := Refresh(ctx, tx, ids, ledger.Lenience{SkipLocked: !strict}); err != nil {
		return nil, err
	}
	around, err := surroundingsOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	statuses, err := statusOf(ctx, tx, around)
	if err != nil {
		return nil, err
	}
	return ledger.RefreshedOne(ids[0], statuses[ids[0]]), nil
}

// namedResources is up to how many transactions an operation names; a larger selection is the team's business, not a transaction's.
const namedResources = 20

func refreshOperation(ids []id.ID, strict bool) operation.New {
	n := operation.New{Type: operation.TransactionJournal}
	for chunk := range slices.Chunk(ids, refreshChunk) {
		n.Tasks = append(n.Tasks, operation.Task{Kind: ledger.RefreshTransactions, Args: ledger.RefreshArgs{IDs: chunk, Strict: strict}, Priority: 1})
	}
	if len(n.Tasks) == 0 {
		n.Tasks = []operation.Task{{Kind: ledger.RefreshTransactions, Args: ledger.RefreshArgs{IDs: []id.ID{}}}}
	}
	if len(ids) <= namedResources {
		for _, v := range ids {
			n.Resources = append(n.Resources, operation.Resource{Type: operation.Transaction, ID: v, Role: operation.Target})
		}
	}
	return n
}

// selected are the transactions to refresh, each once.
func selected(ctx context.Context, tx *db.Tx, given []id.ID) ([]id.ID, error) {
	sql, args := `select id from transaction where team_id = @team and id = any(@ids) order by id`, db.Args{"team": tx.Team, "ids": given}
	if given == nil {
		sql, args = `select id from transaction where team_id = @team and status = 'active' order by id`, db.Args{"team": tx.Team}
	}
	found, err := db.Select[id.ID](ctx, tx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("select transactions: %w", err)
	}
	var missing []apierr.Issue
	for i, v := range given {
		if _, known := slices.BinarySearchFunc(found, v, id.ID.Compare); !known && len(missing) < 100 {
			missing = append(missing, issueAt("Transaction is not known", "notFound", "ids", i))
		}
	}
	if missing != nil {
		return nil, apierr.BadRequest.At(missing...)
	}
	return found, nil
}
