package apierr

import "time"

// unavailableDelay is how long a client waits for exhausted capacity: long enough for a pool to drain, short enough for
// a person.
const unavailableDelay = 5 * time.Second

// The conditions that belong to no noun of the contract. Copies carry the issues, links and delays of a request.
var (
	// BadRequest is a path, query or body that does not validate. Rules ERR-80 to ERR-82.
	BadRequest = New(CodeBadRequest, "", "Request validation failed")
	// MalformedJSON is a body that is no JSON; it has no issues. Rules ERR-85, ERR-86.
	MalformedJSON = New(CodeBadRequest, "", "Malformed JSON in request body")
	// UnknownParameter is a query parameter the endpoint does not declare; add the issue and WithLinks. Rules PAG-28,
	// ERR-87.
	UnknownParameter = New(CodeBadRequest, "", "Query parameter is not supported")
	// UnsupportedMediaType is a body of a type the endpoint does not take. The contract has no code of its own for it.
	UnsupportedMediaType = New(CodeBadRequest, "", "Content type is not supported")
	// Unauthorized is a missing or refused credential, whichever it is.
	Unauthorized = New(CodeUnauthorized, "", "Credential is missing or not valid")
	// LedgerDisabled is a route that posts or reads the books, for a team without a general ledger (RSN-21).
	LedgerDisabled = New(CodeBadRequest, ReasonGeneralLedgerDisabled, "The team does not use the general ledger")
	// OperationsDisabled is what a team without Operations Accounting cannot have: the operating view of a report, and a
	// record that touches only operating accounts and no listing (RSN-36).
	OperationsDisabled = New(CodeBadRequest, ReasonOperationsAccountingDisabled, "The team does not use Operations Accounting")
	// MissingScope is a credential without a scope the endpoint requires.
	MissingScope = New(CodeForbidden, "", "Credential lacks a required scope")
	// RouteClosed is a credential of a kind the endpoint does not serve.
	RouteClosed = New(CodeForbidden, "", "Route is not open to this kind of credential")
	// NotFound is a route or a row that does not exist, another team's row included.
	NotFound = New(CodeNotFound, "", "Not found")
	// TeamDeleted is a team that there was (ERR-92).
	TeamDeleted = New(CodeTeamDeleted, "", "Team was deleted")
	// MethodNotSupported is a method a known path does not have.
	MethodNotSupported = New(CodeMethodNotSupported, "", "Method is not supported")
	// IdempotencyConflict is an idempotency key that came before with another request.
	IdempotencyConflict = New(CodeConflict, "", "Idempotency key was used with another request")
	// PayloadTooLarge is a body beyond the size limit.
	PayloadTooLarge = New(CodePayloadTooLarge, "", "Request body is too large")
	// Internal is every failure that is no condition; From makes it.
	Internal = New(CodeInternalServerError, "", "Internal server error")
	// NotImplemented is something that the app of a connection cannot do.
	NotImplemented = New(CodeNotImplemented, "", "App of the connection cannot do this")
	// BadGateway is a provider that failed. Its details stay in the cause.
	BadGateway = New(CodeBadGateway, "", "Provider request failed")
	// ServiceUnavailable is exhausted database connectivity. It is retryable.
	ServiceUnavailable = New(
		CodeServiceUnavailable,
		"",
		"Service is temporarily unavailable",
	).RetryAfter(unavailableDelay)
	// GatewayTimeout is a provider that did not answer in time. Only a GET makes it retryable, by a copy.
	GatewayTimeout = New(CodeGatewayTimeout, "", "Provider did not answer in time")
)
