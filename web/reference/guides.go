package reference

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/parser"

	"stayledger/docs"
	"stayledger/web"
)

// Guide is a page that leads through a task, from the file docs/guides/Slug.md.
type Guide struct {
	Slug, Title, About string
	// IsSpecial says that few readers need it, so that the search shows other pages first.
	IsSpecial bool
}

// guidesText has a line for each guide in the order in which a newcomer needs them: its file, its title and a sentence. Those
// below the empty line are for few readers.
//
//go:embed guides.txt
var guidesText string

var guides = readGuides(guidesText)

// readGuides reads the table of guides.
func readGuides(text string) []Guide {
	var out []Guide

	isSpecial := false

	for line := range strings.Lines(strings.TrimSpace(text)) {
		row := strings.Split(strings.TrimSpace(line), " | ")
		if len(row) < 3 {
			isSpecial = true
			continue
		}

		out = append(out, Guide{Slug: row[0], Title: row[1], About: row[2], IsSpecial: isSpecial})
	}

	return out
}

// prefix of the addresses of guides and of the files that they give away.
const guidePath = "/docs/guides/"

// guideSource returns the Markdown of a guide as the site gives it: links to what is not on the site are their text.
func (s *Site) guideSource(slug string) ([]byte, error) {
	source, err := docs.Guides.ReadFile("guides/" + slug + ".md")
	if err != nil {
		return nil, fmt.Errorf("read the guide %s: %w", slug, err)
	}

	return markdownLink.ReplaceAllFunc(source, func(link []byte) []byte {
		parts := markdownLink.FindSubmatch(link)
		if isOnSite(string(parts[2])) {
			return link
		}

		return parts[1]
	}), nil
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)

// isOnSite reports whether the target of a link in a guide can be reached from the site: another guide, a file of one, or
// an address of its own.
func isOnSite(target string) bool {
	target, _, _ = strings.Cut(target, "#")
	if target == "" || strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
		return true
	}

	info, err := fs.Stat(docs.Guides, path.Join("guides", target))

	return err == nil && !info.IsDir()
}

// renderGuide renders a guide.
func (s *Site) renderGuide(slug string) ([]byte, error) {
	source, err := s.guideSource(slug)
	if err != nil {
		return nil, err
	}

	return s.renderMarkdown(source, guidePath)
}

// addGuideFiles adds the files that guides give away, such as guides/first-hour/stays.csv.
func (s *Site) addGuideFiles() error {
	err := fs.WalkDir(docs.Guides, "guides", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) == ".md" {
			return err
		}

		body, err := docs.Guides.ReadFile(name)
		if err != nil {
			return err
		}

		contentType := mime.TypeByExtension(path.Ext(name))
		if path.Ext(name) == ".csv" {
			contentType = "text/csv" // the encoding differs, so it is not named
		}

		address := "/docs/" + name
		s.files[address] = web.Asset{Path: address, ContentType: contentType, Body: body, Tag: web.Tag(body)}

		return nil
	})
	if err != nil {
		return fmt.Errorf("read the files of guides: %w", err)
	}

	return nil
}

// listFiles returns the names of the files that a guide gives away.
func listFiles(slug string) []string {
	entries, _ := docs.Guides.ReadDir("guides/" + slug) // most guides have none
	names := make([]string, 0, len(entries))

	for _, e := range entries {
		names = append(names, e.Name())
	}

	return names
}

// guideNamed returns the guide of a slug, or nil.
func guideNamed(slug string) *Guide {
	for i := range guides {
		if guides[i].Slug == slug {
			return &guides[i]
		}
	}

	return nil
}

// tables and code blocks of Markdown as the style of the pages has them. Code that is wider than the page can be scrolled
// with the keyboard.
var dress = strings.NewReplacer(
	"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`,
	"</table>", "</table></div>",
	"<pre>", `<pre tabindex="0" role="group" aria-label="Code">`,
	"<th>", `<th scope="col">`,
)

// renderMarkdown renders Markdown of a folder of the site, such as /docs/guides/: headings have ids, and operations and
// reasons that are named as code become links.
func (s *Site) renderMarkdown(source []byte, folder string) ([]byte, error) {
	var out bytes.Buffer

	context := parser.NewContext()
	context.Set(folderKey, folder)

	if err := s.markdown.Convert(source, &out, parser.WithContext(context)); err != nil {
		return nil, fmt.Errorf("render Markdown: %w", err)
	}

	return []byte(dress.Replace(out.String())), nil
}
