//go:build unix

package pgserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"stayledger/platform/pgserver"
)

func ExampleStart() {
	ctx := context.Background()

	parent, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)

	if err := os.Chmod(parent, 0o711); err != nil { // So that root's PostgreSQL account gets through.
		fmt.Println(err)
		return
	}

	server, err := pgserver.Start(ctx, pgserver.Options{Dir: filepath.Join(parent, "db"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}

	service, err := url.Parse(server.URL(pgserver.Role, pgserver.Role))
	fmt.Println(service.Hostname(), service.Path, service.User.Username(), err)
	fmt.Println("stopped:", server.Stop(ctx))
	// Output:
	// 127.0.0.1 /stayledger stayledger <nil>
	// stopped: <nil>
}
