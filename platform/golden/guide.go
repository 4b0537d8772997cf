package golden

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldRow is a row of the table of fields: its first cell has the names of fields, each in backticks.
var (
	fieldRow = regexp.MustCompile("(?m)^\\| ((?:`[^`]+`(?:, )?)+) \\| [^|]+ \\|$")
	named    = regexp.MustCompile("`([^`]+)`")
)

// CheckGuide fails unless the section "Every field" of a guide names the fields of records, and no others but those that it says are not read.
// Records are the types that the client decodes, by what the guide calls them. Fields of members of a record are written as in
// guest.name.
func CheckGuide(t *testing.T, guide string, records map[string]any) {
	t.Helper()

	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guides", guide)) //nolint:gosec // Tests name the guide.
	if err != nil {
		t.Fatal(err)
	}

	_, section, has := strings.Cut(string(content), "\n## Every field\n")
	if !has {
		t.Fatalf("%s has no section about every field", guide)
	}

	section, _, _ = strings.Cut(section, "\n## ")

	var described []string

	for _, row := range fieldRow.FindAllStringSubmatch(section, -1) {
		if strings.Contains(row[0], "| not read") {
			continue
		}

		for _, name := range named.FindAllStringSubmatch(row[1], -1) {
			described = append(described, name[1])
		}
	}

	var read []string
	for name, record := range records {
		read = append(read, fields(name, reflect.TypeOf(record))...)
	}

	for _, name := range read {
		if !slices.Contains(described, name) {
			t.Errorf("%s does not say what becomes of %s", guide, name)
		}
	}

	for _, name := range described {
		if !slices.Contains(read, name) {
			t.Errorf("%s describes %s, which is not read", guide, name)
		}
	}
}

// fields returns the fields that are decoded into a type, behind what it is called.
func fields(at string, of reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}

	if of.Kind() != reflect.Struct {
		return []string{at}
	}

	var out []string

	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, fields(at+"."+name, field.Type)...)
		}
	}

	// A type that decodes itself has no fields.
	if out == nil {
		return []string{at}
	}

	return out
}
