// Package connection owns the connections of a team to apps outside: settings, credentials, status, and whether the app
// answers. It knows no app: the packages that use one declare it as an App (its kind, its settings and credentials, how
// it is asked), and package app hands them in. The file settings.go checks, seals and opens what a connection holds;
// lifecycle.go says whether it works. What is sent over a connection belongs to the packages that use it, each of which
// opens its own client.
//
// The page docs/decisions/connection.md says what the contract leaves open and how it is answered here.
package connection

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// Connection is a connection of a team to an account at an app.
type Connection struct {
	ID        id.ID           `json:"id"`
	ShortRef  string          `json:"shortRef"`
	UniqueRef *string         `json:"uniqueRef"`
	AppID     AppID           `json:"appId"`
	App       AppInfo         `json:"app" db:"-"`
	Name      string          `json:"name"`
	Status    Status          `json:"status"`
	Settings  json.RawMessage `json:"settings" doc:"As the app wants them; never the credentials."`
	// ExternalAccount is the account at the app.
	ExternalAccount   *Account     `json:"externalAccount" db:"-" doc:"The account at the app, from the first time that the app answers; null for apps without one."`
	AccountingStartAt *day.Day     `json:"accountingStartAt" doc:"Only reservations with an accounting date from this day on are in the books. Null is no bound. For property-management systems only."`
	AccountingEndAt   *day.Day     `json:"accountingEndAt" doc:"Only reservations with an accounting date before this day are in the books. Null is no bound."`
	IsOutsideBooks    bool         `json:"isOutsideBooks" doc:"Whether no reservation of it is in the books: it has no accounting dates, and another property-management system has an accounting start."`
	IsSyncEnabled     bool         `json:"isSyncEnabled" doc:"Whether it is read by its schedule; by hand it can be read in any case."`
	LastSyncAt        *day.Instant `json:"lastSyncAt" doc:"When a sync was last completed."`
	NextSyncAt        *day.Instant `json:"nextSyncAt" doc:"When it is read by its schedule; null while it was never read by hand, and for apps without records."`
	LastSync          *LastSync    `json:"lastSync" doc:"The last sync that has ended."`
	ConnectedAt       *day.Instant `json:"connectedAt" doc:"When the app last answered with the present credentials; null when it never has."`
	ExpiresAt         *day.Instant `json:"expiresAt" doc:"When a person has to give access again; null for never, and when that is not known."`
	CreatedAt         day.Instant  `json:"createdAt"`
	UpdatedAt         day.Instant  `json:"updatedAt"`

	Issues []finding.Finding `json:"issues" doc:"What a person should look at and no record here shows: what a sync could not take in, and why it cannot be connected or read. Each is there until it is settled; GET /teams/issues has all."`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`

	// Fault says why it does not work; nil while it does, or nobody knows.
	Fault               *Fault  `json:"-"`
	Credentials         []byte  `json:"-"`
	ExternalAccountID   *string `json:"-"`
	ExternalAccountName *string `json:"-"`
}

// LastSync is the last sync of a connection that has ended.
type LastSync struct {
	ID         id.ID       `json:"id"`
	Status     string      `json:"status"`
	FinishedAt day.Instant `json:"finishedAt"`
	// Error and Reasons are those of the sync.
	Error   *intake.Fault  `json:"error" doc:"Why it failed; null for one that did not."`
	Reasons intake.Reasons `json:"reasons" doc:"Records that failed or were skipped by reason."`
}

// Account is an account at an app.
type Account struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// render sets the app and the account, which the row has only as ids.
func (c *Connection) render(apps Apps) {
	c.App = apps.find(c.AppID).AppInfo
	if c.ExternalAccountID != nil {
		c.ExternalAccount = &Account{*c.ExternalAccountID, ptr.Value(c.ExternalAccountName)}
	}
}

// What can be wrong with a request on a connection.
var (
	errDuplicateUniqueRef = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef,
		"A connection with this reference already exists")
	errInUse        = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Connection is still in use")
	ErrBusy         = apierr.New(apierr.CodeLocked, "", "Connection is being worked on")
	errArchived     = apierr.New(apierr.CodeBadRequest, "", "Connection is archived")
	ErrReconnect    = apierr.New(apierr.CodeConnectionReconnectRequired, "", "Connection must be connected again")
	errUnknown      = apierr.New(apierr.CodeBadRequest, "", "App of the connection is not supported any more")
	errOtherAccount = fmt.Errorf("%w: they are of another account", ErrCredentials)
	errNotBank      = apierr.New(apierr.CodeBadRequest, apierr.ReasonNotBankAccount,
		"Funding account is not a bank account")
)

// Get loads a connection of the team without its app. It fails with apierr.NotFound.
func Get(ctx context.Context, tx *db.Tx, connection id.ID) (*Connection, error) {
	return load(ctx, tx, connection, "")
}

// Oldest loads the oldest active connection of the team to one of the apps, or nil if there is none.
func Oldest(ctx context.Context, tx *db.Tx, apps []AppID) (*Connection, error) {
	c, err := db.Maybe[Connection](ctx, tx, `
		select `+columns+` from connection c where c.team_id = @team and c.app_id = any(@apps) and c.status = 'active' order by c.id limit 1`,
		db.Args{"team": tx.Team, "apps": apps})
	if err != nil {
		return nil, fmt.Errorf("find a connection: %w", err)
	}

	return c, nil
}
