package connection

import (
	"context"

	"stayledger/platform/db"
)

// AppView is an app as callers see it.
type AppView struct {
	AppInfo

	Auth        auth        `json:"auth" doc:"How a person lets us in. Where it is oauth, credentials are taken as well."`
	Settings    []FieldView `json:"settings" doc:"What a connection to it holds and shows."`
	Credentials []FieldView `json:"credentials" doc:"They are never returned."`

	Kinds        []string     `json:"kinds" doc:"What a sync brings."`
	Extractors   []Extractor  `json:"extractors" doc:"Files that can be made of what it has."`
	Importers    []string     `json:"importers" doc:"Kinds of files that an import for a connection to it takes: contacts, listings, reservations, transactions, bank-records, journal-entries, opening-balances or channel-payouts."`
	Capabilities []Capability `json:"capabilities" doc:"What it can do besides giving records."`
}

// auth is how a person lets us into an account at an app.
type auth string

// The ways.
const (
	byCredentials auth = "credentials"
	byOAuth       auth = "oauth"
	byNothing     auth = "none"
)

// Enum lists the ways.
func (auth) Enum() []string {
	return []string{string(byCredentials), string(byOAuth), string(byNothing)}
}

// authKind returns how a person gives access to an account at the app. OAuth wins if the app has both.
func (a *App) authKind() auth {
	switch {
	case a.OAuth != nil:
		return byOAuth
	case len(a.Credentials) > 0:
		return byCredentials
	}

	return byNothing
}

// FieldView is a setting or credential of an app.
type FieldView struct {
	Name     string  `json:"name"`
	Required bool    `json:"required" doc:"Whether it has to be given."`
	Fallback *string `json:"fallback" doc:"The value when it is absent; null for none."`
	Min      int     `json:"min" doc:"Fewest characters."`
	Max      int     `json:"max" doc:"Most characters."`
	Address  bool    `json:"address" doc:"Whether credentials are sent to it: a changed one forgets them."`
}

// AppList has all apps.
type AppList struct {
	Data []AppView `json:"data"`
}

// listApps answers with the apps that teams can be connected to.
func (w writer) listApps(context.Context, *db.Tx, *struct{}) (*AppList, error) {
	out := &AppList{Data: make([]AppView, len(w.Apps))}

	for i := range w.Apps {
		a := &w.Apps[i]
		out.Data[i] = AppView{
			AppInfo: a.AppInfo, Auth: a.authKind(), Settings: viewFields(a.Settings),
			Credentials: viewFields(a.Credentials), Kinds: append([]string{}, a.Kinds...),
			Extractors: append([]Extractor{}, a.Extractors...), Importers: append([]string{}, a.Importers...),
			Capabilities: append([]Capability{}, a.Capabilities...),
		}
	}

	return out, nil
}

// viewFields renders fields for callers.
func viewFields(fields []Field) []FieldView {
	out := make([]FieldView, len(fields))

	for i := range fields {
		f := &fields[i]

		out[i] = FieldView{Name: f.Name, Required: f.Required, Min: f.Min, Max: f.Max, Address: f.Address}
		if f.Fallback != "" {
			out[i].Fallback = &f.Fallback
		}
	}

	return out
}

// Extractable returns the ids of the apps that files can be exported from.
func (apps Apps) Extractable() []string {
	out := []string{}

	for i := range apps {
		if len(apps[i].Extractors) > 0 {
			out = append(out, string(apps[i].ID))
		}
	}

	return out
}
