package connection

import (
	"context"

	"stayledger/platform/db"
)

// AppView is an app as callers see it.
type AppView struct {
	AppInfo

	Settings    []FieldView `json:"settings" doc:"What a connection to it holds and shows."`
	Credentials []FieldView `json:"credentials" doc:"They are never returned."`
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
		out.Data[i] = AppView{AppInfo: a.AppInfo, Settings: viewFields(a.Settings), Credentials: viewFields(a.Credentials)}
	}

	return out, nil
}

// viewFields returns fields as callers see them.
func viewFields(fields []Field) []FieldView {
	out := make([]FieldView, len(fields))

	for i := range fields {
		f := &fields[i]
		if out[i] = (FieldView{Name: f.Name, Required: f.Required, Min: f.Min, Max: f.Max, Address: f.Address}); f.Fallback != "" {
			out[i].Fallback = &f.Fallback
		}
	}

	return out
}
