package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	known "stayledger/domain/exchange/pms"
	"stayledger/platform/day"
	"stayledger/provider/sandbox"
	"stayledger/provider/sandbox/bankfeed"
	"stayledger/provider/sandbox/hostaway"
	"stayledger/provider/sandbox/legacy"
	"stayledger/provider/sandbox/ownerrez"
	"stayledger/provider/sandbox/pms"
)

// sandboxGroup are the commands of the sandbox; without a name it is served.
type sandboxGroup struct {
	Serve  sandboxCmd `cmd:"" default:"withargs" help:"Serve a payment provider that moves no money, a bank feed without banks and a PMS without guests."`
	Legacy legacyCmd  `cmd:"" help:"Print a dump of a team without a general ledger that does not exist, for POST /legacy/import."`
}

// legacyCmd prints dumps of legacy teams.
type legacyCmd struct {
	Listings int    `default:"30" help:"How many listings the team has; ten have every kind of owners."`
	Months   int    `default:"12" help:"How many months of statements."`
	From     string `default:"2023-01" help:"The first month (YYYY-MM)."`
	Seed     uint64 `default:"1" help:"The same seed gives the same dump."`
}

// Run prints a dump as it is made. Its connections are to systems that speak our own protocol.
func (c *legacyCmd) Run(*runContext) error {
	systems := known.New(nil, known.Options{}).Apps()

	return legacy.Write(os.Stdout, legacy.Plan{Seed: c.Seed, Listings: c.Listings, Months: c.Months, From: c.From, AppID: string(systems[0].ID)})
}

type sandboxCmd struct {
	Listen         string        `env:"STAYLEDGER_SANDBOX_LISTEN" default:"127.0.0.1:8085" help:"Address to serve on."`
	APIKey         string        `name:"api-key" env:"STAYLEDGER_SANDBOX_API_KEY" required:"" help:"Key that callers must present; the secret of the bank feed, too, and the token of the PMS unless it has one of its own."`
	CallbackURL    string        `name:"callback-url" env:"STAYLEDGER_SANDBOX_CALLBACK_URL" help:"Where changes of payments are told; nowhere when empty."`
	CallbackSecret string        `name:"callback-secret" env:"STAYLEDGER_SANDBOX_CALLBACK_SECRET" help:"What callbacks are signed with: whsec_ and base64, or a text of at least 16 characters."`
	SettleAfter    time.Duration `name:"settle-after" env:"STAYLEDGER_SANDBOX_SETTLE_AFTER" default:"2s" help:"How long until a payment is paid; negative for never by itself."`
	PlaidClientID  string        `name:"plaid-client-id" env:"STAYLEDGER_SANDBOX_PLAID_CLIENT_ID" default:"sandbox" help:"Client identifier that callers of the bank feed must present."`
	PlaidHistory   int           `name:"plaid-history" env:"STAYLEDGER_SANDBOX_PLAID_HISTORY" default:"60" help:"How many transactions each newly linked bank account begins with."`
	PMSToken       string        `name:"pms-token" env:"STAYLEDGER_SANDBOX_PMS_TOKEN" help:"Token that callers of the PMS must present; the API key when empty."`
	PMSListings    int           `name:"pms-listings" env:"STAYLEDGER_SANDBOX_PMS_LISTINGS" default:"5" help:"How many listings the PMS begins with."`
	PMSStays       int           `name:"pms-reservations" env:"STAYLEDGER_SANDBOX_PMS_RESERVATIONS" default:"60" help:"How many reservations the PMS begins with."`
	HostawayID     string        `name:"hostaway-account-id" env:"STAYLEDGER_SANDBOX_HOSTAWAY_ACCOUNT_ID" default:"10001" help:"Number of the account at the sandbox of Hostaway; its key is the API key, and it begins with as much as the PMS."`
	OwnerRezEmail  string        `name:"ownerrez-email" env:"STAYLEDGER_SANDBOX_OWNERREZ_EMAIL" default:"sandbox@example.com" help:"E-mail address of the account at the sandbox of OwnerRez; its token is the API key, and it begins with as much as the PMS."`
	OwnerRezApp    string        `name:"ownerrez-client-id" env:"STAYLEDGER_SANDBOX_OWNERREZ_CLIENT_ID" default:"sandbox" help:"Id of an app at the sandbox of OwnerRez, to which its account gives access; the app's secret is the API key."`
	From           string        `env:"STAYLEDGER_SANDBOX_FROM" help:"First day that can be a check-in (YYYY-MM-DD); when empty, so that the stays are of the last months of the demo's books on this machine, or else of the last months."`
	DataDir        string        `name:"data-dir" env:"STAYLEDGER_DATA_DIR" help:"Data folder of the demo, with its demo.json."`
	Quiet          bool          `help:"Do not print what happens."`
}

// Help returns the text about the sandboxes and their addresses.
func (*sandboxCmd) Help() string {
	return `At / is a payment provider that moves no money (docs/guides/payment-provider.md). At /plaid is a bank feed that speaks Plaid's protocol
with banks that do not exist (docs/guides/bank-feeds.md). At /pms is a property-management system without guests that speaks our protocol for such systems
(docs/guides/pms-protocol.md). At /hostaway/v1 is another one that speaks as Hostaway does (docs/guides/hostaway.md), and at /ownerrez/v2 one that speaks as OwnerRez does
(docs/guides/ownerrez.md). Everything is forgotten at the end.`
}

// sandboxes are the servers of the sandbox.
type sandboxes struct {
	payments *sandbox.Server
	feed     *bankfeed.Server
	pms      *pms.Server
	hostaway *hostaway.Server
	ownerrez *ownerrez.Server
}

// close releases the requests that are held open on purpose, and ends what goes on in the background.
func (s *sandboxes) close() {
	if s.payments != nil {
		s.payments.Close()
	}

	if s.feed != nil {
		s.feed.Close()
	}

	if s.pms != nil {
		s.pms.Close()
	}

	if s.hostaway != nil {
		s.hostaway.Close()
	}

	if s.ownerrez != nil {
		s.ownerrez.Close()
	}
}

// Run serves a payment provider that moves no money, a bank feed without banks and a property-management system without
// guests, until it is stopped.
func (c *sandboxCmd) Run(r *runContext) error {
	listener, err := listen(r.ctx, c.Listen)
	if err != nil {
		return err
	}

	address := "http://" + listener.Addr().String()

	// Requests can be held open on purpose; release them, so that the server can stop.
	servers, err := c.open()
	defer servers.close()

	if err != nil {
		_ = listener.Close()
		return err
	}

	fmt.Fprintln(os.Stderr, "payment sandbox at "+address+"; it moves no money")
	fmt.Fprintln(os.Stderr, "bank-feed sandbox at "+address+plaidPath+"; its banks do not exist")
	fmt.Fprintln(os.Stderr, "PMS sandbox at "+address+pmsPath+"; it has no guests")
	fmt.Fprintln(os.Stderr, "Hostaway sandbox at "+address+hostawayPath+"/v1; its account is "+c.HostawayID)
	fmt.Fprintln(os.Stderr, "OwnerRez sandbox at "+address+ownerrezPath+"/v2; its account is "+c.OwnerRezEmail)

	// All share one address.
	mux := http.NewServeMux()
	mux.Handle("/", servers.payments)
	mux.Handle(plaidPath+"/", http.StripPrefix(plaidPath, servers.feed))
	mux.Handle(pmsPath+"/", http.StripPrefix(pmsPath, servers.pms))
	mux.Handle(hostawayPath+"/", http.StripPrefix(hostawayPath, servers.hostaway))
	mux.Handle(ownerrezPath+"/", http.StripPrefix(ownerrezPath, servers.ownerrez))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	select {
	case err := <-failed:
		return fmt.Errorf("serve the sandbox: %w", err)
	case <-r.ctx.Done():
	}

	// First release the requests that are held open: Shutdown waits for them.
	servers.close()

	stopping, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 5*time.Second)
	defer cancel()

	if err := server.Shutdown(stopping); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop the sandbox: %w", err)
	}

	return nil
}

// Where the bank feed and the property-management systems start.
const (
	plaidPath    = "/plaid"
	pmsPath      = "/pms"
	hostawayPath = "/hostaway"
	ownerrezPath = "/ownerrez"
)

// open returns the sandboxes, which print each event as a line of JSON. If it fails, those that were opened are returned
// with the error.
func (c *sandboxCmd) open() (*sandboxes, error) {
	config := sandbox.Config{
		APIKey:         c.APIKey,
		SettleAfter:    c.SettleAfter,
		CallbackURL:    c.CallbackURL,
		CallbackSecret: c.CallbackSecret,
	}
	feed := bankfeed.Config{ClientID: c.PlaidClientID, Secret: c.APIKey, Path: plaidPath, History: c.PlaidHistory}
	stays := pms.Config{Token: cmp.Or(c.PMSToken, c.APIKey)}
	away := hostaway.Config{AccountID: c.HostawayID, APIKey: c.APIKey}
	owner := ownerrez.Config{Email: c.OwnerRezEmail, Token: c.APIKey, ClientID: c.OwnerRezApp, ClientSecret: c.APIKey}

	// All sandboxes print their events to one stream, a line of JSON each.
	if !c.Quiet {
		var mu sync.Mutex // events come from many requests at a time

		out := json.NewEncoder(os.Stdout)
		emit := func(event any) {
			mu.Lock()
			defer mu.Unlock()

			_ = out.Encode(event)
		}
		config.Seen = func(e sandbox.Event) { emit(e) }
		feed.Seen = func(e bankfeed.Event) { emit(e) }
		stays.Seen = func(e pms.Event) { emit(e) }
		away.Seen = func(e hostaway.Event) { emit(e) }
		owner.Seen = func(e ownerrez.Event) { emit(e) }
	}

	var (
		s   sandboxes
		err error
	)

	if s.payments, err = sandbox.New(config); err != nil {
		return &s, err
	}

	if s.feed, err = bankfeed.New(feed); err != nil {
		return &s, err
	}

	if s.pms, err = pms.New(stays); err != nil {
		return &s, err
	}

	if s.hostaway, err = hostaway.New(away); err != nil {
		return &s, err
	}

	if s.ownerrez, err = ownerrez.New(owner); err != nil {
		return &s, err
	}

	// A PMS begins with listings and stays: without them a first sync would have nothing to read.
	from, err := c.firstDay()
	if err != nil {
		return &s, err
	}

	if err := s.pms.Generate(pms.Plan{Listings: c.PMSListings, Reservations: c.PMSStays, From: from}); err != nil {
		return &s, err
	}

	if err := s.hostaway.Generate(hostaway.Plan{Listings: c.PMSListings, Reservations: c.PMSStays, From: from}); err != nil {
		return &s, err
	}

	return &s, s.ownerrez.Generate(ownerrez.Plan{Properties: c.PMSListings, Bookings: c.PMSStays, From: from})
}

// firstDay returns the first day that can be a check-in. Without a day of the caller's it is the first of the month
// before last, as the demo on this machine counts months, but not before its books begin: the twelve stays that each
// listing has by default then reach into its present month.
func (c *sandboxCmd) firstDay() (string, error) {
	if c.From != "" {
		return c.From, nil
	}

	path, err := demoPath(c.DataDir)
	if err != nil {
		return "", err
	}

	today, starts := day.Of(time.Now()), day.Day{}

	// Whoever has no demo has books of their own, of which nothing is known here.
	demo, err := loadDemo(path)

	switch {
	case err == nil:
		today, starts = demo.Today, demo.StartsAt
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}

	first := today.Month().Prev().Prev().First()
	if first.Before(starts) {
		first = starts
	}

	return first.String(), nil
}
