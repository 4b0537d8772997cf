package tidy_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The gauges of plain text (STYLE.md) and the worst value that each may have. They are measured over all Go files but
// tests and generated ones.
const (
	mostWalls       = 10  // percent of the functions of 25 lines and more
	leastInside     = 20  // comment lines inside functions, per 1000 lines
	mostLong        = 10  // lines over 120 columns, per 1000
	mostThings      = 8   // percent of the comments of functions that begin with the name
	mostParticiples = 1.5 // percent of the functions
	mostOfs         = 0.5 // percent of the functions
	mostOddWords    = 1   // per 1000 words of comment
	mostSilent      = 0   // functions of ten lines and more without a comment above
)

const (
	lineWidth = 120
	tabWidth  = 4
	longBody  = 25
	shortBody = 10
)

// gauges counts what the goals of plain text are about.
type gauges struct {
	lines, long      int
	words, oddWords  int
	functions        int
	participles, ofs int
	long25, walls    int
	inside, silent   int
	named, things    int
	worst            []string
}

// participle matches the first word of a name that is a past participle or an adverb; plainVerbs are verbs that look
// like one.
var (
	participle = regexp.MustCompile(`^(\w+ed|told|shown|known|held|kept|made|given|drawn|said|begun|found|cut|seen|sent|taken|written|broken|built|left|sound|beside|own)$`)
	plainVerbs = []string{"need", "feed", "embed", "seed", "speed", "exceed", "proceed", "shed", "bleed"}
	endsInOf   = regexp.MustCompile(`[a-z]Of$`)
	oddWord    = regexp.MustCompile(`(?i)\b(told|tells|beside|stands|nobody|whose|whom)\b|\b(is|are|from|of) what\b`)
	anyWord    = regexp.MustCompile(`[a-z']+`)
)

func TestTextIsPlain(t *testing.T) {
	t.Parallel()

	var g gauges

	for _, file := range goFiles(t) {
		if file.isTest() || generated.MatchString(file.content) {
			continue
		}

		g.countLines(file)
		g.countFunctions(file)
	}

	for _, gauge := range []struct {
		name        string
		value, goal float64
		isLeast     bool
	}{
		{"percent of long functions have neither a blank line nor a comment", share(g.walls, g.long25, 100), mostWalls, false},
		{"comment lines inside functions per 1000 lines", share(g.inside, g.lines, 1000), leastInside, true},
		{"lines of 1000 are wider than 120 columns", share(g.long, g.lines, 1000), mostLong, false},
		{"percent of function comments say what the function is, not what it does", share(g.things, g.named, 100), mostThings, false},
		{"percent of function names begin with a participle", share(g.participles, g.functions, 100), mostParticiples, false},
		{"percent of function names end in Of", share(g.ofs, g.functions, 100), mostOfs, false},
		{"functions of ten lines and more have no comment above", float64(g.silent), mostSilent, false},
		{"words of 1000 in comments are not plain", share(g.oddWords, g.words, 1000), mostOddWords, false},
	} {
		t.Logf("%6.1f %s (goal %v)", gauge.value, gauge.name, gauge.goal)

		if gauge.isLeast && gauge.value < gauge.goal || !gauge.isLeast && gauge.value > gauge.goal {
			t.Errorf("%.1f %s, the goal is %v: see STYLE.md", gauge.value, gauge.name, gauge.goal)
		}
	}

	if t.Failed() {
		t.Log("examples:\n" + strings.Join(g.worst[:min(len(g.worst), 40)], "\n"))
	}
}

func share(part, all int, unit float64) float64 {
	if all == 0 {
		return 0
	}

	return unit * float64(part) / float64(all)
}

// countLines counts wide lines, without struct tags and SQL in back quotes, and the words of comments.
func (g *gauges) countLines(file sourceFile) {
	inQuotes := false

	for line := range strings.Lines(file.content) {
		line = strings.TrimRight(line, "\n")
		isSQL := inQuotes
		inQuotes = inQuotes != (strings.Count(line, "`")%2 == 1)
		g.lines++

		width := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
		if width > lineWidth && !isSQL && !strings.Contains(line, "`") {
			g.long++
		}

		if comment, is := strings.CutPrefix(strings.TrimSpace(line), "//"); is {
			g.words += len(anyWord.FindAllString(strings.ToLower(comment), -1))

			odd := oddWord.FindAllString(comment, -1)
			if g.oddWords += len(odd); len(odd) > 0 {
				g.worst = append(g.worst, file.name+": "+strings.TrimSpace(comment))
			}
		}
	}
}

// countFunctions looks at the names, the comments and the bodies of functions.
func (g *gauges) countFunctions(file sourceFile) {
	lines := strings.Split(file.content, "\n")
	at := func(p token.Pos) int { return strings.Count(file.content[:int(p)-int(file.syntax.FileStart)], "\n") }

	for _, decl := range file.syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}

		g.countName(file, fn)

		if fn.Body == nil {
			continue
		}

		// The lines between the braces; a function on one line has none.
		first, last := at(fn.Body.Lbrace)+1, at(fn.Body.Rbrace)
		body := lines[min(first, last):last]
		blank := slices.ContainsFunc(body, func(l string) bool { return strings.TrimSpace(l) == "" })
		comments := 0

		for _, line := range body {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				comments++
			}
		}

		g.inside += comments

		if len(body) >= shortBody && fn.Doc == nil {
			g.silent++
			g.worst = append(g.worst, file.name+": "+fn.Name.Name+" has no comment")
		}

		if len(body) >= longBody {
			if g.long25++; !blank && comments == 0 {
				g.walls++
				g.worst = append(g.worst, file.name+": "+fn.Name.Name+" has no steps")
			}
		}
	}
}

// countName looks at the name of a function and at the first words of its comment.
func (g *gauges) countName(file sourceFile, fn *ast.FuncDecl) {
	g.functions++

	name := fn.Name.Name

	word := strings.ToLower(firstWord(name))
	if participle.MatchString(word) && !slices.Contains(plainVerbs, word) {
		g.participles++
		g.worst = append(g.worst, file.name+": "+name)
	}

	if endsInOf.MatchString(name) {
		g.ofs++
		g.worst = append(g.worst, file.name+": "+name)
	}

	said := strings.Fields(fn.Doc.Text())
	if len(said) < 2 || !strings.EqualFold(said[0], name) {
		return
	}

	g.named++

	if slices.Contains([]string{"is", "are", "was", "were"}, strings.ToLower(strings.Trim(said[1], ".,:"))) {
		g.things++
		g.worst = append(g.worst, file.name+": "+name+" "+said[1])
	}
}

// firstWord returns the first word of a name in camel case.
func firstWord(name string) string {
	runes := []rune(name)
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
			return string(runes[:i])
		}
	}

	return name
}

// Each page of decisions is about one package, or about one of a few subjects that several packages share.
func TestDecisionsArePagesOfPackages(t *testing.T) {
	t.Parallel()

	comments := map[string]string{} // of packages, by their names

	for _, file := range goFiles(t) {
		if before, _, ok := strings.Cut(file.content, "\npackage "); ok && strings.HasPrefix(before, "// Package ") {
			comments[path.Base(path.Dir(file.name))] += before
		}
	}

	pages := 0

	for _, file := range sources(t) {
		if path.Dir(file.name) != "docs/decisions" {
			continue
		}

		pages++

		comment, ok := comments[strings.TrimSuffix(path.Base(file.name), ".md")]

		switch {
		case !ok:
			t.Errorf("%s is named as no package: name it after the package that it is about", file.name)
		case !strings.Contains(comment, file.name):
			t.Errorf("the comment of the package that %s is about does not name the page", file.name)
		}
	}

	if pages == 0 {
		t.Error("there is no page of decisions in docs/decisions")
	}
}
