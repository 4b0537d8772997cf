package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/seal"
)

// AppID is the key of an app.
type AppID string

// Kind says what an app is for.
type Kind string

// The kinds.
const (
	// Payments moves money to contacts.
	Payments Kind = "payments"
	// BankFeed says what moves on accounts at banks.
	BankFeed Kind = "bankFeed"
	// PMS is a property-management system, which has listings and reservations.
	PMS Kind = "pms"
)

// Enum lists the kinds.
func (Kind) Enum() []string { return []string{string(Payments), string(BankFeed), string(PMS)} }

// AppInfo is an app as its connections show it.
type AppInfo struct {
	ID   AppID  `json:"id"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// App is an app that teams can be connected to: what a connection to it holds, and how it is asked whether it works.
// The package that uses the app declares it.
type App struct {
	AppInfo

	// Settings are shown; Credentials are sealed and never leave.
	Settings, Credentials []Field
	// OAuth is how a person gives access without credentials; nil for an app where that is not possible.
	OAuth *OAuth
	// Kinds are the kinds of records that a sync brings, Extractors the files that can be exported, Importers the kinds
	// of files that can be imported for a connection, and Capabilities the other features of the app.
	Kinds        []string
	Extractors   []Extractor
	Importers    []string
	Capabilities []Capability
	// Flows are the built-in flows that can run for a connection to the app.
	Flows []FlowID
	// Form returns an error for settings and credentials that the client of the app refuses, without a call to the app.
	// It is a FieldError if one field is at fault.
	Form func(a Access) error
	// Check asks the app whether the connection works, outside of any transaction. Errors that wrap ErrCredentials or
	// ErrUnusable are final; after any other it is asked again for a while. It returns the account behind the
	// credentials, nil for an app without accounts.
	Check func(ctx context.Context, d *db.DB, scope db.Scope, c *Connection) (*Account, error)
	// Connected runs after Check, outside any transaction. It reads from the app, saves what it reads under HoldStatus,
	// and returns the work that has to wait until the connection is active; nil for an app that needs none. It fails like
	// Check.
	Connected func(ctx context.Context, d *db.DB, scope db.Scope, c *Connection) (db.Work, error)
	// Leave ends the services of the app for an archived connection, such as sending messages; nil for an app without
	// any. It is called again for a while if it fails.
	Leave func(ctx context.Context, d *db.DB, scope db.Scope, c *Connection) error
}

// Extractor is a kind of file that can be exported from an app.
type Extractor struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Format    string `json:"format" enum:"csv,json" doc:"Of the file."`
	DateRange string `json:"dateRange" enum:"required,optional,none" doc:"Whether one can be given."`
}

// Capability is something that an app can do besides giving records.
type Capability string

// The capabilities.
const (
	// Webhooks: it sends messages about what has changed.
	Webhooks Capability = "webhooks"
	// Incremental: it can be asked for what has changed.
	Incremental Capability = "incremental"
	// OwnerStays: it says which stays are the owner's own.
	OwnerStays Capability = "ownerStays"
	// CalendarBlocks: nights can be kept from being sold there.
	CalendarBlocks Capability = "calendarBlocks"
)

// Enum lists the capabilities.
func (Capability) Enum() []string {
	return []string{string(Webhooks), string(Incremental), string(OwnerStays), string(CalendarBlocks)}
}

// FlowID names a built-in flow.
type FlowID string

// The flows.
const (
	// ResyncWindow reads the reservations of some days again.
	ResyncWindow FlowID = "resync-window"
	// RematchDeposits applies bank rules to deposits again.
	RematchDeposits FlowID = "rematch-deposits"
	// RebuildOccupancy sends a system the blocked nights that it lacks.
	RebuildOccupancy FlowID = "rebuild-occupancy"
)

// Enum lists the flows.
func (FlowID) Enum() []string {
	return []string{string(ResyncWindow), string(RematchDeposits), string(RebuildOccupancy)}
}

// Apps are the apps that teams can be connected to.
type Apps []App

// The errors of App.Check. The first two are final.
var (
	// ErrCredentials says that the app refuses the credentials, which can be replaced.
	ErrCredentials = errors.New("the app refuses the credentials")
	// ErrUnusable says that the app answers and cannot be used, such as when it is not set up.
	ErrUnusable = errors.New("the app cannot be used")
	// ErrTimeout says that the app did not answer in time.
	ErrTimeout = errors.New("the app did not answer in time")
	// ErrUnavailable says that the app cannot be reached.
	ErrUnavailable = errors.New("the app is out of reach")
	// ErrProtocol says that the answer of the app is not of its protocol.
	ErrProtocol = errors.New("the app does not keep to its protocol")
)

// FieldError says that the client of an app does not take the value of a setting or credential.
type FieldError struct {
	Field string
	Cause error
}

// Error returns the field and the cause.
func (e *FieldError) Error() string { return e.Field + ": " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Cause }

// hasApp reports whether teams can be connected to an app.
func (apps Apps) hasApp(a AppID) bool {
	return slices.ContainsFunc(apps, func(k App) bool { return k.ID == a })
}

// listKind returns the ids of the apps of a kind.
func (apps Apps) listKind(k Kind) []AppID {
	out := []AppID{}

	for i := range apps {
		if apps[i].Kind == k {
			out = append(out, apps[i].ID)
		}
	}

	return out
}

// find returns an app. Old connections can have an app that was removed: for this it returns an app that refuses every
// use.
func (apps Apps) find(a AppID) *App {
	for i := range apps {
		if apps[i].ID == a {
			return &apps[i]
		}
	}

	return &App{
		AppInfo: AppInfo{ID: a, Name: string(a)},
		Form:    func(Access) error { return errUnknown },
		Check:   func(context.Context, *db.DB, db.Scope, *Connection) (*Account, error) { return nil, ErrUnusable },
	}
}

// Access has the settings and credentials that the client of an app gets, as JSON objects of texts. Credentials are nil
// for an app without credentials.
type Access struct{ Settings, Credentials json.RawMessage }

// Access opens the credentials of a connection and returns them with its settings, except the settings that the client
// does not know.
func (a *App) Access(box *seal.Box, c *Connection) (Access, error) {
	credentials, err := c.OpenCredentials(box)
	if err != nil {
		return Access{}, err
	}

	settings := map[string]json.RawMessage{}
	if err := json.Unmarshal(c.Settings, &settings); err != nil {
		return Access{}, fmt.Errorf("settings of connection %v: %w", c.ID, err)
	}

	// Bank accounts of the chart are ours: the client would refuse the unknown field.
	for i := range a.Settings {
		if a.Settings[i].BankAccount {
			delete(settings, a.Settings[i].Name)
		}
	}

	raw, err := json.Marshal(settings)
	if err != nil {
		return Access{}, fmt.Errorf("settings of connection %v: %w", c.ID, err)
	}

	return Access{Settings: raw, Credentials: credentials}, nil
}

// Imports reports whether an app imports files of a kind.
func (apps Apps) Imports(app, kind string) bool {
	return slices.ContainsFunc(apps, func(one App) bool { return string(one.ID) == app && slices.Contains(one.Importers, kind) })
}
