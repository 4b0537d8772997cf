package api

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// For the fuzz tests.
var (
	ParseQuery  = parseQuery
	SplitRecord = splitRecord
)

// CheckJSON holds a text to no schema.
func CheckJSON(text []byte) ([]apierr.Issue, error) {
	return checkBody(newRegistry(), anything, text, day.Range{})
}

// BindJSON reads a body into an input of type T with a field Body, as a request would bring it.
func BindJSON[T any](r *http.Request, limit int64) ([]apierr.Issue, error) {
	s := &Server{registry: newRegistry()}
	p := s.prepare(&Endpoint{ID: "bind", in: reflect.TypeFor[T]()})
	nullable(s.registry)

	body, err := readBody(httptest.NewRecorder(), r, limit)
	if err != nil {
		return nil, err
	}

	return p.bindBody(s.registry, body, reflect.New(p.endpoint.in).Elem(), day.RequestRange(day.Of(time.Now())))
}

// UnsafeNumber is the look at answers.
var UnsafeNumber = unsafeNumber
