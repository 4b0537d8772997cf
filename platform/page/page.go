// Package page reads collections a page at a time: page/limit lists with a total, and the positions that opaque cursors
// carry. Sort columns come from a declared table and filters are written by the caller, so no text of a request ever
// becomes SQL.
package page

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

const maxSafe = 1<<53 - 1

// Params are the query parameters of a page/limit collection; embed them in an input. (PAG-08 … PAG-18, LIM-04 …
// LIM-06).
type Params struct {
	Limit  int64  `query:"limit" minimum:"1" maximum:"250" default:"100" doc:"Rows per page."`
	Page   *int64 `query:"page" minimum:"1" doc:"Page number from 1."`
	Offset *int64 `query:"offset" minimum:"0" doc:"Rows to skip; it selects the rows even when page is given."`
}

// Resolve refuses a page with a number or a first row beyond the safe integer range (PAG-14).
func (p Params) Resolve() []apierr.Issue {
	beyond := func(name string) []apierr.Issue {
		return []apierr.Issue{apierr.IssueRange.InQuery(name)}
	}

	// Beyond these bounds the number of a row or of the next page would not be exact in JSON.
	switch {
	case p.Offset == nil && p.Page != nil && *p.Page-1 > maxSafe/p.Limit:
		return beyond("page")
	case p.Page == nil && p.Offset != nil && *p.Offset/p.Limit >= maxSafe:
		return beyond("offset")
	}

	return nil
}

// Rows returns how many rows come before the page: the explicit offset, or the rows of all earlier pages.
func (p Params) Rows() int64 {
	switch {
	case p.Offset != nil:
		return *p.Offset
	case p.Page != nil:
		return (*p.Page - 1) * p.Limit
	default:
		return 0
	}
}

// PageSQL returns the SQL for a page of the rows that sql selects in order, and adds its arguments to args.
// PostgreSQL plans a statement once for all of its parameters (package db), and assumes that a limit in
// a parameter is a tenth of all rows. So the text has the longest limit first, and the actual one around it. Pages
// after the first have a text of their own, because their offset is a parameter too.
func (p Params) PageSQL(sql string, args db.Args) string {
	args["page_limit"] = p.Limit
	sql += " limit " + longest

	if p.Rows() > 0 {
		args["page_rows"] = p.Rows()
		sql += " offset @page_rows"
	}

	return "select * from (" + sql + ") page limit @page_limit"
}

// longest is the most rows that a page has, as the declaration of Limit says.
const longest = "250"

// Number returns the number of the page for the answer.
func (p Params) Number() int64 {
	switch {
	case p.Page != nil:
		return *p.Page
	case p.Offset != nil:
		return *p.Offset/p.Limit + 1
	default:
		return 1
	}
}

// Pagination is the foot of a page.
type Pagination struct {
	Limit     int64  `json:"limit"`
	Page      int64  `json:"page"`
	Total     int64  `json:"total" doc:"Rows that match."`
	TotalPage int64  `json:"totalPage" doc:"Pages that hold them."`
	NextPage  *int64 `json:"nextPage" doc:"Null on the last page."`
}

// Of builds the foot for a total.
func (p Params) Of(total int64) Pagination {
	out := Pagination{Limit: p.Limit, Page: p.Number(), Total: total, TotalPage: (total + p.Limit - 1) / p.Limit}

	// The last page has no next page.
	if p.Rows() < total-p.Limit && out.Page < maxSafe {
		next := out.Page + 1
		out.NextPage = &next
	}

	return out
}

// Page is a page of rows.
type Page[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Sort is an order in which a list can be read.
type Sort struct {
	// Name is the name that callers use.
	Name string
	Expr string
	// Text sorts case-insensitively.
	Text bool
	// Nullable columns put nulls last in both directions. Leave it off otherwise: it keeps an index from being used.
	Nullable bool
}

// TextSQL orders by an expression that is a text, in lists, reports and exports alike: by the root collation of ICU,
// whatever the locale of the cluster, case aside (migration 0001). Texts that differ in case alone are equal in it, so
// another order has to follow.
func TextSQL(expr string) string { return expr + ` collate "case_insensitive"` }

// Sorts has the sorts of a list, in the order in which the description lists them.
type Sorts []Sort

// Enum returns the values of the parameter sort: each name, ascending and, with a leading "-", descending.
func (s Sorts) Enum() []string {
	values := make([]string, 0, 2*len(s))
	for _, by := range s {
		values = append(values, by.Name, "-"+by.Name)
	}

	return values
}

// find returns the sort and direction that a signed sort such as "-name" names.
func (s Sorts) find(sort string) (by Sort, descending, known bool) {
	name, descending := strings.CutPrefix(sort, "-")

	i := slices.IndexFunc(s, func(by Sort) bool { return by.Name == name })
	if i < 0 {
		return Sort{}, false, false
	}

	return s[i], descending, true
}

// Query is a list: its columns and tables, the conditions that hold, and how it can be sorted.
type Query struct {
	Columns string
	From    string
	Where   []string
	Args    db.Args
	Sorts   Sorts
	// Default is the signed sort used when the caller names none.
	Default string
	// Tie orders rows with the same value of a sort, in its direction; empty where ID alone does.
	Tie string
	// ID is the column that breaks the last ties.
	ID string
	// Then orders the rows that share an ID, always ascending, if a query joins the parts of a row.
	Then string
	// Rows is the table, with its alias, that has a row for each of the list: List finds a page by ids in it alone, and
	// joins and computes columns for the rows of that page. Empty where From makes the rows. Joined are the aliases of
	// what From joins to it, separated by spaces: a condition or an order that names one of them has the page found in
	// From. The conditions name the team by @team.
	Rows, Joined string
	// Lines is the expression that counts the lines of a row, for lists that tell them and have Rows; empty for others.
	// List refuses a page of more than MaxLines.
	Lines string

	// kept is the name under which the rows are counted that the first unnarrowed conditions let through.
	kept       string
	unnarrowed int
}

// CountedAs names the counter in list_count (migration 0041) for the rows that match the conditions so far. Lists
// without further conditions then read their total there.
func (q *Query) CountedAs(name string) { q.kept, q.unnarrowed = name, len(q.Where) }

// isCounted reports whether list_count has the total: no condition narrows the counted rows.
func (q *Query) isCounted() bool { return q.kept != "" && len(q.Where) == q.unnarrowed }

// Order returns the ORDER BY of a signed sort such as "-name". An undeclared name falls back to the default; the
// edge has refused it already.
func (q *Query) Order(sort string) string {
	// First, the declared sort of this name.
	by, descending, known := q.Sorts.find(sort)
	if !known {
		by, descending, _ = q.Sorts.find(q.Default)
	}

	direction := ""
	if descending {
		direction = " desc"
	}

	// Texts sort as people expect, and rows without a value come last.
	order := by.Expr
	if by.Text {
		order = TextSQL(order)
	}

	order += direction
	if by.Nullable {
		order += " nulls last"
	}

	// The id decides last, so that pages never overlap.
	if q.Tie != "" {
		order += ", " + q.Tie + direction
	}

	order += ", " + q.ID + direction
	if q.Then != "" {
		order += ", " + q.Then
	}

	return order
}

// SQL returns the statement of the list without paging.
func (q *Query) SQL(sort string) string {
	return "select " + q.Columns + " from " + q.From + q.where() + " order by " + q.Order(sort)
}

func (q *Query) where() string {
	if len(q.Where) == 0 {
		return ""
	}

	return " where " + strings.Join(q.Where, " and ")
}

// MaxLines is how many lines the rows of one page can have together.
const MaxLines = 20_000

// find returns the smallest FROM that has all tables that the conditions and some SQL name.
func (q *Query) find(named string) string {
	if q.Rows == "" {
		return q.From
	}

	// A single alias of a joined table makes all tables necessary.
	text := strings.Join(q.Where, " ") + " " + named
	for alias := range strings.FieldsSeq(q.Joined) {
		if names(text, alias) {
			return q.From
		}
	}

	return q.Rows
}

// Narrowest returns the smallest FROM that has all tables that the conditions and an order name, for columns of the rows
// themselves.
func (q *Query) Narrowest(sort string) string { return q.find(q.Order(sort)) }

// names reports whether SQL names a column of an alias.
func names(text, alias string) bool {
	for before, after, found := strings.Cut(text, alias+"."); found; before, after, found = strings.Cut(after,
		alias+".") {
		// The alias must be a whole word: the l in xl.id names another table.
		if before == "" || !strings.ContainsAny(before[len(before)-1:], "abcdefghijklmnopqrstuvwxyz_") {
			return true
		}
	}

	return false
}

// mostLines is how many lines one row can have.
const mostLines = 1000

// bound refuses a page with more lines than an answer can contain. The refusal suggests the highest limit with
// which the page from the same row fits.
func (q *Query) bound(ctx context.Context, tx *db.Tx, p Params, sort string) error {
	// Count the lines of each row of the page, in its order.
	sql := q.part(q.Lines+" as lines", p, sort)

	counts, err := db.Select[int64](ctx, tx, sql, selectArgs(sql, q.Args))
	if err != nil {
		return fmt.Errorf("count the lines of a page: %w", err)
	}

	// Find the longest beginning that fits: its number of rows is the limit to suggest.
	fits, sum := 0, int64(0)
	for i, n := range counts {
		if sum += n; sum <= MaxLines {
			fits = i + 1
		}
	}

	if sum <= MaxLines {
		return nil
	}

	// The lowest limit that a caller can name is 1.
	return apierr.BadRequest.At(apierr.IssueTooManyLines.InQuery("limit")).
		With(map[string]any{"suggestedLimit": max(fits, 1)})
}

// part returns the SQL that selects columns for the rows of a page, in the narrowest FROM.
func (q *Query) part(columns string, p Params, sort string) string {
	order := q.Order(sort)
	return p.PageSQL("select "+columns+" from "+q.find(columns+" "+order)+q.where()+" order by "+order, q.Args)
}

// page returns the statement of the page. It selects no rows if bounded and the page has too many lines.
func (q *Query) page(p Params, sort string, bounded bool) string {
	if q.Rows == "" {
		return p.PageSQL(q.SQL(sort), q.Args)
	}

	// First find the ids of the page, in the narrowest FROM; then read only their rows as a whole.
	sql := "select " + q.Columns + " from " + q.From + " where " + strings.TrimSuffix(q.ID, "id") +
		"team_id = @team and " + q.ID + " = any(array(" + q.part(q.ID, p, sort) + "))"
	if bounded {
		// The statement counts the lines itself, so a page with too many is never read.
		sql += fmt.Sprintf(" and (select coalesce(sum(lines), 0) from (%s) page) <= %d", q.part(q.Lines+" as lines", p,
			sort), MaxLines)
	}

	// The ids of an array have no order, so the rows are sorted again.
	return sql + " order by " + q.Order(sort)
}

// count returns the statement that counts the rows.
func (q *Query) count() string {
	if q.Rows == "" {
		return "select count(*) from (select " + q.Columns + " from " + q.From + q.where() + ") as listed"
	}

	return "select count(*) from " + q.find("") + q.where()
}

// List reads one page and the total. It refuses a page with more than MaxLines lines with tooManyLines.
func List[T any, S ~string](ctx context.Context, tx *db.Tx, q Query, p Params, sort S) (*Page[T], error) {
	args := db.Args{} // a copy: the page adds arguments of its own
	maps.Copy(args, q.Args)
	q.Args = args

	// The subquery depends on no row, so PostgreSQL runs it once.
	if q.isCounted() {
		q.Columns += ", (" + keptCount + ") as page_total"
		q.Args["page_list"] = q.kept
	}

	// Only long pages can exceed the bound of lines.
	bounded := q.Lines != "" && p.Limit > MaxLines/mostLines

	rows, total, err := selectPage[T](ctx, tx, &q, q.page(p, string(sort), bounded))
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}

	// A page with too many lines selects no rows, so only one without rows can be such a page.
	if bounded && len(rows) == 0 {
		if err := q.bound(ctx, tx, p, string(sort)); err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
	}

	// Count only if the page shows neither its total nor the end of the list.
	switch {
	case total != unknown:
	case int64(len(rows)) == p.Limit || len(rows) == 0 && p.Rows() > 0:
		if total, err = q.loadTotal(ctx, tx); err != nil {
			return nil, err
		}
	default:
		total = p.Rows() + int64(len(rows))
	}

	return &Page[T]{Data: rows, Pagination: p.Of(total)}, nil
}

// unknown is the total of a page whose rows do not show it.
const unknown = -1

// counted is a row of a page with the total of its list.
type counted[T any] struct {
	Row   T     `db:"*"`
	Total int64 `db:"page_total"`
}

// selectPage loads the rows of a page, and the total if the rows show it.
func selectPage[T any](ctx context.Context, tx *db.Tx, q *Query, sql string) (rows []T, total int64, err error) {
	if !q.isCounted() {
		rows, err = db.Select[T](ctx, tx, sql, q.Args)
		return rows, unknown, err
	}

	found, err := db.Select[counted[T]](ctx, tx, sql, q.Args)
	rows, total = make([]T, len(found)), unknown

	for i := range found {
		rows[i], total = found[i].Row, found[i].Total
	}

	return rows, total, err
}

// loadTotal loads how many rows the list has: the kept count, or else it counts them.
func (q *Query) loadTotal(ctx context.Context, tx *db.Tx) (int64, error) {
	sql := q.count()
	if q.isCounted() {
		sql = keptCount
	}

	total, err := db.Get[int64](ctx, tx, sql, selectArgs(sql, q.Args))
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}

	return total, nil
}

// selectArgs returns the arguments that SQL uses, without those that only left-out columns need.
func selectArgs(sql string, args db.Args) db.Args {
	kept := db.Args{}

	for _, name := range argument.FindAllString(sql, -1) {
		if value, given := args[name[1:]]; given {
			kept[name[1:]] = value
		}
	}

	return kept
}

var argument = regexp.MustCompile(`@[a-zA-Z_][a-zA-Z0-9_]*`)
