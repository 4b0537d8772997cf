package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
)

// edgeConditions returns the conditions with which the edge itself refuses a request of the endpoint, in the order in
// which it checks them.
func (s *Server) edgeConditions(e *Endpoint) []*apierr.Error {
	p := s.plans[slices.IndexFunc(s.plans, func(p plan) bool { return p.endpoint.ID == e.ID })]

	// Version and credential are checked before the request is read.
	list := apierr.List{apierr.MethodNotSupported, apierr.ServiceUnavailable, errUnknownVersion}
	if !e.Public && s.Refusals != nil {
		list = append(list, s.Refusals(e))
	}

	// Then the query and the body.
	list = append(list, apierr.UnknownParameter, apierr.BadRequest)
	if p.uploadIndex != nil {
		list = append(list, apierr.UnsupportedMediaType, apierr.PayloadTooLarge, errForm, errTooSlow)
	}

	if p.body != nil {
		list = append(list, apierr.UnsupportedMediaType)
	}

	if p.body != nil || p.rawIndex != nil {
		list = append(list, apierr.PayloadTooLarge)
	}

	if p.body != nil {
		list = append(list, apierr.MalformedJSON)
	}

	// Then the idempotency key and the books, and last the path and the work.
	if e.takesKey() {
		list = append(list, errMalformedKey, apierr.IdempotencyConflict)
	}

	if e.NeedsBooks {
		list = append(list, apierr.LedgerDisabled)
	}

	if strings.Contains(e.Path, "{") {
		list = append(list, apierr.NotFound)
	}

	if e.kind == kindStream {
		list = append(list, refusedStreams[http.StatusPreconditionFailed], refusedStreams[http.StatusRequestedRangeNotSatisfiable])
	}

	return append(list, apierr.Internal, errBusy, apierr.GatewayTimeout, errSlow).Conditions()
}

// conditionStatus returns the status that a condition is answered with.
func conditionStatus(e *apierr.Error) int {
	for status, refusal := range refusedStreams {
		if refusal.Message() == e.Message() {
			return status
		}
	}

	return e.Code().Status()
}

// declares reports a failure that the endpoint does not name and the edge does not give by itself. The body is an
// envelope.
func (s *Server) declares(e *Endpoint, status int, body []byte) error {
	var got struct {
		Code    apierr.Code
		Reason  apierr.Reason
		Message string
		Context map[string]any
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("%s: answer is not JSON: %w", e.ID, err)
	}

	same := func(c *apierr.Error) bool {
		return c.Code() == got.Code && c.Reason() == got.Reason && c.Message() == got.Message && conditionStatus(c) == status
	}
	if slices.ContainsFunc(s.edgeConditions(e), same) || slices.ContainsFunc(e.Errors.Conditions(), same) {
		return checkCarried(cmp.Or(string(got.Reason), string(got.Code)), got.Context)
	}

	return fmt.Errorf("%s: its Errors do not name %d %s %s %q", e.ID, status, got.Code, got.Reason, got.Message)
}

// ownConditions returns the conditions that an endpoint names and the edge does not add by itself.
func (s *Server) ownConditions(e *Endpoint) []*apierr.Error {
	edge := s.edgeConditions(e)
	return slices.DeleteFunc(e.Errors.Conditions(), func(c *apierr.Error) bool { return slices.ContainsFunc(edge, c.Alike) })
}

// conditionText returns a condition as x-errors lists it: status, reason or code, and the message.
func conditionText(c *apierr.Error) string {
	return strconv.Itoa(conditionStatus(c)) + " " + c.Label() + ": " + c.Message()
}

// errorAnswer names the answer of every failure, and its schema.
const errorAnswer = "Error"

var (
	requestIDHeader = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}, Description: "Names the request in the service's log: the header of the same name of the request, or a new identifier."}
	allowHeader     = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}, Description: "The methods of the path, separated by commas."}
	retryHeader     = &huma.Header{Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "Seconds after which the same request can be sent again."}
	pollHeader      = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"true", "false"}}, Description: "Whether work goes on after the answer, in the operation of the audit action."}
	replayedHeader  = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}}, Description: "The answer is the stored one of an earlier request with the same Idempotency-Key. Absent otherwise."}
	actionHeader    = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}, Description: "Identifier of the audit action. Absent from dry runs."}
)

// Callers know the body of a failure as Error.
var _ = PublishAs[apierr.Body](errorAnswer)

// describeFailures adds the one answer of all failures, and lists the conditions that are the endpoint's own. Every
// endpoint can fail with those of the edge, which the answer itself lists.
func (s *Server) describeFailures(op *huma.Operation, e *Endpoint) {
	op.Responses["default"] = &huma.Response{Ref: "#/components/responses/" + errorAnswer}

	own := []string{}
	for _, c := range s.ownConditions(e) {
		own = append(own, conditionText(c))
	}

	slices.Sort(own)
	op.Extensions["x-errors"] = slices.Compact(own)
}

// errorResponse returns the answer of all failures. It lists the conditions with which the edge refuses requests.
func (s *Server) errorResponse(failure *huma.Schema) *huma.Response {
	general := []string{}

	for i := range s.Endpoints {
		for _, c := range s.edgeConditions(&s.Endpoints[i]) {
			general = append(general, conditionText(c))
		}
	}

	slices.Sort(general)

	return &huma.Response{
		Description: "A failure: status 400 and above. Status 503, and 504 of a GET, can be sent again after Retry-After.",
		Headers:     map[string]*huma.Header{"Retry-After": retryHeader, "Allow": allowHeader, "X-Request-Id": requestIDHeader},
		Content:     map[string]*huma.MediaType{"application/json": {Schema: failure}},
		Extensions:  map[string]any{"x-errors": slices.Compact(general)},
	}
}
