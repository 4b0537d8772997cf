package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// readBody reads at most the endpoint's limit; one byte more is refused.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, apierr.PayloadTooLarge
	}

	body, err := readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)

	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, apierr.PayloadTooLarge
	case err != nil:
		return nil, apierr.MalformedJSON.Because(err)
	}

	return body, nil
}

// readAll reads to the end. It uses at most twice the memory of the bytes that have arrived, whatever length the
// sender announced.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	body := make([]byte, 0, 4<<10)
	for {
		if len(body) == cap(body) {
			room := 2 * cap(body)
			if announced > int64(len(body)) && int64(room) > announced {
				room = int(announced) + 1 // enough if the announced length is true
			}

			body = append(make([]byte, 0, room), body...)
		}

		n, err := r.Read(body[len(body):cap(body)])

		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}

		if err != nil {
			return nil, err //nolint:wrapcheck // the caller tells them apart
		}
	}
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}

	media, _, err := mime.ParseMediaType(contentType)

	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// bindBody checks a JSON body against the schema of the input's Body field and then decodes it. Nothing is built
// from a body that is refused, and a body that the schema allows is bounded.
func (p *plan) bindBody(
	registry huma.Registry,
	body []byte,
	in reflect.Value,
	accepted day.Range,
) ([]apierr.Issue, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		if p.bodyOptional {
			return nil, nil
		}

		return []apierr.Issue{apierr.IssueRequired.InBody()}, nil
	}

	// The check reads the text without decoding it.
	issues, err := checkBody(registry, p.body, body, accepted)
	if err != nil {
		return nil, apierr.MalformedJSON.Because(err)
	}

	if len(issues) > 0 {
		return issues, nil
	}

	if err := json.Unmarshal(body, in.FieldByIndex(p.bodyIndex).Addr().Interface()); err != nil {
		return []apierr.Issue{decodeIssue(err)}, nil
	}

	return nil, nil
}

// decodeIssue reports what the schema cannot see, such as an integer too large for its field.
func decodeIssue(err error) apierr.Issue {
	issue := apierr.IssueMalformed.InBody()

	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		for part := range strings.SplitSeq(typed.Field, ".") {
			issue.Path = append(issue.Path, part)
		}
	}

	return issue
}
