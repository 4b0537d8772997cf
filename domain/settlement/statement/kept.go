package statement

import (
	"context"
	"fmt"

	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// kept holds what is kept of a statement and is not in its row. Drafts have only versions, of when they were published.
type kept struct {
	ID id.ID
	// Versions counts how often the statement was published and reopened.
	Versions    int64
	SummaryType string
	// Words are the names of a published statement. Those of accounts and stays are large and only read with the lines,
	// as is the layout that a saved one was stored with.
	Words  *Words
	Layout *layout.Design

	// The rest is for the manager: the accounts with their own place, what locks hold back of the statement's days, and
	// the owners who could not be sent an e-mail about it.
	special

	Changed  money.Cents
	Unmailed []id.ID
}

// keptColumns returns the SQL of the columns of kept for a statement k.id with the row s, which drafts lack.
func keptColumns(withLines, asOwner bool) string {
	columns := `k.id, (select count(*) from statement_version v where v.team_id = @team and v.statement_id = k.id) as versions,
		coalesce(s.layout ->> 'summaryType', '') as summary_type, `

	// What the reader is not shown is not read.
	if withLines {
		columns += `s.words, s.layout, `
	} else {
		columns += `s.words - 'accounts' - 'stays' as words, null::jsonb as layout, `
	}

	if asOwner {
		return columns + `null::uuid as opening, null::uuid as payout, 0::bigint as changed, null::uuid[] as unmailed`
	}

	return columns + openingAccount + ` as opening, ` + payoutAccount + ` as payout,
		case when not s.imported then ` + changedSQL + ` else 0 end as changed, case when s.email_delivery then array(` + unmailedSQL + `) end as unmailed`
}

// loadKept loads what is kept of statements, by their ids.
func (t *viewData) loadKept(ctx context.Context, tx *db.Tx, rows []row) error {
	found, err := db.Select[kept](ctx, tx, `
		select `+keptColumns(t.withLines, t.asOwner)+`
		from unnest(@ids::uuid[]) k (id) left join statement s on s.team_id = @team and s.id = k.id`,
		db.Args{"team": tx.Team, "ids": rowIDs(rows)})
	if err != nil {
		return fmt.Errorf("read what is kept of statements: %w", err)
	}

	t.kept = make(map[id.ID]*kept, len(found))
	for i := range found {
		t.kept[found[i].ID] = &found[i]
	}

	return nil
}

// loadKeptWithDesigns loads what is kept of statements and, with their lines, the designs of saved statements that were
// stored without one: those that their listings have now.
func (t *viewData) loadKeptWithDesigns(ctx context.Context, tx *db.Tx, rows []row) error {
	if err := t.loadKept(ctx, tx, rows); err != nil || !t.withLines {
		return err
	}

	var bare []row

	for i := range rows {
		if r := &rows[i]; !r.isDraft() && r.design == nil && t.kept[r.ID].Layout == nil {
			bare = append(bare, *r)
		}
	}

	if len(bare) == 0 {
		return nil
	}

	chosen, err := layout.LoadChosen(ctx, tx, listingIDs(bare))
	if err != nil {
		return fmt.Errorf("choose layouts: %w", err)
	}

	for i := range bare {
		t.kept[bare[i].ID].Layout = chosen[bare[i].ListingID]
	}

	return nil
}

// design returns the design that a statement is shown with: that of the row, else the stored one.
func (t *viewData) design(r *row) *layout.Design {
	if r.design != nil {
		return r.design
	}

	return t.kept[r.id()].Layout
}
