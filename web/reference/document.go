// Package reference makes the pages at /docs: the guides, an overview and a page for each operation of a published
// description, chapters about what all operations share, the search, and the changelog. Everything that a page says of an
// operation comes from the description.
//
// The page docs/decisions/reference.md says what the contract leaves open and how it is answered here.
package reference

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Document is a description in the order and words of the pages.
type Document struct {
	Title, About, Version string
	Groups                []*Group
	// Codes and Reasons are the values that errors can have, in the description's order.
	Codes, Reasons []string
	// Context has the fields that the context of an error can have.
	Context    []*Field
	root       node
	operations map[string]*Operation
}

// Group is the operations of one tag.
type Group struct {
	Name, About string
	Operations  []*Operation
}

// Operation is a method of a path.
type Operation struct {
	ID, Method, Path, Summary, About, Tag string
	Deprecated, Public                    bool
	Scopes, Callers                       []string
	Parameters                            []Parameter
	Body                                  *Content
	Answers, Failures                     []Answer
	// Request is the example that the page shows in each language.
	Request Request
}

// Parameter is a field of the path, the query or the headers.
type Parameter struct {
	In string
	*Field
}

// Content is a body of a request or an answer.
type Content struct {
	Type     string
	Optional bool
	Schema   *Field
	// Example is an example of such a body, as indented JSON; empty for files.
	Example string
	// Shown says that the example comes from the description.
	Shown bool
}

// Answer is what an operation can answer with one status, as "404".
type Answer struct {
	Status  string
	About   string
	Headers []*Field
	Content *Content
}

// Answers reports whether the answer has a status.
func (a Answer) Answers(status int) bool {
	return a.Status == strconv.Itoa(status)
}

// readDocument reads a description, OpenAPI 3.0 or 3.1 as JSON. It fails for invalid JSON, a reference that leads nowhere
// and an operation without an id.
func readDocument(description []byte) (*Document, error) {
	var root node
	if err := json.Unmarshal(description, &root); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}

	info := root.child("info")
	d := &Document{
		Title:      info.text("title"),
		About:      info.text("description"),
		Version:    info.text("version"),
		root:       root,
		operations: map[string]*Operation{},
	}
	groups := map[string]*Group{}

	group := func(name string) *Group {
		if groups[name] == nil {
			groups[name] = &Group{Name: name}
			d.Groups = append(d.Groups, groups[name])
		}

		return groups[name]
	}

	// Groups come in the order of the tags; unknown ones follow.
	for _, tag := range root.list("tags") {
		group(tag.text("name")).About = tag.text("description")
	}

	paths := root.child("paths")

	// Operations of a group are in the order of paths and methods.
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths.child(path)
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if item[method] == nil {
				continue
			}

			o, err := d.readOperation(strings.ToUpper(method), path, item, item.child(method))
			if err != nil {
				return nil, fmt.Errorf("describe %s %s: %w", method, path, err)
			}

			g := group(o.Tag)
			g.Operations = append(g.Operations, o)
			d.operations[o.ID] = o
		}
	}

	// Leave out tags without operations.
	d.Groups = slices.DeleteFunc(d.Groups, func(g *Group) bool { return len(g.Operations) == 0 })
	if len(root.list("tags")) == 0 {
		slices.SortFunc(d.Groups, func(a, b *Group) int { return cmp.Compare(a.Name, b.Name) })
	}

	return d, d.readErrors()
}

// readErrors reads the codes, the reasons and the fields of the context from the schema of errors, which is the one that
// has all of them.
func (d *Document) readErrors() error {
	for _, name := range slices.Sorted(maps.Keys(d.root.child("components").child("schemas"))) {
		schema := d.root.child("components").child("schemas").child(name)

		fields := schema.child("properties")
		if fields["code"] == nil || fields["reason"] == nil || fields["message"] == nil || fields["retryable"] == nil {
			continue
		}

		for name, into := range map[string]*[]string{"code": &d.Codes, "reason": &d.Reasons} {
			field, err := d.resolveReference(fields.child(name))
			if err != nil {
				return err
			}

			*into = append(field.words("enum"), field.words("x-known-values")...)
		}

		if fields["context"] == nil {
			return nil
		}

		context, err := d.readField("context", fields.child("context"), nil)
		if err == nil {
			d.Context = context.Fields
		}

		return err
	}

	return nil
}

// readOperation reads an operation. It fails for one without an id.
func (d *Document) readOperation(method, path string, item, n node) (*Operation, error) {
	o := &Operation{
		ID:         n.text("operationId"),
		Method:     method,
		Path:       path,
		Summary:    n.text("summary"),
		About:      n.text("description"),
		Deprecated: n.flag("deprecated"),
		Scopes:     n.words("x-scopes"),
		Tag:        "Other",
	}
	if tags := n.words("tags"); len(tags) > 0 {
		o.Tag = tags[0]
	}

	if o.ID == "" {
		return nil, errors.New("it has no operationId")
	}

	o.callers(d, n)

	// Parameters of the path belong to each of its operations.
	for _, raw := range append(item.list("parameters"), n.list("parameters")...) {
		p, err := d.readParameter(raw)
		if err != nil {
			return nil, err
		}

		o.Parameters = append(o.Parameters, p)
	}

	place := []string{"path", "query", "header"}

	slices.SortStableFunc(o.Parameters, func(a, b Parameter) int {
		return cmp.Compare(slices.Index(place, a.In), slices.Index(place, b.In))
	})

	// Then the body it takes, and the answers it gives.
	if n["requestBody"] != nil {
		body, err := d.resolveReference(n.child("requestBody"))
		if err != nil {
			return nil, err
		}

		if o.Body, err = d.readContent(body, requestExample); err != nil {
			return nil, err
		}

		if o.Body != nil {
			o.Body.Optional = !body.flag("required")
		}
	}

	for _, status := range slices.Sorted(maps.Keys(n.child("responses"))) {
		answer, err := d.resolveReference(n.child("responses").child(status))
		if err != nil {
			return nil, err
		}

		// The one answer of all failures lists those that every operation shares.
		if status == "default" {
			o.Failures = listFailures(n.words("x-errors"), answer.words("x-errors"))
			continue
		}

		a, err := d.readAnswer(status, answer)
		if err != nil {
			return nil, err
		}

		o.Answers = append(o.Answers, a)
	}

	o.Request = request(o)

	return o, nil
}

// callers sets which credentials may call the operation, by the description's security and its extensions.
func (o *Operation) callers(d *Document, n node) {
	security, own := n["security"].([]any)
	if !own {
		security, _ = d.root["security"].([]any)
	}

	if len(security) == 0 {
		o.Public = true
		return
	}

	// The schemes and the extensions name different kinds of callers.
	named := map[string]bool{}

	for _, one := range security {
		scheme, _ := one.(map[string]any)
		for name := range scheme {
			named[name] = true
		}
	}

	add := func(caller string, may bool) {
		if may {
			o.Callers = append(o.Callers, caller)
		}
	}
	add("team keys", named["apiKey"])
	add("partner keys", n.flag("x-partner"))
	add("signed-in users", named["bearer"])
	add("owners", n.flag("x-owner"))
	add("embedded sessions", n.flag("x-embed"))
}

// readParameter reads a parameter.
func (d *Document) readParameter(raw node) (Parameter, error) {
	n, err := d.resolveReference(raw)
	if err != nil {
		return Parameter{}, err
	}

	schema := n.child("schema")

	f, err := d.readField(n.text("name"), schema, nil)
	if err != nil {
		return Parameter{}, err
	}

	f.About = cmp.Or(n.text("description"), f.About)
	f.Required = n.flag("required")

	f.Deprecated = n.flag("deprecated") || f.Deprecated
	if f.sample, err = d.readExample(n, f.sample); err != nil {
		return Parameter{}, err
	}

	if strings.HasPrefix(f.Type, "list of ") {
		f.Bounds = append(f.Bounds, "separated by commas")
	}

	return Parameter{In: n.text("in"), Field: f}, nil
}

// readAnswer reads an answer with its headers and body.
func (d *Document) readAnswer(status string, n node) (a Answer, err error) {
	a = Answer{Status: status, About: n.text("description")}
	for _, name := range slices.Sorted(maps.Keys(n.child("headers"))) {
		header, err := d.resolveReference(n.child("headers").child(name))
		if err != nil {
			return a, err
		}

		f, err := d.readField(name, header.child("schema"), nil)
		if err != nil {
			return a, err
		}

		f.About = cmp.Or(header.text("description"), f.About)
		a.Headers = append(a.Headers, f)
	}

	a.Content, err = d.readContent(n, answerExample)

	return a, err
}

// listFailures returns the failures of an operation by status: its own first, then the ones that every operation shares. A
// failure is a text with its status, its reason or code, and its message: "409 alreadyPaid: Already paid".
func listFailures(own, general []string) []Answer {
	var out []Answer

	for _, list := range [][]string{own, general} {
		last := ""

		for _, text := range list {
			status, rest, _ := strings.Cut(text, " ")
			label, message, _ := strings.Cut(rest, ": ")
			about := "`" + label + "`: " + message + "."

			// Texts of one list are in the order of their statuses.
			if status == last {
				out[len(out)-1].About += " " + about
			} else {
				out = append(out, Answer{Status: status, About: about})
			}

			last = status
		}
	}

	return out
}

// readContent returns a body, or nil if there is none.
func (d *Document) readContent(n node, sample func(*Field) any) (*Content, error) {
	types := slices.Sorted(maps.Keys(n.child("content")))
	if len(types) == 0 {
		return nil, nil //nolint:nilnil // an answer without a body is nothing wrong
	}

	c := &Content{Type: types[0]}
	media := n.child("content").child(c.Type)

	var err error
	if c.Schema, err = d.readField("", media.child("schema"), nil); err != nil {
		return nil, err
	}

	if c.Schema.sample, err = d.readExample(media, c.Schema.sample); err != nil {
		return nil, err
	}

	c.Shown = c.Schema.sample != nil
	if c.Type == "application/json" {
		c.Example, err = indentJSON(sample(c.Schema))
	}

	return c, err
}

// Operations returns all operations in the order of the pages.
func (d *Document) Operations() []*Operation {
	var all []*Operation
	for _, g := range d.Groups {
		all = append(all, g.Operations...)
	}

	return all
}

// In returns the parameters of a place: path, query or header.
func (o *Operation) In(place string) []*Field {
	var out []*Field

	for _, p := range o.Parameters {
		if p.In == place {
			out = append(out, p.Field)
		}
	}

	return out
}

// Takes reports whether there is a parameter of that name.
func (o *Operation) Takes(name string) bool {
	return slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.Name == name })
}

// Queues reports whether an answer acknowledges work that goes on after it.
func (o *Operation) Queues() bool {
	return slices.ContainsFunc(o.Answers, func(a Answer) bool {
		return a.Status == "202" && a.Content != nil &&
			slices.ContainsFunc(a.Content.Schema.Fields, func(f *Field) bool {
				return f.Name == "operationId"
			})
	})
}
