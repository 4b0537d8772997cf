package render

import (
	"strings"
	"time"
	"unicode"

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

// letterRegions use US Letter; everyone else uses A4.
var letterRegions = map[string]bool{"us": true, "ca": true, "mx": true, "ph": true, "cl": true, "co": true, "cr": true, "gt": true, "pa": true, "pr": true}

// localeTag returns the language tag with hyphens and nothing a PDF string could choke on. Without one it is en-US.
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

func region(tag string) string {
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

func isLetter(tag string) bool { return letterRegions[region(tag)] }

// dateText writes YYYY-MM-DD as the locale does; what is no date stays as it is.
func dateText(date, tag string) string {
	parsed, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	language, _, _ := strings.Cut(strings.ToLower(tag), "-")
	layout, ok := dateLayouts[language+"-"+region(tag)]
	if !ok {
		layout, ok = dateLayouts[language]
	}
	if !ok {
		return date
	}
	return parsed.Format(layout)
}

// amountText writes the bare figure for a column whose currency stands elsewhere, with a true minus, which is as wide
// as the plus and is never broken from its figure.
func amountText(cents money.Cents, currency, tag string) string {
	figure := strings.TrimFunc(totalText(cents, currency, tag), func(r rune) bool { return !unicode.IsDigit(r) })
	if cents < 0 {
		return "−" + figure
	}
	return figure
}

// totalText writes a figure that stands alone, with its currency. The narrow space some locales group with is in few
// fonts; the ordinary no-break space is in all.
func totalText(cents money.Cents, currency, tag string) string {
	return figureSigns.Replace(cents.Format(currency, tag))
}

var figureSigns = strings.NewReplacer("-", "−", "\u202f", "\u00a0")
