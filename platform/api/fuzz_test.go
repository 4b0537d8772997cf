package api_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"testing"

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

// What is accepted is JSON, and the tree is what the decoder will see.
func FuzzStrictJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"a":2}`, `[1,-0,1e3,1.5,9007199254740993]`, `"\u0000"`, `{"a":{"b":[null,true,"x"]}} x`, `[1 2]`, "\xff", `{"a" 1}`, `[1}`, `01`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, issues, err := api.StrictJSON([]byte(text))
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is accepted", text)
		}
		if len(issues) > 0 {
			return
		}
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got := floats(tree); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %v, the decoder sees %v", text, got, want)
		}
	})
}

// floats makes all numbers what the plain decoder makes of them.
func floats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}
