package trust

import (
	"context"
	"fmt"

	"stayledger/domain/activity/recurring"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/bank"
	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// agedDays is for how long money can be in transit or outstanding before it is a finding.
const agedDays = 90

// guestOrigin says since when money of a cancelled stay or of none is held. Kind is reservation, transaction or
// journal, and empty for a source that is neither.
type guestOrigin struct {
	ID    id.ID
	Kind  string
	Since *day.Day
}

// loadOrigins loads the origins of the cells of cancelled stays, by reservation, and of no stay, by source. Money of a
// cancelled stay is held since the cancellation, or since its first entry if that came later.
func loadOrigins(
	ctx context.Context, tx *db.Tx, p *position, accounts []id.ID, cells []guestCell,
) (map[id.ID]guestOrigin, error) {
	stays, sources := []id.ID{}, []id.ID{}

	for i := range cells {
		switch c := &cells[i]; {
		case c.Status == report.Unassigned && !c.SourceID.IsZero():
			sources = append(sources, c.SourceID)
		case c.Status == report.Cancelled && !c.ReservationID.IsZero():
			stays = append(stays, c.ReservationID)
		}
	}

	out := map[id.ID]guestOrigin{}
	if len(stays)+len(sources) == 0 {
		return out, nil
	}

	rows, err := db.Select[guestOrigin](ctx, tx, `
		select r.id, 'reservation' as kind, greatest(r.cancelled_at, (
			select min(e.txn_at) from ledger_entry e where e.team_id = @team and e.reservation_id = r.id and e.account_id = any(@accounts)
				and e.txn_at <= @date and e.ledger = 'trust' and e.status = 'active' and e.currency = @currency)) as since
		from reservation r where r.team_id = @team and r.id = any(@stays)
		union all
		select s.id, case when exists (select from transaction t where t.team_id = @team and t.id = s.id) then 'transaction'
				when exists (select from journal j where j.team_id = @team and j.id = s.id) then 'journal' else '' end, (
			select min(e.txn_at) from ledger_entry e where e.team_id = @team and e.source_id = s.id and e.account_id = any(@accounts)
				and e.reservation_id is null and e.txn_at <= @date and e.ledger = 'trust' and e.status = 'active' and e.currency = @currency)
		from unnest(@sources::uuid[]) s (id)`,
		db.Args{
			"team": tx.Team, "accounts": accounts, "date": p.date, "currency": p.currency, "stays": id.Distinct(stays),
			"sources": id.Distinct(sources),
		})
	if err != nil {
		return nil, fmt.Errorf("read where guest money comes from: %w", err)
	}

	for _, r := range rows {
		out[r.ID] = r
	}

	return out, nil
}

// findUnassigned returns a place for each posting of a claim that belongs to no reservation. Postings of a listing that
// add up to zero have settled each other.
func (p *position) findUnassigned(
	claim Claim, cells []guestCell, origins map[id.ID]guestOrigin, behind report.Selection,
) []WarningItem {
	var found []WarningItem

	open := map[id.ID]money.Cents{}

	for i := range cells {
		if c := &cells[i]; c.Status == report.Unassigned {
			open[c.ListingID] += c.total()
		}
	}

	behind.OccupancyStatus = report.Unassigned

	for i := range cells {
		c := &cells[i]
		if c.Status != report.Unassigned || c.SourceID.IsZero() || open[c.ListingID] == 0 {
			continue
		}

		// Only transactions can be named by a filter.
		source := origins[c.SourceID]
		item := WarningItem{ListingID: c.ListingID.OrNil(), Figure: Figure{CentTotal: c.total()}, Since: source.Since}

		switch source.Kind {
		case "transaction":
			of := behind
			of.TransactionIDs, of.ListingIDs = page.RefsTo(c.SourceID), page.RefsTo(c.ListingID)
			item.TransactionID, item.Figure = &c.SourceID, p.chart.figure(claim, c.total(), of)
		case "journal":
			item.JournalID = &c.SourceID
		}

		found = append(found, item)
	}

	return found
}

// depositBooks are the open balances of security deposits, by stay, and the origins of those that need one.
type depositBooks struct {
	cells   []guestCell
	origins map[id.ID]guestOrigin
}

// load loads the deposits at the end of the position's day.
func (d *depositBooks) load(ctx context.Context, tx *db.Tx, p *position) error {
	accounts := p.chart.claimAccounts(ClaimSecurityDeposits)
	if len(accounts) == 0 {
		return nil
	}

	var err error
	if d.cells, err = loadGuestCells(ctx, tx, &guestSelection{
		accounts:     accounts,
		date:         p.date,
		currency:     p.currency,
		withoutParty: true,
		balancesOnly: true,
	}); err != nil {
		return err
	}

	d.origins, err = loadOrigins(ctx, tx, p, accounts, d.cells)

	return err
}

// checkDeposits adds security deposits that are open after the stay or belong to no reservation.
func (f findings) checkDeposits(p *position, d *depositBooks) {
	// Deposits of guests who are here or still to come are where they belong.
	for _, s := range sumByStay(d.cells) {
		if s.status != report.Departed && s.status != report.Cancelled {
			continue
		}

		behind := p.drilldownFilter()
		behind.ReservationIDs = page.RefsTo(s.reservationID)
		item := WarningItem{
			ListingID:     s.listingID.OrNil(),
			ReservationID: &s.reservationID,
			Figure:        p.chart.figure(ClaimSecurityDeposits, s.total, behind),
			Since:         s.checkOut,
		}

		if s.status == report.Cancelled {
			item.Since = d.origins[s.reservationID].Since
		}

		f.add(WarnKeptDeposit, item)
	}

	f.add(WarnUnassigned, p.findUnassigned(ClaimSecurityDeposits, d.cells, d.origins, p.drilldownFilter())...)
}

// checkBelowZero adds the trust accounts that the books have below zero at the end of the day, and those that were on
// another day of its month.
func (f findings) checkBelowZero(ctx context.Context, tx *db.Tx, p *position) error {
	type low struct {
		AccountID id.ID
		// Since is the first day of those that the account has been below zero without a break; nil when it is not.
		Since *day.Day
		// Lowest is the least balance of a day of the month, and LowestAt that day; nil when none was below zero.
		Lowest   money.Cents
		LowestAt *day.Day
	}

	// A balance holds from its day to the next one with entries.
	rows, err := db.Select[low](ctx, tx, `
		with daily as (
			select d.account_id, d.day, sum(d.debit - d.credit) as net from ledger_day d
			where d.team_id = @team and d.ledger = 'trust' and d.currency = @currency and d.account_id = any(@banks::uuid[]) and d.day <= @date
			group by 1, 2
		), balance as (
			select account_id, day, sum(net) over w as cents, lead(day) over w as until from daily window w as (partition by account_id order by day)
		), marked as (
			select *, max(day) filter (where cents >= 0) over (partition by account_id) as last_good from balance
		)
		select account_id, min(day) filter (where last_good is null or day > last_good) as since,
			coalesce(min(cents) filter (where until is null or until > @first), 0)::bigint as lowest,
			(array_agg(greatest(day, @first) order by cents, day) filter (where until is null or until > @first))[1] as lowest_at
		from marked group by account_id having min(cents) filter (where until is null or until > @first) < 0 order by account_id`,
		db.Args{
			"team": tx.Team, "currency": p.currency, "banks": p.banks(), "date": p.date, "first": p.date.FirstOfMonth(),
		})
	if err != nil {
		return fmt.Errorf("read the daily balances of trust accounts: %w", err)
	}

	for i := range rows {
		r := &rows[i]
		behind := p.drilldownFilter()
		behind.AccountIDs = page.Only(r.AccountID)

		if r.Since != nil {
			cents := -p.byAccount[accountKey{ClaimBank, r.AccountID}]
			f.add(WarnBelowZero, WarningItem{
				AccountID: &r.AccountID, Figure: p.chart.figure(ClaimBank, cents, behind), Since: r.Since,
			})

			continue
		}

		behind.EndDate = &report.End{Day: *r.LowestAt}
		f.add(WarnWasBelowZero, WarningItem{
			AccountID: &r.AccountID, Figure: p.chart.figure(ClaimBank, r.Lowest, behind), Since: r.LowestAt,
		})
	}

	return nil
}

// checkAged adds what has been in transit or outstanding for more than 90 days. An account without bank records has
// nothing that could be matched, which is a finding of its own.
func (f findings) checkAged(p *position, leg *BankLeg) {
	for i := range leg.Accounts {
		a := &leg.Accounts[i]
		if !a.known {
			continue
		}

		// Only the largest items of each kind are loaded, so count and total come from the database.
		for n := range a.aged {
			r := &a.aged[n]

			code := WarnAgedTransit
			if r.Kind == bank.Outstanding {
				code = WarnAgedOutstanding
			}

			of := f.placesFor(code)
			if n == 0 || a.aged[n-1].Kind != r.Kind {
				of.count, of.total = of.count+r.Count, of.total+r.Total
			}

			u := p.renderUncleared(&r.Item)

			// What is open differs from the entries when a record has a part of it.
			figure := Figure{CentTotal: r.Open}
			if r.Open == r.Booked {
				figure = u.Booked
			}

			of.items = append(of.items, WarningItem{
				AccountID: &r.AccountID, TransactionID: r.TransactionID, JournalID: r.JournalID, Figure: figure,
				Since: &r.BookedAt,
			})
		}
	}
}

// inactiveItem returns the place of a finding about a named record that is archived, which has a type.
func inactiveItem(of string, named id.ID) WarningItem {
	switch of {
	case "account":
		return WarningItem{AccountID: &named}
	case "contact":
		return WarningItem{ContactID: &named}
	case "listing":
		return WarningItem{ListingID: &named}
	}

	return WarningItem{}
}

// checkBills adds the open bills of the day that name an archived contact, listing or account.
func (f findings) checkBills(ctx context.Context, tx *db.Tx, p *position) error {
	type bill struct {
		TransactionID id.ID
		Type          string
		ID            id.ID
		Open          money.Cents
		Since         day.Day
		Count         int
		Total         money.Cents
	}

	// A bill counts once, for the first archived record that it names.
	rows, err := db.Select[bill](ctx, tx, `
		with gone as (
			select 1 as place, 'contact' as type, id from contact where team_id = @team and status = 'inactive'
			union all select 2, 'listing', id from listing where team_id = @team and status = 'inactive'
			union all select 3, 'account', id from account where team_id = @team and status = 'inactive'
		), open as materialized (
			select t.id, t.date, t.total, t.contact_id, t.account_id from transaction t
			join account a on a.team_id = @team and a.id = t.account_id and a.type <> 'bank'
			where t.team_id = @team and t.type = 'expense' and t.status = 'active' and t.currency = @currency and t.date <= @date
				and (t.payment_date is null or t.payment_date > @date) and exists (select from gone)
		), named as (
			select o.id, o.contact_id as named from open o where o.contact_id is not null
			union all select o.id, o.account_id from open o
			union all select o.id, v.named from open o join transaction_line l on l.team_id = @team and l.transaction_id = o.id
				cross join lateral (values (l.contact_id), (l.listing_id), (l.account_id)) v (named) where v.named is not null
		), found as (
			select distinct on (n.id) n.id, g.type, g.id as named from named n join gone g on g.id = n.named order by n.id, g.place, g.id
		)
		select o.id as transaction_id, f.type, f.named as id, o.total as open, o.date as since, count(*) over () as count,
			(sum(o.total) over ())::bigint as total
		from found f join open o on o.id = f.id order by abs(o.total) desc, o.id limit @most`,
		db.Args{"team": tx.Team, "currency": p.currency, "date": p.date, "most": warningItems})
	if err != nil {
		return fmt.Errorf("read open bills that name archived records: %w", err)
	}

	for i := range rows {
		r := &rows[i]
		item := inactiveItem(r.Type, r.ID)
		item.TransactionID, item.Figure, item.Since = &r.TransactionID, Figure{CentTotal: r.Open}, &r.Since

		of := f.placesFor(WarnInactiveOnBill)
		of.items, of.count, of.total = append(of.items, item), r.Count, r.Total
	}

	return nil
}

// checkRules adds the fields of active bank rules that name archived records. Rules have no amount.
func (f findings) checkRules(ctx context.Context, tx *db.Tx, _ *position) error {
	found, err := rule.ListInactiveReferences(ctx, tx)
	if err != nil {
		return err
	}

	for i := range found {
		item := inactiveItem(found[i].Type, found[i].ID)
		item.BankRuleID = &found[i].RuleID
		f.add(WarnInactiveInRule, item)
	}

	return nil
}

// checkTemplates adds the fields of active recurring templates that name archived records, with the amount of an
// instance.
func (f findings) checkTemplates(ctx context.Context, tx *db.Tx, p *position) error {
	found, err := recurring.ListInactiveReferences(ctx, tx, p.currency, warningItems)
	if err != nil {
		return err
	}

	for i := range found {
		item := inactiveItem(found[i].Type, found[i].ID)
		item.TemplateID, item.Figure = &found[i].TemplateID, Figure{CentTotal: found[i].Amount}

		of := f.placesFor(WarnInactiveTemplate)
		of.items, of.count, of.total = append(of.items, item), found[i].Count, found[i].Total
	}

	return nil
}
