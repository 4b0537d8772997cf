package fee

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// FormulaContext says what is wrong with a formula, and where.
type FormulaContext struct {
	Position int    `json:"position" doc:"Where in the text it goes wrong, in characters from 1."`
	Problem  string `json:"problem" doc:"What is wrong there, to be shown."`
}

// formulaError returns the error for a formula with a mistake at a position.
func formulaError(problem string, position int) error {
	return apierr.BadRequest.At(apierr.IssueFormulaInvalid.InBody("formula")).With(
		FormulaContext{Position: position, Problem: problem},
	)
}

// checkFormula refuses a formula that cannot be read, that names records which the team does not have or that
// builds on itself, with the position of the mistake. It sets the references of the fee.
func checkFormula(ctx context.Context, tx *db.Tx, f *Fee) error {
	f.Stored, f.References = f.Formula, []Reference{}
	if f.Formula == "" && f.RateType == Flat {
		return nil
	}

	formula, err := ParseFormula(f.Formula)
	if wrong, ok := errors.AsType[*FormulaError](err); ok {
		return formulaError(wrong.Message, wrong.Position)
	}

	// First the line types: the standard ones and those that the team maps.
	types, err := loadLineTypes(ctx, tx)
	if err != nil {
		return err
	}

	for i, name := range formula.names {
		if !slices.Contains(standardTypes, name) && !slices.Contains(types, name) {
			return formulaError("the formula names an unknown line type", formula.position(formula.nameAt[i]))
		}
	}

	if len(formula.mentions) == 0 {
		return nil
	}

	// Then the fees and accounts. The current names are looked up only if the formula has references.
	n, err := loadNames(ctx, tx, f, formula)
	if err != nil {
		return err
	}

	formula.Bind(n.references)

	for _, m := range formula.mentions {
		if m.ID.IsZero() {
			return formulaError("the formula names an unknown "+m.Kind.noun(), formula.position(m.from))
		}
	}

	f.References = formula.References()

	return n.checkRing(f, formula)
}

// noun returns the word for the kind in messages.
func (k RefKind) noun() string {
	if k == RefFee {
		return "recurring fee"
	}

	return "account"
}

// formulaNames has the records that the formulas of a team can refer to, and which fees build on which.
type formulaNames struct {
	references []Reference
	fees       map[id.ID]string
	buildsOn   map[id.ID][]id.ID
}

// loadNames loads the records that the formula of a fee may refer to. The fee itself counts with the name that it is
// going to have.
func loadNames(ctx context.Context, tx *db.Tx, f *Fee, formula Formula) (*formulaNames, error) {
	n := &formulaNames{fees: map[id.ID]string{}, buildsOn: map[id.ID][]id.ID{}}

	type other struct {
		ID       id.ID
		Name     string
		BuildsOn []id.ID
	}

	// All fees of the team: their references show rings, too.
	fees, err := db.Select[other](ctx, tx, `
		select f.id, f.name, array(select r.target_fee_id from fee_reference r where r.team_id = f.team_id and r.fee_id = f.id and r.kind = 'fee'
			order by r.name) as builds_on
		from fee f where f.team_id = @team and f.id <> @fee order by f.id`, db.Args{"team": tx.Team, "fee": f.ID})
	if err != nil {
		return nil, fmt.Errorf("read what formulas can name: %w", err)
	}

	for _, o := range append(fees, other{ID: f.ID, Name: f.Name}) {
		n.fees[o.ID], n.buildsOn[o.ID] = o.Name, o.BuildsOn
		n.references = append(n.references, Reference{Kind: RefFee, Name: o.Name, ID: o.ID, Current: o.Name})
	}

	// Of the accounts only those that the formula names, by code or by name.
	var names []string

	for _, m := range formula.mentions {
		if m.Kind == RefAccount {
			names = append(names, m.Name)
		}
	}

	// An account with this code comes after one with this name, so that it is the one that is bound.
	accounts, err := db.Select[Reference](ctx, tx, `
		select 'account' as kind, n.name, a.id, coalesce(a.code, a.name) as current
		from unnest(@names::text[]) as n (name) join account a on a.team_id = @team and (a.code = n.name or a.name = n.name)
		order by (a.code = n.name) is true`, db.Args{"team": tx.Team, "names": names})
	if err != nil {
		return nil, fmt.Errorf("read accounts that a formula names: %w", err)
	}

	n.references = append(n.references, accounts...)

	return n, nil
}

// checkRing refuses a formula that leads back to its own fee, at the reference where the way back begins.
func (n *formulaNames) checkRing(f *Fee, formula Formula) error {
	seen := map[id.ID]bool{}

	for _, m := range formula.mentions {
		if m.Kind != RefFee {
			continue
		}

		if way := n.findWay(m.ID, f.ID, seen); way != nil {
			// The message names all fees of the ring, starting and ending with this one.
			names := make([]string, 0, len(way)+1)
			for _, v := range append([]id.ID{f.ID}, way...) {
				names = append(names, quote(n.fees[v]))
			}

			return formulaError(
				"the recurring fees build on each other in a ring: "+strings.Join(names, " → "),
				formula.position(m.from),
			)
		}
	}

	return nil
}

// findWay returns a way from one fee to another along the fees that each builds on, nil if there is none.
func (n *formulaNames) findWay(from, to id.ID, seen map[id.ID]bool) []id.ID {
	if from == to {
		return []id.ID{to}
	}

	if seen[from] {
		return nil
	}

	// A fee that led nowhere once leads nowhere again, so each is visited once.
	seen[from] = true
	for _, next := range n.buildsOn[from] {
		if way := n.findWay(next, to, seen); way != nil {
			return append([]id.ID{from}, way...)
		}
	}

	return nil
}
