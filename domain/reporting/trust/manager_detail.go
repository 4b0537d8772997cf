package trust

import (
	"context"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// ManagerDetail is a manager statement with its accounts and with what of the balance can be drawn.
type ManagerDetail struct {
	Currency             money.Currency          `json:"currency"`
	StartAt              day.Day                 `json:"startAt"`
	EndAt                day.Day                 `json:"endAt" doc:"Last day, included."`
	Total                money.Cents             `json:"total" doc:"The net income."`
	Financials           ManagerAvailable        `json:"financials"`
	Drilldowns           ManagerDrilldowns       `json:"drilldowns"`
	Summary              []statement.SummaryLine `json:"summary"`
	Accounts             []ManagerAccount        `json:"accounts"`
	Sections             []ManagerSection        `json:"sections"`
	AssetsAndLiabilities []TimingRow             `json:"assetsAndLiabilities"`
}

// ManagerAvailable are the figures of a period with what can be drawn at its end.
type ManagerAvailable struct {
	ManagerFinancials
	AssetsAndLiabilities money.Cents `json:"assetsAndLiabilities" doc:"What of the balance is not money in the trust's bank yet, and what there is besides."`
	AvailableBalance     money.Cents `json:"availableBalance" doc:"What the bank has beyond all that is held for guests, owners, tax offices and vendors."`
}

// ManagerAccount is what the manager's entries on an account come to.
type ManagerAccount struct {
	ID          id.ID               `json:"id"`
	Code        *string             `json:"code"`
	Name        string              `json:"name"`
	Type        account.Type        `json:"type"`
	Category    account.CategoryRef `json:"category"`
	Assignments []string            `json:"assignments"`
	CentTotal   money.Cents         `json:"centTotal" doc:"Positive raises the manager's balance."`
	Drilldown   *report.Drilldown   `json:"drilldown"`
	section     SectionID
}

// ManagerSection is a part of the statement.
type ManagerSection struct {
	ID        SectionID         `json:"id"`
	Name      string            `json:"name"`
	CentTotal money.Cents       `json:"centTotal"`
	Drilldown *report.Drilldown `json:"drilldown" doc:"Null when there is nothing in it."`
	Accounts  []ManagerAccount  `json:"accounts"`
}

// TimingRow is something that keeps the manager's balance and the money that can be drawn apart.
type TimingRow struct {
	ID   string `json:"id" enum:"guestReceivables,unassignedGuestMoney,ownerDeficits,dueToFromTrust,fundsHeldElsewhere,trustSurplus,other"`
	Name string `json:"name"`
	Figure
}

// ManagerPeriod selects a manager statement: query parameters, and the body of its export.
type ManagerPeriod struct {
	StartAt  report.Start `query:"startAt" format:"date-boundary" json:"startAt" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period stands for its first day."`
	EndAt    report.End   `query:"endAt" format:"date-boundary" json:"endAt" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period stands for its last day, which is included."`
	Currency string       `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// Resolve refuses a period that ends before it starts.
func (f ManagerPeriod) Resolve() []apierr.Issue {
	if f.EndAt.Before(f.StartAt.Day) {
		return []apierr.Issue{apierr.IssueDateOrder.InQuery("endAt")}
	}

	return nil
}

type managerPeriodInput struct{ ManagerPeriod }

func managerStatement(ctx context.Context, tx *db.Tx, in *managerPeriodInput) (*ManagerDetail, error) {
	return ReadManagerStatement(ctx, tx, &in.ManagerPeriod)
}

// ReadManagerStatement reads the manager statement that a valid filter selects.
func ReadManagerStatement(ctx context.Context, tx *db.Tx, f *ManagerPeriod) (*ManagerDetail, error) {
	r, err := readRolling(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}

	before, during, err := report.BalancesAround(ctx, tx, r.filter(&f.StartAt.Day, f.EndAt.Day), report.Grouping{})
	if err != nil {
		return nil, err
	}

	before, during = r.managers(before), r.managers(during)
	m := r.statementOf(f.StartAt.Day, f.EndAt.Day, before, during)

	p, err := readPosition(ctx, tx, f.EndAt.Day, r.currency, false)
	if err != nil {
		return nil, err
	}

	owners, err := ownersOf(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	d := &ManagerDetail{
		Currency: m.Currency, StartAt: m.StartAt, EndAt: m.EndAt, Total: m.Total, Drilldowns: m.Drilldowns, AssetsAndLiabilities: p.timing(owners),
		Financials: ManagerAvailable{ManagerFinancials: m.Financials},
	}
	if m.StartAt == r.first {
		during = withOpenings(r.chart, before, during)
	}

	d.Accounts = r.accounts(&m, during)

	d.Sections = r.sections(&m, d.Accounts)
	for i := range d.AssetsAndLiabilities {
		d.Financials.AssetsAndLiabilities += d.AssetsAndLiabilities[i].CentTotal
	}

	d.Financials.AvailableBalance = d.Financials.BalanceEnd + d.Financials.AssetsAndLiabilities
	d.Summary = d.summary()

	return d, nil
}

// withOpenings adds what adjusted the balance before the first month to what is in it.
func withOpenings(c *chart, before, during []report.Cell) []report.Cell {
	out := slices.Clone(during)

	for i := range before {
		if c.section(before[i].AccountID) != SectionAdjustments {
			continue
		}

		at := slices.IndexFunc(out, func(d report.Cell) bool { return d.AccountID == before[i].AccountID })
		if at < 0 {
			out = append(out, before[i])
			continue
		}

		out[at].Debit += before[i].Debit
		out[at].Credit += before[i].Credit
	}

	return out
}

// accounts are the accounts with entries of the manager, in the chart's order.
func (r *rolling) accounts(m *ManagerMonth, during []report.Cell) []ManagerAccount {
	nets := map[id.ID]money.Cents{}
	for i := range during {
		nets[during[i].AccountID] = -during[i].Net()
	}

	out := []ManagerAccount{}

	for i := range r.chart.accounts {
		a := &r.chart.accounts[i]

		cents, ok := nets[a.ID]
		if !ok {
			continue
		}

		section := r.chart.section(a.ID)

		behind := report.Selection{StartDate: &report.Start{Day: m.StartAt}, EndDate: &report.End{Day: m.EndAt}, Currency: string(r.currency), AccountIDs: page.Only(a.ID)}
		if section == SectionAdjustments && m.StartAt == r.first {
			behind.StartDate = nil
		}

		out = append(out, ManagerAccount{
			ID: a.ID, Code: a.Code, Name: a.Name, Type: a.Type, Category: account.CategoryRef{ID: a.CategoryID, Name: a.CategoryName, Classification: a.Classification},
			Assignments: a.Assignments, CentTotal: cents, Drilldown: r.chart.figure(ClaimManager, cents, behind).Drilldown, section: section,
		})
	}

	return out
}

func (r *rolling) sections(m *ManagerMonth, accounts []ManagerAccount) []ManagerSection {
	out := []ManagerSection{
		{ID: SectionNetRevenue, Name: "Net revenue", CentTotal: m.Financials.NetRevenue, Drilldown: m.Drilldowns.NetRevenue},
		{ID: SectionExpenses, Name: "Expenses", CentTotal: m.Financials.Expenses, Drilldown: m.Drilldowns.Expenses},
		{ID: SectionAdjustments, Name: "Adjustments", CentTotal: m.Financials.Adjustments, Drilldown: m.Drilldowns.Adjustments},
		{ID: SectionTransfers, Name: "Transfers", CentTotal: m.Financials.Transfers, Drilldown: m.Drilldowns.Transfers},
	}
	for i := range out {
		out[i].Accounts = []ManagerAccount{}
		for j := range accounts {
			if accounts[j].section == out[i].ID {
				out[i].Accounts = append(out[i].Accounts, accounts[j])
			}
		}
	}

	return out
}

// timing is what keeps the manager's balance apart from the money that can be drawn: what others owe is not in the
// bank, and what the trust owes to the manager's own account is. What is held for guests, tax offices, vendors and
// owners is theirs.
func (p *position) timing(owners []OwnerListing) []TimingRow {
	var owing []stayBalance

	for _, s := range stayBalances(p.guests) {
		if s.total < 0 {
			owing = append(owing, s)
		}
	}

	rows := []TimingRow{{"guestReceivables", "Owed by guests", p.chart.stays(owing, p.behind())}}
	if unassigned := p.occupancy(report.Unassigned, nil); unassigned.CentTotal < 0 {
		rows = append(rows, TimingRow{"unassignedGuestMoney", "Guest money without a reservation", unassigned.Figure})
	}

	rows = append(
		rows,
		TimingRow{"ownerDeficits", "Owed by owners", p.deficits(owners)},
		TimingRow{string(ClaimDueToFrom), "Due to the operating account", p.figure(ClaimDueToFrom)},
		TimingRow{string(ClaimHeldElsewhere), "Held by processors and others", p.figure(ClaimHeldElsewhere)},
		TimingRow{string(ClaimSurplus), "Opening balances of nobody", p.figure(ClaimSurplus)},
		TimingRow{string(ClaimOther), "Income and costs of nobody", p.figure(ClaimOther)},
	)

	return slices.DeleteFunc(rows, func(r TimingRow) bool { return r.CentTotal == 0 })
}

// deficits are the ownership periods whose owners owe the trust, with what is owed for a time in which nobody owned,
// which no filter can name beside them.
func (p *position) deficits(owners []OwnerListing) Figure {
	var (
		sum               money.Cents
		periods, listings []id.ID
	)

	for i := range owners {
		for _, of := range owners[i].Periods {
			if of.CentTotal >= 0 {
				continue
			}

			sum += of.CentTotal
			periods, listings = append(periods, deref(of.ID)), append(listings, deref(owners[i].ID))
		}
	}

	named := len(periods) > 0 && len(periods) <= maxReferences && !slices.Contains(periods, id.Zero)
	if !named {
		return Figure{CentTotal: sum}
	}

	behind := p.behind()
	behind.OwnershipPeriodIDs, behind.ListingIDs = page.RefsTo(periods...), page.RefsTo(id.Distinct(listings)...)

	return p.chart.figure(ClaimOwners, sum, behind)
}
