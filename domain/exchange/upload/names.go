package upload

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// named is what a text in a cell names: Count records, and the first by id.
type named struct {
	ID    id.ID
	Count int
}

// names finds records by texts. Texts are looked up page by page and remembered up to a bound.
type names struct {
	found map[valueType]map[string]named
	asked map[valueType]map[string]bool
}

// mostNames bounds how many texts are remembered for each type.
const mostNames = 20_000

func newNames() *names {
	return &names{found: map[valueType]map[string]named{}, asked: map[valueType]map[string]bool{}}
}

// fold returns a text in lower case, with single spaces.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// ask has the next load look up a text.
func (n *names) ask(typ valueType, text string) {
	key := fold(text)
	if _, known := n.found[typ][key]; known || key == "" {
		return
	}

	if n.asked[typ] == nil {
		n.asked[typ] = map[string]bool{}
	}

	n.asked[typ][key] = true
}

// find returns the records that a text names.
func (n *names) find(typ valueType, text string) named { return n.found[typ][fold(text)] }

// way is a way to name a record: an SQL expression over the record t.
type way struct{ table, expression string }

// ways lists how records are named, the surest way first. Texts are compared in lower case.
var ways = map[valueType][]way{
	typeAccount: {{"account", "t.id::text"}, {"account", "lower(t.code)"}, {"account", "lower(t.name)"}},
	typeListing: {
		{"listing", "t.id::text"},
		{"listing", "lower(t.unique_ref)"},
		{"listing", "lower(t.short_ref)"},
		{"listing", "lower(t.name)"},
	},
	typeContact: {
		{"contact", "t.id::text"},
		{"contact", "lower(t.unique_ref)"},
		{"contact", "t.email_key"},
		{"contact", "lower(t.short_ref)"},
		{"contact", "lower(t.name)"},
	},
	typeReservation: {
		{"reservation", "t.id::text"},
		{"reservation", "lower(t.unique_ref)"},
		{"reservation", "t.code_key"},
		{"reservation", "lower(t.short_ref)"},
	},
}

// load looks up all texts that were asked for.
func (n *names) load(ctx context.Context, tx *db.Tx) error {
	for typ, asked := range n.asked {
		// Forget everything beyond the bound, rather than track which texts are old.
		if len(n.found[typ]) > mostNames || n.found[typ] == nil {
			n.found[typ] = map[string]named{}
		}

		// A text that names nothing is remembered, too.
		texts := make([]string, 0, len(asked))
		for text := range asked {
			texts = append(texts, text)
			n.found[typ][text] = named{}
		}

		var all []string
		for i, w := range ways[typ] {
			all = append(all, fmt.Sprintf(`select g.text, %d as way, t.id from unnest(@texts::text[]) g (text) join %s t on t.team_id = @team and %s = g.text`,
				i, w.table, w.expression))
		}

		type row struct {
			Text  string
			ID    id.ID
			Count int
		}

		// For each text, count only the records found in the surest way.
		rows, err := db.Select[row](ctx, tx, `
			select text, (array_agg(id order by id))[1] as id, count(*)::int as count from (
				select w.*, min(way) over (partition by text) as surest from (`+strings.Join(all, " union all ")+`) w) w
			where way = surest group by text`, db.Args{"team": tx.Team, "texts": texts})
		if err != nil {
			return fmt.Errorf("find what the cells of a file name: %w", err)
		}

		for _, r := range rows {
			n.found[typ][r.Text] = named{ID: r.ID, Count: r.Count}
		}
	}

	clear(n.asked)

	return nil
}
