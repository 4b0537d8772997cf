package api_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stayledger/platform/api"
)

// What is accepted means the same to every reader of queries.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"", "a=1&b=2", "a=1&a=2", "a", "=", "&", "%zz=1", "a=%zz", "a;b", "a=%00", "a=%ff", "a=b=c", "a=+%2B"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, issues := api.ParseQuery(raw)
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
			if len(values) != 1 || values[0] != got[name] || values[0] == "" {
				t.Errorf("%q: %s is %q, others read %q", raw, name, got[name], values)
			}
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
