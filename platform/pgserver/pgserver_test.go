//go:build unix

package pgserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/pgserver"
)

// helperDir makes this test binary a process that starts a server in the named folder, says so, and waits to be killed.
const helperDir = "PGSERVER_TEST_HELPER_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(helperDir)
	if dir == "" {
		os.Exit(m.Run())
	}

	s, err := pgserver.Start(context.Background(), pgserver.Options{Dir: dir, Durable: true})
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}

	fmt.Println("pid", s.Pid())

	select {}
}

// folder is one that root's PostgreSQL account can reach, which t.TempDir is not.
func folder(t *testing.T) string {
	t.Helper()

	parent, err := os.MkdirTemp("", "pgserver") //nolint:usetesting // Only we may enter the parent of t.TempDir.
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(parent) })

	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}

	return filepath.Join(parent, "db")
}

func start(t *testing.T, o pgserver.Options) *pgserver.Server {
	t.Helper()

	o.Logger = slog.New(slog.DiscardHandler)

	s, err := pgserver.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { stop(t, s) })

	return s
}

func stop(t *testing.T, s *pgserver.Server) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close(context.Background()) })

	return conn
}

func execute(t *testing.T, url, sql string) {
	t.Helper()

	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, url, sql string) string {
	t.Helper()

	var answer string
	if err := connect(t, url).QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}

	return answer
}

// alive does not count zombies: not every container has a first process that collects them.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}

	return syscall.Kill(pid, 0) == nil
}

func TestStartStopAndStartAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, pgserver.Options{Dir: dir, Durable: true, Settings: map[string]string{"work_mem": "9MB", "application_name": "it's"}})

	service := s.URL(pgserver.Role, pgserver.Role)
	for sql, want := range map[string]string{
		"show fsync":            "on",
		"show work_mem":         "9MB",
		"show application_name": "it's",
		"show jit":              "off",
		"show max_connections":  "200",
		"show server_encoding":  "UTF8",
		"show lc_collate":       "C",
		"show timezone":         "UTC",
		"show listen_addresses": "127.0.0.1",
		"select (rolsuper or rolbypassrls or not rolcreatedb)::text from pg_roles where rolname = current_user": "false",
		"select pg_get_userbyid(datdba)::text from pg_database where datname = current_database()":              pgserver.Role,
		`select ('a' < 'B' collate "und-x-icu")::text`:                                                          "true",
	} {
		if got := ask(t, service, sql); got != want {
			t.Errorf("%s = %q, want %q", sql, got, want)
		}
	}

	execute(t, service, "create table kept (n integer)")

	port, pid := s.Port(), s.Pid()
	stop(t, s)

	if alive(pid) {
		t.Error("the server runs on after Stop")
	}

	again := start(t, pgserver.Options{Dir: dir})
	if again.Port() != port {
		t.Errorf("port %d, want the kept %d", again.Port(), port)
	}

	if got := ask(t, service, "select count(*)::text from kept"); got != "0" {
		t.Errorf("kept = %q", got)
	}

	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := ask(t, again.AdminURL(), "show "+name); got != "off" {
			t.Errorf("%s = %q in a cluster that need not last", name, got)
		}
	}
}

func TestPasswordIsAsked(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, pgserver.Options{Dir: dir})

	wrong := fmt.Sprintf("postgres://postgres:wrong@127.0.0.1:%d/postgres?sslmode=disable", s.Port())
	if conn, err := pgx.Connect(t.Context(), wrong); err == nil {
		conn.Close(t.Context())
		t.Error("a wrong password is accepted")
	}

	info, err := os.Stat(filepath.Join(dir, "cluster.json"))
	if err != nil {
		t.Fatal(err)
	}

	if info.Mode().Perm() != 0o600 {
		t.Errorf("cluster.json has mode %v", info.Mode())
	}
}

func TestOneProcessPerFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, pgserver.Options{Dir: dir})
	_, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir})

	locked, ok := errors.AsType[*pgserver.LockedError](err)
	if !ok {
		t.Fatalf("second start: %v", err)
	}

	if locked.Holder != strconv.Itoa(os.Getpid()) {
		t.Errorf("holder %q", locked.Holder)
	}

	pid := s.Pid()
	if err := s.Detach(); err != nil {
		t.Fatal(err)
	}

	if next := start(t, pgserver.Options{Dir: dir}); next.Pid() != pid {
		t.Errorf("after Detach a server %d was started beside %d", next.Pid(), pid)
	}
}

func TestCrashOfTheServerIsRepaired(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{Dir: folder(t), Durable: true})
	service := s.URL(pgserver.Role, pgserver.Role)
	execute(t, service, "create table kept (n integer)")

	for range 2 {
		pid := s.Pid()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}

		deadline := time.Now().Add(30 * time.Second)
		for s.Pid() == pid || !answers(t, service) {
			if time.Now().After(deadline) {
				t.Fatal("the server did not come back")
			}

			time.Sleep(20 * time.Millisecond)
		}
	}

	if got := ask(t, service, "select count(*)::text from kept"); got != "0" {
		t.Errorf("kept = %q", got)
	}
}

func answers(t *testing.T, url string) bool {
	t.Helper()

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return false
	}

	return conn.Close(t.Context()) == nil
}

// helper starts a process of ours with a server in dir, and returns it with the server's process id.
func helper(t *testing.T, dir string) (*exec.Cmd, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])

	cmd.Env = append(os.Environ(), helperDir+"="+dir)

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}

	var pid int
	if _, err := fmt.Sscanf(line, "pid %d", &pid); err != nil {
		t.Fatalf("helper said %q", line)
	}

	return cmd, pid
}

func TestServerOfAKilledProcessIsTakenOver(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		serverDies, reconfigured bool
	}{
		"server runs on":           {},
		"server died too":          {serverDies: true},
		"other settings are asked": {reconfigured: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)

			process, pid := helper(t, dir)
			if _, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir, Durable: true}); err == nil {
				t.Fatal("the folder of a running process was taken")
			}

			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}

			_ = process.Wait()

			if !alive(pid) {
				t.Fatal("the server died with the process that started it")
			}

			if test.serverDies {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}

			s := start(t, pgserver.Options{Dir: dir, Durable: !test.reconfigured})
			if takenOver := s.Pid() == pid; takenOver != (!test.serverDies && !test.reconfigured) {
				t.Errorf("taken over: %v", takenOver)
			}

			service := s.URL(pgserver.Role, pgserver.Role)
			execute(t, service, "create table reached (n integer)")

			last := s.Pid()
			stop(t, s)

			if alive(pid) || alive(last) {
				t.Error("the server runs on after Stop")
			}
		})
	}
}

// A process id that was noted before a reboot belongs to a stranger afterwards: he must neither stop the start nor be
// signalled.
func TestStaleProcessIDOfAStranger(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	process, pid := helper(t, dir)
	_ = process.Process.Kill()
	_ = process.Wait()

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	stranger := exec.CommandContext(t.Context(), "sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}

	name := filepath.Join(dir, "data", "postmaster.pid")

	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(content), "\n")
	if err := os.WriteFile(name, fmt.Appendf(nil, "%d\n%s", stranger.Process.Pid, rest), 0o600); err != nil {
		t.Fatal(err)
	}

	start(t, pgserver.Options{Dir: dir, Durable: true})

	if !alive(stranger.Process.Pid) {
		t.Error("the stranger was ended")
	}

	_ = stranger.Process.Kill()
	_ = stranger.Wait()
}

func TestFolderOfOtherThingsIsRefused(t *testing.T) {
	t.Parallel()

	dir := folder(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "holds other things") {
		t.Errorf("error %v", err)
	}

	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v: a refused folder was changed", info.Mode(), err)
	}
}

func TestUnreachableFolderNamesTheCulprit(t *testing.T) {
	t.Parallel()

	if os.Geteuid() != 0 {
		t.Skip("only root lends the server another account")
	}

	parent := filepath.Dir(folder(t))
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}

	_, err := pgserver.Start(t.Context(), pgserver.Options{Dir: filepath.Join(parent, "a", "b")})

	refusal, ok := errors.AsType[*pgserver.AccountError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}

	if refusal.Folder != parent || !strings.Contains(refusal.Error(), "chmod o+x "+parent) {
		t.Errorf("error %v", err)
	}
}

func TestMissingBinaries(t *testing.T) {
	t.Setenv("PG_BIN", "/nonexistent")

	_, _, err := pgserver.FindBinaries(t.Context())
	if _, ok := errors.AsType[*pgserver.MissingError](err); !ok || !strings.Contains(err.Error(), "PG_BIN names /nonexistent") {
		t.Errorf("error %v", err)
	}
}

func TestMissingErrorSaysWhatToInstall(t *testing.T) {
	t.Parallel()

	err := &pgserver.MissingError{TooOld: 13, Install: "apt-get install postgresql-15"}

	const want = `PostgreSQL 15 or newer was not found (found 13): install it with "apt-get install postgresql-15", or set PG_BIN to the folder of initdb and postgres`
	if err.Error() != want {
		t.Errorf("error %v", err)
	}
}
