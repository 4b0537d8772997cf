package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"stayledger/app"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// verifyCmd verifies a system that was put back from a backup.
type verifyCmd struct {
	app.Config `embed:""`
	Team       id.ID `help:"Look at this team alone, and not at the audit trail, which is one log of all teams."`
	Hashes     bool  `help:"Read each file whole and compare its hash, not its size alone."`
	JSON       bool  `help:"Print the outcome as JSON."`
}

// errUnsound ends a verification that has found something; what, it has printed.
var errUnsound = errors.New("something is wrong: see above, and the section \"After a restore\" of docs/guides/operating.md")

// Run verifies and prints a line for each check, followed by what is wrong.
func (c *verifyCmd) Run(r *runContext) error {
	if err := complete(&c.Config); err != nil {
		return err
	}

	d, err := db.Open(r.ctx, db.Config{URL: c.DatabaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	defer d.Close()

	o := app.Verification{Team: c.Team, Hashes: c.Hashes}

	// A bar is for a person who waits; logs do without.
	if isTerminal(os.Stderr) {
		bar := newProgress(os.Stderr, "verifying")
		defer bar.done()

		o.Progress = bar.at
	}

	found, err := app.Verify(r.ctx, &c.Config, d, newLog(c.LogLevel), o)
	if err != nil {
		return err
	}

	return printVerified(os.Stdout, found, c.JSON)
}

// printVerified prints the outcomes. It fails with errUnsound if a fact does not hold or could not be checked.
func printVerified(w io.Writer, found []app.Verified, asJSON bool) error {
	isSound := true
	for i := range found {
		isSound = isSound && found[i].IsSound()
	}

	err := errUnsound
	if isSound {
		err = nil
	}

	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")

		return errors.Join(e.Encode(struct {
			IsSound bool           `json:"isSound"`
			Checks  []app.Verified `json:"checks"`
		}{isSound, found}), err)
	}

	for i := range found {
		if err := printCheck(w, &found[i]); err != nil {
			return err
		}
	}

	return err
}

// printCheck prints the line of a check, and a line for each fault that it names.
func printCheck(w io.Writer, v *app.Verified) error {
	outcome := "well"
	if v.Wrong > 0 {
		outcome = fmt.Sprintf("%d WRONG", v.Wrong)
	}

	if v.Error != "" {
		outcome = "NOT CHECKED: " + v.Error
	}

	_, err := fmt.Fprintf(w, "%s: %s: %d checked, %s\n", v.Name, v.Fact, v.Checked, outcome)

	for _, f := range v.Faults {
		team := ""
		if !f.TeamID.IsZero() {
			team = "team " + f.TeamID.String() + ", "
		}

		if err == nil {
			_, err = fmt.Fprintf(w, "  %s%s %s: %s\n", team, f.Table, f.ID, f.Detail)
		}
	}

	if more := v.Wrong - int64(len(v.Faults)); more > 0 && err == nil {
		_, err = fmt.Fprintf(w, "  and %d more\n", more)
	}

	return err
}
