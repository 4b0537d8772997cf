package connection

import (
	"context"
	"net/http"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
	"stayledger/platform/page"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

const tag = "Connections"

// Config has what the endpoints need from the service.
type Config struct {
	// Box seals the credentials.
	Box *seal.Box
	// Private allows apps at private addresses, and at plain http ones of this machine. It is the operator's choice and
	// never a team's.
	Private bool
	// Lookup finds the addresses of names; nil asks the name service.
	Lookup outbound.Lookup
	// PublicURL is our own address, to which a person comes back from an app.
	PublicURL string
	// Apps are the apps that teams can be connected to.
	Apps Apps
	// Journals outdates journals: an accounting window decides which reservations have one.
	Journals ledger.Sources
}

// endpoints returns the routes of connections.
func endpoints(c Config, used *parts.Usage) []api.Endpoint {
	if c.Lookup == nil {
		c.Lookup = outbound.LookUp
	}

	w := writer{c, used}

	return append(w.oauthEndpoints(), []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/apps", ID: "listApps", Tag: tag,
			Summary: "List the apps that can be connected", Scopes: []string{"connections:read"},
		}, w.listApps),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/connections", ID: "listConnections", Tag: tag,
			Summary: "List connections to apps", Scopes: []string{"connections:read"},
		}, w.listConnections),
		api.Await(api.Endpoint{
			Method: http.MethodPost, Path: "/connections", ID: "createConnection", Tag: tag, Summary: "Connect an app",
			Errors: apierr.List{errNotBank, errAlreadyConnected, errDuplicateUniqueRef},
			Doc: "Keeps the connection and starts an operation that asks the app whether it works; the connection is " +
				"connecting until then, active when it does, reconnectRequired when the app refuses the credentials " +
				"and disabled when it does not answer, or when another active connection has the account (failure " +
				"alreadyConnected). Fails with 400 for settings or credentials that the app does not take; 409 for " +
				"those of an active connection, with its context.connectionId.",
			Scopes: []string{"connections:write"}, Status: http.StatusAccepted,
		}, w.lookCreated, w.createConnection),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/connections/{id}", ID: "getConnection", Tag: tag,
			Summary: "Read a connection", Scopes: []string{"connections:read"}, OneTrip: true,
		}, w.get),
		api.Await(api.Endpoint{
			Method: http.MethodPut, Path: "/connections/{id}", ID: "updateConnection", Tag: tag,
			Summary: "Change a connection", Errors: apierr.List{
				ErrBusy, errArchived, errInUse, ErrReconnect,
				errNotBank, errAlreadyConnected, errDuplicateUniqueRef, errWindowClosed, errSource,
			},
			Doc: "Settings replace all settings. A changed address forgets the credentials, so that none reaches an " +
				"address it was not meant for: the connection is then reconnectRequired. Fails with 423 for one that " +
				"is being connected; 400 for an archived one; 400 for settings that the app does not take; 400 for " +
				"an accounting window of another kind of app, one that ends before it starts, and one that changes " +
				"what is in closed books; 409 CONNECTION_RECONNECT_REQUIRED when one that has not worked is made " +
				"active; 409 CONFLICT when another active connection has its account (context.connectionId).",
			Scopes: []string{"connections:write"},
		}, w.lookChanged, w.updateConnection),
		api.Await(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/{id}/connect", ID: "connectConnection", Tag: tag,
			Summary: "Connect an app again", Errors: apierr.List{
				ErrBusy, errArchived, errAlreadyConnected,
				apierr.BadGateway,
			},
			Doc: "Asks the app, and then starts an operation as createConnection does, with new credentials or the " +
				"present ones. Fails with 423 for one that is being connected; 400 for an archived one; 400 for " +
				"credentials that the app does not take or that are missing; 409 when another active connection has " +
				"the account (context.connectionId). An app that fails, or does not answer within 25 seconds, leaves " +
				"the connection as it is.",
			Scopes: []string{"connections:write"}, Status: http.StatusAccepted,
		}, w.askAgain, w.connectAgain),
		operation.QueueOr(api.Endpoint{
			Method: http.MethodDelete, Path: "/connections/{id}", ID: "deleteConnection", Tag: tag,
			Summary: "Delete or archive a connection", Errors: apierr.List{ErrBusy, errSource, errInUse},
			Doc: "Without an outcome a connection over which payments were made, or that reads accounts at banks, is " +
				"archived, and any other is deleted. Archiving is an operation. Fails with 423 for one that is being " +
				"connected.",
			Scopes: []string{"connections:delete"},
		}, w.deleteConnection, func(ctx context.Context, tx *db.Tx, started *operation.Acknowledgement) error {
			return w.archiveUnused(ctx, tx, started.Resource.ID)
		}),
	}...)
}

// listSort is an order of connections.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort       listSort `query:"sort" default:"createdAt"`
	IDs        page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	AppID      AppID    `query:"appId" maxLength:"50"`
	Status     Status   `query:"status"`
	Search     string   `query:"search" maxLength:"200" doc:"Part of the name."`
	UniqueRefs []string `query:"uniqueRefs"`
	operation.Include
}

// listConnections answers with a page of connections, with their operations if the caller asked for them.
func (w writer) listConnections(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Connection], error) {
	if in.AppID != "" && !w.Apps.hasApp(in.AppID) {
		return nil, apierr.BadRequest.At(apierr.IssueEnum.InQuery("appId"))
	}

	// Filters that are absent add nothing to the statement.
	q := listQuery(tx)
	q.IDs("c.id = any(?)", in.IDs)
	q.Narrow("c.app_id = ?", in.AppID)
	q.Narrow("c.status = ?", in.Status)
	q.Search(in.Search, "c.name")
	q.Narrow("c.unique_ref = any(?)", in.UniqueRefs)

	found, err := page.List[Connection](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	// The rows have only the key of the app; the rest comes from our list of apps.
	for i := range found.Data {
		found.Data[i].render(w.Apps)
	}

	if !in.Operations() {
		return found, nil
	}

	return found, operation.Embed(ctx, tx, operation.Connection, found.Data,
		func(c *Connection) (id.ID, **operation.Summary) { return c.ID, &c.Operations })
}

type getInput struct {
	ID id.ID `path:"id"`
}

// get answers with a connection and its app.
func (w writer) get(ctx context.Context, tx *db.Tx, in *getInput) (*Connection, error) {
	c, err := Get(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	c.render(w.Apps)

	return c, nil
}

type createInput struct{ Body Create }

// createConnection inserts a connection and starts the operation that asks the app whether it works. Private has the
// issues of lookCreated.
func (w writer) createConnection(
	ctx context.Context, tx *db.Tx, in *createInput, private []apierr.Issue,
) (*operation.Acknowledgement, error) {
	b := &in.Body
	if !w.Apps.hasApp(b.AppID) {
		return nil, apierr.BadRequest.At(apierr.IssueEnum.InBody("appId"))
	}

	c := newConnection(tx, b.AppID, b.Name, b.UniqueRef)

	// Report bad settings and bad credentials together.
	_, refused := w.setSettings(c, b.Settings)
	if err := joinRefusals(refuseNames(refused, private), w.setCredentials(c, b.Credentials)); err != nil {
		return nil, err
	}

	// Then ask the client of the app, without a call.
	if err := w.checkForm(c); err != nil {
		return nil, err
	}

	// Last, the checks that need the database: bank accounts in settings, and other connections to the account.
	if err := w.checkBankAccounts(ctx, tx, c); err != nil {
		return nil, err
	}

	if err := w.checkTwin(ctx, tx, c); err != nil {
		return nil, err
	}

	return startNew(ctx, tx, c)
}

// newConnection returns a new connection, which is not saved yet.
func newConnection(tx *db.Tx, app AppID, name string, uniqueRef *string) *Connection {
	c := &Connection{ID: tx.NewID(), UniqueRef: uniqueRef, AppID: app, Name: name, IsSyncEnabled: true}
	c.setConnecting()
	c.ShortRef = c.ID.ShortRef()

	return c
}

// startNew inserts a connection and starts the operation that asks its app, in one transaction, so that neither exists
// without the other.
func startNew(ctx context.Context, tx *db.Tx, c *Connection) (*operation.Acknowledgement, error) {
	if err := insert(ctx, tx, c); err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Created, audit.Connection, c.ID, nil, auditView(c))

	return startConnect(ctx, tx, c.ID)
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// updateConnection changes a connection. Private has the issues of lookChanged.
func (w writer) updateConnection(ctx context.Context, tx *db.Tx, in *putInput, private []apierr.Issue) (*Connection, error) {
	if err := intake.Hold(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	c, err := Lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := c.checkWorkable(); err != nil {
		return nil, err
	}

	// Keep the old view, because the connection is changed in place.
	before, was := audit.See(auditView(c)), c.Status
	if in.Body.Name != nil {
		c.Name = *in.Body.Name
	}

	if in.Body.IsSyncEnabled != nil {
		c.IsSyncEnabled = *in.Body.IsSyncEnabled
	}

	// An absent field leaves its value, and null clears it.
	c.UniqueRef = in.Body.UniqueRef.Or(c.UniqueRef)
	if in.Body.Settings != nil {
		if err := w.changeSettings(ctx, tx, c, in.Body.Settings, private); err != nil {
			return nil, err
		}
	}

	if err := w.changeWindow(ctx, tx, c, &in.Body); err != nil {
		return nil, err
	}

	// The status comes after the settings, because these can require a reconnect.
	if in.Body.Status != nil {
		if Status(*in.Body.Status) == Disabled {
			if err := w.checkSource(ctx, tx, c); err != nil {
				return nil, err
			}
		}

		if err := c.setStatus(Status(*in.Body.Status)); err != nil {
			return nil, err
		}
	}

	if c.Status == Active && (was != Active || in.Body.Settings != nil) {
		if err := w.checkOnlyOne(ctx, tx, c); err != nil {
			return nil, err
		}
	}

	if err := update(ctx, tx, c); err != nil {
		return nil, err
	}

	// One that is switched off is not read any more, a page on its way included.
	if was == Active && c.Status != Active {
		if err := intake.EndAll(ctx, tx, c.ID); err != nil {
			return nil, err
		}
	}

	audit.Note(tx, audit.Updated, audit.Connection, c.ID, before, auditView(c))

	// Dates and status of one connection decide whether other connections are outside the books.
	if in.Body.Status != nil || in.Body.AccountingStartAt.Present || in.Body.AccountingEndAt.Present {
		if err := w.settleBooks(ctx, tx); err != nil {
			return nil, err
		}
	}

	// Read it again: the answer shows it as it was saved.
	return w.get(ctx, tx, &getInput{c.ID})
}

// changeSettings replaces the settings. If the credentials would go to another address, it drops them, and fails
// while payments are under way.
func (w writer) changeSettings(
	ctx context.Context, tx *db.Tx, c *Connection, given map[string]string, private []apierr.Issue,
) error {
	moved, err := w.setSettings(c, given)
	if err = refuseNames(err, private); err != nil {
		return err
	}

	if moved {
		// Another provider does not know these payments. Asked for them, it would say so, and they would be sent again.
		used, err := w.used.Load(ctx, tx, c.ID)
		if err != nil {
			return err
		}

		if err := checkIdle(used); err != nil {
			return err
		}

		c.dropCredentials()
	}

	// Last, the checks that creating makes too.
	if err := w.checkForm(c); err != nil {
		return err
	}

	return w.checkBankAccounts(ctx, tx, c)
}

type connectInput struct {
	ID   id.ID   `path:"id"`
	Body Connect `required:"false"`
}

// askAgain asks the app whether the connection would work with new or stored credentials, while the caller waits. It
// changes nothing, so an app that fails leaves everything as it was. An app that refuses is no failure here: the
// operation fails then. It returns the account that the app names, or nil.
func (w writer) askAgain(
	ctx context.Context, d *db.DB, scope db.Scope, in *connectInput,
) (account *Account, err error) {
	var c *Connection

	err = d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if c, err = Get(ctx, tx, in.ID); err != nil {
			return err
		}

		if err := w.setAgain(c, in.Body.Credentials); err != nil {
			return err
		}

		return w.checkOnlyOne(ctx, tx, c)
	})
	if err != nil {
		return nil, err
	}

	// No transaction is open while the caller waits for the app.
	err = await(ctx, func(ctx context.Context) (err error) {
		account, err = w.Apps.find(c.AppID).Check(ctx, d, scope, c)
		return err
	})
	if isFinal(err) {
		account, err = nil, nil
	}

	return account, err
}

// setAgain sets new credentials of a connection; nil keeps the stored ones.
func (w writer) setAgain(c *Connection, credentials map[string]string) error {
	if err := c.checkWorkable(); err != nil {
		return err
	}

	// Without stored credentials this names the ones that are missing.
	if credentials != nil || c.Credentials == nil {
		if err := w.setCredentials(c, credentials); err != nil {
			return err
		}

		c.ConnectedAt, c.ExpiresAt = nil, nil
	}

	return w.checkForm(c)
}

// connectAgain starts the operation that asks the app again, with new or stored credentials.
func (w writer) connectAgain(
	ctx context.Context, tx *db.Tx, in *connectInput, account *Account,
) (*operation.Acknowledgement, error) {
	c, err := Lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Keep the old view, because the connection is changed in place.
	before := audit.See(auditView(c))

	if err := w.setAgain(c, in.Body.Credentials); err != nil {
		return nil, err
	}

	// The app has just said which account it is.
	if account != nil {
		if err := w.checkAccount(ctx, tx, c, &account.ID); err != nil {
			return nil, err
		}
	}

	return startAgain(ctx, tx, c, before)
}

// startAgain starts the operation that asks the app of a connection again. Until it ends the connection is connecting,
// and cannot be changed.
func startAgain(ctx context.Context, tx *db.Tx, c *Connection, before audit.View) (*operation.Acknowledgement, error) {
	c.setConnecting()

	if err := update(ctx, tx, c); err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Updated, audit.Connection, c.ID, before, auditView(c))

	return startConnect(ctx, tx, c.ID)
}

type deleteInput struct {
	ID      id.ID  `path:"id"`
	Outcome string `query:"outcome" enum:"archive,delete" doc:"archive when payments were made over the connection, else delete, when absent."`
}

// deleteConnection deletes a connection that was never used. It archives a used one in an operation, unless the caller
// asked for deletion.
func (w writer) deleteConnection(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, *operation.New, error) {
	c, err := Lock(ctx, tx, in.ID)
	if err != nil {
		return nil, nil, err
	}

	if c.Status == Connecting {
		return nil, nil, ErrBusy
	}

	if err := w.checkSource(ctx, tx, c); err != nil {
		return nil, nil, err
	}

	// Records that refer to the connection decide between deleting and archiving.
	used, err := w.used.Load(ctx, tx, in.ID)
	if err != nil {
		return nil, nil, err
	}

	// Archiving waits for payments that are under way.
	if in.Outcome == "archive" || in.Outcome == "" && used.Deletion != nil {
		if err := checkIdle(used); err != nil {
			return nil, nil, err
		}

		n := newOperation(operation.ConnectionArchive, archiveKind, in.ID)

		return nil, &n, nil
	}

	if used.Deletion != nil {
		return nil, nil, errInUse.With(apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive})
	}

	audit.Note(tx, audit.Deleted, audit.Connection, c.ID, auditView(c), nil)

	if err := deleteRow(ctx, tx, in.ID); err != nil {
		return nil, nil, err
	}

	return &api.None{}, nil, w.settleBooks(ctx, tx)
}

// joinRefusals joins the issues of two refusals; either may be nil.
func joinRefusals(first, second error) error {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}

	return apierr.From(first).At(apierr.From(second).Issues()...)
}
