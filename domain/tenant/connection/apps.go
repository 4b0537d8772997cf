package connection

import (
	"encoding/json"

	"stayledger/provider/pay"
)

// The apps. Other code does not compare their names: it asks Can for the differences that are declared here.
const (
	nacha       App = "nacha"
	payProvider App = "payProvider"
)

// known declares every app. A new app is a new literal here, with a client in provider/.
var known = []app{
	{
		id: nacha, name: "NACHA file", kind: Payments, can: []Capability{PaysByFile, TakesReturnFiles}, fault: pay.FileFault, open: openNACHA,
		settings: []field{
			{name: "immediateDestination", required: true, min: 9, max: 9, check: routing},
			{name: "immediateDestinationName", required: true, min: 1, max: 23, check: printable, capitals: true},
			{name: "immediateOrigin", required: true, min: 1, max: 10, check: alphanumeric, capitals: true},
			{name: "immediateOriginName", required: true, min: 1, max: 23, check: printable, capitals: true},
			{name: "companyName", required: true, min: 1, max: 16, check: printable, capitals: true},
			{name: "companyIdentification", required: true, min: 1, max: 10, check: alphanumeric, capitals: true},
			{name: "odfiRouting", required: true, min: 8, max: 9, check: odfi},
			{name: "entryDescription", fallback: "OWNER PAY", min: 1, max: 10, check: printable, capitals: true},
			{name: "balancedFile", fallback: "false", min: 4, max: 5, check: amongValues("true", "false")},
			{name: "offsetRouting", min: 9, max: 9, check: routing},
			{name: "offsetAccountType", min: 7, max: 8, check: amongValues("checking", "savings")},
			{name: fundingAccount, min: 36, max: 36, check: uuid},
		},
		credentials: []field{
			{name: "offsetAccountNumber", min: 4, max: 17, check: alphanumeric},
		},
	},
	{
		id: payProvider, name: "Payment provider", kind: Payments, can: []Capability{TellsOutcomes, VerifiesAccounts}, open: openHTTP,
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

func openNACHA(settings, credentials json.RawMessage, _ []pay.HTTPOption) (pay.Provider, error) {
	return pay.NewNACHA(settings, credentials)
}

func openHTTP(settings, credentials json.RawMessage, options []pay.HTTPOption) (pay.Provider, error) {
	return pay.NewHTTP(settings, credentials, options...)
}
