//go:build unix

package dbtest_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/dbtest"
)

// helperHash makes this test binary another test process, which asks for a database of the schema with that hash and
// prints "migrated" when the template was its to make.
const helperHash = "DBTEST_TEST_HELPER_HASH"

func TestMain(m *testing.M) {
	hash := os.Getenv(helperHash)
	if hash == "" {
		os.Exit(m.Run())
	}

	_, drop := dbtest.ForPackage(func(ctx context.Context, at string) error {
		fmt.Println("migrated")
		return migrate(ctx, at)
	}, hash)
	drop()
	fmt.Println("done")
}

func migrate(ctx context.Context, at string) error {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)

	_, err = conn.Exec(ctx, `create extension btree_gist;
		create table item (n integer);
		insert into item values (1);
		alter table item enable row level security;
		alter table item force row level security;
		create policy odd on item using (n % 2 = 1)`)

	return err
}

// newHash names a schema that no template exists for; templates of tests go with the stale ones.
func newHash() string { return "dbtest_" + strconv.FormatInt(time.Now().UnixNano(), 36) }

func connect(t *testing.T, at string) *pgx.Conn {
	t.Helper()

	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close(context.Background()) })

	return conn
}

func ask(t *testing.T, conn *pgx.Conn, sql string, args ...any) string {
	t.Helper()

	var answer string
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}

	return answer
}

func name(t *testing.T, at string) string {
	t.Helper()

	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}

	return strings.TrimPrefix(u.Path, "/")
}

func TestEachTestHasItsOwnCopy(t *testing.T) {
	t.Parallel()

	hash := newHash()

	var migrations atomic.Int32

	counted := func(ctx context.Context, at string) error {
		migrations.Add(1)
		return migrate(ctx, at)
	}
	urls := make([]string, 4)

	var group sync.WaitGroup
	for i := range urls {
		group.Go(func() { urls[i] = dbtest.URL(t, counted, hash) })
	}

	group.Wait()

	if t.Failed() {
		t.FailNow()
	}

	if migrations.Load() != 1 {
		t.Errorf("migrated %d times", migrations.Load())
	}

	for _, at := range urls {
		conn := connect(t, at)
		if got := ask(t, conn, "select count(*)::text from item"); got != "1" {
			t.Errorf("a copy has %s rows before its test wrote any", got)
		}

		if _, err := conn.Exec(t.Context(), "insert into item values (3)"); err != nil {
			t.Error(err)
		}
	}
}

func TestRowLevelSecurityHolds(t *testing.T) {
	t.Parallel()

	conn := connect(t, dbtest.URL(t, migrate, "dbtest_fixed"))
	if _, err := conn.Exec(t.Context(), "insert into item values (2)"); err == nil {
		t.Error("the role's own policy does not hold for it")
	}

	if got := ask(t, conn, "select (pg_get_userbyid(datdba) = current_user and not (select rolsuper from pg_roles where rolname = current_user))::text"+
		" from pg_database where datname = current_database()"); got != "true" {
		t.Errorf("owned by the role, which is no superuser: %s", got)
	}
}

func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()

	var gone string

	t.Run("uses one", func(t *testing.T) {
		at := dbtest.URL(t, migrate, "dbtest_fixed")
		gone = name(t, at)

		left, err := pgx.Connect(context.Background(), at) // Still connected when the test ends.
		if err != nil {
			t.Fatal(err)
		}

		_ = left
	})

	conn := connect(t, dbtest.URL(t, migrate, "dbtest_fixed"))
	if got := ask(t, conn, "select count(*)::text from pg_database where datname = $1", gone); got != "0" {
		t.Errorf("%s is still there", gone)
	}
}

// other runs a test process next to this one.
func other(t *testing.T, hash string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])

	cmd.Env = append(os.Environ(), helperHash+"="+hash)

	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Errorf("%v: %s", err, out)
	}

	return string(out)
}

func TestProcessesShareClusterAndTemplate(t *testing.T) {
	t.Parallel()

	hash := newHash()

	var (
		group      sync.WaitGroup
		migrations atomic.Int32
	)

	for range 4 {
		group.Go(func() { migrations.Add(int32(strings.Count(other(t, hash), "migrated"))) })
	}

	group.Wait()

	if migrations.Load() != 1 {
		t.Errorf("migrated %d times", migrations.Load())
	}
}

func TestUnfinishedTemplateIsMadeAnew(t *testing.T) {
	t.Parallel()
	at := dbtest.URL(t, migrate, "dbtest_fixed")
	hash := newHash()

	conn := connect(t, at)
	if _, err := conn.Exec(t.Context(), "create database template_"+hash); err != nil {
		t.Fatal(err)
	}

	if got := ask(t, connect(t, dbtest.URL(t, migrate, hash)), "select count(*)::text from item"); got != "1" {
		t.Errorf("%s rows", got)
	}
}

func TestStaleDatabasesAreDropped(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t, migrate, "dbtest_fixed"))
	suffix := newHash()
	old := fmt.Sprintf("test_%d_%s", time.Now().Add(-2*time.Hour).Unix(), suffix)
	young := fmt.Sprintf("test_%d_%s", time.Now().Add(-time.Minute).Unix(), suffix)

	template := "template_" + suffix
	for _, statement := range []string{
		"create database " + old, "create database " + young, "create database " + template + " is_template true",
		"comment on database " + template + " is '2020-01-01T00:00:00Z'",
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}

	other(t, "dbtest_fixed")

	if got := ask(t, conn, "select coalesce(string_agg(datname, ' '), '') from pg_database where datname like '%' || $1", suffix); got != young {
		t.Errorf("left are %q, want only %q", got, young)
	}

	if _, err := conn.Exec(t.Context(), "drop database "+young); err != nil {
		t.Error(err)
	}
}
