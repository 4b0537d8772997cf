package api

import "strings"

// textsDoc is added to the description of every list of free texts.
const textsDoc = "A CSV record; several parameters add up."

// split returns the items of a list, nil when the list is malformed.
func (p *param) split(text string) []string {
	if p.texts {
		return splitRecord(text)
	}

	return strings.Split(text, ",")
}

// splitRecord returns the values of a CSV record by RFC 4180: a value with a comma, a quotation mark or a line
// break is in quotation marks, with each of its own doubled. Blanks belong to values. It returns nil for anything
// else. Two records joined by a comma are the record of the values of both.
func splitRecord(record string) []string {
	var values []string

	for rest, more := record, true; more; {
		var value string
		if quoted, isQuoted := strings.CutPrefix(rest, `"`); isQuoted {
			// The value ends with the first mark that is not doubled, and only a comma or the end can follow it.
			end := closingMark(quoted)
			if end < 0 {
				return nil
			}

			value, rest = strings.ReplaceAll(quoted[:end], `""`, `"`), quoted[end+1:]
			if more = rest != ""; more && rest[0] != ',' {
				return nil
			}

			rest = strings.TrimPrefix(rest, ",")
		} else if value, rest, more = strings.Cut(rest, ","); strings.ContainsAny(value, "\"\r\n") {
			return nil
		}

		// An empty record has one empty value.
		values = append(values, value)
	}

	return values
}

// closingMark returns the place of the first quotation mark that is not doubled, -1 when there is none.
func closingMark(text string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case i+1 < len(text) && text[i+1] == '"':
			i++
		default:
			return i
		}
	}

	return -1
}
