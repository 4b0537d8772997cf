package apierr_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/golden"
)

// contractStatuses is the table "Codes and HTTP status" of the contract, written apart from the one under test.
var contractStatuses = []struct {
	status int
	codes  string
}{
	{400, "BAD_REQUEST INVALID_BANKFEED_CONNECT_MODE"},
	{401, "UNAUTHORIZED OWNER_STATEMENT_LINK_INVALID OWNER_STATEMENT_LINK_EXPIRED"},
	{403, "FORBIDDEN"},
	{404, "NOT_FOUND BANKFEED_CONNECTION_NOT_FOUND"},
	{405, "METHOD_NOT_SUPPORTED"},
	{409, `CONFLICT AUDIT_EVENT_REVISED CONNECTION_RECONNECT_REQUIRED JOURNAL_RECALCULATION_PENDING BANKFEED_CONNECT_IN_PROGRESS
		BANKFEED_CONNECT_CONFIGURATION_CHANGED`},
	{410, "GONE TEAM_DELETED AUDIT_CURSOR_EXPIRED BANKFEED_CONNECT_EXPIRED"},
	{413, "PAYLOAD_TOO_LARGE"},
	{421, "MISDIRECTED_REQUEST"},
	{422, "UNPROCESSABLE_CONTENT EXPORT_REQUIRES_POST BANKFEED_CONNECT_REQUIRES_NEW_LINK PAYPROVIDER_VENDOR_OWNER_REQUIRED"},
	{423, "LOCKED TEAM_MIGRATION_FROZEN TEAM_DELETION_FROZEN TEAM_WRITES_FROZEN"},
	{429, "RATE_LIMITED"},
	{500, "INTERNAL_SERVER_ERROR"},
	{501, "NOT_IMPLEMENTED"},
	{502, "BAD_GATEWAY"},
	{503, "SERVICE_UNAVAILABLE BANKFEED_PROVIDER_UNAVAILABLE"},
	{504, "GATEWAY_TIMEOUT"},
}

// The codes that nothing returns yet are proved by nothing: app holds their list.
//
// Proves: ERR-23, ERR-25..ERR-29, ERR-31, ERR-32, ERR-34, ERR-35, ERR-38, ERR-39, ERR-42..ERR-45, ERR-47..ERR-51, ERR-53..ERR-56, ERR-58.
func TestCodesAndStatuses(t *testing.T) {
	t.Parallel()

	var want []apierr.Code

	for _, row := range contractStatuses {
		for code := range strings.FieldsSeq(row.codes) {
			want = append(want, apierr.Code(code))
			if got := apierr.Code(code).Status(); got != row.status {
				t.Errorf("%s: got %d, want %d", code, got, row.status)
			}
		}
	}

	golden.List(t, "codes", apierr.Codes(), want)

	if got := apierr.Code("TEAPOT").Status(); got != 500 {
		t.Errorf("unknown code: got %d", got)
	}
}

// contractReasons is the column of the contract's table of reasons.
const contractReasons = `
	accountClassificationLocked accountConnectionAttached accountInUse alreadyPaid amountExceedsReturnable archiveRequired
	bankAccountTooManyRecords bankRecordInactive bankRecordNotCsvSource bankRecordBankfeedSource bankRecordReconciled
	bankRecordRuleMatched bankRecordUnassigned bankRuleRunIncomplete beforeStatementStartDate booksClosed
	dailyGlSummaryDisabled duplicateLast4 duplicateName duplicateUniqueRef generalLedgerDisabled
	generalLedgerStartDateMissing historicalImportPending inUse lastAccessManager listingInGroup listingInGroupAlready
	listingInactive listingMappingAmbiguous listingMappingRequired mergeDryRunRequired mergePlanChanged notBankAccount
	openingBalanceUpdateInProgress openingTrialBalanceLocked operationsAccountingDisabled paymentAccountRequiresMarkPaid
	paymentAttempted paymentReturnInvolved paymentReturnNotEligible bankfeedReplacementUnavailable
	pmsAccountingStartMissing previousStatementsOpen providerPaymentRecoveryInProgress providerPaymentRecoveryUnavailable
	payProviderAccountNotReady payProviderConnectionInactive payProviderPaymentNotSupported payProviderRecipientNotReady
	reconciliationAmountMismatch reconciliationTransferMismatch requiredAccountMissing reservationLocked
	reservationUnmatched selfModification statementAttachment statementExists statementFutureExists
	statementHasBlockingIssues statementHasPayouts statementInReview statementNotReadyForPayment statementPeriod
	statementPublished transactionInactive transactionReconciled transactionReconciledElsewhere
`

func TestReasons(t *testing.T) {
	t.Parallel()

	var want []apierr.Reason
	for reason := range strings.FieldsSeq(contractReasons) {
		want = append(want, apierr.Reason(reason))
	}

	golden.List(t, "reasons of the contract", apierr.Reasons(), want)
}

// Proves: ERR-20, ERR-21, ERR-22.
func TestPublic(t *testing.T) {
	t.Parallel()

	for internal, want := range map[string]apierr.Code{
		"USER_ERROR":                apierr.CodeBadRequest,
		"INTERNAL_VALIDATION_ERROR": apierr.CodeUnprocessableContent,
		"INTERNAL_ERROR":            apierr.CodeInternalServerError,
		"CONFLICT":                  apierr.CodeConflict,
		"SOMETHING_PRIVATE":         apierr.CodeInternalServerError,
		"":                          apierr.CodeInternalServerError,
	} {
		if got := apierr.Public(internal); got != want {
			t.Errorf("%q: got %s, want %s", internal, got, want)
		}
	}
	// With the aliases outside the registry no *Error can carry one, and so no envelope can.
	for _, alias := range []apierr.Code{"USER_ERROR", "INTERNAL_VALIDATION_ERROR", "INTERNAL_ERROR"} {
		if slices.Contains(apierr.Codes(), alias) {
			t.Errorf("%s is a public code", alias)
		}

		mustPanic(t, func() { apierr.New(alias, "", "An alias") })
	}
}

// Proves: ERR-02.
func TestNewPanics(t *testing.T) {
	t.Parallel()
	mustPanic(t, func() { apierr.New("TEAPOT", "", "Unknown code") })
	mustPanic(t, func() { apierr.New("", "", "No code") })
	mustPanic(t, func() { apierr.New(apierr.CodeConflict, "insufficientOwnerFunds", "A warning is no reason") })
	mustPanic(t, func() { apierr.New(apierr.CodeConflict, "", "") })
	mustPanic(t, func() { apierr.New(apierr.CodeConflict, "", "Account %s exists") })

	for _, e := range apierr.All() {
		if !slices.Contains(apierr.Codes(), e.Code()) || e.Message() == "Account %s exists" {
			t.Errorf("registered: %v", e)
		}
	}
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()

	defer func() {
		if recover() == nil {
			t.Error("did not panic")
		}
	}()

	f()
}

func TestAll(t *testing.T) {
	t.Parallel()

	all := apierr.All()
	for _, e := range []*apierr.Error{booksClosed, apierr.NotFound, apierr.Internal} {
		if !slices.Contains(all, e) {
			t.Errorf("%v is not registered", e)
		}
	}

	seen := make(map[string]bool)
	for _, e := range all {
		if seen[e.Error()] {
			t.Errorf("%v is declared twice", e)
		}

		seen[e.Error()] = true
	}

	all[0] = nil

	if apierr.All()[0] == nil {
		t.Error("the registry is open to its readers")
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		condition *apierr.Error
		status    int
		message   string
	}{
		{apierr.BadRequest, 400, "Request validation failed"},
		{apierr.MalformedJSON, 400, "Malformed JSON in request body"},
		{apierr.UnknownParameter, 400, "Query parameter is not supported"},
		{apierr.UnsupportedMediaType, 400, "Content type is not supported"},
		{apierr.Unauthorized, 401, "Credential is missing or not valid"},
		{apierr.MissingScope, 403, "Credential lacks a required scope"},
		{apierr.RouteClosed, 403, "Route is not open to this kind of credential"},
		{apierr.NotFound, 404, "Not found"},
		{apierr.MethodNotSupported, 405, "Method is not supported"},
		{apierr.IdempotencyConflict, 409, "Idempotency key was used with another request"},
		{apierr.PayloadTooLarge, 413, "Request body is too large"},
		{apierr.Internal, 500, "Internal server error"},
		{apierr.NotImplemented, 501, "App of the connection cannot do this"},
		{apierr.BadGateway, 502, "Provider request failed"},
		{apierr.ServiceUnavailable, 503, "Service is temporarily unavailable"},
		{apierr.GatewayTimeout, 504, "Provider did not answer in time"},
	} {
		body := test.condition.Body("", "")
		if body.Code.Status() != test.status || body.Message != test.message || body.Reason != "" || len(body.Issues) != 0 {
			t.Errorf("got %+v, want %d %q", body, test.status, test.message)
		}

		if retryable := test.condition == apierr.ServiceUnavailable; body.Retryable != retryable || (test.condition.Delay() > 0) != retryable {
			t.Errorf("%v: retryable %t after %v", test.condition, body.Retryable, test.condition.Delay())
		}
	}
}

// That answers hold no other codes is for the tests of responses.
//
// Proves: ERR-11.
func TestIssueCodes(t *testing.T) {
	t.Parallel()

	all := apierr.IssueCodes()
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) || len(all) < 100 {
		t.Errorf("the codes are not in order: %v", all)
	}

	sentences := map[string]apierr.IssueCode{}

	for i, code := range all {
		if !apierr.ValidIssueCode(string(code)) || code.Enum()[i] != string(code) {
			t.Errorf("%s is malformed or has another place among the values", code)
		}

		message := code.Message()
		if message == "" || strings.ContainsAny(message, "%\n") || strings.HasSuffix(message, ".") || sentences[message] != "" {
			t.Errorf("%s: %q is no sentence, or that of %s as well", code, message, sentences[message])
		}

		sentences[message] = code
	}

	if got := apierr.IssueCode("teapot").Message(); got != "" {
		t.Errorf("a code that is none says %q", got)
	}
}

// Proves: ERR-83.
func TestIssueSaysWhere(t *testing.T) {
	t.Parallel()

	line := []any{"lines", 2}
	for _, test := range []struct {
		got  apierr.Issue
		want string
	}{
		{apierr.IssueRequired.InBody(), `{"message":"Required value is missing","code":"required","schema":"body"}`},
		{apierr.IssueRequired.InBody("lines", 2, "amount"), `{"message":"Required value is missing","path":["lines",2,"amount"],"code":"required","schema":"body"}`},
		{apierr.IssueRequired.InBody(line, "amount"), `{"message":"Required value is missing","path":["lines",2,"amount"],"code":"required","schema":"body"}`},
		{apierr.IssueEnum.InQuery("sort"), `{"message":"Value is not one of the allowed values","path":["sort"],"code":"enum","schema":"query"}`},
		{apierr.IssueUUID.InPath("id"), `{"message":"Value is not a uuid, nor another value that is allowed here","path":["id"],"code":"uuid","schema":"path"}`},
		{apierr.IssueMalformed.InHeader("x-api-version"), `{"message":"Value is malformed","path":["x-api-version"],"code":"malformed","schema":"header"}`},
		{apierr.IssueRange.In(""), `{"message":"Value, or what it adds up to, is out of range","code":"range"}`},
	} {
		got, err := json.Marshal(test.got)
		if err != nil || string(got) != test.want {
			t.Errorf("got %s (%v), want %s", got, err, test.want)
		}
	}

	if line[1] != 2 || len(line) != 2 {
		t.Errorf("the path of the caller became %v", line)
	}
}

func TestValidIssueCode(t *testing.T) {
	t.Parallel()

	for code, want := range map[string]bool{
		"unknownField": true, "duplicateLast4": true, "a": true, "required": true,
		"balanceMismatch_start": true, "balanceMismatch_end": true, "line_unassignedAccount": true,
		"transactions_updates": true, "item_logins": true,
		"": false, "UnknownField": false, "unknown_field": false, "unknown-field": false, "unknown field": false, "4digits": false,
		"balanceMismatch_": false, "balanceMismatch_middle": false, "größe": false, "fieldÄ": false, "unknownField\n": false,
	} {
		if got := apierr.ValidIssueCode(code); got != want {
			t.Errorf("%q: got %t", code, got)
		}
	}
}
