package migration_test

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// flood is a dump that is made while it is read, so that it never lies in memory: a start, a text again and again up to
// a size, and an end. It notes how much memory is in use meanwhile.
type flood struct {
	start, text, end string
	size             int

	from    io.Reader
	sampled int
	highest uint64
}

// repeat reads a text again and again.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at%len(r.text)]
		r.at++
	}

	return len(p), nil
}

// Read implements io.Reader.
func (f *flood) Read(p []byte) (int, error) {
	if f.from == nil {
		f.from = io.MultiReader(strings.NewReader(form(f.start)), io.LimitReader(&repeat{text: f.text}, int64(f.size)), strings.NewReader(f.end+"\r\n--x--\r\n"))
	}

	n, err := f.from.Read(p)
	if f.sampled += n; f.sampled >= 1<<20 {
		f.sampled = 0
		f.highest = max(f.highest, inUse())
	}

	return n, err
}

// form returns the beginning of an upload with a dump that begins with a text.
func form(dump string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"dump.json\"\r\n\r\n" + dump
}

// inUse returns how many bytes are in use.
func inUse() uint64 {
	var memory runtime.MemStats

	runtime.GC()
	runtime.ReadMemStats(&memory)

	return memory.HeapAlloc
}

// Whatever a dump is made of, it is refused at its place before it fills the memory.
func TestHostileDumpsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // It measures memory.
	s := newScene(t)
	before := s.legacy.Fingerprint()

	const (
		huge   = 250 << 20
		record = 16 << 20 // a few times the longest record
		long   = 96 << 20 // a few times the longest statement
	)

	statement := `{"listings":[{"id":"l","name":"L"}],"statements":[{"id":"s","listingId":"l","startAt":"2025-01-01","endAt":"2025-01-31",` +
		`"status":"posted","balanceStart":0,"balanceEnd":0,"lines":[`

	connection := `{"id":"1","appId":"pmsProtocol","name":"A","settings":{"note":"` + strings.Repeat("x", 1_000_000) + `"}},`

	for _, c := range []struct {
		what         string
		flood        flood
		most         uint64
		issue, place string // without an issue: malformed
	}{
		{"a text for a dump", flood{start: `"`, text: "x", size: huge}, record, "length", "file"},
		{"blanks before a dump", flood{text: " \n", size: huge}, record, "length", "file"},
		{"blanks after a dump", flood{start: `{}`, text: "\n", size: huge}, record, "length", "file"},
		{"the name of a list", flood{start: `{"`, text: "x", size: huge}, record, "length", "file"},
		{"the name of a list that is read ahead", flood{start: `{"`, text: "x", size: 1000, end: `":[]}`}, record, "length", "file"},
		{"a text for a list", flood{start: `{"owners":"`, text: "x", size: huge}, record, "length", "owners"},
		{"a field of a record", flood{start: `{"owners":[{"id":"1","name":"`, text: "x", size: huge}, record, "length", "owners.0"},
		{"the name of a field", flood{start: `{"owners":[{"id":"1","name":"A"},{"`, text: "x", size: huge}, record, "length", "owners.1"},
		{"a number", flood{start: `{"owners":[{"id":`, text: "1", size: huge}, record, "length", "owners.0"},
		{"many fields", flood{start: `{"owners":[{"id":"1"`, text: `,"id":"1"`, size: huge}, record, "length", "owners.0"},
		{"a record of free form", flood{start: `{"connections":[{"settings":{"a":[1`, text: `,1`, size: huge}, record, "length", "connections.0"},
		{"blanks between records", flood{start: `{"owners":[{"id":"1","name":"A"},`, text: " ", size: huge}, record, "length", "owners.1"},
		{"blanks behind the last record", flood{start: `{"owners":[{"id":"1","name":"A"}`, text: " ", size: huge}, record, "length", "owners.1"},
		{"a record one byte too long", flood{start: `{"owners":["`, text: "x", size: 1<<20 - 1, end: `"]}`}, record, "length", "owners.0"},
		{"a record of the limit", flood{start: `{"owners":["`, text: "x", size: 1<<20 - 2, end: `"]}`}, record, "object", "owners.0"},
		{"brackets", flood{text: "[", size: 1_000_000}, record, "", ""},
		{"brackets in a record", flood{start: `{"owners":[`, text: "[", size: 1_000_000}, record, "", ""},
		{"objects in a record", flood{start: `{"owners":[`, text: `{"a":`, size: 1_000_000}, record, "", ""},
		{"a text of a statement", flood{start: statement + `{"id":"`, text: "x", size: huge}, long, "length", "statements.0"},
		{"lines of a statement", flood{start: statement + `{}`, text: ",{}", size: huge / 3 * 3}, long, "length", "statements.0"},
		{"too many lines of a statement", flood{start: statement + `{}`, text: ",{}", size: 30 << 20 / 3 * 3, end: `]}]}`}, long, "items", "statements.0.lines"},
		{"long records", flood{start: `{"connections":[`, text: connection, size: 40 * len(connection), end: `7]}`}, record, "object", "connections.40"},
	} {
		used := inUse()

		answer := s.legacy.Post("/legacy/import", &c.flood, "Content-Type", "multipart/form-data; boundary=x").WantError("BAD_REQUEST", "")
		if c.issue != "" {
			answer.WantIssue(c.issue, c.place)
		}

		if more := c.flood.highest - min(used, c.flood.highest); more > c.most {
			t.Errorf("%s: %d MiB are in use", c.what, more>>20)
		}
	}

	if after := s.legacy.Fingerprint(); after != before {
		t.Error("a refused dump changed something")
	}
}
