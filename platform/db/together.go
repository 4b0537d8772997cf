package db

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
)

// request has the statements that a piece of work sends, and receives their results.
type request struct {
	stmts []Stmt
	// read takes the rows of the last statement; nil if they are not needed.
	read func(pgx.Rows) error
	// explain turns the error of a statement into the one to return; nil leaves it as it is.
	explain func(error) error
	// affected counts the rows that each of the statements touched, except the one that returned rows.
	affected []int64
	err      error
	// lost says that the database refused a statement of this request or of one before it: nothing of the transaction
	// can go on.
	lost bool
}

// exchange sends requests and puts what they come to into them.
type exchange func(ctx context.Context, all []*request)

// errTogether is a defect: what the other works send would fall into the savepoint, or under another team's sight.
var errTogether = errors.New("work that runs together with other work began a savepoint or visited a team")

var errStopped = errors.New("work that ran together with this one has failed")

// Together runs works that do not wait for each other's results. They take turns: each runs until it sends
// statements, then the statements of all are sent in one round trip, in the order of the works. No two run at the
// same moment. A work therefore finds the rows that those before it wrote or locked with their first statements.
// Ten works in Together are as fast as their statements in one Pipeline.
//
// Works cannot use Try or Visit. The error is that of the first work, in their order, that failed; the others are
// given up.
func (tx *Tx) Together(ctx context.Context, works ...Work) error {
	if len(works) == 0 {
		return nil
	}

	// Works can use Together themselves: their statements go to the outer exchange.
	outer := tx.exchange

	all := make([]*turn, len(works))
	for i, work := range works {
		all[i] = newTurn(ctx, tx, work)
	}

	started := all

	// However this ends, no work may be left running.
	defer func() {
		for _, t := range started {
			tx.exchange = lose // a work that is given up sends nothing any more

			t.stop()
		}

		tx.exchange = outer
	}()

	for {
		// Collect what all works want to send.
		sent, err := takeTurns(tx, &all)
		if err != nil || len(sent) == 0 {
			return err
		}

		tx.exchange = outer

		// Send it in one round trip, and give each work its results.
		tx.exchangeAll(ctx, sent)

		if lost := slices.IndexFunc(sent, func(r *request) bool { return r.lost }); lost >= 0 {
			return afterLoss(tx, all, sent[lost].err)
		}
	}
}

// takeTurns lets each of the works go on until it sends something or ends. If one fails, those after it are given
// up; those before it go on, because one of them may fail too and its error comes first. It returns the error of
// the last remaining work once all are done.
func takeTurns(tx *Tx, all *[]*turn) (sent []*request, err error) {
	for i, t := range *all {
		sent = append(sent, t.run(tx)...)
		if t.err != nil {
			*all = (*all)[:i+1]
			break
		}
	}

	if len(sent) > 0 {
		return sent, nil
	}

	return nil, (*all)[len(*all)-1].err
}

// afterLoss returns the error of the first work that fails after the database has refused a statement. What the
// works before it would send is not sent: it would be refused too, and hide the cause.
func afterLoss(tx *Tx, all []*turn, refusal error) error {
	for _, t := range all {
		if t.run(tx); t.err != nil {
			return t.err
		}
	}

	return refusal
}

// lose is the exchange of works that are given up: all their requests fail.
func lose(_ context.Context, all []*request) {
	for _, r := range all {
		r.err, r.lost = errStopped, true
	}
}

// turn is one of the works that run together.
type turn struct {
	next     func() ([]*request, bool)
	stop     func()
	exchange exchange
	done     bool
	err      error
}

// newTurn returns work that pauses whenever it sends statements, so that those of several can be sent together.
func newTurn(ctx context.Context, tx *Tx, work Work) *turn {
	t := &turn{}
	t.next, t.stop = iter.Pull(func(yield func([]*request) bool) {
		t.exchange = func(ctx context.Context, all []*request) {
			if !yield(all) {
				lose(ctx, all)
			}
		}
		tx.exchange = t.exchange
		t.err = work(ctx, tx)
	})

	return t
}

// run lets the work go on until it sends something or ends, and gives what it sends.
func (t *turn) run(tx *Tx) []*request {
	if t.done {
		return nil
	}

	tx.exchange = t.exchange
	sent, goesOn := t.next()
	t.done = !goesOn

	return sent
}

// Load returns work that stores the result of a read.
func Load[T any](into *T, read func(context.Context, *Tx) (T, error)) Work {
	return func(ctx context.Context, tx *Tx) (err error) {
		*into, err = read(ctx, tx)
		return err
	}
}

// LoadBy returns work that stores the result of a read with an argument, such as the lines of some ids.
func LoadBy[T, A any](into *T, read func(context.Context, *Tx, A) (T, error), of A) Work {
	return func(ctx context.Context, tx *Tx) (err error) {
		*into, err = read(ctx, tx, of)
		return err
	}
}

// Send returns work that sends statements without results.
func Send(stmts ...Stmt) Work {
	return func(ctx context.Context, tx *Tx) error { return tx.Pipeline(ctx, stmts...) }
}
