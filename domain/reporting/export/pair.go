package export

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/fair"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Declare makes a declaration ready to be served.
func Declare[S any](d Declaration[S]) Pair { return &d }

// DeclareAt makes a declaration ready whose path has parameters. S has them beside its fields, tagged path and json, so
// that they reach the task of a POST; Q is the input of that POST: the parameters again, and the body.
func DeclareAt[Q, S any, PQ addressed[Q, S]](d Declaration[S]) Pair { return &placed[Q, S, PQ]{d} }

type placed[Q, S any, PQ addressed[Q, S]] struct{ Declaration[S] }

func (p *placed[Q, S, PQ]) serve(e *Exports) parts.Part { return serveAs[Q, S, PQ](&p.Declaration, e) }

// addressed is the input of a POST, which makes a selector.
type addressed[Q, S any] interface {
	*Q
	selector() *S
}

// taskTime bounds one attempt at a queued export.
const taskTime = 30 * time.Minute

// grace lets the budget of a request end before the timeout of its statements, which tells less.
const grace = 5 * time.Second

func (p *Declaration[S]) serve(e *Exports) parts.Part { return serveAs[queued[S]](p, e) }

func serveAs[Q, S any, PQ addressed[Q, S]](p *Declaration[S], e *Exports) parts.Part {
	kind := taskKind(p.Path)
	base := api.Endpoint{Path: p.Path, Tag: p.Tag, Scopes: p.Scopes, Timeout: e.config.Budget + grace}

	get := base
	get.Method, get.ID, get.Summary = http.MethodGet, "export"+p.ID, p.Summary
	get.Doc = p.Doc + " Waits until the file is ready, up to a minute, and answers with a link to it."
	get.Errors = apierr.List{p.Errors, errRequiresPost, errRenderer, errTimeout}
	get = api.External(get, func(ctx context.Context, d *db.DB, scope db.Scope, s *S) (*Link, error) {
		return p.await(ctx, e, d, scope, s)
	})

	post := base
	post.Method, post.ID, post.Summary, post.Status = http.MethodPost, "queue"+p.ID, p.Summary+", in the background", http.StatusAccepted
	post.Errors = p.Errors
	post.Doc = "Makes the file of " + get.ID + " in an operation of type export; once that is completed, its file resource has the address of the file."
	post = api.Write(post, func(ctx context.Context, tx *db.Tx, in *Q) (*operation.Acknowledgement, error) {
		s := PQ(in).selector()
		if err := p.check(ctx, tx, s); err != nil {
			return nil, ofBody(err)
		}

		return operation.Start(ctx, tx, operation.New{
			Type: operation.Export, Tasks: []operation.Task{{Kind: kind, Args: *s}},
		})
	})

	task := operation.External(taskTime, func(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, s S) (db.Work, error) {
		done, err := p.work(ctx, e, d, scope, attempt[S]{run, s})
		return done, outlasting(run, err)
	}).OnOutside().In(job.Rendering)

	return parts.Part{Endpoints: []api.Endpoint{get, post}, Handlers: map[job.Kind]job.Handler{kind: task}}
}

var kinds = struct {
	sync.Mutex
	made map[string]job.Kind
}{made: map[string]job.Kind{}}

// taskKind is the kind of the tasks of the export at a path, which is made when that is served for the first time.
func taskKind(path string) job.Kind {
	kinds.Lock()
	defer kinds.Unlock()

	kind, ok := kinds.made[path]
	if !ok {
		kind = job.NewKind("export" + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(path))
		kinds.made[path] = kind
	}

	return kind
}

// outlasting tells failures of the store and of the database, which are waited for, from those of rendering, which come
// again.
func outlasting(run operation.Run, err error) error {
	if err == nil || errors.Is(err, file.ErrStore) || errors.Is(err, db.ErrUnavailable) || run.Attempt < job.DefaultMaxAttempts {
		return err
	}

	return job.Permanent(err)
}

// queued is the input of a POST: the selector as a JSON body.
type queued[S any] struct {
	Body S
}

func (in *queued[S]) selector() *S { return &in.Body }

// Resolve refuses an empty list: a query cannot say it, and it could be taken for no restriction at all.
func (in *queued[S]) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	for _, name := range emptyLists(reflect.ValueOf(in.Body)) {
		issues = append(issues, apierr.IssueItems.InBody(name))
	}

	return issues
}

// ofBody tells the issues that a check found as those of the body.
func ofBody(err error) error {
	var refusal *apierr.Error
	if !errors.Is(err, apierr.BadRequest) || !errors.As(err, &refusal) {
		return err
	}

	issues := refusal.Issues()
	for i := range issues {
		issues[i].Schema = "body"
	}

	return apierr.BadRequest.At(issues...)
}

func emptyLists(v reflect.Value) []string {
	var names []string

	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		switch {
		case f.Anonymous && value.Kind() == reflect.Struct:
			names = append(names, emptyLists(value)...)
		case value.Kind() == reflect.Slice && !value.IsNil() && value.Len() == 0:
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}

	return names
}

func (p *Declaration[S]) check(ctx context.Context, tx *db.Tx, s *S) error {
	if p.Check == nil {
		return nil
	}

	return p.Check(ctx, tx, s)
}

// await is a GET. It starts no operation. Rules EXP-02 to EXP-05, EXP-10, EXP-12 to EXP-19.
func (p *Declaration[S]) await(ctx context.Context, e *Exports, d *db.DB, scope db.Scope, s *S) (*Link, error) {
	client := ctx

	ctx, stop := context.WithTimeout(ctx, e.config.Budget)
	defer stop()

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		if err := p.check(ctx, tx, s); err != nil {
			return err
		}

		if p.PostOnly {
			return errRequiresPost
		}

		size, err := p.Count(ctx, tx, s)
		if err == nil && e.config.Limits.exceeded(size) {
			err = errRequiresPost
		}

		return err
	})
	if err != nil {
		return nil, outcome(client, ctx, err, false)
	}

	if err := e.awaited.Take(ctx, scope.Team); err != nil {
		return nil, outcome(client, ctx, err, false)
	}
	defer e.awaited.Give(scope.Team)

	kept, err := p.keep(ctx, e, d, scope, rendering[S]{s, &Sink{}})
	if err != nil {
		return nil, outcome(client, ctx, err, true)
	}

	if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		_, err := file.Insert(ctx, tx, p.file(kept, tx))
		return err
	}); err != nil {
		return nil, outcome(client, ctx, err, false)
	}

	expires := d.Now().Add(e.config.Linked).Truncate(time.Second)

	return &Link{URL: file.Link(e.config.Signer, e.config.PublicURL, scope.Team, kept.ID, expires), ExpiresAt: day.At(expires)}, nil
}

// outcome is what an awaited export fails with: a refusal as it is, a budget that was used up as 504, a renderer that
// failed as 502, too many who wait as 503. A client that is gone gets nothing.
func outcome(client, budget context.Context, err error, rendering bool) error {
	var refusal *apierr.Error
	switch {
	case client.Err() != nil:
		return client.Err()
	case errors.As(err, &refusal):
		return err
	case errors.Is(err, fair.ErrCrowded):
		return apierr.ServiceUnavailable.Because(err)
	case budget.Err() != nil:
		return errTimeout.RetryAfter(apierr.ServiceUnavailable.Delay()).Because(err)
	case rendering && !errors.Is(err, db.ErrUnavailable):
		return errRenderer.Because(err)
	default:
		return err
	}
}

// rendering is a selection on its way into a file.
type rendering[S any] struct {
	selector *S
	out      *Sink
}

// keep renders into the store, from one snapshot.
func (p *Declaration[S]) keep(ctx context.Context, e *Exports, d *db.DB, scope db.Scope, r rendering[S]) (file.Stored, error) {
	return file.Keep(ctx, d, scope, e.config.Store, func(w io.Writer) error {
		begun := false

		return d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			if begun { // the bytes of the first run cannot be taken back
				return errors.New("the snapshot was lost while rendering")
			}

			begun = true
			r.out.Writer = w

			return p.Render(ctx, tx, r.selector, r.out)
		})
	})
}

func (p *Declaration[S]) file(kept file.Stored, tx *db.Tx) file.New {
	return file.New{
		Stored: kept, Kind: file.Export, ContentType: p.Format.contentType(), PurgeAt: tx.Now.Add(file.KeepExports),
		Filename: p.Name + "-" + day.Of(tx.Now).String() + "." + string(p.Format),
	}
}

// attempt is one run of a queued export.
type attempt[S any] struct {
	run      operation.Run
	selector S
}

// sink is that of an attempt, which tells its operation how far it is.
func (p *Declaration[S]) sink(ctx context.Context, d *db.DB, scope db.Scope, t attempt[S]) (*Sink, error) {
	var size Size

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		size, err = p.Count(ctx, tx, &t.selector)
		return err
	})
	if err != nil {
		return nil, err
	}

	return telling(ctx, d, scope, t.run.OperationID, max(size.Rows, size.Documents))
}

// work renders for an operation; the file appears with the operation's completion (EXP-26, OPS-88).
func (p *Declaration[S]) work(ctx context.Context, e *Exports, d *db.DB, scope db.Scope, t attempt[S]) (db.Work, error) {
	scope.Timeout = taskTime

	out, err := p.sink(ctx, d, scope, t)
	if err != nil {
		return nil, err
	}

	kept, err := p.keep(ctx, e, d, scope, rendering[S]{&t.selector, out})
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, tx *db.Tx) error {
		f, err := file.Insert(ctx, tx, p.file(kept, tx))
		if err != nil {
			return err
		}

		return operation.AddResult(ctx, tx, t.run.OperationID, operation.Resource{Type: operation.File, ID: f.ID, Role: operation.Result})
	}, nil
}
