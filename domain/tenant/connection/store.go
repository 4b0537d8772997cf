package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

var columns = `c.id, c.short_ref, c.unique_ref, c.app_id, c.name, c.status, c.settings, c.credentials, c.external_account_id, c.external_account_name,
	c.accounting_start_at, c.accounting_end_at, c.is_outside_books, c.is_sync_enabled, c.next_sync_at,
	(select max(y.finished_at) from sync y where y.team_id = c.team_id and y.source_id = c.id and y.view = 'automate' and y.status = 'completed') as last_sync_at,
	(select jsonb_build_object('id', y.id, 'status', y.status, 'finishedAt', y.finished_at, 'reasons', y.reasons,
		'error', case when y.error is not null then jsonb_build_object('code', y.error) end) from sync y
		where y.team_id = c.team_id and y.source_id = c.id and y.view = 'automate' and y.finished_at is not null order by y.queued_at desc, y.id limit 1) as last_sync,
	c.connected_at, c.expires_at, c.created_at, c.updated_at, c.fault, ` + faultSQL + ` || ` + intake.SourceIssuesSQL("c.team_id", "c.id") + ` as issues`

// listQuery returns the query for connections of the team.
func listQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: columns, From: "connection c", Where: []string{"c.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: sorts, Default: "createdAt", ID: "c.id",
	}
}

var sorts = page.Sorts{{Name: "name", Expr: "c.name", Text: true}, {Name: "createdAt", Expr: "c.created_at"}}

// load loads a connection, with a locking clause or none.
func load(ctx context.Context, tx *db.Tx, connection id.ID, locked string) (*Connection, error) {
	c, err := db.One[Connection](ctx, tx, apierr.NotFound, `select `+columns+` from connection c where c.team_id = @team and c.id = @id `+locked,
		db.Args{"team": tx.Team, "id": connection})
	if err != nil {
		return nil, fmt.Errorf("read connection: %w", err)
	}

	return &c, nil
}

// Hold loads a connection and keeps others from changing it until the transaction ends, but lets them hold it too. It
// fails with apierr.NotFound.
func Hold(ctx context.Context, tx *db.Tx, connection id.ID) (*Connection, error) {
	return load(ctx, tx, connection, "for share")
}

// errChanged ends what is done for a connection whose status has changed meanwhile.
var errChanged = errors.New("the status of the connection has changed")

// HoldStatus fails if a connection does not have the status any more, and else keeps others from changing it until the
// transaction ends.
func HoldStatus(ctx context.Context, tx *db.Tx, connection id.ID, status Status) error {
	has, err := db.Maybe[Status](ctx, tx, `select status from connection where team_id = @team and id = @id for share`,
		db.Args{"team": tx.Team, "id": connection})

	switch {
	case err != nil:
		return fmt.Errorf("hold the status of a connection: %w", err)
	case has == nil || *has != status:
		return errChanged
	}

	return nil
}

// HoldAll keeps connections from being deleted until the transaction ends. It returns the ids that exist in the team.
func HoldAll(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `select id from connection where team_id = @team and id = any(@ids::uuid[]) order by id for key share`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("hold connections: %w", err)
	}

	out := make(map[id.ID]bool, len(found))
	for _, one := range found {
		out[one] = true
	}

	return out, nil
}

// Lock loads a connection and locks it against changes and new references until the transaction ends. It fails with
// apierr.NotFound.
func Lock(ctx context.Context, tx *db.Tx, connection id.ID) (*Connection, error) {
	return load(ctx, tx, connection, "for update")
}

// LockAll locks connections against changes and new references until the transaction ends. Unknown ids are left out.
func LockAll(ctx context.Context, tx *db.Tx, connections []id.ID) error {
	_, err := db.Select[id.ID](ctx, tx, `select id from connection where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": connections})
	if err != nil {
		return fmt.Errorf("lock connections: %w", err)
	}

	return nil
}

// insert inserts a connection. It fails with errDuplicateUniqueRef.
func insert(ctx context.Context, tx *db.Tx, c *Connection) error {
	_, err := tx.Exec(ctx, `
		insert into connection (team_id, id, short_ref, unique_ref, app_id, name, status, settings, credentials, external_account_id, external_account_name,
			expires_at, created_at, updated_at)
		values (@team, @id, @short, @unique_ref, @app, @name, @status, @settings, @credentials, @account, @account_name, @expires, @now, @now)`,
		db.Args{
			"team": tx.Team, "id": c.ID, "short": c.ShortRef, "unique_ref": c.UniqueRef, "app": c.AppID, "name": c.Name,
			"status": c.Status, "settings": c.Settings, "credentials": c.Credentials, "account": c.ExternalAccountID,
			"account_name": c.ExternalAccountName, "expires": c.ExpiresAt, "now": tx.Now,
		})

	return conflict(err)
}

// update updates all fields of a connection. It fails with errDuplicateUniqueRef.
func update(ctx context.Context, tx *db.Tx, c *Connection) error {
	_, err := tx.Exec(ctx, `
		update connection set unique_ref = @unique_ref, name = @name, status = @status, settings = @settings, credentials = @credentials,
			accounting_start_at = @start::date, accounting_end_at = @end::date, is_outside_books = @outside, is_sync_enabled = @enabled, connected_at = @connected::timestamptz, expires_at = @expires::timestamptz, fault = @fault::text, updated_at = @now
		where team_id = @team and id = @id`,
		db.Args{
			"team": tx.Team, "id": c.ID, "unique_ref": c.UniqueRef, "name": c.Name, "status": c.Status, "settings": c.Settings,
			"credentials": c.Credentials, "start": c.AccountingStartAt, "end": c.AccountingEndAt,
			"outside": c.IsOutsideBooks, "enabled": c.IsSyncEnabled, "connected": c.ConnectedAt,
			"expires": c.ExpiresAt, "fault": c.Fault, "now": tx.Now,
		})

	return conflict(err)
}

// updateAccount sets the account that the credentials of a connection open.
func updateAccount(ctx context.Context, tx *db.Tx, connection id.ID, a *Account) error {
	_, err := tx.Exec(ctx, `update connection set external_account_id = @account, external_account_name = @name where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": connection, "account": a.ID, "name": a.Name})
	if err != nil {
		return fmt.Errorf("save the account of a connection: %w", err)
	}

	return nil
}

// conflict returns the error of a write, with 409 for a reference that another connection has.
func conflict(err error) error {
	if err == nil {
		return nil
	}

	if db.Constraint(err) == "connection_unique_ref" {
		return errDuplicateUniqueRef.Because(err)
	}

	return fmt.Errorf("write connection: %w", err)
}

// deleteRow deletes a connection. The caller has checked that nothing refers to it.
func deleteRow(ctx context.Context, tx *db.Tx, connection id.ID) error {
	_, err := tx.Exec(ctx, `delete from connection where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": connection})
	if err != nil {
		return fmt.Errorf("delete connection: %w", err)
	}

	return nil
}

// newUsage returns the usage of connections. Payments, account connections and synced records keep a connection from
// being deleted; a payment under way keeps it from being archived.
func newUsage() *parts.Usage {
	return parts.NewUsage("connection", "payments", "paymentsUnderWay", "accountConnections", "bankRecords",
		"reservations", "contacts", "transactions", "syncs")
}

// checkIdle fails with errInUse while a payment is under way.
func checkIdle(used parts.Used) error {
	if used.Archiving == nil {
		return nil
	}

	return errInUse.With(apierr.InUse{LockReasons: used.Archiving})
}

// checkBankAccounts fails with errNotBank if a setting names an account of the chart that is not a bank account of the
// team.
func (w writer) checkBankAccounts(ctx context.Context, tx *db.Tx, c *Connection) error {
	values := map[string]string{}
	if err := json.Unmarshal(c.Settings, &values); err != nil {
		return fmt.Errorf("settings of connection %v: %w", c.ID, err)
	}

	for _, f := range w.Apps.find(c.AppID).Settings {
		if !f.BankAccount || values[f.Name] == "" {
			continue
		}

		typ, err := db.One[string](ctx, tx, apierr.BadRequest.At(apierr.IssueNotFound.InBody("settings", f.Name)),
			`select type from account where team_id = @team and id = @id::uuid`, db.Args{"team": tx.Team, "id": values[f.Name]})
		switch {
		case err != nil:
			return fmt.Errorf("read a bank account of a connection: %w", err)
		case typ != "bank":
			return errNotBank.At(apierr.IssueNotBankAccount.InBody("settings", f.Name))
		}
	}

	return nil
}
