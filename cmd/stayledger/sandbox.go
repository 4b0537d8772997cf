package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"stayledger/provider/sandbox"
	"stayledger/provider/sandbox/bankfeed"
)

type sandboxCmd struct {
	Listen         string        `env:"STAYLEDGER_SANDBOX_LISTEN" default:"127.0.0.1:8085" help:"Address to serve on."`
	APIKey         string        `name:"api-key" env:"STAYLEDGER_SANDBOX_API_KEY" required:"" help:"Key that callers must present; the secret of the bank feed, too."`
	CallbackURL    string        `name:"callback-url" env:"STAYLEDGER_SANDBOX_CALLBACK_URL" help:"Where changes of payments are told; nowhere when empty."`
	CallbackSecret string        `name:"callback-secret" env:"STAYLEDGER_SANDBOX_CALLBACK_SECRET" help:"What callbacks are signed with: whsec_ and base64, or a text of at least 16 characters."`
	SettleAfter    time.Duration `name:"settle-after" env:"STAYLEDGER_SANDBOX_SETTLE_AFTER" default:"2s" help:"How long until a payment is paid; negative for never by itself."`
	PlaidClientID  string        `name:"plaid-client-id" env:"STAYLEDGER_SANDBOX_PLAID_CLIENT_ID" default:"sandbox" help:"Client identifier that callers of the bank feed must present."`
	PlaidHistory   int           `name:"plaid-history" env:"STAYLEDGER_SANDBOX_PLAID_HISTORY" default:"60" help:"How many transactions each newly linked bank account begins with."`
	Quiet          bool          `help:"Do not print what happens."`
}

// Help returns the text about the two sandboxes and their addresses.
func (*sandboxCmd) Help() string {
	return `At / is a payment provider that moves no money (docs/guides/payment-provider.md). At /plaid is a bank feed that speaks Plaid's protocol
with banks that do not exist (docs/guides/bank-feeds.md). Everything is forgotten at the end.`
}

// Run serves a payment provider that moves no money and a bank feed without banks, until it is stopped.
func (c *sandboxCmd) Run(r *runContext) error {
	listener, err := listen(r.ctx, c.Listen)
	if err != nil {
		return err
	}

	address := "http://" + listener.Addr().String()

	payments, feed, err := c.open()
	if err != nil {
		_ = listener.Close()
		return err
	}

	// Requests can be held open on purpose; release them, so that the server can stop.
	letGo := func() {
		payments.Close()
		feed.Close()
	}
	defer letGo()

	fmt.Fprintln(os.Stderr, "payment sandbox at "+address+"; it moves no money")
	fmt.Fprintln(os.Stderr, "bank-feed sandbox at "+address+plaidPath+"; its banks do not exist")

	// Both share one address.
	mux := http.NewServeMux()
	mux.Handle("/", payments)
	mux.Handle(plaidPath+"/", http.StripPrefix(plaidPath, feed))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	select {
	case err := <-failed:
		return fmt.Errorf("serve the sandbox: %w", err)
	case <-r.ctx.Done():
	}

	letGo()

	stopping, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 5*time.Second)
	defer cancel()

	if err := server.Shutdown(stopping); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop the sandbox: %w", err)
	}

	return nil
}

// plaidPath is where the bank feed starts.
const plaidPath = "/plaid"

// open returns the two sandboxes. They print each event as a line of JSON.
func (c *sandboxCmd) open() (*sandbox.Server, *bankfeed.Server, error) {
	config := sandbox.Config{
		APIKey:         c.APIKey,
		SettleAfter:    c.SettleAfter,
		CallbackURL:    c.CallbackURL,
		CallbackSecret: c.CallbackSecret,
	}

	feed := bankfeed.Config{ClientID: c.PlaidClientID, Secret: c.APIKey, Path: plaidPath, History: c.PlaidHistory}
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
	}

	payments, err := sandbox.New(config)
	if err != nil {
		return nil, nil, err
	}

	banks, err := bankfeed.New(feed)
	if err != nil {
		payments.Close()
		return nil, nil, err
	}

	return payments, banks, nil
}
