package reference

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	markdowntext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"stayledger/docs"
)

// newMarkdown returns a reader of Markdown that links what it names of the site.
func newMarkdown(s *Site) goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(linker{s}, 100))),
	)
}

// folderKey has the folder that addresses in a Markdown document are relative to.
var folderKey = parser.NewContextKey()

// linker changes a Markdown document for the site.
type linker struct{ site *Site }

// Transform makes links between guides lead to their pages, links what is named as code, and takes empty headings off
// tables, which would be read out as columns without a name.
func (l linker) Transform(doc *ast.Document, reader markdowntext.Reader, context parser.Context) {
	type change struct {
		node ast.Node
		link string
	}

	folder, _ := context.Get(folderKey).(string)

	var (
		codes []change
		heads []ast.Node
	)

	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}

		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(siteAddress(folder, string(n.Destination)))
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			if link := l.site.link(plainText(n, reader.Source())); link != "" {
				codes = append(codes, change{n, link})
			}
		case *extensionast.TableHeader:
			if strings.TrimSpace(plainText(n, reader.Source())) == "" {
				heads = append(heads, n)
			}
		}

		return ast.WalkContinue, nil
	})

	for _, c := range codes {
		link := ast.NewLink()
		link.Destination = []byte(c.link)
		c.node.Parent().ReplaceChild(c.node.Parent(), c.node, link)
		link.AppendChild(link, c.node)
	}

	for _, head := range heads {
		head.Parent().RemoveChild(head.Parent(), head)
	}
}

// plainText returns the text of a node and what is in it.
func plainText(n ast.Node, source []byte) string {
	var out strings.Builder

	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering {
			out.Write(t.Segment.Value(source))
		}

		return ast.WalkContinue, nil
	})

	return out.String()
}

// siteAddress turns the target of a link in a folder into an address: cutover.md#x becomes /docs/guides/cutover#x.
func siteAddress(folder, target string) string {
	file, place, hasPlace := strings.Cut(target, "#")
	if file == "" || strings.Contains(file, ":") || strings.HasPrefix(file, "/") {
		return target
	}

	address := path.Join(folder, strings.TrimSuffix(file, ".md"))
	if hasPlace {
		address += "#" + place
	}

	return address
}

// renderAsMarkdown returns a page as Markdown, and whether there is such a page: guides and the changelog as
// written, all others converted from HTML.
func (s *Site) renderAsMarkdown(address string) (page []byte, found bool, err error) {
	if address == changelogPath {
		return []byte(strings.ReplaceAll(docs.Changelog, "](guides/", "]("+guidePath)), true, nil
	}

	v, err := s.view(address)
	if err != nil || v.Kind == "missing" || v.Markdown() == "" {
		return nil, false, err
	}

	if v.Guide != nil {
		page, err = s.guideSource(v.Guide.Slug)
		return page, err == nil, err
	}

	var html bytes.Buffer
	if err := s.set.ExecuteTemplate(&html, "content-of-page", v); err != nil {
		return nil, false, fmt.Errorf("make the page %q: %w", address, err)
	}

	page, err = converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin())).
		ConvertReader(&html)
	if err != nil {
		return nil, false, fmt.Errorf("write the page %q as Markdown: %w", address, err)
	}

	return append(page, '\n'), true, nil
}

// renderContents returns /llms.txt: all pages with the addresses of their Markdown, as llmstxt.org has it.
func (s *Site) renderContents() []byte {
	var out bytes.Buffer

	fmt.Fprintf(&out, "# %s\n\n> %s\n", s.Title, strings.Join(strings.Fields(s.About), " "))
	fmt.Fprintf(&out, "\n## Guides\n\n")

	for _, g := range guides {
		fmt.Fprintf(&out, "- [%s](%s%s.md): %s\n", g.Title, guidePath, g.Slug, g.About)
	}

	fmt.Fprintf(&out, "\n## Chapters\n\n")

	for _, c := range chapters {
		fmt.Fprintf(&out, "- [%s](%s%s.md)\n", c.Title, chapterPath, c.Slug)
	}

	for _, group := range s.Groups {
		fmt.Fprintf(&out, "\n## %s\n\n", group.Name)

		for _, o := range group.Operations {
			fmt.Fprintf(&out, "- [%s](%s%s.md): `%s %s`\n", o.Summary, operationPath, o.ID, o.Method, o.Path)
		}
	}

	fmt.Fprintf(&out, "\n## Optional\n\n- [OpenAPI description](/openapi.json)\n- [Changelog](%s.md)\n", changelogPath)

	return out.Bytes()
}
