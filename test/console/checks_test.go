package console_test

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// findings is a script that gives what is wrong with the page for people who use a keyboard, a screen reader or a small
// screen, or see little.
//
//go:embed testdata/findings.js
var findings string

// checks holds what is shown now to the findings, in light and in dark, and keeps pictures of it.
func (p *tab) checks(name string) {
	p.t.Helper()

	for _, scheme := range []string{"dark", "light"} {
		p.prefer(scheme)
		p.keep(name + "-" + scheme)

		var found []string
		if err := json.Unmarshal([]byte(evaluate[string](p, "JSON.stringify("+findings+")")), &found); err != nil {
			p.t.Fatal(err)
		}

		if len(found) > 0 {
			p.t.Errorf("%s in %s:\n%s", name, scheme, strings.Join(found, "\n"))
		}
	}
}
