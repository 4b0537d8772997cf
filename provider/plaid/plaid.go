// Package plaid reads bank accounts through Plaid: a client of its published protocol (version 2020-09-14), built from
// the description and tried against our sandbox (provider/sandbox/bankfeed).
//
// A person links an item, which is a login at one bank with some of its accounts, on a page of Plaid's. Whoever has the
// access token of the item can read its accounts. Nothing here is stored: the caller keeps tokens and cursors.
package plaid

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"stayledger/platform/outbound"
)

// The addresses of the vendor. Keys belong to one of them.
const (
	Production = "https://production.plaid.com"
	Sandbox    = "https://sandbox.plaid.com"
)

// Timeout is how long a call may take; SyncTransactions makes many.
const Timeout = 25 * time.Second

// callsPerMinute is how many calls for transactions the vendor allows a client, over all items.
const callsPerMinute = 2500

// Config has the address and the keys of a client. It is the operator's and never a team's.
type Config struct {
	// Address is where the protocol starts: Production, Sandbox or, with AllowPrivate, that of a sandbox of ours.
	Address string
	// ClientID and Secret are the keys of our account with the vendor.
	ClientID string
	Secret   string
	// AllowPrivate lets the client call private addresses and without TLS, such as the sandbox on the same machine.
	AllowPrivate bool
	// Within shortens the time that a call may take; 0 and more than Timeout are Timeout.
	Within time.Duration
	// CallsPerMinute is how many calls go out at most; 2500 if 0, the vendor's limit.
	CallsPerMinute int
}

// Client speaks to the vendor. It is safe for use by many goroutines, and one serves a whole process: it keeps to the
// limit of calls and knows the keys that webhooks are signed with.
//
// A call takes at most Timeout, follows no redirect, reads a bounded answer, and fails with an Error.
type Client struct {
	base    string
	config  Config
	http    *http.Client
	budget  *outbound.Budget
	keys    keyring
	lookups *outbound.Budget // of keys that are not in the ring
}

// ConfigError says which value of a Config cannot be used, and why; both texts can be shown.
type ConfigError struct {
	Field   string
	Problem string
}

func (e *ConfigError) Error() string { return "bank feed: " + e.Field + " " + e.Problem }

// New makes a client and makes no call. It fails with a ConfigError.
func New(c Config) (*Client, error) {
	// First, check everything that goes into an address or a header.
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return nil, &ConfigError{Field: "address", Problem: "is not an address such as " + Production}
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, &ConfigError{Field: "address", Problem: "has more than a host and a path"}
	case u.Scheme != "https" && (u.Scheme != "http" || !c.AllowPrivate):
		return nil, &ConfigError{Field: "address", Problem: "does not start with https://"}
	case !outbound.Printable(c.ClientID, maxToken):
		return nil, &ConfigError{Field: "clientId", Problem: "is missing or holds characters that none has"}
	case !outbound.Printable(c.Secret, maxToken):
		return nil, &ConfigError{Field: "secret", Problem: "is missing or holds characters that none has"}
	}

	// Then fill in the limits.
	if c.Within <= 0 || c.Within > Timeout {
		c.Within = Timeout
	}

	if c.CallsPerMinute <= 0 {
		c.CallsPerMinute = callsPerMinute
	}

	return &Client{
		base:    strings.TrimSuffix(u.String(), "/"),
		config:  c,
		http:    outbound.Client(c.AllowPrivate),
		budget:  outbound.NewBudget(outbound.Limit{Calls: c.CallsPerMinute, Within: time.Minute}),
		lookups: outbound.NewBudget(outbound.Limit{Calls: lookupsPerMinute, Within: time.Minute}),
		keys:    keyring{known: map[string]webhookKey{}},
	}, nil
}
