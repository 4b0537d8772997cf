package contact

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// ListOwners loads the owners of a team, which is in sight, with their values as contacts are taken in by, tax
// identifiers too. Do not show the result to anybody else.
func ListOwners(ctx context.Context, tx *db.Tx, box *seal.Box, team id.ID) ([]id.ID, []intake.Values, error) {
	type row struct {
		ID            id.ID           `json:"-"`
		Type          string          `json:"type"`
		Status        string          `json:"status"`
		Name          string          `json:"name"`
		FirstName     *string         `json:"firstName,omitempty"`
		Email         *string         `json:"email,omitempty"`
		Phone         *string         `json:"phone,omitempty"`
		Address       json.RawMessage `json:"address,omitempty"`
		CompanyType   *string         `json:"companyType,omitempty"`
		UniqueRef     *string         `json:"uniqueRef,omitempty"`
		TaxIdentifier []byte          `json:"-"`
		Plain         string          `json:"taxIdentifier,omitempty" db:"-"`
	}

	rows, err := db.Select[row](ctx, tx, `
		select id, type, status, name, first_name, email, phone, address, company_type, unique_ref, tax_identifier
		from contact where team_id = @from and type = 'owner' order by id`, db.Args{"from": team})
	if err != nil {
		return nil, nil, fmt.Errorf("read owners: %w", err)
	}

	ids, values := make([]id.ID, len(rows)), make([]intake.Values, len(rows))

	for i := range rows {
		r := &rows[i]
		ids[i] = r.ID

		if r.TaxIdentifier != nil {
			plain, err := box.Open(r.TaxIdentifier, label(r.ID))
			if err != nil {
				return nil, nil, fmt.Errorf("tax identifier of contact %v: %w", r.ID, err)
			}

			r.Plain = string(plain)
		}

		if values[i], err = intake.Encode(r); err != nil {
			return nil, nil, err
		}
	}

	return ids, values, nil
}
