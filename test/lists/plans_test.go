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
	"stayledger/test/world"
)

var (
	parameter = regexp.MustCompile(`\$(\d+)`)
	scanned   = regexp.MustCompile(`Seq Scan on (\w+)`)
)

// No page and no read of a single resource goes through a whole table: PostgreSQL plans each statement once for all
// teams, and where it finds no index that begins with the team, everybody pays for everybody's rows.
func TestNothingIsReadByGoingThroughATable(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	asked := map[string]string{} // the request, by statement
	note := func(request string, answer *apitest.Response) *apitest.Response {
		for _, sql := range answer.Sent.Statements {
			if sql = strings.TrimSpace(sql); strings.HasPrefix(sql, "select ") || strings.HasPrefix(sql, "with ") {
				asked[sql] = request
			}
		}

		return answer
	}
	ask := func(path string) *apitest.Response { return note("GET "+path, b.Get(path)) }
	singles := 0

	for _, p := range promises {
		page := ask(p.path + "?limit=50").Want(200)
		if page.Len("data") > 0 && page.Has("data.0.id") && ask(p.path+"/"+page.String("data.0.id")).Status == 200 {
			singles++
		}
	}

	for _, body := range []world.Object{{"dateRange": "2026"}, {"dateRange": "2026", "accountIds": world.Array{b.Account("1000")}}} {
		note("POST /bank-rules/preview", b.Post("/bank-rules/preview", body).Want(200))
	}

	if singles < 8 {
		t.Errorf("only %d single resources were read", singles)
	}

	for sql, request := range asked {
		if tables := scansOf(t, b.Team, sql); len(tables) > 0 {
			t.Errorf("%s goes through %v:\n%s", request, tables, sql)
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
