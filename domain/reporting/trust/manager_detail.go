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
	"stayledger/platform/ptr"
)

// ManagerDetail is a manager statement with its accounts and with the part of the balance that can be drawn.
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

// ManagerAvailable holds the figures of a period and the amount that can be drawn at its end.
type ManagerAvailable struct {
	ManagerFinancials
	AssetsAndLiabilities money.Cents `json:"assetsAndLiabilities" doc:"What of the balance is not money in the trust's bank yet, and what there is besides."`
	AvailableBalance     money.Cents `json:"availableBalance" doc:"What the bank has beyond all that is held for guests, owners, tax offices and vendors."`
}

// ManagerAccount adds up the manager's entries on an account.
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

// TimingRow is a difference between the manager's balance and the money that can be drawn.
type TimingRow struct {
	ID   string `json:"id" enum:"guestReceivables,unassignedGuestMoney,ownerDeficits,dueToFromTrust,fundsHeldElsewhere,trustSurplus,other"`
	Name string `json:"name"`
	Figure
}

// ManagerPeriod selects a manager statement: query parameters, and the body of its export.
type ManagerPeriod struct {
	StartAt  report.Start `query:"startAt" format:"date-boundary" json:"startAt" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its first day."`
	EndAt    report.End   `query:"endAt" format:"date-boundary" json:"endAt" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its last day, which is included."`
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

// managerStatement returns the manager statement of a period.
func managerStatement(ctx context.Context, tx *db.Tx, in *managerPeriodInput) (*ManagerDetail, error) {
	return loadManagerStatement(ctx, tx, &in.ManagerPeriod)
}

// loadManagerStatement returns the manager statement that a valid filter selects.
func loadManagerStatement(ctx context.Context, tx *db.Tx, f *ManagerPeriod) (*ManagerDetail, error) {
	r, err := loadManagerBooks(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}

	// First the statement itself, from the balances before and in the period.
	before, during, err := report.BalancesAround(ctx, tx, r.filter(&f.StartAt.Day, f.EndAt.Day), report.Grouping{})
	if err != nil {
		return nil, err
	}

	before, during = r.filterManager(before), r.filterManager(during)
	m := r.deriveStatement(f.StartAt.Day, f.EndAt.Day, before, during)

	// Then the trust at the end of the period, which says how much can be drawn.
	p, facts := newPosition(f.EndAt.Day, false), &ownerFacts{}
	p.chart, p.currency = r.chart, r.currency

	if err := tx.Together(ctx, p.loadSums, p.loadGuests,
		func(ctx context.Context, tx *db.Tx) error { return facts.load(ctx, tx, p) }); err != nil {
		return nil, err
	}

	d := &ManagerDetail{
		Currency:             m.Currency,
		StartAt:              m.StartAt,
		EndAt:                m.EndAt,
		Total:                m.Total,
		Drilldowns:           m.Drilldowns,
		AssetsAndLiabilities: p.deriveTiming(facts.divide(p)),
		Financials:           ManagerAvailable{ManagerFinancials: m.Financials},
	}

	// The accounts of the first month include earlier adjustments, as its figures do.
	if m.StartAt == r.first {
		during = addOpenings(r.chart, before, during)
	}

	d.Accounts = r.accounts(&m, during)

	d.Sections = r.sections(&m, d.Accounts)
	for i := range d.AssetsAndLiabilities {
		d.Financials.AssetsAndLiabilities += d.AssetsAndLiabilities[i].CentTotal
	}

	// The differences explain the way from the balance to the available money.
	d.Financials.AvailableBalance = d.Financials.BalanceEnd + d.Financials.AssetsAndLiabilities
	d.Summary = d.summary()

	return d, nil
}

// addOpenings adds the adjustments before the first month to those in it.
func addOpenings(c *chart, before, during []report.Cell) []report.Cell {
	out := slices.Clone(during)

	for i := range before {
		if c.section(before[i].AccountID) != SectionAdjustments {
			continue
		}

		// An account may have entries before and in the month.
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

// accounts returns the accounts with entries of the manager, in the chart's order.
func (r *managerBooks) accounts(m *ManagerMonth, during []report.Cell) []ManagerAccount {
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

		// The drill-down of an adjustment of the first month also reaches back.
		behind := report.Selection{
			StartDate:  &report.Start{Day: m.StartAt},
			EndDate:    &report.End{Day: m.EndAt},
			Currency:   string(r.currency),
			AccountIDs: page.Only(a.ID),
		}
		if section == SectionAdjustments && m.StartAt == r.first {
			behind.StartDate = nil
		}

		out = append(out, ManagerAccount{
			ID:          a.ID,
			Code:        a.Code,
			Name:        a.Name,
			Type:        a.Type,
			Category:    account.CategoryRef{ID: a.CategoryID, Name: a.CategoryName, Classification: a.Classification},
			Assignments: a.Assignments,
			CentTotal:   cents,
			Drilldown:   r.chart.figure(ClaimManager, cents, behind).Drilldown,
			section:     section,
		})
	}

	return out
}

// sections returns the sections of the statement with their accounts.
func (r *managerBooks) sections(m *ManagerMonth, accounts []ManagerAccount) []ManagerSection {
	out := []ManagerSection{
		{
			ID:        SectionNetRevenue,
			Name:      "Net revenue",
			CentTotal: m.Financials.NetRevenue,
			Drilldown: m.Drilldowns.NetRevenue,
		},
		{ID: SectionExpenses, Name: "Expenses", CentTotal: m.Financials.Expenses, Drilldown: m.Drilldowns.Expenses},
		{
			ID:        SectionAdjustments,
			Name:      "Adjustments",
			CentTotal: m.Financials.Adjustments,
			Drilldown: m.Drilldowns.Adjustments,
		},
		{ID: SectionTransfers, Name: "Transfers", CentTotal: m.Financials.Transfers, Drilldown: m.Drilldowns.Transfers},
	}

	// Sections without accounts have an empty list.
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

// deriveTiming returns the differences between the manager's balance and the money that can be drawn: debts of others
// are not in the bank, and money that the trust owes to the manager's own account is. Money that is held for guests,
// tax offices, vendors and owners is theirs.
func (p *position) deriveTiming(owners []OwnerListing) []TimingRow {
	var owing []stayBalance

	// Only debts of guests count: deposits belong to the guests.
	for _, s := range sumByStay(p.guests) {
		if s.total < 0 {
			owing = append(owing, s)
		}
	}

	rows := []TimingRow{{"guestReceivables", "Owed by guests", p.chart.sumStays(owing, p.drilldownFilter())}}
	if unassigned := p.guestFigure(report.Unassigned, nil); unassigned.CentTotal < 0 {
		// The other claims count as a whole; rows of 0 are dropped.
		rows = append(rows, TimingRow{"unassignedGuestMoney", "Guest money without a reservation", unassigned.Figure})
	}

	rows = append(
		rows,
		TimingRow{"ownerDeficits", "Owed by owners", p.sumDeficits(owners)},
		TimingRow{string(ClaimDueToFrom), "Due to the operating account", p.figure(ClaimDueToFrom)},
		TimingRow{string(ClaimHeldElsewhere), "Held by processors and others", p.figure(ClaimHeldElsewhere)},
		TimingRow{string(ClaimSurplus), "Opening balances of nobody", p.figure(ClaimSurplus)},
		TimingRow{string(ClaimOther), "Income and costs of nobody", p.figure(ClaimOther)},
	)

	return slices.DeleteFunc(rows, func(r TimingRow) bool { return r.CentTotal == 0 })
}

// sumDeficits returns the debts of ownership periods to the trust. Debts of a time without owners are included, but no
// filter can name them together with the periods, and then there is no drill-down.
func (p *position) sumDeficits(owners []OwnerListing) Figure {
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
			periods, listings = append(periods, ptr.Value(of.ID)), append(listings, owners[i].places...)
		}
	}

	// A filter can name a limited number of periods.
	named := len(periods) > 0 && len(periods) <= maxReferences && !slices.Contains(periods, id.Zero)
	if !named {
		return Figure{CentTotal: sum}
	}

	behind := p.drilldownFilter()
	behind.OwnershipPeriodIDs, behind.ListingIDs = page.RefsTo(periods...), page.RefsTo(id.Distinct(listings)...)

	return p.chart.figure(ClaimOwners, sum, behind)
}
