package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Sent has the statements that a request sent to the database.
type Sent struct {
	mu sync.Mutex
	// Statements are all of them in order, those that begin and end transactions too.
	Statements []string
	// RoundTrips is how often the request waited for the database.
	RoundTrips int
	// Twice are statements that a transaction sent again, with the same arguments, though it had written to none of
	// their tables meanwhile.
	Twice []string

	// since has the statements of the transaction that would return the same again, by text and arguments.
	since map[string]string
}

type sentKey struct{}

// recorder is a tracer of the driver that notes the statements of each request in the Sent of its context.
type recorder struct{}

// TraceQueryStart ignores statements outside of batches, which work never sends.
func (recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd ignores the end of such statements.
func (recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart records the statements of a round trip.
func (recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if sent, ok := ctx.Value(sentKey{}).(*Sent); ok {
		sent.note(data.Batch.QueuedQueries)
	}

	return ctx
}

// TraceBatchQuery ignores the end of a statement of a round trip.
func (recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ignores the end of a round trip.
func (recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

var (
	// Statements that match anew begin a transaction or roll back a part of it: everything may be read again.
	anew = regexp.MustCompile(`^(begin|rollback)\b`)
	// Statements that match settings say something about the transaction itself, as often as they need to.
	settings = regexp.MustCompile(`^(savepoint|release|select set_config)\b`)
	// What written captures are the tables that a statement writes to.
	written = regexp.MustCompile(`\b(?:insert into|update|delete from) (\w+)`)
)

// note records the statements of a round trip and finds reads that were sent twice without a write between them.
func (s *Sent) note(batch []*pgx.QueuedQuery) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.RoundTrips++

	for _, q := range batch {
		// Line breaks and indents make no difference.
		text := strings.Join(strings.Fields(q.SQL), " ")

		s.Statements = append(s.Statements, text)
		switch {
		// A new transaction or savepoint may see other rows.
		case anew.MatchString(text):
			s.since = map[string]string{}
			continue
		case settings.MatchString(text):
			continue
		}

		// The same text with other arguments is another read.
		arguments, err := json.Marshal(q.Arguments)
		if err != nil {
			arguments = fmt.Append(nil, q.Arguments)
		}

		key := text + " with " + string(arguments)
		if _, sent := s.since[key]; sent && !slices.Contains(s.Twice, key) {
			s.Twice = append(s.Twice, key)
		}

		// A write makes earlier reads of its table worth repeating.
		for _, table := range written.FindAllStringSubmatch(text, -1) {
			named := regexp.MustCompile(`\b` + table[1] + `\b`)

			maps.DeleteFunc(s.since, func(_, earlier string) bool {
				return earlier != text &&
					named.MatchString(earlier)
			})
		}

		if s.since == nil {
			s.since = map[string]string{}
		}

		s.since[key] = text
	}
}
