package payapp

import (
	"regexp"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/provider/pay"
)

// fundingAccount is the setting that names the bank account to pay from.
var fundingAccount = connection.Field{Name: "fundingAccountId", Min: 36, Max: 36, BankAccount: true}

// known declares every app that pays.
var known = []app{
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "nacha", Name: "NACHA file", Kind: connection.Payments},
			Settings: []connection.Field{
				{Name: "immediateDestination", Required: true, Min: 9, Max: 9, Check: routing},
				{Name: "immediateDestinationName", Required: true, Min: 1, Max: 23, Check: connection.Printable, Capitals: true},
				{Name: "immediateOrigin", Required: true, Min: 1, Max: 10, Check: connection.Alphanumeric, Capitals: true},
				{Name: "immediateOriginName", Required: true, Min: 1, Max: 23, Check: connection.Printable, Capitals: true},
				{Name: "companyName", Required: true, Min: 1, Max: 16, Check: connection.Printable, Capitals: true},
				{Name: "companyIdentification", Required: true, Min: 1, Max: 10, Check: connection.Alphanumeric, Capitals: true},
				{Name: "odfiRouting", Required: true, Min: 8, Max: 9, Check: odfi},
				{Name: "entryDescription", Fallback: "OWNER PAY", Min: 1, Max: 10, Check: connection.Printable, Capitals: true},
				{Name: "balancedFile", Fallback: "false", Min: 4, Max: 5, Check: connection.OneOf("true", "false")},
				{Name: "offsetRouting", Min: 9, Max: 9, Check: routing},
				{Name: "offsetAccountType", Min: 7, Max: 8, Check: connection.OneOf("checking", "savings")},
				fundingAccount,
			},
			Credentials: []connection.Field{
				{Name: "offsetAccountNumber", Min: 4, Max: 17, Check: connection.Alphanumeric},
			},
		},
		can: []Capability{PaysByFile, TakesReturnFiles}, fault: pay.FileFault,
		open: func(a connection.Access, _ []pay.HTTPOption) (pay.Provider, error) {
			return pay.NewNACHA(a.Settings, a.Credentials)
		},
	},
	{
		App: connection.App{
			AppInfo: connection.AppInfo{ID: "payProvider", Name: "Payment provider", Kind: connection.Payments},
			Settings: []connection.Field{
				{Name: "baseUrl", Required: true, Min: 1, Max: 500, Address: true},
				fundingAccount,
			},
			Credentials: []connection.Field{
				{Name: "apiKey", Required: true, Min: 1, Max: 500, Check: connection.Token},
				{Name: "callbackSecret", Required: true, Min: 16, Max: 500, Check: connection.Token},
			},
		},
		can: []Capability{TellsOutcomes, VerifiesAccounts},
		open: func(a connection.Access, options []pay.HTTPOption) (pay.Provider, error) {
			return pay.NewHTTP(a.Settings, a.Credentials, options...)
		},
	},
}

// routing checks a routing number of American banks.
func routing(text string) apierr.IssueCode {
	if !pay.ValidRouting(text) {
		return apierr.IssueRoutingNumberInvalid
	}

	return ""
}

// odfi checks the routing number of the originating bank, with or without its check digit.
func odfi(text string) apierr.IssueCode {
	if eightDigits.MatchString(text) {
		return ""
	}

	return routing(text)
}

var eightDigits = regexp.MustCompile(`^[0-9]{8}$`)
