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
)

type sandboxCmd struct {
	Listen         string        `env:"STAYLEDGER_SANDBOX_LISTEN" default:"127.0.0.1:8085" help:"Address to serve on."`
	APIKey         string        `name:"api-key" env:"STAYLEDGER_SANDBOX_API_KEY" required:"" help:"Key that callers must present."`
	CallbackURL    string        `name:"callback-url" env:"STAYLEDGER_SANDBOX_CALLBACK_URL" help:"Where changes of payments are told; nowhere when empty."`
	CallbackSecret string        `name:"callback-secret" env:"STAYLEDGER_SANDBOX_CALLBACK_SECRET" help:"What callbacks are signed with: whsec_ and base64, or a text of at least 16 characters."`
	SettleAfter    time.Duration `name:"settle-after" env:"STAYLEDGER_SANDBOX_SETTLE_AFTER" default:"2s" help:"How long until a payment is paid; negative for never by itself."`
	Quiet          bool          `help:"Do not print what happens."`
}

// Run serves a payment provider that moves no money, until it is told to stop.
func (c *sandboxCmd) Run(r *runContext) error {
	config := sandbox.Config{APIKey: c.APIKey, SettleAfter: c.SettleAfter, CallbackURL: c.CallbackURL, CallbackSecret: c.CallbackSecret}
	if !c.Quiet {
		var mu sync.Mutex // events come from many requests at a time
		out := json.NewEncoder(os.Stdout)
		config.Seen = func(e sandbox.Event) {
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(e)
		}
	}
	s, err := sandbox.New(config)
	if err != nil {
		return err
	}
	defer s.Close()
	listener, err := listen(r.ctx, c.Listen)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "payment sandbox at http://"+listener.Addr().String()+"; it moves no money")
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the sandbox: %w", err)
	case <-r.ctx.Done():
	}
	s.Close() // lets go of what is held
	stopping, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop the sandbox: %w", err)
	}
	return nil
}
