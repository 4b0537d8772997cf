package legacy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// OwnerShare is an owner's part in a listing from StartAt up to, but not including, EndAt.
type OwnerShare struct {
	ListingID      id.ID
	ContactID      id.ID
	Split          int64
	StartAt, EndAt *day.Day
}

// LoadShares loads the shares of the owners of a legacy team, which is in sight, by listing.
func LoadShares(ctx context.Context, tx *db.Tx, team id.ID) (map[id.ID][]OwnerShare, error) {
	rows, err := db.Select[OwnerShare](ctx, tx, `
		select listing_id, contact_id, split, start_at, end_at from legacy_ownership where team_id = @from order by listing_id, position`,
		db.Args{"from": team})
	if err != nil {
		return nil, fmt.Errorf("read the shares of a legacy team: %w", err)
	}

	out := map[id.ID][]OwnerShare{}
	for _, r := range rows {
		out[r.ListingID] = append(out[r.ListingID], r)
	}

	return out, nil
}

// DerivePeriods returns the ownership periods of a listing from its owners' shares: a new period on each day on which a
// share begins or ends. A period has no members if the shares do not make up the whole, until somebody names the
// owners.
func DerivePeriods(shares []OwnerShare) []listing.Period {
	// The days on which something changes; nil is the inception.
	var (
		days      []day.Day
		inception bool
	)

	for _, s := range shares {
		if s.StartAt == nil {
			inception = true
		} else {
			days = append(days, *s.StartAt)
		}

		if s.EndAt != nil {
			days = append(days, *s.EndAt)
		}
	}

	slices.SortFunc(days, day.Day.Compare)
	days = slices.Compact(days)

	starts := make([]*day.Day, 0, len(days)+1)
	if inception {
		starts = append(starts, nil)
	}

	for i := range days {
		starts = append(starts, &days[i])
	}

	var out []listing.Period

	for i, start := range starts {
		members, held := membersOn(shares, start)
		if !held {
			continue
		}

		p := listing.Period{StartAt: start, BusinessModel: listing.Managed, Members: members}
		if i+1 < len(starts) {
			p.EndAt = starts[i+1]
		}

		// A day on which only the order of equal shares changes is no new period.
		if last := len(out) - 1; last >= 0 && out[last].EndAt != nil && start != nil && *out[last].EndAt == *start &&
			slices.Equal(out[last].Members, members) {
			out[last].EndAt = p.EndAt
			continue
		}

		out = append(out, p)
	}

	return out
}

// membersOn returns the owners on the first day of a period, nil for the inception, and whether there is any share at
// all. It returns no members if the shares do not make up the whole.
func membersOn(shares []OwnerShare, on *day.Day) ([]listing.Member, bool) {
	var (
		members []listing.Member
		sum     int64
	)

	for _, s := range shares {
		begun := s.StartAt == nil || on != nil && !on.Before(*s.StartAt)
		if over := s.EndAt != nil && on != nil && !on.Before(*s.EndAt); !begun || over {
			continue
		}

		sum += s.Split

		// An owner with several shares in the listing is one member with their sum.
		if i := slices.IndexFunc(members, func(m listing.Member) bool { return m.ContactID == s.ContactID }); i >= 0 {
			members[i].Split += s.Split
		} else {
			members = append(members, listing.Member{ContactID: s.ContactID, Split: s.Split})
		}
	}

	// Shares that add up to less or more than the whole cannot be ownership.
	held := members != nil
	if sum != listing.Whole {
		return []listing.Member{}, held
	}

	return members, held
}

// Head is a statement without its lines.
type Head struct {
	SourceID       string
	ListingID      id.ID
	StartAt, EndAt day.Day
	Currency       string
	Status         Status
	BalanceStart   money.Cents
	BalanceEnd     money.Cents
	// LineCount counts the lines with an amount, Keys are the legacy accounts of lines other than payouts, and Payees
	// the owners that payouts name.
	LineCount  int
	Keys       []string
	HasPayouts bool
	Payees     []id.ID
}

// LoadHeads loads the statements of a legacy team, which is in sight, by listing and day.
func LoadHeads(ctx context.Context, tx *db.Tx, team id.ID) ([]Head, error) {
	heads, err := db.Select[Head](ctx, tx, `
		select s.source_id, s.listing_id, s.start_at, s.end_at, s.currency, s.status, s.balance_start, s.balance_end,
			l.count as line_count, l.keys, l.payouts as has_payouts, l.payees
		from legacy_statement s cross join lateral (
			select count(*)::integer as count, coalesce(bool_or(x.type = 'payout'), false) as payouts,
				coalesce(array_agg(distinct x."accountKey") filter (where x.type = 'line'), '{}') as keys,
				coalesce(array_agg(distinct x."ownerId") filter (where x.type = 'payout' and x."ownerId" is not null), '{}') as payees
			from jsonb_to_recordset(s.lines) as x (type text, "accountKey" text, amount bigint, "ownerId" uuid) where x.amount <> 0) l
		where s.team_id = @from order by s.listing_id, s.currency, s.start_at, s.source_id`, db.Args{"from": team})
	if err != nil {
		return nil, fmt.Errorf("read the statements of a legacy team: %w", err)
	}

	return heads, nil
}

// LoadLines loads the lines of some statements of a legacy team, which is in sight, in their order.
func LoadLines(ctx context.Context, tx *db.Tx, team id.ID, statements []string) ([][]Line, error) {
	lines, err := db.Select[[]Line](ctx, tx, `
		select s.lines from unnest(@ids::text[]) with ordinality g (id, n)
		join legacy_statement s on s.team_id = @from and s.source_id = g.id order by g.n`, db.Args{"from": team, "ids": statements})
	if err != nil {
		return nil, fmt.Errorf("read the lines of legacy statements: %w", err)
	}

	return lines, nil
}

// LoadAccounts loads the accounts of a legacy team, which is in sight, by key.
func LoadAccounts(ctx context.Context, tx *db.Tx, team id.ID) (map[string]Account, error) {
	rows, err := db.Select[Account](ctx, tx, `select key, ref, name, classification from legacy_account where team_id = @from`, db.Args{"from": team})
	if err != nil {
		return nil, fmt.Errorf("read the accounts of a legacy team: %w", err)
	}

	out := make(map[string]Account, len(rows))
	for _, r := range rows {
		out[r.Key] = r
	}

	return out, nil
}

// LoadTemplates loads the templates of a legacy team, which is in sight, by name.
func LoadTemplates(ctx context.Context, tx *db.Tx, team id.ID) ([]Template, error) {
	found, err := db.Select[struct {
		SourceID   string
		Name       string
		IsDefault  bool
		NetRevenue []Section
		Other      []Section
	}](ctx, tx, `select source_id, name, is_default, net_revenue, other from legacy_template where team_id = @from`, db.Args{"from": team})
	if err != nil {
		return nil, fmt.Errorf("read the templates of a legacy team: %w", err)
	}

	out := make([]Template, len(found))
	for i, f := range found {
		out[i] = Template{
			ID: f.SourceID, Name: f.Name, IsDefault: f.IsDefault, NetRevenue: f.NetRevenue, Other: f.Other,
		}
	}

	slices.SortFunc(
		out, func(a, b Template) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) },
	)

	return out, nil
}
