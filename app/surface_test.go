package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/docs"
)

// surface is what callers and generated clients hold on to: operations, parameters, scopes, types, fields and values,
// each with what it is, such as "Reservation.nights" with "integer".
type surface map[string]string

// kinds are the parts of a section of the changelog that can name a change, by what happened.
var kinds = map[string][]string{
	"gone":     {"Breaks"},
	"demanded": {"Breaks"},
	"new":      {"Additions", "Breaks"},
	"changed":  {"Breaks", "Repairs"},
}

// What callers hold on to differs from the recorded surface only as the changelog says: in the sections that are newer
// than the record, what is gone, or demanded of requests, under Breaks, what is new under Additions, and what has
// changed under Breaks or Repairs. UPDATE_SURFACE=1 (make surface) records the surface for the newest section, once all is said there. See ADR 17.
func TestTheChangelogNamesWhatCallersHoldOnTo(t *testing.T) {
	t.Parallel()

	const record = "../docs/surface.txt"

	d, err := app.Describe()
	if err != nil {
		t.Fatal(err)
	}

	now, asked := readSurface(t, d.JSON)
	sections := readSections(docs.Changelog)

	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}

	day, lines, _ := strings.Cut(string(text), "\n")

	then := surface{}

	for line := range strings.Lines(lines) {
		key, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		then[key] = what
	}

	// A section that is closed has its own record: else changes of the next one would be compared with the wrong one.
	if len(sections) > 1 && day < sections[1].day {
		t.Errorf("%s is of %s: record the surface of %s before the next section begins", record, day, sections[1].day)
	}

	said := newerThan(sections, day)

	for _, change := range differences(then, now, asked) {
		if !slices.ContainsFunc(kinds[change.what], func(kind string) bool { return names(said[kind], change.key) }) {
			t.Errorf("%s is %s: %q, was %q; the changelog has to name it under %s", change.key, change.what, now[change.key],
				then[change.key], strings.Join(kinds[change.what], " or "))
		}
	}

	if os.Getenv("UPDATE_SURFACE") != "1" || t.Failed() {
		return
	}

	var out bytes.Buffer

	fmt.Fprintln(&out, sections[0].day)

	for _, key := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(&out, "%s\t%s\n", key, now[key])
	}

	if err := os.WriteFile(record, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change is a difference between two surfaces.
type change struct{ key, what string }

// differences returns what became of each key. New types count for nothing: what uses them does.
func differences(then, now surface, asked map[string]bool) []change {
	var out []change

	for _, key := range slices.Sorted(maps.Keys(then)) {
		switch what, there := now[key]; {
		case !there && !ownerGone(key, now):
			out = append(out, change{key, "gone"})
		case there && what != then[key]:
			out = append(out, change{key, "changed"})
		}
	}

	for _, key := range slices.Sorted(maps.Keys(now)) {
		owner := ownerOf(key)
		_, known := then[key]
		_, knownOwner := then[owner]

		switch {
		case known, !knownOwner && owner != key, owner == key && !strings.Contains(key, " /"):
		case strings.HasSuffix(now[key], " required") && (strings.Contains(key, " /") || asked[owner]):
			out = append(out, change{key, "demanded"})
		default:
			out = append(out, change{key, "new"})
		}
	}

	return out
}

// ownerOf returns the type or the operation that a key belongs to.
func ownerOf(key string) string {
	if words := strings.SplitN(key, " ", 3); len(words) > 1 && strings.HasPrefix(words[1], "/") {
		return words[0] + " " + words[1]
	}

	end := strings.IndexAny(key, ".=")
	if end < 0 {
		return key
	}

	return key[:end]
}

// ownerGone reports whether a key is gone with its owner, which says it all.
func ownerGone(key string, now surface) bool {
	owner := ownerOf(key)
	_, there := now[owner]

	return owner != key && !there
}

// names reports whether one of the entries has a key between backticks, or its owner and its last word.
func names(entries []map[string]bool, key string) bool {
	owner := ownerOf(key)
	last := key[strings.LastIndexAny(key, ".= ?")+1:]

	return slices.ContainsFunc(entries, func(words map[string]bool) bool {
		return words[key] || words[owner] && words[last]
	})
}

// section is a day of the changelog, with the words between backticks of each entry by the part that it stands in.
type section struct {
	day   string
	parts map[string][]map[string]bool
}

var quoted = regexp.MustCompile("`([^`]+)`")

// readSections returns the sections of the changelog, the newest first.
func readSections(changelog string) []section {
	var out []section

	for _, text := range regexp.MustCompile(`(?m)^## `).Split(changelog, -1)[1:] {
		day, rest, _ := strings.Cut(text, "\n")
		s := section{day: day, parts: map[string][]map[string]bool{}}

		for _, part := range regexp.MustCompile(`(?m)^### `).Split(rest, -1)[1:] {
			kind, entries, _ := strings.Cut(part, "\n")
			for _, entry := range regexp.MustCompile(`(?m)^- `).Split(entries, -1)[1:] {
				words := map[string]bool{}
				for _, word := range quoted.FindAllStringSubmatch(strings.Join(strings.Fields(entry), " "), -1) {
					words[word[1]] = true
				}

				s.parts[kind] = append(s.parts[kind], words)
			}
		}

		out = append(out, s)
	}

	return out
}

// newerThan returns the entries of all sections after a day.
func newerThan(sections []section, day string) map[string][]map[string]bool {
	out := map[string][]map[string]bool{}

	for _, s := range sections {
		if s.day > day {
			for kind, entries := range s.parts {
				out[kind] = append(out[kind], entries...)
			}
		}
	}

	return out
}

// reader collects the surface of a description.
type reader struct {
	root  object
	out   surface
	asked map[string]bool
}

// object is an object of a description.
type object = map[string]any

// readSurface returns the surface of a description, and the types that requests can contain.
func readSurface(t *testing.T, description []byte) (surface, map[string]bool) {
	t.Helper()

	r := reader{out: surface{}, asked: map[string]bool{}}
	if err := json.Unmarshal(description, &r.root); err != nil {
		t.Fatal(err)
	}

	components, _ := r.root["components"].(object)
	schemas, _ := components["schemas"].(object)

	for name, schema := range schemas {
		r.readType(name, schema)
	}

	paths, _ := r.root["paths"].(object)
	for path, item := range paths {
		methods, _ := item.(object)
		for method, op := range methods {
			if method != "parameters" {
				r.readOperation(strings.ToUpper(method)+" "+path, methods["parameters"], op)
			}
		}
	}

	return r.out, r.asked
}

// resolve returns the object that a reference leads to; others stay as they are.
func (r *reader) resolve(node any) object {
	one, _ := node.(object)

	ref, refers := one["$ref"].(string)
	if !refers {
		return one
	}

	at := r.root
	for word := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at, _ = at[word].(object)
	}

	return at
}

// readType adds a type, a parameter or an object inside one, with its fields and values.
func (r *reader) readType(key string, node any) {
	schema, _ := node.(object)
	if !strings.ContainsAny(key, ". ") {
		r.out[key] = typeText(schema)
	}

	for _, word := range []string{"enum", "x-known-values"} {
		values, _ := schema[word].([]any)
		for _, value := range values {
			if value != nil {
				r.out[fmt.Sprintf("%s=%v", key, value)] = ""
			}
		}
	}

	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(object)

	for name, property := range properties {
		what := typeText(property)
		if slices.Contains(required, any(name)) {
			what += " required"
		}

		r.out[key+"."+name] = what
		r.readType(key+"."+name, property)
	}

	if schema["items"] != nil {
		r.readType(key, schema["items"])
	}
}

// readOperation adds an operation with its parameters, its body, its answers and its scopes.
func (r *reader) readOperation(key string, common, node any) {
	op, _ := node.(object)
	r.out[key] = fmt.Sprint(op["operationId"])
	r.out[key+" scopes"] = fmt.Sprint(op["x-scopes"])

	for _, list := range []any{common, op["parameters"]} {
		parameters, _ := list.([]any)
		for _, parameter := range parameters {
			one := r.resolve(parameter)

			what := fmt.Sprint(one["in"], " ", typeText(one["schema"]))
			if one["required"] == true {
				what += " required"
			}

			name := fmt.Sprint(key, " ", one["name"])
			r.out[name] = what
			r.readType(name, one["schema"])
		}
	}

	if body := r.resolve(op["requestBody"]); body != nil {
		r.out[key+" body"] = contentText(body)
		r.ask(body)
	}

	responses, _ := op["responses"].(object)
	for status, response := range responses {
		r.out[key+" "+status] = contentText(r.resolve(response))
	}
}

// ask notes the types that a body can contain.
func (r *reader) ask(node any) {
	switch n := node.(type) {
	case []any:
		for _, one := range n {
			r.ask(one)
		}
	case object:
		for _, one := range n {
			r.ask(one)
		}

		ref, _ := n["$ref"].(string)
		if name := strings.TrimPrefix(ref, "#/components/schemas/"); ref != "" && !r.asked[name] {
			r.asked[name] = true
			r.ask(r.resolve(n))
		}
	}
}

// contentText says which types a body or an answer has.
func contentText(of object) string {
	var out []string

	content, _ := of["content"].(object)
	for media, one := range content {
		holder, _ := one.(object)
		out = append(out, media+" "+typeText(holder["schema"]))
	}

	slices.Sort(out)

	return strings.Join(out, ", ")
}

// typeText says what a schema is: the name of its type, or the words that decide which values it takes.
func typeText(node any) string {
	schema, _ := node.(object)
	if ref, ok := schema["$ref"].(string); ok {
		return ref[strings.LastIndex(ref, "/")+1:]
	}

	var out []string

	for _, word := range []string{"type", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if value := schema[word]; value != nil {
			out = append(out, strings.TrimPrefix(fmt.Sprint(word, " ", value), "type "))
		}
	}

	if schema["items"] != nil {
		out = append(out, "of "+typeText(schema["items"]))
	}

	choices, _ := schema["anyOf"].([]any)
	for _, choice := range choices {
		out = append(out, "or "+typeText(choice))
	}

	if schema["additionalProperties"] == false {
		out = append(out, "closed")
	}

	return strings.Join(out, " ")
}
