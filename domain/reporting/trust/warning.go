package trust

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/bank"
	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// WarningCode is a kind of finding of the trust reconciliation.
type WarningCode string

// The findings.
const (
	WarnNegativeOwner    WarningCode = "negativeOwnerBalance"
	WarnNegativeManager  WarningCode = "negativeManagerBalance"
	WarnDepartedGuest    WarningCode = "departedGuestBalance"
	WarnFormerOwner      WarningCode = "ownerBalanceAfterOwnershipEnded"
	WarnUnownedBalance   WarningCode = "ownerBalanceWithoutOwnership"
	WarnUpcomingDebit    WarningCode = "upcomingStayPastDue"
	WarnUnmatchedRecords WarningCode = bank.CodeUnmatched
	WarnNoRecords        WarningCode = bank.CodeMissing
	WarnOperatingCost    WarningCode = "operatingCostPaidFromTrust"
	WarnBankDiffers      WarningCode = "bankDiffersFromBooks"
	WarnForeignBank      WarningCode = "entriesOnBankOfAnotherCurrency"
	WarnNotEliminated    WarningCode = "ledgersDoNotEliminate"
	WarnStillBooked      WarningCode = "paymentStillBooked"
	WarnUnknownPayment   WarningCode = "paymentUnknown"
	WarnWaitingPayment   WarningCode = "paymentAwaitingApproval"
	WarnBelowZero        WarningCode = "trustAccountBelowZero"
	WarnWasBelowZero     WarningCode = "trustAccountWasBelowZero"
	WarnUnassigned       WarningCode = "unassignedGuestMoney"
	WarnCancelledStay    WarningCode = "cancelledStayMoney"
	WarnKeptDeposit      WarningCode = "depositHeldAfterStay"
	WarnAgedTransit      WarningCode = "depositInTransitOver90Days"
	WarnAgedOutstanding  WarningCode = "outstandingPaymentOver90Days"
	WarnInactiveOnBill   WarningCode = "inactiveReferenceOnBill"
	WarnInactiveInRule   WarningCode = "inactiveReferenceInRule"
	WarnInactiveTemplate WarningCode = "inactiveReferenceInTemplate"
)

// warningItems is the greatest number of places of a finding that are shown.
const warningItems = 100

// Enum lists the findings.
func (WarningCode) Enum() []string {
	return []string{
		string(WarnNegativeOwner),
		string(WarnNegativeManager),
		string(WarnDepartedGuest),
		string(WarnFormerOwner),
		string(WarnUnownedBalance),
		string(WarnUpcomingDebit),
		string(WarnUnmatchedRecords),
		string(WarnNoRecords),
		string(WarnOperatingCost),
		string(WarnBankDiffers),
		string(WarnForeignBank),
		string(WarnNotEliminated),
		string(WarnStillBooked),
		string(WarnUnknownPayment),
		string(WarnWaitingPayment),
		string(WarnBelowZero),
		string(WarnWasBelowZero),
		string(WarnUnassigned),
		string(WarnCancelledStay),
		string(WarnKeptDeposit),
		string(WarnAgedTransit),
		string(WarnAgedOutstanding),
		string(WarnInactiveOnBill),
		string(WarnInactiveInRule),
		string(WarnInactiveTemplate),
	}
}

// Warning is a finding: how often it was made, its sum, and where.
type Warning struct {
	Code     WarningCode      `json:"code"`
	Severity finding.Severity `json:"severity" doc:"error: somebody else's money is or may be gone."`
	Message  string           `json:"message"`
	Count    int              `json:"count"`
	Total    money.Cents      `json:"total"`
	Currency money.Currency   `json:"currency"`
	Items    []WarningItem    `json:"items" doc:"At most 100, the largest amounts first."`
}

// WarningItem is one place of a finding. The fields that it concerns are set, all others are null.
type WarningItem struct {
	ListingID         *id.ID `json:"listingId"`
	OwnershipPeriodID *id.ID `json:"ownershipPeriodId"`
	ReservationID     *id.ID `json:"reservationId"`
	TransactionID     *id.ID `json:"transactionId"`
	JournalID         *id.ID `json:"journalId"`
	AccountID         *id.ID `json:"accountId"`
	ContactID         *id.ID `json:"contactId"`
	BankRecordID      *id.ID `json:"bankRecordId"`
	BankRuleID        *id.ID `json:"bankRuleId"`
	TemplateID        *id.ID `json:"recurringTemplateId"`
	Figure

	Since *day.Day `json:"since" doc:"When it began, if known."`

	// stay and behind are the data of the drill-down, which is made only for items that are shown.
	stay   *stayBalance
	behind *report.Selection
}

// warningText returns the severity and the text of a finding.
func warningText(code WarningCode) (severity finding.Severity, message string) {
	switch code { //nolint:exhaustive // waitingText has the others
	case WarnNegativeOwner:
		return finding.Error, "Owner balance is negative: it is covered by somebody else's money"
	case WarnNegativeManager:
		return finding.Error, "Manager balance is negative: the manager's costs are covered by somebody else's money"
	case WarnDepartedGuest:
		return finding.Warning, "Guest has departed with an open balance"
	case WarnFormerOwner:
		return finding.Warning, "Owner balance is open after the ownership ended"
	case WarnUnownedBalance:
		return finding.Warning, "Owners' entries belong to nobody: no day of them is owned"
	case WarnUpcomingDebit:
		return finding.Warning, "Upcoming stay has been charged and is not paid"
	case WarnUnmatchedRecords:
		return finding.Warning, "Bank record is not matched with transactions"
	case WarnNoRecords:
		return finding.Warning, "Bank account has no bank records to reconcile with"
	case WarnOperatingCost:
		return finding.Warning, "Cost of the manager was paid from the trust"
	case WarnBankDiffers:
		return finding.Error, "Adjusted bank balance differs from the books"
	case WarnForeignBank:
		return finding.Error, "Entries of the currency are on a bank account of another one, and count on neither"
	case WarnNotEliminated:
		return finding.Warning, "What the trust and the operating ledger owe each other differs"
	case WarnStillBooked:
		return finding.Error, "Payment failed, was canceled or came back, and is booked as paid: the bank has more " +
			"than the books"
	case WarnUnknownPayment:
		return finding.Warning, "Payment is booked and the payment provider has not said what became of it"
	case WarnWaitingPayment:
		return finding.Warning, "Payout is booked and waits for a second person: the bank has more than the books"
	}

	return waitingText(code)
}

// waitingText returns the severity and the text of a finding on money that waits for somebody to settle it.
func waitingText(code WarningCode) (severity finding.Severity, message string) {
	switch code { //nolint:exhaustive // warningText has the others
	case WarnBelowZero:
		return finding.Error, "Trust account is below zero in the books: somebody else's money is spent"
	case WarnWasBelowZero:
		return finding.Warning, "Trust account was below zero in the books on a day of the month"
	case WarnUnassigned:
		return finding.Warning, "Guest money belongs to no reservation"
	case WarnCancelledStay:
		return finding.Warning, "Money is held for a stay that was cancelled"
	case WarnKeptDeposit:
		return finding.Warning, "Security deposit is open after the stay"
	case WarnAgedTransit:
		return finding.Warning, "Deposit has been in transit for more than 90 days"
	case WarnAgedOutstanding:
		return finding.Warning, "Payment has been outstanding for more than 90 days"
	case WarnInactiveOnBill:
		return finding.Warning, "Open bill names an archived record"
	case WarnInactiveInRule:
		return finding.Warning, "Bank rule names an archived record"
	case WarnInactiveTemplate:
		return finding.Warning, "Recurring template names an archived record"
	}

	return finding.Warning, ""
}

// places are the places of a finding: the known items, the number of all, and their sum. Of many items only the
// largest are known.
type places struct {
	items []WarningItem
	count int
	total money.Cents
}

// findings collects the places of each finding.
type findings map[WarningCode]*places

// placesFor returns the places of a finding.
func (f findings) placesFor(code WarningCode) *places {
	if f[code] == nil {
		f[code] = &places{}
	}

	return f[code]
}

// add adds places of a finding.
func (f findings) add(code WarningCode, items ...WarningItem) {
	for i := range items {
		p := f.placesFor(code)
		p.items, p.count, p.total = append(p.items, items[i]), p.count+1, p.total+items[i].CentTotal
	}
}

// render returns the findings of a position in the order of their codes.
func (f findings) render(p *position) []Warning {
	out := []Warning{}

	for _, name := range WarningCode("").Enum() {
		code := WarningCode(name)
		if f[code] == nil {
			continue
		}

		items := f[code].items
		w := Warning{Code: code, Count: f[code].count, Total: f[code].total, Currency: p.currency}
		w.Severity, w.Message = warningText(code)

		// The largest amounts first, whatever their sign.
		slices.SortStableFunc(items, func(a, b WarningItem) int {
			return cmp.Compare(max(b.CentTotal, -b.CentTotal), max(a.CentTotal, -a.CentTotal))
		})

		// Drill-downs are made for the shown items only.
		w.Items = items[:min(len(items), warningItems)]
		for i := range w.Items {
			if item := &w.Items[i]; item.stay != nil {
				item.Figure = p.chart.sumStays([]stayBalance{*item.stay}, *item.behind)
			}
		}

		out = append(out, w)
	}

	return out
}

// checkOwners adds the findings on the owners' balances of a listing.
func (f findings) checkOwners(l *OwnerListing, date day.Day) {
	for i := range l.Periods {
		p := &l.Periods[i]

		item := WarningItem{ListingID: l.ID, OwnershipPeriodID: p.ID, Figure: p.Figure}
		switch {
		// If the stays and transactions are known, each is a place of its own.
		case p.ID == nil && p.ownerless != nil:
			f.add(WarnUnownedBalance, p.ownerless...)
			continue
		case p.ID == nil:
			f.add(WarnUnownedBalance, item)
			continue
		case p.CentTotal < 0:
			f.add(WarnNegativeOwner, item)
		}

		// An ownership that has ended should be paid out.
		if p.CentTotal != 0 && p.EndAt != nil && !p.EndAt.After(date) {
			item.Since = p.EndAt
			f.add(WarnFormerOwner, item)
		}
	}
}

// checkGuests adds the findings on the balances of stays. The cells come from the entries of the selection behind.
func (f findings) checkGuests(p *position, cells []guestCell, behind report.Selection) {
	for _, s := range sumByStay(cells) {
		item := WarningItem{
			ListingID:     s.listingID.OrNil(),
			ReservationID: &s.reservationID,
			Figure:        Figure{CentTotal: s.total},
			stay:          &s,
			behind:        &behind,
		}
		switch {
		case s.status == report.Departed:
			item.Since = s.checkOut
			f.add(WarnDepartedGuest, item)
		case s.status == report.Cancelled && s.total > 0:
			item.Since = p.origins[s.reservationID].Since
			f.add(WarnCancelledStay, item)
		case s.status == report.Upcoming && s.total < 0:
			f.add(WarnUpcomingDebit, item)
		}
	}

	f.add(WarnUnassigned, p.findUnassigned(ClaimGuests, cells, p.origins, behind)...)
}

// checkBanks adds the findings on differences between banks and books.
func (f findings) checkBanks(leg *BankLeg) {
	for i := range leg.Accounts {
		a := &leg.Accounts[i]

		// Without records there is nothing to compare with.
		if !a.known {
			if a.BookBalance.CentTotal != 0 {
				f.add(WarnNoRecords, WarningItem{AccountID: &a.Account.ID, Figure: a.BookBalance})
			}

			continue
		}

		if a.Difference != 0 {
			f.add(WarnBankDiffers, WarningItem{AccountID: &a.Account.ID, Figure: Figure{CentTotal: a.Difference}})
		}
	}

	// Count and total are those of all records, even if only the first are loaded.
	if leg.unmatched.Count > 0 {
		open := f.placesFor(WarnUnmatchedRecords)

		open.count, open.total = leg.unmatched.Count, leg.unmatched.Total
		for _, u := range leg.unmatched.First {
			open.items = append(open.items, WarningItem{
				AccountID:    &u.AccountID,
				BankRecordID: &u.ID,
				Since:        &u.Date,
				Figure:       Figure{CentTotal: u.Open},
			})
		}
	}
}

// checkElimination adds the accounts on which the trust and the operating ledger do not owe each other the same amount.
// A transaction or a manual journal that names such an account has no counterpart in the other ledger.
func (f findings) checkElimination(ctx context.Context, tx *db.Tx, p *position) error {
	accounts := p.chart.claimAccounts(ClaimDueToFrom)
	if len(accounts) == 0 {
		return nil
	}

	// Without a ledger in the filter both are added up, and the sum must be 0.
	cells, err := report.Balances(ctx, tx, report.BalanceFilter{
		Currency:   p.currency,
		To:         p.date,
		AccountIDs: accounts,
		Party:      report.WithoutParty,
	}, report.Grouping{})
	if err != nil {
		return err
	}

	for i := range cells {
		cents := -cells[i].Net()
		if cents == 0 {
			continue
		}

		behind := p.drilldownFilter()
		behind.Ledger, behind.Party, behind.AccountIDs = "", report.WithoutParty, page.Only(cells[i].AccountID)
		d := report.DrilldownTo(behind)
		f.add(WarnNotEliminated, WarningItem{
			AccountID: &cells[i].AccountID,
			Figure:    Figure{CentTotal: cents, Drilldown: &d},
		})
	}

	return nil
}

// checkPayments adds payments that the books have taken off a trust bank account by the day although the money has not
// left it, or may not have.
func (f findings) checkPayments(ctx context.Context, tx *db.Tx, p *position) error {
	type payment struct {
		TransactionID id.ID
		AccountID     id.ID
		Refused       bool
		Waits         bool
		Missing       money.Cents
		Since         day.Day
	}

	rows, err := db.Select[payment](ctx, tx, `
		with missing as materialized ( /* few payments lack their money: they are found before their transactions are looked up */
			select n.payment_id, n.transaction_id, n.funding_account_id, n.refused, n.code, n.missing from payment_not_received n
			where n.team_id = @team and n.missing > 0 and n.currency = @currency and n.funding_account_id = any(@banks::uuid[])
		)
		select n.transaction_id, n.funding_account_id as account_id, n.refused, n.code = 'paymentAwaitingApproval' as waits, n.missing,
			coalesce(t.payment_date, t.date) as since
		from missing n join transaction t on t.team_id = @team and t.id = n.transaction_id
		where coalesce(t.payment_date, t.date) <= @date order by n.payment_id`,
		db.Args{"team": tx.Team, "date": p.date, "currency": p.currency, "banks": p.chart.claimAccounts(ClaimBank)})
	if err != nil {
		return fmt.Errorf("read the payments that were not received: %w", err)
	}

	// Refused payments are certain; others wait for approval or for the provider's word.
	for i := range rows {
		r := &rows[i]
		code := WarnUnknownPayment

		switch {
		case r.Refused:
			code = WarnStillBooked
		case r.Waits:
			code = WarnWaitingPayment
		}

		behind := p.drilldownFilter()
		behind.AccountIDs, behind.TransactionIDs = page.Only(r.AccountID), page.RefsTo(r.TransactionID)
		d := report.DrilldownTo(behind)
		f.add(code, WarningItem{
			TransactionID: &r.TransactionID,
			AccountID:     &r.AccountID,
			Figure:        Figure{CentTotal: r.Missing, Drilldown: &d},
			Since:         &r.Since,
		})
	}

	return nil
}

// checkOperatingCosts adds the manager's expenses of the month that a trust bank account paid.
func (f findings) checkOperatingCosts(ctx context.Context, tx *db.Tx, p *position) error {
	type cost struct {
		TransactionID id.ID
		ListingID     id.ID
		Total         money.Cents
		Since         day.Day
	}

	// An expense counts if its entries also take money off a trust bank account.
	rows, err := db.Select[cost](ctx, tx, `
		select e.transaction_id, e.listing_id, sum(e.cent_total)::bigint as total, min(e.txn_at) as since
		from ledger_entry e join transaction t on t.team_id = @team and t.id = e.transaction_id and t.type = 'expense'
		where e.team_id = @team and e.txn_at between @first and @date and e.ledger = 'trust' and e.status = 'active' and e.currency = @currency
			and e.party = 'manager' and e.account_id = any(@costs::uuid[])
			and exists (select from ledger_entry b where b.team_id = @team and b.source_id = e.source_id and b.ledger = 'trust'
				and b.account_id = any(@banks::uuid[]) and b.cent_total < 0 and b.status = 'active' and b.txn_at <= @date)
		group by 1, 2 having sum(e.cent_total) > 0 order by 1, 2`,
		db.Args{
			"team":     tx.Team,
			"first":    p.date.FirstOfMonth(),
			"date":     p.date,
			"currency": p.currency,
			"costs":    p.chart.expenses(),
			"banks":    p.chart.claimAccounts(ClaimBank),
		})
	if err != nil {
		return fmt.Errorf("read the manager's costs: %w", err)
	}

	for i := range rows {
		// The drill-down leads to the cost of the transaction on the listing.
		r := &rows[i]
		behind := p.drilldownFilter()
		behind.StartDate = &report.Start{Day: p.date.FirstOfMonth()}
		behind.Party = ledger.Manager
		behind.AccountIDs = page.Only(p.chart.expenses()...)
		behind.TransactionIDs = page.RefsTo(r.TransactionID)
		behind.ListingIDs = page.RefsTo(r.ListingID)
		d := report.DrilldownTo(behind)
		f.add(WarnOperatingCost, WarningItem{
			ListingID:     r.ListingID.OrNil(),
			TransactionID: &r.TransactionID,
			Figure:        Figure{CentTotal: r.Total, Drilldown: &d},
			Since:         &r.Since,
		})
	}

	return nil
}
