package payout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/settlement/payout"
)

// Every constant that is a cause is in the table once, has a text, and refuses every request to pay alike; a preview is refused only for
// what it cannot show. A cause that is left out would have one statement paid and another one not, where all or none are promised.
func TestEveryCauseIsInTheTable(t *testing.T) {
	t.Parallel()

	file, err := parser.ParseFile(token.NewFileSet(), "cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	var names []string

	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is && strings.HasPrefix(spec.Names[0].Name, "cause") && spec.Names[0].Obj.Kind == ast.Con {
			names = append(names, spec.Names[0].Name)
		}

		return true
	})

	causes := payout.Causes()
	if len(names) != len(causes) || len(names) == 0 {
		t.Errorf("%d causes are declared, the table has %d: %q", len(names), len(causes), names)
	}

	var seen []string

	for _, c := range causes {
		if slices.Contains(seen, c.Name) || c.Text == "" {
			t.Errorf("%s is there twice, or has no text: %q", c.Name, c.Text)
		}

		seen = append(seen, c.Name)

		if c.IsPaid != (c.Skips && !c.Refuses) {
			t.Errorf("%s: a request to pay is taken: %v", c.Name, c.IsPaid)
		}

		if c.IsPreviewed == c.RefusesPreview || c.IsPaid && !c.IsPreviewed {
			t.Errorf("%s: a preview is taken: %v, a request to pay: %v", c.Name, c.IsPreviewed, c.IsPaid)
		}
	}
}
