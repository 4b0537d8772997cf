package api

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// anyDay lets an answer name days that no request could.
var anyDay, _ = day.ParseRange("0001-01-01...9999-12-31", true)

// Conforms returns an error if an answer departs from the published description: an unknown field, a missing one, a
// wrong type, an undeclared status or failure. Test harnesses check every answer with it.
func (s *Server) Conforms(e *Endpoint, status int, body []byte) error {
	if status >= http.StatusBadRequest {
		if err := s.declares(e, status, body); err != nil {
			return err
		}
	}

	t := e.answerType(status)
	if t == nil {
		return fmt.Errorf("%s: status %d is not in the description", e.ID, status)
	}

	if t == reflect.TypeFor[None]() || t == reflect.TypeFor[Content]() {
		return nil
	}

	// Answers are checked by the code that checks bodies.
	issues, err := checkBody(s.registry, s.registry.Schema(t, true, e.ID+"Answer"), body, anyDay)
	if err != nil {
		return fmt.Errorf("%s: answer is not JSON: %w", e.ID, err)
	}

	if len(issues) > 0 && issues[0].Code != "nulCharacter" { // an issue names the field that it refuses
		return fmt.Errorf("%s: answer %d departs from the description: %v", e.ID, status, issues[0])
	}

	return nil
}

// answerType returns the declared type of an answer, or nil.
func (e *Endpoint) answerType(status int) reflect.Type {
	if status >= http.StatusBadRequest {
		return reflect.TypeFor[apierr.Body]()
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

// Find returns the endpoint that a request reaches, or nil. A literal segment of its path wins over a parameter.
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
