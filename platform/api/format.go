package api

import (
	"net/mail"
	"regexp"
	"sync"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Formats of texts that hold dates, beside those of JSON Schema. Fields and parameters of type string declare them with the tag format.
const (
	monthFormat = "month"
	rangeFormat = "date-range" // YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD
)

const (
	dateOutOfRange = "Date is before 1990 or more than ten years ahead"
	codeOutOfRange = "dateOutOfRange"
)

// outside reports that a text of a format names a day that is not accepted. What has another form is refused elsewhere.
func outside(format, text string, accepted day.Range) bool {
	var days day.Range
	switch format {
	case "date", monthFormat, rangeFormat:
		var err error
		if days, err = day.ParseRange(text, true); err != nil {
			return false
		}
	case "date-time":
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return false
		}
		at := day.Of(t.UTC())
		if !at.Valid() {
			return true
		}
		days = day.Range{From: at, To: at.AddDays(1)}
	default:
		return false
	}
	return days.From.Before(accepted.From) || days.To.After(accepted.To)
}

// format checks the formats that inputs use; known means that the format says more than a pattern could.
func format(name, text string) (known bool, message, code string) {
	var err error
	switch name {
	case "uuid":
		message, code = "Value is not a uuid", "uuid"
		_, err = id.Parse(text)
	case "date":
		message, code = "Value is not a date", "date"
		_, err = day.Parse(text)
	case "date-time":
		message, code = "Value is not a date-time", "dateTime"
		_, err = time.Parse(time.RFC3339Nano, text)
	case "email":
		message, code = "Value is not an e-mail address", "email"
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = mail.ErrHeaderNotPresent
		}
	default:
		return false, "", ""
	}
	if err == nil {
		return name != "email", "", ""
	}
	return true, message, code
}

var patterns sync.Map // of *regexp.Regexp by text

func compiled(pattern string) *regexp.Regexp {
	if known, ok := patterns.Load(pattern); ok {
		return known.(*regexp.Regexp) //nolint:errcheck,forcetypeassert // Nothing else is stored.
	}
	made := regexp.MustCompile(pattern)
	patterns.Store(pattern, made)
	return made
}
