package page_test

import (
	"fmt"

	"stayledger/platform/page"
)

func Example() {
	q := page.Query{
		Columns: "id, name", From: "contact", ID: "id", Default: "name",
		Sorts: page.Sorts{{Name: "name", Expr: "name", Text: true}},
	}
	q.And("team_id = @team", map[string]any{"team": "…"})
	fmt.Println(q.SQL("-name"))
	q.Then = "part"
	fmt.Println(q.Order("name"))

	third := int64(3)
	p := page.Params{Limit: 5, Page: &third}
	foot := p.Of(17)
	fmt.Println(p.Rows(), foot.TotalPage, *foot.NextPage)
	// Output:
	// select id, name from contact where team_id = @team order by name collate "case_insensitive" desc, id desc
	// name collate "case_insensitive", id, part
	// 10 4 4
}
