package connection

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"stayledger/platform/apierr"
	"stayledger/provider/pay"
)

// App is an app that a team can be connected to.
type App string

// The apps.
const (
	NACHA       App = "nacha"
	PayProvider App = "payProvider"
)

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
	// verifies says that the app can tell whether money reaches a bank account.
	verifies bool
	// open makes the app's payment provider.
	open func(settings, credentials json.RawMessage, options []pay.HTTPOption) (pay.Provider, error)
}

// field is one setting or credential. All are texts.
type field struct {
	name     string
	required bool
	// fallback stands when the field is absent.
	fallback string
	min, max int
	// check gives what is wrong with a text of the right length; nil takes any.
	check func(text string, r rules) *apierr.Issue
	// capitals puts the text in capital letters, the only ones of files of banks.
	capitals bool
	// address says where credentials are sent: a changed address must not get those that were meant for another.
	address bool
}

// rules are what checks know of the service.
type rules struct {
	// private allows addresses of no public network, and plain http ones of this machine.
	private bool
}

var known = []app{
	{
		id: NACHA, name: "NACHA file", kind: Payments, open: openNACHA,
		settings: []field{
			{name: "immediateDestination", required: true, min: 9, max: 9, check: routing},
			{name: "immediateDestinationName", required: true, min: 1, max: 23, check: printable, capitals: true},
			{name: "immediateOrigin", required: true, min: 1, max: 10, check: alphanumeric, capitals: true},
			{name: "immediateOriginName", required: true, min: 1, max: 23, check: printable, capitals: true},
			{name: "companyName", required: true, min: 1, max: 16, check: printable, capitals: true},
			{name: "companyIdentification", required: true, min: 1, max: 10, check: alphanumeric, capitals: true},
			{name: "odfiRouting", required: true, min: 8, max: 9, check: odfi},
			{name: "entryDescription", fallback: "OWNER PAY", min: 1, max: 10, check: printable, capitals: true},
			{name: "balancedFile", fallback: "false", min: 4, max: 5, check: oneOf("true", "false")},
			{name: "offsetRouting", min: 9, max: 9, check: routing},
			{name: "offsetAccountType", min: 7, max: 8, check: oneOf("checking", "savings")},
			{name: fundingAccount, min: 36, max: 36, check: uuid},
		},
		credentials: []field{
			{name: "offsetAccountNumber", min: 4, max: 17, check: alphanumeric},
		},
	},
	{
		id: PayProvider, name: "Payment provider", kind: Payments, verifies: true, open: openHTTP,
		settings: []field{
			{name: "baseUrl", required: true, min: 1, max: 500, check: address, address: true},
			{name: fundingAccount, min: 36, max: 36, check: uuid},
		},
		credentials: []field{
			{name: "apiKey", required: true, min: 1, max: 500, check: token},
			{name: "callbackSecret", required: true, min: 16, max: 500, check: token},
		},
	},
}

// fundingAccount is the setting that names the bank account to pay from.
const fundingAccount = "fundingAccountId"

// appOf is what is known of an app; the edge has refused all others.
func appOf(a App) *app {
	i := slices.IndexFunc(known, func(k app) bool { return k.id == a })
	return &known[i]
}

func (a *app) info() AppInfo { return AppInfo{ID: a.id, Name: a.name, Kind: a.kind} }

// check holds values against fields and gives them with what stands for the absent ones. Issues are at the given part of the body.
func check(part string, fields []field, given map[string]string, r rules) (map[string]string, []apierr.Issue) {
	var issues []apierr.Issue
	out := map[string]string{}
	left := maps.Clone(given)
	for i := range fields {
		f := &fields[i]
		text, present := given[f.name]
		delete(left, f.name)
		switch {
		case present:
			if issue := f.wrong(text, r); issue != nil {
				issue.Path, issue.Schema = []any{part, f.name}, "body"
				issues = append(issues, *issue)
				continue
			}
			if f.capitals {
				text = strings.ToUpper(text)
			}
			out[f.name] = text
		case f.required:
			issues = append(issues, apierr.Issue{Message: "Required field is missing", Code: "required", Path: []any{part, f.name}, Schema: "body"})
		case f.fallback != "":
			out[f.name] = f.fallback
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		issues = append(issues, apierr.Issue{Message: "Field is not known", Code: "unknownField", Path: []any{part, name}, Schema: "body"})
	}
	return out, issues
}

func (f *field) wrong(text string, r rules) *apierr.Issue {
	if n := utf8.RuneCountInString(text); n < f.min || n > f.max {
		return &apierr.Issue{Message: "Text is too short or too long", Code: "length"}
	}
	if f.check == nil {
		return nil
	}
	return f.check(text, r)
}

func openNACHA(settings, credentials json.RawMessage, _ []pay.HTTPOption) (pay.Provider, error) {
	return pay.NewNACHA(settings, credentials)
}

func openHTTP(settings, credentials json.RawMessage, options []pay.HTTPOption) (pay.Provider, error) {
	return pay.NewHTTP(settings, credentials, options...)
}
