// Package s3test gives tests a real S3 server: a process over a folder, on this machine alone, which
// scripts/ensure versitygw installs.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// What every server has.
const (
	Bucket    = "ledger"
	Region    = "us-east-1"
	AccessKey = "stayledger"
	SecretKey = "a secret of the tests"
)

// startTime is how long a server may take to answer on a loaded machine.
const startTime = 30 * time.Second

// Server is a running server.
type Server struct {
	// Address is its host and port; it speaks HTTP.
	Address string
	// Client reaches it without the code under test.
	Client *minio.Core

	process *exec.Cmd
	folder  string
}

var shared struct {
	sync.Once

	server Server
	err    error
}

// Start returns the server that all tests of a package share; the first call starts it. If no server is installed
// the test is skipped, except in CI. End it with Stop, from TestMain.
func Start(t testing.TB) *Server {
	t.Helper()
	shared.Do(func() { shared.err = shared.server.start() })

	if errors.Is(shared.err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip("no S3 server here; run: scripts/ensure versitygw")
	}

	if shared.err != nil {
		t.Fatal(shared.err)
	}

	return &shared.server
}

// Stop ends the server, if there is one, and removes what it kept.
func Stop() {
	if p := shared.server.process; p != nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}

	_ = os.RemoveAll(shared.server.folder)
}

// program returns the path of the server that scripts/ensure installs: in the folder .bin of the repository, above
// that of every test.
func program() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}

	for {
		path := filepath.Join(dir, ".bin", "versitygw")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}

		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w: %s", exec.ErrNotFound, path)
		}

		dir = filepath.Dir(dir)
	}
}

// start starts the server over a new folder.
func (s *Server) start() error {
	path, err := program()
	if err != nil {
		return err
	}

	if s.folder, err = os.MkdirTemp("", "stayledger-s3test"); err != nil {
		return err
	}

	objects, metadata := filepath.Join(s.folder, "objects"), filepath.Join(s.folder, "metadata")
	if err := errors.Join(os.Mkdir(objects, 0o700), os.Mkdir(metadata, 0o700)); err != nil {
		return err
	}
	// Another process may take the free port before the server does, which then ends at once.
	for range 3 {
		if err = s.serve(path, objects, metadata); err == nil {
			return nil
		}
	}

	return err
}

// serve starts the process on a free port and waits until it has a bucket.
func (s *Server) serve(path, objects, metadata string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}

	s.Address = address

	var said strings.Builder

	p := exec.CommandContext( //nolint:gosec // the program of scripts/ensure
		context.Background(),
		path,
		"--port",
		address,
		"--quiet",
		"--keep-alive",
		"posix",
		"--sidecar",
		metadata,
		objects,
	)

	p.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)

	p.Stdout, p.Stderr = &said, &said
	if err := p.Start(); err != nil {
		return err
	}

	s.process = p

	s.Client, err = minio.NewCore(address, &minio.Options{
		Creds:      credentials.NewStaticV4(AccessKey, SecretKey, ""),
		Region:     Region,
		MaxRetries: 1,
	})
	if err != nil {
		return err
	}

	// A server that does not answer is ended, so that the next try can begin.
	if err := s.makeBucket(); err != nil {
		_ = p.Process.Kill()
		_ = p.Wait()
		s.process = nil

		return fmt.Errorf("the S3 server does not answer, it said %q: %w", said.String(), err)
	}

	return nil
}

// makeBucket waits for the server's first answer.
func (s *Server) makeBucket() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()

	for {
		err := s.Client.MakeBucket(ctx, Bucket, minio.MakeBucketOptions{})
		if err == nil || ctx.Err() != nil {
			return err
		}

		time.Sleep(50 * time.Millisecond)
	}
}

func freeAddress() (string, error) {
	var config net.ListenConfig

	free, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}

	return free.Addr().String(), free.Close()
}

// Names returns the objects below a prefix and, marked as such, the unfinished uploads.
func (s *Server) Names(t testing.TB, prefix string) []string {
	t.Helper()

	var found []string

	ctx := context.WithoutCancel(t.Context())
	for object := range s.Client.Client.ListObjects(ctx, Bucket, minio.ListObjectsOptions{
		Prefix:    prefix + "/",
		Recursive: true,
	}) {
		if object.Err != nil {
			t.Fatal(object.Err)
		}

		found = append(found, strings.TrimPrefix(object.Key, prefix+"/"))
	}

	for upload := range s.Client.ListIncompleteUploads(ctx, Bucket, prefix+"/", true) {
		if upload.Err != nil {
			t.Fatal(upload.Err)
		}

		found = append(found, "unfinished:"+strings.TrimPrefix(upload.Key, prefix+"/"))
	}

	return found
}
