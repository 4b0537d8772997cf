package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// namedBy marks a part of the description that is published once, under a name, and referred to everywhere else.
const namedBy = "x-named"

// Types with a text or number that means the same in every noun are described once, each by a type of this package.
type (
	idText        string
	dateText      string
	monthText     string
	instantText   string
	rangeText     string
	pickText      string
	referenceText string
	amountText    string
	amountsText   string
	centsNumber   int64
	rateNumber    int64
)

// registerNamed makes the schemas of basic types refer to one named schema each.
func registerNamed(r huma.Registry) {
	for t, described := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[id.ID]():        reflect.TypeFor[idText](),
		reflect.TypeFor[day.Day]():      reflect.TypeFor[dateText](),
		reflect.TypeFor[day.Month]():    reflect.TypeFor[monthText](),
		reflect.TypeFor[day.Instant]():  reflect.TypeFor[instantText](),
		reflect.TypeFor[day.Span]():     reflect.TypeFor[rangeText](),
		reflect.TypeFor[page.Pick]():    reflect.TypeFor[pickText](),
		reflect.TypeFor[page.Ref]():     reflect.TypeFor[referenceText](),
		reflect.TypeFor[money.Range]():  reflect.TypeFor[amountText](),
		reflect.TypeFor[money.Ranges](): reflect.TypeFor[amountsText](),
		reflect.TypeFor[money.Cents]():  reflect.TypeFor[centsNumber](),
		reflect.TypeFor[money.Rate]():   reflect.TypeFor[rateNumber](),
	} {
		r.RegisterTypeAlias(t, described)
	}
}

// namedDocs describe the named types.
var namedDocs = map[string]string{
	"Id":              "Identifier: a UUID of version 7, so that later ones sort behind earlier ones.",
	"Date":            "Day of the calendar, YYYY-MM-DD, without a time zone.",
	"Month":           "Month of the calendar, YYYY-MM.",
	"Instant":         "Point in time in UTC, to the millisecond.",
	"DateRange":       "Two days with three dots between them. Either can be left out, and then that side is open.",
	"IdFilter":        "An id to select, or to leave out after a leading !.",
	"ReferenceFilter": "An id to select, or null for rows without one; left out after a leading !.",
	"AmountFilter":    "An amount, or a range of amounts with three dots, in cents.",
	"AmountFilters":   "Amounts and ranges of amounts in cents, separated by commas.",
	"Cents":           "Amount in the smallest unit of its currency: 12345 is 123.45 in USD.",
	"Rate":            "Share in parts per 100000: 15000 is 15 %.",
}

// markNamed marks a schema so that it is published once under the name.
func markNamed(name string, s *huma.Schema) *huma.Schema {
	s.Extensions = map[string]any{namedBy: name}
	return s
}

const uuidForm = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

// Schema describes an instant.
func (instantText) Schema(huma.Registry) *huma.Schema {
	return markNamed("Instant", &huma.Schema{Type: huma.TypeString, Format: "date-time"})
}

// Schema describes an identifier.
func (idText) Schema(huma.Registry) *huma.Schema {
	return markNamed("Id", &huma.Schema{Type: huma.TypeString, Format: "uuid", Pattern: "^" + uuidForm + "$"})
}

// Schema describes a range of dates.
func (rangeText) Schema(huma.Registry) *huma.Schema {
	return markNamed("DateRange", &huma.Schema{Type: huma.TypeString, Format: rangeFormat})
}

// Schema describes an id to select or to leave out.
func (pickText) Schema(huma.Registry) *huma.Schema {
	return markNamed("IdFilter", &huma.Schema{
		Type:    huma.TypeString,
		Format:  pickFormat,
		Pattern: "^!?" + uuidForm + "$",
	})
}

// Schema describes a reference, or null, to select or to leave out.
func (referenceText) Schema(huma.Registry) *huma.Schema {
	return markNamed("ReferenceFilter", &huma.Schema{
		Type:    huma.TypeString,
		Format:  refFormat,
		Pattern: "^!?(null|unmapped|" + uuidForm + ")$",
	})
}

// Schema describes an amount or a range of amounts.
func (amountText) Schema(huma.Registry) *huma.Schema {
	return markNamed("AmountFilter", &huma.Schema{
		Type:    huma.TypeString,
		Format:  amountFormat,
		Pattern: money.RangePattern,
	})
}

// Schema describes amounts and ranges of amounts, separated by commas.
func (amountsText) Schema(huma.Registry) *huma.Schema {
	one := strings.Trim(money.RangePattern, "^$")

	return markNamed("AmountFilters", &huma.Schema{
		Type:    huma.TypeString,
		Format:  amountsFormat,
		Pattern: "^" + one + "(," + one + "){0,9}$",
	})
}

// Schema describes a civil date.
func (dateText) Schema(huma.Registry) *huma.Schema {
	return markNamed("Date", &huma.Schema{Type: huma.TypeString, Format: "date"})
}

// Schema describes a month.
func (monthText) Schema(huma.Registry) *huma.Schema {
	return markNamed("Month", &huma.Schema{Type: huma.TypeString, Format: monthFormat, Pattern: `^\d{4}-(0[1-9]|1[0-2])$`})
}

// Schema describes an amount of money.
func (centsNumber) Schema(huma.Registry) *huma.Schema {
	return markNamed("Cents", &huma.Schema{Type: huma.TypeInteger, Format: "int64"})
}

// Schema describes a share.
func (rateNumber) Schema(huma.Registry) *huma.Schema {
	return markNamed("Rate", &huma.Schema{Type: huma.TypeInteger, Format: "int64"})
}
