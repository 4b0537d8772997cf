package trust

import (
	"cmp"
	"context"

	"stayledger/domain/books/account"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/plain"
)

// Reconciliation compares three amounts at the end of a day: the money at the banks, the money in the books of the
// trust, and the claims on it. All three are the same number in a trust that is in order.
type Reconciliation struct {
	Currency    money.Currency `json:"currency"`
	Date        day.Day        `json:"date"`
	Bank        BankLeg        `json:"bank"`
	Book        BookLeg        `json:"book"`
	Liabilities LiabilityLeg   `json:"liabilities"`
	Difference  Difference     `json:"difference"`
	Warnings    []Warning      `json:"warnings"`
}

// Difference is the difference between the legs; zero when they agree.
type Difference struct {
	BankToBook        money.Cents `json:"bankToBook" doc:"Adjusted bank balance less book balance."`
	BookToLiabilities money.Cents `json:"bookToLiabilities" doc:"Book balance less liabilities: zero in books that balance."`
}

// BookLeg is the money of the trust according to the books.
type BookLeg struct {
	Figure
	Accounts []AccountFigure `json:"accounts"`
}

// AccountFigure is the part of one account in a row.
type AccountFigure struct {
	Account account.Ref `json:"account"`
	Figure
}

// LiabilityLeg lists the creditors of the trust. Positive is owed by the trust; the rows add up to the total.
type LiabilityLeg struct {
	CentTotal          money.Cents   `json:"centTotal"`
	GuestBalances      GuestSplit    `json:"guestBalances"`
	Rows               []Row         `json:"rows" doc:"Money that belongs to none of the three parties."`
	OwnerBalances      OwnerBalances `json:"ownerBalances"`
	ManagerBalance     Figure        `json:"managerBalance"`
	FundsHeldElsewhere Row           `json:"fundsHeldElsewhere" doc:"Negative: trust money that is not at a bank, such as processors' reserves."`
}

// Row is a kind of liability with its accounts.
type Row struct {
	Claim Claim `json:"claim"`
	Figure
	Accounts []AccountFigure `json:"accounts"`
}

// Filter selects a reconciliation: query parameters, and the body of its export.
type Filter struct {
	Date     *day.Day `query:"date" json:"date,omitempty" doc:"End of this day; default: today."`
	Currency string   `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

type input struct{ Filter }

// reconciliation returns the reconciliation of a day.
func reconciliation(ctx context.Context, tx *db.Tx, in *input) (*Reconciliation, error) {
	return loadReconciliation(ctx, tx, &in.Filter)
}

// loadReconciliation reconciles the trust that a valid filter selects.
func loadReconciliation(ctx context.Context, tx *db.Tx, f *Filter) (*Reconciliation, error) {
	p, err := openPosition(ctx, tx, f, false)
	if err != nil {
		return nil, err
	}

	// The three legs come from different sources: bank records, entries by account, and entries by claim. Warnings need
	// entries and payments that the legs do not have. Nothing here waits for more than one other statement.
	found, bank, deposits, owners := findings{}, &BankLeg{}, &depositBooks{}, &ownerFacts{}

	works := []db.Work{
		func(ctx context.Context, tx *db.Tx) error { return p.loadBanks(ctx, tx, bank, found) },
		p.loadGuests,
		func(ctx context.Context, tx *db.Tx) error { return owners.load(ctx, tx, p) },
		func(ctx context.Context, tx *db.Tx) error { return deposits.load(ctx, tx, p) },
	}
	for _, check := range []func(ctx context.Context, tx *db.Tx, p *position) error{
		found.checkOperatingCosts, found.checkElimination, found.checkPayments, found.checkBills, found.checkRules,
		found.checkTemplates,
	} {
		works = append(works, func(ctx context.Context, tx *db.Tx) error { return check(ctx, tx, p) })
	}

	if err := tx.Together(ctx, works...); err != nil {
		return nil, err
	}

	listings := owners.divide(p)
	out := &Reconciliation{
		Currency:    p.currency,
		Date:        p.date,
		Bank:        *bank,
		Book:        p.book(),
		Liabilities: p.liabilities(listings),
	}
	out.Difference.BankToBook = bank.AdjustedBalance - out.Book.CentTotal
	out.Difference.BookToLiabilities = out.Book.CentTotal - out.Liabilities.CentTotal

	// Last, the warnings that follow from the data at hand.
	for i := range listings {
		found.checkOwners(&listings[i], p.date)
	}

	if manager := out.Liabilities.ManagerBalance; manager.CentTotal < 0 {
		found.add(WarnNegativeManager, WarningItem{Figure: manager})
	}

	found.checkGuests(p, p.guests, p.drilldownFilter())
	found.checkDeposits(p, deposits)
	found.checkBanks(bank)

	for _, f := range p.foreignBanks() {
		found.add(WarnForeignBank, WarningItem{AccountID: &f.Account.ID, Figure: f.Figure})
	}

	out.Warnings = found.render(p)

	return out, nil
}

// book returns the second leg: the money on the trust's bank accounts of the currency.
func (p *position) book() BookLeg {
	leg := BookLeg{Accounts: []AccountFigure{}}

	// Entries on accounts in another currency are reported as warnings.
	total := -p.byClaim[ClaimBank]
	for _, foreign := range p.foreignBanks() {
		total -= foreign.CentTotal
	}

	leg.Figure = p.chart.figure(ClaimBank, total, p.drilldownFilter())
	for _, v := range p.banks() {
		behind := p.drilldownFilter()
		behind.AccountIDs = page.Only(v)
		figure := p.chart.figure(ClaimBank, -p.byAccount[accountKey{ClaimBank, v}], behind)
		leg.Accounts = append(leg.Accounts, AccountFigure{p.chart.at[v].ref(), figure})
	}

	return leg
}

// liabilities returns the third leg.
func (p *position) liabilities(owners []OwnerListing) LiabilityLeg {
	leg := LiabilityLeg{
		GuestBalances:  p.splitByStatus(p.figure(ClaimGuests), nil),
		Rows:           []Row{},
		ManagerBalance: p.figure(ClaimManager),
		OwnerBalances:  OwnerBalances{Figure: p.figure(ClaimOwners), Listings: owners, Owners: sumByOwner(owners)},
	}

	// Funds held elsewhere are an asset and are shown apart.
	for _, claim := range partylessClaims() {
		if claim == ClaimHeldElsewhere {
			leg.FundsHeldElsewhere = p.row(claim)
			continue
		}

		leg.Rows = append(leg.Rows, p.row(claim))
	}

	// The total comes from the claims themselves, so that a missing row would show.
	for claim, cents := range p.byClaim {
		if claim != ClaimBank {
			leg.CentTotal += cents
		}
	}

	return leg
}

// row returns a claim with those of its accounts that have a balance.
func (p *position) row(claim Claim) Row {
	r := Row{Claim: claim, Figure: p.figure(claim), Accounts: []AccountFigure{}}
	for i := range p.chart.accounts {
		a := &p.chart.accounts[i]

		// The books of an account may have entries of several claims.
		cents := p.byAccount[accountKey{claim, a.ID}]
		if cents == 0 {
			continue
		}

		behind := p.drilldownFilter()
		behind.AccountIDs = page.Only(a.ID)
		r.Accounts = append(r.Accounts, AccountFigure{a.ref(), p.chart.figure(claim, cents, behind)})
	}

	return r
}

// compareListings orders by name as lists do, those without a name last, and then by id.
func compareListings(a, b *string, aID, bID *id.ID) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}

	return cmp.Or(plain.Compare(*a, *b), aID.Compare(*bID))
}

// endpoints returns the reports on the money in the trust.
func endpoints() []api.Endpoint {
	scopes, managing := []string{"reports:read"}, []string{"pm-statements:read"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/guest-balances",
			ID:      "getGuestBalances",
			Tag:     "Reports",
			Summary: "Guest balances",
			Scopes:  scopes,
			Embed:   true,
			Doc: "What guests have paid ahead and what they owe at the end of a day, by occupancy status, listing " +
				"and reservation. Pages count reservations; the totals are those of all pages.",
		}, guestBalances),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/sales-tax-liability",
			ID:      "getSalesTaxLiability",
			Tag:     "Reports",
			Summary: "Sales-tax liability",
			Scopes:  scopes,
			Embed:   true,
			Doc: "Taxable income and the taxes charged on stays, recognised in a period, by listing, channel and " +
				"reservation. Pages count reservations; the totals are those of all pages. What is remitted does " +
				"not lower it. Fails with the issue `notFound` for an unknown id among `taxableLineIds`.",
		}, taxLiability),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/manager-statements",
			ID:      "listManagerStatements",
			Tag:     "Reports",
			Summary: "Manager statements",
			Scopes:  managing,
			Embed:   true,
			Doc: "The manager's part of the trust month by month, newest first, up to the current month. Never " +
				"saved: it follows the books.",
		}, managerStatements),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/manager-statements/detail",
			ID:      "getManagerStatement",
			Tag:     "Reports",
			Summary: "Manager statement",
			Scopes:  managing,
			Embed:   true,
			Doc:     "The manager's part of the trust over a period, and how much of it can be drawn at its end.",
		}, managerStatement),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/trust-reconciliation",
			ID:      "getTrustReconciliation",
			Tag:     "Reports",
			Summary: "Three-way trust reconciliation",
			Scopes:  scopes,
			Embed:   true,
			Doc: "Adjusted bank balance, book balance and liabilities at the end of a day, which are equal in a " +
				"trust that is in order; what they differ by, and what should be looked at.",
		}, reconciliation),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/reports/trust-reconciliation/by-listing",
			ID:      "getTrustReconciliationByListing",
			Tag:     "Reports",
			Summary: "Trust reconciliation by listing",
			Scopes:  scopes,
			Embed:   true,
			Doc: "The money that the trust holds for each listing and the parties it is owed to. Banks know no " +
				"listings, so a listing's book balance is computed from its own entries.",
		}, byListing),
	}
}
