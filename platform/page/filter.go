package page

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Dates are the parameters that narrow a list by a date of its rows; embed Dates in a filter. Rules PAG-33 to PAG-35.
type Dates struct {
	DateRange               day.Span `query:"dateRange" json:"dateRange,omitzero" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	IsDateRangeEndInclusive *bool    `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true" doc:"Whether the last day of the range counts."`
}

// Pick is an item of a filter by ids: an id to select or, with a leading "!", to leave out.
type Pick struct {
	id.ID

	Out bool
}

// IDs are a filter by an id that every row has. It selects rows with a wanted id, or any id if none is wanted, and
// without an unwanted id.
type IDs []Pick

// Ref is an item of a filter by references: an id, or null for rows that have none; with a leading "!" such rows are
// left out. The text unmapped says the same as null.
type Ref struct {
	id.ID

	Out bool
}

// Refs are a filter by a reference that rows can lack. It selects rows with a wanted reference, or any reference if
// none is wanted, and without an unwanted reference.
type Refs []Ref

// RefsTo returns references to the ids; the zero id means null.
func RefsTo(ids ...id.ID) Refs {
	refs := make(Refs, len(ids))
	for i, v := range ids {
		refs[i].ID = v
	}

	return refs
}

const (
	notMark      = "!"
	nullText     = "null"
	unmappedText = "unmapped"
)

// Selects reports whether a row with an id is in the filter.
func (f IDs) Selects(of id.ID) bool {
	named, chosen := false, false

	for _, p := range f {
		if p.Out && p.ID == of {
			return false
		}

		named, chosen = named || !p.Out, chosen || !p.Out && p.ID == of
	}

	return chosen || !named
}

// Only returns the filter for rows with any of the ids. Without ids it is no filter.
func Only(ids ...id.ID) IDs {
	var list IDs
	for _, v := range ids {
		list = append(list, Pick{ID: v})
	}

	return list
}

// List returns the filter of one item, or nil for nil.
func (p *Pick) List() IDs {
	if p == nil {
		return nil
	}

	return IDs{*p}
}

// List returns the filter of one item, or nil for nil.
func (r *Ref) List() Refs {
	if r == nil {
		return nil
	}

	return Refs{*r}
}

// UnmarshalText reads a uuid with or without a leading "!"; anything else is id.ErrMalformed.
func (p *Pick) UnmarshalText(text []byte) error {
	rest, out := strings.CutPrefix(string(text), notMark)
	v, err := id.Parse(rest)
	p.ID, p.Out = v, out

	return err
}

// MarshalText writes what UnmarshalText reads.
func (p Pick) MarshalText() ([]byte, error) { return withMark(p.Out, p.String()), nil }

// UnmarshalText reads a uuid, null or unmapped, with or without a leading "!"; anything else is id.ErrMalformed.
func (r *Ref) UnmarshalText(text []byte) error {
	rest, out := strings.CutPrefix(string(text), notMark)

	r.Out = out
	if rest == nullText || rest == unmappedText {
		r.ID = id.Zero
		return nil
	}

	v, err := id.Parse(rest)
	r.ID = v

	return err
}

// MarshalText writes what UnmarshalText reads.
func (r Ref) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return withMark(r.Out, nullText), nil
	}

	return withMark(r.Out, r.String()), nil
}

func withMark(out bool, text string) []byte {
	if out {
		text = notMark + text
	}

	return []byte(text)
}

// Parts returns the wanted and the unwanted references; the zero id means null.
func (l Refs) Parts() (only, but []id.ID) {
	items := make(IDs, len(l))
	for i, r := range l {
		items[i] = Pick(r)
	}

	return items.Parts()
}

// Invert returns the filter with wanted and unwanted references exchanged.
func (l Refs) Invert() Refs {
	turned := slices.Clone(l)
	for i := range turned {
		turned[i].Out = !turned[i].Out
	}

	return turned
}

// Has reports whether a row with a reference is in the filter; the zero id means a row without one.
func (l Refs) Has(v id.ID) bool {
	only, but := l.Parts()
	return (only == nil || slices.Contains(only, v)) && !slices.Contains(but, v)
}

// And adds a condition with its arguments.
func (q *Query) And(condition string, args db.Args) {
	q.Where = append(q.Where, condition)
	for name, value := range args {
		q.set(name, value)
	}
}

func (q *Query) set(name string, value any) {
	if q.Args == nil {
		q.Args = db.Args{}
	}

	q.Args[name] = value
}

// bind adds an argument under a new name, and returns the name as SQL writes it.
func (q *Query) bind(value any) string {
	name := "p" + strconv.Itoa(len(q.Args))
	q.set(name, value)

	return "@" + name
}

// Narrow adds a condition with the value of a filter in place of its question marks, as in "r.status = ?". An absent
// filter, which is the zero value of its type, narrows nothing.
func (q *Query) Narrow(condition string, value any) {
	if !reflect.ValueOf(value).IsZero() {
		q.Where = append(q.Where, strings.ReplaceAll(condition, "?", q.bind(value)))
	}
}

// Whether keeps the rows for which a condition holds, or does not hold if wanted is false; nil narrows nothing.
func (q *Query) Whether(condition string, wanted *bool) {
	switch {
	case wanted == nil:
	case *wanted:
		q.Where = append(q.Where, condition)
	default:
		q.Where = append(q.Where, "("+condition+") is not true")
	}
}

// Parts returns the wanted and the unwanted ids.
func (f IDs) Parts() (only, but []id.ID) {
	for _, p := range f {
		if p.Out {
			but = append(but, p.ID)
		} else {
			only = append(only, p.ID)
		}
	}

	return only, but
}

// IDs narrows by ids; they take the place of each question mark of the condition, as in "l.listing_id = any(?)".
func (q *Query) IDs(condition string, list IDs) {
	only, but := list.Parts()
	q.Narrow("("+condition+")", only)
	q.Narrow("("+condition+") is not true", but)
}

// Refs narrows by a column that can be null.
func (q *Query) Refs(column string, list Refs) {
	among := func(ids []id.ID) string {
		condition := column + " = any(?::uuid[])"
		if slices.Contains(ids, id.Zero) {
			condition += " or " + column + " is null"
		}

		return "(" + condition + ")"
	}
	only, but := list.Parts()
	q.Narrow(among(only), only)
	q.Narrow(among(but)+" is not true", but)
}

// Texts narrows by a column of texts. The text null selects rows without one.
func (q *Query) Texts(column string, list []string) {
	if list != nil {
		texts := q.bind(list)
		q.Where = append(q.Where, "("+column+" = any("+texts+") or "+column+" is null and 'null' = any("+texts+"))")
	}
}

// Dates narrows by a column of dates.
func (q *Query) Dates(column string, d Dates) { q.Days(column, d.DateRange, d.IsDateRangeEndInclusive) }

// Days narrows by a column of dates; the last day counts unless endInclusive is false.
func (q *Query) Days(column string, s day.Span, endInclusive *bool) {
	if s.IsZero() {
		return
	}

	days := s.Range(endInclusive)
	q.Where = append(q.Where, column+" >= "+q.bind(days.From)+" and "+column+" < "+q.bind(days.To))
}

// Amounts narrows by a column of cents, to what lies in one of the ranges.
func (q *Query) Amounts(column string, ranges []money.Range) {
	if len(ranges) == 0 {
		return
	}

	within := make([]string, len(ranges))
	for i, r := range ranges {
		within[i] = column + " between " + q.bind(r.Low) + " and " + q.bind(r.High)
	}

	q.Where = append(q.Where, "("+strings.Join(within, " or ")+")")
}

// Search narrows to rows with a text as part of a column.
func (q *Query) Search(text string, columns ...string) {
	if text != "" {
		q.Where = append(q.Where, ContainsSQL(q.bind(text), columns...))
	}
}

// ContainsSQL returns the condition that any of the columns contains a text, an argument such as @search.
// Both are compared after stayledger_fold (migration 0055): case, width and accents make no difference. The empty
// text is part of all.
func ContainsSQL(text string, columns ...string) string {
	conditions := make([]string, len(columns))
	for i, column := range columns {
		// The pattern is a subquery, so that it is computed once and not for every row.
		conditions[i] = "stayledger_fold(" + column + `) collate "C" like (select stayledger_pattern(` + text + "))"
	}

	return "(" + strings.Join(conditions, " or ") + ")"
}
