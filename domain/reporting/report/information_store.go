package report

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// informationCurrency is the only currency of these forms.
const informationCurrency money.Currency = "usd"

// figure1099 is the amount of a contact, with drill-downs to its entries.
type figure1099 struct {
	form       Form
	contactID  id.ID
	amount     money.Cents
	drilldowns []Drilldown
}

// ownershipRents are the collected revenue of an ownership in a year. Late are stays of earlier years with revenue
// collected in this year. Unstayed means that the channel pays the owner and the manager separately, so that only
// revenue without a stay counts.
type ownershipRents struct {
	PeriodID    id.ID
	Live        money.Cents
	Historic    money.Cents
	HasHistoric bool
	Unstayed    bool
	Late        []id.ID
	ContactIDs  []id.ID
	Splits      []int64
}

// rentsSQL is SQL that adds up, by ownership, the owners' revenue that the manager collected. Revenue of a stay
// counts as far as the guest, or the channel, had paid for the stay by the end of the year, less what counted by
// the end of the year before. A payment is for all that was charged by then, in proportion, so an advance payment
// counts when the revenue is booked. Stays that the channel pays to the owner directly are left out. Revenue
// without a stay counts when it is booked, and so does that of a stay that charges guests nothing.
//
// It reads only stays with entries in the year, and all earlier entries of those.
const rentsSQL = `
	with guests as materialized (
		select account_id from account_assignment where team_id = @team and assignment in ('accountsReceivable', 'deposit_coHostPayout')
	), touched as materialized (
		select distinct e.reservation_id from ledger_entry e
		where e.team_id = @team and e.reservation_id is not null and e.currency = 'usd' and e.ledger in ('trust', 'operating') and e.status = 'active'
			and e.txn_at between @from and @to and (e.party = 'owners' or e.account_id in (select account_id from guests))
	), paid as (
		select e.reservation_id, sum(e.cent_total) filter (where e.transaction_id is null) as charges,
			coalesce(-sum(e.cent_total) filter (where e.transaction_id is not null), 0) as payments,
			sum(e.cent_total) filter (where e.transaction_id is null and e.txn_at < @from) as charges_before,
			coalesce(-sum(e.cent_total) filter (where e.transaction_id is not null and e.txn_at < @from), 0) as payments_before
		from ledger_entry e
		where e.team_id = @team and e.reservation_id in (select reservation_id from touched) and e.account_id in (select account_id from guests)
			and e.currency = 'usd' and e.ledger in ('trust', 'operating') and e.status = 'active' and e.txn_at <= @to
		group by 1
	), booked as (
		select e.ownership_period_id as period_id, e.reservation_id, -sum(e.cent_total) as revenue,
			coalesce(-sum(e.cent_total) filter (where e.txn_at < @from), 0) as revenue_before
		from ledger_entry e
		join account a on a.team_id = e.team_id and a.id = e.account_id
		join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where e.team_id = @team and e.party = 'owners' and e.currency = 'usd' and e.ledger in ('trust', 'operating') and e.status = 'active'
			and c.classification = 'revenue' and e.txn_at <= @to
			and (e.reservation_id in (select reservation_id from touched) or e.reservation_id is null and e.txn_at >= @from)
		group by 1, 2
	), collected as (
		select b.period_id, b.reservation_id,
			round(b.revenue * case when coalesce(g.charges, 0) <= 0 then 1 else least(greatest(g.payments, 0) / g.charges, 1) end)
				- round(b.revenue_before * case when coalesce(g.charges_before, 0) <= 0 then 1
					else least(greatest(g.payments_before, 0) / g.charges_before, 1) end) as cents,
			b.revenue_before <> 0 and b.reservation_id is not null as late, p.business_model <> 'managed' as apart
		from booked b join listing_ownership_period p on p.team_id = @team and p.id = b.period_id
		left join paid g on g.reservation_id = b.reservation_id
		where b.reservation_id is null or p.business_model = 'managed'
	), late as (
		select period_id, reservation_id as id from collected where late and cents <> 0
	), earned as (
		select period_id, sum(cents) as live, null::numeric as historic, bool_or(apart) as unstayed from collected group by 1
		union all
		select e.ownership_period_id, 0, -sum(e.cent_total), false
		from ledger_entry e
		where e.team_id = @team and e.party = 'owners' and e.currency = 'usd' and e.ledger = 'historical' and e.trigger_type = 'historicalRevenue'
			and e.txn_at between @from and @to
		group by 1
	), owned as (
		select period_id, sum(live)::bigint as live, coalesce(sum(historic), 0)::bigint as historic, count(historic) > 0 as has_historic,
			bool_or(unstayed) as unstayed, array(select r.id from late r where r.period_id = e.period_id order by r.id) as late
		from earned e group by 1
	)
	select o.period_id, o.live, o.historic, o.has_historic, o.unstayed, o.late,
		array_agg(m.contact_id order by m.position) as contact_ids, array_agg(m.split::bigint order by m.position) as splits
	from owned o join listing_ownership_member m on m.team_id = @team and m.period_id = o.period_id
	group by o.period_id, o.live, o.historic, o.has_historic, o.unstayed, o.late order by o.period_id`

// loadGrossRents returns the amounts that the manager collected for owners in a year before any deduction. Each
// ownership is divided among its members. The revenue of months that were imported as finished statements is
// included.
func loadGrossRents(ctx context.Context, tx *db.Tx, year int64) ([]figure1099, error) {
	from, to := yearRange(year)

	periods, err := db.Select[ownershipRents](ctx, tx, rentsSQL, db.Args{"team": tx.Team, "from": from, "to": to})
	if err != nil {
		return nil, fmt.Errorf("add up gross rents: %w", err)
	}

	// Then divide each ownership and add up the parts of each member, in a stable order.
	amounts, owns := map[id.ID]money.Cents{}, map[id.ID][]*ownershipRents{}

	var order []id.ID

	for i := range periods {
		p := &periods[i]
		for n, cents := range money.Split(p.Live+p.Historic, p.Splits) {
			member := p.ContactIDs[n]
			if _, seen := amounts[member]; !seen {
				order = append(order, member)
			}

			amounts[member] += cents
			owns[member] = append(owns[member], p)
		}
	}

	// Last, one figure per member, with the entries of all its ownerships.
	out := make([]figure1099, len(order))
	for i, member := range order {
		out[i] = figure1099{
			form:       FormMISC,
			contactID:  member,
			amount:     amounts[member],
			drilldowns: rentDrilldowns(year, owns[member]),
		}
	}

	return out, nil
}

// rentDrilldowns returns drill-downs to the revenue of the year, to that of earlier years that was collected in
// this year, and to the revenue of imported statements.
func rentDrilldowns(year int64, owned []*ownershipRents) []Drilldown {
	var managed, apart, historic, late page.Refs

	// First sort the ownerships by the kind of their entries. An ownership can be of several kinds.
	for _, p := range owned {
		period := page.Ref{ID: p.PeriodID}
		if p.Unstayed {
			apart = append(apart, period)
		} else {
			managed = append(managed, period)
		}

		if p.HasHistoric {
			historic = append(historic, period)
		}

		late = append(late, page.RefsTo(p.Late...)...)
	}

	// All but the imported revenue is on accounts of revenue.
	revenue := func(periods page.Refs) Selection {
		s := yearSelection(year)
		s.OwnershipPeriodIDs = periods
		s.Party = ledger.Owners
		s.AccountClassifications = []account.Classification{account.Revenue}

		return s
	}

	// Then one drill-down for each kind that occurs.
	out := []Drilldown{}
	if len(managed) > 0 {
		out = append(out, DrilldownTo(revenue(managed)))
	}

	if len(apart) > 0 {
		s := revenue(apart)
		s.ReservationIDs = page.RefsTo(id.Zero)
		out = append(out, DrilldownTo(s))
	}

	if len(late) > 0 {
		s := revenue(managed)
		s.StartDate, s.EndDate, s.ReservationIDs = nil, &End{s.StartDate.AddDays(-1)}, late
		out = append(out, DrilldownTo(s))
	}

	if len(historic) > 0 {
		imported := yearSelection(year)
		imported.OwnershipPeriodIDs = historic
		imported.Ledger = ledger.Historical
		imported.Status = ledger.Inactive
		imported.TriggerTypes = []string{"historicalRevenue"}
		out = append(out, DrilldownTo(imported))
	}

	return out
}

// yearSelection returns a selection of the entries of a year in the currency of the forms.
func yearSelection(year int64) Selection {
	from, to := yearRange(year)
	return Selection{StartDate: &Start{from}, EndDate: &End{to}, Currency: string(informationCurrency)}
}

// loadWorkPayments adds up the amounts that left the bank accounts by expenses to each contact in a year, by the
// day of payment. An owner who is paid for work counts as a vendor does. Amounts that a provider refused, returned
// or does not account for have not left.
func loadWorkPayments(ctx context.Context, tx *db.Tx, year int64) ([]figure1099, error) {
	type paid struct {
		ContactID  id.ID
		Amount     money.Cents
		AccountIDs []id.ID
		Missing    []id.ID
	}

	from, to := yearRange(year)
	triggers := []string{ledger.TriggerExpense, ledger.TriggerExpensePayment}

	// The entries are those on bank accounts. Transactions with missing payments are left out of the amount and of
	// its drill-down.
	recipients, err := db.Select[paid](ctx, tx, `
		select e.contact_id, coalesce(-sum(e.cent_total) filter (where n.transaction_id is null), 0)::bigint as amount,
			array_agg(distinct e.account_id) as account_ids,
			coalesce(array_agg(distinct n.transaction_id) filter (where n.transaction_id is not null), '{}') as missing
		from ledger_entry e
		left join (select distinct team_id, transaction_id from payment_not_received where team_id = @team and missing > 0) n
			on n.team_id = e.team_id and n.transaction_id = e.transaction_id
		join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
		where e.team_id = @team and e.contact_id is not null and e.status = 'active' and e.ledger in ('trust', 'operating') and e.currency = 'usd'
			and e.trigger_type = any(@triggers) and e.txn_at between @from and @to
		group by 1 order by 1`, db.Args{"team": tx.Team, "triggers": triggers, "from": from, "to": to})
	if err != nil {
		return nil, fmt.Errorf("add up payments for work: %w", err)
	}

	// Then one figure per contact. The drill-down selects the same entries.
	out := make([]figure1099, len(recipients))
	for i, v := range recipients {
		s := yearSelection(year)
		s.ContactIDs, s.TriggerTypes, s.AccountIDs = page.RefsTo(v.ContactID), triggers, page.Only(v.AccountIDs...)
		s.NotTransactionIDs = page.RefsTo(v.Missing...)
		out[i] = figure1099{
			form:       FormNEC,
			contactID:  v.ContactID,
			amount:     v.Amount,
			drilldowns: []Drilldown{DrilldownTo(s)},
		}
	}

	return out, nil
}

// loadRecipients adds the contacts to figures. Figures of zero are left out.
func loadRecipients(ctx context.Context, tx *db.Tx, figures []figure1099) ([]InformationReturn, error) {
	type person struct {
		ID                 id.ID
		Name               string
		CompanyType        *contact.CompanyType
		TaxIdentifierLast4 *string
		Address            *contact.Address
	}

	// First load the contacts of all figures at once.
	ids := make([]id.ID, len(figures))
	for i := range figures {
		ids[i] = figures[i].contactID
	}

	people, err := db.Select[person](ctx, tx, `
		select id, name, company_type, tax_identifier_last4, address from contact where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read contacts: %w", err)
	}

	byID := make(map[id.ID]*person, len(people))
	for i := range people {
		byID[people[i].ID] = &people[i]
	}

	// Then one return per figure. The tax identifier is masked.
	out := make([]InformationReturn, 0, len(figures))
	for i := range figures {
		f := &figures[i]

		p := byID[f.contactID]
		if p == nil || f.amount == 0 {
			continue
		}

		r := InformationReturn{
			Form:        f.form,
			Box:         "1",
			ContactID:   p.ID,
			Name:        p.Name,
			CompanyType: p.CompanyType,
			Address:     p.Address,
			Amount:      f.amount,
			Drilldowns:  f.drilldowns,
		}
		if p.TaxIdentifierLast4 != nil {
			masked := "***" + *p.TaxIdentifierLast4
			r.TaxIdentifier = &masked
		}

		out = append(out, r)
	}

	return out, nil
}
