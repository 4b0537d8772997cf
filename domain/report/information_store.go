package report

import (
	"context"
	"fmt"

	"stayledger/domain/account"
	"stayledger/domain/contact"
	"stayledger/domain/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

const informationCurrency money.Currency = "usd"

// figure1099 is an amount of a contact and what it was added up from.
type figure1099 struct {
	form       Form
	contactID  id.ID
	amount     money.Cents
	drilldowns []Drilldown
}

// grossRents are what was earned for owners in a year before anything was taken off: the revenue of their ownerships, each divided among its
// members, and of months that came in as finished statements what those show as revenue.
func grossRents(ctx context.Context, tx *db.Tx, year int64) ([]figure1099, error) {
	type owned struct {
		PeriodID    id.ID
		Live        money.Cents
		Historic    money.Cents
		ContactIDs  []id.ID
		Splits      []int64
		HasHistoric bool
	}
	from, to := yearRange(year)
	periods, err := db.Select[owned](ctx, tx, `
		with earned as (
			select e.ownership_period_id as period_id, (-sum(e.cent_total) filter (where e.ledger <> 'historical'))::bigint as live,
				(-sum(e.cent_total) filter (where e.ledger = 'historical'))::bigint as historic
			from ledger_entry e
			join account a on a.team_id = e.team_id and a.id = e.account_id
			join account_category c on c.team_id = a.team_id and c.id = a.category_id
			where e.team_id = @team and e.party = 'owners' and e.currency = 'usd' and e.txn_at between @from and @to and (
				e.ledger in ('trust', 'operating') and e.status = 'active' and c.classification = 'revenue'
				or e.ledger = 'historical' and e.trigger_type = 'historicalRevenue')
			group by 1)
		select e.period_id, coalesce(e.live, 0) as live, coalesce(e.historic, 0) as historic, e.historic is not null as has_historic,
			array_agg(m.contact_id order by m.position) as contact_ids, array_agg(m.split::bigint order by m.position) as splits
		from earned e join listing_ownership_member m on m.team_id = @team and m.period_id = e.period_id
		group by e.period_id, e.live, e.historic order by e.period_id`,
		db.Args{"team": tx.Team, "from": from, "to": to})
	if err != nil {
		return nil, fmt.Errorf("add up gross rents: %w", err)
	}
	amounts, owns, historic := map[id.ID]money.Cents{}, map[id.ID][]Ref{}, map[id.ID]bool{}
	var order []id.ID
	for i := range periods {
		p := &periods[i]
		for n, cents := range money.Split(p.Live+p.Historic, p.Splits) {
			member := p.ContactIDs[n]
			if _, seen := amounts[member]; !seen {
				order = append(order, member)
			}
			amounts[member] += cents
			owns[member] = append(owns[member], Ref{p.PeriodID})
			historic[member] = historic[member] || p.HasHistoric
		}
	}
	out := make([]figure1099, len(order))
	for i, member := range order {
		out[i] = figure1099{form: FormMISC, contactID: member, amount: amounts[member], drilldowns: rentDrilldowns(year, owns[member], historic[member])}
	}
	return out, nil
}

func rentDrilldowns(year int64, periods []Ref, historic bool) []Drilldown {
	live := yearSelection(year)
	live.OwnershipPeriodIDs, live.Party, live.AccountClassifications = periods, ledger.Owners, []account.Classification{account.Revenue}
	out := []Drilldown{drilldown(live)}
	if historic {
		told := yearSelection(year)
		told.OwnershipPeriodIDs, told.Ledger, told.Status, told.TriggerTypes = periods, ledger.Historical, ledger.Inactive, []string{"historicalRevenue"}
		out = append(out, drilldown(told))
	}
	return out
}

func yearSelection(year int64) Selection {
	from, to := yearRange(year)
	return Selection{StartDate: &Start{from}, EndDate: &End{to}, Currency: string(informationCurrency)}
}

// vendorPayments are what left the bank accounts to vendors in a year, by the day of payment.
func vendorPayments(ctx context.Context, tx *db.Tx, year int64) ([]figure1099, error) {
	type paid struct {
		ContactID  id.ID
		Amount     money.Cents
		AccountIDs []id.ID
	}
	from, to := yearRange(year)
	triggers := []string{ledger.TriggerExpense, ledger.TriggerExpensePayment}
	vendors, err := db.Select[paid](ctx, tx, `
		select e.contact_id, -sum(e.cent_total)::bigint as amount, array_agg(distinct e.account_id) as account_ids
		from ledger_entry e
		join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
		join contact k on k.team_id = e.team_id and k.id = e.contact_id and k.type = 'vendor'
		where e.team_id = @team and e.status = 'active' and e.ledger in ('trust', 'operating') and e.currency = 'usd'
			and e.trigger_type = any(@triggers) and e.txn_at between @from and @to
		group by 1 order by 1`, db.Args{"team": tx.Team, "triggers": triggers, "from": from, "to": to})
	if err != nil {
		return nil, fmt.Errorf("add up payments to vendors: %w", err)
	}
	out := make([]figure1099, len(vendors))
	for i, v := range vendors {
		s := yearSelection(year)
		s.ContactIDs, s.TriggerTypes, s.AccountIDs = []Ref{{v.ContactID}}, triggers, v.AccountIDs
		out[i] = figure1099{form: FormNEC, contactID: v.ContactID, amount: v.Amount, drilldowns: []Drilldown{drilldown(s)}}
	}
	return out, nil
}

// recipients adds to figures whom they are about. Figures of nothing are left out.
func recipients(ctx context.Context, tx *db.Tx, figures []figure1099) ([]InformationReturn, error) {
	type person struct {
		ID                 id.ID
		Name               string
		CompanyType        *contact.CompanyType
		TaxIdentifierLast4 *string
		Address            *contact.Address
	}
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
	out := make([]InformationReturn, 0, len(figures))
	for i := range figures {
		f := &figures[i]
		p := byID[f.contactID]
		if p == nil || f.amount == 0 {
			continue
		}
		r := InformationReturn{
			Form: f.form, Box: "1", ContactID: p.ID, Name: p.Name, CompanyType: p.CompanyType, Address: p.Address, Amount: f.amount, Drilldowns: f.drilldowns,
		}
		if p.TaxIdentifierLast4 != nil {
			masked := "***" + *p.TaxIdentifierLast4
			r.TaxIdentifier = &masked
		}
		out = append(out, r)
	}
	return out, nil
}
