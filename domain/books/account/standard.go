package account

import (
	"context"
	"fmt"
	"maps"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

type standardCategory struct {
	name           string
	classification Classification
}

type standardAccount struct {
	code, name string
	category   string
	banking    BankingCategory
	assignment Assignment
}

const (
	categoryBanks       = "Bank accounts"
	categoryReceivables = "Receivables and reserves"
	categoryGuests      = "Guest funds"
	categoryTaxes       = "Taxes payable"
	categoryPayables    = "Payables"
	categoryEquity      = "Owner and manager balances"
	categoryStays       = "Reservation revenue"
	categoryManager     = "Management revenue"
	categoryProcessing  = "Channel and payment costs"
	categoryOwnerFees   = "Fees charged to owners"
	categoryProperty    = "Property expenses"
)

// standardCategories returns the categories of the standard chart, in order.
func standardCategories() []standardCategory {
	return []standardCategory{
		{categoryBanks, Asset},
		{categoryReceivables, Asset},
		{categoryGuests, Liability},
		{categoryTaxes, Liability},
		{categoryPayables, Liability},
		{categoryEquity, Liability},
		{categoryStays, Revenue},
		{categoryManager, Revenue},
		{categoryProcessing, Expense},
		{categoryOwnerFees, Expense},
		{categoryProperty, Expense},
	}
}

// standardAccounts returns the accounts of the standard chart.
func standardAccounts() []standardAccount {
	return []standardAccount{
		{"1000", "Trust bank", categoryBanks, Trust, PayoutBankAccount},
		{"1010", "Operating bank", categoryBanks, Operating, ""},
		{"1100", "Processor reserve", categoryReceivables, "", DepositReserve},
		{"1110", "Co-host payouts receivable", categoryReceivables, "", DepositCoHostPayout},
		{"1120", "Deposit VAT withheld", categoryReceivables, "", DepositVAT},

		// Liabilities: money that is held for guests, owners and authorities.
		{"2000", "Guest deposits, net of receivables", categoryGuests, "", AccountsReceivable},
		{"2010", "Deferred revenue", categoryGuests, "", DeferredRevenue},
		{"2100", "Lodging taxes payable", categoryTaxes, "", ""},
		{"2110", "Sales tax payable", categoryTaxes, "", ExpenseSalesTax},
		{"2200", "Accounts payable", categoryPayables, "", AccountsPayable},
		{"2300", "Security deposits held", categoryGuests, "", ""},
		{"2400", "Owner and manager distributions", categoryEquity, "", PayoutDistribution},
		{"2500", "Due to / from trust", categoryPayables, "", DueToFromTrust},
		{"2900", "Opening balance", categoryEquity, "", OpeningBalance},

		// Revenue, of stays and of the manager.
		{"4000", "Rent", categoryStays, "", ""},
		{"4010", "Cleaning fees", categoryStays, "", ""},
		{"4020", "Guest fees", categoryStays, "", ""},
		{"4030", "Damage", categoryStays, "", ""},
		{"4090", "Cancellation revenue", categoryStays, "", CancellationRevenue},
		{"4100", "Management commission revenue", categoryManager, "", ""},
		{"4110", "Cleaning revenue", categoryManager, "", ""},
		{"4120", "Other fee revenue", categoryManager, "", ""},
		{"4190", "Expense markup revenue", categoryManager, "", ExpenseMarkup},

		// Expenses.
		{"5000", "Channel fees", categoryProcessing, "", DepositChannelFee},
		{"5010", "Merchant fees", categoryProcessing, "", DepositMerchantFee},
		{"5100", "Management commission", categoryOwnerFees, "", ""},
		{"5110", "Cleaning", categoryOwnerFees, "", ""},
		{"5120", "Other fees charged to owners", categoryOwnerFees, "", ""},
		{"5200", "Repairs, supplies, utilities", categoryProperty, "", ""},
		{"5290", "Expense reimbursement", categoryProperty, "", ExpenseReimbursement},
	}
}

// InstallStandard gives the team the recommended chart: categories, accounts and assignments. It adds the missing
// ones and changes nothing that exists. An account takes its place in the chart if it has the assignment, the code
// or the name, in this order. Running it again adds nothing.
func InstallStandard(ctx context.Context, tx *db.Tx) error {
	have, err := loadChart(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}

	var writes []db.Stmt

	parts := map[id.ID][]Assignment{}

	// First the categories, which are known by their names.
	for i, c := range standardCategories() {
		if have.categories[c.name].IsZero() {
			category := &Category{
				ID: id.New(tx.Now), Name: c.name, Classification: c.classification, Position: have.position + int64(i) + 1,
			}
			have.categories[c.name] = category.ID
			audit.Note(tx, audit.Created, audit.Category, category.ID, nil, map[string]any{
				"name":           c.name,
				"classification": c.classification,
			})
			writes = append(writes, categoryTable.Insert(tx, category))
		}
	}

	// Then the accounts. An assignment that the team has made stays where it is.
	for _, a := range standardAccounts() {
		holder := have.findAccount(a)
		if holder.IsZero() {
			holder = id.New(tx.Now)
			audit.Note(tx, audit.Created, audit.Account, holder, nil, map[string]any{
				"code":     a.code,
				"name":     a.name,
				"category": map[string]any{"name": a.category},
			})
			writes = append(writes, insertStandard(tx, a, holder, have.categories[a.category]))
		}

		have.codes[a.code] = holder
		if a.assignment != "" && have.assigned[a.assignment].IsZero() {
			have.assigned[a.assignment] = holder
			parts[holder] = append(parts[holder], a.assignment)
			writes = append(writes, db.Stmt{
				SQL:  `insert into account_assignment (team_id, assignment, account_id) values (@team, @assignment, @account)`,
				Args: db.Args{"team": tx.Team, "assignment": a.assignment, "account": holder},
			})
		}
	}

	// Last, the audit events of the assignments, one for each account.
	for holder, played := range parts {
		audit.Note(tx, audit.Updated, audit.Account, holder, nil, map[string]any{"assignments": played})
	}

	if err := tx.Pipeline(ctx, writes...); err != nil {
		return fmt.Errorf("install the standard chart: %w", err)
	}

	return nil
}

// ListStandard loads the team's accounts by the codes of their places in the standard chart, as InstallStandard decides
// it. Places without an account are absent.
func ListStandard(ctx context.Context, tx *db.Tx) (map[string]id.ID, error) {
	have, err := loadChart(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}

	out := map[string]id.ID{}

	for _, a := range standardAccounts() {
		if holder := have.findAccount(a); !holder.IsZero() {
			out[a.code] = holder
		}
	}

	return out, nil
}

// insertStandard returns the statement that inserts an account of the standard chart.
func insertStandard(tx *db.Tx, a standardAccount, account, category id.ID) db.Stmt {
	row := &accountRow{Account: Account{ID: account, Code: &a.code, Name: a.name, Status: Active, Type: TypeLedger}, CategoryID: category}

	// Only bank accounts have banking data.
	if a.banking != "" {
		deposit := "deposit"
		row.Type, row.BankingCategory, row.BankingType = TypeBank, (*string)(&a.banking), &deposit
	}

	return accountTable.Insert(tx, row)
}

// chart has the categories, accounts and assignments of the team.
type chart struct {
	categories map[string]id.ID
	codes      map[string]id.ID
	names      map[string]id.ID
	assigned   map[Assignment]id.ID
	position   int64
}

// findAccount returns the account in a place of the standard chart, or the zero id.
func (c *chart) findAccount(a standardAccount) id.ID {
	if a.assignment != "" && !c.assigned[a.assignment].IsZero() {
		return c.assigned[a.assignment]
	}

	// The code identifies an account even if it was renamed.
	if holder := c.codes[a.code]; !holder.IsZero() {
		return holder
	}

	return c.names[a.name]
}

// loadChart loads the chart of the team.
func loadChart(ctx context.Context, tx *db.Tx) (*chart, error) {
	type named struct {
		ID       id.ID
		Name     string
		Code     *string
		Position int64
	}

	out := &chart{categories: map[string]id.ID{}, codes: map[string]id.ID{}, names: map[string]id.ID{}}
	args := db.Args{"team": tx.Team}

	// Added categories come after the existing ones, so the last position is needed.
	categories, err := db.Select[named](ctx, tx, `select id, name, null as code, position from account_category where team_id = @team order by position, id`, args)
	if err != nil {
		return nil, err
	}

	for _, c := range categories {
		out.categories[c.Name], out.position = c.ID, max(out.position, c.Position)
	}

	accounts, err := db.Select[named](ctx, tx, `select id, name, code, 0 as position from account where team_id = @team order by id`, args)
	if err != nil {
		return nil, err
	}

	for _, a := range accounts {
		out.names[a.Name] = a.ID
		if a.Code != nil {
			out.codes[*a.Code] = a.ID
		}
	}

	assigned, err := LoadAssigned(ctx, tx)
	out.assigned = maps.Clone(assigned)

	return out, err
}
