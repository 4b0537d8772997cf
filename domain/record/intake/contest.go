package intake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Contest says that another system says otherwise of records than they are here: fields which are lists, by record. What that comes
// to is an open conflict of the record's own source for each item that only one side has and each amount that differs; equal
// lists end the conflicts about them. Records that no source has brought stay as they are.
func Contest(ctx context.Context, tx *db.Tx, k *Kind, said map[id.ID]Values) error {
	type row struct{ SourceID, EntityID id.ID }

	found, err := db.Select[row](ctx, tx, `
		select distinct on (entity_id) source_id, entity_id from external_record
		where team_id = @team and kind = @kind and entity_id = any(@ids) and state = 'active' order by entity_id, source_id desc`,
		db.Args{"team": tx.Team, "kind": k.Name, "ids": slices.Collect(maps.Keys(said))})
	if err != nil {
		return fmt.Errorf("find the sources of records: %w", err)
	}

	bySource := map[id.ID][]id.ID{}
	for _, r := range found {
		bySource[r.SourceID] = append(bySource[r.SourceID], r.EntityID)
	}

	for _, source := range slices.SortedFunc(maps.Keys(bySource), id.ID.Compare) {
		if err := k.contest(ctx, tx, Origin{SourceID: source}, bySource[source], said); err != nil {
			return err
		}
	}

	return nil
}

// contest is Contest for records of one source.
func (k *Kind) contest(ctx context.Context, tx *db.Tx, from Origin, entities []id.ID, said map[id.ID]Values) error {
	known, err := loadByEntity(ctx, tx, from, byEntity{k.Name, entities, []string{active}})
	if err != nil {
		return err
	}

	here, err := k.Show(ctx, tx, entities)
	if err != nil {
		return err
	}

	var rows []keepRow

	for _, v := range entities {
		m, comes := known[v], said[v]

		paths, err := k.listDiffering(comes, here[v])
		if err != nil {
			return err
		}

		// The source is not read anew for that: it goes on to say what it has said.
		row := m.row(active, m.Waiting)
		row.Hash, row.Taken, row.conflicts = m.Hash, maps.Clone(m.Taken), nil
		maps.Copy(row.Taken, comes)

		for _, c := range m.Conflicts {
			if comes[pathFields(c.Field)[0]] == nil {
				row.conflicts = append(row.conflicts, c)
			}
		}

		for _, path := range paths {
			row.conflicts = append(row.conflicts, openConflict{ID: tx.NewID(), Field: path})
		}

		rows = append(rows, row)
	}

	return remember(ctx, tx, from, rows)
}

// listDiffering returns the paths, sorted, of the items of lists that only one side has and of the amounts that differ.
func (k *Kind) listDiffering(comes, here Values) ([]string, error) {
	ours, theirs, err := k.sides(comes, here)
	if err != nil {
		return nil, err
	}

	var out []string

	for path := range ours {
		is, says := string(ours[path]), string(theirs[path])
		if is == says {
			continue
		}

		isItem := strings.HasSuffix(path, "]")
		isAmount := strings.HasSuffix(path, "."+k.Lists[pathFields(path)[0]].Amount) && is != null && says != null

		if isItem || isAmount {
			out = append(out, path)
		}
	}

	slices.Sort(out)

	return out, nil
}
