package intake

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// copyAtOnce is how many records CopyAll saves at a time.
const copyAtOnce = 500

// CopyAll saves records of another team here: values[i] is what the record ids[i] has there. It returns the new ids by
// old id. It fails if a record is refused.
func (k *Kind) CopyAll(ctx context.Context, tx *db.Tx, ids []id.ID, values []Values) (map[id.ID]id.ID, error) {
	out := make(map[id.ID]id.ID, len(ids))

	for first := 0; first < len(ids); first += copyAtOnce {
		some := values[first:min(first+copyAtOnce, len(ids))]

		writes := make([]Write, len(some))
		for i := range some {
			writes[i].Fields = some[i]
		}

		saved, err := k.Save(ctx, tx, Origin{}, writes)
		if err != nil {
			return nil, fmt.Errorf("copy the records of a team: %w", err)
		}

		for i := range saved {
			if saved[i].Refusal != nil {
				return nil, fmt.Errorf("copy the %s %v: %w", k.Name, ids[first+i], saved[i].Refusal)
			}

			out[ids[first+i]] = saved[i].ID
		}
	}

	return out, nil
}
