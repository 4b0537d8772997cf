package pms

import (
	"errors"

	"stayledger/domain/tenant/connection"
	"stayledger/provider/pms"
	"stayledger/provider/pms/hostaway"
	"stayledger/provider/pms/ownerrez"
	"stayledger/provider/pms/protocol"
)

// everyFlow lists the flows for systems with reservations and a calendar.
var everyFlow = []connection.FlowID{connection.ResyncWindow, connection.RematchDeposits, connection.RebuildOccupancy}

// everyImporter lists the kinds of files that can be imported for a connection to a system.
var everyImporter = []string{"reservations", "listings", "transactions"}

// known declares every property-management system.
var known = []app{
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "pmsProtocol", Name: "PMS protocol", Kind: connection.PMS},
			Capabilities: []connection.Capability{
				connection.Webhooks, connection.Incremental, connection.OwnerStays, connection.CalendarBlocks,
			},
			Flows:     everyFlow,
			Importers: everyImporter,
			Settings: []connection.Field{
				{Name: "baseUrl", Required: true, Min: 1, Max: 500, Address: true},
				onDifferenceSetting,
			},
			Credentials: []connection.Field{
				{Name: "token", Required: true, Min: 1, Max: 500, Check: connection.Token},
			},
		},
		open: func(a connection.Access, o Options, _ pms.Tokens, _ pms.Grants) (pms.Client, error) {
			client, err := protocol.New(a.Settings, a.Credentials, o.client())

			return client, fieldError(err)
		},
		message: protocol.ReadMessage,
		pays:    true,
	},
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "hostaway", Name: "Hostaway", Kind: connection.PMS},
			Capabilities: []connection.Capability{
				connection.Webhooks, connection.Incremental, connection.OwnerStays, connection.CalendarBlocks,
			},
			Flows:     everyFlow,
			Importers: everyImporter,
			Settings: []connection.Field{
				{Name: "baseUrl", Fallback: hostaway.PublicURL, Min: 1, Max: 500, Address: true},
				onDifferenceSetting,
			},
			Credentials: []connection.Field{
				{Name: "accountId", Required: true, Min: 1, Max: 50, Check: connection.Token},
				{Name: "apiKey", Required: true, Min: 1, Max: 500, Check: connection.Token},
			},
		},
		open: func(a connection.Access, o Options, tokens pms.Tokens, _ pms.Grants) (pms.Client, error) {
			client, err := hostaway.New(a.Settings, a.Credentials, o.client(), tokens)

			return client, fieldError(err)
		},
		message: hostaway.ReadMessage,
	},
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "ownerrez", Name: "OwnerRez", Kind: connection.PMS},
			Capabilities: []connection.Capability{
				connection.Incremental, connection.OwnerStays, connection.CalendarBlocks,
			},
			Flows:     everyFlow,
			Importers: everyImporter,
			Settings: []connection.Field{
				{Name: "baseUrl", Fallback: ownerrez.PublicURL, Min: 1, Max: 500, Address: true},
				onDifferenceSetting,
			},
			Credentials: []connection.Field{
				{Name: "email", Required: true, Min: 3, Max: 200, Check: connection.Token},
				{Name: "token", Required: true, Min: 1, Max: 500, Check: connection.Token},
			},
		},
		open: func(a connection.Access, o Options, tokens pms.Tokens, registered pms.Grants) (pms.Client, error) {
			app, _ := registered.(*ownerrez.App)
			client, err := ownerrez.New(a.Settings, a.Credentials, app, tokens, o.client())

			return client, fieldError(err)
		},
		register: func(r Registration, o Options) (pms.Grants, error) {
			return ownerrez.NewApp(r.ID, r.Secret, r.Address, o.client())
		},
		message:    ownerrez.ReadMessage,
		appMessage: ownerrez.ReadAppMessage,
	},
}

// client returns the options for a client.
func (o Options) client() pms.Options {
	return pms.Options{AllowPrivate: o.AllowPrivate, Within: o.Within, Take: o.take}
}

// fieldError converts an error about the settings of a client to the error that connections show.
func fieldError(err error) error {
	if wrong, ok := errors.AsType[*pms.SettingsError](err); ok {
		return &connection.FieldError{Field: wrong.Field, Cause: err}
	}

	return err
}
