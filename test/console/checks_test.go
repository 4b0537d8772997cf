package console_test

import (
	_ "embed"
	"encoding/json"
	"os"
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

		if found = append(found, p.axe()...); len(found) > 0 {
			p.t.Errorf("%s in %s:\n%s", name, scheme, strings.Join(found, "\n"))
		}
	}
}

// axe returns what axe-core finds in the page, if AXE names its script: npm pack axe-core has it.
func (p *tab) axe() []string {
	p.t.Helper()

	path := os.Getenv("AXE")
	if path == "" {
		return nil
	}

	script, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}

	evaluate[bool](p, string(script)+`; window.axeFound = null; axe.run(document).then((r) => {
		window.axeFound = r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200)));
	}); true`)
	p.until(`window.axeFound !== null`)

	var found []string
	if err := json.Unmarshal([]byte(evaluate[string](p, "JSON.stringify(window.axeFound)")), &found); err != nil {
		p.t.Fatal(err)
	}

	return found
}
