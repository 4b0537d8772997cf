package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
)

// readBody reads at most the endpoint's limit; one byte more is refused.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, apierr.PayloadTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, apierr.PayloadTooLarge
	case err != nil:
		return nil, apierr.MalformedJSON.Because(err)
	}
	return body, nil
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// bindBody checks a JSON body against the schema of the input's Body field and decodes it.
func (p *plan) bindBody(registry huma.Registry, body []byte, in reflect.Value) ([]apierr.Issue, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		if p.bodyOptional {
			return nil, nil
		}
		return []apierr.Issue{{Message: "Request body is required", Code: "required", Path: []any{}, Schema: "body"}}, nil
	}
	tree, issues, err := strictJSON(body)
	if err != nil {
		return nil, apierr.MalformedJSON.Because(err)
	}
	if len(issues) > 0 {
		return issues, nil
	}
	v := validator{registry: registry}
	v.check(p.body, tree)
	if len(v.issues) > 0 {
		return v.issues, nil
	}
	if err := json.Unmarshal(body, in.FieldByIndex(p.bodyIndex).Addr().Interface()); err != nil {
		return []apierr.Issue{decodeIssue(err)}, nil
	}
	return nil, nil
}

// decodeIssue reports what the schema cannot see, such as an integer too large for its field.
func decodeIssue(err error) apierr.Issue {
	issue := apierr.Issue{Message: "Value is malformed", Code: "malformed", Schema: "body"}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		for part := range strings.SplitSeq(typed.Field, ".") {
			issue.Path = append(issue.Path, part)
		}
	}
	return issue
}

const maxDepth = 64

// strictJSON parses a body to a tree and refuses what Go's decoder lets pass: duplicate keys, NUL characters, invalid UTF-8,
// numbers that are not safe integers or plain decimals, and data after the value.
func strictJSON(body []byte) (any, []apierr.Issue, error) {
	if !utf8.Valid(body) {
		return nil, nil, errors.New("invalid UTF-8")
	}
	s := &scanner{dec: json.NewDecoder(bytes.NewReader(body))}
	s.dec.UseNumber()
	tree, err := s.value(0)
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("data after the value")
	}
	return tree, s.issues, nil
}

type scanner struct {
	dec    *json.Decoder
	path   []any
	issues []apierr.Issue
}

func (s *scanner) refuse(message, code string) {
	if len(s.issues) == maxIssues {
		return
	}
	s.issues = append(s.issues, apierr.Issue{Message: message, Code: code, Path: append([]any{}, s.path...), Schema: "body"})
}

func (s *scanner) value(depth int) (any, error) {
	token, err := s.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return nil, errors.New("nested too deeply")
		}
		if t == '{' {
			return s.object(depth)
		}
		return s.array(depth)
	case json.Number:
		return s.number(string(t)), nil
	case string:
		if strings.ContainsRune(t, 0) {
			s.refuse("Text holds a NUL character", "nulCharacter")
		}
		return t, nil
	default:
		return t, nil
	}
}

// number gives integers as int64, so that none is rounded on the way to a bound.
func (s *scanner) number(text string) any {
	if n, ok := integer(text); ok {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f >= 1<<53 || f <= -(1<<53) || strings.ContainsAny(text, "eE") || text == "-0" {
		s.refuse("Number is outside the safe range or not in plain notation", "unsafeNumber")
		return int64(0)
	}
	return f
}

func (s *scanner) object(depth int) (any, error) {
	out := map[string]any{}
	for s.dec.More() {
		token, err := s.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		s.path = append(s.path, key)
		if strings.ContainsRune(key, 0) {
			s.refuse("Field name holds a NUL character", "nulCharacter")
		}
		if _, seen := out[key]; seen {
			s.refuse("Field is given more than once", "duplicateField")
		}
		v, err := s.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out[key] = v
		s.path = s.path[:len(s.path)-1]
	}
	_, err := s.dec.Token()
	return out, err
}

func (s *scanner) array(depth int) (any, error) {
	out := []any{}
	for s.dec.More() {
		s.path = append(s.path, len(out))
		v, err := s.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		s.path = s.path[:len(s.path)-1]
	}
	_, err := s.dec.Token()
	return out, err
}
