package upload

import (
	_ "embed"
	"fmt"
	"strings"

	"stayledger/provider/table"
)

// fieldText describes all fields and lists the words by which headers and values are recognized.
//
//go:embed fields.txt
var fieldText string

// describe sets the texts of all fields from fieldText. It panics for an unknown field, and for a field without a
// description: both are defects of the program.
func describe(kinds map[Kind]*kind) {
	var k *kind

	// A line that begins with a space continues the line before.
	for line := range strings.Lines(strings.ReplaceAll(fieldText, "\n ", " ")) {
		line = strings.TrimSpace(line)

		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			k = kinds[Kind(strings.Trim(line, "[]"))]
		default:
			name, text, _ := strings.Cut(line, ": ")
			if err := k.describe(name, text); err != nil {
				panic(err)
			}
		}
	}

	for _, k := range kinds {
		for i := range k.fields {
			if k.fields[i].doc == "" {
				panic(fmt.Sprintf("upload: the field %s of %s is not described", k.fields[i].name, k.name))
			}
		}
	}
}

// describe sets a text of a field: its description, an example, headers, or words for a value. It fails for an unknown
// field or text.
func (k *kind) describe(name, text string) error {
	name, what, _ := strings.Cut(name, ".")

	at := k.find(name)
	if at < 0 {
		return fmt.Errorf("upload: %s have no field %s", k.name, name)
	}

	f := &k.fields[at]

	switch value, isValue := strings.CutPrefix(what, "value."); {
	case what == "":
		f.doc = text
	case what == "example":
		f.example = text
	case what == "headers":
		f.headers = strings.Split(text, ", ")
	case isValue:
		if f.values == nil {
			f.values = map[string]string{}
		}

		f.values[table.Fold(value)] = value
		for word := range strings.SplitSeq(text, ", ") {
			f.values[word] = value
		}
	default:
		return fmt.Errorf("upload: %s is no text of a field", what)
	}

	return nil
}
