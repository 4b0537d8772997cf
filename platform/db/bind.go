package db

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// positional is a statement with $1, $2 … in place of named arguments, and the names in that order.
type positional struct {
	sql   string
	names []string
}

// positionals remembers the statements by their text: reading a text anew for every request costs more than sending it.
// The code writes its statements in a bounded number of ways; the limit is for a caller that puts values into the text.
var (
	positionals     sync.Map
	positionalCount atomic.Int64
)

const positionalLimit = 10_000

// queue adds a statement to a batch. If its arguments do not fit, the driver gets it unchanged and reports the
// mistake.
func queue(ctx context.Context, b *pgx.Batch, s Stmt) {
	if s.Args == nil {
		b.Queue(s.SQL)
		return
	}

	// Statements are rewritten once, and looked up by their text afterwards.
	known, ok := positionals.Load(s.SQL)
	if !ok {
		known = remember(ctx, s)
	}

	if p, ok := known.(positional); ok {
		if values, fit := p.values(s.Args); fit {
			b.Queue(p.sql, values...)
			return
		}
	}

	b.Queue(s.SQL, s.Args)
}

// remember rewrites a statement, with each argument's name in place of its value to learn their order; it gives nil
// when that fails.
func remember(ctx context.Context, s Stmt) any {
	names := make(Args, len(s.Args))
	for name := range s.Args {
		names[name] = name
	}

	sql, ordered, err := names.RewriteQuery(ctx, nil, s.SQL, nil)
	if err != nil {
		return nil
	}

	// The order of the names is all that later calls need.
	p := positional{sql: sql, names: make([]string, len(ordered))}
	for i, name := range ordered {
		p.names[i], _ = name.(string)
	}

	// Texts that differ with every call would fill the memory, so there is a limit.
	if positionalCount.Add(1) <= positionalLimit {
		positionals.Store(s.SQL, p)
	}

	return p
}

// values returns the arguments in order. They fit if there is one for each name and no other.
func (p positional) values(args Args) (values []any, fit bool) {
	if len(args) != len(p.names) {
		return nil, false
	}

	values = make([]any, len(p.names))
	for i, name := range p.names {
		if values[i], fit = args[name]; !fit {
			return nil, false
		}
	}

	return values, true
}
