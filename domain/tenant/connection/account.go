package connection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// errAlreadyConnected refuses a second active connection to an account, which would bring every record twice.
var errAlreadyConnected = apierr.New(apierr.CodeConflict, "", "Account is connected already")

// errSameAccount ends an attempt to connect an account that another active connection has.
var errSameAccount = errors.New("another active connection has the account")

// AccountContext names the connection that has the account.
type AccountContext struct {
	ConnectionID id.ID `json:"connectionId"`
}

// refuseAccount returns errAlreadyConnected with the connection that has the account.
func refuseAccount(by id.ID) error {
	return errAlreadyConnected.At(apierr.IssueAlreadyConnected.InBody("credentials")).With(AccountContext{by})
}

// lockAccounts keeps other transactions from activating a connection of the team to the app until this one ends.
// Callers that change a connection lock its row first.
func lockAccounts(ctx context.Context, tx *db.Tx, app AppID) error {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('connection account ' || @team::text || ' ' || @app::text, 0))`,
		db.Args{"team": tx.Team.String(), "app": string(app)}); err != nil {
		return fmt.Errorf("lock the accounts of an app: %w", err)
	}

	return nil
}

// listAccount returns the other connections to an account at the app of c that have one of the statuses, oldest first.
// If the team sets the address of the app, as for our own protocol, account ids are unique only at this address, so
// connections to other addresses are left out.
func (a *App) listAccount(
	ctx context.Context, tx *db.Tx, c *Connection, account string, statuses ...Status,
) ([]id.ID, error) {
	found, err := db.Select[Connection](ctx, tx, `
		select `+columns+` from connection c where c.team_id = @team and c.app_id = @app and c.external_account_id = @account and c.status = any(@statuses)
			and c.id <> @id order by c.id`, db.Args{"team": tx.Team, "app": c.AppID, "account": account, "statuses": statuses, "id": c.ID})
	if err != nil || len(found) == 0 {
		return nil, err
	}

	own, err := a.listOrigins(c)
	if err != nil {
		return nil, err
	}

	var out []id.ID

	for i := range found {
		theirs, err := a.listOrigins(&found[i])
		if err != nil {
			return nil, err
		}

		if slices.Equal(own, theirs) {
			out = append(out, found[i].ID)
		}
	}

	return out, nil
}

// listOrigins returns host and port of each setting that is an address.
func (a *App) listOrigins(c *Connection) ([]string, error) {
	values := map[string]string{}
	if err := json.Unmarshal(c.Settings, &values); err != nil {
		return nil, fmt.Errorf("settings of connection %v: %w", c.ID, err)
	}

	var out []string

	for i := range a.Settings {
		if f := &a.Settings[i]; f.Address {
			// An old value can fail to parse under the present rules; compare it literally.
			text := values[f.Name]
			if u, err := url.Parse(text); err == nil {
				text = strings.ToLower(u.Host)
			}

			out = append(out, text)
		}
	}

	return out, nil
}

// checkAccount fails with errAlreadyConnected if another active connection has the account. A nil account is not known
// yet, and passes.
func (w writer) checkAccount(ctx context.Context, tx *db.Tx, c *Connection, account *string) error {
	if account == nil {
		return nil
	}

	by, err := w.Apps.find(c.AppID).listAccount(ctx, tx, c, *account, Active)
	if err == nil && len(by) > 0 {
		err = refuseAccount(by[0])
	}

	return err
}

// checkOnlyOne fails with errAlreadyConnected if another active connection has the account of c: the account from the
// last time it worked, or the account that its settings and credentials open. If c becomes active, the caller has
// locked its row.
func (w writer) checkOnlyOne(ctx context.Context, tx *db.Tx, c *Connection) error {
	if c.Status == Active && c.ExternalAccountID != nil {
		if err := lockAccounts(ctx, tx, c.AppID); err != nil {
			return err
		}
	}

	if err := w.checkAccount(ctx, tx, c, c.ExternalAccountID); err != nil {
		return err
	}

	return w.checkTwin(ctx, tx, c)
}

// checkTwin fails with errAlreadyConnected if another active connection has the same settings and credentials as c. It
// does not call the app; the same account behind other credentials is found when the app is asked.
func (w writer) checkTwin(ctx context.Context, tx *db.Tx, c *Connection) error {
	if c.Credentials == nil {
		return nil
	}

	others, err := db.Select[Connection](ctx, tx, `
		select `+columns+` from connection c where c.team_id = @team and c.app_id = @app and c.settings = @settings and c.status = 'active'
			and c.external_account_id is not null and c.credentials is not null and c.id <> @id order by c.id`,
		db.Args{"team": tx.Team, "app": c.AppID, "settings": c.Settings, "id": c.ID})
	if err != nil || len(others) == 0 {
		return err
	}

	// Equal credentials are sealed to different bytes, so both sides are opened.
	own, err := c.OpenCredentials(w.Box)
	if err != nil {
		return err
	}

	// Any match is enough: the refusal names the oldest connection.
	for i := range others {
		theirs, err := others[i].OpenCredentials(w.Box)
		if err != nil {
			return err
		}

		if bytes.Equal(own, theirs) {
			return refuseAccount(others[i].ID)
		}
	}

	return nil
}

// ListFormer returns the inactive connections to the account of a connection, oldest first. It returns none until the
// account is known, which it is when the work from App.Connected runs.
func (a *App) ListFormer(ctx context.Context, tx *db.Tx, connection id.ID) ([]id.ID, error) {
	c, err := Get(ctx, tx, connection)
	if err != nil || c.ExternalAccountID == nil {
		return nil, err
	}

	return a.listAccount(ctx, tx, c, *c.ExternalAccountID, Archived, Disabled, ReconnectRequired)
}
