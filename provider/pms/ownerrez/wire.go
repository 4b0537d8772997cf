package ownerrez

import (
	"encoding/json"
	"strings"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/outbound"
	"stayledger/provider/pms"
	"stayledger/provider/pms/wire"
)

// Numbers and texts as the system writes them.
type (
	number = wire.Number
	text   = wire.Text
)

// word returns a word of the system in one spelling: its description writes some with and some without underscores.
func word(t text) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(string(t)))
}

// date is a day, nil for none. A time behind it is not read.
type date struct{ *day.Day }

// UnmarshalJSON reads a day, an empty text or null. It fails for everything else.
func (d *date) UnmarshalJSON(content []byte) error {
	var s string
	if err := json.Unmarshal(content, &s); err != nil {
		return pms.Wrong("", pms.BadForm)
	}

	if s == "" {
		return nil
	}

	parsed, err := day.Parse(s[:min(len(s), len("2006-01-02"))])
	if err != nil {
		return pms.Wrong("", pms.BadForm)
	}

	d.Day = &parsed

	return nil
}

// instant returns the time of a text, zero for none. One without a zone is in UTC, as the names of the fields say.
func instant(t text) time.Time {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if out, err := time.Parse(form, string(t)); err == nil {
			return out.UTC()
		}
	}

	return time.Time{}
}

// rowID returns the id of a row. It fails with a pms.Error if it has none: what the row is about is not known.
func rowID(content json.RawMessage) (string, error) {
	var key struct {
		ID text `json:"id"`
	}
	if pms.Unmarshal(content, &key) != nil || !isID(string(key.ID)) {
		return "", pms.BadAnswer("has a row without an id")
	}

	return string(key.ID), nil
}

// isID reports whether a text can be an id: they go into lists with commas between.
func isID(s string) bool { return outbound.Printable(s, maxID) && !strings.Contains(s, ",") }
