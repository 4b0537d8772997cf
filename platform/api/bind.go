package api

import (
	"encoding"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// param is one declared path, query or header parameter, prepared once per endpoint.
type param struct {
	name     string
	in       string // path, query or header
	index    []int
	field    reflect.StructField
	typ      reflect.Type // without pointer and slice
	pointer  bool
	slice    bool
	texts    bool // a list of free texts, which is a CSV record
	required bool
	fallback string
	enum     []string
	pattern  *regexp.Regexp
	min, max *int64
	maxItems int
	unique   bool
	format   string
}

// Resolver lets an input check what no tag can say. Its issues make the request a 400.
type Resolver interface{ Resolve() []apierr.Issue }

var (
	cursorType = reflect.TypeFor[Cursor]()
	textType   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isText reports whether values of a type are read from one text, whatever they are inside.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// params reads the declared parameters of an input type, embedded structs included.
func params(t reflect.Type, prefix []int) []param {
	var out []param

	for i := range t.NumField() {
		f := t.Field(i)

		index := append(slices.Clone(prefix), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			out = append(out, params(f.Type, index)...)
			continue
		}

		for _, in := range []string{"path", "query", "header"} {
			if name := f.Tag.Get(in); name != "" {
				out = append(out, newParam(f, in, name, index))
			}
		}
	}

	return out
}

// newParam returns the parameter that a field with its tags declares. It panics for a type that cannot be bound.
func newParam(f reflect.StructField, in, name string, index []int) param {
	p := param{name: name, in: in, index: index, field: f, typ: f.Type, fallback: f.Tag.Get("default"), maxItems: 1000}

	// A pointer may be absent, a slice has several values.
	p.required = in == "path" || f.Tag.Get("required") == "true"
	if p.typ.Kind() == reflect.Pointer {
		p.pointer, p.typ = true, p.typ.Elem()
	}

	if p.typ.Kind() == reflect.Slice && !isText(p.typ) {
		p.slice, p.typ = true, p.typ.Elem()
	}

	p.mustBind()

	// Types of ours have a format; strings can have one by their tag.
	if p.format = f.Tag.Get("format"); p.format == "" {
		p.format = typeFormat(p.typ)
	}

	p.unique = f.Tag.Get("uniqueItems") == "true"
	if items, err := strconv.Atoi(f.Tag.Get("maxItems")); err == nil {
		p.maxItems = items
	}

	// Enumerations come from the tag or from the type.
	if e := f.Tag.Get("enum"); e != "" {
		p.enum = strings.Split(e, ",")
	} else if v, ok := reflect.TypeAssert[Enumerated](reflect.Zero(p.typ)); ok {
		p.enum = v.Enum()
	}

	if e := f.Tag.Get("pattern"); e != "" {
		p.pattern = regexp.MustCompile(e)
	}

	p.min, p.max = bound(f, "minimum", "minLength"), bound(f, "maximum", "maxLength")
	p.texts = p.slice && p.typ.Kind() == reflect.String && !isText(p.typ) && p.enum == nil && p.format == ""

	return p
}

// mustBind refuses at the start a type that no request could set.
func (p *param) mustBind() {
	switch {
	case p.slice && p.pointer:
	case p.typ == cursorType, isText(p.typ):
		return
	case slices.Contains([]reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.String}, p.typ.Kind()):
		return
	}

	panic("unsupported type of parameter " + p.name + ": " + p.field.Type.String())
}

// bound returns the number in a field's tag, of the tag for numbers or that for lengths, nil without one. It
// panics on a malformed one.
func bound(f reflect.StructField, number, length string) *int64 {
	tag := f.Tag.Get(number)
	if tag == "" {
		tag = f.Tag.Get(length)
	}

	if tag == "" {
		return nil
	}

	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic("malformed bound on " + f.Name)
	}

	return &n
}

// parseQuery reads a query strictly: it refuses bad escapes, semicolons, duplicates and empty values instead of
// guessing. Parameters that take lists of free texts can be given several times; their records are joined into one.
func parseQuery(raw string, texts map[string]bool) (map[string]string, []apierr.Issue) {
	if raw == "" {
		return nil, nil
	}

	values := map[string]string{}

	var issues []apierr.Issue

	refuse := func(code apierr.IssueCode, name string) {
		if name == "" || !utf8.ValidString(name) {
			issues = append(issues, code.InQuery())
			return
		}

		issues = append(issues, code.InQuery(name))
	}

	// Stop at a bound: a query can have more mistakes than anyone reads.
	for pair := range strings.SplitSeq(raw, "&") {
		if len(issues) == maxIssues {
			break
		}

		key, value, _ := strings.Cut(pair, "=")

		name, err := url.QueryUnescape(key)
		if err != nil || strings.Contains(pair, ";") || name == "" {
			refuse(apierr.IssueMalformedQuery, "")
			continue
		}

		text, err := url.QueryUnescape(value)

		// Report one mistake for each parameter.
		switch _, seen := values[name]; {
		case err != nil || !utf8.ValidString(text) || strings.ContainsRune(text, 0):
			refuse(apierr.IssueMalformedQuery, name)
		case seen && !texts[name]:
			refuse(apierr.IssueDuplicateParameter, name)
		case text == "":
			refuse(apierr.IssueEmptyParameter, name)
		case texts[name] &&
			splitRecord(text) == nil: // checked before joining: two broken halves can look whole together
			refuse(apierr.IssueMalformed, name)
		case seen:
			text = values[name] + "," + text
		}

		values[name] = text
	}

	return values, issues
}

// bindParams sets the declared parameters of in and returns the issues.
func (p *plan) bindParams(
	r *http.Request,
	query map[string]string,
	in reflect.Value,
	accepted day.Range,
	cursor func(string) (Cursor, bool),
) []apierr.Issue {
	var issues []apierr.Issue

	for i := range p.params {
		pa := &p.params[i]
		text, given := pa.text(r, query)

		field := in.FieldByIndex(pa.index)

		// A cursor is checked against the other parameters, so it needs all of them.
		if pa.typ == cursorType {
			c, ok := cursor(text)
			if !ok {
				issues = append(issues, pa.issue(apierr.IssueCursorMismatch))
			}

			field.Set(reflect.ValueOf(c))

			continue
		}

		if !given {
			if pa.required {
				issues = append(issues, pa.issue(apierr.IssueRequired))
			}

			if text = pa.fallback; text == "" {
				continue
			}
		}

		// A date can be well formed and still not be accepted.
		if issue := pa.set(field, text); issue != nil {
			issues = append(issues, *issue)
		} else if outside(pa.format, text, accepted) {
			issues = append(issues, pa.issue(apierr.IssueDateOutOfRange))
		}
	}

	return issues
}

// text returns the text of a parameter in a request, and whether the request has it.
func (p *param) text(r *http.Request, query map[string]string) (string, bool) {
	switch p.in {
	case "path":
		text := chi.URLParam(r, p.name)
		if r.URL.RawPath == "" { // the router has matched the decoded path
			return text, true
		}

		text, err := url.PathUnescape(text)

		return text, err == nil
	case "query":
		text, ok := query[p.name]
		return text, ok
	default:
		text := r.Header.Get(p.name)
		return text, text != ""
	}
}

func (p *param) issue(code apierr.IssueCode, path ...any) apierr.Issue {
	return code.In(p.in, p.name, path)
}

// set reads a text into the field: a list, an optional value or a plain one.
func (p *param) set(field reflect.Value, text string) *apierr.Issue {
	if p.slice {
		parts := p.split(text)
		if parts == nil {
			issue := p.issue(apierr.IssueMalformed)
			return &issue
		}

		if len(parts) > p.maxItems {
			issue := p.issue(apierr.IssueItems)
			return &issue
		}

		// Read item by item, so that the issue names the first bad one.
		out := reflect.MakeSlice(reflect.SliceOf(p.typ), len(parts), len(parts))
		for i, part := range parts {
			if issue := p.setOne(out.Index(i), part); issue != nil {
				return issue
			}

			if p.unique && slices.Contains(parts[:i], part) {
				issue := p.issue(apierr.IssueUnique, i)
				return &issue
			}
		}

		field.Set(out)

		return nil
	}

	if p.pointer {
		v := reflect.New(p.typ)
		if issue := p.setOne(v.Elem(), text); issue != nil {
			return issue
		}

		field.Set(v)

		return nil
	}

	return p.setOne(field, text)
}

// setOne reads one value.
func (p *param) setOne(v reflect.Value, text string) *apierr.Issue {
	refuse := func(code apierr.IssueCode) *apierr.Issue {
		issue := p.issue(code)
		return &issue
	}
	// A list can have empty items, and a path or header any bytes.
	if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return refuse(apierr.IssueMalformed)
	}

	if p.enum != nil && !slices.Contains(p.enum, text) {
		return refuse(apierr.IssueEnum)
	}

	if _, code := format(p.format, text); code != "" {
		return refuse(code)
	}

	// Types of ours read themselves; the rest depends on the kind.
	if isText(p.typ) {
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil { //nolint:errcheck,forcetypeassert // just checked
			return refuse(apierr.IssueMalformed)
		}

		return nil
	}

	switch p.typ.Kind() { //nolint:exhaustive // mustBind has refused the others.
	case reflect.Bool:
		if text != "true" && text != "false" {
			return refuse(apierr.IssueBoolean)
		}

		v.SetBool(text == "true")
	case reflect.Int, reflect.Int64:
		n, ok := integer(text)
		if !ok {
			return refuse(apierr.IssueInteger)
		}

		if p.min != nil && n < *p.min || p.max != nil && n > *p.max {
			return refuse(apierr.IssueRange)
		}

		v.SetInt(n)
	case reflect.String:
		n := int64(utf8.RuneCountInString(text))
		if p.min != nil && n < *p.min || p.max != nil && n > *p.max {
			return refuse(apierr.IssueLength)
		}

		if p.pattern != nil && !p.pattern.MatchString(text) {
			return refuse(apierr.IssueMalformed)
		}

		v.SetString(text)
	default: // mustBind has refused it
	}

	return nil
}

// integer accepts the canonical form only: no sign but a minus, no leading zeros, no fraction, within plus or minus
// 2^53-1.
func integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text || n > 1<<53-1 || n < -(1<<53-1) {
		return 0, false
	}

	return n, true
}
