package contact

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// LoadAll loads the contacts of the given types of a team, which is in sight, with their values as contacts are taken in
// by, tax identifiers too. Do not show the result to anybody else.
func LoadAll(ctx context.Context, tx *db.Tx, box *seal.Box, team id.ID, types ...Type) ([]id.ID, []intake.Values, error) {
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
		from contact where team_id = @from and type = any(@types::text[]) order by id`, db.Args{"from": team, "types": types})
	if err != nil {
		return nil, nil, fmt.Errorf("read the contacts of a team: %w", err)
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

// copying returns how a duplicate of a team gets the contacts: without the connections that they came over, the ways to pay
// them and who may sign in as them. The bank account that an owner is paid from is its counterpart.
func (e edge) copying(ctx context.Context, tx *db.Tx, from id.ID) (parts.Paste, error) {
	ids, values, err := LoadAll(ctx, tx, e.box, from, Owner, Vendor)
	if err != nil {
		return nil, err
	}

	type payer struct{ ID, AccountID id.ID }

	payers, err := db.Select[payer](ctx, tx, `
		select id, payout_account_id as account_id from contact where team_id = @from and payout_account_id is not null order by id`,
		db.Args{"from": from})
	if err != nil {
		return nil, fmt.Errorf("read the payout accounts of a team: %w", err)
	}

	return func(ctx context.Context, tx *db.Tx, asked bool, here parts.Counterparts) error {
		if !asked {
			return nil
		}

		accounts := map[id.ID]id.ID{}
		for _, p := range payers {
			accounts[p.ID] = here[p.AccountID]
		}

		for i, v := range ids {
			if account := accounts[v]; !account.IsZero() {
				values[i]["payoutAccountId"] = json.RawMessage(`"` + account.String() + `"`)
			}
		}

		kind := Intake(e.box)

		copied, err := kind.CopyAll(ctx, tx, ids, values)
		maps.Copy(here, copied)

		return err
	}, nil
}
