package reference

import (
	"fmt"
	"net/url"
	"strings"
)

// Request is a request that every language makes in the same way. The base address and the key come from the
// environment of the caller.
type Request struct {
	Method, Path string
	Query        []Value
	Headers      []Value
	// Body is JSON, or the name of the file that is sent when Type is no JSON.
	Body, Type string
	// Form are the parts of multipart/form-data; a file's value is its name.
	Form []Value
	// Credential is the header that carries it; empty for requests of anybody.
	Credential string
}

// Value is a parameter, a header or a part of a form.
type Value struct {
	Name, Text string
	File       bool
}

// Language is a request in one language.
type Language struct{ Name, Slug, Text string }

// request returns the example request of an operation: its required parameters, a small page of lists, and an
// idempotency key if it takes one.
func request(o *Operation) Request {
	r := Request{Method: o.Method, Path: o.Path}
	if !o.Public {
		r.Credential = "x-api-key"
		if len(o.Callers) > 0 && o.Callers[0] != "team keys" && o.Callers[0] != "partner keys" {
			r.Credential = "authorization"
		}
	}

	// Only what a caller must send, so that examples stay short.
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			r.Path = strings.ReplaceAll(r.Path, "{"+p.Name+"}", url.PathEscape(text(p.example(true))))
		case p.In == "query" && p.Name == "limit":
			r.Query = append(r.Query, Value{Name: p.Name, Text: "10"})
		case p.In == "query" && p.Required:
			r.Query = append(r.Query, Value{Name: p.Name, Text: text(p.example(true))})
		case p.In == "header" && (p.Required || p.Name == "Idempotency-Key"):
			r.Headers = append(r.Headers, Value{Name: p.Name, Text: SampleID(o.ID)})
		}
	}

	if o.Body == nil {
		return r
	}

	r.Type, r.Body = o.Body.Type, o.Body.Example

	// Forms have a value for each part that is needed or has an example.
	switch r.Type {
	case "application/json":
	case "multipart/form-data":
		given, _ := o.Body.Schema.sample.(map[string]any)
		for _, f := range o.Body.Schema.Fields {
			value, has := given[f.Name]
			if !has && f.Required {
				value = f.example(true)
			}

			if value != nil {
				r.Form = append(r.Form, Value{Name: f.Name, Text: text(value), File: f.format == "binary"})
			}
		}
	default:
		r.Body = "file"
	}

	return r
}

// text returns an example as it is written in an address.
func text(v any) string {
	if list, is := v.([]any); is {
		parts := make([]string, len(list))
		for i, one := range list {
			parts[i] = fmt.Sprint(one)
		}

		return strings.Join(parts, ",")
	}

	return fmt.Sprint(v)
}

// target returns the path with the query.
func (r Request) target() string {
	for i, q := range r.Query {
		sign := "&"
		if i == 0 {
			sign = "?"
		}

		r.Path += sign + url.QueryEscape(q.Name) + "=" + strings.ReplaceAll(url.QueryEscape(q.Text), "%2C", ",")
	}

	return r.Path
}

// headers returns all headers but the credential's.
func (r Request) headers() []Value {
	all := r.Headers
	if r.Type != "" && r.Form == nil {
		all = append([]Value{{Name: "content-type", Text: r.Type}}, all...)
	}

	return all
}

// Languages returns the request as curl, Go and TypeScript.
func (r Request) Languages() []Language {
	return []Language{{"curl", "curl", r.Curl()}, {"Go", "go", r.Go()}, {"TypeScript", "ts", r.TypeScript()}}
}

// Curl returns the request as a command for a POSIX shell.
func (r Request) Curl() string {
	lines := []string{`curl "$STAYLEDGER_URL` + r.target() + `"`}
	if r.Method != "GET" && (r.Method != "POST" || r.Body == "" && r.Form == nil) {
		lines[0] = "curl -X " + r.Method + strings.TrimPrefix(lines[0], "curl")
	}

	// Secrets come from the environment.
	switch r.Credential {
	case "x-api-key":
		lines = append(lines, `-H "x-api-key: $STAYLEDGER_KEY"`)
	case "authorization":
		lines = append(lines, `-H "authorization: Bearer $STAYLEDGER_TOKEN"`)
	}

	for _, h := range r.headers() {
		lines = append(lines, "-H "+shellQuote(h.Name+": "+h.Text))
	}

	for _, part := range r.Form {
		sign := "="
		if part.File {
			sign = "=@"
		}

		lines = append(lines, "-F "+shellQuote(part.Name+sign+part.Text))
	}

	switch {
	case r.Form != nil || r.Body == "":
	case r.Type == "application/json":
		lines = append(lines, "-d "+shellQuote(r.Body))
	default:
		lines = append(lines, "--data-binary @"+r.Body)
	}

	return strings.Join(lines, " \\\n  ")
}

// shellQuote returns a text in quotes for the shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Go returns the request as a program that needs the standard library alone.
func (r Request) Go() string {
	imports := []string{"fmt", "io", "log", "net/http", "os"}

	var body strings.Builder

	reader := "nil"
	line := func(form string, values ...any) { fmt.Fprintf(&body, "\t"+form+"\n", values...) }
	check := func() { line("if err != nil {\n\t\tlog.Fatal(err)\n\t}") }

	switch {
	case r.Form != nil:
		imports, reader = []string{"bytes", "fmt", "io", "log", "mime/multipart", "net/http", "os"}, "&body"

		line("var body bytes.Buffer")
		line("form := multipart.NewWriter(&body)")

		for _, part := range r.Form {
			if !part.File {
				line("if err := form.WriteField(%q, %q); err != nil {\n\t\tlog.Fatal(err)\n\t}", part.Name, part.Text)
				continue
			}

			line("part, err := form.CreateFormFile(%q, %q)", part.Name, part.Text)
			check()
			line("content, err := os.ReadFile(%q)", part.Text)
			check()
			line("if _, err := part.Write(content); err != nil {\n\t\tlog.Fatal(err)\n\t}")
		}

		line("if err := form.Close(); err != nil {\n\t\tlog.Fatal(err)\n\t}")
	case r.Type == "application/json" && r.Body != "":
		imports, reader = append(imports, "strings"), "body"

		line("body := strings.NewReader(`%s`)", strings.ReplaceAll(r.Body, "`", "` + \"`\" + `"))
	case r.Body != "":
		reader = "body"

		line("body, err := os.Open(%q)", r.Body)
		check()
		line("defer body.Close()")
	}

	// Then the request with its credential and headers.
	line("req, err := http.NewRequest(%q, os.Getenv(\"STAYLEDGER_URL\")+%q, %s)", r.Method, r.target(), reader)
	check()

	switch r.Credential {
	case "x-api-key":
		line("req.Header.Set(\"x-api-key\", os.Getenv(\"STAYLEDGER_KEY\"))")
	case "authorization":
		line("req.Header.Set(\"authorization\", \"Bearer \"+os.Getenv(\"STAYLEDGER_TOKEN\"))")
	}

	for _, h := range r.headers() {
		line("req.Header.Set(%q, %q)", h.Name, h.Text)
	}

	if r.Form != nil {
		line("req.Header.Set(\"content-type\", form.FormDataContentType())")
	}

	// Last, send it and print the answer.
	line("res, err := http.DefaultClient.Do(req)")
	check()
	line("defer res.Body.Close()")
	line("answer, err := io.ReadAll(res.Body)")
	check()
	line("fmt.Println(res.StatusCode, string(answer))")

	return "package main\n\nimport (\n\t\"" + strings.Join(
		imports,
		"\"\n\t\"",
	) + "\"\n)\n\nfunc main() {\n" + body.String() + "}\n"
}

// TypeScript returns the request as a module for a runtime with fetch.
func (r Request) TypeScript() string {
	var out strings.Builder

	line := func(form string, values ...any) { fmt.Fprintf(&out, form+"\n", values...) }
	body := ""

	switch {
	case r.Form != nil:
		line("import { readFile } from \"node:fs/promises\";\n")
		line("const body = new FormData();")

		for _, part := range r.Form {
			if part.File {
				line("body.set(%q, new Blob([await readFile(%q)]), %q);", part.Name, part.Text, part.Text)
			} else {
				line("body.set(%q, %q);", part.Name, part.Text)
			}
		}

		body = "body"
	case r.Type == "application/json" && r.Body != "":
		body = "JSON.stringify(" + strings.ReplaceAll(r.Body, "\n", "\n  ") + ")"
	case r.Body != "":
		line("import { readFile } from \"node:fs/promises\";\n")

		body = fmt.Sprintf("await readFile(%q)", r.Body)
	}

	// Then the call, with only the options that differ from a plain GET.
	line("const res = await fetch(`${process.env.STAYLEDGER_URL}%s`, {", strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$").Replace(r.target()))

	if r.Method != "GET" {
		line("  method: %q,", r.Method)
	}

	var headers []string

	switch r.Credential {
	case "x-api-key":
		headers = append(headers, "\"x-api-key\": `${process.env.STAYLEDGER_KEY}`")
	case "authorization":
		headers = append(headers, "authorization: `Bearer ${process.env.STAYLEDGER_TOKEN}`")
	}

	for _, h := range r.headers() {
		headers = append(headers, fmt.Sprintf("%q: %q", h.Name, h.Text))
	}

	if len(headers) > 0 {
		line("  headers: {\n    %s,\n  },", strings.Join(headers, ",\n    "))
	}

	if body != "" {
		line("  body: %s,", body)
	}

	line("});")
	line("console.log(res.status, await res.text());")

	return out.String()
}
