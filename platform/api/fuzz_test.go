package api_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stayledger/platform/api"
)

// What is accepted means the same to every reader of queries.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"", "a=1&b=2", "a=1&a=2", "a", "=", "&", "%zz=1", "a=%zz", "a;b", "a=%00", "a=%ff", "a=b=c", "a=+%2B", "t=a&t=b,c", `t="a,b"&t="c`} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, raw string) {
		got, issues := api.ParseQuery(raw, map[string]bool{"t": true})
		if len(issues) > 100 {
			t.Errorf("%d issues", len(issues))
		}

		if len(issues) > 0 {
			return
		}

		want, err := url.ParseQuery(raw)
		if err != nil || len(want) != len(got) {
			t.Fatalf("%q is %v, others read %v, %v", raw, got, want, err)
		}

		for name, values := range want {
			if len(values) != 1 && name != "t" || strings.Join(values, ",") != got[name] || slices.Contains(values, "") {
				t.Errorf("%q: %s is %q, others read %q", raw, name, got[name], values)
			}
		}
	})
}

// A record that is accepted has the values that the standard library reads, and writing them as CSV and reading them
// again changes nothing.
func FuzzSplitRecord(f *testing.F) {
	for _, seed := range []string{"a", "a,b", `"a,b"`, `"a""b",c`, `"`, `""`, ",", "a,", "\"a\nb\"", "a\nb", " a", `a"b`} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, record string) {
		got := api.SplitRecord(record)
		if got == nil || strings.Contains(record, "\r") { // the standard library leaves out carriage returns
			return
		}

		if want, err := csv.NewReader(strings.NewReader(record + "\n")).Read(); record != "" && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%q is read as %q, others read %q, %v", record, got, want, err)
		}

		var again strings.Builder

		w := csv.NewWriter(&again)
		if err := w.Write(got); err != nil {
			t.Fatal(err)
		}

		w.Flush()

		if back := api.SplitRecord(strings.TrimSuffix(again.String(), "\n")); !slices.Equal(got, back) {
			t.Errorf("%q is written as %q and read as %q", got, again.String(), back)
		}
	})
}

// The decoder of the standard library, asked token by token, accepts the same texts and finds the same fault in them.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[1,-0,1e3,1.5,9007199254740993]`, `"\u0000"`, `{"a":{"b":[null,true,"x"]}} x`, `[1 2]`, "\xff", `{"a" 1}`,
		`[1}`, `01`, `-`, `1.`, `1e`, `.5`, `"\x"`, `"\u12"`, `"\ud800"`, "\"\x00\"", `[[],[{}],{"":[]}]`, "{\"a\u2028\":1}", ` [ ] `, `{"a":1,}`, `[,]`, `tru`, `nulll`, "\x00", "\ufeff{}",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		issues, err := api.CheckJSON([]byte(text))
		o := oracle{dec: json.NewDecoder(strings.NewReader(text))}
		o.dec.UseNumber()

		want := o.value(0)
		if _, more := o.dec.Token(); want == nil && !errors.Is(more, io.EOF) || !utf8.ValidString(text) {
			want = errors.New("more, or invalid UTF-8")
		}

		if hasHalf(text) { // The library stores another character for it.
			want = errors.New("half of a surrogate pair")
		}

		if (err == nil) != (want == nil) {
			t.Fatalf("%q: got %v, want %v", text, err, want)
		}

		if err == nil && len(issues) != min(o.faults, 100) {
			t.Errorf("%q: got %v, want %d", text, issues, o.faults)
		}
	})
}

// oracle counts what no body may have.
type oracle struct {
	dec    *json.Decoder
	faults int
}

func (o *oracle) value(depth int) error {
	token, err := o.dec.Token()
	if err != nil {
		return err
	}

	switch t := token.(type) {
	case json.Delim:
		if depth == 64 {
			return errors.New("nested too deeply")
		}

		seen := map[string]bool{}

		for o.dec.More() {
			if t == '{' {
				key, err := o.dec.Token()
				if err != nil {
					return err
				}

				name, _ := key.(string)
				o.count(seen[name])
				o.count(strings.ContainsRune(name, 0))
				seen[name] = true
			}

			if err := o.value(depth + 1); err != nil {
				return err
			}
		}

		_, err := o.dec.Token()

		return err
	case json.Number:
		n, err := strconv.ParseFloat(string(t), 64)
		o.count(err != nil || n >= 1<<53 || n <= -(1<<53) || strings.ContainsAny(string(t), "eE") || t == "-0")
	case string:
		o.count(strings.ContainsRune(t, 0))
	}

	return nil
}

func (o *oracle) count(fault bool) {
	if fault {
		o.faults++
	}
}

// hasHalf reports whether a text has an escape that is half of a surrogate pair without the other half.
func hasHalf(text string) bool {
	code := func(at int) uint64 {
		if at+6 > len(text) || text[at:at+2] != `\u` {
			return 0
		}

		n, err := strconv.ParseUint(text[at+2:at+6], 16, 16)
		if err != nil {
			return 0
		}

		return n
	}

	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}

		switch n := code(i); {
		case n >= 0xD800 && n < 0xDC00 && code(i+6) >= 0xDC00 && code(i+6) < 0xE000:
			i += 11
		case n >= 0xD800 && n < 0xE000:
			return true
		default:
			i++
		}
	}

	return false
}
