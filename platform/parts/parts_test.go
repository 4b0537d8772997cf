package parts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apitest"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

func whole() parts.Part {
	return parts.Part{
		Endpoints: []api.Endpoint{{Method: "GET", Path: "/toys", ID: "listToys"}},
		Handlers:  map[job.Kind]job.Handler{apitest.Kind("toy.wind"): {Timeout: time.Second}},
		Every:     []job.Every{{Name: "toy-purge"}},
		Tables:    parts.Owns("toy"),
		Uses:      []parts.Use{{Of: "box", Reason: "toys", Columns: []string{"toy.box_id"}}},
		Used:      []*parts.Usage{parts.NewUsage("toy", "games")},
		Exports:   []parts.Export{paper("/toys/csv")},
		Checks:    []parts.Check{{Name: "toys"}},
	}
}

// paper is an export by its path.
type paper string

func (p paper) Route() string { return string(p) }

func TestTwoOfOneNamePanic(t *testing.T) {
	t.Parallel()

	for told, p := range map[string]parts.Part{
		"route GET /toys":            {Endpoints: []api.Endpoint{{Method: "GET", Path: "/toys", ID: "other"}}},
		"endpoint listToys":          {Endpoints: []api.Endpoint{{Method: "GET", Path: "/others", ID: "listToys"}}},
		"work of kind toy.wind":      {Handlers: map[job.Kind]job.Handler{apitest.Kind("toy.wind"): {}}},
		"periodic work toy-purge is": {Every: []job.Every{{Name: "toy-purge"}}},
		"table toy":                  {Tables: parts.Owns("toy")},
		"usage of table toy":         {Used: []*parts.Usage{parts.NewUsage("toy")}},
		"balls is no reason why a record of toy is in use": {Uses: []parts.Use{{Of: "toy", Reason: "balls"}}},
		"a use of toy is declared by a noun that does not own game": {
			Uses: []parts.Use{{Of: "toy", Reason: "games", Columns: []string{"game.toy_id"}}},
		},
		"check toys is":       {Checks: []parts.Check{{Name: "toys"}}},
		"export /toys/csv is": {Exports: []parts.Export{paper("/toys/csv")}},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, told) {
					t.Errorf("%s: %s", told, got)
				}
			}()

			parts.Join(whole(), p)
		}()
	}
}

func TestJoinKeepsAll(t *testing.T) {
	t.Parallel()

	sum := parts.Join(whole(), parts.Part{
		Endpoints: []api.Endpoint{{Method: "POST", Path: "/toys", ID: "makeToy"}}, Exports: []parts.Export{paper("/toys/pdf")},
	}, parts.Part{})
	if len(sum.Endpoints) != 2 || sum.Endpoints[0].ID != "listToys" || sum.Endpoints[1].ID != "makeToy" || len(sum.Every) != 1 || len(sum.Exports) != 2 ||
		sum.Handlers[apitest.Kind("toy.wind")].Timeout != time.Second {
		t.Errorf("%+v", sum)
	}
}
