package webhook

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// limit is how often something can be done within a minute (LIM-14 to LIM-16).
type limit struct {
	name string
	most int
}

// changeLimit limits how often a team creates, changes, rotates or disables webhooks.
func changeLimit() limit { return limit{"changes", 20} }

// testLimit limits the tests of a webhook.
func testLimit(webhook id.ID) limit { return limit{"test " + webhook.String(), 6} }

// replayLimit limits the replays of a team.
func replayLimit() limit { return limit{"replays", 60} }

// take counts a use in the transaction, so a request that fails counts nothing. It fails with errRateLimited when the
// last minute is full, which says after how long the next use is free (LIM-17).
func (l limit) take(ctx context.Context, tx *db.Tx) error {
	args := db.Args{"team": tx.Team, "name": l.name, "now": tx.Now, "most": l.most}

	// The row is locked until the transaction ends, so uses of one team are counted one after the other.
	n, err := tx.Exec(ctx, `
		insert into webhook_rate as r (team_id, name, used_at) values (@team, @name, array[@now::timestamptz])
		on conflict (team_id, name) do update
			set used_at = array(select u from unnest(r.used_at) u where u > @now::timestamptz - interval '1 minute') || @now::timestamptz
			where (select count(*) from unnest(r.used_at) u where u > @now::timestamptz - interval '1 minute') < @most`, args)
	if err != nil {
		return fmt.Errorf("count a use: %w", err)
	}

	if n > 0 {
		return nil
	}

	// The minute is full until its oldest use leaves it.
	delete(args, "most")

	first, err := db.Get[time.Time](ctx, tx, `
		select min(u) from webhook_rate r, unnest(r.used_at) u
		where r.team_id = @team and r.name = @name and u > @now::timestamptz - interval '1 minute'`, args)
	if err != nil {
		return fmt.Errorf("read the uses of the last minute: %w", err)
	}

	return errRateLimited.RetryAfter(first.Add(time.Minute).Sub(tx.Now))
}
