//go:build unix

// Package pgserver runs a private PostgreSQL for development and tests, so that the binary needs no server set up by
// hand.
//
// It owns one folder: the cluster in data/, the server's output in server.log, ports and passwords in cluster.json
// (mode 0600), and lock, which one process at a time holds. The server listens on 127.0.0.1 only and asks for a
// password on every connection.
//
// The server belongs to the process that started it: Stop ends it in order, a crash of the server is repaired on the
// same port, and when our own process is killed the next Start finds the server that was left behind and takes it over.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Role is the name of the service's role and database. The role owns its tables but is subject to row-level security.
const Role = "stayledger"

// superuser is the cluster's administrator.
const superuser = "postgres"

// startLimit bounds a start without a deadline; a recovery after a crash can take minutes.
const startLimit = 5 * time.Minute

// Options say where the cluster lives and how careful it is.
type Options struct {
	// Dir is the folder of the cluster. It is created when it does not exist; a folder that holds other things is
	// refused.
	Dir string
	// Durable turns fsync, synchronous commit and full page writes on. Without it a crash of the machine may destroy
	// the data.
	Durable bool
	// Settings are added to the server's configuration, over the defaults of this package.
	Settings map[string]string
	// Logger receives starts, take-overs and crashes; nil means slog.Default.
	Logger *slog.Logger
}

// Server is a running PostgreSQL.
type Server struct {
	cluster *cluster
	bin     string
	log     *slog.Logger

	mu      sync.Mutex
	process *process

	release    context.CancelFunc // ends the supervision, not the server
	supervised chan struct{}      // closed when the supervision has ended
	once       sync.Once
	lock       *os.File
}

// Start creates the cluster if the folder is new, and returns when the server answers.
//
// The context limits the start only: the server goes on after it ends, so that a service can still write while it
// shuts down; call Stop. It fails with *MissingError without binaries, *LockedError if another process holds the
// folder, and *AccountError if the account that PostgreSQL must run as cannot enter root's folder.
func Start(ctx context.Context, o Options) (*Server, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeout(ctx, startLimit)
		defer cancel()
	}

	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve database folder: %w", err)
	}

	if o.Dir == "" {
		return nil, errors.New("the database needs a folder")
	}

	if o.Logger == nil {
		o.Logger = slog.Default()
	}

	if err := claimFolder(dir); err != nil {
		return nil, err
	}

	// From here on no other process works in the folder.
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}

	s := &Server{log: o.Logger, lock: lock, supervised: make(chan struct{})}
	if err := s.start(ctx, dir, o); err != nil {
		return nil, errors.Join(err, s.unlock())
	}

	// A server that ends by itself is started again.
	supervision, release := context.WithCancel(context.WithoutCancel(ctx))

	s.release = release
	go s.supervise(supervision)

	return s, nil
}

// start creates and configures the cluster, and starts its server.
func (s *Server) start(ctx context.Context, dir string, o Options) error {
	c, err := openCluster(dir)
	if err != nil {
		return err
	}

	s.cluster = c
	if s.bin, err = c.binaries(ctx); err != nil {
		return err
	}

	if err := c.chooseAccount(ctx, s.bin); err != nil {
		return err
	}

	if !c.exists() {
		o.Logger.InfoContext(ctx, "creating the database cluster", slog.String("dir", dir))

		if err := c.create(ctx, s.bin, o.Durable); err != nil {
			return err
		}
	}

	// Settings apply to existing clusters too.
	changed, err := c.configure(o)
	if err != nil {
		return err
	}

	if err := s.startOrReuse(ctx, changed); err != nil {
		return err
	}

	// A server without our role and database is of no use.
	if err := c.prepareDatabase(ctx); err != nil {
		return errors.Join(err, s.current().stop(context.WithoutCancel(ctx)))
	}

	return nil
}

// startOrReuse uses the server that still runs in the folder, or starts one. A server with an older configuration is
// restarted.
func (s *Server) startOrReuse(ctx context.Context, changed bool) error {
	c := s.cluster
	if left := c.running(); left != nil {
		if !changed && c.awaitServer(ctx, left) == nil {
			s.log.InfoContext(ctx,
				"took over the running database",
				slog.Int("pid", left.pid),
				slog.Int("port", c.state.Port),
			)
			s.replace(left)

			return nil
		}

		if err := left.stop(ctx); err != nil {
			return fmt.Errorf("stop the database left by an earlier process: %w", err)
		}
	}

	if err := c.choosePort(ctx); err != nil {
		return err
	}

	// Start it and wait until it answers.
	p, err := c.spawnServer(ctx, s.bin)
	if err != nil {
		return err
	}

	if err := c.awaitServer(ctx, p); err != nil {
		return errors.Join(err, p.stop(context.WithoutCancel(ctx)))
	}

	s.log.InfoContext(ctx, "database is up", slog.Int("pid", p.pid), slog.Int("port", c.state.Port))
	s.replace(p)

	return nil
}

// Port returns the TCP port on 127.0.0.1. It stays the same over restarts unless another program takes it.
func (s *Server) Port() int { return s.cluster.state.Port }

// Pid returns the process id of the server. It changes when a crash was repaired.
func (s *Server) Pid() int { return s.current().pid }

// URL returns a postgres:// URL for a role and a database. It has the password for Role and the superuser only.
func (s *Server) URL(user, database string) string { return s.cluster.url(user, database) }

// AdminURL returns the superuser's URL. Row-level security does not apply to it, so the service must not use it.
func (s *Server) AdminURL() string { return s.URL(superuser, "postgres") }

// Stop ends the server, open transactions are rolled back, and frees the folder. When ctx ends first the server is
// stopped at once, which is safe but costs a recovery at the next start. A second call does nothing.
func (s *Server) Stop(ctx context.Context) error {
	var err error

	s.once.Do(func() {
		s.release()
		<-s.supervised
		err = errors.Join(s.current().stop(ctx), s.unlock())
	})

	return err
}

// Detach frees the folder and leaves the server running without supervision: the next Start, of any process of this
// user, takes it over.
func (s *Server) Detach() error {
	var err error

	s.once.Do(func() {
		s.release()
		<-s.supervised
		s.current().forget()
		err = s.unlock()
	})

	return err
}

func (s *Server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.process
}

func (s *Server) replace(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.process = p
}

// unlock frees the folder. Closing alone would not do: a program that this process is just starting has the file open
// until it runs.
func (s *Server) unlock() error {
	if err := errors.Join(unlockFile(s.lock), s.lock.Close()); err != nil {
		return fmt.Errorf("free the database folder: %w", err)
	}

	return nil
}

// url returns the connection URL of a user for a database of the cluster.
func (c *cluster) url(user, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.state.Port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}

	switch user {
	case superuser:
		u.User = url.UserPassword(user, c.state.SuperuserPassword)
	case Role:
		u.User = url.UserPassword(user, c.state.RolePassword)
	default:
		u.User = url.User(user)
	}

	return u.String()
}
