package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// A query has at most this many bytes and words that count. More would only cost time.
const (
	maxQuery = 200
	maxWords = 10
)

// Bound returns as much of a query as is looked at.
func Bound(query string) string {
	return strings.ToValidUTF8(query[:min(len(query), maxQuery)], "")
}

// token is a word of a text with its place, and the terms that it is found by.
type token struct {
	start, end int
	terms      []string
}

// split returns the words of a text: letters and digits without a break. A name such as bankRecordId is found as a whole
// and by each of its words.
func split(text string) []token {
	var out []token

	start := -1
	add := func(end int) {
		if start >= 0 {
			out = append(out, token{start, end, termsOfWord(text[start:end])})
			start = -1
		}
	}

	for i, r := range text {
		if isInWord(r) {
			if start < 0 {
				start = i
			}

			continue
		}

		add(i)
	}

	add(len(text))

	return out
}

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// termsOfWord returns the stem of a word and, of a name in mixed case, those of its parts.
func termsOfWord(text string) []string {
	terms := []string{stem(strings.ToLower(text))}

	begin := 0
	for i, r := range text {
		if i > begin && unicode.IsUpper(r) {
			if previous, _ := utf8.DecodeLastRuneInString(text[:i]); unicode.IsUpper(previous) {
				continue
			}

			terms = append(terms, stem(strings.ToLower(text[begin:i])))
			begin = i
		}
	}

	if begin > 0 {
		terms = append(terms, stem(strings.ToLower(text[begin:])))
	}

	return terms
}

// stem returns the stem of a word in lower case. A reservation is no reserve, though both have one stem.
func stem(text string) string {
	if strings.HasPrefix(text, "reservation") {
		return "reservation"
	}

	return english.Stem(text, true)
}

// splitQuery returns the words of a query in lower case, without those that say nothing if others do.
func splitQuery(query string) []string {
	words := strings.FieldsFunc(strings.ToLower(Bound(query)), func(r rune) bool { return !isInWord(r) })
	if telling := slices.DeleteFunc(slices.Clone(words), english.IsStopWord); len(telling) > 0 {
		words = telling
	}

	return words[:min(len(words), maxWords)]
}

// synonyms have what people of the trade say, and the words of these pages for it. A phrase counts where its words follow
// each other.
var synonyms = []struct{ said, here string }{
	{"1099", "1099 tax"},
	{"accrual", "recognition"},
	{"ach", "payment"},
	{"autopay", "payout"},
	{"bank feed", "bank feed"},
	{"booking", "reservation stay"},
	{"bookkeeping", "books"},
	{"chargeback", "refund dispute"},
	{"close", "lock"},
	{"commission", "fee"},
	{"csv", "file import"},
	{"dispute", "chargeback refund"},
	{"distribution", "payout"},
	{"escrow", "trust"},
	{"excel", "file spreadsheet"},
	{"guest", "reservation"},
	{"holdback", "reserve"},
	{"hook", "webhook"},
	{"homeowner", "owner"},
	{"import", "file upload"},
	{"invite", "user people"},
	{"landlord", "owner"},
	{"login", "user people key"},
	{"member", "user people"},
	{"migrate", "move cutover"},
	{"month end", "close"},
	{"occupancy tax", "tax"},
	{"onboarding", "move"},
	{"password", "key token"},
	{"period close", "close"},
	{"pms", "system"},
	{"property", "listing"},
	{"quickbooks", "summary"},
	{"reconcile", "match"},
	{"rent roll", "reservation"},
	{"remittance", "payout"},
	{"role", "scope bundle"},
	{"test mode", "sandbox demo"},
	{"token", "key"},
	{"unit", "listing"},
	{"vat", "tax"},
	{"xero", "summary"},
}

// synonymsAt returns the synonyms of the word or phrase that begins at a place of a query.
func synonymsAt(words []string, at int) []string {
	var out []string

	for _, s := range synonyms {
		said := strings.Fields(s.said)
		if at+len(said) > len(words) {
			continue
		}

		same := true
		for i, w := range said {
			same = same && stem(words[at+i]) == stem(w)
		}

		if same {
			out = append(out, strings.Fields(s.here)...)
		}
	}

	return out
}
