package team

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Known is what deployments of other regions know of a team.
type Known struct {
	ID        id.ID  `json:"id"`
	Type      Type   `json:"type"`
	Name      string `json:"name"`
	Status    Status `json:"status"`
	Region    string `json:"region"`
	PartnerID *id.ID `json:"partnerId"`
}

// LoadKnown returns a partner and its customers, the partner first. Tx works across teams.
func LoadKnown(ctx context.Context, tx *db.Tx, partner id.ID) ([]Known, error) {
	teams, err := db.Select[Known](ctx, tx, `
		select id, type, name, status, region, partner_id from team where id = @partner and type = 'partner' or partner_id = @partner
		order by id <> @partner, id`, db.Args{"partner": partner})
	if err != nil {
		return nil, fmt.Errorf("list the teams of a partner: %w", err)
	}

	return teams, nil
}

// Learn takes in what another deployment knows of teams. Tx works across teams. A team of a region that is served here
// stays as it is, because it is known better here; others are added or changed.
func Learn(ctx context.Context, tx *db.Tx, teams []Known, here []string) error {
	rows, err := json.Marshal(teams)
	if err != nil {
		return fmt.Errorf("encode teams: %w", err)
	}

	changed, err := db.Select[id.ID](ctx, tx, `
		insert into team (id, type, name, status, region, partner_id, created_at, updated_at)
		select x.id, x.type, x.name, x.status, x.region, x."partnerId", @now, @now
		from jsonb_to_recordset(@rows::jsonb) as x (id uuid, type text, name text, status text, region text, "partnerId" uuid)
		on conflict (id) do update set name = excluded.name, status = excluded.status, partner_id = excluded.partner_id, updated_at = @now
		where team.region = excluded.region and not team.region = any(@here::text[])
			and (team.name, team.status, team.partner_id) is distinct from (excluded.name, excluded.status, excluded.partner_id)
		returning id`, db.Args{"rows": string(rows), "now": tx.Now, "here": here})
	if err != nil {
		return fmt.Errorf("take in the teams of another region: %w", err)
	}

	for _, v := range changed {
		audit.NoteIn(tx, v, audit.Updated, audit.Team, v, nil, map[string]any{"directory": true})
	}

	return nil
}
