package report

import (
	"errors"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Selection selects the entries of a report: query parameters, the filter of a drill-down, and the body of an
// export. Every field narrows it. A field with a name that starts with not selects the entries that the field
// without it leaves out.
type Selection struct {
	StartDate *Start `query:"startDate" format:"date-boundary" json:"startDate,omitempty" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its first day."`
	EndDate   *End   `query:"endDate" format:"date-boundary" json:"endDate,omitempty" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its last day, which is included."`

	IDs                page.IDs  `query:"ids" json:"ids,omitempty"`
	AccountIDs         page.IDs  `query:"accountIds" json:"accountIds,omitempty"`
	CategoryIDs        page.IDs  `query:"categoryIds" json:"categoryIds,omitempty" doc:"Entries of accounts in these categories."`
	ListingIDs         page.Refs `query:"listingIds" json:"listingIds,omitempty" doc:"Here and below null, or unmapped, means entries without such an id."`
	ContactIDs         page.Refs `query:"contactIds" json:"contactIds,omitempty"`
	ReservationIDs     page.Refs `query:"reservationIds" json:"reservationIds,omitempty"`
	TransactionIDs     page.Refs `query:"transactionIds" json:"transactionIds,omitempty"`
	OwnershipPeriodIDs page.Refs `query:"ownershipPeriodIds" json:"ownershipPeriodIds,omitempty"`
	StatementIDs       page.Refs `query:"statementIds" json:"statementIds,omitempty"`
	RecurringFeeIDs    page.Refs `query:"recurringFeeIds" json:"recurringFeeIds,omitempty"`

	NotAccountIDs         []id.ID   `query:"notAccountIds" json:"notAccountIds,omitempty"`
	NotCategoryIDs        []id.ID   `query:"notCategoryIds" json:"notCategoryIds,omitempty"`
	NotListingIDs         page.Refs `query:"notListingIds" json:"notListingIds,omitempty" doc:"Here and below null leaves out the entries without such an id, which are selected otherwise."`
	NotContactIDs         page.Refs `query:"notContactIds" json:"notContactIds,omitempty"`
	NotReservationIDs     page.Refs `query:"notReservationIds" json:"notReservationIds,omitempty"`
	NotTransactionIDs     page.Refs `query:"notTransactionIds" json:"notTransactionIds,omitempty"`
	NotOwnershipPeriodIDs page.Refs `query:"notOwnershipPeriodIds" json:"notOwnershipPeriodIds,omitempty"`
	NotStatementIDs       page.Refs `query:"notStatementIds" json:"notStatementIds,omitempty"`
	NotRecurringFeeIDs    page.Refs `query:"notRecurringFeeIds" json:"notRecurringFeeIds,omitempty"`

	AccountClassifications []account.Classification `query:"accountClassifications" json:"accountClassifications,omitempty"`
	TransactionTypes       []string                 `query:"transactionTypes" json:"transactionTypes,omitempty" enum:"deposit,expense,transfer,payout" doc:"Entries of such transactions."`
	NotTransactionTypes    []string                 `query:"notTransactionTypes" json:"notTransactionTypes,omitempty" enum:"deposit,expense,transfer,payout" doc:"Entries of other transactions, or of none."`
	TriggerTypes           []string                 `query:"triggerTypes" json:"triggerTypes,omitempty" maxLength:"50" doc:"What made the entry, such as reservation, recurringFee, deposit, expense, payout or manual."`
	NotTriggerTypes        []string                 `query:"notTriggerTypes" json:"notTriggerTypes,omitempty" maxLength:"50"`
	Channels               []string                 `query:"channels" json:"channels,omitempty" maxLength:"100" doc:"Entries of reservations from these booking platforms; null means reservations that name none."`
	NotChannels            []string                 `query:"notChannels" json:"notChannels,omitempty" maxLength:"100" doc:"Entries of other reservations, or of none."`
	BusinessModels         []string                 `query:"businessModels" json:"businessModels,omitempty" enum:"managed,co_host,co_host_airbnb" doc:"Entries of ownership periods under these models."`
	OccupancyStatus        Occupancy                `query:"occupancyStatus" json:"occupancyStatus,omitempty" doc:"Where the guest was at the end of endDate, which is required with it. Reservations without a stay are cancelled, entries without a reservation unassigned."`
	Party                  ledger.Party             `query:"party" json:"party,omitempty" enum:"owners,manager,null" doc:"null: entries of no party."`
	Ledger                 ledger.Ledger            `query:"ledger" json:"ledger,omitempty" enum:"trust,operating,historical" doc:"Default: trust and operating."`
	Status                 ledger.Status            `query:"status" json:"status,omitempty" enum:"active,inactive" doc:"Default: active."`
	BalanceSheetRows       []SheetRow               `query:"balanceSheetRows" json:"balanceSheetRows,omitempty" doc:"Entries in these rows of the balance sheet: those of a party in its own, save on bank accounts and on what guests owe; all others by their account's classification."`
	Attached               *bool                    `query:"attached" json:"attached,omitempty" doc:"Whether the entry is attached to an owner statement."`
	Locked                 *bool                    `query:"locked" json:"locked,omitempty" doc:"Whether closed books, an owner statement or a reconciliation holds the entry."`
	Amount                 []money.Range            `query:"amount" json:"amount,omitempty" doc:"Cents, debit positive: an amount or a range with both ends such as 100...200; of several any."`
	Search                 string                   `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the description or of the transaction code."`
	TxnCode                string                   `query:"txnCode" json:"txnCode,omitempty" maxLength:"200"`
	Currency               string                   `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$"`
	CreatedAtFrom          *day.Instant             `query:"createdAtFrom" json:"createdAtFrom,omitempty" doc:"Inclusive."`
	CreatedAtTo            *day.Instant             `query:"createdAtTo" json:"createdAtTo,omitempty" doc:"Exclusive."`
	page.Dates
}

// Occupancy says where the guest of a reservation is on a day.
type Occupancy string

// The states of a stay.
const (
	Departed   Occupancy = "departed"
	InHouse    Occupancy = "inHouse"
	Upcoming   Occupancy = "upcoming"
	Cancelled  Occupancy = "cancelled"
	Unassigned Occupancy = "unassigned"
)

// Enum returns the states of a stay.
func (Occupancy) Enum() []string {
	return []string{string(Departed), string(InHouse), string(Upcoming), string(Cancelled), string(Unassigned)}
}

// Resolve refuses dates that contradict each other, and anything else that no pattern can check.
func (f Selection) Resolve() []apierr.Issue {
	var issues []apierr.Issue

	refuse := func(code apierr.IssueCode, name string) { issues = append(issues, code.InQuery(name)) }
	if !f.DateRange.IsZero() && (f.StartDate != nil || f.EndDate != nil) {
		refuse(apierr.IssueContradiction, "dateRange")
	}

	if f.StartDate != nil && f.EndDate != nil && f.EndDate.Before(f.StartDate.Day) {
		refuse(apierr.IssueDateOrder, "endDate")
	}

	// Where a guest is depends on the day.
	if f.OccupancyStatus != "" && f.OccupancyStatus != Unassigned && f.EndDate == nil {
		refuse(apierr.IssueRequired, "endDate")
	}

	if _, err := money.ParseCurrency(f.Currency); f.Currency != "" && errors.Is(err, money.ErrCurrency) {
		refuse(apierr.IssueCurrency, "currency")
	}

	return issues
}

// hasIndex reports whether the selection has a condition that leads to its entries faster than their days do.
func (f *Selection) hasIndex() bool {
	accounts := len(f.AccountIDs) + len(f.CategoryIDs) + len(f.AccountClassifications)
	sources := len(f.ReservationIDs) + len(f.TransactionIDs) + len(f.StatementIDs) + len(f.RecurringFeeIDs)

	return len(f.IDs)+accounts+len(f.ContactIDs)+sources+len(f.OwnershipPeriodIDs) > 0
}
