package apierr

import (
	"net/http"
	"slices"
)

// Code is the stable class of an error and decides its HTTP status. Rule ERR-02.
type Code string

// The codes of the contract, in its order.
const (
	CodeBadRequest                          Code = "BAD_REQUEST"
	CodeInvalidBankfeedConnectMode          Code = "INVALID_BANKFEED_CONNECT_MODE"
	CodeUnauthorized                        Code = "UNAUTHORIZED"
	CodeOwnerStatementLinkInvalid           Code = "OWNER_STATEMENT_LINK_INVALID"
	CodeOwnerStatementLinkExpired           Code = "OWNER_STATEMENT_LINK_EXPIRED"
	CodeForbidden                           Code = "FORBIDDEN"
	CodeNotFound                            Code = "NOT_FOUND"
	CodeBankfeedConnectionNotFound          Code = "BANKFEED_CONNECTION_NOT_FOUND"
	CodeMethodNotSupported                  Code = "METHOD_NOT_SUPPORTED"
	CodeConflict                            Code = "CONFLICT"
	CodeAuditEventRevised                   Code = "AUDIT_EVENT_REVISED"
	CodeConnectionReconnectRequired         Code = "CONNECTION_RECONNECT_REQUIRED"
	CodeJournalRecalculationPending         Code = "JOURNAL_RECALCULATION_PENDING"
	CodeBankfeedConnectInProgress           Code = "BANKFEED_CONNECT_IN_PROGRESS"
	CodeBankfeedConnectConfigurationChanged Code = "BANKFEED_CONNECT_CONFIGURATION_CHANGED"
	CodeGone                                Code = "GONE"
	CodeTeamDeleted                         Code = "TEAM_DELETED"
	CodeAuditCursorExpired                  Code = "AUDIT_CURSOR_EXPIRED"
	CodeBankfeedConnectExpired              Code = "BANKFEED_CONNECT_EXPIRED"
	CodePayloadTooLarge                     Code = "PAYLOAD_TOO_LARGE"
	CodeMisdirectedRequest                  Code = "MISDIRECTED_REQUEST"
	CodeUnprocessableContent                Code = "UNPROCESSABLE_CONTENT"
	CodeExportRequiresPost                  Code = "EXPORT_REQUIRES_POST"
	CodeBankfeedConnectRequiresNewLink      Code = "BANKFEED_CONNECT_REQUIRES_NEW_LINK"
	CodePayproviderVendorOwnerRequired      Code = "PAYPROVIDER_VENDOR_OWNER_REQUIRED"
	CodeLocked                              Code = "LOCKED"
	CodeTeamMigrationFrozen                 Code = "TEAM_MIGRATION_FROZEN"
	CodeTeamDeletionFrozen                  Code = "TEAM_DELETION_FROZEN"
	CodeTeamWritesFrozen                    Code = "TEAM_WRITES_FROZEN"
	CodeRateLimited                         Code = "RATE_LIMITED"
	CodeInternalServerError                 Code = "INTERNAL_SERVER_ERROR"
	CodeNotImplemented                      Code = "NOT_IMPLEMENTED"
	CodeBadGateway                          Code = "BAD_GATEWAY"
	CodeServiceUnavailable                  Code = "SERVICE_UNAVAILABLE"
	CodeBankfeedProviderUnavailable         Code = "BANKFEED_PROVIDER_UNAVAILABLE"
	CodeGatewayTimeout                      Code = "GATEWAY_TIMEOUT"
)

// StatusCodes are the codes that are answered with an HTTP status.
type StatusCodes struct {
	Status int
	Codes  []Code
}

// statuses is the table of codes and HTTP statuses. Rules ERR-23 to ERR-58.
var statuses = []StatusCodes{
	{http.StatusBadRequest, []Code{CodeBadRequest, CodeInvalidBankfeedConnectMode}},
	{http.StatusUnauthorized, []Code{CodeUnauthorized, CodeOwnerStatementLinkInvalid, CodeOwnerStatementLinkExpired}},
	{http.StatusForbidden, []Code{CodeForbidden}},
	{http.StatusNotFound, []Code{CodeNotFound, CodeBankfeedConnectionNotFound}},
	{http.StatusMethodNotAllowed, []Code{CodeMethodNotSupported}},
	{http.StatusConflict, []Code{
		CodeConflict, CodeAuditEventRevised, CodeConnectionReconnectRequired, CodeJournalRecalculationPending,
		CodeBankfeedConnectInProgress, CodeBankfeedConnectConfigurationChanged,
	}},
	{http.StatusGone, []Code{CodeGone, CodeTeamDeleted, CodeAuditCursorExpired, CodeBankfeedConnectExpired}},
	{http.StatusRequestEntityTooLarge, []Code{CodePayloadTooLarge}},
	{http.StatusMisdirectedRequest, []Code{CodeMisdirectedRequest}},
	{http.StatusUnprocessableEntity, []Code{
		CodeUnprocessableContent,
		CodeExportRequiresPost,
		CodeBankfeedConnectRequiresNewLink,
		CodePayproviderVendorOwnerRequired,
	}},
	{http.StatusLocked, []Code{CodeLocked, CodeTeamMigrationFrozen, CodeTeamDeletionFrozen, CodeTeamWritesFrozen}},
	{http.StatusTooManyRequests, []Code{CodeRateLimited}},
	{http.StatusInternalServerError, []Code{CodeInternalServerError}},
	{http.StatusNotImplemented, []Code{CodeNotImplemented}},
	{http.StatusBadGateway, []Code{CodeBadGateway}},
	{http.StatusServiceUnavailable, []Code{CodeServiceUnavailable, CodeBankfeedProviderUnavailable}},
	{http.StatusGatewayTimeout, []Code{CodeGatewayTimeout}},
}

var statusOf = func() map[Code]int {
	byCode := make(map[Code]int)

	for _, row := range statuses {
		for _, code := range row.Codes {
			byCode[code] = row.Status
		}
	}

	return byCode
}()

// Status returns the HTTP status of the code, or 500 for a code that the contract does not have.
func (c Code) Status() int {
	if status, known := statusOf[c]; known {
		return status
	}

	return http.StatusInternalServerError
}

// ByStatus lists the codes by their HTTP statuses, in the contract's order.
func ByStatus() []StatusCodes { return slices.Clone(statuses) }

// Codes lists the codes in the contract's order.
func Codes() []Code {
	var codes []Code
	for _, row := range statuses {
		codes = append(codes, row.Codes...)
	}

	return codes
}

// Public returns the code shown for an internal alias. A public code is shown as it is, anything else as
// INTERNAL_SERVER_ERROR, so that no internal name reaches a response (ERR-20, ERR-21, ERR-22).
func Public(internal string) Code {
	switch internal {
	case "USER_ERROR":
		return CodeBadRequest
	case "INTERNAL_VALIDATION_ERROR":
		return CodeUnprocessableContent
	case "INTERNAL_ERROR":
		return CodeInternalServerError
	}

	// Compare with the contract's codes instead of a list of secrets, so that a new internal name stays hidden.
	if _, known := statusOf[Code(internal)]; known {
		return Code(internal)
	}

	return CodeInternalServerError
}
