package main

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/platform/day"
	"stayledger/platform/id"
)

// noun is a kind of resource that is read, as pages and as single ones. The bare statements read its own columns
// and its lines. Everything else that the service returns (names, locks, the status of journals, totals) is part of
// the service's cost.
type noun struct {
	name string
	team func(*dailyTeams) tenant
	// page and one are the paths at the service; one ends where the id goes.
	page, one string
	// of and nth find ids: nth is the SQL of the number of the i-th of $rows rows, or empty for a number from all of
	// them. A noun without ids has one row.
	of  kind
	nth string
	// sql is the bare statement without its condition, lines the expression of a single read for $lines, and first the
	// condition and the order of the page.
	sql, lines, first string
	// read answers a bare request.
	read func(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (any, error)
}

// Rows as the bare server reads and returns them.
type (
	bareTeam struct {
		ID                                        id.ID
		Type, Status, Name                        string
		CompanyName, Email, SupportEmail, Phone   *string
		Region, Currency, Recognition             string
		LongTermStayNights                        *int64
		GeneralLedger                             bool
		BooksClosedAt, SoftClosedAt, StatementsAt *day.Day
		StatementAddress, BillingAddress          json.RawMessage
		CreatedAt, UpdatedAt                      day.Instant
	}
	bareContact struct {
		ID                         id.ID
		ShortRef                   string
		UniqueRef                  *string
		Type, Status, Name         string
		FirstName, Email, Phone    *string
		Address                    json.RawMessage
		CompanyType, TaxIdentifier *string
		PayoutAccountID            *id.ID
		CreatedAt, UpdatedAt       day.Instant
	}
	bareListing struct {
		ID                   id.ID
		ShortRef, Name       string
		UniqueRef            *string
		Status, Currency     string
		Address              json.RawMessage
		ParentID             *id.ID
		CreatedAt, UpdatedAt day.Instant
	}
	barePeriod struct {
		ID, ListingID        id.ID
		StartAt, EndAt       *day.Day
		BusinessModel        string
		Reserve              *int64
		SetListingInactive   bool
		CreatedAt, UpdatedAt day.Instant
		Members              json.RawMessage
	}
	bareAccount struct {
		ID                              id.ID
		Code                            *string
		Name                            string
		UniqueRef                       *string
		Status, Type                    string
		CategoryID                      id.ID
		OffsetAccountID                 *id.ID
		Banking, BankingType, Last4, In *string
		OpeningAt                       *day.Day
		Opening                         *int64
		CreatedAt, UpdatedAt            day.Instant
	}
	bareFee struct {
		ID                                    id.ID
		UniqueRef                             *string
		Name                                  string
		Icon                                  *string
		Status, Type, Formula, RateType       string
		DefaultRate                           int64
		Recognition                           *string
		CreditParty, DebitParty               string
		CreditAccountID, DebitAccountID       id.ID
		Channels                              []string
		ChargeBasis, StatusFilter, OwnerStays string
		TaxRateID                             *id.ID
		TaxBehavior                           *string
		CreatedAt, UpdatedAt                  day.Instant
	}
	bareReservation struct {
		ID                                 id.ID
		ShortRef                           string
		UniqueRef, AppID, SourceID         *string
		ListingID                          id.ID
		Type, Status, LedgerStatus         string
		GuestName, BookerName              *string
		Guests                             *int64
		ConfirmationCode, PMSReferenceCode *string
		CheckIn, CheckOut                  day.Day
		BookedAt, CancelledAt              *day.Day
		BookingPlatform                    *string
		PostingAt                          *day.Day
		Currency                           string
		Userdata, Metadata                 json.RawMessage
		CreatedAt, UpdatedAt               day.Instant
		Lines                              json.RawMessage
	}
	bareTransaction struct {
		ID                   id.ID
		ShortRef             string
		UniqueRef            *string
		Type, Status         string
		Date                 day.Day
		PaymentDate          *day.Day
		PaymentAccountID     *id.ID
		Description          *string
		Currency             string
		IsOpeningBalance     bool
		AccountID            id.ID
		ContactID            *id.ID
		Total                int64
		TemplateID           *id.ID
		RecurringAt          *day.Day
		CreatedAt, UpdatedAt day.Instant
		Lines                json.RawMessage
	}
	bareJournal struct {
		ID                   id.ID
		ShortRef             string
		UniqueRef            *string
		Date                 day.Day
		Description          *string
		Currency, Ledger     string
		Total                int64
		ReversesID           *id.ID
		CreatedAt, UpdatedAt day.Instant
		Lines                json.RawMessage
	}
	bareEntry struct {
		ID                                                                      id.ID
		TxnCode, Ref, Ledger, Status                                            string
		TxnAt                                                                   day.Day
		AccountID                                                               id.ID
		CentTotal                                                               int64
		Currency                                                                string
		Party                                                                   *string
		ListingID, PeriodID, ContactID, ReservationID, TransactionID, FeeID, Of *id.ID
		Trigger, Description                                                    string
		CreatedAt                                                               day.Instant
	}
	bareRecord struct {
		ID                                     id.ID
		UniqueRef                              *string
		Date                                   day.Day
		Status, Description                    string
		BankAccountID, AccountID, ConnectionID *id.ID
		Source, Type                           string
		Amount                                 int64
		Currency                               *string
		Balance                                *int64
		Rule                                   *id.ID
		CreatedAt, UpdatedAt                   day.Instant
	}
	bareStatement struct {
		ID                                                               id.ID
		ShortRef                                                         string
		UniqueRef                                                        *string
		PeriodID, ListingID                                              id.ID
		Status, Currency                                                 string
		StartAt, EndAt                                                   day.Day
		BalanceStart, NetRevenue, Expenses, Payouts, BalanceEnd, Reserve int64
		PublishedAt                                                      *day.Instant
		Shares                                                           []int64
		CreatedAt, UpdatedAt                                             day.Instant
	}
	barePayment struct {
		ID                                                                   id.ID
		ShortRef, Status                                                     string
		ConnectionID, BatchID, TransactionID, ContactID, MethodID, FundingID id.ID
		ApprovalID                                                           *id.ID
		Amount                                                               int64
		Currency                                                             string
		Date                                                                 day.Day
		Issues                                                               json.RawMessage
		SentAt, SettledAt, RecoveredAt                                       *day.Instant
		CreatedAt, UpdatedAt                                                 day.Instant
	}
)

// readRows loads all rows of a bare statement.
func readRows[T any](ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (any, error) {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}

	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// nouns returns all nouns that are read.
func nouns() []noun {
	books := func(t *dailyTeams) tenant { return t.books }
	directory := func(t *dailyTeams) tenant { return t.directory }

	const created = "t.created_at, t.updated_at"

	return []noun{
		{
			name:  "team",
			team:  books,
			page:  "/teams?limit=50",
			one:   "/team",
			first: "order by t.name",
			read:  readRows[bareTeam],
			sql: `select t.id, t.type, t.status, t.name, t.company_name, t.email, t.support_email, t.phone, t.region, t.default_currency, t.default_revenue_recognition,
				t.long_term_stay_nights, t.is_general_ledger, t.books_closed_at, t.soft_closed_at, t.statement_start_at, t.statement_address, t.billing_address, ` + created + ` from team t`,
		},
		{
			name:  "contacts",
			team:  directory,
			page:  "/contacts?limit=50",
			one:   "/contacts/",
			of:    aContact,
			first: "order by t.id",
			read:  readRows[bareContact],
			sql: `select t.id, t.short_ref, t.unique_ref, t.type, t.status, t.name, t.first_name, t.email, t.phone, t.address, t.company_type, t.tax_identifier_last4,
				t.payout_account_id, ` + created + ` from contact t`,
		},
		{
			name:  "listings",
			team:  directory,
			page:  "/listings?limit=50",
			one:   "/listings/",
			of:    aListing,
			first: "order by t.id",
			read:  readRows[bareListing],
			sql:   `select t.id, t.short_ref, t.name, t.unique_ref, t.status, t.default_currency, t.address, t.parent_id, ` + created + ` from listing t`,
		},
		{
			name:  "ownership_periods",
			team:  directory,
			page:  "/listings/ownership-periods?limit=50",
			one:   "/listings/ownership-periods/",
			of:    aPeriod,
			first: "order by t.id",
			read:  readRows[barePeriod],
			sql: `select t.id, t.listing_id, t.start_at, t.end_at, t.business_model, t.reserve, t.set_listing_inactive, ` + created + `,
				(select jsonb_agg(jsonb_build_object('contactId', m.contact_id, 'split', m.split) order by m.position)
					from listing_ownership_member m where m.team_id = t.team_id and m.period_id = t.id) from listing_ownership_period t`,
		},
		{
			name:  "accounts",
			team:  directory,
			page:  "/accounts?limit=50",
			one:   "/accounts/",
			of:    anAccount,
			first: "order by t.id",
			read:  readRows[bareAccount],
			sql: `select t.id, t.code, t.name, t.unique_ref, t.status, t.type, t.category_id, t.offset_account_id, t.banking_category, t.banking_type, t.banking_last4,
				t.banking_currency, t.banking_opening_at, t.banking_opening, ` + created + ` from account t`,
		},
		{
			name:  "fees",
			team:  directory,
			page:  "/recurring-fees?limit=50",
			one:   "/recurring-fees/",
			of:    aFee,
			first: "order by t.id",
			read:  readRows[bareFee],
			sql: `select t.id, t.unique_ref, t.name, t.icon, t.status, t.type, t.formula, t.rate_type, t.default_rate, t.revenue_recognition, t.credit_party, t.debit_party,
				t.credit_account_id, t.debit_account_id, t.booking_channels_filter, t.charge_basis, t.status_filter, t.owner_stay_filter, t.tax_rate_id, t.tax_behavior, ` +
				created + ` from fee t`,
		},
		{
			name:  "reservations",
			team:  books,
			page:  "/reservations?limit=50",
			one:   "/reservations/",
			of:    aReservation,
			first: "order by t.check_in desc, t.id desc",
			read:  readRows[bareReservation],
			sql: `select t.id, t.short_ref, t.unique_ref, t.app_id, t.source_id, t.listing_id, t.type, t.status, t.general_ledger_status, t.guest_name, t.booker_name, t.guests,
				t.confirmation_code, t.pms_reference_code, t.check_in, t.check_out, t.booked_at, t.cancelled_at, t.booking_platform, t.general_ledger_posting_at, t.currency,
				t.userdata, t.metadata, ` + created + `, $lines from reservation t`,
			lines: `(select jsonb_agg(jsonb_build_object('id', l.id, 'uniqueRef', l.unique_ref, 'type', l.type, 'description', l.description, 'amount', l.amount,
				'accountId', l.account_id) order by l.position) from reservation_line l where l.team_id = t.team_id and l.reservation_id = t.id)`,
		},
		{
			name:  "transactions",
			team:  books,
			page:  "/transactions?limit=50",
			one:   "/transactions/",
			of:    aTransaction,
			first: "order by t.date desc, t.id desc",
			read:  readRows[bareTransaction],
			sql: `select t.id, t.short_ref, t.unique_ref, t.type, t.status, t.date, t.payment_date, t.payment_account_id, t.description, t.currency, t.is_opening_balance,
				t.account_id, t.contact_id, t.total, t.recurring_template_id, t.recurring_at, ` + created + `, $lines from transaction t`,
			lines: `(select jsonb_agg(jsonb_build_object('id', l.id, 'uniqueRef', l.unique_ref, 'description', l.description, 'assignment', l.assignment,
				'accountId', l.account_id, 'amount', l.amount, 'total', l.total, 'listingId', l.listing_id, 'reservationId', l.reservation_id, 'contactId', l.contact_id,
				'party', l.party) order by l.position) from transaction_line l where l.team_id = t.team_id and l.transaction_id = t.id)`,
		},
		{
			name:  "journals",
			team:  books,
			page:  "/general-ledger/journals?limit=50",
			one:   "/general-ledger/journals/",
			of:    aJournal,
			first: "order by t.date desc, t.id desc",
			read:  readRows[bareJournal],
			sql: `select t.id, t.short_ref, t.unique_ref, t.date, t.description, t.currency, t.ledger, t.total, t.reverses_id, ` + created + `,
				(select jsonb_agg(jsonb_build_object('accountId', l.account_id, 'centTotal', l.cent_total, 'party', l.party, 'listingId', l.listing_id,
					'contactId', l.contact_id, 'reservationId', l.reservation_id, 'description', l.description) order by l.position)
				from journal_line l where l.team_id = t.team_id and l.journal_id = t.id) from journal t`,
		},
		{
			name:  "journal_entries",
			team:  books,
			page:  "/reports/journal-entries?limit=50",
			one:   "/reports/journal-entries?limit=50&ids=",
			of:    anEntry,
			nth:   "(i::bigint * $rows / 500) * 8 + 1",
			first: "order by t.txn_at, t.id",
			read:  readRows[bareEntry],
			sql: `select t.id, t.txn_code, t.ref, t.ledger, t.status, t.txn_at, t.account_id, t.cent_total, t.currency, t.party, t.listing_id, t.ownership_period_id,
				t.contact_id, t.reservation_id, t.transaction_id, t.recurring_fee_id, t.statement_id, t.trigger_type, t.description, t.created_at from ledger_entry t`,
		},
		{
			name:  "bank_records",
			team:  books,
			page:  "/bank-records?limit=50",
			one:   "/bank-records/",
			of:    aBankRecord,
			first: "order by t.date desc, t.id desc",
			read:  readRows[bareRecord],
			sql: `select t.id, t.unique_ref, t.date, t.status, t.description, t.bank_account_id, t.account_id, t.connection_id, t.source, t.type, t.amount, t.currency, t.balance,
				t.matched_by_bank_rule, ` + created + ` from bank_record t`,
		},
		{
			name:  "statements",
			team:  func(t *dailyTeams) tenant { return t.portfolio },
			page:  "/statements?limit=50",
			one:   "/statements/",
			of:    aStatement,
			nth:   "(i % 24) * 100000 + 1 + i % 50",
			read:  readRows[bareStatement],
			first: "and t.start_at = (select max(start_at) from statement where team_id = $1) order by t.id",
			sql: `select t.id, t.short_ref, t.unique_ref, t.ownership_period_id, t.listing_id, t.status, t.currency, t.start_at, t.end_at, t.balance_start, t.net_revenue,
				t.expenses, t.payouts, t.balance_end, t.reserve, t.published_at, t.shares, ` + created + ` from statement t`,
		},
		{
			name:  "payments",
			team:  books,
			page:  "/payments?limit=50",
			one:   "/payments/",
			of:    aPayment,
			first: "order by t.date desc, t.id desc",
			read:  readRows[barePayment],
			sql: `select t.id, t.short_ref, t.status, t.connection_id, t.batch_id, t.transaction_id, t.contact_id, t.payee_method_id, t.funding_account_id, t.approval_id,
				t.amount, t.currency, t.date, t.issues, t.sent_at, t.settled_at, t.recovered_at, ` + created + ` from payment t`,
		},
	}
}
