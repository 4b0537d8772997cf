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

// Contest compares list fields of records with the lists of another system, given by record. In the record's own
// source it opens a conflict for each item that only one side has and for each amount that differs; equal lists end
// their conflicts. Records without a source are ignored.
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
		if err := k.contestSource(ctx, tx, Origin{SourceID: source}, bySource[source], said); err != nil {
			return err
		}
	}

	return nil
}

// contestSource is Contest for the records of one source.
func (k *Kind) contestSource(
	ctx context.Context, tx *db.Tx,
	from Origin,
	entities []id.ID,
	said map[id.ID]Values,
) error {
	known, err := loadByEntity(ctx, tx, from, byEntity{k.Name, entities, []string{active}})
	if err != nil {
		return err
	}

	here, err := k.Show(ctx, tx, entities)
	if err != nil {
		return err
	}

	var rows []recordRow

	for _, v := range entities {
		m, comes := known[v], said[v]

		paths, err := k.listDiffering(comes, here[v])
		if err != nil {
			return err
		}

		// Keep the hash: the source of the record has said nothing new.
		row := m.row(active, m.Waiting)
		row.Hash, row.Taken, row.conflicts = m.Hash, maps.Clone(m.Taken), nil
		maps.Copy(row.Taken, comes)

		// Conflicts about other fields stay open.
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

	return upsertRecords(ctx, tx, from, rows)
}

// listDiffering returns the sorted paths of list items that only one side has, and of amounts that differ.
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
