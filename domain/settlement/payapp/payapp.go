// Package payapp declares the apps that pay, and opens their clients. To add one, add a literal to known, with a client
// in provider/pay. Other code never compares the names of apps: it asks Can for the differences that are declared here.
package payapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Capability is something that can be done with an app.
type Capability string

// What the packages that pay ask for.
const (
	// PaysByFile: payments leave together as a file that a person brings to the bank.
	PaysByFile Capability = "paysByFile"
	// TakesReturnFiles: the bank reports payments that came back in files, which we read.
	TakesReturnFiles Capability = "takesReturnFiles"
	// TellsOutcomes: the app reports the outcome of a payment, when it is asked and by callbacks that it signs with its
	// callbackSecret.
	TellsOutcomes Capability = "tellsOutcomes"
	// VerifiesAccounts: the app says whether money reaches a bank account.
	VerifiesAccounts Capability = "verifiesAccounts"
)

// app is an app that pays.
type app struct {
	connection.App

	can []Capability
	// fault returns the code of the reason why the app can never make a payment, by its data without account numbers.
	// It is nil if only the app itself knows.
	fault func(p *pay.Payment) string
	// open makes the app's payment provider.
	open func(a connection.Access, options []pay.HTTPOption) (pay.Provider, error)
}

// find returns an app, nil for one that does not pay.
func find(a connection.AppID) *app {
	i := slices.IndexFunc(known, func(k app) bool { return k.ID == a })
	if i < 0 {
		return nil
	}

	return &known[i]
}

// Can reports whether something can be done with an app.
func Can(a connection.AppID, c Capability) bool {
	k := find(a)
	return k != nil && slices.Contains(k.can, c)
}

// Fault returns the code of why no connection to an app can make a payment, by its data without the numbers of the
// account, or "" when nothing is known against it.
func Fault(a connection.AppID, p *pay.Payment) string {
	if k := find(a); k != nil && k.fault != nil {
		return k.fault(p)
	}

	return ""
}

// Opener opens the payment provider behind a connection. Its errors wrap those of provider/pay.
type Opener func(c *connection.Connection) (pay.Provider, error)

// errNoPayments refuses to pay over a connection to an app that does not.
var errNoPayments = errors.New("the app of the connection makes no payments")

// Open returns the opener that knows the apps, with credentials that the box has sealed.
func Open(box *seal.Box, options ...pay.HTTPOption) Opener {
	return func(c *connection.Connection) (pay.Provider, error) {
		k := find(c.AppID)
		if k == nil {
			return nil, errNoPayments
		}

		access, err := k.Access(box, c)
		if err != nil {
			return nil, err
		}

		return k.open(access, options)
	}
}

// Apps returns the apps for connections, which ask them over the providers that the opener gives. The options are those
// of their clients.
func Apps(open Opener, options ...pay.HTTPOption) connection.Apps {
	out := make(connection.Apps, len(known))

	for i := range known {
		k := &known[i]
		out[i] = k.App
		out[i].Form = func(a connection.Access) error {
			_, err := k.open(a, options)

			if wrong, ok := errors.AsType[*pay.SettingsError](err); ok {
				return &connection.FieldError{Field: wrong.Field, Cause: err}
			}

			return err
		}
		out[i].Check = func(ctx context.Context, _ *db.DB, _ db.Scope, c *connection.Connection) (*connection.Account, error) {
			return nil, check(ctx, open, c)
		}
	}

	return out
}

// check asks the app of a connection whether it would pay. Asking twice does no harm.
func check(ctx context.Context, open Opener, c *connection.Connection) error {
	// Settings that no provider can be opened with will not get better by trying again.
	provider, err := open(c)
	if err != nil {
		return fmt.Errorf("%w: %w", connection.ErrUnusable, err)
	}

	return translate(provider.Check(ctx))
}

// translate returns an error of a provider as the error of a connection that means the same. Errors that are none of a
// provider stay as they are.
func translate(err error) error {
	for _, e := range []struct{ pay, connection error }{
		{pay.ErrCredentials, connection.ErrCredentials},
		{pay.ErrNotReady, connection.ErrUnusable},
		{pay.ErrRefused, connection.ErrUnusable},
		{pay.ErrUnknown, connection.ErrUnusable},
		{pay.ErrTimeout, connection.ErrTimeout},
		{pay.ErrUnavailable, connection.ErrUnavailable},
	} {
		if errors.Is(err, e.pay) {
			return fmt.Errorf("%w: %w", e.connection, err)
		}
	}

	return err
}

// ReadFault returns what a person reads of why a provider did not do what it was asked for.
func ReadFault(cause error) connection.Fault { return connection.ReadFault(translate(cause)) }

// Verifier returns the team's oldest active connection to an app that can say whether money reaches a bank account,
// or nil if there is none.
func Verifier(ctx context.Context, tx *db.Tx) (*connection.Connection, error) {
	var able []connection.AppID

	for i := range known {
		if slices.Contains(known[i].can, VerifiesAccounts) {
			able = append(able, known[i].ID)
		}
	}

	return connection.Oldest(ctx, tx, able)
}

// CallbackSecret returns the secret that the app of a connection signs its callbacks with. It is empty if the app sends
// none or the connection has no credentials.
func CallbackSecret(box *seal.Box, c *connection.Connection) (string, error) {
	if !Can(c.AppID, TellsOutcomes) || c.Credentials == nil {
		return "", nil
	}

	plain, err := c.OpenCredentials(box)
	if err != nil {
		return "", err
	}

	// The error leaves the cause out, which could quote the secret.
	var secrets pay.HTTPCredentials
	if err := json.Unmarshal(plain, &secrets); err != nil {
		return "", fmt.Errorf("credentials of connection %v are malformed", c.ID)
	}

	return secrets.CallbackSecret, nil
}

// FundingAccount returns the bank account that the settings of a connection name to pay from, or the zero id.
func FundingAccount(c *connection.Connection) id.ID {
	var s struct {
		FundingAccountID id.ID `json:"fundingAccountId"`
	}
	if err := json.Unmarshal(c.Settings, &s); err != nil {
		return id.Zero // they were checked when they were written
	}

	return s.FundingAccountID
}
