package apicall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/sjson"
)

// ErrUsage is a request that cannot be built from its words.
var ErrUsage = errors.New("wrong usage")

// Body is the body of a request; the zero value is none.
type Body struct {
	contentType string
	reader      func() (io.ReadCloser, error)
}

// open returns the body to send; nil if there is none.
func (b Body) open() (io.Reader, error) {
	if b.reader == nil {
		return nil, nil //nolint:nilnil // a request without a body
	}

	return b.reader()
}

// FileBody sends a file as it stands; "-" is standard input.
func FileBody(name string) Body {
	return Body{contentType: "application/json", reader: func() (io.ReadCloser, error) { return openFile(name) }}
}

// openFile opens a file, or standard input for "-".
func openFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}

	return os.Open(name) //nolint:gosec // the caller's own file
}

// jsonBody returns a body with JSON.
func jsonBody(text []byte) Body {
	return Body{contentType: "application/json", reader: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}
}

// FormBody returns a multipart form of parts name=value and name=@file. Files are read while they are sent. It fails with
// ErrUsage for a part without a name.
func FormBody(parts []string) (Body, error) {
	for _, part := range parts {
		if name, _, found := strings.Cut(part, "="); !found || name == "" {
			return Body{}, fmt.Errorf("%w: %q of the form is neither name=value nor name=@file", ErrUsage, part)
		}
	}

	out, in := io.Pipe()
	w := multipart.NewWriter(in)

	return Body{contentType: w.FormDataContentType(), reader: func() (io.ReadCloser, error) {
		go func() {
			for _, part := range parts {
				if err := writePart(w, part); err != nil {
					_ = in.CloseWithError(err)
					return
				}
			}

			_ = in.CloseWithError(w.Close())
		}()

		return out, nil
	}}, nil
}

// writePart writes a part name=value or name=@file of a form.
func writePart(w *multipart.Writer, part string) error {
	name, value, _ := strings.Cut(part, "=")

	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return w.WriteField(name, value)
	}

	file, err := openFile(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written to it

	into, err := w.CreateFormFile(name, filepath.Base(path))
	if err == nil {
		_, err = io.Copy(into, file)
	}

	return err
}

// AddValues puts values of the command line into the request. In a GET or DELETE name=value is a parameter of the query;
// in any other it is a field of a JSON body with a text, and name:=json a field with any JSON. The name
// of a field can be a path, such as lines.0.amount. A name==value is a parameter in each. It fails with ErrUsage.
func (r *Request) AddValues(values []string) error {
	if err := r.moveQuery(); err != nil {
		return err
	}

	takesFields := r.Method != http.MethodGet && r.Method != http.MethodDelete

	var (
		names []string
		body  []byte
		err   error
	)

	for _, text := range values {
		name, operator, value := cutValue(text)

		switch {
		case name == "" || operator == "":
			return fmt.Errorf("%w: %q is neither name=value nor name:=json nor name==value", ErrUsage, text)
		case operator == "==" || operator == "=" && !takesFields:
			r.Query.Add(name, value)
		case !takesFields:
			return fmt.Errorf("%w: %q: a %s has parameters name=value and no body", ErrUsage, text, r.Method)
		case r.Body.reader != nil:
			return fmt.Errorf("%w: %q: the body is given already; a parameter of the query is %s==%s", ErrUsage, text, name, value)
		case slices.Contains(names, name):
			return fmt.Errorf("%w: the field %s is there twice", ErrUsage, name)
		case operator == ":=" && !json.Valid([]byte(value)):
			return fmt.Errorf("%w: %q is no JSON; a text is %s=%s", ErrUsage, value, name, value)
		case operator == ":=":
			body, err = sjson.SetRawBytes(body, name, []byte(value))
		default:
			body, err = sjson.SetBytes(body, name, value)
		}

		if err != nil {
			return fmt.Errorf("%w: the field %s: %w", ErrUsage, name, err)
		}

		names = append(names, name)
	}

	if body != nil {
		r.Body = jsonBody(body)
	}

	return nil
}

// moveQuery moves the query of the path to the other parameters. The address of a file stays as it is: its query is
// signed.
func (r *Request) moveQuery() error {
	r.Query = url.Values{}

	path, text, hasQuery := strings.Cut(r.Path, "?")
	if !hasQuery || strings.Contains(path, "://") {
		return nil
	}

	var err error
	if r.Query, err = url.ParseQuery(text); err != nil {
		return fmt.Errorf("%w: the query of %q: %w", ErrUsage, r.Path, err)
	}

	r.Path = path

	return nil
}

// cutValue splits a value of the command line at its first operator: "=", "==" or ":=".
func cutValue(text string) (name, operator, value string) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return text, "", ""
	}

	if short, isJSON := strings.CutSuffix(name, ":"); isJSON {
		return short, ":=", value
	}

	if rest, isQuery := strings.CutPrefix(value, "="); isQuery {
		return name, "==", rest
	}

	return name, "=", value
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
