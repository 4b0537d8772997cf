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

// Declare returns a declaration that is ready to be served.
func Declare[S any](d Declaration[S]) parts.Export { return &d }

// Route returns the path of both modes.
func (p *Declaration[S]) Route() string { return p.Path }

// RequireBooks returns the exports of a noun of the books, each with NeedsBooks. It panics for one that Declare or
// DeclareAt did not make.
func RequireBooks(exports ...parts.Export) []parts.Export {
	for _, e := range exports {
		e.(served).requireBooks() //nolint:errcheck,forcetypeassert // all exports are made here
	}

	return exports
}

func (p *Declaration[S]) requireBooks() { p.NeedsBooks = true }

// DeclareAt returns a declaration with parameters in its path. S has them next to its fields, tagged path and json,
// so that they reach the task of a POST. Q is the input of that POST: the parameters again, and the body.
func DeclareAt[Q, S any, PQ postInput[Q, S]](d Declaration[S]) parts.Export {
	return &declarationAt[Q, S, PQ]{d}
}

// declarationAt is a declaration with parameters in its path.
type declarationAt[Q, S any, PQ postInput[Q, S]] struct{ Declaration[S] }

// serve returns the endpoints and the task of the export.
func (p *declarationAt[Q, S, PQ]) serve(e *Exports) parts.Part {
	return serveAs[Q, S, PQ](&p.Declaration, e)
}

// postInput is the input of a POST that can return the selector in it.
type postInput[Q, S any] interface {
	*Q
	Selector() *S
}

// taskTime is the time limit of one attempt at a queued export.
const taskTime = 30 * time.Minute

// grace lets the budget of a request end before the timeout of its statements, because that timeout says less about
// the cause.
const grace = 5 * time.Second

// serve returns the endpoints and the task of the export.
func (p *Declaration[S]) serve(e *Exports) parts.Part { return serveAs[Queued[S]](p, e) }

// serveAs returns the GET, the POST with input Q, and the task of an export. The task has the same work to do as
// the GET, without its limits.
func serveAs[Q, S any, PQ postInput[Q, S]](p *Declaration[S], e *Exports) parts.Part {
	kind := taskKind(p.Path)
	base := api.Endpoint{Path: p.Path, Tag: p.Tag, Scopes: p.Scopes, NeedsBooks: p.NeedsBooks, Timeout: e.config.Budget + grace}

	// First the GET: it renders while the caller waits, and may end in a timeout or ask for POST.
	get := base
	get.Method, get.ID, get.Summary = http.MethodGet, "export"+p.ID, p.Summary
	get.Doc = p.Doc + " Waits until the file is ready, up to a minute, and answers with a link to it."
	get.Errors = apierr.List{p.Errors, errRequiresPost, errRenderer, errTimeout}
	get = api.External(get, func(ctx context.Context, d *db.DB, scope db.Scope, s *S) (*Link, error) {
		return p.renderNow(ctx, e, d, scope, s)
	})

	// Then the POST: it checks the selection at once, since a task could not refuse it any more, and queues the
	// rendering.
	post := base
	post.Method = http.MethodPost
	post.ID = "queue" + p.ID
	post.Summary = p.Summary + ", in the background"
	post.Status = http.StatusAccepted
	post.Errors = p.Errors
	post.Doc = "Makes the file of " + get.ID + " in an operation of type export; once that is completed, its file " +
		"resource has the address of the file."
	post = api.Write(post, func(ctx context.Context, tx *db.Tx, in *Q) (*operation.Acknowledgement, error) {
		// Check reports issues of a query; here the selector is in the body.
		s := PQ(in).Selector()
		if err := p.check(ctx, tx, s); err != nil {
			return nil, pointAtBody(err)
		}

		return operation.Start(ctx, tx, operation.New{
			Type: operation.Export, Tasks: []operation.Task{{Kind: kind, Args: *s}},
		})
	})

	// Last, the task of the POST. It runs outside a transaction, among the other tasks that render.
	task := operation.External(
		taskTime,
		func(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, s S) (db.Work, error) {
			done, err := p.renderQueued(ctx, e, d, scope, attempt[S]{run, s})
			return done, classifyFailure(run, err)
		},
	).OnOutside().In(job.Rendering)

	return parts.Part{Endpoints: []api.Endpoint{get, post}, Handlers: map[job.Kind]job.Handler{kind: task}}
}

// kinds are the task kinds by path. A kind can be made only once in a process, while exports may be served several
// times.
var kinds = struct {
	sync.Mutex
	made map[string]job.Kind
}{made: map[string]job.Kind{}}

// taskKind returns the kind of the tasks of the export at a path. It makes the kind when that path is served for
// the first time.
func taskKind(path string) job.Kind {
	kinds.Lock()
	defer kinds.Unlock()

	kind, ok := kinds.made[path]
	if !ok {
		// The name comes from the path: /statements/pdf becomes export-statements-pdf.
		kind = job.NewKind("export" + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(path))
		kinds.made[path] = kind
	}

	return kind
}

// classifyFailure makes an error of rendering permanent at the last attempt, because it would happen again. Failures
// of the store and of the database stay as they are: the task waits until they are over.
func classifyFailure(run operation.Run, err error) error {
	if err == nil || errors.Is(err, file.ErrStore) || errors.Is(err, db.ErrUnavailable) ||
		run.Attempt < job.DefaultMaxAttempts {
		return err
	}

	return job.Permanent(err)
}

// Queued is the input of a POST: the selector as a JSON body.
type Queued[S any] struct {
	Body S
}

// Selector returns the body.
func (in *Queued[S]) Selector() *S { return &in.Body }

// Resolve refuses an empty list: a query cannot say it, and it could be taken for no restriction at all.
func (in *Queued[S]) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	for _, name := range emptyLists(reflect.ValueOf(in.Body)) {
		issues = append(issues, apierr.IssueItems.InBody(name))
	}

	return issues
}

// pointAtBody returns a refusal with its issues at the body. Checks report them at the query. Other errors stay as they
// are.
func pointAtBody(err error) error {
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

// emptyLists returns the JSON names of lists in a selector that are present and empty. It looks into embedded
// structs.
func emptyLists(v reflect.Value) []string {
	var names []string

	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		switch {
		case f.Anonymous && value.Kind() == reflect.Struct:
			// Fields of an embedded filter belong to the same JSON object.
			names = append(names, emptyLists(value)...)
		case value.Kind() == reflect.Slice && !value.IsNil() && value.Len() == 0:
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}

	return names
}

// check calls the check of the declaration, if it has one.
func (p *Declaration[S]) check(ctx context.Context, tx *db.Tx, s *S) error {
	if p.Check == nil {
		return nil
	}

	return p.Check(ctx, tx, s)
}

// renderNow renders while the caller of a GET waits, and returns a link to the file. It starts no operation. Rules
// EXP-02 to EXP-05, EXP-10, EXP-12 to EXP-19.
func (p *Declaration[S]) renderNow(ctx context.Context, e *Exports, d *db.DB, scope db.Scope, s *S) (*Link, error) {
	// Keep the caller's own context, to tell later if the caller is gone or the budget is used up.
	client := ctx

	ctx, stop := context.WithTimeout(ctx, e.config.Budget)
	defer stop()

	// First refuse what needs no rendering: a wrong selection, and one that is too large for a GET.
	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		if err := p.check(ctx, tx, s); err != nil {
			return err
		}

		if p.PostOnly {
			return errRequiresPost
		}

		size, err := p.Count(ctx, tx, s)
		if err == nil && e.config.Limits.tooLowFor(size) {
			err = errRequiresPost
		}

		return err
	})
	if err != nil {
		return nil, translateError(client, ctx, err, false)
	}

	// Then wait for a place within the budget, so that one team cannot take every connection.
	if err := e.awaited.Take(ctx, scope.Team); err != nil {
		return nil, translateError(client, ctx, err, false)
	}
	defer e.awaited.Give(scope.Team)

	// Render into the store. Only errors from here can be those of the renderer.
	kept, err := p.renderFile(ctx, e, d, scope, rendering[S]{s, &Sink{}})
	if err != nil {
		return nil, translateError(client, ctx, err, true)
	}

	// The file exists for the API when its row does: a failure before leaves only unused bytes in the store.
	if err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		_, err := file.Insert(ctx, tx, p.newFile(kept, tx))
		return err
	}); err != nil {
		return nil, translateError(client, ctx, err, false)
	}

	// The link expires at a full second, the unit that its signature carries.
	expires := d.Now().Add(e.config.Linked).Truncate(time.Second)

	return &Link{
		URL:       file.Link(e.config.Signer, e.config.PublicURL, scope.Team, kept.ID, expires),
		ExpiresAt: day.At(expires),
	}, nil
}

// translateError returns the error that a waiting caller gets: a refusal as it is, 504 if the budget was used up, 502
// if the renderer failed, 503 if too many wait. A client that is gone gets nothing.
func translateError(client, budget context.Context, err error, rendering bool) error {
	var refusal *apierr.Error
	switch {
	case client.Err() != nil:
		return client.Err()
	case errors.As(err, &refusal):
		return err
	case errors.Is(err, fair.ErrCrowded):
		return apierr.ServiceUnavailable.Because(err)

	// Asked before the renderer, because a budget that ends makes rendering fail as well.
	case budget.Err() != nil:
		return errTimeout.RetryAfter(apierr.ServiceUnavailable.Delay()).Because(err)
	case rendering && !errors.Is(err, db.ErrUnavailable):
		return errRenderer.Because(err)
	default:
		return err
	}
}

// rendering is a selection and the sink that it is written to.
type rendering[S any] struct {
	selector *S
	out      *Sink
}

// renderFile renders the file into the store, from one snapshot. It fails if the read must start again after bytes were
// written.
func (p *Declaration[S]) renderFile(
	ctx context.Context,
	e *Exports,
	d *db.DB,
	scope db.Scope,
	r rendering[S],
) (file.Stored, error) {
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

// newFile returns the row for a rendered file. Its name has the day of the export.
func (p *Declaration[S]) newFile(kept file.Stored, tx *db.Tx) file.New {
	return file.New{
		Stored: kept, Kind: file.Export, ContentType: p.Format.contentType(), PurgeAt: tx.Now.Add(file.KeepExports),
		Filename: p.Name + "-" + tx.Today().String() + "." + string(p.Format),
	}
}

// attempt is one run of a queued export.
type attempt[S any] struct {
	run      operation.Run
	selector S
}

// newSink counts the selection and returns the sink of an attempt, which reports progress to the operation.
func (p *Declaration[S]) newSink(ctx context.Context, d *db.DB, scope db.Scope, t attempt[S]) (*Sink, error) {
	var size Size

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		size, err = p.Count(ctx, tx, &t.selector)
		return err
	})
	if err != nil {
		return nil, err
	}

	// A CSV counts rows and a PDF or ZIP counts documents: the other one is zero.
	return newProgressSink(ctx, d, scope, t.run.OperationID, max(size.Rows, size.Documents))
}

// renderQueued renders the file of an operation. The file appears with the operation's completion (EXP-26, OPS-88).
func (p *Declaration[S]) renderQueued(
	ctx context.Context,
	e *Exports,
	d *db.DB,
	scope db.Scope,
	t attempt[S],
) (db.Work, error) {
	// A task may run much longer than the statements of a request.
	scope.Timeout = taskTime

	out, err := p.newSink(ctx, d, scope, t)
	if err != nil {
		return nil, err
	}

	kept, err := p.renderFile(ctx, e, d, scope, rendering[S]{&t.selector, out})
	if err != nil {
		return nil, err
	}

	// The row is inserted in the transaction that completes the operation.
	return func(ctx context.Context, tx *db.Tx) error {
		f, err := file.Insert(ctx, tx, p.newFile(kept, tx))
		if err != nil {
			return err
		}

		return operation.AddResult(ctx, tx, t.run.OperationID, operation.Resource{
			Type: operation.File,
			ID:   f.ID,
			Role: operation.Result,
		})
	}, nil
}
