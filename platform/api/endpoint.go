// Package api is the HTTP edge: endpoints are values in one list, and everything that must hold for all of them is read
// from that list. A request goes one way: route, authenticate, refuse undeclared query parameters, bind and validate,
// transact, render. Endpoint functions see typed input and a transaction; they never see HTTP.
//
// The page docs/decisions/api.md says what the contract leaves open and how it is answered here.
package api

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// Credential is a kind of caller. Endpoints list the kinds they are open to.
type Credential string

// The kinds of credentials.
const (
	TeamKey    Credential = "teamKey"
	PartnerKey Credential = "partnerKey"
	User       Credential = "user"
	Owner      Credential = "owner"
	Embedded   Credential = "embedded"
)

// Selection says how an endpoint finds the team it works for.
type Selection int

const (
	// OneTeam needs a selected team.
	OneTeam Selection = iota
	// OneTeamOrPartner needs a selected team, save that a partner credential without one means the partner itself.
	OneTeamOrPartner
	// ManagedTeams works across all teams the credential can reach; no team is selected.
	ManagedTeams
	// NoTeam works for the user alone.
	NoTeam
)

// MaxBatch is the MaxBody of batches and imports (decisions, size limits).
const MaxBatch = 32 << 20

// Endpoint is one HTTP route of the contract.
type Endpoint struct {
	Method string
	Path   string
	// ID is the operationId of the published description, such as listOperations.
	ID      string
	Tag     string
	Summary string
	// Doc is the description. How the endpoint fails is added to it.
	Doc string
	// Errors are the conditions of the domain that the endpoint can fail with, in the order in which they are checked.
	// What the edge refuses by itself is not among them: credentials, input that does not validate, a path that leads
	// to nothing.
	Errors apierr.List
	// Scopes must all be held; one entry may name alternatives with "|".
	Scopes []string
	// Open are the credentials that may call the route; nil means team keys, partner keys and users.
	Open []Credential
	// Portal opens a route to the partner keys of a portal as well, which are for making embedded sessions alone (AUTH-14).
	Portal bool
	// Embed opens a read to embedded sessions as well. A route without it is closed to them (AUTH-33).
	Embed bool
	// Public routes need no credential.
	Public    bool
	Selection Selection
	// TeamInPath routes take the team from the path parameter id instead of the header x-team-id.
	TeamInPath bool
	// Region routes read the header x-data-region.
	Region bool
	// PartnerOnly routes need the selected team to be the partner team.
	PartnerOnly bool
	// AnyRegion routes of a partner also work where its own team does not live: they serve its customers there.
	AnyRegion bool
	// DryRun routes declare the query parameter dryRun.
	DryRun bool
	// Exclusive routes change data from which many journals are derived: no other write of the team runs meanwhile.
	Exclusive bool
	// Secret routes answer with a secret that is shown once: no Idempotency-Key keeps the answer.
	Secret bool
	// Internal routes are served and not in the published description.
	Internal bool
	// NeedsBooks routes post or read the books: they are refused for a team without a general ledger (RSN-21).
	NeedsBooks bool
	// Frozen routes also work while the team's writes are frozen.
	Frozen bool
	// Deleted routes also work for a team that was deleted.
	Deleted bool
	// Status of a success; 0 means 200.
	Status int
	// MaxBody in bytes; 0 means 1 MiB.
	MaxBody int64
	// Timeout of a statement in the database; 0 means 30 seconds.
	Timeout time.Duration
	// OneTrip reads nearly always send all their statements in one round trip, see db.ReadOne.
	OneTrip bool
	// OneTripPage lists do the same for a page that the query neither narrows nor extends.
	OneTripPage bool
	// Form are the parts of a multipart/form-data body, which Receive endpoints take; MaxBody then bounds the file.
	Form []Part
	// Also has further successful answers by status; one for Status itself replaces the answer's own type in the
	// description.
	Also map[int]reflect.Type

	kind kind
	// isApart says that its function does more than what it does in one transaction of the request.
	isApart bool
	in      reflect.Type
	out     reflect.Type
	run     func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error)
}

// IsApart reports whether the endpoint also works outside of the transaction of its request. No other endpoint can call
// anybody.
func (e *Endpoint) IsApart() bool { return e.isApart }

type kind int

const (
	kindRead kind = iota
	kindWrite
	kindExternal
	kindStream
)

// StatusChooser lets an answer choose its own success status.
type StatusChooser interface{ HTTPStatus() int }

// Read declares an endpoint that only reads, on one snapshot.
func Read[I, O any](e Endpoint, f func(ctx context.Context, tx *db.Tx, in *I) (*O, error)) Endpoint {
	e.kind, e.in, e.out = kindRead, reflect.TypeFor[I](), reflect.TypeFor[O]()
	e.run = func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error) {
		var out *O

		run := s.DB.ReadAnswer
		if e.OneTrip || e.OneTripPage && rc.asksForPage {
			run = s.DB.ReadOne
		}

		err := run(ctx, rc.scope, func(ctx context.Context, tx *db.Tx) (err error) {
			out, err = f(ctx, tx, in.Interface().(*I)) //nolint:errcheck,forcetypeassert // made from the same type
			return err
		})

		return answer(out), err
	}

	return e
}

// Write declares an endpoint that changes something. With DryRun set the same function runs in a transaction that is
// rolled back.
func Write[I, O any](e Endpoint, f func(ctx context.Context, tx *db.Tx, in *I) (*O, error)) Endpoint {
	e.kind, e.in, e.out = kindWrite, reflect.TypeFor[I](), reflect.TypeFor[O]()
	e.run = func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error) {
		return s.write(ctx, rc, func(ctx context.Context, tx *db.Tx) (any, error) {
			out, err := f(ctx, tx, in.Interface().(*I)) //nolint:errcheck,forcetypeassert // made from the same type
			return answer(out), err
		})
	}

	return e
}

// Queue declares an endpoint that checks a request and leaves the work to a job. A dry run also does the work at
// once, before all of it is rolled back, so it refuses what the job would refuse. The function work gets the answer
// of start.
func Queue[I, O any](
	e Endpoint,
	start func(ctx context.Context, tx *db.Tx, in *I) (*O, error),
	work func(ctx context.Context, tx *db.Tx, in *I, out *O) error,
) Endpoint {
	e.kind, e.in, e.out = kindWrite, reflect.TypeFor[I](), reflect.TypeFor[O]()
	e.run = func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error) {
		return s.write(ctx, rc, func(ctx context.Context, tx *db.Tx) (any, error) {
			input := in.Interface().(*I) //nolint:errcheck,forcetypeassert // made from the same type

			out, err := start(ctx, tx, input)
			if err == nil && rc.dryRun {
				err = work(ctx, tx, input, out)
			}

			return answer(out), err
		})
	}

	return e
}

// Receiver takes a body that is too much for a transaction in three steps, so that none waits for a sender or for work
// on the bytes.
type Receiver[I, K, O any] struct {
	// Receive reads the body and keeps its bytes, in short transactions of its own.
	Receive func(ctx context.Context, d *db.DB, scope db.Scope, in *I) (K, error)
	// Settle does the rest in the transaction of the request.
	Settle func(ctx context.Context, tx *db.Tx, in *I, kept K) (*O, error)
	// Drop forgets what was received when it was not settled; nil when there is nothing to forget. The context outlives
	// the request.
	Drop func(ctx context.Context, d *db.DB, scope db.Scope, kept K)
}

// Receive declares an endpoint with an upload as its body. Its input has a field Upload and the endpoint a Form, or
// the input has a field Raw.
func Receive[I, K, O any](e Endpoint, r Receiver[I, K, O]) Endpoint {
	e.kind, e.isApart, e.in, e.out = kindWrite, true, reflect.TypeFor[I](), reflect.TypeFor[O]()
	e.run = func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error) {
		input := in.Interface().(*I) //nolint:errcheck,forcetypeassert // made from the same type

		// First the bytes are received, outside of a transaction.
		kept, err := r.Receive(ctx, s.DB, rc.scope, input)
		if err != nil {
			return nil, err
		}

		var out any

		settled := false

		// Then one short transaction settles the upload.
		if err = rc.finishUpload(ctx, in); err == nil {
			out, err = s.write(ctx, rc, func(ctx context.Context, tx *db.Tx) (any, error) {
				out, err := r.Settle(ctx, tx, input, kept)
				settled = err == nil

				return answer(out), err
			})
		}

		// If it was not settled, the answer is that of an earlier request with the same key.
		if (err != nil || !settled) && r.Drop != nil {
			r.Drop(context.WithoutCancel(ctx), s.DB, rc.scope, kept)
		}

		return out, err
	}

	return e
}

// Await declares an endpoint that asks a provider before it changes something: ask runs outside of any transaction, and
// settle gets its answer in that of the request. A request whose key was used before is not asked about again.
func Await[I, K, O any](
	e Endpoint,
	ask func(ctx context.Context, d *db.DB, scope db.Scope, in *I) (K, error),
	settle func(ctx context.Context, tx *db.Tx, in *I, asked K) (*O, error),
) Endpoint {
	return Receive(e, Receiver[I, K, O]{Receive: ask, Settle: settle})
}

// External declares an endpoint that works outside of one transaction: it waits, renders or calls a provider, and
// opens its own short transactions in the given scope.
func External[I, O any](e Endpoint, f func(ctx context.Context, d *db.DB, scope db.Scope, in *I) (*O, error)) Endpoint {
	e.kind, e.isApart, e.in, e.out = kindExternal, true, reflect.TypeFor[I](), reflect.TypeFor[O]()
	e.run = func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error) {
		ctx = context.WithValue(ctx, draining{}, s.draining)
		out, err := f(ctx,
			s.DB,
			rc.scope,
			in.Interface().(*I), //nolint:errcheck,forcetypeassert // made from the same type
		)

		return answer(out), err
	}

	return e
}

// Content is the answer of a Stream endpoint.
type Content struct {
	Reader      io.ReadSeekCloser
	Filename    string
	ContentType string
	// ETag is the strong validator of the bytes, without quotes.
	ETag     string
	Modified time.Time
	// Inline shows a page in the browser; otherwise the bytes are an attachment.
	Inline bool
}

// Stream declares an endpoint that answers with bytes and supports ranges and validators.
func Stream[I any](
	e Endpoint,
	f func(ctx context.Context, d *db.DB, scope db.Scope, in *I) (*Content, error),
) Endpoint {
	e.kind, e.isApart, e.in, e.out = kindStream, true, reflect.TypeFor[I](), reflect.TypeFor[Content]()
	e.run = func(ctx context.Context, s *Server, rc *requestContext, in reflect.Value) (any, error) {
		return f(ctx, s.DB, rc.scope, in.Interface().(*I)) //nolint:errcheck,forcetypeassert // made from the same type
	}

	return e
}

// Raw is the body of a request as it came, whatever its content type; an input has it as its field Raw.
type Raw []byte

// None is the input or the answer of an endpoint that has none; as an answer it means 204 without a body.
type None struct{}

func answer[O any](out *O) any {
	if out == nil {
		return nil
	}

	return out
}

// RequireBooks returns the endpoints of a noun of the books, each with NeedsBooks.
func RequireBooks(endpoints []Endpoint) []Endpoint {
	for i := range endpoints {
		endpoints[i].NeedsBooks = true
	}

	return endpoints
}

// Mutates reports whether the endpoint changes something; a preview is a POST that does not.
func (e *Endpoint) Mutates() bool { return e.Method != http.MethodGet && e.kind != kindRead }

// audiences returns the audiences of partner keys that may call the endpoint.
func (e *Endpoint) audiences() []string {
	switch {
	case !slices.Contains(e.Credentials(), PartnerKey):
		return []string{}
	case e.Portal:
		return []string{"backend", "portal"}
	}

	return []string{"backend"}
}

// Credentials returns the kinds of credentials that the endpoint is open to.
func (e *Endpoint) Credentials() []Credential {
	open := e.Open
	if open == nil {
		open = []Credential{TeamKey, PartnerKey, User}
	}

	if e.Embed {
		open = append(slices.Clip(open), Embedded)
	}

	return open
}

func (e *Endpoint) status() int {
	if e.Status != 0 {
		return e.Status
	}

	return http.StatusOK
}

func (e *Endpoint) maxBody() int64 {
	if e.MaxBody != 0 {
		return e.MaxBody
	}

	return 1 << 20
}
