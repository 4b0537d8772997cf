package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"stayledger/app"
	"stayledger/domain/record/proof"
	"stayledger/platform/db"
)

type auditCmd struct {
	Verify auditVerify `cmd:"" help:"Compare the audit trail with its log, and the log with its signed checkpoints; exit code 1 if they differ."`
	Check  auditCheck  `cmd:"" help:"Check a proof of an audit event, without database or service."`
}

type auditVerify struct {
	app.Config `embed:""`
	Key        string `help:"Verifier key that checkpoints must be signed with; that of the log when empty."`
	Seal       bool   `help:"Seal what is committed and make a checkpoint first."`
}

var errDiffers = errors.New("the audit trail is not as its log has it")

// Run verifies and prints what differs, a line for each, and the counts.
func (c *auditVerify) Run(r *runContext) error {
	if err := complete(&c.Config); err != nil {
		return err
	}

	d, err := db.Open(r.ctx, db.Config{URL: c.DatabaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	defer d.Close()

	log, err := app.AuditLog(r.ctx, &c.Config, newLog(c.LogLevel))
	if err != nil {
		return err
	}

	if c.Seal {
		if err := log.SealNow(r.ctx, d); err != nil {
			return err
		}
	}

	report, err := log.Verify(r.ctx, d, c.Key)
	if err != nil {
		return err
	}

	return printVerification(os.Stdout, report)
}

// printVerification prints a report. It fails with errDiffers if there are findings.
func printVerification(w io.Writer, r *proof.Report) error {
	for _, f := range r.Findings {
		row := ""
		if !f.Team.IsZero() {
			row = fmt.Sprintf("team %s, event %s, revision %d: ", f.Team, f.Event, f.Revision)
		}

		if _, err := fmt.Fprintf(w, "%s: %s%s\n", f.Kind, row, f.Detail); err != nil {
			return err
		}
	}

	if r.More > 0 {
		if _, err := fmt.Fprintf(w, "and %d more\n", r.More); err != nil {
			return err
		}
	}

	// Events that were sealed late are in the log as any others, but a person should know of them.
	if f := r.LateFirst; f != nil {
		if _, err := fmt.Fprintf(w, "%d events were sealed after later ones, first: team %s, event %s, revision %d\n", r.Late, f.Team, f.Event, f.Revision); err != nil {
			return err
		}
	}

	_, err := fmt.Fprintf(w, "%d events, %d of deleted teams, %d checkpoints, verified with the key %s\n",
		r.Events, r.Gone, r.Checkpoints, cmp.Or(r.Verifier, "(none: nothing is sealed yet)"))
	if err == nil && len(r.Findings) > 0 {
		err = errDiffers
	}

	return err
}

type auditCheck struct {
	File string `arg:"" type:"existingfile" help:"The answer of GET /audit/events/{id}/proof, as it was served."`
	Key  string `help:"Verifier key to trust; the one that the proof names when empty."`
}

// Run checks the proof and prints what it proves.
func (c *auditCheck) Run(*runContext) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the proof: %w", err)
	}

	p, err := proof.Check(text, c.Key)
	if err != nil {
		return err
	}

	trust := "trusted as given"
	if c.Key == "" {
		trust = "named by the proof itself: compare it with the one that the operator has published"
	}

	_, err = fmt.Printf("event %s, revision %d, of team %s is number %d of %d in the log\nkey %s (%s)\n",
		p.Event.ID, p.Event.Revision, p.Event.TeamID, p.Seq, p.TreeSize, p.VerifierKey, trust)

	return err
}
