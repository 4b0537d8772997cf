package connection

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/outbound"
)

// OAuth lets a person give access to an account at an app without entering credentials: the app asks the person, who
// comes back with a code, and exchanges the code for credentials.
type OAuth struct {
	// Address returns where the app asks the person. The app sends the person on to redirectURI, with the state and a
	// code.
	Address func(state, redirectURI string) string
	// Exchange returns the credentials that the app gives for a code, and when a person has to renew the access, nil
	// for never. Its errors are those of App.Check; ErrCredentials is a code that the app does not take.
	Exchange func(
		ctx context.Context, code, redirectURI string,
	) (credentials json.RawMessage, expiresAt *time.Time, err error)
	// Settings are the settings of connections made this way.
	Settings map[string]string
}

// authorizationTime is how long a person may take, from the start until the connection is made (LIM-12).
const authorizationTime = 15 * time.Minute

// callbackPath is the page to which a person returns if the caller names no page.
const callbackPath = "/connections/oauth/callback"

var (
	errNoOAuth = apierr.New(apierr.CodeNotImplemented, "", "App gives no access this way")
	errState   = apierr.New(apierr.CodeBadRequest, "",
		"Authorization is unknown, used, of another user, or older than 15 minutes")
	errNoCode = apierr.New(apierr.CodeBadRequest, "", "Account holder has not given access")
)

// oauthEndpoints returns the routes on which a person gives access to an account at an app.
func (w writer) oauthEndpoints() []api.Endpoint {
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/oauth/start", ID: "startConnectionAuthorization", Tag: tag,
			Summary: "Begin to give access to an account", Errors: apierr.List{errNoOAuth, ErrBusy, errArchived},
			Doc: "Returns the address at which the app asks the account holder. From there the person comes back to " +
				"redirectUri with the query parameters state and code, which the same user passes on to " +
				"completeConnectionAuthorization. All of it can take 15 minutes.",
			Scopes: []string{"connections:write"}, Secret: true,
		}, w.startAuthorization),
		api.Write(api.Endpoint{
			Method: http.MethodGet, Path: callbackPath, ID: "completeConnectionAuthorization", Tag: tag,
			Summary: "Take what an app sends back with a person", Errors: apierr.List{errState, errNoCode},
			Doc: "Keeps the code for finishConnectionAuthorization. Only for the user who began, and only once. " +
				"Fails with 400 when the account holder has refused.",
			Scopes: []string{"connections:write"},
		}, w.takeCode),
		api.Await(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/connect", ID: "finishConnectionAuthorization", Tag: tag,
			Summary: "Connect an app with the access that a person gave", Errors: apierr.List{
				errNoOAuth, errState,
				errNoCode, ErrBusy, errArchived, errDuplicateUniqueRef, apierr.BadGateway,
			},
			Doc: "Asks the app for credentials, and starts an operation as createConnection does: of a new " +
				"connection, or of the one that was named when it began. An authorization can be used once, whatever " +
				"comes of it. Fails with 400 for a code that the app does not take.",
			Scopes: []string{"connections:write"}, Status: http.StatusAccepted,
		}, w.exchangeCode, w.connectAuthorized),
	}
}

// Authorization is where a person is sent to give access to an account.
type Authorization struct {
	AuthorizationState string      `json:"authorizationState" doc:"Names the authorization when the connection is made."`
	URL                string      `json:"url" doc:"Address at which the app asks the account holder."`
	ExpiresAt          day.Instant `json:"expiresAt"`
}

type authorizeInput struct {
	Body struct {
		AppID        AppID  `json:"appId" maxLength:"50" doc:"Key of the app."`
		ConnectionID *id.ID `json:"connectionId,omitempty" nullable:"true" doc:"The connection that is connected again; absent for a new one."`
		RedirectURI  string `json:"redirectUri,omitempty" maxLength:"500" doc:"Page to which the person comes back, as it is registered at the app. The address of completeConnectionAuthorization when absent."`
	}
}

// startAuthorization begins an authorization.
func (w writer) startAuthorization(ctx context.Context, tx *db.Tx, in *authorizeInput) (*Authorization, error) {
	b := &in.Body
	if !w.Apps.hasApp(b.AppID) {
		return nil, apierr.BadRequest.At(apierr.IssueEnum.InBody("appId"))
	}

	a := w.Apps.find(b.AppID)
	if a.OAuth == nil {
		return nil, errNoOAuth
	}

	if b.RedirectURI == "" {
		b.RedirectURI = w.PublicURL + callbackPath
	}

	if wrong := pageAddress(b.RedirectURI, w.Private); wrong != "" {
		return nil, apierr.BadRequest.At(wrong.InBody("redirectUri"))
	}

	// Last, the connection to connect again must be one to this app.
	if b.ConnectionID != nil {
		if err := checkAgain(ctx, tx, *b.ConnectionID, b.AppID); err != nil {
			return nil, err
		}
	}

	state := rand.Text()
	if err := insertAuthorization(ctx, tx, state, authorization{
		AppID: b.AppID, ConnectionID: b.ConnectionID,
		RedirectURI: b.RedirectURI,
	}); err != nil {
		return nil, err
	}

	return &Authorization{state, a.OAuth.Address(state, b.RedirectURI), day.At(tx.Now.Add(authorizationTime))}, nil
}

// checkAgain refuses to begin an authorization for a connection that cannot be connected again. A connection to another
// app counts as unknown.
func checkAgain(ctx context.Context, tx *db.Tx, one id.ID, to AppID) error {
	unknown := apierr.BadRequest.At(apierr.IssueNotFound.InBody("connectionId"))

	c, err := db.One[Connection](ctx, tx, unknown, `select `+columns+` from connection c where c.team_id = @team and c.id = @id and c.app_id = @app`,
		db.Args{"team": tx.Team, "id": one, "app": to})
	if err != nil {
		return fmt.Errorf("read connection: %w", err)
	}

	return c.checkWorkable()
}

// pageAddress checks the address of a page that a person comes back to: https, or with private http on this machine.
// Nothing is sent there by us.
func pageAddress(text string, private bool) apierr.IssueCode {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return apierr.IssueURL
	}

	allowed := u.Scheme == "https" || u.Scheme == "http" && private && outbound.IsLocal(u.Hostname())

	return wrongUnless(allowed, apierr.IssueAddressNotAllowed)
}

type callbackInput struct {
	State string `query:"state" minLength:"1" maxLength:"200" required:"true"`
	Code  string `query:"code" maxLength:"2000" doc:"Absent when the account holder has refused."`
	Error string `query:"error" maxLength:"200" doc:"Why there is no code."`
}

// Authorized is an authorization that has its code.
type Authorized struct {
	AppID              AppID       `json:"appId"`
	ConnectionID       *id.ID      `json:"connectionId" doc:"The connection that is connected again; null for a new one."`
	AuthorizationState string      `json:"authorizationState" doc:"Names the authorization when the connection is made."`
	ExpiresAt          day.Instant `json:"expiresAt"`
}

// takeCode saves the code with which a person returned from the app.
func (w writer) takeCode(ctx context.Context, tx *db.Tx, in *callbackInput) (*Authorized, error) {
	found, err := lockAuthorization(ctx, tx, in.State, "")
	if err != nil {
		return nil, err
	}

	switch {
	case found == nil, found.Code != nil:
		return nil, errState.At(apierr.IssueNotFound.InQuery("state"))
	case in.Error != "" || in.Code == "":
		// Keep the authorization: a forged answer must not end what the person may still complete.
		return nil, errNoCode.At(apierr.IssueRequired.InQuery("code"))
	}

	if err := updateCode(ctx, tx, found.ID, w.Box.Seal([]byte(in.Code), codeLabel(found.ID))); err != nil {
		return nil, err
	}

	return &Authorized{found.AppID, found.ConnectionID, in.State, day.At(found.CreatedAt.Add(authorizationTime))}, nil
}

type finishInput struct {
	Body struct {
		AppID              AppID   `json:"appId" maxLength:"50" doc:"Key of the app."`
		AuthorizationState string  `json:"authorizationState" minLength:"1" maxLength:"200" doc:"As it was given when the authorization began."`
		Name               string  `json:"name,omitempty" minLength:"1" maxLength:"200" doc:"Of a new connection; the name of the app when absent."`
		UniqueRef          *string `json:"uniqueRef,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"The caller's own reference of a new connection, unique in the team."`
	}
}

// access has the credentials that an app gave for the code of an authorization.
type access struct {
	connection  *id.ID // to be connected again, nil for a new one
	credentials json.RawMessage
	expiresAt   *time.Time
}

// exchangeCode deletes an authorization and exchanges its code for credentials, outside any transaction. It checks
// everything that would refuse the connection first, because a deleted authorization cannot be tried again.
func (w writer) exchangeCode(ctx context.Context, d *db.DB, scope db.Scope, in *finishInput) (out access, err error) {
	if !w.Apps.hasApp(in.Body.AppID) {
		return out, apierr.BadRequest.At(apierr.IssueEnum.InBody("appId"))
	}

	a := w.Apps.find(in.Body.AppID)
	if a.OAuth == nil {
		return out, errNoOAuth
	}

	// The deletion commits before the app is called: a code can be exchanged only once.
	var found *authorization

	err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if found, err = lockAuthorization(ctx, tx, in.Body.AuthorizationState, in.Body.AppID); err != nil {
			return err
		}

		switch {
		case found == nil:
			return errState.At(apierr.IssueNotFound.InBody("authorizationState"))
		case found.Code == nil:
			return errNoCode
		}

		if err := w.checkFinish(ctx, tx, in, found.ConnectionID); err != nil {
			return err
		}

		return deleteAuthorization(ctx, tx, found.ID)
	})
	if err != nil {
		return out, err
	}

	// Then ask the app. A code that it refuses counts as an unknown authorization.
	code, err := w.Box.Open(found.Code, codeLabel(found.ID))
	if err != nil {
		return out, fmt.Errorf("the code of an authorization: %w", err)
	}

	out.connection = found.ConnectionID
	err = await(ctx, func(ctx context.Context) (err error) {
		out.credentials, out.expiresAt, err = a.OAuth.Exchange(ctx, string(code), found.RedirectURI)
		return err
	})

	if isFinal(err) {
		err = errState.At(apierr.IssueNotFound.InBody("authorizationState")).Because(err)
	}

	return out, err
}

// checkFinish refuses a reference that is taken, and a connection that cannot be connected again.
func (w writer) checkFinish(ctx context.Context, tx *db.Tx, in *finishInput, again *id.ID) error {
	if again != nil {
		c, err := Get(ctx, tx, *again)
		if err != nil {
			return err
		}

		return c.checkWorkable()
	}

	holder, err := db.Maybe[id.ID](ctx, tx, `select id from connection where team_id = @team and unique_ref = @ref`,
		db.Args{"team": tx.Team, "ref": in.Body.UniqueRef})
	if err == nil && holder != nil {
		err = errDuplicateUniqueRef.With(apierr.Duplicate{ID: *holder})
	}

	return err
}

// connectAuthorized creates the connection, or connects it again, with the credentials from the app.
func (w writer) connectAuthorized(
	ctx context.Context, tx *db.Tx, in *finishInput, given access,
) (*operation.Acknowledgement, error) {
	b, a := &in.Body, w.Apps.find(in.Body.AppID)

	if given.connection == nil {
		if b.Name == "" {
			b.Name = a.Name
		}

		c := newConnection(tx, b.AppID, b.Name, b.UniqueRef)
		if err := w.setAccess(c, a, given); err != nil {
			return nil, err
		}

		return startNew(ctx, tx, c)
	}

	c, err := Lock(ctx, tx, *given.connection)
	if err != nil {
		return nil, err
	}

	if err := c.checkWorkable(); err != nil {
		return nil, err
	}

	before := audit.See(auditView(c))

	if err := w.setAccess(c, a, given); err != nil {
		return nil, err
	}

	return startAgain(ctx, tx, c, before)
}

// setAccess sets the credentials from the app, and the settings of the operator, so that they go to no other address.
func (w writer) setAccess(c *Connection, a *App, given access) error {
	if _, err := w.setSettings(c, a.OAuth.Settings); err != nil {
		return err
	}

	c.Credentials, c.ConnectedAt, c.ExpiresAt = w.Box.Seal(given.credentials, sealLabel(c.ID)), nil, nil
	if given.expiresAt != nil {
		at := day.At(*given.expiresAt)
		c.ExpiresAt = &at
	}

	return w.checkForm(c)
}
