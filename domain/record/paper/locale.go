package paper

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// dateLayouts are the short dates of a language, or of a language in one region. Others are written as ISO dates.
var dateLayouts = map[string]string{
	"en-us": "Jan 2, 2006", "en": "2 Jan 2006",
	"de": "02.01.2006", "fr": "02/01/2006", "fr-ca": "2006-01-02", "es": "02/01/2006", "it": "02/01/2006",
	"pt": "02/01/2006", "nl": "02-01-2006", "el": "02/01/2006", "pl": "02.01.2006", "cs": "02.01.2006",
	"ru": "02.01.2006", "uk": "02.01.2006", "bg": "02.01.2006", "tr": "02.01.2006", "nb": "02.01.2006",
	"da": "02.01.2006", "fi": "02.01.2006",
}

// letterRegions are the regions that use US Letter; all others use A4.
var letterRegions = map[string]bool{
	"us": true, "ca": true, "mx": true, "ph": true, "cl": true,
	"co": true, "cr": true, "gt": true, "pa": true, "pr": true,
}

// localeTag returns the language tag with hyphens and without any character that would break a PDF string. It
// returns en-US for an empty locale.
func localeTag(locale string) string {
	tag := strings.Map(func(r rune) rune {
		switch {
		case r == '_':
			return '-'
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-'):
			return r
		default:
			return -1
		}
	}, locale)
	if tag == "" {
		return "en-US"
	}

	return tag
}

// documentLanguage returns the language in which readers should read the document aloud: English whatever the locale
// is, unless the caller gave other labels.
func documentLanguage(given StatementLabels, tag string) string {
	if language, _, _ := strings.Cut(strings.ToLower(tag), "-"); language == "en" || given != (StatementLabels{}) {
		return tag
	}

	return "en"
}

// parseRegion returns the region of a language tag. It is "us" for plain English, and "" if there is none.
func parseRegion(tag string) string {
	parts := strings.Split(strings.ToLower(tag), "-")
	for _, part := range parts[1:] {
		if len(part) == 2 {
			return part
		}
	}

	if parts[0] == "en" && len(parts) == 1 {
		return "us"
	}

	return ""
}

// usesLetter reports whether the locale uses US Letter.
func usesLetter(tag string) bool { return letterRegions[parseRegion(tag)] }

// dateText returns a date YYYY-MM-DD as the locale writes it. Other text stays as it is.
func dateText(date, tag string) string {
	parsed, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}

	return parsed.Format(dateLayout(tag))
}

// dateLayout returns the layout of dates for the language in its region, for the language alone, or ISO.
func dateLayout(tag string) string {
	language, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if layout, ok := dateLayouts[language+"-"+parseRegion(tag)]; ok {
		return layout
	}

	if layout, ok := dateLayouts[language]; ok {
		return layout
	}

	return time.DateOnly
}

// monthNames are the names of the months by language. English is not among them, because package time has its
// names.
var monthNames = map[string]struct {
	names string
	of    string // between the name and the year
}{
	"de": {"Januar Februar März April Mai Juni Juli August September Oktober November Dezember", " "},
	"fr": {"janvier février mars avril mai juin juillet août septembre octobre novembre décembre", " "},
	"es": {"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre", " de "},
	"it": {"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre", " "},
	"pt": {"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro", " de "},
	"nl": {"januari februari maart april mei juni juli augustus september oktober november december", " "},
}

// MonthText returns the month of a date, such as January 2026, in the language of the locale. It writes the name in
// English, German, French, Spanish, Italian, Portuguese and Dutch, and the number in other languages, as for dates.
// Other text stays as it is.
func MonthText(date, locale string) string {
	parsed, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}

	language, _, _ := strings.Cut(strings.ToLower(localeTag(locale)), "-")
	if language == "en" {
		return parsed.Format("January 2006")
	}

	if in, known := monthNames[language]; known {
		return strings.Fields(in.names)[parsed.Month()-1] + in.of + parsed.Format("2006")
	}

	return ShortMonthText(date, locale)
}

// withoutDay turns the layout of a date into that of its month.
var withoutDay = strings.NewReplacer(
	"Jan 2, 2006", "Jan 2006",
	"2 Jan 2006", "Jan 2006",
	"02.", "",
	"02/", "",
	"-02", "",
	"02-", "",
)

// ShortMonthText returns the month of a date for a column: Jan 2026, 01/2026, or 2026-01. Other text stays as it
// is.
func ShortMonthText(date, locale string) string {
	parsed, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}

	return parsed.Format(withoutDay.Replace(dateLayout(localeTag(locale))))
}

// MonthsText returns a text such as "January 2026 – February 2026" for a period of months, in the language of the
// locale, or one month alone.
func MonthsText(first, last day.Day, locale string) string {
	from, to := MonthText(first.String(), locale), MonthText(last.String(), locale)
	if from == to {
		return from
	}

	return from + " – " + to
}

// percentText returns a percentage such as 12.5% as CLDR writes it for the locale, in Latin digits as for amounts.
// Other text stays as it is.
func percentText(percentage, tag string) string {
	figure, isPercentage := strings.CutSuffix(percentage, "%")

	value, err := strconv.ParseFloat(figure, 64)
	if !isPercentage || err != nil {
		return percentage
	}

	// As many decimals as were given: a share of 12.50% stays one.
	_, decimals, _ := strings.Cut(figure, ".")
	shown := number.Percent(value/100, number.Scale(len(decimals)), number.NoSeparator())

	// Some locales have digits of their own: use those of English instead.
	text := message.NewPrinter(language.Make(tag)).Sprint(shown)
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsDigit(r) }) {
		text = message.NewPrinter(language.English).Sprint(shown)
	}

	text = strings.Map(dropMarks, text)

	return figureSigns.Replace(text)
}

// dropMarks drops the marks of direction, which fonts do not have.
func dropMarks(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}

	return r
}

// AmountText returns an amount as documents show it outside a table, with its currency.
func AmountText(cents money.Cents, currency, locale string) string {
	return totalText(cents, currency, localeTag(locale))
}

// amountText returns the bare figure for a column that shows its currency elsewhere. The minus is a true one, which
// is as wide as the plus and is never separated from its figure.
func amountText(cents money.Cents, currency, tag string) string {
	figure := strings.TrimFunc(totalText(cents, currency, tag), func(r rune) bool { return !unicode.IsDigit(r) })
	if cents < 0 {
		return "−" + figure
	}

	return figure
}

// totalText returns an amount with its currency. The narrow space that some locales use to group digits is in few
// fonts; the ordinary no-break space is in all.
func totalText(cents money.Cents, currency, tag string) string {
	return figureSigns.Replace(cents.Format(currency, tag))
}

var figureSigns = strings.NewReplacer("-", "−", "\u202f", "\u00a0")
