package api_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"stayledger/platform/api"
)

type manyInput struct {
	Body struct {
		Data []struct {
			Name *string        `json:"name,omitempty" maxLength:"200"`
			Free map[string]any `json:"free,omitempty"`
		} `json:"data" maxItems:"5000"`
		Text string         `json:"text,omitempty"`
		Free map[string]any `json:"free,omitempty"`
	}
}

// Whatever a body holds, all the memory that is asked for until it is bound or refused is at most six times its size
// and 32 MiB: reading it takes up to three times, and one that passes is built once, at worst from as many values of
// free form as there may be. It is no parallel test, so that what others allocate is not counted.
//
//nolint:paralleltest // see above
func TestBodiesTakeABoundedMultipleOfTheirSize(t *testing.T) {
	const size = 8 << 20

	fill := func(head, item, tail string) string {
		n := (size - len(head) - len(tail)) / (len(item) + 1)
		return head + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + tail
	}

	distinct := func(head, value, tail string) string {
		var b strings.Builder
		b.WriteString(head)

		for i := 0; b.Len() < size-100; i++ {
			if i > 0 {
				b.WriteByte(',')
			}

			b.WriteString(`"` + strings.Repeat("k", i%7) + string(rune('a'+i%26)))

			for n := i; n > 0; n /= 26 {
				b.WriteByte(byte('a' + n%26))
			}

			b.WriteString(`":` + value)
		}

		return b.String() + tail
	}
	for name, body := range map[string]string{
		"unknown fields in many objects": fill(`{"data":[`, `{"":0}`, `]}`),
		"empty objects":                  fill(`{"data":[`, `{}`, `]}`),
		"empty lists":                    fill(`{"data":[`, `[]`, `]}`),
		"empty objects of free form":     fill(`{"data":[],"free":{"a":[`, `{}`, `]}}`),
		"numbers of free form":           fill(`{"data":[],"free":{"a":[`, `0`, `]}}`),
		"lists of free form":             fill(`{"data":[],"free":{"a":[`, `[]`, `]}}`),
		"nested lists of free form":      fill(`{"data":[],"free":{"a":[`, strings.Repeat("[", 60)+strings.Repeat("]", 60), `]}}`),
		"free form in many objects":      fill(`{"data":[`, `{"free":{"a":[{},{},{},{}]}}`, `]}`),
		"one field again and again":      fill(`{"data":[],`, `"text":""`, `}`),
		"one free field again and again": fill(`{"data":[],"free":{`, `"a":0`, `}}`),
		"many unknown fields":            distinct(`{"data":[],`, "0", `}`),
		"many fields of free form":       distinct(`{"data":[],"free":{`, "0", `}}`),
		"a long text":                    `{"data":[],"text":"` + strings.Repeat("x", size-100) + `"}`,
		"a long text of escapes":         `{"data":[],"text":"` + strings.Repeat(`\\u00e4`, size/6-100) + `"}`,
		"a long name":                    `{"data":[],"` + strings.Repeat("x", size-100) + `":0}`,
		"a long name of escapes":         `{"data":[],"` + strings.Repeat(`\\n`, size/2-100) + `":0}`,
		"a long number":                  `{"data":[],"text":` + strings.Repeat("9", size-100) + `}`,
		"mistakes in every item":         fill(`{"data":[`, `{"name":5}`, `]}`),
		"NUL characters":                 fill(`{"data":[`, `"\\u0000"`, `]}`),
		"no JSON at the end":             fill(`{"data":[`, `{"free":{}}`, `]`),
		"deep":                           `{"data":` + strings.Repeat("[", size),
		"as much of free form as passes": `{"data":[],"free":{"a":[` + strings.TrimSuffix(strings.Repeat(`{"":0},`, 24_998), ",") + `]}}`,
		"texts of free form":             fill(`{"data":[],"free":{"a":[`, `"`+strings.Repeat("x", 900)+`"`, `]}}`),
	} {
		body = strings.ReplaceAll(body, `\\`, `\`)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))

		var before, after runtime.MemStats

		runtime.GC()
		runtime.ReadMemStats(&before)

		issues, err := api.BindJSON[manyInput](r, size+1<<10)

		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-32s %4d MiB for %d MiB, %d issues, %v", name, used>>20, len(body)>>20, len(issues), err)

		if name == "as much of free form as passes" && (err != nil || len(issues) > 0) {
			t.Errorf("%s does not: %v, %v", name, issues, err)
		}

		if bound := uint64(6*len(body) + 32<<20); used > bound {
			t.Errorf("%s: %d MiB for a body of %d MiB", name, used>>20, len(body)>>20)
		}

		if len(issues) > 100 {
			t.Errorf("%s: %d issues", name, len(issues))
		}

		told := 0

		for _, issue := range issues {
			for _, part := range issue.Path {
				if text, ok := part.(string); ok {
					told += len(text)
				}
			}
		}

		if told > 100*64*200 {
			t.Errorf("%s: the issues have %d bytes of names", name, told)
		}
	}
}
