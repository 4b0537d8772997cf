package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"stayledger/platform/apierr"
	"stayledger/web"
)

//go:embed page.html chapters
var templates embed.FS

//go:embed reference.css
var style []byte

//go:embed reference.js
var script []byte

// Site is all pages of a description.
type Site struct {
	*Document
	Chapters []Chapter
	set      *template.Template
	files    map[string]web.Asset
	// raises has the operations that name a reason.
	raises map[string][]*Operation
}

// Chapter is a page about what many operations share.
type Chapter struct{ Slug, Title string }

// chapters in the order in which a newcomer reads them. Each has a file with its text and, for what it shows of the
// service, requests in samples.
var chapters = []Chapter{
	{"start", "Getting started"},
	{"authentication", "Authentication"},
	{"paging", "Lists: paging, sorting, filters"},
	{"errors", "Errors"},
	{"issues", "Codes of issues"},
	{"context", "Details of errors"},
	{"idempotency", "Idempotency"},
	{"waiting", "Waiting for operations"},
	{"dry-run", "Dry run"},
	{"versions", "Versions"},
}

// The files that pages link to, by their path after /docs. The index of the search is made from the description.
const (
	stylePath  = "/reference.css"
	scriptPath = "/reference.js"
	searchPath = "/search.json"
)

// New prepares the pages of a description. It fails for a description that cannot be read and for a page that
// cannot be rendered.
func New(description []byte) (*Site, error) {
	d, err := readDocument(description)
	if err != nil {
		return nil, err
	}

	s := &Site{Document: d, Chapters: chapters, files: map[string]web.Asset{}, raises: map[string][]*Operation{}}
	for _, o := range s.Operations() {
		for _, reason := range s.findReasons(o) {
			s.raises[reason] = append(s.raises[reason], o)
		}
	}

	// One set of templates for all pages.
	s.set, err = template.New("page.html").Funcs(template.FuncMap{
		"prose":    s.prose,
		"slug":     slug,
		"sample":   sample,
		"about":    AboutReason,
		"faults":   apierr.IssueCodes,
		"statuses": apierr.ByStatus,
		"raises":   s.findByReason,
		"callers":  callers,
		"lower":    strings.ToLower,
	}).ParseFS(templates, "page.html", "chapters/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates of the reference: %w", err)
	}

	// The search index needs the chapters, which need the templates.
	search, err := s.index()
	if err != nil {
		return nil, err
	}

	s.addFile(stylePath, "text/css; charset=utf-8", style)
	s.addFile(scriptPath, "text/javascript; charset=utf-8", script)
	s.addFile(searchPath, "application/json", search)

	return s, nil
}

func (s *Site) addFile(path, contentType string, body []byte) {
	s.files[path] = web.Asset{Path: path, ContentType: contentType, Body: body, Tag: web.Tag(body), Kept: true}
}

// Style returns the address of the style of all pages. It changes with the content, as those of the script and the
// search index do.
func (s *Site) Style() string { return s.address(stylePath) }

// Script returns the address of the script of all pages.
func (s *Site) Script() string { return s.address(scriptPath) }

// Search returns the address of the search index.
func (s *Site) Search() string { return s.address(searchPath) }

func (s *Site) address(path string) string { return "/docs" + path + "?v=" + s.files[path].Tag }

// Asset returns the file at /docs followed by path, and whether it exists; for an unknown path it returns a page
// that says so. It fails if a template cannot be rendered.
func (s *Site) Asset(path string) (web.Asset, bool, error) {
	if file, found := s.files[path]; found {
		return file, true, nil
	}

	body, found, err := s.renderPage(path)

	return web.Asset{Path: path, ContentType: "text/html; charset=utf-8", Body: body, Tag: web.Tag(body)}, found, err
}

// view is the data of the templates.
type view struct {
	*Site
	Title, Kind string
	Operation   *Operation
	Chapter     *Chapter
	Group       string
	Text        template.HTML
}

// renderPage renders the page at /docs followed by path, such as "", "/chapters/errors" or "/operations/listTeams", and
// reports whether it exists; for an unknown path it renders a page that says so. It fails if a template cannot be
// rendered.
func (s *Site) renderPage(path string) (page []byte, found bool, err error) {
	v := view{Site: s, Title: "Overview", Kind: "overview"}
	name := path[strings.LastIndex(path, "/")+1:]

	chapter := slices.IndexFunc(chapters, func(c Chapter) bool { return c.Slug == name })
	switch {
	case path == "":
	case path == "/operations/"+name && s.operations[name] != nil:
		v.Operation, v.Kind = s.operations[name], "operation"
		v.Title, v.Group = v.Operation.Summary, v.Operation.Tag
	case path == "/chapters/"+name && chapter >= 0:
		v.Chapter, v.Title, v.Kind = &chapters[chapter], chapters[chapter].Title, "chapter"

		// The text of a chapter is a template of its own.
		var text bytes.Buffer
		if err := s.set.ExecuteTemplate(&text, name+".html", v); err != nil {
			return nil, false, fmt.Errorf("make the chapter %s: %w", name, err)
		}

		v.Text = template.HTML(text.String()) //nolint:gosec // the template has escaped it
	default:
		v.Title, v.Kind = "There is no such page", "missing"
	}

	var out bytes.Buffer
	if err := s.set.ExecuteTemplate(&out, "page.html", v); err != nil {
		return nil, false, fmt.Errorf("make the page %q: %w", path, err)
	}

	return out.Bytes(), v.Kind != "missing", nil
}

// Paths returns the paths of all pages.
func (s *Site) Paths() []string {
	all := []string{""}
	for _, c := range chapters {
		all = append(all, "/chapters/"+c.Slug)
	}

	for _, o := range s.Operations() {
		all = append(all, "/operations/"+o.ID)
	}

	return all
}

func callers(o *Operation) string {
	if o.Public {
		return "anybody, without a credential"
	}

	return strings.Join(o.Callers, ", ")
}

// slug returns a name as it is written in an address.
func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// Span is a piece of text: plain, code, or a link.
type Span struct {
	Text, Link string
	Code       bool
}

// findByReason returns the operations that name a reason, or nil if most of them do: a reason shared by most operations
// says nothing about a single operation.
func (s *Site) findByReason(reason string) []*Operation {
	if found := s.raises[reason]; 2*len(found) <= len(s.Operations()) {
		return found
	}

	return nil
}

// prose splits a text of the description: text between backticks is code, and names of operations and reasons
// become links.
func (s *Site) prose(text string) []Span {
	var out []Span

	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			out = append(out, Span{Text: part, Code: true, Link: s.link(part)})
			continue
		}

		rest := part
		for rest != "" {
			// Take one word, or one character between words.
			end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			switch {
			case end < 0:
				end = len(rest)
			case end == 0:
				end = len(string([]rune(rest)[0]))
			}

			word := rest[:end]
			rest = rest[end:]

			// Only names in mixed case become links: others are ordinary words.
			if link := s.link(word); link != "" && strings.ToLower(word) != word {
				out = append(out, Span{Text: word, Code: true, Link: link})
			} else if n := len(out); n > 0 && !out[n-1].Code {
				out[n-1].Text += word
			} else {
				out = append(out, Span{Text: word})
			}
		}
	}

	return out
}

// link returns the page of an operation, of a reason or of a code, empty for another word.
func (s *Site) link(word string) string {
	if s.operations[word] != nil {
		return "/docs/operations/" + word
	}

	if slices.Contains(s.Reasons, word) || slices.Contains(s.Codes, word) {
		return "/docs/chapters/errors#" + word
	}

	return ""
}

// findReasons returns the reasons that an operation names, in its text or among the conditions of its failures.
func (s *Site) findReasons(o *Operation) []string {
	var out []string

	add := func(reason string) {
		if slices.Contains(s.Reasons, reason) && !slices.Contains(out, reason) {
			out = append(out, reason)
		}
	}
	for _, span := range s.prose(o.About) {
		add(span.Text)
	}

	for _, f := range o.Failures {
		for _, span := range s.prose(f.About) {
			add(span.Text)
		}
	}

	return out
}

// words is the search index. Parameters, fields and reasons refer to places in the list of operations.
type words struct {
	Operations [][]string       `json:"operations"` // id, method, path, summary, tag
	Chapters   [][]string       `json:"chapters"`   // address, title, text of the heading
	Parameters map[string][]int `json:"parameters"`
	Fields     map[string][]int `json:"fields"`
	Reasons    map[string][]int `json:"reasons"`
}

// index returns the search index as JSON. It fails if a chapter cannot be rendered.
func (s *Site) index() ([]byte, error) {
	x := words{Parameters: map[string][]int{}, Fields: map[string][]int{}, Reasons: map[string][]int{}}
	for i, o := range s.Operations() {
		x.Operations = append(x.Operations, []string{o.ID, o.Method, o.Path, o.Summary, o.Tag})

		note := func(into map[string][]int, name string) {
			if name != "" && !slices.Contains(into[name], i) {
				into[name] = append(into[name], i)
			}
		}
		for _, p := range o.Parameters {
			note(x.Parameters, p.Name)
		}

		// Every field of the body and the answers, however deep.
		var walk func(f *Field)

		walk = func(f *Field) {
			note(x.Fields, f.Name)

			for _, inner := range f.Fields {
				walk(inner)
			}
		}
		if o.Body != nil {
			walk(o.Body.Schema)
		}

		for _, a := range o.Answers {
			if a.Content != nil {
				walk(a.Content.Schema)
			}
		}

		for reason, raised := range s.raises {
			if slices.Contains(raised, o) {
				note(x.Reasons, reason)
			}
		}
	}

	// Chapters can be found by their headings.
	for _, c := range chapters {
		page, _, err := s.renderPage("/chapters/" + c.Slug)
		if err != nil {
			return nil, err
		}

		x.Chapters = append(x.Chapters, []string{"/docs/chapters/" + c.Slug, c.Title, ""})

		for _, part := range strings.Split(string(page), `<h2 id="`)[1:] {
			id, rest, _ := strings.Cut(part, `">`)

			heading, _, _ := strings.Cut(rest, "</h2>")
			if !strings.ContainsAny(id+heading, "<") && !strings.HasPrefix(id, "/") {
				x.Chapters = append(x.Chapters, []string{"/docs/chapters/" + c.Slug + "#" + id, c.Title, heading})
			}
		}
	}

	out, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("encode the search index: %w", err)
	}

	return out, nil
}
