package money

import (
	"strconv"
	"strings"
)

// ParseRanges reads ranges of cents as filters give them: 100 is from 100 to 100, 100...200 has both ends, several are separated by commas.
// It gives the lower and the upper ends; ok is false for any other form and for an end below its start.
func ParseRanges(text string) (lows, highs []int64, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "...")
		if !isRange {
			to = from
		}
		low, lowErr := strconv.ParseInt(from, 10, 64)
		high, highErr := strconv.ParseInt(to, 10, 64)
		if lowErr != nil || highErr != nil || low > high {
			return nil, nil, false
		}
		lows, highs = append(lows, low), append(highs, high)
	}
	return lows, highs, true
}
