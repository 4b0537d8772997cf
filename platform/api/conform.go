package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
)

// Conforms reports how an answer departs from the published description: an unknown field, a missing one, a wrong type, an undeclared
// status. Test harnesses hold every answer to it.
func (s *Server) Conforms(e *Endpoint, status int, body []byte) error {
	t := e.answerType(status)
	if t == nil {
		return fmt.Errorf("%s: status %d is not in the description", e.ID, status)
	}
	if t == reflect.TypeFor[None]() || t == reflect.TypeFor[Content]() {
		return nil
	}
	var tree any
	if err := json.Unmarshal(body, &tree); err != nil {
		return fmt.Errorf("%s: answer is not JSON: %w", e.ID, err)
	}
	res := huma.ValidateResult{}
	at := huma.NewPathBuffer(make([]byte, 0, 128), 0)
	huma.Validate(s.registry, s.registry.Schema(t, true, e.ID+"Answer"), at, huma.ModeReadFromServer, tree, &res)
	if len(res.Errors) > 0 {
		return fmt.Errorf("%s: answer %d departs from the description: %w", e.ID, status, res.Errors[0])
	}
	return nil
}

// answerType is the declared type of an answer, or nil.
func (e *Endpoint) answerType(status int) reflect.Type {
	if e.kind == kindStream && status == http.StatusRequestedRangeNotSatisfiable {
		return e.out // the standard library's own plain answer
	}
	if slices.Contains(e.failures(), status) {
		return reflect.TypeFor[apierr.Envelope]()
	}
	if t, ok := e.Also[status]; ok {
		return t
	}
	if e.kind == kindStream && (status == http.StatusPartialContent || status == http.StatusNotModified) {
		return e.out
	}
	if status == e.status() || e.out == reflect.TypeFor[None]() && status == http.StatusNoContent {
		return e.out
	}
	return nil
}

// Find gives the endpoint that a request reaches: a literal segment of its path wins over a parameter. It is nil when there is none.
func (s *Server) Find(method, path string) *Endpoint {
	path, _, _ = strings.Cut(path, "?")
	var found *Endpoint
	best := -1
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if n := literals(e.Path, path); e.Method == method && n > best {
			best, found = n, e
		}
	}
	return found
}

// literals counts the literal segments of a template that a path fits, or is -1.
func literals(template, path string) int {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return -1
	}
	n := 0
	for i := range a {
		switch {
		case a[i] == b[i]:
			n++
		case !strings.HasPrefix(a[i], "{"):
			return -1
		}
	}
	return n
}
