package upload

import (
	_ "embed"
	"fmt"
	"strings"

	"stayledger/provider/table"
)

// fieldText has the meanings of the fields of all kinds, and the words for them.
//
//go:embed fields.txt
var fieldText string

// describe sets the words of the fields of kinds from fieldText. It panics for a field that no kind has, and for one
// that is not described: that is a defect.
func describe(kinds map[Kind]*kind) {
	var k *kind

	// A line that begins with a space continues the one before.
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

// describe sets one text of a field: its meaning, an example, headers, or the words for one of its values.
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
		for _, word := range strings.Split(text, ", ") {
			f.values[word] = value
		}
	default:
		return fmt.Errorf("upload: %s is no text of a field", what)
	}

	return nil
}
