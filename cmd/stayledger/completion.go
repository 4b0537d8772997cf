package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"stayledger/app"
	"stayledger/cmd/stayledger/internal/completion"
)

// completionCmd prints the script of a shell.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,fish,zsh" help:"bash, fish or zsh."`
}

// Help returns how the script is used.
func (*completionCmd) Help() string {
	return `In this shell, and in its start file for each new one:
  bash   source <(stayledger completion bash)
  zsh    source <(stayledger completion zsh)
  fish   stayledger completion fish | source`
}

// Run prints the script.
func (c *completionCmd) Run(*runContext) error {
	text, err := completion.Script(c.Shell)
	if err != nil {
		return err
	}

	_, err = os.Stdout.Write(text)

	return err
}

// completeCmd prints what can come next; the scripts of shells call it.
type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The command line without the program's name; the last word is what was typed of it."`
}

// Run prints a word on each line.
func (c *completeCmd) Run(k *kong.Kong) error {
	// The description is made only for a call of the API: it takes half a second.
	words, err := completion.Words(k.Model, describeOperations, c.Words)
	if err != nil {
		return err
	}

	for _, word := range words {
		if _, err := fmt.Println(word); err != nil {
			return err
		}
	}

	return nil
}

// describeOperations returns the operations of the published description.
func describeOperations() (*completion.API, error) {
	d, err := app.Describe()
	if err != nil {
		return nil, err
	}

	return completion.ReadAPI(d.JSON), nil
}
