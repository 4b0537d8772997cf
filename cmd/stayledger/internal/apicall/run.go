package apicall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Call is a request with what becomes of its answer.
type Call struct {
	Request

	All    bool   // follows the pages of a list
	NoWait bool   // prints the acknowledgement of an operation instead of waiting for it
	Pick   string // path of the value to print; everything if empty
	JSON   bool   // prints what Pick selects as JSON, not for shells
	Output string // file for the answer; standard output if empty
	// IsTerminal says that a person reads standard output: JSON is indented, and other types are not printed.
	IsTerminal bool
}

// Run sends a call and prints its answer, or saves it. It fails with ErrUsage, a
// *FailureError or an *OperationError.
func (c *Client) Run(ctx context.Context, call Call, stdout io.Writer) error {
	if call.Output == "" {
		return c.run(ctx, call, stdout)
	}

	// A file that was not written to its end is worse than none.
	file, err := os.CreateTemp(filepath.Dir(call.Output), ".stayledger-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // is renamed by now if all went well

	call.IsTerminal = false

	if err := errors.Join(c.run(ctx, call, file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}

	return os.Rename(file.Name(), call.Output)
}

// run writes the answer of a call to out.
func (c *Client) run(ctx context.Context, call Call, out io.Writer) error {
	if call.All {
		return c.printPages(ctx, call, out)
	}

	a, err := c.get(ctx, call.Request)
	if err != nil {
		return err
	}

	// An operation that failed can have a result too: what was done before.
	var failure *OperationError

	if a.status == http.StatusAccepted && !call.NoWait {
		a, err = c.settle(ctx, a, call.Output != "")
		if errors.As(err, &failure); a == nil {
			return err
		}
	}

	if call.Output != "" && call.Pick == "" {
		if a, err = c.follow(ctx, a); err != nil {
			return err
		}
	}

	defer a.body.Close() //nolint:errcheck // nothing was written

	if err := call.print(out, a); err != nil || failure == nil {
		return err
	}

	return failure
}

// follow returns the file behind an answer that is a link to a file and nothing else, and any other answer as it is.
func (c *Client) follow(ctx context.Context, a *answer) (*answer, error) {
	if !isJSON(a.contentType) {
		return a, nil
	}

	text, err := a.readAll()
	if err != nil {
		return nil, err
	}

	var link struct {
		URL       string `json:"url"`
		ExpiresAt string `json:"expiresAt"`
	}

	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()

	// What is more than a link is an answer of its own.
	if isLink := d.Decode(&link) == nil && link.URL != "" && link.ExpiresAt != ""; !isLink {
		return inMemory(text), nil
	}

	return c.get(ctx, Request{Method: http.MethodGet, Path: link.URL})
}

// print writes an answer as the call asks for it.
func (c *Call) print(out io.Writer, a *answer) error {
	isPlain := c.Pick == "" && !c.IsTerminal

	switch {
	case !isJSON(a.contentType) && c.Pick != "":
		return fmt.Errorf("%w: --pick reads JSON, and the answer is %s", ErrUsage, a.contentType)
	case !isText(a.contentType) && c.IsTerminal:
		return fmt.Errorf("%w: the answer is %s: save it with --output FILE", ErrUsage, a.contentType)
	case isPlain || !isJSON(a.contentType):
		_, err := io.Copy(out, a.body)
		return err
	}

	text, err := a.readAll()
	if err != nil {
		return err
	}

	if c.Pick != "" {
		return c.pick(out, text)
	}

	return writeIndented(out, text)
}

// printPages follows the pages of a list and prints their rows as one JSON array, a row on each line. With Pick it prints
// the value of each page. One page is in memory at a time.
func (c *Client) printPages(ctx context.Context, call Call, out io.Writer) error {
	separator := "["

	for request, hasMore := call.Request, true; hasMore; {
		text, err := c.read(ctx, request)
		if err != nil {
			return err
		}

		page := gjson.ParseBytes(text)

		rows := page.Get("data")
		if !rows.Exists() {
			rows = page.Get("items")
		}

		if !rows.IsArray() {
			return fmt.Errorf("%w: --all follows lists, and %s is none", ErrUsage, call.Path)
		}

		// Rows are written as they come; a path picks from the page as it would without --all.
		if call.Pick != "" {
			err = call.pick(out, text)
		} else {
			separator, err = writeRows(out, rows, separator)
		}

		if err != nil {
			return err
		}

		request, hasMore = nextPage(call.Request, page)
	}

	if call.Pick != "" {
		return nil
	}

	// Without a row not even the array has begun.
	closing := "]\n"
	if separator == "[" {
		closing = "[]\n"
	}

	_, err := io.WriteString(out, closing)

	return err
}

// writeRows writes rows, each after a separator, and returns the separator of the next one.
func writeRows(out io.Writer, rows gjson.Result, separator string) (string, error) {
	var err error

	rows.ForEach(func(_, row gjson.Result) bool {
		_, err = io.WriteString(out, separator+row.Raw)
		separator = ",\n"

		return err == nil
	})

	return separator, err
}

// nextPage returns the request of the page after this one: lists name its number or its cursor. False is the end.
func nextPage(first Request, page gjson.Result) (Request, bool) {
	next := first
	next.Query = url.Values{}
	maps.Copy(next.Query, first.Query)

	if number := page.Get("pagination.nextPage"); number.Type == gjson.Number {
		next.Query.Set("page", strconv.FormatInt(number.Int(), 10))
		return next, true
	}

	cursor := page.Get("page.nextCursor")
	if !cursor.Exists() {
		cursor = page.Get("nextCursor")
	}

	next.Query.Set("cursor", cursor.String())

	// A list that can be followed has a cursor at its end too, from which it goes on later.
	if hasMore := page.Get("page.hasMore"); hasMore.Exists() && !hasMore.Bool() {
		return next, false
	}

	return next, cursor.Type == gjson.String && cursor.String() != ""
}

// pick prints the value at the path that the call picks: a text without quotes, a list with an element on each line, a
// list in a list with tabs between its elements, anything else as JSON. It fails if the path leads nowhere.
func (c *Call) pick(out io.Writer, text []byte) error {
	value := gjson.GetBytes(text, c.Pick)

	var err error

	switch {
	case !value.Exists():
		return fmt.Errorf("%w: the answer has nothing at %q: %.300s", errPick, c.Pick, text)
	case c.JSON:
		_, err = fmt.Fprintln(out, value.Raw)
	case value.IsArray():
		err = writeLines(out, value)
	default:
		_, err = fmt.Fprintln(out, value.String())
	}

	return err
}

// writeLines prints the elements of a list for a shell to read.
func writeLines(out io.Writer, value gjson.Result) error {
	for _, line := range value.Array() {
		cells := []string{line.String()}

		if line.IsArray() {
			cells = nil
			for _, cell := range line.Array() {
				cells = append(cells, cell.String())
			}
		}

		if _, err := fmt.Fprintln(out, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}

	return nil
}

// errPick is a path that leads nowhere.
var errPick = errors.New("nothing to pick")

// isJSON reports whether a type of content is JSON.
func isJSON(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// isText reports whether a terminal can show a type of content.
func isText(contentType string) bool {
	return contentType == "" || isJSON(contentType) || strings.HasPrefix(contentType, "text/") || strings.Contains(contentType, "yaml")
}

// writeIndented writes JSON with two spaces for each level.
func writeIndented(out io.Writer, text []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(text), "", "  "); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}

	if b.Len() > 0 {
		b.WriteByte('\n')
	}

	_, err := b.WriteTo(out)

	return err
}
