package api

import (
	"net/mail"
	"reflect"
	"regexp"
	"sync"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Formats of texts that JSON Schema does not have. Each belongs to a type that binds it, or is declared with the tag
// format.
const (
	monthFormat    = "month"
	rangeFormat    = "date-range"    // YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD
	boundaryFormat = "date-boundary" // YYYY, YYYY-MM or YYYY-MM-DD
	pickFormat     = "uuid-filter"   // a uuid, with a leading "!" to leave it out
	refFormat      = "reference-filter"
	amountFormat   = "amount-range"
	amountsFormat  = "amount-ranges"
)

// typeFormats are the formats of the types that are read from a text.
var typeFormats = map[reflect.Type]string{
	reflect.TypeFor[id.ID]():        "uuid",
	reflect.TypeFor[day.Day]():      "date",
	reflect.TypeFor[day.Month]():    monthFormat,
	reflect.TypeFor[day.Instant]():  "date-time",
	reflect.TypeFor[day.Span]():     rangeFormat,
	reflect.TypeFor[page.Pick]():    pickFormat,
	reflect.TypeFor[page.Ref]():     refFormat,
	reflect.TypeFor[money.Range]():  amountFormat,
	reflect.TypeFor[money.Ranges](): amountsFormat,
}

// typeFormat returns the format of texts that a type reads, or "".
func typeFormat(t reflect.Type) string { return typeFormats[t] }

// outside reports whether a text of a format names a day that is not accepted. Texts of another form are refused
// elsewhere.
func outside(format, text string, accepted day.Range) bool {
	var days day.Range

	switch format {
	case "date", monthFormat, rangeFormat, boundaryFormat:
		var err error
		if days, err = day.ParseRange(text, true); err != nil {
			return false
		}
	case "date-time":
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return false
		}

		// An instant is accepted by its day in UTC.
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

// format checks the formats of inputs. It returns whether the format is stricter than a pattern could be, and the
// code of the issue.
func format(name, text string) (known bool, code apierr.IssueCode) {
	var err error

	switch name {
	case "uuid":
		code = apierr.IssueUUID
		_, err = id.Parse(text)
	case pickFormat:
		code = apierr.IssueUUID
		err = new(page.Pick).UnmarshalText([]byte(text))
	case refFormat:
		code = apierr.IssueUUID
		err = new(page.Ref).UnmarshalText([]byte(text))
	case amountFormat, amountsFormat:
		code = apierr.IssueMalformed
		err = new(money.Ranges).UnmarshalText([]byte(text))
	case "date":
		code = apierr.IssueDate
		_, err = day.Parse(text)
	case boundaryFormat:
		code = apierr.IssueDate
		_, _, err = day.ParseBoundary(text)
	case rangeFormat:
		code = apierr.IssueDateRange
		_, err = day.ParseSpan(text)
	case "date-time":
		code = apierr.IssueDateTime
		_, err = time.Parse(time.RFC3339Nano, text)
	case "email":
		code = apierr.IssueEmail

		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = mail.ErrHeaderNotPresent
		}
	default:
		return false, ""
	}

	if err == nil {
		return name != "email", ""
	}

	return true, code
}

var patterns sync.Map // of *regexp.Regexp by text

// compilePattern returns the compiled pattern; each is compiled once.
func compilePattern(pattern string) *regexp.Regexp {
	if known, ok := patterns.Load(pattern); ok {
		return known.(*regexp.Regexp) //nolint:errcheck,forcetypeassert // Nothing else is stored.
	}

	made := regexp.MustCompile(pattern)
	patterns.Store(pattern, made)

	return made
}
