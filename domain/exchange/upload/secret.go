package upload

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"stayledger/platform/db"
)

// mask replaces the hidden part of a tax identifier, as in the contact's own field.
const mask = "***"

// likeSecret matches texts written as tax identifiers are, which may be in columns that are not read.
var likeSecret = regexp.MustCompile(`^(\d{3}-\d{2}-\d{4}|\d{2}-\d{7})$`)

// show returns the text of a cell as callers see it: of a tax identifier only the last four digits. The field is the
// field that the column holds, empty for a column that is not read.
func (k *kind) show(field, text string) string {
	at := k.find(field)
	if isSecret := at >= 0 && k.fields[at].isSecret || at < 0 && likeSecret.MatchString(text); !isSecret || text == "" {
		return text
	}

	end := []rune(text)
	if len(end) <= 4 {
		return mask
	}

	return mask + string(end[len(end)-4:])
}

// showValue returns the value of a field as callers see it.
func (k *kind) showValue(field string, value json.RawMessage) json.RawMessage {
	if at := k.find(field); at < 0 || !k.fields[at].isSecret {
		return value
	}

	return quote(k.show(field, text(value)))
}

// showCells returns the texts of the cells in a row as callers see them.
func (it *stored) showCells(k *kind, texts []string) []string {
	out := slices.Clone(texts)

	for i := range out {
		field := ""
		if i < len(it.Columns) {
			field = it.Columns[i].Field
		}

		out[i] = k.show(field, out[i])
	}

	return out
}

// dropSecrets replaces tax identifiers in rows that were imported by what callers see of them: the contacts have them.
func (t *taking) dropSecrets(ctx context.Context, tx *db.Tx, heads []*storedRow) error {
	k := t.reader.kind
	if !t.it.hasSecrets(k) {
		return nil
	}

	var done []*storedRow

	for _, row := range heads {
		if row.Outcome != nil && row.EntityID != nil {
			row.Cells = t.it.showCells(k, row.Cells)
			done = append(done, row)
		}
	}

	return updateRows(ctx, tx, done)
}

// hasSecrets reports whether a column of the file has tax identifiers.
func (it *stored) hasSecrets(k *kind) bool {
	return slices.ContainsFunc(it.Columns, func(c Column) bool {
		at := k.find(c.Field)
		return at >= 0 && k.fields[at].isSecret
	})
}
