package lists_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

var (
	parameter = regexp.MustCompile(`\$(\d+)`)
	scanned   = regexp.MustCompile(`Seq Scan on (\w+)`)
)

// No page and no read of a single resource goes through a whole table: PostgreSQL plans each statement once for all teams, and where it finds no index
// that begins with the team, everybody pays for everybody's rows.
func TestNothingIsReadByGoingThroughATable(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	asked := map[string]string{} // the request, by statement
	ask := func(path string) *apitest.Response {
		answer := b.Get(path)
		for _, sql := range answer.Sent.Statements {
			if strings.HasPrefix(sql, "select ") || strings.HasPrefix(sql, "with ") {
				asked[sql] = path
			}
		}
		return answer
	}
	singles := 0
	for _, p := range promises {
		page := ask(p.path + "?limit=50").Want(200)
		if page.Len("data") > 0 && page.Has("data.0.id") && ask(p.path+"/"+page.String("data.0.id")).Status == 200 {
			singles++
		}
	}
	if singles < 8 {
		t.Errorf("only %d single resources were read", singles)
	}
	for sql, path := range asked {
		if tables := scansOf(t, b.Team, sql); len(tables) > 0 {
			t.Errorf("GET %s goes through %v:\n%s", path, tables, sql)
		}
	}
}

// scansOf are the tables that the plan of a statement for whatever its parameters are goes through.
func scansOf(t *testing.T, x *apitest.Team, sql string) (tables []string) {
	t.Helper()
	var nulls []string
	for _, m := range parameter.FindAllStringSubmatch(sql, -1) {
		if n := "null /* " + m[1] + " */"; !slices.Contains(nulls, n) {
			nulls = append(nulls, n)
		}
	}
	call := ""
	if nulls != nil {
		call = "(" + strings.Join(nulls, ", ") + ")"
	}
	err := x.DB.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, "prepare explained as "+sql, nil); err != nil {
			return fmt.Errorf("prepare %s: %w", sql, err)
		}
		plan, err := db.Select[string](ctx, tx, "explain execute explained"+call, nil)
		if err != nil {
			return fmt.Errorf("explain %s: %w", sql, err)
		}
		for _, m := range scanned.FindAllStringSubmatch(strings.Join(plan, "\n"), -1) {
			tables = append(tables, m[1])
		}
		_, err = tx.Exec(ctx, "deallocate explained", nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}
