package table

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// delimiters are those that are recognized.
const delimiters = ",;\t|"

// tally counts for one delimiter how many records it divides into how many columns.
type tally map[int]int

// score returns how many delimiters the records of the most usual width have together.
func (t tally) score() int {
	best := 0
	for found, records := range t {
		best = max(best, found*records)
	}

	return best
}

// recognizeDelimiter returns the delimiter that divides the beginning of a text into the most columns of the same
// number. A text of one column has a comma. It fails with ErrDelimiter if two delimiters do equally well.
func recognizeDelimiter(from text) (rune, error) {
	in := newSource(from)
	in.room = sniffLength

	head, err := io.ReadAll(io.LimitReader(in, sniffLength))
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return 0, err
	}

	// Excel's own line leaves nothing to recognize.
	first, _, _ := strings.Cut(string(head[:min(len(head), 16)]), "\n")
	if rest, is := parseSeparator(strings.Trim(first, "\"\r")); is && utf8.RuneCountInString(rest) == 1 {
		separator, _ := utf8.DecodeRuneInString(rest)
		return separator, nil
	}

	// A text that is cut at the end of the head has half a record there.
	tallies := countDelimiters(head, int64(len(head)) < sniffLength)
	best, isTie := compareScores(tallies)

	if isTie {
		return 0, &Error{Err: ErrDelimiter}
	}

	return best, nil
}

// compareScores returns the delimiter with the highest score, and whether another one has the same.
func compareScores(tallies [len(delimiters)]tally) (best rune, isTie bool) {
	// A text of one column has no delimiter at all. The comma does no harm then.
	best = ','
	highest := 0

	for i, delimiter := range delimiters {
		score := tallies[i].score()
		if score == 0 {
			continue
		}

		isTie = score == highest || isTie && score < highest
		if score > highest {
			best, highest = delimiter, score
		}
	}

	return best, isTie
}

// countDelimiters counts the delimiters outside quotes in each record. The last record counts only if it is whole.
func countDelimiters(head []byte, isWhole bool) (tallies [len(delimiters)]tally) {
	for i := range tallies {
		tallies[i] = tally{}
	}

	// The delimiters in the record so far.
	var found [len(delimiters)]int

	count := func() {
		for i, n := range found {
			if n > 0 {
				tallies[i][n]++
			}

			found[i] = 0
		}
	}

	isQuoted := false

	for i, c := range head {
		switch {
		// Two quotes within quotes change nothing.
		case c == '"':
			isQuoted = !isQuoted
		case isQuoted:
		case c == '\n':
			count()
		// A comma between digits is likely a decimal comma.
		case c == ',' && i > 0 && i+1 < len(head) && isDigit(head[i-1]) && isDigit(head[i+1]):
		default:
			if at := strings.IndexByte(delimiters, c); at >= 0 {
				found[at]++
			}
		}
	}

	if isWhole {
		count()
	}

	return tallies
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
