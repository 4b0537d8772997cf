package pms

import (
	"errors"

	"stayledger/domain/tenant/connection"
	"stayledger/provider/pms"
	"stayledger/provider/pms/hostaway"
	"stayledger/provider/pms/ownerrez"
	"stayledger/provider/pms/protocol"
)

// known declares every property-management system.
var known = []app{
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "pmsProtocol", Name: "PMS protocol", Kind: connection.PMS},
			Settings: []connection.Field{
				{Name: "baseUrl", Required: true, Min: 1, Max: 500, Address: true},
			},
			Credentials: []connection.Field{
				{Name: "token", Required: true, Min: 1, Max: 500, Check: connection.Token},
			},
		},
		open: func(a connection.Access, o Options, _ pms.Tokens) (pms.Client, error) {
			client, err := protocol.New(a.Settings, a.Credentials, pms.Options{AllowPrivate: o.AllowPrivate, Within: o.Within})

			return client, fieldError(err)
		},
		message: protocol.ReadMessage,
	},
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "hostaway", Name: "Hostaway", Kind: connection.PMS},
			Settings: []connection.Field{
				{Name: "baseUrl", Fallback: hostaway.PublicURL, Min: 1, Max: 500, Address: true},
			},
			Credentials: []connection.Field{
				{Name: "accountId", Required: true, Min: 1, Max: 50, Check: connection.Token},
				{Name: "apiKey", Required: true, Min: 1, Max: 500, Check: connection.Token},
			},
		},
		open: func(a connection.Access, o Options, tokens pms.Tokens) (pms.Client, error) {
			client, err := hostaway.New(a.Settings, a.Credentials, pms.Options{AllowPrivate: o.AllowPrivate, Within: o.Within}, tokens)

			return client, fieldError(err)
		},
		message: hostaway.ReadMessage,
	},
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "ownerrez", Name: "OwnerRez", Kind: connection.PMS},
			Settings: []connection.Field{
				{Name: "baseUrl", Fallback: ownerrez.PublicURL, Min: 1, Max: 500, Address: true},
			},
			Credentials: []connection.Field{
				{Name: "email", Required: true, Min: 3, Max: 200, Check: connection.Token},
				{Name: "token", Required: true, Min: 1, Max: 500, Check: connection.Token},
			},
		},
		open: func(a connection.Access, o Options, _ pms.Tokens) (pms.Client, error) {
			client, err := ownerrez.New(a.Settings, a.Credentials, pms.Options{AllowPrivate: o.AllowPrivate, Within: o.Within})

			return client, fieldError(err)
		},
		message: ownerrez.ReadMessage,
	},
}

// fieldError returns the error of a client's settings as connections see it.
func fieldError(err error) error {
	if wrong, ok := errors.AsType[*pms.SettingsError](err); ok {
		return &connection.FieldError{Field: wrong.Field, Cause: err}
	}

	return err
}
