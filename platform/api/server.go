package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Version is the one version of the contract that this service speaks.
const Version = "2026-11-01"

// Config has everything that the edge needs from the application.
type Config struct {
	DB  *db.DB
	Log *slog.Logger
	// Authenticate finds out who calls and for which team; it refuses with a condition of the contract.
	Authenticate func(ctx context.Context, r *http.Request, e *Endpoint) (db.Scope, error)
	// Refusals are the conditions that Authenticate refuses with on an endpoint, in their order.
	Refusals func(e *Endpoint) apierr.List
	// Audit records the audit action of a write, with its commit.
	Audit func(tx *db.Tx, e *Endpoint)
	// CursorKey authenticates cursors, and the digests that distinguish requests with the same Idempotency-Key.
	CursorKey []byte
	// FormerKeys verify what was authenticated with a CursorKey that has been replaced since.
	FormerKeys [][]byte
	// PublicURL is the service's own address without a trailing slash.
	PublicURL string
	// Prepared, unless nil, says whether the service may work yet: until then every endpoint answers
	// ServiceUnavailable.
	Prepared func() bool
	// Trace, unless nil, is called for every request to an endpoint: the request that it returns is the one that is
	// answered, and the function that it returns is called with the status of the answer.
	Trace func(r *http.Request, e *Endpoint) (*http.Request, func(status int))
	// Observe is called for every answered request.
	Observe func(endpoint string, status int, took time.Duration)
	// UploadPace is how fast uploads have to come in; the zero value means 64 KiB in every 10 seconds and 10 minutes in
	// all.
	UploadPace Pace
	// WritePatience is how long a client may take to read each 64 KiB of an answer; the zero value means 30 seconds.
	WritePatience time.Duration
	// Title and Description head the published description.
	Title, Description string
	// Tags describe the groups of endpoints, in the order in which they are published.
	Tags []Tag
	// Examples are bodies of the published description, by the id of the operation.
	Examples map[string]Example
	// Fields describe properties of the published schemas that say nothing of themselves, by their names or as
	// schema.name.
	Fields map[string]string
}

// Tag is a group of endpoints.
type Tag struct{ Name, Doc string }

// Server answers the endpoints of a list.
type Server struct {
	Config
	Endpoints []Endpoint
	router    *chi.Mux
	plans     []plan
	registry  huma.Registry
	published *huma.OpenAPI
	draining  chan struct{}
	drain     sync.Once
}

// plan has everything about an endpoint that is computed once.
type plan struct {
	endpoint     *Endpoint
	params       []param
	query        map[string]bool
	texts        map[string]bool // query parameters that take a list of free texts
	body         *huma.Schema
	bodyIndex    []int
	bodyOptional bool
	rawIndex     []int // of a body that is taken as it comes
	uploadIndex  []int // of a body that is read as it arrives
}

// requestContext is the state of one request.
type requestContext struct {
	plan      *plan
	scope     db.Scope
	requestID string
	dryRun    bool
	// asksForPage says that the query selects a page in an order and nothing else.
	asksForPage bool
	key         string                      // Idempotency-Key
	digest      [sha256.Size]byte           // differs for another request with the same key; stored only as its rc.mac
	again       func(context.Context) error // checks the credential of an upload once more
	cause       error
}

// NewServer prepares the endpoints. It panics if they contradict each other.
func NewServer(c Config, endpoints []Endpoint) *Server {
	s := &Server{
		Config:    c,
		Endpoints: endpoints,
		router:    chi.NewMux(),
		registry:  newRegistry(),
		draining:  make(chan struct{}),
	}
	s.plans = make([]plan, len(endpoints))
	seen := map[string]bool{}

	// Every endpoint needs an id and a route of its own.
	for i := range endpoints {
		e := &s.Endpoints[i]
		if e.ID == "" || seen[e.ID] || seen[e.Method+" "+e.Path] {
			panic("endpoint without an id of its own: " + e.Method + " " + e.Path)
		}

		seen[e.ID], seen[e.Method+" "+e.Path] = true, true
		s.plans[i] = s.prepare(e)
	}

	s.route()

	// Refuse at the start any schema that the validator could not check.
	s.published = s.describe()
	for i := range s.plans {
		checkable(s.registry, s.plans[i].endpoint.ID, s.plans[i].body, map[string]bool{})
	}

	return s
}

// route leads requests to the endpoints, and answers those that lead nowhere.
func (s *Server) route() {
	for i := range s.plans {
		e := s.plans[i].endpoint
		s.router.Method(e.Method, e.Path, s.handler(&s.plans[i]))
	}

	s.router.NotFound(func(w http.ResponseWriter, r *http.Request) { s.outside(w, r, apierr.NotFound) })
	s.router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		allowed := s.allowMethods(r)
		if len(allowed) == 0 { // an unknown method on an unknown path
			s.outside(w, r, apierr.NotFound)
			return
		}

		w.Header().Set("Allow", strings.Join(allowed, ", "))
		s.outside(w, r, apierr.MethodNotSupported)
	})
}

// Again returns a server of endpoints that are declared as those of s and may do other work, such as the same ones
// with other connections to the outside. It takes the schemas and the description from s, which take long to compute.
// It returns nil when an endpoint is declared otherwise, or c says anything else of the description.
func (s *Server) Again(c Config, endpoints []Endpoint) *Server {
	said := func(c *Config) []any { return []any{c.Title, c.Description, c.Tags, c.Examples, c.Fields} }
	if len(endpoints) != len(s.Endpoints) || !reflect.DeepEqual(said(&c), said(&s.Config)) {
		return nil
	}

	again := &Server{
		Config: c, Endpoints: endpoints, router: chi.NewMux(), plans: slices.Clone(s.plans), registry: s.registry,
		published: s.published, draining: make(chan struct{}),
	}

	// All but the work must be the same.
	for i := range endpoints {
		mine, other := s.Endpoints[i], endpoints[i]

		mine.run, other.run = nil, nil
		if !reflect.DeepEqual(mine, other) {
			return nil
		}

		again.plans[i].endpoint = &again.Endpoints[i]
	}

	again.route()

	return again
}

// Handle adds a route outside the contract: a page or a probe.
func (s *Server) Handle(method, path string, h http.HandlerFunc) { s.router.Method(method, path, h) }

// Drain says that the server is about to stop: requests that only wait are answered at once. Others are served as
// before.
func (s *Server) Drain() { s.drain.Do(func() { close(s.draining) }) }

// draining is the key of a context under which it has the channel of its server.
type draining struct{}

// Draining returns a channel that is closed when the server of an External endpoint is about to stop. It is nil
// without a server.
func Draining(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(draining{}).(chan struct{})
	return c
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := newPatient(w, s.WritePatience)
	defer p.wait() // for what is sent after the endpoint has returned

	s.router.ServeHTTP(p, r)
}

// prepare computes once what every request of an endpoint needs. It panics for contradictions.
func (s *Server) prepare(e *Endpoint) plan {
	p := plan{endpoint: e, params: params(e.in, nil), query: map[string]bool{}, texts: map[string]bool{}}

	// Embedded sessions only ever read (AUTH-31).
	if e.Embed && (e.Method != http.MethodGet || e.kind != kindRead) {
		panic("endpoint that is open to embedded sessions and is no read: " + e.ID)
	}

	// The input says by its fields what kind of body there is.
	if f, ok := e.in.FieldByName("Body"); ok {
		p.body, p.bodyIndex = s.registry.Schema(f.Type, true, e.ID+"Body"), f.Index
		p.bodyOptional = f.Tag.Get("required") == "false"
	}

	if f, ok := e.in.FieldByName("Raw"); ok && f.Type == reflect.TypeFor[Raw]() {
		p.rawIndex = f.Index
	}

	if f, ok := e.in.FieldByName("Upload"); ok && f.Type == reflect.TypeFor[*Upload]() {
		p.uploadIndex = f.Index
	}

	if (p.uploadIndex != nil) != (len(e.Form) > 0) {
		panic("endpoint with an upload and no form, or the other way round: " + e.ID)
	}

	// All other names in a query are refused.
	for i := range p.params {
		if p.params[i].in == "query" {
			p.query[p.params[i].name], p.texts[p.params[i].name] = true, p.params[i].texts
		}
	}

	if e.DryRun {
		p.query["dryRun"] = true
	}

	return p
}

// allowMethods returns the methods of a path, for the Allow header of a 405.
func (s *Server) allowMethods(r *http.Request) []string {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}

	var methods []string

	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if s.router.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
		}
	}

	return methods
}

func (s *Server) outside(w http.ResponseWriter, r *http.Request, err error) {
	rc := &requestContext{plan: &plan{endpoint: &Endpoint{ID: "none"}}, requestID: requestID(r, s.DB.Now())}
	start := time.Now()
	s.observe(r, rc, s.fail(w, r, rc, err), start)
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func requestID(r *http.Request, now time.Time) string {
	if given := r.Header.Get("x-request-id"); requestIDForm.MatchString(given) {
		return given
	}

	return id.New(now).String()
}

// handler returns the HTTP handler of an endpoint: it traces, serves, answers and logs each request.
func (s *Server) handler(p *plan) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rc := &requestContext{plan: p, requestID: requestID(r, start)}
		status := 0

		if s.Trace != nil {
			traced, ended := s.Trace(r, p.endpoint)
			r = traced

			defer func() { ended(status) }()
		}

		defer func() {
			// A panic is answered as any failure and does not end the process.
			if crash := recover(); crash != nil {
				status = s.fail(w, r, rc, fmt.Errorf("panic: %v\n%s", crash, debug.Stack()))
			}

			s.observe(r, rc, status, start)
		}()

		out, err := s.serve(w, r, rc)
		if err != nil {
			status = s.fail(w, r, rc, err)
			return
		}

		status = s.sendSuccess(w, r, rc, out)
	}
}

// serve checks a request in the order in which failures are reported: version, credential, query, parameters and
// body, and whether the team keeps the books that the endpoint needs. Then it does the work.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rc *requestContext) (any, error) {
	if s.Prepared != nil && !s.Prepared() {
		return nil, apierr.ServiceUnavailable
	}

	p, e := rc.plan, rc.plan.endpoint

	if v := r.Header.Get("x-api-version"); v != "" && v != Version {
		return nil, errUnknownVersion.At(apierr.IssueUnknownVersion.InHeader("x-api-version"))
	}

	// The credential decides the team that everything after it works for.
	rc.scope = db.Scope{RequestID: rc.requestID}
	if !e.Public {
		scope, err := s.Authenticate(r.Context(), r, e)
		if err != nil {
			return nil, err
		}

		rc.scope = scope
	}

	rc.scope.RequestID, rc.scope.Timeout, rc.scope.Exclusive, rc.scope.Frozen = rc.requestID, e.Timeout, e.Exclusive, e.Frozen

	query, err := s.strictQuery(r, rc)
	if err != nil {
		return nil, err
	}

	// Report issues of parameters and body together, but what no tag can say only if there are none.
	in := reflect.New(e.in)
	accepted := day.RequestRange(day.Of(s.now()))
	issues := p.bindParams(r, query, in.Elem(), accepted, func(text string) (Cursor, bool) {
		return s.cursor(rc, r.URL.Path, query, text)
	})

	bodyIssues, err := s.bindBody(w, r, rc, in.Elem(), accepted)
	if err != nil {
		return nil, err
	}

	if issues = append(issues, bodyIssues...); len(issues) == 0 {
		issues = resolve(in.Elem())
	}

	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	// Answer a repeated request with the stored answer, before any work.
	if e.kind == kindWrite {
		rc.scope.Action = id.New(s.DB.Now()) // in a dry run too: work must not see a difference
		if rc.key != "" && p.uploadIndex == nil {
			if stored, err := s.replay(r.Context(), rc); stored != nil || err != nil {
				return stored, err
			}
		}
	}

	// The first condition of every route of the books, which none of them has to check by itself.
	if e.NeedsBooks && rc.scope.NoLedger {
		return nil, apierr.LedgerDisabled
	}

	return e.run(r.Context(), s, rc, in)
}

// now returns the time of the database's transactions, or of the machine for a server without a database.
func (s *Server) now() time.Time {
	if s.DB == nil {
		return time.Now()
	}

	return s.DB.Now()
}

// resolve asks the input, its embedded parts and its body for the issues that no tag can express. An input without
// a method of its own has that of an embedded part, so the same issue can come twice. Issues of the body are about
// the body, even if the same fields occur in a query.
func resolve(in reflect.Value) []apierr.Issue {
	var issues []apierr.Issue

	ask := func(v reflect.Value, body bool) {
		resolver, ok := reflect.TypeAssert[Resolver](v.Addr())
		if !ok {
			return
		}

		for _, issue := range resolver.Resolve() {
			if body {
				issue.Schema = "body"
			}

			if !slices.ContainsFunc(issues, func(other apierr.Issue) bool { return reflect.DeepEqual(issue, other) }) {
				issues = append(issues, issue)
			}
		}
	}
	ask(in, false)

	// Embedded parts check themselves.
	for i := range in.NumField() {
		if f := in.Type().Field(i); f.IsExported() && f.Anonymous && f.Type.Kind() == reflect.Struct {
			ask(in.Field(i), false)
		}
	}

	// The body can be a field of an embedded part.
	if f, ok := in.Type().FieldByName("Body"); ok {
		ask(in.FieldByIndex(f.Index), true)
	}

	return issues
}

// strictQuery returns the query of a request. It refuses undeclared parameters and reads dryRun.
func (s *Server) strictQuery(r *http.Request, rc *requestContext) (map[string]string, error) {
	query, issues := parseQuery(r.URL.RawQuery, rc.plan.texts)
	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	var unknown []apierr.Issue

	for name := range query {
		if !rc.plan.query[name] {
			unknown = append(
				unknown,
				apierr.IssueUnknownParameter.In(SchemaLocation(rc.plan.endpoint)+"/parameters", name),
			)
		}
	}

	// Name them in a fixed order, up to a bound, with links to the description.
	if len(unknown) > 0 {
		slices.SortFunc(unknown, func(a, b apierr.Issue) int {
			return strings.Compare(fmt.Sprint(a.Path), fmt.Sprint(b.Path))
		})
		unknown = unknown[:min(len(unknown), maxIssues)]

		return nil, apierr.UnknownParameter.At(unknown...).WithLinks(apierr.Links{
			Docs: s.PublicURL + "/docs#" + rc.plan.endpoint.ID, Schema: s.PublicURL + "/openapi.json",
		})
	}

	rc.asksForPage = asksForPage(query)

	if rc.plan.endpoint.DryRun {
		if v, ok := query["dryRun"]; ok {
			if v != "true" && v != "false" {
				return nil, apierr.BadRequest.At(apierr.IssueBoolean.InQuery("dryRun"))
			}

			rc.dryRun = v == "true"
		}
	}

	return query, nil
}

// asksForPage reports whether a query selects a page in an order and nothing else.
func asksForPage(query map[string]string) bool {
	for name := range query {
		if name != "limit" && name != "page" && name != "offset" && name != "sort" {
			return false
		}
	}

	return true
}

// SchemaLocation returns the place of an endpoint's operation in the published description.
func SchemaLocation(e *Endpoint) string {
	return "#/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(e.Path) + "/" + strings.ToLower(e.Method)
}

// bindBody reads the body into the input: an upload, raw bytes or JSON.
func (s *Server) bindBody(
	w http.ResponseWriter,
	r *http.Request,
	rc *requestContext,
	in reflect.Value,
	accepted day.Range,
) ([]apierr.Issue, error) {
	if rc.plan.uploadIndex != nil {
		return nil, s.bindUpload(w, r, rc, in)
	}

	var body []byte
	if rc.plan.body != nil || rc.plan.rawIndex != nil {
		if rc.plan.body != nil && !isJSON(r.Header.Get("Content-Type")) {
			return nil, apierr.UnsupportedMediaType
		}

		var err error
		if body, err = readBody(w, r, rc.plan.endpoint.maxBody()); err != nil {
			return nil, err
		}
	}

	// The key is compared together with the body it came with.
	if rc.plan.endpoint.takesKey() {
		if err := rc.readKey(r, body); err != nil {
			return nil, err
		}
	}

	if rc.plan.rawIndex != nil {
		in.FieldByIndex(rc.plan.rawIndex).SetBytes(body)
		return nil, nil
	}

	if rc.plan.body == nil {
		return nil, nil
	}

	return rc.plan.bindBody(s.registry, body, in, accepted)
}

// observe counts a request and writes its log line.
func (s *Server) observe(r *http.Request, rc *requestContext, status int, start time.Time) {
	took := time.Since(start)
	if s.Observe != nil {
		s.Observe(rc.plan.endpoint.ID, status, took)
	}

	level := slog.LevelInfo

	attrs := []slog.Attr{
		slog.String("request", rc.requestID),
		slog.String("endpoint", rc.plan.endpoint.ID),
		slog.String("method", r.Method),
		slog.Int("status", status),
		slog.String("took", strconv.FormatFloat(float64(took.Microseconds())/1000, 'f', 2, 64)+"ms"),
	}

	// Only what is known: public requests have no team and no user.
	if !rc.scope.Team.IsZero() {
		attrs = append(attrs, slog.String("team", rc.scope.Team.String()))
	}

	if !rc.scope.Actor.User.IsZero() {
		attrs = append(attrs, slog.String("user", rc.scope.Actor.User.String()))
	}

	if rc.dryRun {
		attrs = append(attrs, slog.Bool("dryRun", true))
	}

	// A client that went away is no error.
	if rc.cause != nil && !errors.Is(rc.cause, context.Canceled) {
		level = slog.LevelError

		attrs = append(attrs, slog.String("error", rc.cause.Error()))
	}

	s.Log.LogAttrs(r.Context(), level, "request", attrs...)
}
