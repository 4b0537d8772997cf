package payout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/settlement/chain"
	"stayledger/platform/id"
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

	if len(names) != len(causes) || len(names) == 0 {
		t.Errorf("%d causes are declared, the table has %d: %q", len(names), len(causes), names)
	}

	var seen []cause

	for i := range causes {
		of := &causes[i]
		if slices.Contains(seen, of.cause) {
			t.Errorf("%s is there twice", of.cause)
		}

		seen = append(seen, of.cause)

		if of.cause.text() == "" {
			t.Errorf("%s has no text", of.cause)
		}

		b := &book{facts: &facts{found: map[id.ID]*chain.Payable{{2}: {}}}, plans: []*plan{{id: id.ID{1}}, {id: id.ID{2}, cause: of.cause}}}
		pays, previews := b.checkPlans(false) == nil, b.checkPlans(true) == nil

		if pays != (of.condition == nil) {
			t.Errorf("%s: a request to pay is taken: %v", of.cause, pays)
		}

		if previews == of.refusesPreview || pays && !previews {
			t.Errorf("%s: a preview is taken: %v, a request to pay: %v", of.cause, previews, pays)
		}
	}
}
