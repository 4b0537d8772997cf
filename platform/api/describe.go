package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
)

const refPrefix = "#/components/schemas/"

// plainArrays makes lists never null; the library has a variable for it, which servers made side by side must not race
// for.
var plainArrays = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

// newRegistry returns the registry of schemas. A type is named after its package and itself: listing.Create becomes
// ListingCreate.
func newRegistry() huma.Registry {
	plainArrays()

	r := huma.NewMapRegistry(refPrefix, schemaName)
	registerNamed(r)

	return r
}

// schemaName returns the name of a type's schema in the description. A type without a name gets that of hint.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}

	name := t.Name()
	if name == "" {
		return upper(hint)
	}

	if base, arg, ok := strings.Cut(name, "["); ok { // page.Page[stayledger/domain/property/listing.Listing]
		arg = strings.TrimSuffix(arg, "]")
		folder := arg[:strings.LastIndex(arg, "/")+1]
		pkg, typ, _ := strings.Cut(arg[len(folder):], ".")

		return publicName(folder+pkg, typ) + base
	}

	return publicName(t.PkgPath(), name)
}

// qualifyName returns the name of a schema: that of its type, after that of its package unless it says the same.
func qualifyName(pkg, name string) string {
	if pkg == "api" || pkg == "apierr" || pkg == "page" ||
		strings.HasPrefix(strings.ToLower(name), strings.ToLower(pkg)) {
		return upper(name)
	}

	return upper(pkg) + upper(name)
}

func upper(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}

	return string(r)
}

// describe builds the published description from the endpoints.
func (s *Server) describe() *huma.OpenAPI {
	o := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: s.Title, Version: Version, Description: s.Description},
		Servers: []*huma.Server{{URL: "/", Description: "This service."}},
		Components: &huma.Components{Schemas: s.registry, SecuritySchemes: map[string]*huma.SecurityScheme{
			"apiKey": {Type: "apiKey", In: "header", Name: "x-api-key", Description: "A team or partner key."},
			"bearer": {Type: "http", Scheme: "bearer", Description: "An interactive or embedded session."},
		}},
		Security: security(&Endpoint{}),
		Paths:    map[string]*huma.PathItem{},
	}

	// All failures share one body.
	failure := s.registry.Schema(reflect.TypeFor[apierr.Body](), true, errorAnswer)
	if body := s.registry.SchemaFromRef(failure.Ref); body != nil {
		describeError(body)
		describeContext(s.registry, body)
	}

	for _, t := range s.Tags {
		o.Tags = append(o.Tags, &huma.Tag{Name: t.Name, Description: t.Doc})
	}

	// Then every endpoint, which registers the schemas of its types.
	o.Components.Responses = map[string]*huma.Response{errorAnswer: s.errorResponse(failure)}

	for i := range s.plans {
		if !s.plans[i].endpoint.Internal {
			s.describeEndpoint(o, &s.plans[i])
		}
	}

	if refused := s.registry.SchemaFromRef(refPrefix + "Refused"); refused != nil {
		describeContext(s.registry, refused)
	}

	nullable(s.registry)

	return o
}

// describeError lists all codes and reasons in the schema of failures.
func describeError(s *huma.Schema) {
	codes, reasons := []any{}, []any{}
	for _, c := range apierr.Codes() {
		codes = append(codes, string(c))
	}

	for _, r := range apierr.Reasons() {
		reasons = append(reasons, string(r))
	}

	s.Properties["code"].Enum = codes
	s.Properties["code"].Description = "Stable error class. Treat unknown codes as non-retryable."
	s.Properties["reason"].Enum = reasons
	s.Properties["reason"].Description = "Business rule. Treat unknown reasons as no reason."
	s.Properties["message"].Description = "Static display text of one condition; never parse it."
}

// describeEndpoint adds the operation of an endpoint to its path.
func (s *Server) describeEndpoint(o *huma.OpenAPI, p *plan) {
	e := p.endpoint

	op := &huma.Operation{
		OperationID: e.ID,
		Tags:        []string{e.Tag},
		Summary:     e.Summary,
		Description: e.Doc,
		Method:      e.Method,
		Path:        e.Path,
		Responses:   map[string]*huma.Response{},
		Extensions:  map[string]any{"x-scopes": nonNil(e.Scopes)},
	}

	// Say which credentials the operation is open to.
	if !e.Public {
		if own := security(e); !reflect.DeepEqual(own, o.Security) {
			op.Security = own
		}

		op.Extensions["x-partner"] = slices.Contains(e.Credentials(), PartnerKey)
		op.Extensions["x-owner"] = slices.Contains(e.Credentials(), Owner)
		op.Extensions["x-audiences"] = e.audiences()
		op.Extensions["x-embed"] = slices.Contains(e.Credentials(), Embedded)
	} else {
		op.Security = []map[string][]string{}
	}

	// Then its input: parameters, and one kind of body at most.
	op.Parameters = s.describeParameters(p)
	if p.body != nil {
		op.RequestBody = &huma.RequestBody{
			Required: !p.bodyOptional,
			Content:  map[string]*huma.MediaType{"application/json": {Schema: p.body}},
		}
	}

	if p.rawIndex != nil {
		op.RequestBody = &huma.RequestBody{
			Required: true,
			Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{
				Type:   huma.TypeString,
				Format: "binary",
			}}},
		}
	}

	if p.uploadIndex != nil {
		op.RequestBody = describeForm(e.Form)
	}

	// Then its answers.
	s.describeAnswers(op, e)
	s.describeFailures(op, e)

	// A path has one operation for each method.
	item := o.Paths[e.Path]
	if item == nil {
		item = &huma.PathItem{}
		o.Paths[e.Path] = item
	}

	switch e.Method {
	case http.MethodGet:
		item.Get = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodPatch:
		item.Patch = op
	case http.MethodDelete:
		item.Delete = op
	default:
		panic("unsupported method " + e.Method)
	}
}

// describeForm returns the body of an upload: a form with exactly the declared parts.
func describeForm(form []Part) *huma.RequestBody {
	closed := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}

	for i := range form {
		p := &form[i]

		one := &huma.Schema{Type: huma.TypeString, Description: p.Doc}
		if p.File {
			one.Format = "binary"
		}

		for _, v := range p.Enum {
			one.Enum = append(one.Enum, v)
		}

		if p.Required {
			closed.Required = append(closed.Required, p.Name)
		}

		closed.Properties[p.Name] = one
	}

	return &huma.RequestBody{
		Required: true,
		Content:  map[string]*huma.MediaType{"multipart/form-data": {Schema: closed}},
	}
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}

	return list
}

// security returns which credentials an endpoint takes, any one of them.
func security(e *Endpoint) []map[string][]string {
	var out []map[string][]string
	if slices.Contains(e.Credentials(), TeamKey) || slices.Contains(e.Credentials(), PartnerKey) {
		out = append(out, map[string][]string{"apiKey": {}})
	}

	if slices.ContainsFunc([]Credential{User, Owner, Embedded}, func(c Credential) bool { return slices.Contains(e.Credentials(), c) }) {
		out = append(out, map[string][]string{"bearer": {}})
	}

	return out
}

// describeParameters returns the parameters of an endpoint: those it declares, then those that the edge adds.
func (s *Server) describeParameters(p *plan) []*huma.Param {
	var out []*huma.Param

	for i := range p.params {
		pa := &p.params[i]
		if pa.field.Tag.Get("hidden") == "true" {
			continue
		}

		// A cursor is opaque; other parameters have the schema of their field.
		schema := &huma.Schema{Type: "string"}
		if pa.typ != cursorType {
			schema = huma.SchemaFromField(s.registry, pa.field, p.endpoint.ID+pa.name)

			schema.Nullable = false
			if target := schema; pa.enum != nil {
				if schema.Items != nil {
					target = schema.Items
				}

				target.Enum = nil
				for _, v := range pa.enum {
					target.Enum = append(target.Enum, v)
				}

				if pa.field.Tag.Get("enum") == "" {
					describeValues(pa.typ, target)
				}
			}
		}

		param := &huma.Param{
			Name:        pa.name,
			In:          pa.in,
			Required:    pa.required,
			Schema:      schema,
			Description: schema.Description,
			Deprecated:  schema.Deprecated,
		}

		// Lists are one value with commas.
		if pa.slice {
			schema.MaxItems = &pa.maxItems
			no := false
			param.Explode = &no
		}

		if pa.texts {
			param.Description = strings.TrimSpace(param.Description + " " + textsDoc)
		}

		schema.Description, schema.Deprecated = "", false

		out = append(out, param)
	}

	// The edge adds its own parameters where they apply.
	boolean := func(name, doc string) {
		out = append(out, &huma.Param{
			Name:        name,
			In:          "query",
			Description: doc,
			Schema:      &huma.Schema{Type: "boolean", Default: false},
		})
	}
	header := func(name, doc string, values ...any) {
		out = append(out, &huma.Param{
			Name:        name,
			In:          "header",
			Description: doc,
			Schema:      &huma.Schema{Type: "string", Enum: values},
		})
	}

	e := p.endpoint
	if e.DryRun {
		boolean("dryRun", "Runs the whole write and rolls it back: same answer and status, nothing kept.")
	}

	if !e.Public && e.Selection != NoTeam && !e.TeamInPath {
		header("x-team-id", "Selects the team when the credential reaches several.")
	}

	if e.Region {
		header(
			"x-data-region",
			"Selects one regional slice for partner credentials without a selected team.",
			"ap",
			"ca",
			"eu",
			"sa",
			"us",
		)
	}

	if e.takesKey() {
		header("Idempotency-Key", "The same key and body within 24 hours returns the stored answer.")
	}

	return out
}

// describeAnswers adds the successful answers of an endpoint.
func (s *Server) describeAnswers(op *huma.Operation, e *Endpoint) {
	add := func(status int, t reflect.Type) {
		r := &huma.Response{Description: http.StatusText(status), Headers: map[string]*huma.Header{}}

		switch t {
		case reflect.TypeFor[None]():
		case reflect.TypeFor[Content]():
			r.Content = map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{
				Type:   "string",
				Format: "binary",
			}}}
		default:
			r.Content = map[string]*huma.MediaType{"application/json": {Schema: s.registry.Schema(
				t,
				true,
				e.ID+"Answer",
			)}}
		}

		if e.kind == kindWrite {
			r.Headers["X-Service-Audit-Should-Poll"], r.Headers["X-Service-Audit-Action-Id"] = pollHeader, actionHeader
		}

		if e.takesKey() {
			r.Headers["Idempotent-Replayed"] = replayedHeader
		}

		op.Responses[strconv.Itoa(status)] = r
	}

	// An endpoint without an answer says so with 204.
	status := e.status()
	if e.out == reflect.TypeFor[None]() && e.Status == 0 {
		status = http.StatusNoContent
	}

	if _, replaced := e.Also[status]; !replaced {
		add(status, e.out)
	}

	if e.kind == kindStream {
		add(http.StatusPartialContent, e.out)
		add(http.StatusNotModified, reflect.TypeFor[None]())
	}

	for status, t := range e.Also {
		if status < http.StatusBadRequest {
			add(status, t)
		}
	}
}

// nullable lets every pointer field without omitempty accept null, references included. The schema generator does
// not do that by itself.
func nullable(r huma.Registry) {
	for name, s := range r.Map() {
		t := r.TypeFromRef(refPrefix + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}

		nullableFields(t, s)
		s.PrecomputeMessages()
	}
}

// Enumerated is a string type that knows its values, in the contract's order.
type Enumerated interface{ Enum() []string }

// Texts returns the values of an enumeration as texts, for its Enum.
func Texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}

	return out
}

// enumValues returns the values of an enumeration, or of a list of them, or nil.
func enumValues(t reflect.Type) []any {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}

	v, ok := reflect.TypeAssert[Enumerated](reflect.Zero(t))
	if !ok {
		return nil
	}

	var out []any
	for _, value := range v.Enum() {
		out = append(out, value)
	}

	return out
}

// describeValues gives a schema the values of an enumeration type, and the name of the type, under which it is
// published once.
func describeValues(t reflect.Type, s *huma.Schema) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}

	s.Enum = enumValues(t)
	if t.Name() != "" {
		markNamed(schemaName(t, ""), s)
	}
}

// nullableFields lets the pointer fields of a struct accept null, and sets the values of enumerations.
func nullableFields(t reflect.Type, s *huma.Schema) {
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			nullableFields(f.Type, s)
			continue
		}

		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")

		// The values of an enumeration belong to the items of a list.
		field := s.Properties[name]
		if values := enumValues(f.Type); values != nil && field != nil && f.Tag.Get("enum") == "" {
			target := field
			if field.Items != nil {
				target = field.Items
			}

			describeValues(f.Type, target)
			target.PrecomputeMessages()
		}

		if field != nil && field.Nullable && field.Enum != nil && !slices.Contains(field.Enum, nil) {
			field.Enum = append(field.Enum, nil)
		}

		if field == nil || f.Type.Kind() != reflect.Pointer ||
			strings.Contains(options, "omitempty") && f.Tag.Get("nullable") != "true" {
			continue
		}

		// A reference cannot be nullable itself, so it becomes one of two choices.
		if field.Ref != "" {
			s.Properties[name] = &huma.Schema{
				AnyOf:       []*huma.Schema{{Ref: field.Ref}, {Type: "null"}},
				Description: field.Description,
			}

			continue
		}

		field.Nullable = true
		if field.Enum != nil && !slices.Contains(field.Enum, nil) {
			field.Enum = append(field.Enum, nil)
		}
	}
}
