package table

import (
	"errors"
	"time"

	"stayledger/platform/day"
)

// ErrNotDate means that the text is no date in this order, or a day that does not exist.
var ErrNotDate = errors.New("table: not a date")

// Order is the order of the parts of a date that is written in digits.
type Order string

// The orders. Dates with the year first or with the name of the month read the same in all of them.
const (
	yearFirst  Order = "ymd"
	dayFirst   Order = "dmy"
	monthFirst Order = "mdy"
)

// The years of dates that are taken for dates.
const (
	firstYear = 1900
	lastYear  = 2200
)

// Dates decides over a whole column how its dates are written. The zero value is ready.
type Dates struct {
	hasDigits bool // There are dates of digits with the year last.
	isDay     bool // One of them has the day first, such as 28/11/2026.
	isMonth   bool // One of them has the month first, such as 11/28/2026.
	readsBoth bool // One of them is another day in each order, such as 01/02/2026.
}

// Add notes one cell of the column. A blank cell and a text that is no date change nothing.
func (d *Dates) Add(text string) {
	// Most columns have ISO dates, which decide nothing.
	if _, ok := splitISO(text); ok {
		return
	}

	parts, ok := splitDate(text)
	if !ok || parts.isFixed {
		return
	}

	// A number above 12 is a day, so only one order fits.
	isDay, isMonth := parts.fits(dayFirst), parts.fits(monthFirst)

	d.hasDigits = d.hasDigits || isDay || isMonth
	d.isDay = d.isDay || isDay && !isMonth
	d.isMonth = d.isMonth || isMonth && !isDay
	d.readsBoth = d.readsBoth || isDay && isMonth && parts.first != parts.second
}

// Decide returns the order of the column. It returns false if the column reads both ways, or if some dates have the
// day first and others the month. Equal parts such as 03/03/2026 decide nothing: a column of them only has the day
// first. A column of ISO dates, of dates with names of months, or without dates has the year first.
func (d *Dates) Decide() (Order, bool) {
	switch {
	case d.isDay && d.isMonth:
		return dayFirst, false
	case d.isDay:
		return dayFirst, true
	case d.isMonth:
		return monthFirst, true
	case d.hasDigits:
		return dayFirst, !d.readsBoth
	default:
		return yearFirst, true
	}
}

// IsProved reports whether some date of the column fits one order only.
func (d *Dates) IsProved() bool { return d.isDay != d.isMonth }

// Parse returns a date in this order. Times after the date are left out: it is the civil date as written. It fails
// with ErrNotDate.
func (o Order) Parse(text string) (day.Day, error) {
	// The usual form first, which is quicker to read.
	parts, ok := splitISO(text)
	if !ok {
		parts, ok = splitDate(text)
	}

	if !ok || !parts.fits(o) {
		return day.Day{}, ErrNotDate
	}

	found := parts.day(o)
	if found.IsZero() {
		return day.Day{}, ErrNotDate
	}

	return found, nil
}

// dateParts are the numbers of a date in the order in which they are written.
type dateParts struct {
	first, second, year int
	isFixed             bool // The first is the month, the second the day, whatever the order of the column.
	isCompact           bool // Eight digits without anything between them.
}

// in returns month and day in an order.
func (p dateParts) in(o Order) (month, dayOfMonth int) {
	if p.isFixed || o == monthFirst {
		return p.first, p.second
	}

	return p.second, p.first
}

// fits reports whether the parts could be a date in an order. Days that a month does not have do not count: 31.02.2026
// shows the order although there is no such day.
func (p dateParts) fits(o Order) bool {
	month, dayOfMonth := p.in(o)

	return (p.isFixed || o == dayFirst || o == monthFirst) && p.year >= firstYear && p.year <= lastYear &&
		month >= 1 && month <= 12 && dayOfMonth >= 1 && dayOfMonth <= 31
}

// day returns the day in an order, or the zero Day if the month does not have it.
func (p dateParts) day(o Order) day.Day {
	month, dayOfMonth := p.in(o)

	// Package time carries the 31st of a short month over to the next one.
	found := time.Date(p.year, time.Month(month), dayOfMonth, 0, 0, 0, 0, time.UTC)
	if found.Day() != dayOfMonth {
		return day.Day{}
	}

	return day.Of(found)
}

// splitISO reads the ten characters YYYY-MM-DD without looking at anything else.
func splitISO(text string) (dateParts, bool) {
	if len(text) != len("YYYY-MM-DD") || text[4] != '-' || text[7] != '-' {
		return dateParts{}, false
	}

	year, isYear := twoDigits(text[0], text[1])
	rest, isRest := twoDigits(text[2], text[3])
	month, isMonth := twoDigits(text[5], text[6])
	dayOfMonth, isDay := twoDigits(text[8], text[9])

	return dateParts{first: month, second: dayOfMonth, year: year*100 + rest, isFixed: true},
		isYear && isRest && isMonth && isDay
}

func twoDigits(tens, ones byte) (int, bool) {
	return int(tens-'0')*10 + int(ones-'0'), isDigit(tens) && isDigit(ones)
}
