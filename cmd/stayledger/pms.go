package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"stayledger/provider/pms/protocol/check"
)

// pmsGroup are the commands for those who serve our protocol for property-management systems.
type pmsGroup struct {
	Check pmsCheckCmd `cmd:"" help:"Hold a server against the page of the protocol, rule by rule."`
}

type pmsCheckCmd struct {
	URL        string        `arg:"" name:"url" help:"Where the protocol starts, as in the setting baseUrl."`
	Token      string        `env:"STAYLEDGER_PMS_TOKEN" required:"" help:"The token of the account."`
	JSON       bool          `help:"As JSON instead of a table."`
	Write      bool          `help:"Also try messages and blocks, which change something: a night far ahead is blocked and set free again, and messages that went to another address end."`
	WebhookURL string        `name:"webhook-url" help:"Where messages go while --write is tried; an address that nothing listens to when empty."`
	Local      bool          `name:"local-providers" env:"STAYLEDGER_LOCAL_PROVIDERS" help:"Allow private addresses and http, for a server on the same machine."`
	Pages      int           `default:"${pages}" help:"How many pages of a list are read at most."`
	Rows       int           `default:"${rows}" help:"How many rows of a list are read at most."`
	Timeout    time.Duration `default:"25s" help:"How long a request may take, at most 25 seconds."`
}

// Help returns the text about what is asked.
func (*pmsCheckCmd) Help() string {
	return `It asks what stayledger asks, and prints each rule of docs/guides/pms-protocol.md with ok, wrong, not offered or not checked, and below a rule
that does not hold the request, the row, the field and what is wrong. It ends with status 1 if a rule does not hold. Run it while nothing changes on the
server. Nothing is changed there without --write.`
}

// Run checks a server and prints the report. It fails if a rule does not hold.
func (c *pmsCheckCmd) Run(r *runContext) error {
	report, err := check.Run(r.ctx, check.Options{
		BaseURL: c.URL, Token: c.Token, AllowPrivate: c.Local, Write: c.Write, WebhookURL: c.WebhookURL, Pages: c.Pages, Rows: c.Rows, Within: c.Timeout,
	})
	if err != nil {
		return err
	}

	if c.JSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = printReport(os.Stdout, report)
	}

	if err != nil {
		return err
	}

	// The exit status makes a broken rule fail a build.
	if wrong := report.Wrong(); len(wrong) > 0 {
		return fmt.Errorf("%d of %d rules do not hold", len(wrong), len(report.Results))
	}

	return nil
}

// outcomeWords are the outcomes as a table has them.
var outcomeWords = map[check.Outcome]string{
	check.OK: "ok", check.Wrong: "WRONG", check.NotOffered: "not offered", check.NotChecked: "not checked",
}

// printReport prints a report as a table. What is wrong with a rule follows it in lines of its own.
func printReport(to io.Writer, report *check.Report) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)

	for i := range report.Results {
		r := &report.Results[i]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", outcomeWords[r.Outcome], r.ID, r.Says) // Flush fails if writing did.

		if r.Note != "" {
			_, _ = fmt.Fprintf(table, "\t\t  %s\n", r.Note)
		}

		for _, f := range r.Findings {
			_, _ = fmt.Fprintf(table, "\t\t  %s\n", f)
		}

		if more := r.Count - len(r.Findings); more > 0 {
			_, _ = fmt.Fprintf(table, "\t\t  and %d more\n", more)
		}
	}

	return table.Flush()
}
