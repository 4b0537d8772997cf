//go:build unix

package pgserver

import (
	"context"
	"log/slog"
	"time"
)

// A server that dies again soon is started again after growing pauses, but never given up: what made it die, a full
// disk or memory that another program holds, ends without our doing.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 15 * time.Second
	healthyAfter = time.Minute
)

// supervise restarts the server when it ends by itself, until ctx ends.
func (s *Server) supervise(ctx context.Context) {
	defer close(s.supervised)

	pause := firstPause

	for {
		up := time.Now()

		select {
		case <-ctx.Done():
			return
		case <-s.current().exited:
		}

		if ctx.Err() != nil {
			return
		}

		// A server that ran well for a while is restarted at once; one that keeps failing more and more slowly.
		if time.Since(up) > healthyAfter {
			pause = firstPause
		}

		s.log.ErrorContext(ctx, "the database ended unexpectedly", slog.String("log", s.cluster.path("server.log")))

		for sleep(ctx, pause) {
			pause = min(2*pause, longestPause)

			err := s.restart(ctx)
			if err == nil {
				break
			}

			s.log.ErrorContext(ctx, "the database does not restart", slog.Any("error", err))
		}
	}
}

// restart starts the server on the same port, because connection pools know no other.
func (s *Server) restart(supervision context.Context) error {
	ctx, cancel := context.WithTimeout(supervision, startLimit)
	defer cancel()

	p, err := s.cluster.spawnServer(ctx, s.bin)
	if err != nil {
		return err
	}
	// Register it first: Stop and Detach must find the new process even if they interrupt the waiting.
	s.replace(p)

	if err := s.cluster.awaitServer(ctx, p); err != nil {
		if supervision.Err() != nil {
			return err
		}

		if stopErr := p.stop(context.WithoutCancel(ctx)); stopErr != nil {
			s.log.ErrorContext(ctx, "the database does not stop", slog.Any("error", stopErr))
		}

		return err
	}

	s.log.InfoContext(ctx, "database is up again", slog.Int("pid", p.pid), slog.Int("port", s.cluster.state.Port))

	return nil
}

// sleep reports whether the pause passed before ctx ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
