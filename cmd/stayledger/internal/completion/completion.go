// Package completion finds what can come next on a command line: commands, flags and their values, and for the command api
// the methods, paths and parameters of the service. Shells call it through the scripts that Script returns.
package completion

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

//go:embed scripts
var scripts embed.FS

// Shells are those with a script.
var Shells = []string{"bash", "fish", "zsh"}

// Script returns what a shell has to read so that it completes command lines of the program.
func Script(shell string) ([]byte, error) {
	text, err := scripts.ReadFile("scripts/" + shell)
	if err != nil {
		return nil, fmt.Errorf("%s is none of %s", shell, strings.Join(Shells, ", "))
	}

	return text, nil
}

// Words returns the words that can replace the last one of a command line. The command line is without the program's
// name, and its last word is what was typed of it, often nothing. Operations is asked only for a call of the API. None
// means that a shell can offer the names of files.
func Words(app *kong.Application, operations func() (*API, error), line []string) ([]string, error) {
	if len(line) == 0 {
		line = []string{""}
	}

	at, typed := walk(app.Node, line[:len(line)-1]), line[len(line)-1]

	switch {
	case at.flag != nil:
		return begin(at.flag.EnumSlice(), typed), nil
	case strings.HasPrefix(typed, "-"):
		return begin(flagNames(at.node), typed), nil
	case at.node.Name == "api" && at.node.Parent == app.Node:
		known, err := operations()
		if err != nil {
			return nil, err
		}

		return begin(known.next(at.positional, typed), typed), nil
	}

	var names []string

	for _, child := range at.node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}

	if n := len(at.positional); n < len(at.node.Positional) {
		names = append(names, at.node.Positional[n].EnumSlice()...)
	}

	return begin(names, typed), nil
}

// place is how far the words of a command line lead.
type place struct {
	node       *kong.Node
	positional []string
	flag       *kong.Flag // waits for its value; nil for none
}

// walk follows words from a node on.
func walk(node *kong.Node, words []string) place {
	at := place{node: node}

	for _, word := range words {
		switch {
		case at.flag != nil:
			at.flag = nil
		case strings.HasPrefix(word, "-"):
			at.flag = Waiting(at.node, word)
		default:
			child := slices.IndexFunc(at.node.Children, func(c *kong.Node) bool { return c.Name == word })
			if child < 0 {
				at.positional = append(at.positional, word)
			} else {
				at.node = at.node.Children[child]
			}
		}
	}

	return at
}

// Waiting returns the flag of a command that a word ends with if its value is the next word, and nil otherwise. Several
// short flags can be one word.
func Waiting(node *kong.Node, word string) *kong.Flag {
	isShort := func(flag *kong.Flag) bool {
		before, isLast := strings.CutSuffix(word, string(flag.Short))

		return isLast && flag.Short != 0 && strings.HasPrefix(before, "-") && !strings.HasPrefix(before, "--") &&
			!strings.ContainsFunc(before[1:], func(letter rune) bool { return !isSwitch(node, letter) })
	}

	for _, flag := range flags(node) {
		if !flag.IsBool() && (word == "--"+flag.Name || isShort(flag)) {
			return flag
		}
	}

	return nil
}

// isSwitch reports whether a letter is a short flag without a value.
func isSwitch(node *kong.Node, letter rune) bool {
	return slices.ContainsFunc(flags(node), func(flag *kong.Flag) bool { return flag.Short == letter && flag.IsBool() })
}

// flags returns the flags of a command, of those above it, and of the one that runs when no other is named.
func flags(node *kong.Node) []*kong.Flag {
	var all []*kong.Flag

	if node.DefaultCmd != nil {
		all = slices.Clone(node.DefaultCmd.Flags)
	}

	for ; node != nil; node = node.Parent {
		all = append(all, node.Flags...)
	}

	return all
}

// flagNames returns the names of the flags of a command.
func flagNames(node *kong.Node) []string {
	var names []string

	for _, flag := range flags(node) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	}

	return names
}

// begin returns the words that begin with what was typed, in order and once.
func begin(words []string, typed string) []string {
	found := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return word == "" || !strings.HasPrefix(word, typed)
	})

	slices.Sort(found)

	return slices.Compact(found)
}
