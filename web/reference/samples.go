package reference

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Sample is a request that a chapter shows, and what the service answers.
type Sample struct {
	Name   string
	Status int
	// Answer is JSON; Part says that the service answers with more fields than stand there.
	Answer string
	Part   bool
	Request
}

//go:embed chapters/samples.json
var samplesFile []byte

//go:embed chapters/reasons.txt
var reasonsFile string

var readSamples = sync.OnceValues(func() ([]Sample, error) {
	var raw []struct {
		Name, Method, Path string
		Headers            map[string]string
		Body               json.RawMessage
		Status             int
		Answer             json.RawMessage
		Part, Anybody      bool
	}
	if err := json.Unmarshal(samplesFile, &raw); err != nil {
		return nil, fmt.Errorf("read the samples: %w", err)
	}

	out := make([]Sample, 0, len(raw))
	for _, r := range raw {
		s := Sample{Name: r.Name, Status: r.Status, Part: r.Part, Request: Request{Method: r.Method, Path: r.Path}}
		if !r.Anybody {
			s.Credential = "x-api-key"
		}

		for name, text := range r.Headers {
			s.Headers = append(s.Headers, Value{Name: name, Text: text})
		}

		var err error

		if r.Body != nil {
			s.Type = "application/json"
			if s.Body, err = indentJSON(r.Body); err != nil {
				return nil, err
			}
		}

		if s.Answer, err = indentJSON(r.Answer); err != nil {
			return nil, err
		}

		out = append(out, s)
	}

	return out, nil
})

// Samples returns the requests that the chapters show, in the order in which they can be tried. It fails for a
// malformed file.
func Samples() ([]Sample, error) { return readSamples() }

// sample finds what a chapter shows. It fails when there is none of that name.
func sample(name string) (Sample, error) {
	all, err := readSamples()
	if err != nil {
		return Sample{}, err
	}

	at := slices.IndexFunc(all, func(s Sample) bool { return s.Name == name })
	if at < 0 {
		return Sample{}, fmt.Errorf("there is no sample %q", name)
	}

	return all[at], nil
}

// AboutReason returns the contract's sentence about a reason, or "".
func AboutReason(reason string) string {
	for line := range strings.Lines(reasonsFile) {
		if name, about, _ := strings.Cut(strings.TrimSpace(line), ": "); name == reason {
			return about
		}
	}

	return ""
}
