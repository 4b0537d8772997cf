package accountconnection

import (
	"context"
	"fmt"

	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// connectionTable has the columns of an account connection that people write.
var connectionTable = db.NewTable[AccountConnection]("account_connection", `
	id uuid key, name text, last_digits text, type text, currency text, account_id uuid, start_at date, status text, created_at now fixed,
	updated_at now`)

var columns = connectionTable.ColumnsSQL("c") + `, c.connection_id, c.provider_account_id, case when c.balance_at is not null
		then jsonb_build_object('current', c.balance_current, 'available', c.balance_available, 'at', c.balance_at) end as balance,
	` + bank.LatestOfBankAccount + ` as last_record_at`

// query returns the query of all account connections.
func query(tx *db.Tx) page.Query {
	q := page.Query{
		Columns: columns, From: "account_connection c", Where: []string{"c.team_id = @team"},
		Args:  db.Args{"team": tx.Team},
		Sorts: sorts, Default: "createdAt", ID: "c.id",
	}
	q.CountedAs("account_connection")

	return q
}

var sorts = page.Sorts{{Name: "name", Expr: "c.name", Text: true}, {Name: "createdAt", Expr: "c.created_at"}}

// loadConnection loads an account connection. It fails with 404 for one that does not exist.
func loadConnection(ctx context.Context, tx *db.Tx, connection id.ID) (*AccountConnection, error) {
	q := query(tx)
	q.And("c.id = @id", db.Args{"id": connection})

	found, err := db.One[AccountConnection](ctx, tx, apierr.NotFound, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read account connection: %w", err)
	}

	return &found, nil
}

// lockConnections locks account connections until the transaction ends and loads them. Unknown ids are absent from the
// result.
func lockConnections(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]AccountConnection, error) {
	rows, err := db.Select[AccountConnection](ctx, tx, `select `+columns+` from account_connection c where c.team_id = @team and c.id = any(@ids::uuid[])
		order by c.id for update`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("lock account connections: %w", err)
	}

	out := make(map[id.ID]AccountConnection, len(rows))
	for i := range rows {
		out[rows[i].ID] = rows[i]
	}

	return out, nil
}

// saveDrafts decides about locked account connections and saves them, with everything that follows from attaching and
// detaching. It fails with the refusals of applyAll, account.CheckLast4, bank.Attach and bank.Detach.
func saveDrafts(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	// First, load what the changes refer to and decide in memory.
	k, err := lockAccounts(ctx, tx, drafts)
	if err != nil {
		return err
	}

	if err := applyAll(drafts, k); err != nil {
		return err
	}

	// Last digits are unique in a team.
	var wanted []account.Last4

	for _, d := range drafts {
		if w := d.last4(k); w != nil {
			wanted = append(wanted, *w)
		}
	}

	if err := account.CheckLast4(ctx, tx, wanted...); err != nil {
		return err
	}

	if err := writeConnections(ctx, tx, drafts, wanted); err != nil {
		return err
	}

	for _, d := range drafts {
		// Accounts and bank records follow once all connections are saved.
		if err := d.updateFollowers(ctx, tx, k); err != nil {
			return err
		}
	}

	return nil
}

// lockAccounts locks the accounts that the changes name, and loads the connections attached to them.
func lockAccounts(ctx context.Context, tx *db.Tx, drafts []*draft) (*known, error) {
	k := &known{attached: map[id.ID]id.ID{}}

	// Both the accounts that the drafts have and those that the request names.
	ids := []id.ID{}

	for _, d := range drafts {
		for _, a := range []*id.ID{d.AccountID, d.in.AccountID.Value} {
			if a != nil {
				ids = append(ids, *a)
			}
		}
	}

	type pair struct{ ID, AccountID id.ID }

	var err error
	if k.accounts, err = account.Hold(ctx, tx, ids); err != nil {
		return nil, err
	}
	// The accounts are locked by now, so that nothing else is attached to them meanwhile.
	attached, err := db.Select[pair](ctx, tx, `select id, account_id from account_connection where team_id = @team and account_id = any(@accounts::uuid[])`,
		db.Args{"team": tx.Team, "accounts": ids})
	if err != nil {
		return nil, fmt.Errorf("read what is attached to accounts: %w", err)
	}

	for _, p := range attached {
		k.attached[p.AccountID] = p.ID
	}

	// The team's currency is for new connections that get none from a request or an account.
	if k.currency, err = db.Get[string](ctx, tx, `select default_currency from team where team_id = @team`, db.Args{"team": tx.Team}); err != nil {
		return nil, fmt.Errorf("read the team's currency: %w", err)
	}

	return k, nil
}

// writeConnections writes account connections: first all updates in one statement, so that connections can trade
// digits, then the inserts. If another request has taken digits since the check, it checks again to name the holder.
func writeConnections(ctx context.Context, tx *db.Tx, drafts []*draft, wanted []account.Last4) error {
	var changed, made []*AccountConnection

	for _, d := range drafts {
		if d.isNew {
			made = append(made, &d.AccountConnection)
		} else {
			changed = append(changed, &d.AccountConnection)
		}
	}

	// Inside a savepoint: after a violation the transaction must go on, to look up the holder.
	err := tx.Try(ctx, db.Send(connectionTable.Update(tx, changed...), connectionTable.Insert(tx, made...)))
	if db.Constraint(err) == "account_connection_last_digits" {
		if taken := account.CheckLast4(ctx, tx, wanted...); taken != nil {
			return taken
		}
	}

	if err != nil {
		return fmt.Errorf("write account connections: %w", err)
	}

	return nil
}

// updateFollowers changes the account and the bank records of an account connection as its change demands, and notes
// the change.
func (d *draft) updateFollowers(ctx context.Context, tx *db.Tx, k *known) (err error) {
	switch {
	case d.copiesDigits(k):
		err = account.CopyLast4(ctx, tx, *d.AccountID, *d.LastDigits)
	case d.leaves() && d.in.Mode == DetachHistory:
		err = bank.Detach(ctx, tx, d.ID, *d.was.AccountID)
	}

	// Records that are linked to no account yet come to this one, and rules may take them.
	if err == nil && d.attaches() {
		err = rule.OfBank.Attach(ctx, tx, d.ID, *d.AccountID)
	}

	if err != nil {
		return err
	}

	// The event names the old account and the new one.
	what, before := audit.Created, any(nil)
	if !d.isNew {
		what, before = audit.Updated, d.before
	}

	audit.Note(
		tx, what, audit.AccountConnection, d.ID, before, d.AccountConnection,
		audit.Ref(audit.RoleConnection, audit.Connection, d.ConnectionID),
		audit.Ref(audit.RoleAccount, audit.Account, d.was.AccountID),
		audit.Ref(audit.RoleAccount, audit.Account, d.AccountID),
	)

	return nil
}
