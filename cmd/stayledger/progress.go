package main

import (
	"fmt"
	"os"
	"strings"
)

// progress is a bar on a terminal, and a single line elsewhere.
type progress struct {
	out      *os.File
	title    string
	terminal bool
	last     int
}

// isTerminal reports whether a person can be there to read a file.
func isTerminal(out *os.File) bool {
	info, err := out.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func newProgress(out *os.File, title string) *progress {
	p := &progress{out: out, title: title, terminal: isTerminal(out), last: -1}
	if !p.terminal {
		_, _ = fmt.Fprintln(out, title)
	}

	return p
}

// at shows a share between 0 and 1.
func (p *progress) at(share float64) {
	const width = 40

	percent := int(100 * share)
	if !p.terminal || percent == p.last {
		return
	}

	p.last = percent
	full := width * percent / 100
	_, _ = fmt.Fprintf(
		p.out,
		"\r%s [%s%s] %3d%%",
		p.title,
		strings.Repeat("=", full),
		strings.Repeat(" ", width-full),
		percent,
	)
}

func (p *progress) done() {
	if p.terminal {
		_, _ = fmt.Fprintln(p.out)
	}
}
