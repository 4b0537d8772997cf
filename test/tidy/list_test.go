package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"strconv"
	"testing"
)

// enumerated are the constants of the types of a package that have an Enum, and what each Enum lists.
type enumerated struct {
	// constants are the names of the constants of each type, with their values.
	constants map[string]map[string]string
	// listed are the names and texts in the body of Enum of each type; isList says that the body is a plain list.
	listed map[string]map[string]bool
	isList map[string]bool
	// rows are the names in the tables of the package, which are its variables.
	rows map[string]bool
}

// unlisted are constants that their Enum leaves out for a reason.
var unlisted = map[string]string{
	"domain/books/ledger.NoParty": "the empty text is no value of a field",
}

// An Enum is a second list of the constants of its type: a value that it lacks is refused in requests, missing in the
// description, and no filter finds it.
func TestEnumsListTheirConstants(t *testing.T) {
	t.Parallel()

	packages, types := map[string]*enumerated{}, 0

	for _, file := range goFiles(t) {
		if file.isTest() {
			continue
		}

		parsed, err := parser.ParseFile(token.NewFileSet(), file.name, file.content, 0)
		if err != nil {
			t.Fatal(err)
		}

		dir := path.Dir(file.name)
		if packages[dir] == nil {
			packages[dir] = &enumerated{constants: map[string]map[string]string{}, listed: map[string]map[string]bool{}, isList: map[string]bool{}, rows: map[string]bool{}}
		}

		packages[dir].read(parsed)
	}

	for dir, p := range packages {
		for name, listed := range p.listed {
			// An Enum that is no list of its own is derived from a table of the package.
			if !p.isList[name] {
				maps.Copy(listed, p.rows)
			}

			if len(p.constants[name]) == 0 {
				continue
			}

			types++

			for constant, value := range p.constants[name] {
				if key := dir + "." + constant; !listed[constant] && !listed[value] && unlisted[key] == "" {
					t.Errorf("%s: the Enum of %s does not list %s (%q)", dir, name, constant, value)
				}
			}
		}
	}

	if types < 60 {
		t.Errorf("found the constants of %d types only: the test does not read them any more", types)
	}
}

// read adds the constants and the Enum methods of a file.
func (e *enumerated) read(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			switch d.Tok { //nolint:exhaustive // other declarations have neither constants nor tables
			case token.CONST:
				e.readConstants(d)
			case token.VAR:
				maps.Copy(e.rows, namesIn(d))
			}
		case *ast.FuncDecl:
			if d.Name.Name == "Enum" && d.Recv != nil {
				if receiver, ok := d.Recv.List[0].Type.(*ast.Ident); ok {
					e.listed[receiver.Name], e.isList[receiver.Name] = namesIn(d.Body), isList(d.Body)
				}
			}
		}
	}
}

// readConstants adds the constants that name their type.
func (e *enumerated) readConstants(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}

		of, ok := s.Type.(*ast.Ident)
		if !ok {
			continue
		}

		for i, name := range s.Names {
			if i >= len(s.Values) {
				continue
			}

			if text, ok := s.Values[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
				if e.constants[of.Name] == nil {
					e.constants[of.Name] = map[string]string{}
				}

				e.constants[of.Name][name.Name], _ = strconv.Unquote(text.Value)
			}
		}
	}
}

// isList reports whether the body of an Enum only returns a list that is written there.
func isList(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}

	result, ok := body.List[0].(*ast.ReturnStmt)
	if !ok {
		return false
	}

	_, isList := result.Results[0].(*ast.CompositeLit)

	return isList
}

// namesIn returns the names and texts in a part of a program.
func namesIn(part ast.Node) map[string]bool {
	listed := map[string]bool{}

	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			listed[n.Name] = true
		case *ast.BasicLit:
			text, _ := strconv.Unquote(n.Value)
			listed[text] = true
		}

		return true
	})

	return listed
}
