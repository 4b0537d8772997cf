package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Notify notifies other processes on a channel. It sends outside of any transaction, because notifications inside
// one make commits queue, and does not wait for the disk.
func (d *DB) Notify(ctx context.Context, channel string) error {
	conn, err := d.connection(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer conn.Release()

	_, err = conn.Exec(ctx, "select set_config('synchronous_commit', 'off', true), pg_notify($1, '')", channel)

	return err
}

// Listen calls heard for every notification on a channel until the context or the DB ends. It returns an error if
// the connection is lost.
func (d *DB) Listen(ctx context.Context, channel string, heard func()) error {
	if !d.listening.enter() {
		return unavailable(context.Canceled)
	}
	defer d.listening.all.Done()

	// It ends with the caller's context or with the DB, whichever is first.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	defer context.AfterFunc(d.listening.ctx, cancel)()

	// A connection that listens cannot be shared, so it is not taken from the pool.
	conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig.Copy())
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		// The connection is closed even if the context has ended.
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		_ = conn.Close(closing)
	}()

	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}

	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("wait for notification: %w", err)
		}

		heard()
	}
}

// Waker notifies all processes on a channel that something is new. Wake never blocks, and many calls become one
// notification.
type Waker struct {
	db      *DB
	channel string
	pause   time.Duration
	local   func(kinds ...string)
	wake    chan struct{}
}

// NewWaker returns a waker that leaves pause between two notifications. If local is not nil, it is called directly
// for this process, with the kinds of what is new.
func NewWaker(d *DB, channel string, pause time.Duration, local func(kinds ...string)) *Waker {
	return &Waker{db: d, channel: channel, pause: pause, local: local, wake: make(chan struct{}, 1)}
}

// Wake announces what is new. Other processes are not sent its kinds.
func (k *Waker) Wake(kinds ...string) {
	if k.local != nil {
		k.local(kinds...)
	}

	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run sends the notifications until the context ends. Losing one must be harmless: whoever listens polls as well.
func (k *Waker) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			_ = k.db.Notify(ctx, k.channel)
			select {
			case <-ctx.Done():
				return
			case <-time.After(k.pause):
			}
		}
	}
}
