package access_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/access"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/web/reference"
)

// The contract's choice for every endpoint, and not a copy of the endpoints' declarations: those that post or read the
// books are refused for a team without a general ledger, the others work there.
const (
	booksRoutes = `
		listAccountConnections batchAccountConnections getAccountConnection updateAccountConnection
		listAccountCategories createAccountCategory updateAccountCategory listAccounts createAccount
		exportAccountsCSV queueAccountsCSV deleteAccount getAccount updateAccount initializeBanking
		disconnectBankAccount listReconcilingItems getAccountSummary
		listBankRecords batchBankRecords exportBankRecordsCSV queueBankRecordsCSV reconcileBankRecords
		suggestBankRecords deleteBankRecord getBankRecord updateBankRecord reconcileBankRecord unreconcileBankRecord
		listBankRules createBankRule previewBankRules deleteBankRule getBankRule updateBankRule runBankRule
		listBankRuleRun undoBankRuleRun listBankRuleVersions
		listHistoricalImports importHistoricalLedger listHeldBack catchUpJournals listJournals createJournal deleteJournal getJournal
		updateJournal reverseJournal getDailySummary takeDailySummary
		getListingRevenue
		listListingOpeningBalances putListingOpeningBalance getGuestOpeningBalance putGuestOpeningBalance
		getOpeningTrialBalance putOpeningTrialBalance
		listApprovals getApproval approvePayments rejectPayments takeReturnFile getPaymentLimits setPaymentLimits
		listPayments getPayment payTransaction listProviderPayments archiveProviderPayment cancelProviderPayment
		replacePayout returnPayout
		payManager payStatements recordStatementPayouts previewStatementPayouts
		listRecurringFees createRecurringFee listRecurringFeeListingPeriods createRecurringFeeListingPeriod
		deleteRecurringFeeListingPeriod updateRecurringFeeListingPeriod previewRecurringFee deleteRecurringFee
		getRecurringFee updateRecurringFee
		listRecurringTemplates createRecurringTemplate deleteRecurringTemplate getRecurringTemplate
		updateRecurringTemplate runRecurringTemplate putRecurringTemplateRun
		getBalanceSheet exportBalanceSheetCSV queueBalanceSheetCSV getGuestBalances exportGuestBalancesCSV
		queueGuestBalancesCSV getInformationReturns exportInformationReturnsCSV queueInformationReturnsCSV
		listJournalEntries exportJournalEntriesCSV queueJournalEntriesCSV listManagerStatements
		exportManagerStatementsCSV queueManagerStatementsCSV getManagerStatement exportManagerStatementCSV
		queueManagerStatementCSV exportManagerStatementEntriesCSV queueManagerStatementEntriesCSV
		exportManagerStatementPDF queueManagerStatementPDF exportManagerStatementsPDF queueManagerStatementsPDF
		listOwnerStatementSummaries exportOwnerStatementSummariesCSV queueOwnerStatementSummariesCSV
		exportOwnerStatementSummariesDetailedCSV queueOwnerStatementSummariesDetailedCSV getOwnerStatementSummary
		exportOwnerStatementSummaryCSV queueOwnerStatementSummaryCSV exportOwnerStatementSummaryPDF
		queueOwnerStatementSummaryPDF exportOwnerStatementSummariesPDF queueOwnerStatementSummariesPDF
		getProfitAndLoss exportProfitAndLossCSV queueProfitAndLossCSV getSalesTaxLiability exportSalesTaxLiabilityCSV
		queueSalesTaxLiabilityCSV getTrialBalance exportTrialBalanceCSV queueTrialBalanceCSV getTrustReconciliation
		getMonthEnd getTrustReconciliationByListing exportTrustReconciliationByListingCSV queueTrustReconciliationByListingCSV
		exportTrustReconciliationByListingPDF queueTrustReconciliationByListingPDF exportTrustReconciliationCSV
		queueTrustReconciliationCSV exportTrustReconciliationPDF queueTrustReconciliationPDF
		listReservationLineMappings createReservationLineMapping exportReservationLineMappingsCSV
		queueReservationLineMappingsCSV deleteReservationLineMapping getReservationLineMapping
		updateReservationLineMapping
		listTransactionLineMappings createTransactionLineMapping deleteTransactionLineMapping
		getTransactionLineMapping updateTransactionLineMapping
		refreshReservationJournals createReservationAdjustment deleteReservationAdjustment
		updateReservationAdjustment previewReservationJournal
		createStatements changeStatements getStatementBatch importStatement importStatements deleteStatement
		updateStatement getStatementDifference
		listTaxRates createTaxRate deleteTaxRate getTaxRate updateTaxRate
		closeBooks listBooksClosings generateDemoData
		uploadTransactionAttachment deleteTransactionAttachment getTransactionAttachment updateTransactionAttachment
		downloadTransactionAttachment
		listTransactions createTransaction batchTransactions exportTransactionsCSV queueTransactionsCSV
		refreshTransactionJournals deleteTransaction getTransaction updateTransaction`
	openRoutes = `
		getMe
		unblockCalendar listCalendarBlocks blockCalendar
		listCurrencies
		listWebhooks createWebhook getWebhook updateWebhook deleteWebhook rotateWebhookSecret listWebhookDeliveries
		testWebhook replayWebhookDelivery replayWebhook
		createImportPreview listImports getImport mapImport listImportRows updateImportRow confirmImport cancelImport undoImport
		getImportTemplate importConnectionFile exportImportRowsCSV queueImportRowsCSV
		listAuditActions listAuditEvents getAuditEvent proveAuditEvent listPartnerAuditEvents exportAuditEventsCSV queueAuditEventsCSV
		listApps listConnections createConnection finishConnectionAuthorization extractFromConnection
		completeConnectionAuthorization startConnectionAuthorization applyCutover getCutoverMappings previewCutover
		deleteConnection getConnection updateConnection connectConnection getListingMappings setListingMappings
		syncConnection takePMSAppMessage takePMSMessage
		listContacts createContact batchContacts exportContactsCSV queueContactsCSV deleteContact getContact
		updateContact mergeContact listPaymentMethods addAchPaymentMethod deletePaymentMethod getPaymentMethod
		updatePaymentMethod releasePaymentMethod listPaymentMethodChanges
		listChannelPayouts getChannelPayout
		getFile downloadFile followLink
		listFlows
		listListings createListing exportListingsCSV queueListingsCSV listOwnershipPeriods createOwnershipPeriod
		deleteOwnershipPeriod getOwnershipPeriod updateOwnershipPeriod deleteListing getListing updateListing
		mergeListing removeListingParent setListingParent
		getOccupancy getSyncsByStatus
		importLegacyTeam migrateLegacyTeamForPartner importLegacyStatementsForPartner migrateLegacyTeam
		importLegacyStatements getLegacyAccountMappings
		listOperations getOperation getOperationProgress getOperationResult
		createEmbedSession exchangeEmbedCode exchangeOwnerLink listStatementEmails sendStatementEmails listOwnerLinks createOwnerLink revokeOwnerLink
		takePaymentCallback
		listReservations createReservation batchReservations exportReservationsCSV queueReservationsCSV
		deleteReservation getReservation updateReservation
		listStatementLayouts createStatementLayout previewStatementLayout deleteStatementLayout getStatementLayout
		updateStatementLayout
		listStatements exportStatementPeriodsCSV queueStatementPeriodsCSV exportStatementsCSV queueStatementsCSV
		exportStatementLinesCSV queueStatementLinesCSV exportStatementsPDF queueStatementsPDF
		exportStatementsPDFBatch queueStatementsPDFBatch getStatement
		listSyncConflicts settleSyncConflicts listSyncs getSync updateSync cancelSync listSyncItems
		decideMissingRecords
		getTeam updateTeam deleteTeam duplicateTeam exportTeam createTeam manageTeam listPartnerOverview initializeTeam deleteTeamLogo getTeamLogo putTeamLogo listTeams listTeamIssues
		initializeTeamNow
		runFlow`
)

// Every endpoint is called with the example of the reference by a team without a general ledger. None of the records
// that the examples name is there, so the refusal comes before all that depends on them.
//
// Proves: RSN-21.
func TestRoutesOfTheBooksAreClosedToTeamsWithoutALedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	routes := app.Parts(app.External{}, app.Config{}).Endpoints
	w.server = api.NewServer(api.Config{
		DB: w.db, Log: slog.New(slog.DiscardHandler), Authenticate: w.gate.Authenticate, Refusals: access.Refusals, Audit: audit.Record,
		CursorKey: []byte("test cursor key"), PublicURL: "https://us.example.com", Title: "test",
	}, routes)
	examples := w.examples()
	choice := map[string]bool{}

	for name := range strings.FieldsSeq(booksRoutes) {
		choice[name] = true
	}

	for name := range strings.FieldsSeq(openRoutes) {
		if _, twice := choice[name]; twice {
			t.Errorf("%s has two choices", name)
		}

		choice[name] = false
	}

	partner := w.partner("us")
	team := w.team("us", partner)
	w.exec(`update team set is_general_ledger = false where team_id = @team`, db.Args{"team": team})

	contact := id.New(w.db.Now())
	_, person := w.person(access.Member{Team: team, Scopes: access.Scopes()})
	_, owner := w.person(access.Member{Team: team, Contact: &contact, Scopes: access.Scopes()})
	callers := map[string]string{"team": w.key(team), "partner": w.partnerKey(partner), "person": person}

	for i := range routes {
		e := &routes[i]

		closed, known := choice[e.ID]
		if !known {
			t.Errorf("%s: does it need books? The table does not say", e.ID)
			continue
		}

		delete(choice, e.ID)

		if !closed {
			if a := w.send(examples[e.ID], callers["team"], team); e.NeedsBooks || a.reason() == apierr.ReasonGeneralLedgerDisabled {
				t.Errorf("%s: is open, and answered %d %s", e.ID, a.status, a.body)
			}

			continue
		}

		for kind, secret := range callers {
			if a := w.send(examples[e.ID], secret, team); a.status != http.StatusBadRequest || a.reason() != apierr.ReasonGeneralLedgerDisabled {
				t.Errorf("%s by a %s: answered %d %s", e.ID, kind, a.status, a.body)
			}
		}
	}

	for name := range choice {
		t.Errorf("%s is in the table and no endpoint", name)
	}

	// An owner finds the same, and a team with a general ledger another answer.
	attachment := examples["getTransactionAttachment"]
	if a := w.send(attachment, owner, team).want(http.StatusBadRequest); a.reason() != apierr.ReasonGeneralLedgerDisabled {
		t.Errorf("an owner got %s", a.body)
	}

	w.send(examples["listAccounts"], w.key(w.team("us", partner)), id.Zero).want(http.StatusOK)
}

// examples returns the requests that the reference shows, by operation.
func (w *world) examples() map[string]reference.Request {
	w.t.Helper()

	d, err := app.Describe()
	if err != nil {
		w.t.Fatal(err)
	}

	site, err := reference.New(d.JSON)
	if err != nil {
		w.t.Fatal(err)
	}

	out := map[string]reference.Request{"runFlow": {
		Method: http.MethodPost, Path: "/flows/" + w.unreached() + "/connections/" + w.unreached() + "/run", Body: "{}", Type: "application/json",
	}}
	for _, op := range site.Operations() {
		out[op.ID] = op.Request
	}

	// The one of the reference is refused by itself.
	creating := out["createStatements"]
	creating.Body = `{"month": "2026-01"}`
	out["createStatements"] = creating

	return out
}

// send sends an example with a credential for a team.
func (w *world) send(e reference.Request, secret string, team id.ID) *answer {
	w.t.Helper()

	body, kind := bytes.NewBufferString(e.Body), e.Type

	if len(e.Form) > 0 {
		body = &bytes.Buffer{}
		form := multipart.NewWriter(body)
		kind = form.FormDataContentType()

		for _, v := range e.Form {
			if v.File {
				part, err := form.CreateFormFile(v.Name, v.Text)
				if err != nil {
					w.t.Fatal(err)
				}

				_, _ = part.Write([]byte("{}"))
			} else {
				_ = form.WriteField(v.Name, v.Text)
			}
		}

		_ = form.Close()
	}

	query := url.Values{}
	for _, v := range e.Query {
		query.Add(v.Name, v.Text)
	}

	r := httptest.NewRequestWithContext(w.t.Context(), e.Method, e.Path+"?"+query.Encode(), body)
	for _, v := range e.Headers {
		r.Header.Set(v.Name, v.Text)
	}

	r.Header.Set("Content-Type", kind)

	if !team.IsZero() {
		r.Header.Set("X-Team-Id", team.String())
	}

	if strings.HasPrefix(secret, "ut_") {
		r.Header.Set("Authorization", "Bearer "+secret)
	} else {
		r.Header.Set("X-Api-Key", secret)
	}

	recorder := httptest.NewRecorder()
	w.server.ServeHTTP(recorder, r)

	return &answer{t: w.t, call: e.Method + " " + e.Path, status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
}

// reason returns the reason of a failure, "" for another answer.
func (a *answer) reason() apierr.Reason {
	var failure struct{ Reason apierr.Reason }

	_ = json.Unmarshal([]byte(a.body), &failure)

	return failure.Reason
}
