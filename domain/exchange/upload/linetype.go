package upload

import (
	"context"
	"encoding/json"
	"slices"

	"stayledger/domain/activity/linemapping"
	"stayledger/platform/db"
)

// mapped finds the accounts for line types by the team's mappings, and collects unmapped types.
type mapped struct {
	set      linemapping.Set
	appID    *string
	unmapped []string
}

// account returns the fields that the mapping for a type sets in a line.
func (m *mapped) account(lineType string) (fields map[string]json.RawMessage, known, left bool) {
	found := m.set.Find(m.appID, lineType)
	if found == nil {
		if !slices.Contains(m.unmapped, lineType) && len(m.unmapped) < mostIssues {
			m.unmapped = append(m.unmapped, lineType)
		}

		return nil, false, false
	}

	fields = map[string]json.RawMessage{}

	switch {
	case found.Status == linemapping.StatusExcluded:
		return nil, true, true
	case found.AccountID != nil:
		fields["accountId"] = quote(found.AccountID.String())
	default:
		fields["assignment"] = quote(string(*found.Assignment))
	}

	if found.Party != nil {
		fields["party"] = quote(string(*found.Party))
	}

	return fields, true, false
}

// noteUnmapped saves the unmapped types, so that a person sees them and maps them.
func noteUnmapped(ctx context.Context, tx *db.Tx, r *reader) error {
	m, is := r.lineTypes.(*mapped)
	if !is || len(m.unmapped) == 0 {
		return nil
	}

	return linemapping.NoteUnmapped(ctx, tx, m.appID, m.unmapped)
}
