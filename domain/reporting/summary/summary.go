// Package summary adds up the statements of a period for owners and managers: for each owner, by layout, section and
// column.
package summary

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/plain"
)

// Period selects the statements that the summaries of owners add up: the statements in this currency with a month that
// begins in the period.
type Period struct {
	StartAt    report.Start `query:"startAt" format:"date-boundary" json:"startAt" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; the first month, whole whatever the day."`
	EndAt      report.End   `query:"endAt" format:"date-boundary" json:"endAt" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; the last month, whole and included."`
	ListingIDs page.IDs     `query:"listingIds" json:"listingIds,omitempty"`
	Currency   string       `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
	ViewAs     string       `query:"viewAs" json:"viewAs,omitempty" enum:"manager,owner" doc:"The view of the manager (default) or of an owner. An owner's has no drill-downs and no hidden sections and columns; figures are the same."`
}

// Resolve refuses a period that ends before it starts.
func (p *Period) Resolve() []apierr.Issue {
	if p.EndAt.Before(p.StartAt.Day) {
		return []apierr.Issue{apierr.IssueDateOrder.InQuery("endAt")}
	}

	return nil
}

// asOwner reports whether the owner's view is asked for.
func (p *Period) asOwner() bool { return p.ViewAs == "owner" }

// firstDay returns the first day of the first month.
func (p *Period) firstDay() report.Start { return report.Start{Day: p.StartAt.FirstOfMonth()} }

// lastDay returns the last day of the last month.
func (p *Period) lastDay() report.End { return report.End{Day: p.EndAt.LastOfMonth()} }

// statements returns the filter of the period's statements in a currency.
func (p *Period) statements(currency money.Currency) statement.Filter {
	return statement.Filter{
		Dates: page.Dates{DateRange: day.Span{First: p.firstDay().Day, Last: p.lastDay().Day}}, ListingIDs: p.ListingIDs,
		Currency: string(currency), Sort: "listing",
	}
}

// Filter selects owners too.
type Filter struct {
	Period
	Search string `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of an owner's name, first name or e-mail address."`
}

// Figures are an owner's part of statements, owner-facing: expenses and payouts are negative. The parts of all members
// add up to the statements' figures.
type Figures struct {
	BalanceStart money.Cents `json:"balanceStart" doc:"Of the first statement of each ownership."`
	NetRevenue   money.Cents `json:"netRevenue"`
	Expenses     money.Cents `json:"expenses"`
	NetIncome    money.Cents `json:"netIncome" doc:"Net revenue and expenses."`
	Payouts      money.Cents `json:"payouts"`
	NotReceived  money.Cents `json:"payoutsNotReceived" doc:"What of the payouts that pay these statements a payment provider refused, gave back or does not answer for, positive. It is booked, in payouts of its day, and has not arrived."`
	Adjustments  money.Cents `json:"adjustments" doc:"What else moved the balance between the statements: later opening balances, months without a selected statement, balances that an imported statement was given."`
	BalanceEnd   money.Cents `json:"balanceEnd" doc:"Balance start, net income, payouts and adjustments: that of the last statements."`
	Reserve      money.Cents `json:"reserve" doc:"What the last statements hold back."`
}

// complete fills in the figures that follow from the others.
func (f *Figures) complete() {
	f.NetIncome = f.NetRevenue + f.Expenses
	f.Adjustments = f.BalanceEnd - f.BalanceStart - f.NetIncome - f.Payouts
}

// add adds other figures.
func (f *Figures) add(o *Figures) {
	f.BalanceStart += o.BalanceStart
	f.NetRevenue += o.NetRevenue
	f.Expenses += o.Expenses
	f.NetIncome += o.NetIncome
	f.Payouts += o.Payouts
	f.NotReceived += o.NotReceived
	f.Adjustments += o.Adjustments
	f.BalanceEnd += o.BalanceEnd
	f.Reserve += o.Reserve
}

// Financials are an owner's figures over all ownerships.
type Financials struct {
	Figures

	CurrentBalance money.Cents `json:"currentBalance" doc:"What the books hold by the end of the current month, whatever the period: what the statements of this month end with."`
}

// add adds other financials.
func (f *Financials) add(o *Financials) {
	f.Figures.add(&o.Figures)
	f.CurrentBalance += o.CurrentBalance
}

// Contact is an owner.
type Contact struct {
	ContactID id.ID   `json:"contactId"`
	Name      string  `json:"name"`
	FirstName *string `json:"firstName"`
	Email     *string `json:"email"`
	Phone     *string `json:"phone"`
}

// compare orders contacts by name as lists do.
func (c *Contact) compare(o *Contact) int {
	return cmp.Or(plain.Compare(c.Name, o.Name), c.ContactID.Compare(o.ContactID))
}

// OwnerSummary adds up the statements of a period for an owner.
type OwnerSummary struct {
	Contact    Contact           `json:"contact"`
	Currency   money.Currency    `json:"currency"`
	Listings   int64             `json:"listings" doc:"How many listings they are of."`
	Statements int64             `json:"statements" doc:"How many statements there are."`
	Financials Financials        `json:"financials"`
	Drilldown  *report.Drilldown `json:"drilldown" doc:"The entries of the ownership periods in the months, those of all members: the owner's part of them is by split. Imported statements have theirs in their own drill-down. Null in the owner's view."`
}

// OwnerSummaries are a page of owners by name.
type OwnerSummaries struct {
	page.Page[OwnerSummary]
	Totals Financials `json:"totals" doc:"Over all pages."`
}

// Path is where the summaries are read; those of their exports begin with it.
const Path = "/reports/owner-statement-summaries-per-layout"

// endpoints returns the reports on the statements of owners.
func endpoints() []api.Endpoint {
	scopes := []string{"reports:read"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: "GET", Path: Path, ID: "listOwnerStatementSummaries", Tag: "Reports",
			Summary: "Owner statements added up by owner", Scopes: scopes, Embed: true,
			Doc: "The totals of the statements of a period, drafts included, for each owner, by name. A member's " +
				"part of a balance is what the member has earned so far by split, with the opening balances and less " +
				"the payouts by name, as on the statements and in the trust report; the parts of all members add up " +
				"to the statements' figures.",
		}, ownerSummaries),
		api.Read(api.Endpoint{
			Method: "GET", Path: Path + "/details/{contactId}", ID: "getOwnerStatementSummary", Tag: "Reports",
			Summary: "The statements behind an owner's summary", Scopes: scopes, Embed: true,
			Doc: "An owner's part of each statement with the columns of its layout, and those columns added up per " +
				"layout by their names.",
		}, ownerDetail),
	}
}

type summariesInput struct {
	page.Params
	Filter
}

// ownerSummaries returns a page of owners with the totals of all pages.
func ownerSummaries(ctx context.Context, tx *db.Tx, in *summariesInput) (*OwnerSummaries, error) {
	all, err := loadOwnerSummaries(ctx, tx, &in.Filter)
	if err != nil {
		return nil, err
	}

	// The page is cut from the whole list, which is sorted by name.
	total := int64(len(all.Owners))
	from := min(in.Rows(), total)

	return &OwnerSummaries{
		Page:   page.Page[OwnerSummary]{Data: all.Owners[from:min(from+in.Limit, total)], Pagination: in.Of(total)},
		Totals: all.Totals,
	}, nil
}

// AllSummaries holds the summaries of all owners by name, and their totals.
type AllSummaries struct {
	Currency money.Currency
	Owners   []OwnerSummary
	Totals   Financials
}

// loadOwnerSummaries returns the summaries of all owners of the selected statements.
func loadOwnerSummaries(ctx context.Context, tx *db.Tx, f *Filter) (*AllSummaries, error) {
	currency, selected, err := f.selection(ctx, tx)

	out := &AllSummaries{Currency: currency, Owners: []OwnerSummary{}}
	if err != nil || selected == nil {
		return out, err
	}

	// A search narrows the owners, but the statements are read with all their members.
	owners, _ := selected.OwnerIDs.Parts()
	s := newSumming(owners)

	if err := statement.EachFigures(ctx, tx, *selected, func(one *statement.Figures) error {
		s.add(one)
		return nil
	}); err != nil {
		return nil, err
	}

	// Then add up by owner and load the names.
	sums, err := s.loadOwners(ctx, tx, currency)
	if err != nil {
		return nil, err
	}

	contacts, err := loadContacts(ctx, tx, s.contacts())
	if err != nil {
		return nil, err
	}

	// The totals are those of all owners, whatever page is shown.
	for contact, sum := range sums {
		one := OwnerSummary{
			Contact:    contacts[contact],
			Currency:   currency,
			Listings:   int64(len(sum.listings)),
			Statements: sum.statements,
			Financials: sum.Financials,
			Drilldown:  f.drilldown(currency, sum.periods),
		}
		out.Totals.add(&one.Financials)
		out.Owners = append(out.Owners, one)
	}

	slices.SortFunc(out.Owners, func(a, b OwnerSummary) int { return a.Contact.compare(&b.Contact) })

	return out, nil
}

// selection returns the currency and the statements of a filter; nil when no owner is found.
func (f *Filter) selection(ctx context.Context, tx *db.Tx) (money.Currency, *statement.Filter, error) {
	currency, err := report.Currency(ctx, tx, f.Currency)
	if err != nil {
		return "", nil, err
	}

	selected := f.statements(currency)
	if f.Search == "" {
		return currency, &selected, nil
	}

	// A search finds contacts first, then the statements of these owners.
	found, err := db.Select[id.ID](ctx, tx, `
		select id from contact where team_id = @team and `+page.ContainsSQL("@search", "name", "first_name", "email")+` order by id`,
		db.Args{"team": tx.Team, "search": f.Search})
	if err != nil {
		return "", nil, fmt.Errorf("search owners: %w", err)
	}

	if len(found) == 0 {
		return currency, nil, nil
	}

	selected.OwnerIDs = page.Only(found...)

	return currency, &selected, nil
}

// countOwnerSummaries counts the owners, and their parts in statements, without adding anything up.
func countOwnerSummaries(ctx context.Context, tx *db.Tx, f *Filter) (owners, parts int64, err error) {
	_, selected, err := f.selection(ctx, tx)
	if err != nil || selected == nil {
		return 0, 0, err
	}

	n, err := statement.Count(ctx, tx, *selected)

	return n.Owners, n.Parts, err
}

// drilldown returns the drill-down of ownership periods. Only the manager gets one.
func (p *Period) drilldown(currency money.Currency, periods []id.ID) *report.Drilldown {
	if p.asOwner() || len(periods) == 0 {
		return nil
	}

	first, last := p.firstDay(), p.lastDay()
	d := report.DrilldownTo(report.Selection{
		StartDate:          &first,
		EndDate:            &last,
		OwnershipPeriodIDs: page.RefsTo(periods...),
		Party:              ledger.Owners,
		Currency:           string(currency),
	})

	return &d
}

// loadContacts loads contacts by id.
func loadContacts(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Contact, error) {
	rows, err := db.Select[Contact](ctx, tx, `
		select id as contact_id, name, first_name, email, phone from contact where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}

	out := make(map[id.ID]Contact, len(rows))
	for _, r := range rows {
		out[r.ContactID] = r
	}

	return out, nil
}

// loadContact loads one contact. It fails with apierr.NotFound for one that the team does not have.
func loadContact(ctx context.Context, tx *db.Tx, contact id.ID) (Contact, error) {
	found, err := loadContacts(ctx, tx, []id.ID{contact})
	if err != nil {
		return Contact{}, err
	}

	if _, ok := found[contact]; !ok {
		return Contact{}, apierr.NotFound
	}

	return found[contact], nil
}
