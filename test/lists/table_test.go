package lists_test

// promise has the words of the contract about a list (domain.md 1.3 to 1.12, service.md "Pagination, sorting,
// filtering", decisions.md "one name for one filter"). It is written by hand, apart from the declarations that it is
// held against.
type promise struct {
	path string
	// ids is the filter by the rows' own ids.
	ids string
	// refs are filters by ids of something else, named as the world's examples are; nullable ones take null too.
	refs, nullable string
	// former are the names that filters had; they go on as they were.
	former string
	// texts are those of the others that take several free texts.
	texts string
	// date is the field that dateRange narrows by; empty for lists without.
	date string
	// amount says that the list is narrowed by amount.
	amount bool
	// sorts are the names that a list can be sorted by.
	sorts string
	// others are all other parameters.
	others string
	// few says that the world has less than two rows, so that narrowing proves nothing.
	few bool
}

var promises = []promise{
	{
		path: "/accounts", ids: "ids", refs: "categoryIds", sorts: "name code createdAt updatedAt type status category",
		others: "type classification status assignment isAssigned codes uniqueRefs bankingCategory currency last4 hasEntries search",
		texts:  "codes uniqueRefs",
	},
	{
		path: "/account-connections", ids: "ids", nullable: "accountIds connectionIds", sorts: "name createdAt", others: "status currency lastDigits search",
	},
	{path: "/account-categories", sorts: "position name createdAt", others: "classification"},
	{path: "/approvals", refs: "connectionIds", former: "connectionId", sorts: "createdAt amount", others: "status requestedBy", few: true},
	{
		path: "/bank-records", ids: "ids", nullable: "accountIds connectionIds", former: "accountId connectionId", date: "date", amount: true,
		sorts: "date amount description createdAt",
		others: "reconcileStatus matchedByBankRule includeBalanceRecords includeMatchingTransactions hasMatchingTransactions reservationLineFilter status search " +
			"uniqueRefs includeMatchingRules hasDuplicates includeDuplicates",
		texts: "uniqueRefs",
	},
	{
		path: "/bank-rules", ids: "ids", refs: "accountIds listingIds", nullable: "contactIds", sorts: "priority name createdAt updatedAt",
		others: "status mode transactionType search include",
	},
	{
		path: "/calendar-blocks", ids: "ids", refs: "listingIds", nullable: "connectionIds", sorts: "startAt createdAt updatedAt", others: "status startAt endAt",
		few: true,
	},
	{path: "/channel-payouts", ids: "ids", refs: "connectionIds", date: "date", sorts: "date createdAt", others: "status channel", texts: "channel", few: true},
	{path: "/connections", ids: "ids", sorts: "name createdAt", others: "appId status search uniqueRefs include", texts: "uniqueRefs", few: true},
	{path: "/contacts", ids: "ids", nullable: "connectionIds", sorts: "name email createdAt", others: "type status search uniqueRefs include", texts: "uniqueRefs"},
	{path: "/general-ledger/historical", sorts: "createdAt", few: true},
	{
		path: "/general-ledger/journals", ids: "ids", refs: "accountIds listingIds contactIds reservationIds", date: "date", sorts: "date total createdAt description",
		others: "uniqueRefs shortRefs ledger reversed search",
		texts:  "uniqueRefs shortRefs",
	},
	{
		path: "/listings", ids: "ids", refs: "contactIds", nullable: "connectionIds", former: "contactId", sorts: "name createdAt",
		others: "shortRefs status search activeOwnership activeRecurringFeePeriods openingBalance issue parent include",
		texts:  "shortRefs",
	},
	{
		path: "/listings/ownership-periods", ids: "ids", refs: "listingIds contactIds", former: "contactId", sorts: "startAt endAt createdAt",
		others: "businessModel date",
	},
	{
		path: "/payment-methods/changes", refs: "contactIds contactPaymentMethodIds", sorts: "createdAt", others: "kind userId", few: true,
	},
	{
		path: "/payments", refs: "connectionIds contactIds transactionIds approvalIds", former: "connectionId contactId transactionId", date: "date",
		sorts: "date amount createdAt", others: "status", few: true,
	},
	{path: "/recurring-fees", ids: "ids", refs: "listingIds accountIds", sorts: "name createdAt", others: "uniqueRefs status type rateType search", texts: "uniqueRefs"},
	{path: "/recurring-fees/listing-periods", ids: "ids", refs: "recurringFeeIds listingIds", former: "recurringFeeId", sorts: "startAt createdAt"},
	{
		path: "/reports/journal-entries", ids: "ids", refs: "accountIds categoryIds",
		nullable: "listingIds contactIds reservationIds transactionIds ownershipPeriodIds statementIds recurringFeeIds", date: "txnAt", amount: true,
		sorts: "txnAt amount createdAt account",
		others: "startDate endDate notAccountIds notCategoryIds notListingIds notContactIds notReservationIds notTransactionIds notOwnershipPeriodIds notStatementIds " +
			"notRecurringFeeIds accountClassifications transactionTypes notTransactionTypes triggerTypes notTriggerTypes channels notChannels businessModels " +
			"occupancyStatus party ledger status balanceSheetRows attached locked search txnCode currency createdAtFrom createdAtTo",
		texts: "triggerTypes notTriggerTypes channels notChannels",
	},
	{
		path: "/reservations", ids: "ids", refs: "listingIds", nullable: "connectionIds", former: "listingId connectionId date", date: "checkIn", amount: true,
		sorts: "checkIn checkOut bookedAt guestName createdAt",
		others: "shortRefs uniqueRefs type status generalLedgerStatus dateField search bookingChannel businessModel lineType appId paidStatus " +
			"includeLines include",
		texts: "shortRefs uniqueRefs bookingChannel lineType appId",
	},
	{path: "/reservations/line-mappings", nullable: "accountIds", sorts: "lineType status createdAt", others: "appId lineType channel status search", texts: "appId lineType channel"},
	{path: "/statement-layouts", ids: "ids", refs: "listingIds accountIds", sorts: "name createdAt updatedAt", others: "isDefault search", few: true},
	{
		path: "/statements", ids: "statementIds", refs: "periodIds ownershipPeriodIds listingIds ownerIds recurringFeeIds", date: "startAt",
		sorts: "startAt listing status", others: "year month status search currency uniqueRefs include viewAs", texts: "uniqueRefs",
	},
	{path: "/journals/held-back", refs: "listingIds sourceIds", date: "entries.0.date", sorts: "since", few: true},
	{path: "/sync-conflicts", ids: "ids", nullable: "connectionIds", sorts: "at", others: "kind entityId", few: true},
	{path: "/syncs", ids: "ids", nullable: "connectionIds", sorts: "queuedAt", others: "status trigger view", few: true},
	{path: "/tax-rates", ids: "ids", sorts: "name basisPoints createdAt", others: "status search"},
	{
		path: "/transactions", ids: "ids", refs: "accountIds contactIds listingIds recurringTemplateIds", nullable: "connectionIds",
		former: "accountId contactId recurringTemplateId connectionId", date: "date", amount: true, sorts: "date amount createdAt description",
		others: "type status isOpeningBalance isLocked hasActiveJournalEntries last4 paidAtRange paidStatus reconciled matchedByBankRule uniqueRefs shortRefs search " +
			"includeLines include",
		texts: "last4 uniqueRefs shortRefs",
	},
	{path: "/transactions/line-mappings", nullable: "accountIds", sorts: "lineType status createdAt", others: "appId lineType status search", texts: "appId lineType"},
	{path: "/transactions/recurring-templates", ids: "ids", sorts: "date amount createdAt description", others: "status type search", few: true},
	{path: "/csv-imports/previews", ids: "ids", sorts: "createdAt", others: "kind status", few: true},
	{path: "/webhooks", ids: "ids", sorts: "createdAt updatedAt", others: "scope status include", few: true},
}

// apart are the lists that are no plain collections of the team: reports that add up, parts of one resource, lists over
// teams, the audit trail. Their own tests hold them to paging.
var apart = []string{
	"/audit/events", "/audit/timeline", "/partner/audit-events", "/partner/overview",
	"/accounts/{id}/reconciling-items", "/bank-records/suggestions", "/bank-rules/{id}/runs/{operationId}", "/bank-rules/{id}/versions", "/contacts/{id}/payment-methods", "/general-ledger/daily-summary", "/listings/opening-balance", "/operations", "/reports/guest-balances", "/reports/information-returns",
	"/reports/manager-statements", "/reports/owner-statement-summaries-per-layout", "/reports/owner-statement-summaries-per-layout/details/{contactId}",
	"/reports/sales-tax-liability", "/reports/trust-reconciliation/by-listing", "/statements/batch/{id}", "/statements/{id}/emails",
	"/statements/{id}/owner-links", "/syncs/{id}/items", "/team/books-closings", "/teams", "/teams/issues",
	"/webhooks/{id}/deliveries", "/csv-imports/previews/{id}/rows",
}

// shapes are parameters that change what is shown of a row and not which rows there are.
var shapes = []string{"include", "includeLines", "includeBalanceRecords", "includeMatchingTransactions", "includeMatchingRules", "includeDuplicates", "viewAs", "dateField", "balanceSheetRows"}

// unlike are filters by which the rows of the world do not differ; the tests of their own packages ask them.
var unlike = []string{
	"/listings/ownership-periods date", "/reports/journal-entries notContactIds", "/reports/journal-entries notStatementIds", "/reports/journal-entries notChannels",
}

// telling are values of filters that change the world's lists, by the filter alone or by list and filter.
var telling = map[string]string{
	"search": "nobody is called so", "uniqueRefs": "none", "shortRefs": "none", "codes": "none", "last4": "0000", "lastDigits": "0000", "currency": "eur", "status": "inactive",
	"date": "2001-01-01", "year": "2001", "month": "2001-01", "paidAtRange": "2001", "paidStatus": "paid", "appId": "none", "lineType": "none",
	"reconcileStatus": "paid", "reservationLineFilter": "reservationOnly", "activeRecurringFeePeriods": "inactive", "issue": "missingOpeningBalance", "parent": unknown, "startDate": "2026-02-01",
	"endDate": "2001-01-01", "accountClassifications": "asset", "transactionTypes": "transfer", "triggerTypes": "none", "notTransactionTypes": "expense",
	"notTriggerTypes": "reservation", "channels": "airbnb", "notChannels": "none", "businessModels": "co_host", "party": "owners",
	"ledger": "historical", "txnCode": "none", "createdAtFrom": "2030-01-01T00:00:00Z", "createdAtTo": "2001-01-01T00:00:00Z", "type": "expense", "bookingChannel": "airbnb",
	"businessModel": "co_host", "channel": "none", "classification": "asset", "assignment": "openingBalance",
	"/accounts type": "bank", "/connections appId": "nacha", "/reservations/line-mappings status": "unmapped", "/transactions paidStatus": "unpaid", "/reservations paidStatus": "unpaid", "/statements status": "published", "/reservations type": "ownerStay", "/reports/journal-entries occupancyStatus": "cancelled&endDate=2026-12-31",
}
