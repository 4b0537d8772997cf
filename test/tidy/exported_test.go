package tidy_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// calledByLibraries are methods that no package of ours calls by name, because a library finds them on the value.
var calledByLibraries = map[string]string{
	"ReadAt":           "archive/zip",
	"WithAttrs":        "log/slog",
	"WithGroup":        "log/slog",
	"ResolveFace":      "go-text, when it looks for a glyph",
	"Is":               "errors.Is",
	"Unwrap":           "errors.Is and errors.As",
	"Schema":           "huma, for the description of a type",
	"Transform":        "goldmark, for each document",
	"MarshalJSON":      "encoding/json",
	"UnmarshalJSON":    "encoding/json",
	"MarshalText":      "encoding/json and the parsers of queries",
	"UnmarshalText":    "encoding/json and the parsers of queries",
	"UUIDValue":        "pgx, when it sends a value",
	"DateValue":        "pgx, when it sends a value",
	"TimestamptzValue": "pgx, when it sends a value",
	"ScanUUID":         "pgx, when it reads a value",
	"ScanDate":         "pgx, when it reads a value",
	"ScanTimestamptz":  "pgx, when it reads a value",
	"TraceQueryStart":  "pgx, around each statement",
	"TraceQueryEnd":    "pgx, around each statement",
	"TraceBatchStart":  "pgx, around each batch",
	"TraceBatchQuery":  "pgx, around each batch",
	"TraceBatchEnd":    "pgx, around each batch",
}

// templateCall matches what a page of web/ calls on its values.
var templateCall = regexp.MustCompile(`\.([A-Z]\w*)`)

// TestExportedFunctionsAreUsedElsewhere fails for an exported function or method that no other package uses: private, it
// can change without a look at the rest of the tree. An external test of the package counts as another package.
// Methods are found by name only, so that one may pass because another type has a method of the same name.
func TestExportedFunctionsAreUsedElsewhere(t *testing.T) {
	t.Parallel()

	uses := findUses(t)

	for _, file := range goFiles(t) {
		if file.isTest() || file.syntax.Name.Name == "main" || generated.MatchString(file.content) {
			continue
		}

		for _, decl := range file.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}

			home := packagePath(file)
			if uses.isUsed(home, fn) {
				continue
			}

			t.Errorf("%s: no other package uses %s: make it private, or remove it", file.name, fn.Name.Name)
		}
	}
}

// exportedUses has the packages that use each exported name.
type exportedUses struct {
	functions map[string]bool            // by the folder and the name, "domain/books/ledger.Post"
	methods   map[string]map[string]bool // the packages that select each name
	required  map[string]bool            // the methods of our interfaces
}

// isUsed reports whether a package other than the home of a function can be seen to use it.
func (u *exportedUses) isUsed(home string, fn *ast.FuncDecl) bool {
	name := fn.Name.Name
	if fn.Recv == nil {
		return u.functions[home+"."+name]
	}

	if u.required[name] || calledByLibraries[name] != "" {
		return true
	}

	for user := range u.methods[name] {
		if user != home {
			return true
		}
	}

	return false
}

// packagePath returns the folder of a file, with _test for the files of an external test package.
func packagePath(file sourceFile) string {
	folder := path.Dir(file.name)
	if strings.HasSuffix(file.syntax.Name.Name, "_test") {
		folder += "_test"
	}

	return folder
}

// findUses reads the whole tree, with tests and templates.
func findUses(t *testing.T) *exportedUses {
	t.Helper()

	u := &exportedUses{functions: map[string]bool{}, methods: map[string]map[string]bool{}, required: map[string]bool{}}

	for _, file := range sources(t) {
		switch {
		case file.syntax != nil:
			u.addFile(file)
		case slices.Contains([]string{".html", ".tmpl"}, path.Ext(file.name)):
			for _, call := range templateCall.FindAllStringSubmatch(file.content, -1) {
				u.addMethod(call[1], file.name)
			}
		}
	}

	return u
}

// addFile adds the names that a Go file selects from other packages and from values, and the methods of its interfaces.
func (u *exportedUses) addFile(file sourceFile) {
	folders := map[string]string{}

	// A package is called by the last part of its path, unless the file gives it another name.
	for _, spec := range file.syntax.Imports {
		folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
		if !ours {
			continue
		}

		folders[path.Base(folder)] = folder
		if spec.Name != nil {
			folders[spec.Name.Name] = folder
		}
	}

	ast.Inspect(file.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			u.addMethod(n.Sel.Name, packagePath(file))

			if x, ok := n.X.(*ast.Ident); ok && folders[x.Name] != "" {
				u.functions[folders[x.Name]+"."+n.Sel.Name] = true
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					u.required[name.Name] = true
				}
			}
		}

		return true
	})
}

func (u *exportedUses) addMethod(name, user string) {
	if u.methods[name] == nil {
		u.methods[name] = map[string]bool{}
	}

	u.methods[name][user] = true
}
