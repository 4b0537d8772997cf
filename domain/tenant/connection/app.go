package connection

import (
	"encoding/json"
	"slices"

	"stayledger/provider/pay"
)

// App is an app that a team can be connected to.
type App string

// Enum lists the apps.
func (App) Enum() []string {
	out := make([]string, len(known))
	for i := range known {
		out[i] = string(known[i].id)
	}

	return out
}

// Kind says what an app is for.
type Kind string

// Payments moves money to contacts.
const Payments Kind = "payments"

// Enum lists the kinds.
func (Kind) Enum() []string { return []string{string(Payments)} }

// Capability is something that can be done with an app.
type Capability string

// What the packages that use connections ask for.
const (
	// PaysByFile: payments leave together as a file that a person brings to the bank.
	PaysByFile Capability = "paysByFile"
	// TakesReturnFiles: the bank tells of payments that came back in files, which we read.
	TakesReturnFiles Capability = "takesReturnFiles"
	// TellsOutcomes: the app tells what became of a payment, when it is asked and by callbacks that it signs with its
	// callbackSecret.
	TellsOutcomes Capability = "tellsOutcomes"
	// VerifiesAccounts: the app tells whether money reaches a bank account.
	VerifiesAccounts Capability = "verifiesAccounts"
)

// AppInfo is an app as its connections show it.
type AppInfo struct {
	ID   App    `json:"id"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// app is all that the package knows of an app; adding one is adding a literal to known.
type app struct {
	id   App
	name string
	kind Kind
	// settings are shown; credentials, if there are any, are sealed and never leave.
	settings, credentials []field
	// can is what the packages that use connections may ask of the app.
	can []Capability
	// fault returns the code of why the app can never make a payment, by its data without account numbers; nil for an
	// app that alone can tell.
	fault func(p *pay.Payment) string
	// open makes the app's payment provider.
	open func(settings, credentials json.RawMessage, options []pay.HTTPOption) (pay.Provider, error)
}

// appOf is what is known of an app; the edge has refused all others.
func appOf(a App) *app {
	i := slices.IndexFunc(known, func(k app) bool { return k.id == a })
	return &known[i]
}

// Can reports whether something can be done with an app.
func (a App) Can(c Capability) bool { return slices.Contains(appOf(a).can, c) }

// Fault returns the code of why no connection to the app can make a payment, by its data without the numbers of the
// account, or "" when nothing is known against it.
func (a App) Fault(p *pay.Payment) string {
	if fault := appOf(a).fault; fault != nil {
		return fault(p)
	}

	return ""
}

// able are the apps with which something can be done.
func able(c Capability) []App {
	var out []App

	for i := range known {
		if known[i].id.Can(c) {
			out = append(out, known[i].id)
		}
	}

	return out
}

func (a *app) info() AppInfo { return AppInfo{ID: a.id, Name: a.name, Kind: a.kind} }
