package listing

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/intake"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// LoadAll loads the listings of a team, which is in sight, with their values as listings are taken in by. Those that were
// merged into another one are left out.
func LoadAll(ctx context.Context, tx *db.Tx, team id.ID) ([]id.ID, []intake.Values, error) {
	type row struct {
		ID              id.ID            `json:"-"`
		Name            string           `json:"name"`
		UniqueRef       *string          `json:"uniqueRef,omitempty"`
		Status          string           `json:"status"`
		DefaultCurrency string           `json:"defaultCurrency"`
		TimeZone        *string          `json:"timeZone,omitempty"`
		Address         *contact.Address `json:"address,omitempty"`
	}

	rows, err := db.Select[row](ctx, tx, `
		select id, name, unique_ref, status, default_currency, time_zone, address from listing
		where team_id = @from and merged_into_id is null order by id`, db.Args{"from": team})
	if err != nil {
		return nil, nil, fmt.Errorf("read the listings of a team: %w", err)
	}

	ids, values := make([]id.ID, len(rows)), make([]intake.Values, len(rows))

	for i := range rows {
		ids[i] = rows[i].ID
		if values[i], err = intake.Encode(&rows[i]); err != nil {
			return nil, nil, fmt.Errorf("read the listings of a team: %w", err)
		}
	}

	return ids, values, nil
}

// membership is a listing of a group.
type membership struct{ ID, ParentID id.ID }

// copying returns how a duplicate of a team gets the listings with their groups and owners, without the connections that
// they came over. Periods of owners who have no counterparts are left out.
func (h Listings) copying(ctx context.Context, tx *db.Tx, from id.ID) (parts.Paste, error) {
	ids, values, err := LoadAll(ctx, tx, from)
	if err != nil {
		return nil, err
	}

	grouped, err := db.Select[membership](ctx, tx, `select id, parent_id from listing where team_id = @from and parent_id is not null and merged_into_id is null order by id`,
		db.Args{"from": from})
	if err != nil {
		return nil, fmt.Errorf("read the listing groups of a team: %w", err)
	}

	periods, err := selectPeriods(ctx, tx, "p.team_id = @from", db.Args{"from": from})
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, tx *db.Tx, asked bool, here parts.Counterparts) error {
		if !asked {
			return nil
		}

		kind := h.Intake()

		copied, err := kind.CopyAll(ctx, tx, ids, values)
		if err != nil {
			return err
		}

		maps.Copy(here, copied)

		if err := copyGroups(ctx, tx, grouped, here); err != nil {
			return err
		}

		return AddPeriods(ctx, tx, counterparts(tx, periods, here))
	}, nil
}

// copyGroups puts listings into the counterparts of their groups.
func copyGroups(ctx context.Context, tx *db.Tx, grouped []membership, here parts.Counterparts) error {
	ids := make([]id.ID, 0, 2*len(grouped))
	for _, m := range grouped {
		ids = append(ids, here[m.ID], here[m.ParentID])
	}

	found, err := ByID(ctx, tx, id.Distinct(ids))
	if err != nil {
		return err
	}

	for _, m := range grouped {
		l, group := found[here[m.ID]], found[here[m.ParentID]]
		if err := saveParent(ctx, tx, &l, &group); err != nil {
			return err
		}
	}

	return nil
}

// counterparts returns ownership periods of another team as they are here. A period with an owner who is not here is left
// out.
func counterparts(tx *db.Tx, periods []Period, here parts.Counterparts) []Period {
	out := make([]Period, 0, len(periods))

	for _, p := range periods {
		members := make([]Member, len(p.Members))
		isKnown := !here[p.ListingID].IsZero()

		for i, m := range p.Members {
			m.ContactID = here[m.ContactID]
			members[i], isKnown = m, isKnown && !m.ContactID.IsZero()
		}

		if !isKnown {
			continue
		}

		p.ID, p.ListingID, p.Members, p.DeactivationHeld = tx.NewID(), here[p.ListingID], members, nil
		p.CreatedAt, p.UpdatedAt = day.At(tx.Now), day.At(tx.Now)
		out = append(out, p)
	}

	return out
}
