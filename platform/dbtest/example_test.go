//go:build unix

package dbtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/dbtest"
)

// One database for a package's tests, made by its TestMain. A test that must have its own calls dbtest.URL.
func ExampleForPackage() {
	at, drop := dbtest.ForPackage(migrate, "dbtest_fixed")
	defer drop()

	ctx := context.Background()

	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close(ctx)

	var rows int
	fmt.Println(conn.QueryRow(ctx, "select count(*) from item").Scan(&rows), rows)
	// Output: <nil> 1
}

func ExampleURL() {
	var t *testing.T // A test's own.

	_ = func() string { return dbtest.URL(t, migrate, "the hash of the migrations") }
}
