package trial

import (
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Balance are the balances that the manager's own books ended with on the day before the first day of these. Combined
// is trust and operating together, as in the manager's former books; trust is booked by the opening balances of this
// service; operating is the rest. Debit is positive.
type Balance struct {
	GLStartAt     *day.Day       `json:"glStartAt"`
	OpeningDate   *day.Day       `json:"openingDate" doc:"The day before; null without a start date."`
	Source        Origin         `json:"source"`
	Locked        bool           `json:"locked"`
	LockReasons   []string       `json:"lockReasons" doc:"booksClosed, ownerStatement."`
	Rows          []Row          `json:"rows" doc:"All posting accounts but the assigned one."`
	Assignment    *Totals        `json:"assignment" doc:"The account assigned to openingBalance, which balances the rest; null without one."`
	TrustReversal Reversal       `json:"trustReversal"`
	terms         *Terms         // when the books begin
	held          error          // the lock on the opening date
	accounts      []chartAccount // what the rows are made of
}

// Origin says where the combined balances come from.
type Origin struct {
	Mode                 string       `json:"mode" enum:"none,manual" doc:"none while there are none: combined is trust then."`
	Editable             bool         `json:"editable"`
	LastUpdatedAt        *day.Instant `json:"lastUpdatedAt"`
	ExternalConnectionID *id.ID       `json:"externalConnectionId"`
}

// Totals are the balances of an account, in cents.
type Totals struct {
	AccountID          id.ID       `json:"accountId"`
	AccountName        string      `json:"accountName"`
	CombinedCentTotal  money.Cents `json:"combinedCentTotal"`
	TrustCentTotal     money.Cents `json:"trustCentTotal"`
	OperatingCentTotal money.Cents `json:"operatingCentTotal"`
}

// Row is an account with its opening balances.
type Row struct {
	Totals
	Classification account.Classification `json:"classification"`
	Type           account.Type           `json:"type"`
	Editable       bool                   `json:"editable"`
}

// Reversal has the entries that take the trust's balances out of the operating ledger again.
type Reversal struct {
	Status          string       `json:"status" enum:"not_created,created,outdated" doc:"outdated when something else would be booked now, and a lock holds what is."`
	JournalEntryIDs []id.ID      `json:"journalEntryIds"`
	LastRefreshedAt *day.Instant `json:"lastRefreshedAt"`
}

// Put is the complete set of combined balances; accounts that are left out have none.
type Put struct {
	Rows []PutRow `json:"rows" maxItems:"5000" doc:"An empty list takes the opening trial balance back."`
}

// PutRow is the combined balance of an account.
type PutRow struct {
	AccountID         id.ID       `json:"accountId"`
	CombinedCentTotal money.Cents `json:"combinedCentTotal" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents, debit positive."`
}

// chartAccount is an account with its balances on the opening date.
type chartAccount struct {
	ID             id.ID
	Name           string
	Status         account.Status
	Type           account.Type
	Classification account.Classification
	Assigned       bool         // to openingBalance
	Foreign        bool         // a bank account of another currency than the team's
	Combined       *money.Cents // nil if none was given
	Trust          money.Cents
	Booked         money.Cents // what the operating ledger opens with
}

// givenBalance returns the combined balance that a person gave, zero for none.
func (a *chartAccount) givenBalance() money.Cents {
	if a.Combined == nil {
		return 0
	}

	return *a.Combined
}

var errLocked = apierr.New(
	apierr.CodeForbidden, apierr.ReasonOpeningTrialBalanceLocked, "The opening trial balance is locked",
)

// triggerReversal marks the entries that take others out again.
const triggerReversal = "reversal"

// computeRows computes the rows from the accounts.
func (b *Balance) computeRows() {
	isManual := b.Source.Mode == "manual"

	var rest money.Cents

	b.Rows = []Row{}
	for i := range b.accounts {
		a := &b.accounts[i]

		// Without a given balance the combined one is that of the trust.
		totals := Totals{AccountID: a.ID, AccountName: a.Name, TrustCentTotal: a.Trust, CombinedCentTotal: a.Trust}
		if isManual && !a.Assigned {
			totals.CombinedCentTotal = a.givenBalance()
			rest -= totals.CombinedCentTotal
		}

		totals.OperatingCentTotal = totals.CombinedCentTotal - totals.TrustCentTotal

		// Inactive accounts are rows only if they have a balance.
		switch {
		case a.Assigned:
			b.Assignment = &totals
		case a.Type != account.TypeNonPosting &&
			(a.Status == account.Active || totals.CombinedCentTotal != 0 || a.Trust != 0):
			b.Rows = append(b.Rows, Row{
				Totals:         totals,
				Classification: a.Classification,
				Type:           a.Type,
				Editable:       b.Source.Editable,
			})
		}
	}

	// The assigned account balances all others.
	if b.Assignment != nil && isManual {
		b.Assignment.CombinedCentTotal = rest
		b.Assignment.OperatingCentTotal = rest - b.Assignment.TrustCentTotal
	}

	// The reversal is outdated if any account would open with another balance now.
	if isManual {
		b.TrustReversal.Status = "created"
		for i := range b.accounts {
			a := &b.accounts[i]

			// Compare the balance to be booked with the booked one.
			operating := a.givenBalance() - a.Trust
			if a.Assigned {
				operating = rest - a.Trust
			}

			if a.Booked != operating {
				b.TrustReversal.Status = "outdated"
			}
		}
	}
}

// reversalCode returns the code of the posting that reverses the trust's balances.
func reversalCode(team id.ID) string {
	return "openingTrialBalance:" + team.String() + ":trustReversal"
}

// derivePostings returns the postings that open the operating ledger: the combined balances, and the reversal of those
// that the trust has already.
func derivePostings(team id.ID, b *Balance) []ledger.Posting {
	line := func(a *chartAccount, cents money.Cents, trigger string) ledger.Line {
		l := ledger.Line{
			Ref:         a.ID.String(),
			AccountID:   a.ID,
			CentTotal:   cents,
			Trigger:     trigger,
			Description: "Opening trial balance",
		}
		if a.Classification == account.Revenue || a.Classification == account.Expense {
			l.Party = ledger.Manager
		}

		return l
	}
	posting := func(code string, lines []ledger.Line) ledger.Posting {
		return ledger.Posting{
			SourceID: team,
			TxnCode:  code,
			Ledger:   ledger.Operating,
			Status:   ledger.Active,
			TxnAt:    b.terms.At(),
			Currency: b.terms.DefaultCurrency,
			Lines:    lines,
		}
	}

	// First collect the lines of both, then balance the combined ones with the assigned account.
	var (
		combined, reversed []ledger.Line
		rest               money.Cents
	)

	for i := range b.accounts {
		a := &b.accounts[i]
		if c := a.givenBalance(); c != 0 && !a.Assigned {
			combined, rest = append(combined, line(a, c, ledger.TriggerOpeningBalance)), rest-c
		}

		if a.Trust != 0 {
			reversed = append(reversed, line(a, -a.Trust, triggerReversal))
		}
	}

	for i := range b.accounts {
		if b.accounts[i].Assigned && rest != 0 {
			combined = append(combined, line(&b.accounts[i], rest, ledger.TriggerOpeningBalance))
		}
	}

	// Last, leave out a posting without lines.
	var out []ledger.Posting
	if combined != nil {
		out = append(out, posting("openingTrialBalance:"+team.String()+":combined", combined))
	}

	if reversed != nil {
		out = append(out, posting(reversalCode(team), reversed))
	}

	return out
}

// check returns an issue for each row that cannot be: unknown, repeated, computed or non-posting accounts, other
// currencies, and sums beyond the safe range.
func (p *Put) check(accounts []chartAccount) []apierr.Issue {
	known := make(map[id.ID]*chartAccount, len(accounts))
	for i := range accounts {
		known[accounts[i].ID] = &accounts[i]
	}

	var (
		issues []apierr.Issue
		all    money.Cents
	)

	seen := map[id.ID]bool{}

	for i := range p.Rows {
		r := &p.Rows[i]
		a := known[r.AccountID]
		refuse := func(field string, code apierr.IssueCode) { issues = append(issues, code.InBody("rows", i, field)) }

		// The sum of the magnitudes bounds every figure that is computed from the rows.
		switch all += max(r.CombinedCentTotal, -r.CombinedCentTotal); {
		case a == nil:
			refuse("accountId", apierr.IssueNotFound)
		case seen[r.AccountID]:
			refuse("accountId", apierr.IssueUnique)
		case a.Assigned:
			refuse("accountId", apierr.IssueAccountComputed)
		case a.Type == account.TypeNonPosting:
			refuse("accountId", apierr.IssueNonPostingAccount)
		case a.Foreign:
			refuse("accountId", apierr.IssueCurrencyMismatch)
		case !all.Valid():
			refuse("combinedCentTotal", apierr.IssueRange)
			return issues
		}

		seen[r.AccountID] = true
	}

	return issues
}
