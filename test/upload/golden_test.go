package upload_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"stayledger/platform/golden"
)

// ids are ids in a text, which differ from run to run.
var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestPreviewsOfFilesAsPeopleHaveThem previews a file for each trap that tables of the trade have.
func TestPreviewsOfFilesAsPeopleHaveThem(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Listing("House 1", o.Contact("owner", "Olga Owner"))
	o.Contact("vendor", "Keys Plumbing")

	files, err := filepath.Glob("testdata/*.csv")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files: %v", len(files), err)
	}

	var out bytes.Buffer

	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		base := filepath.Base(name)
		kind, _, _ := strings.Cut(base, ".")
		fields := []string{}

		if kind == "bank-records" && !strings.Contains(base, "own-export") {
			fields = append(fields, "bankAccountId", o.Account("1000").String())
		}

		if strings.Contains(base, "german-savings-bank") {
			fields = append(fields, "encoding", "windows-1252")
		}

		if strings.Contains(base, "no-header") {
			fields = append(fields, "mapping", `{"hasHeader": false, "columns": [{"index": 1, "field": "date"}, {"index": 2, "field": "amount"}, {"index": 5, "field": "description"}]}`)
		}

		fmt.Fprintf(&out, "== %s\n%s\n", base, ids.ReplaceAllString(o.describe(o.preview(kind, string(text), fields...)), "ID"))
	}

	golden.File(t, "testdata/golden.txt", out.Bytes())
}

// describe returns what a preview shows.
func (o *office) describe(path string) string {
	var out strings.Builder

	it := o.Get(path).Want(200)
	fmt.Fprintf(&out, "%s: %s\n", it.String("status"), strings.TrimSuffix(o.counts(path), " ->"))

	for i := range it.Len("issues") {
		fmt.Fprintf(&out, "file: %s\n", issueText(it.Value(fmt.Sprintf("issues.%d", i))))
	}

	for i := range it.Len("columns") {
		at := fmt.Sprintf("columns.%d.", i)
		fmt.Fprintf(&out, "%s=%s%s%s ", it.String(at+"header"), it.String(at+"field"), it.String(at+"dateOrder"), it.String(at+"decimal"))
	}

	out.WriteString("\n")

	rows := o.Get(path + "/rows").Want(200)
	for i := range rows.Len("data") {
		at := fmt.Sprintf("data.%d.", i)
		fmt.Fprintf(&out, "%s %s %s", rows.String(at+"line"), rows.String(at+"status"), rows.Value(at+"values"))

		for n := range rows.Len(at + "issues") {
			fmt.Fprintf(&out, " !%s", issueText(rows.Value(fmt.Sprintf("%sissues.%d", at, n))))
		}

		if why := rows.String(at + "reason"); why != "null" {
			fmt.Fprintf(&out, " (%s)", why)
		}

		out.WriteString("\n")
	}

	return out.String()
}

// issueText returns an issue in a short form.
func issueText(issue any) string {
	fields, _ := issue.(map[string]any)
	keys := make([]string, 0, len(fields))

	for key := range fields {
		keys = append(keys, key)
	}

	sort.Strings(keys)

	parts := []string{}
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%s=%v", key, fields[key]))
	}

	return strings.Join(parts, ",")
}
