package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// surroundings are what stands around a transaction: the listings of its lines, since the operations of a listing derive its journal too, and
// the bank records that it is reconciled with.
type surroundings struct {
	ID       id.ID
	Listings []id.ID
	Records  []id.ID
}

func surroundingsOf(ctx context.Context, tx *db.Tx, ids []id.ID) ([]surroundings, error) {
	found, err := db.Select[surroundings](ctx, tx, `
		select t.id, array(select distinct l.listing_id from transaction_line l
				where l.team_id = t.team_id and l.transaction_id = t.id and l.listing_id is not null) as listings,
			array(select n.bank_record_id from bank_reconciliation n where n.team_id = t.team_id and n.transaction_id = t.id order by 1) as records
		from transaction t where t.team_id = @team and t.id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what stands around transactions: %w", err)
	}
	return found, nil
}

func statusOf(ctx context.Context, tx *db.Tx, around []surroundings) (map[id.ID]ledger.JournalStatus, error) {
	asked := make([]ledger.Subject, len(around))
	for i := range around {
		asked[i] = ledger.Subject{ID: around[i].ID, Also: around[i].Listings}
	}
	statuses, err := ledger.StatusOf(ctx, tx, asked)
	if err != nil {
		return nil, fmt.Errorf("read the journal statuses of transactions: %w", err)
	}
	return statuses, nil
}

// show fills in what transactions tell beside their own rows: what holds their journals, and whether these are current.
func show(ctx context.Context, tx *db.Tx, all []Transaction) error {
	if len(all) == 0 {
		return nil
	}
	ids := make([]id.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	locks, err := ledger.LocksOf(ctx, tx, ids)
	if err != nil {
		return fmt.Errorf("read the locks of transactions: %w", err)
	}
	around, err := surroundingsOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	statuses, err := statusOf(ctx, tx, around)
	if err != nil {
		return err
	}
	records := make(map[id.ID][]id.ID, len(around))
	for i := range around {
		records[around[i].ID] = around[i].Records
	}
	for i := range all {
		t := &all[i]
		t.JournalStatus = statuses[t.ID]
		var held bool
		if t.Lock, held = locks[t.ID]; !held {
			t.Lock = ledger.Unlocked()
		}
		if by := records[t.ID]; len(by) > 0 {
			t.Lock.Status, t.Lock.Reconciled = "locked", &ledger.LockReconciled{BankRecordIDs: by}
		}
	}
	return nil
}

// shown is show for one transaction.
func shown(ctx context.Context, tx *db.Tx, t *Transaction, err error) (*Transaction, error) {
	if err != nil {
		return nil, err
	}
	one := []Transaction{*t}
	return &one[0], show(ctx, tx, one)
}
