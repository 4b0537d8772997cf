package statement

import (
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/platform/id"
)

// drilldown returns the report filter of all entries of a statement.
func (r *row) drilldown() Drilldown {
	f := DrilldownFilter{
		OwnershipPeriodIDs: []id.ID{r.OwnershipPeriodID}, Party: "owners", Currency: r.Currency,
		DateRange: r.StartAt.String() + "..." + r.EndAt.String(), IsDateRangeEndInclusive: true,
	}
	if r.Imported {
		f.StatementIDs, f.Ledger, f.Status = []id.ID{r.ID}, string(ledger.Historical), string(ledger.Inactive)
	}

	return Drilldown{Type: "journalEntryReport", Filter: f}
}

// drilldowns returns the report filters of the statement and of its figures. They follow the same cases as section
// does.
func (s special) drilldowns(r *row) (*Drilldown, *Drilldowns) {
	all := r.drilldown()

	figures := Drilldowns{NetRevenue: s.figureDrilldown(r, NetRevenue), Expenses: s.figureDrilldown(r, Expenses)}
	if payouts := s.figureDrilldown(r, Payouts); !s.Payout.IsZero() || r.Imported {
		figures.Payouts = &payouts
	}

	return &all, &figures
}

// figureDrilldown returns the report filter of one figure of a statement.
func (s special) figureDrilldown(r *row, figure Section) Drilldown {
	d := r.drilldown()

	// Entries of imported statements name their figure by the trigger.
	if r.Imported {
		d.Filter.TriggerTypes = []string{map[Section]string{
			NetRevenue: TriggerHistoricRevenue, Expenses: TriggerHistoricExpense, Payouts: TriggerHistoricPayout,
		}[figure]}

		return d
	}

	// Live entries on the special accounts are opening balances and payouts, so the other figures leave these
	// accounts out.
	var apart []id.ID

	for _, account := range []id.ID{s.Opening, s.Payout} {
		if !account.IsZero() {
			apart = append(apart, account)
		}
	}

	switch figure {
	case NetRevenue:
		d.Filter.NotAccountIDs, d.Filter.NotTransactionTypes = apart, []string{"expense"}
	case Expenses:
		d.Filter.NotAccountIDs, d.Filter.TransactionTypes = apart, []string{"expense"}
	case Payouts:
		d.Filter.AccountIDs = []id.ID{s.Payout}
	}

	return d
}

// narrow returns the filter restricted to accounts; nil leaves it as it is.
func (d Drilldown) narrow(accounts []id.ID) *Drilldown {
	if accounts != nil {
		d.Filter.AccountIDs = slices.Clone(accounts)
	}

	return &d
}
