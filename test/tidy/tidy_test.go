// Package tidy_test has rules about the code itself that no linter knows. A message says what to do.
package tidy_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "stayledger/"

// TestMain runs the tests in the root of the repository, so that all names of files are relative to it.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}

	os.Exit(m.Run())
}

// folders are those of domain/ with their packages, in import order: each package may import those before it and none
// after it (ARCHITECTURE.md).
var folders = []struct{ name, nouns string }{
	{"record", "audit operation file intake export paper trail proof"},
	{"books", "ledger bank account tax trial"},
	{"tenant", "team access connection webhook"},
	{"property", "contact listing"},
	{"activity", "fee mapping linemapping reservation transaction opening recurring journal"},
	{"banking", "match rule accountconnection channelpayout reconciliation"},
	{"settlement", "layout chain statement historic delivery payapp payee payment payout"},
	{"exchange", "pms calendar flow legacy merge cutover migration upload archive"},
	{"reporting", "report trust summary metric daily monthend"},
	{"setup", "demo"},
}

// nouns are the packages of domain/ in import order, each with its folder.
var nouns = func() (all []string) {
	for _, folder := range folders {
		for noun := range strings.FieldsSeq(folder.nouns) {
			all = append(all, folder.name+"/"+noun)
		}
	}

	return all
}()

// layers of the module, low to high: each may import those before it.
var layers = []string{"platform", "provider", "domain", "app", "cmd"}

const codeLimit = 500

// sourceFile is a file of the repository, with what the Go parser says about it when it is Go.
type sourceFile struct {
	name    string // with slashes, from the root
	content string
	syntax  *ast.File
	lines   map[int]bool // lines that hold code, not only comments or nothing
}

func (f sourceFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f sourceFile) imports() []string {
	var names []string

	for _, spec := range f.syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			names = append(names, name)
		}
	}

	return names
}

// sources are the text files of the repository that people write. What tools write or others wrote is not ours to keep
// tidy.
func sources(t *testing.T) []sourceFile {
	t.Helper()

	files, err := readSources()
	if err != nil {
		t.Fatal(err)
	}

	return slices.Clone(files)
}

var readSources = sync.OnceValues(func() ([]sourceFile, error) {
	var files []sourceFile

	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		base := entry.Name()
		if entry.IsDir() {
			if slices.Contains([]string{".git", ".bin", ".data", "node_modules", "testdata", "vendor", "third_party", "dist"}, base) {
				return fs.SkipDir
			}

			return nil
		}

		if !entry.Type().IsRegular() || strings.Contains(base, ".min.") {
			return nil
		}

		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}

		if strings.ContainsRune(string(content[:min(len(content), 8000)]), 0) {
			return nil // Not text.
		}

		file := sourceFile{name: filepath.ToSlash(name), content: string(content)}
		if strings.HasSuffix(base, ".go") {
			if err := file.parse(); err != nil {
				return err
			}
		}

		files = append(files, file)

		return nil
	})

	return files, err
})

func (f *sourceFile) parse() error {
	set := token.NewFileSet()

	var err error
	if f.syntax, err = parser.ParseFile(set, f.name, f.content, parser.ParseComments); err != nil {
		return err
	}

	f.lines = map[int]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.BasicLit: // A raw string goes over lines.
			for line := set.Position(n.Pos()).Line; line <= set.Position(n.End()).Line; line++ {
				f.lines[line] = true
			}
		default:
			f.lines[set.Position(n.Pos()).Line] = true
			f.lines[set.Position(n.End()-1).Line] = true
		}

		return true
	})

	return nil
}

func goFiles(t *testing.T) []sourceFile {
	t.Helper()
	return slices.DeleteFunc(sources(t), func(f sourceFile) bool { return f.syntax == nil })
}

func TestDomainPackagesImportOnlyThoseAboveThem(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		noun, inside := nounOf(path.Dir(file.name))
		if !inside {
			continue
		}

		if !slices.Contains(nouns, noun) {
			t.Errorf("%s: domain/%s is not in the list of folders: give it its place there and in ARCHITECTURE.md", file.name, noun)
			continue
		}

		if file.isTest() {
			continue // A test may set up what comes later.
		}

		for _, name := range file.imports() {
			imported, ok := nounOf(strings.TrimPrefix(name, module))
			if ok && slices.Index(nouns, imported) > slices.Index(nouns, noun) {
				t.Errorf("%s imports %s, which comes after %s: SELECT what you need, or start an operation", file.name, imported, noun)
			}
		}
	}
}

// nounOf returns the package of domain/ that a folder belongs to, as "books/ledger".
func nounOf(folder string) (string, bool) {
	rest, inside := strings.CutPrefix(folder, "domain/")
	if !inside {
		return "", false
	}

	parts := strings.SplitN(rest, "/", 3)

	return strings.Join(parts[:min(len(parts), 2)], "/"), true
}

func TestLayersImportDownwards(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		own := layerOf(file.name)
		if own < 0 || file.isTest() {
			continue
		}

		for _, name := range file.imports() {
			local, ok := strings.CutPrefix(name, module)
			if layer := layerOf(local); ok && layer > own {
				t.Errorf("%s imports %s: %s may not know %s", file.name, name, layers[own], layers[layer])
			}
		}
	}
}

func layerOf(name string) int {
	first, _, _ := strings.Cut(name, "/")
	return slices.Index(layers, first)
}

func TestLibrariesStayBehindTheirPackage(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		for _, name := range file.imports() {
			switch {
			case strings.HasPrefix(name, "github.com/danielgtaylor/huma/") && !strings.HasPrefix(file.name, "platform/api/"):
				t.Errorf("%s imports %s: only platform/api does", file.name, name)
			case strings.HasPrefix(name, "github.com/jackc/pgx/") && !strings.HasPrefix(file.name, "platform/") && !strings.HasPrefix(file.name, "bench/") && !file.isTest():
				t.Errorf("%s imports %s: use stayledger/platform/db", file.name, name)
			}
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()

	for _, file := range sources(t) {
		if generated.MatchString(file.content) || file.isTest() {
			continue
		}

		count := len(file.lines)
		switch path.Ext(file.name) {
		case ".go":
		case ".js", ".mjs", ".ts", ".css", ".html", ".sql", ".sh":
			for line := range strings.Lines(file.content) {
				if strings.TrimSpace(line) != "" {
					count++
				}
			}
		default:
			continue
		}

		if count > codeLimit {
			t.Errorf("%s has %d lines of code, more than %d: split it by noun", file.name, count, codeLimit)
		}
	}
}

var generated = regexp.MustCompile(`(?m)^(//|/\*|#|--) Code generated .* DO NOT EDIT`)

// A mark with a reference says where the work is tracked: mark(#12) or mark(ADR-3).
var bareMark = regexp.MustCompile(`(//|--|#|/\*|<!--).*\b(` + "TO" + "DO|FIX" + "ME|XX" + `X)\b($|[^(])`)

func TestNoBareMarks(t *testing.T) {
	t.Parallel()

	for _, file := range sources(t) {
		if slices.Contains([]string{".md", ".json", ".sum"}, path.Ext(file.name)) {
			continue
		}

		number := 0
		for line := range strings.Lines(file.content) {
			number++
			if bareMark.MatchString(strings.TrimRight(line, "\n")) {
				t.Errorf("%s:%d: do it, or say where it is tracked: %s", file.name, number, strings.TrimSpace(line))
			}
		}
	}
}

// Rules are cited one by one or as a range, as in "EXP-02 to EXP-05" and "EXP-P01..EXP-P05".
var (
	ruleRow   = regexp.MustCompile(`(?m)^\| ([A-Z]{3,4}-P?\d+) \|`)
	anyRule   = regexp.MustCompile(`\b([A-Z]{2,5})-(P?)(\d+)\b`)
	ruleRange = regexp.MustCompile(`\b([A-Z]{2,5}-P?)(\d+)(?: to |\.\.)([A-Z]{2,5}-P?)(\d+)\b`)
)

// rulesOf are the ids of rules that a text cites, those of areas that have rules and, where the text says that it
// proves rules, any others that look like one.
func rulesOf(text string, areas map[string]bool) []string {
	var ids []string

	for _, match := range ruleRange.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(match[2])

		to, _ := strconv.Atoi(match[4])
		if match[1] != match[3] || to <= from {
			ids = append(ids, match[0])
		}

		for n := from; n <= to; n++ {
			ids = append(ids, fmt.Sprintf("%s%0*d", match[1], len(match[2]), n))
		}
	}

	for _, match := range anyRule.FindAllStringSubmatch(text, -1) {
		if areas[match[1]] || strings.Contains(text, "// Prov"+"es:") {
			ids = append(ids, match[0])
		}
	}

	return ids
}

func TestRulesThatAreCitedStandInTheBook(t *testing.T) {
	t.Parallel()

	book, err := os.ReadFile("docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}

	known, areas := map[string]bool{}, map[string]bool{}
	for _, row := range ruleRow.FindAllStringSubmatch(string(book), -1) {
		if known[row[1]] {
			t.Errorf("docs/rules.md has %s twice", row[1])
		}

		known[row[1]] = true
		area, _, _ := strings.Cut(row[1], "-")
		areas[area] = true
	}

	for _, file := range sources(t) {
		number := 0
		for line := range strings.Lines(file.content) {
			number++

			for _, rule := range rulesOf(line, areas) {
				if !known[rule] {
					t.Errorf("%s:%d cites %s, which is no rule of docs/rules.md: look the rule up there", file.name, number, rule)
				}
			}
		}
	}
}

func TestPackageNamesSayWhatTheyHold(t *testing.T) {
	t.Parallel()

	banned := strings.Fields("util utils common helper helpers model models type types core shared base misc")
	for _, file := range goFiles(t) {
		if name := strings.TrimSuffix(file.syntax.Name.Name, "_test"); slices.Contains(banned, name) {
			t.Errorf("%s: package %s says nothing: name it after what it holds", file.name, name)
		}
	}
}

func TestPlatformPackagesHaveAnExample(t *testing.T) {
	t.Parallel()

	examples := map[string]bool{}

	for _, file := range goFiles(t) {
		if layerOf(file.name) != slices.Index(layers, "platform") {
			continue
		}

		folder := path.Dir(file.name)
		examples[folder] = examples[folder] || file.isTest() && hasExample(file.syntax)
	}

	for folder, has := range examples {
		if !has {
			t.Errorf("%s has no Example: show a newcomer how it is used", folder)
		}
	}
}

func hasExample(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
	})
}

func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()

	names, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}

	form := regexp.MustCompile(`^\d{4}_[a-z][a-z0-9_]*\.sql$`)

	for i, name := range names { // Sorted, as Glob gives them.
		base := filepath.Base(name)
		if want := fmt.Sprintf("%04d_", i+1); !form.MatchString(base) || !strings.HasPrefix(base, want) {
			t.Errorf("%s: want the name %s<noun>.sql; make migration NAME=… makes one", name, want)
		}
	}
}

func TestModuleReplacesNothing(t *testing.T) {
	t.Parallel()

	content, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}

	if regexp.MustCompile(`(?m)^\s*replace\b|=>`).Match(content) {
		t.Error("go.mod replaces a module: what builds here must build everywhere")
	}
}

// privateRegistry matches settings and addresses that send a build to somebody's own package registry.
var privateRegistry = regexp.MustCompile(`(?i)\b(GOPROXY|GONOSUMDB|GOPRIVATE|PIP_INDEX_URL|NPM_CONFIG_REGISTRY)\s*[=:]\s*["']?[a-z]|\bindex-url\s*=|` +
	`https?://[^/\s"']*\b(artifactory|jfrog|nexus|verdaccio|codeartifact|goproxy)\b|https?://[^/\s"']*\.(corp|intranet|lan)\b`)

func TestNoPrivateRegistries(t *testing.T) {
	t.Parallel()

	for _, file := range sources(t) {
		if file.name == "test/tidy/tidy_test.go" {
			continue
		}

		if found := privateRegistry.FindString(file.content); found != "" {
			t.Errorf("%s: %q names a package registry that others cannot reach", file.name, found)
		}
	}
}

func TestIssuesAreMadeFromTheirCodes(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		if path.Dir(file.name) == "platform/apierr" {
			continue
		}

		ast.Inspect(file.syntax, func(n ast.Node) bool {
			var made bool

			switch n := n.(type) {
			case *ast.CompositeLit:
				list, isList := n.Type.(*ast.ArrayType)
				made = isSelected(n.Type, "apierr", "Issue") ||
					isList && isSelected(list.Elt, "apierr", "Issue") && slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { _, ok := e.(*ast.CompositeLit); return ok })
			case *ast.CallExpr:
				made = isSelected(n.Fun, "apierr", "IssueCode") && file.name != "platform/apitest/response.go"
			}

			if made {
				t.Errorf("%s makes an issue by hand: take apierr.IssueX.InBody(…) and its like; a new code is a line in platform/apierr/issuecode.go", file.name)
			}

			return true
		})
	}
}

func isSelected(e ast.Expr, from, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}

	x, ok := s.X.(*ast.Ident)

	return ok && x.Name == from
}

// lockFact matches what locks are decided by: how far the books are closed, what a journal waits for, and statements
// that reach to a day of an entry.
var lockFact = regexp.MustCompile(`\b(books_closed_at|soft_closed_at|soft_close_posters|ledger_stale|held_at|held_by)\b|\btxn_at <=? \w+\.end_at\b|` +
	`\bledger\.Err[A-Z]`)

// keepsLockFacts are the files outside of domain/books/ledger that keep such facts and decide nothing by them: the
// team's settings with their history, and a fee that takes what waits for it along.
var keepsLockFacts = []string{"domain/tenant/team/closing.go", "domain/tenant/team/team.go", "domain/activity/fee/delete.go"}

func TestLocksAreDecidedInOneRoom(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		noun, inside := nounOf(path.Dir(file.name))
		if !inside || noun == "books/ledger" || file.isTest() || slices.Contains(keepsLockFacts, file.name) {
			continue
		}

		if found := lockFact.FindString(file.content); found != "" {
			t.Errorf("%s: %q decides about locks: ask domain/books/ledger (HeldSource, HeldEntry, HeldOn, LocksOf…, Outstanding, IsLock)", file.name, found)
		}
	}
}

// The names of apps, as connection.AppInfo literals declare them, and comparisons of the app of a connection.
var (
	declaredApp = regexp.MustCompile(`connection\.AppInfo\{ID: "(\w+)"`)
	comparedApp = regexp.MustCompile(`\bAppID\b *[!=]= *[^ "n]|\bswitch [^{\n]*\bAppID \{`)
)

func TestAppsAreComparedInTheirDeclarationOnly(t *testing.T) {
	t.Parallel()

	var names []string

	declarations := map[string]bool{}

	for _, file := range goFiles(t) {
		for _, match := range declaredApp.FindAllStringSubmatch(file.content, -1) {
			names = append(names, match[1])
			declarations[file.name] = true
		}
	}

	if len(names) == 0 {
		t.Fatal("no file declares an app")
	}

	// A name as a whole text, of Go or of SQL.
	named := regexp.MustCompile("[\"'`](" + strings.Join(names, "|") + ")[\"'`]")

	for _, file := range goFiles(t) {
		if file.isTest() || declarations[file.name] || generated.MatchString(file.content) {
			continue
		}

		for _, found := range append(named.FindAllString(file.content, -1), comparedApp.FindAllString(file.content, -1)...) {
			t.Errorf("%s: %s asks which app it is: declare a capability beside the app and ask for it", file.name, found)
		}
	}
}

var (
	createdTable = regexp.MustCompile(`(?m)^create table ([a-z_]+)`)
	ownedTables  = regexp.MustCompile(`parts\.Owns\(([^)]*)\)|\bName: ("[a-z_]+")`)
	writtenTable = regexp.MustCompile(
		`\b(?:insert into|delete from)\s+([a-z_]+)|\bupdate\s+([a-z_]+)(?:\s+[a-z]+)?\s+set\b|\bdb\.NewTable\[\w+\]\("([a-z_]+)"`)
)

func TestATableIsWrittenByOnePackage(t *testing.T) {
	t.Parallel()

	writers := map[string][]string{}

	for _, file := range sources(t) {
		for _, m := range createdTable.FindAllStringSubmatch(file.content, -1) {
			if strings.HasPrefix(file.name, "migrations/") {
				writers[m[1]] = nil
			}
		}
	}

	for _, file := range goFiles(t) {
		dir := path.Dir(file.name)
		if file.isTest() || dir == "platform/apitest" || !strings.HasPrefix(dir, "domain/") && !strings.HasPrefix(dir, "platform/") {
			continue
		}

		for _, m := range writtenTable.FindAllStringSubmatch(file.content, -1) {
			table := m[1] + m[2] + m[3]
			if known, exists := writers[table]; exists && !slices.Contains(known, dir) {
				writers[table] = append(known, dir)
			}
		}
	}

	owned := map[string]string{}

	for _, file := range goFiles(t) {
		if path.Base(file.name) != "part.go" {
			continue
		}

		for _, m := range ownedTables.FindAllStringSubmatch(file.content, -1) {
			for name := range strings.SplitSeq(m[1]+m[2], ",") {
				owned[strings.Trim(name, ` "`)] = path.Dir(file.name)
			}
		}
	}

	written := 0

	for table, dirs := range writers {
		if owner, isTeams := owned[table]; isTeams && !slices.Equal(dirs, []string{owner}) && len(dirs) > 0 {
			t.Errorf("table %s is written by %s and named by the Part of %s: the Part of the writer names it", table, strings.Join(dirs, ", "), owner)
		}

		if len(dirs) > 1 {
			slices.Sort(dirs)
			t.Errorf("table %s is written by %s: one of them owns it and gives the others a function", table, strings.Join(dirs, ", "))
		}

		written += len(dirs)
	}

	if written < 60 {
		t.Errorf("found the writers of %d tables only: the patterns do not fit any more", written)
	}
}

func TestErasingHasOneWay(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		if !file.isTest() && file.name != "platform/parts/erase.go" && strings.Contains(file.content, "stayledger.erasing") {
			t.Errorf("%s erases what is kept for good: only the deletion of a team does, through Part.Erase", file.name)
		}
	}
}

// bankTable matches the names of the tables with data from banks, but for the question whether there is anything at
// all.
var (
	bankTable    = regexp.MustCompile(`\bbank_(record|reconciliation)\b`)
	bankAnything = regexp.MustCompile(`exists \(select from bank_(record|reconciliation) where`)
)

// The list of locks reads which records lock a transaction, and decides nothing else by it; package bank comes after
// it.
var locksByRecords = []string{"domain/books/ledger/lock.go", "domain/books/ledger/locks.go", "domain/books/ledger/store.go"}

func TestBankSaysWhatBanksSay(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		noun, inside := nounOf(path.Dir(file.name))
		if !inside || noun == "books/bank" || file.isTest() || slices.Contains(locksByRecords, file.name) {
			continue
		}

		if found := bankTable.FindString(bankAnything.ReplaceAllString(file.content, "")); found != "" {
			t.Errorf("%s: %q reads what banks say: ask domain/books/bank (Balances, StatedBefore, UnmatchedIn, Cleared and the other parts of statements)", file.name, found)
		}
	}
}

// reorders are the functions of package slices that change the elements of their first argument.
var reorders = []string{"Sort", "SortFunc", "SortStableFunc", "Reverse", "Compact", "CompactFunc", "Delete", "DeleteFunc", "Replace"}

// A function that sorts the slice it was given mixes up callers that still rely on its order: what the owners of one
// statement had once came out at another statement on the same page.
func TestFunctionsDoNotReorderTheirArguments(t *testing.T) {
	t.Parallel()

	for _, f := range goFiles(t) {
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || f.isTest() {
				continue
			}

			given := sliceParameters(fn)
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt: // From here on the name means another slice, unless the line changes the given one.
					for _, call := range n.Rhs {
						reportReorder(t, f, fn, given, call)
					}

					for _, left := range n.Lhs {
						if name, ok := left.(*ast.Ident); ok {
							delete(given, name.Name)
						}
					}
				case *ast.CallExpr:
					reportReorder(t, f, fn, given, n)
				}

				return true
			})
		}
	}
}

// sliceParameters returns the names of a function's parameters that are slices.
func sliceParameters(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}

	for _, field := range fn.Type.Params.List {
		_, isSlice := field.Type.(*ast.ArrayType)

		_, isVariadic := field.Type.(*ast.Ellipsis)
		if !isSlice && !isVariadic {
			continue
		}

		for _, name := range field.Names {
			names[name.Name] = true
		}
	}

	return names
}

// reportReorder fails the test if an expression is a call that changes one of the given slices.
func reportReorder(t *testing.T, f sourceFile, fn *ast.FuncDecl, given map[string]bool, e ast.Expr) {
	t.Helper()

	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}

	if !slices.ContainsFunc(reorders, func(name string) bool { return isSelected(call.Fun, "slices", name) }) {
		return
	}

	target := call.Args[0]
	if part, ok := target.(*ast.SliceExpr); ok {
		target = part.X
	}

	if name, ok := target.(*ast.Ident); ok && given[name.Name] {
		t.Errorf("%s: %s changes its argument %s: clone it first, or use id.Distinct", f.name, fn.Name.Name, name.Name)
	}
}
