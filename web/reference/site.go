package reference

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"

	"stayledger/docs"
	"stayledger/platform/apierr"
	"stayledger/web"
	"stayledger/web/search"
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
	Guides   []Guide
	Chapters []Chapter
	set      *template.Template
	markdown goldmark.Markdown
	files    map[string]web.Asset
	// routes has the operations by method and path, with {} for each parameter.
	routes map[string]*Operation
	// raises has the operations that name a reason.
	raises map[string][]*Operation
	// index is made when somebody first searches.
	index func() (*search.Index, error)
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
	{"breaks", "What counts as a break"},
}

// Addresses of the pages and of the files that they need.
const (
	homePath      = "/docs"
	chapterPath   = "/docs/chapters/"
	operationPath = "/docs/operations/"
	stylePath     = "/docs/reference.css"
	scriptPath    = "/docs/reference.js"
	contentsPath  = "/llms.txt"
)

// New prepares the pages of a description. It fails for a description that cannot be read and for a page that
// cannot be rendered.
func New(description []byte) (*Site, error) {
	d, err := readDocument(description)
	if err != nil {
		return nil, err
	}

	s := &Site{
		Document: d, Guides: guides, Chapters: chapters, files: map[string]web.Asset{}, routes: map[string]*Operation{},
		raises: map[string][]*Operation{},
	}
	s.markdown = newMarkdown(s)
	s.index = sync.OnceValues(s.newIndex)

	for _, o := range s.Operations() {
		s.routes[routeKey(o.Method+" "+o.Path)] = o

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
		"files":    listFiles,
	}).ParseFS(templates, "page.html", "chapters/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates of the reference: %w", err)
	}

	s.addFile(stylePath, "text/css; charset=utf-8", style)
	s.addFile(scriptPath, "text/javascript; charset=utf-8", script)

	return s, s.addGuideFiles()
}

func (s *Site) addFile(path, contentType string, body []byte) {
	s.files[path] = web.Asset{Path: path, ContentType: contentType, Body: body, Tag: web.Tag(body), Kept: true}
}

// Style returns the address of the style of all pages. It changes with the content, as that of the script does.
func (s *Site) Style() string { return s.address(stylePath) }

// Script returns the address of the script of all pages.
func (s *Site) Script() string { return s.address(scriptPath) }

func (s *Site) address(path string) string { return path + "?v=" + s.files[path].Tag }

// Asset returns what is at an address, such as /docs/guides/webhooks, /docs/guides/webhooks.md or /llms.txt, and whether
// it exists; for an unknown address it returns a page that says so. It fails if a template cannot be rendered.
func (s *Site) Asset(address string) (web.Asset, bool, error) {
	if file, found := s.files[address]; found {
		return file, true, nil
	}

	asset := web.Asset{Path: address, ContentType: "text/html; charset=utf-8", Policy: policy}

	var (
		found bool
		err   error
	)

	page, isMarkdown := strings.CutSuffix(address, ".md")
	switch {
	case address == contentsPath:
		asset.ContentType, asset.Body, found = "text/plain; charset=utf-8", s.renderContents(), true
	case isMarkdown:
		asset.Body, found, err = s.renderAsMarkdown(page)
		if found {
			asset.ContentType = "text/markdown; charset=utf-8"
		}
	}

	if !found && err == nil {
		asset.Body, found, err = s.renderPage(address)
	}

	asset.Tag = web.Tag(asset.Body)

	return asset, found, err
}

// policy is that of the other pages, and the form of the search.
var policy = strings.Replace(web.Policy, "form-action 'none'", "form-action 'self'", 1)

// view is the data of the templates.
type view struct {
	*Site
	Address, Title, Kind string
	Operation            *Operation
	Chapter              *Chapter
	Guide                *Guide
	Group                string
	Text                 template.HTML
	Query                string
	Hits                 []search.Hit
}

// Markdown returns the address of the page as Markdown, empty if there is none.
func (v view) Markdown() string {
	switch v.Kind {
	case "guide", "chapter", "operation", "changelog":
		return v.Address + ".md"
	}

	return ""
}

// view returns the data of the page at an address. That of an unknown one is of the kind missing.
func (s *Site) view(address string) (view, error) {
	v := view{Site: s, Address: address}
	name := address[strings.LastIndex(address, "/")+1:]

	var err error

	chapter := slices.IndexFunc(chapters, func(c Chapter) bool { return c.Slug == name })
	switch {
	case address == homePath:
		v.Title, v.Kind = "Overview", "overview"
	case address == changelogPath:
		v.Title, v.Kind = "Changelog", "changelog"
		v.Text, err = asHTML(s.renderChangelog(docs.Changelog))
	case address == guidePath+name && guideNamed(name) != nil:
		v.Guide, v.Kind = guideNamed(name), "guide"
		v.Title = v.Guide.Title
		v.Text, err = asHTML(s.renderGuide(name))
	case address == operationPath+name && s.operations[name] != nil:
		v.Operation, v.Kind = s.operations[name], "operation"
		v.Title, v.Group = v.Operation.Summary, v.Operation.Tag
	case address == chapterPath+name && chapter >= 0:
		v.Chapter, v.Title, v.Kind = &chapters[chapter], chapters[chapter].Title, "chapter"

		// The text of a chapter is a template of its own.
		var text bytes.Buffer

		err = s.set.ExecuteTemplate(&text, name+".html", v)
		v.Text = template.HTML(text.String()) //nolint:gosec // the template has escaped it
	default:
		v.Title, v.Kind = "There is no such page", "missing"
	}

	if err != nil {
		return v, fmt.Errorf("make the page %q: %w", address, err)
	}

	return v, nil
}

// asHTML takes a text of our own files that was rendered as it is.
func asHTML(text []byte, err error) (template.HTML, error) {
	return template.HTML(text), err //nolint:gosec // files of the program, and the renderer escapes what is no Markdown
}

// renderPage renders the page at an address and reports whether it exists; for an unknown address it renders a page that
// says so. It fails if a template cannot be rendered.
func (s *Site) renderPage(address string) (page []byte, found bool, err error) {
	v, err := s.view(address)
	if err != nil {
		return nil, false, err
	}

	page, err = s.renderView(v)

	return page, v.Kind != "missing", err
}

func (s *Site) renderView(v view) ([]byte, error) {
	var out bytes.Buffer
	if err := s.set.ExecuteTemplate(&out, "page.html", v); err != nil {
		return nil, fmt.Errorf("make the page %q: %w", v.Address, err)
	}

	return out.Bytes(), nil
}

// Addresses returns the addresses of all pages.
func (s *Site) Addresses() []string {
	all := []string{homePath, searchPath, changelogPath}
	for _, g := range guides {
		all = append(all, guidePath+g.Slug)
	}

	for _, c := range chapters {
		all = append(all, chapterPath+c.Slug)
	}

	for _, o := range s.Operations() {
		all = append(all, operationPath+o.ID)
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

// link returns the page of an operation, by its id or its method and path, of a reason or of a code, empty for another
// text.
func (s *Site) link(text string) string {
	if s.operations[text] != nil {
		return operationPath + text
	}

	if o := s.routes[routeKey(text)]; o != nil {
		return operationPath + o.ID
	}

	if slices.Contains(s.Reasons, text) || slices.Contains(s.Codes, text) {
		return chapterPath + "errors#" + text
	}

	return ""
}

// routeKey returns a method and path without names of parameters and without the query.
func routeKey(route string) string {
	route, _, _ = strings.Cut(route, "?")
	return parameterName.ReplaceAllString(route, "{}")
}

var parameterName = regexp.MustCompile(`\{[^}]*\}`)

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
