package trust

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Claim is the group of creditors of a part of the trust. Every active entry of the trust ledger is in exactly one
// claim: its account decides for banks and guest money, then its party, and if it belongs to no party, its account
// again.
type Claim string

// The claims. Bank is the money itself; the others are its creditors, and add up to it.
const (
	ClaimBank             Claim = "bank"
	ClaimGuests           Claim = "guestBalances"
	ClaimDeferredRevenue  Claim = "deferredRevenue"
	ClaimTaxes            Claim = "taxes"
	ClaimPayables         Claim = "accountsPayable"
	ClaimSecurityDeposits Claim = "securityDeposits"
	ClaimDueToFrom        Claim = "dueToFromTrust"
	ClaimOwners           Claim = "ownerBalances"
	ClaimManager          Claim = "managerBalance"
	ClaimHeldElsewhere    Claim = "fundsHeldElsewhere"
	ClaimSurplus          Claim = "trustSurplus"
	ClaimOther            Claim = "other"
)

// maxReferences is the greatest number of ids in a filter.
const maxReferences = 1000

// Enum lists the claims.
func (Claim) Enum() []string {
	return []string{
		string(ClaimBank),
		string(ClaimGuests),
		string(ClaimDeferredRevenue),
		string(ClaimTaxes),
		string(ClaimPayables),
		string(ClaimSecurityDeposits),
		string(ClaimDueToFrom),
		string(ClaimOwners),
		string(ClaimManager),
		string(ClaimHeldElsewhere),
		string(ClaimSurplus),
		string(ClaimOther),
	}
}

// partylessClaims returns the claims of entries that belong to no party, in the order in which the reconciliation shows
// them.
func partylessClaims() []Claim {
	return []Claim{
		ClaimDeferredRevenue,
		ClaimTaxes,
		ClaimPayables,
		ClaimSecurityDeposits,
		ClaimDueToFrom,
		ClaimSurplus,
		ClaimHeldElsewhere,
		ClaimOther,
	}
}

// Figure is an amount with the entries behind it.
type Figure struct {
	CentTotal money.Cents       `json:"centTotal"`
	Drilldown *report.Drilldown `json:"drilldown" doc:"The entries that add up to the amount; null when no filter can name them."`
}

// chartAccount is an account as the reconciliation needs it.
type chartAccount struct {
	ID              id.ID
	Code            *string
	Name            string
	Type            account.Type
	Classification  account.Classification
	CategoryID      id.ID
	CategoryName    string
	Assignments     []string
	TaxLines        bool
	BankingCategory *string
	// BankingCurrency is the currency of a bank account; empty for other accounts.
	BankingCurrency string
}

// hasAssignment reports whether the account has an assignment.
func (a *chartAccount) hasAssignment(part account.Assignment) bool {
	return slices.Contains(a.Assignments, string(part))
}

// ref returns the account's id, code and name.
func (a *chartAccount) ref() account.Ref {
	return account.Ref{ID: a.ID, Code: a.Code, Name: a.Name}
}

// chart knows the claim of each account.
type chart struct {
	accounts []chartAccount
	at       map[id.ID]*chartAccount
	claims   map[id.ID]Claim
	// standing are the accounts of each claim.
	standing map[Claim][]id.ID
}

// loadChart loads the accounts of the team and derives their claims.
func loadChart(ctx context.Context, tx *db.Tx) (*chart, error) {
	accounts, err := db.Select[chartAccount](ctx, tx, `
		select a.id, a.code, a.name, a.type, c.classification, a.category_id, c.name as category_name, a.banking_category,
			case when a.type = 'bank' then coalesce(a.banking_currency, k.default_currency) else '' end as banking_currency,
			array(select s.assignment from account_assignment s where s.team_id = @team and s.account_id = a.id order by 1) as assignments,
			exists (select from reservation_line_mapping m where m.team_id = @team and m.account_id = a.id and m.line_type = 'tax') as tax_lines
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id join team k on k.team_id = a.team_id
		where a.team_id = @team order by `+page.TextSQL("a.code")+` nulls last, `+page.TextSQL("a.name")+`, a.id`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}

	return newChart(accounts), nil
}

// newChart derives the claims of accounts.
func newChart(accounts []chartAccount) *chart {
	c := &chart{
		accounts: accounts,
		at:       map[id.ID]*chartAccount{},
		claims:   map[id.ID]Claim{},
		standing: map[Claim][]id.ID{},
	}

	var guests, taxes id.ID

	// First find the categories of guest deposits and of sales tax, since they decide about other accounts.
	for i := range accounts {
		a := &accounts[i]

		c.at[a.ID] = a
		if a.hasAssignment(account.AccountsReceivable) {
			guests = a.CategoryID
		}

		if a.hasAssignment(account.ExpenseSalesTax) {
			taxes = a.CategoryID
		}
	}

	for i := range accounts {
		a := &accounts[i]
		claim := accountClaim(a, guests, taxes)
		c.claims[a.ID] = claim
		c.standing[claim] = append(c.standing[claim], a.ID)
	}

	return c
}

// accountClaim returns the claim of an account's entries that belong to no party. There is no assignment for taxes and
// security deposits: an account counts as one by its category, that of the sales tax or of the guest deposits.
func accountClaim(a *chartAccount, guests, taxes id.ID) Claim {
	// Assignments decide before classes, and those before categories.
	switch {
	case a.Type == account.TypeBank:
		return ClaimBank
	case a.hasAssignment(account.AccountsReceivable) || a.hasAssignment(account.DepositCoHostPayout):
		return ClaimGuests
	case a.hasAssignment(account.DeferredRevenue):
		return ClaimDeferredRevenue
	case a.hasAssignment(account.DueToFromTrust):
		return ClaimDueToFrom
	case a.hasAssignment(account.AccountsPayable):
		return ClaimPayables
	case a.hasAssignment(account.OpeningBalance):
		return ClaimSurplus
	case a.hasAssignment(account.ExpenseSalesTax) || a.TaxLines:
		return ClaimTaxes
	case a.Classification == account.Asset:
		return ClaimHeldElsewhere
	case a.Classification != account.Liability || len(a.Assignments) > 0:
		return ClaimOther
	case a.CategoryID == guests:
		return ClaimSecurityDeposits
	case a.CategoryID == taxes:
		return ClaimTaxes
	default:
		return ClaimOther
	}
}

// claim returns the claim of the entries of an account and party.
func (c *chart) claim(accountID id.ID, party ledger.Party) Claim {
	own := c.claims[accountID]

	// A bank stays a bank whatever the party; an unknown account without a party is other.
	switch {
	case own == ClaimBank || own == ClaimGuests:
		return own
	case party == ledger.Owners:
		return ClaimOwners
	case party == ledger.Manager:
		return ClaimManager
	case own == "":
		return ClaimOther
	default:
		return own
	}
}

// claimAccounts returns the accounts of claims. It is never nil, and the caller may change it.
func (c *chart) claimAccounts(claims ...Claim) []id.ID {
	ids := []id.ID{}
	for _, claim := range claims {
		ids = append(ids, c.standing[claim]...)
	}

	return ids
}

// selection narrows a selection of trust entries to those of a claim. It returns false when there can be no such
// entry.
func (c *chart) selection(claim Claim, f report.Selection) (report.Selection, bool) {
	f.Ledger = ledger.Trust

	switch claim {
	case ClaimOwners, ClaimManager:
		f.Party = ledger.Owners
		if claim == ClaimManager {
			f.Party = ledger.Manager
		}

		// Bank and guest accounts are claims of their own, whatever the party of the entry.
		f.NotAccountIDs = append(c.claimAccounts(ClaimBank, ClaimGuests), f.NotAccountIDs...)
		if len(f.NotAccountIDs) == 0 {
			f.NotAccountIDs = nil
		}

		return f, true
	case ClaimBank, ClaimGuests:
	case ClaimDeferredRevenue, ClaimTaxes, ClaimPayables, ClaimSecurityDeposits, ClaimDueToFrom, ClaimHeldElsewhere,
		ClaimSurplus, ClaimOther:
		f.Party = report.WithoutParty
	}

	// The other claims are decided by the account; a caller may have named some of them.
	if f.AccountIDs == nil {
		f.AccountIDs = page.Only(c.claimAccounts(claim)...)
	}

	return f, len(f.AccountIDs) > 0
}

// figure returns an amount of a claim with its drill-down.
func (c *chart) figure(claim Claim, cents money.Cents, f report.Selection) Figure {
	behind, ok := c.selection(claim, f)
	if !ok {
		return Figure{CentTotal: cents}
	}

	d := report.DrilldownTo(behind)

	return Figure{cents, &d}
}

// expenses returns the accounts of costs.
func (c *chart) expenses() []id.ID {
	ids := []id.ID{}

	for i := range c.accounts {
		if c.accounts[i].Classification == account.Expense {
			ids = append(ids, c.accounts[i].ID)
		}
	}

	return ids
}
