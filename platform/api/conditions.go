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
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("%s: answer is not JSON: %w", e.ID, err)
	}

	same := func(c *apierr.Error) bool {
		return c.Code() == got.Code && c.Reason() == got.Reason && c.Message() == got.Message && conditionStatus(c) == status
	}
	if slices.ContainsFunc(s.edgeConditions(e), same) || slices.ContainsFunc(e.Errors.Conditions(), same) {
		return nil
	}

	return fmt.Errorf("%s: its Errors do not name %d %s %s %q", e.ID, status, got.Code, got.Reason, got.Message)
}

// fails returns the statuses of all conditions of an endpoint.
func (s *Server) fails(e *Endpoint) map[int]bool {
	out := map[int]bool{}
	for _, c := range slices.Concat(s.edgeConditions(e), e.Errors.Conditions()) {
		out[conditionStatus(c)] = true
	}

	return out
}

// ownConditions returns the conditions that an endpoint names and the edge does not add by itself.
func (s *Server) ownConditions(e *Endpoint) []*apierr.Error {
	edge := s.edgeConditions(e)
	return slices.DeleteFunc(e.Errors.Conditions(), func(c *apierr.Error) bool { return slices.ContainsFunc(edge, c.Alike) })
}

// edgeTexts returns for each status the conditions for which the edge answers with it, on any endpoint.
func (s *Server) edgeTexts() map[int]string {
	all := apierr.List{}

	for i := range s.Endpoints {
		for _, c := range s.edgeConditions(&s.Endpoints[i]) {
			all = append(all, c)
		}
	}

	byStatus := map[int][]*apierr.Error{}
	for _, c := range all.Conditions() {
		byStatus[conditionStatus(c)] = append(byStatus[conditionStatus(c)], c)
	}

	out := map[int]string{}
	for status, conditions := range byStatus {
		out[status] = conditionsText(conditions)
	}

	return out
}

// conditionsText returns the messages of conditions, each under its reason or code.
func conditionsText(conditions []*apierr.Error) string {
	var parts []string

	label := ""

	for _, c := range conditions {
		named := conditionLabel(c)
		if named != label {
			parts = append(parts, "`"+named+"`: "+c.Message()+".")
		} else {
			parts = append(parts, c.Message()+".")
		}

		label = named
	}

	return strings.Join(parts, " ")
}

// conditionLabel returns the reason of a condition, or its code if it has none.
func conditionLabel(c *apierr.Error) string { return cmp.Or(string(c.Reason()), string(c.Code())) }

// conditionsName returns a name for the conditions of a status that differs from those of other endpoints.
func conditionsName(status int, conditions []*apierr.Error) string {
	name := strconv.Itoa(status)

	for i, c := range conditions {
		if i == 2 {
			return name + "-others"
		}

		if label := conditionLabel(c); i == 0 || label != conditionLabel(conditions[i-1]) {
			name += "-" + label
		}
	}

	return name
}

var (
	requestIDHeader = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}, Description: "Names the request in the service's log: the header of the same name of the request, or a new identifier."}
	allowHeader     = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}, Description: "The methods of the path, separated by commas."}
	retryHeader     = &huma.Header{Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "Seconds after which the same request can be sent again."}
	pollHeader      = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"true", "false"}}, Description: "Whether work goes on after the answer, in the operation of the audit action."}
	actionHeader    = &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}, Description: "Identifier of the audit action. Absent from dry runs."}
)

// describeFailures adds an answer for each status that the endpoint can fail with. Failures that only the edge adds
// have the same answer everywhere.
func (s *Server) describeFailures(op *huma.Operation, e *Endpoint, failure *huma.Schema, edgeTexts map[int]string) {
	mine, edge := map[int][]*apierr.Error{}, map[int]bool{}
	for _, c := range s.ownConditions(e) {
		mine[conditionStatus(c)] = append(mine[conditionStatus(c)], c)
	}

	for _, c := range s.edgeConditions(e) {
		edge[conditionStatus(c)] = true
	}

	// Failures of the service can happen on every endpoint, so one answer covers them.
	op.Responses["5XX"] = &huma.Response{
		Description: "A failure of the service. " + edgeTexts[http.StatusInternalServerError] + " " + edgeTexts[http.StatusServiceUnavailable] + " " + edgeTexts[http.StatusGatewayTimeout] + " Status 503, and 504 of a GET, can be sent again.",
		Headers:     map[string]*huma.Header{"Retry-After": retryHeader, "X-Request-Id": requestIDHeader},
		Content:     map[string]*huma.MediaType{"application/json": {Schema: failure}}, Extensions: map[string]any{namedBy: "5XX"},
	}
	for status := range s.fails(e) {
		if status >= http.StatusInternalServerError && len(mine[status]) == 0 {
			continue
		}

		// The name lets answers that are equal on several endpoints be shared.
		name, text := strconv.Itoa(status), edgeTexts[status]
		if own := mine[status]; len(own) > 0 {
			name, text = conditionsName(status, own), conditionsText(own)
			if edge[status] {
				text += " Or a general cause of " + strconv.Itoa(status) + "."
			}
		}

		r := &huma.Response{
			Description: text, Headers: map[string]*huma.Header{}, Content: map[string]*huma.MediaType{"application/json": {Schema: failure}},
		}
		if name == strconv.Itoa(status) {
			r.Headers["X-Request-Id"] = requestIDHeader // every answer has it; here it is said once for each status
		}

		// Some statuses come with headers.
		switch status {
		case http.StatusMethodNotAllowed:
			r.Headers["Allow"] = allowHeader
		case http.StatusTooManyRequests:
			r.Headers["Retry-After"] = retryHeader
		}

		r.Extensions = map[string]any{namedBy: name}
		op.Responses[strconv.Itoa(status)] = r
	}
}
