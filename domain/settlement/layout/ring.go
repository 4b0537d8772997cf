package layout

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/activity/fee"
	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// invalid returns the refusal of a formula, with the position of the mistake.
func invalid(err error, path []any) error {
	wrong, ok := errors.AsType[*fee.FormulaError](err)
	if !ok {
		return err
	}

	return apierr.BadRequest.At(apierr.IssueFormulaInvalid.InBody(path...)).With(fee.FormulaContext{
		Position: wrong.Position,
		Problem:  wrong.Message,
	})
}

// checkRings refuses columns that lead back to themselves, with the path of the column where the ring begins.
func (s *Section) checkRings(path []any) error {
	for at := range s.Columns {
		c := &s.Columns[at]
		for _, next := range s.columnsBelow(at) {
			way := s.way(next, at, map[int]bool{})
			if way == nil {
				continue
			}

			// Name the whole ring, so that a person can see which column to change.
			names := []string{strconv.Quote(c.Name)}
			for _, i := range way {
				names = append(names, strconv.Quote(s.Columns[i].Name))
			}

			problem := "the columns build on each other in a ring: " + strings.Join(names, " → ")
			value := slices.Concat(path, []any{at, "value"})

			// A subtotal names columns by id; the issue points at the id.
			if c.Type == SubTotal {
				n := slices.Index(c.Value.ColumnIDs, s.Columns[next].ID)

				return apierr.BadRequest.At(apierr.IssueRing.InBody(
					value,
					"columnIds",
					n,
				)).With(map[string]any{"problem": problem})
			}

			// A formula names them in its text; the issue points at the position.
			return invalid(&fee.FormulaError{
				Position: c.position(s.Columns[next].ID),
				Message:  problem,
			}, append(value, "formula"))
		}
	}

	return nil
}

// position returns where the formula of the column first names another, 1 if it does not.
func (c *Column) position(of id.ID) int {
	f, err := c.formula()
	if err != nil {
		return 1
	}

	for _, p := range f.Places() {
		if p.ID == of {
			return p.Position
		}
	}

	return 1
}

// way returns a way from one column to another along the columns that each builds on, nil when there is none.
func (s *Section) way(from, to int, seen map[int]bool) []int {
	if from == to {
		return []int{to}
	}

	if seen[from] {
		return nil
	}

	seen[from] = true
	for _, next := range s.columnsBelow(from) {
		if way := s.way(next, to, seen); way != nil {
			return append([]int{from}, way...)
		}
	}

	return nil
}
