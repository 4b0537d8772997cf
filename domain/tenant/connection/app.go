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
	// TakesReturnFiles: the bank reports payments that came back in files, which we read.
	TakesReturnFiles Capability = "takesReturnFiles"
	// TellsOutcomes: the app reports the outcome of a payment, when it is asked and by callbacks that it signs with its
	// callbackSecret.
	TellsOutcomes Capability = "tellsOutcomes"
	// VerifiesAccounts: the app says whether money reaches a bank account.
	VerifiesAccounts Capability = "verifiesAccounts"
)

// AppInfo is an app as its connections show it.
type AppInfo struct {
	ID   App    `json:"id"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// app describes an app; to add one, add a literal to known.
type app struct {
	id   App
	name string
	kind Kind
	// settings are shown; credentials, if there are any, are sealed and never leave.
	settings, credentials []field
	// can lists the capabilities that other packages may ask for.
	can []Capability
	// fault returns the code of the reason why the app can never make a payment, by its data without account numbers.
	// It is nil if only the app itself knows.
	fault func(p *pay.Payment) string
	// open makes the app's payment provider.
	open func(settings, credentials json.RawMessage, options []pay.HTTPOption) (pay.Provider, error)
}

// findApp returns the description of an app. The edge has refused all unknown ones.
func findApp(a App) *app {
	i := slices.IndexFunc(known, func(k app) bool { return k.id == a })
	return &known[i]
}

// Can reports whether something can be done with an app.
func (a App) Can(c Capability) bool { return slices.Contains(findApp(a).can, c) }

// Fault returns the code of why no connection to the app can make a payment, by its data without the numbers of the
// account, or "" when nothing is known against it.
func (a App) Fault(p *pay.Payment) string {
	if fault := findApp(a).fault; fault != nil {
		return fault(p)
	}

	return ""
}

// appsThatCan returns the apps that have a capability.
func appsThatCan(c Capability) []App {
	var out []App

	for i := range known {
		if known[i].id.Can(c) {
			out = append(out, known[i].id)
		}
	}

	return out
}

func (a *app) info() AppInfo { return AppInfo{ID: a.id, Name: a.name, Kind: a.kind} }
