package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/outbound"
)

// lookupTime is how long a caller waits for the addresses of a name.
const lookupTime = 3 * time.Second

// Lookup returns the addresses of the name of a machine.
type Lookup func(ctx context.Context, name string) ([]netip.Addr, error)

// checkNames returns an issue for each setting that is the address of an app at a name with private addresses only, as
// check does for a private number. Settings that are the same as old ones were checked before. It asks the name service,
// so it must run outside of any transaction. A name that it does not know now can be known later, and is no issue.
func (w writer) checkNames(ctx context.Context, app AppID, given, old map[string]string) []apierr.Issue {
	if w.Private || !w.Apps.has(app) {
		return nil
	}

	ctx, stop := context.WithTimeout(ctx, lookupTime)
	defer stop()

	var issues []apierr.Issue

	for _, f := range w.Apps.find(app).Settings {
		text := given[f.Name]
		if !f.Address || text == old[f.Name] || f.wrong(text, w.Private) != "" {
			continue // which check refuses, or has refused
		}

		if !w.reaches(ctx, text) {
			issues = append(issues, apierr.IssueAddressNotAllowed.InBody("settings", f.Name))
		}
	}

	return issues
}

// reaches reports whether one of the addresses of a URL is public, which is what a call needs; true when they are not
// known.
func (w writer) reaches(ctx context.Context, text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return true
	}

	found, err := w.Lookup(ctx, u.Hostname())

	return err != nil || len(found) == 0 || slices.ContainsFunc(found, outbound.Public)
}

// lookCreated looks up the addresses of a connection to be.
func (w writer) lookCreated(ctx context.Context, _ *db.DB, _ db.Scope, in *createInput) ([]apierr.Issue, error) {
	return w.checkNames(ctx, in.Body.AppID, in.Body.Settings, nil), nil
}

// lookChanged looks up the changed addresses of a connection. It fails with apierr.NotFound.
func (w writer) lookChanged(ctx context.Context, d *db.DB, scope db.Scope, in *putInput) (issues []apierr.Issue, err error) {
	if w.Private || in.Body.Settings == nil {
		return nil, nil
	}

	var c *Connection

	err = d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = Get(ctx, tx, in.ID)
		return err
	})
	if err != nil {
		return nil, err
	}

	old := map[string]string{}
	if c.Settings != nil {
		if err := json.Unmarshal(c.Settings, &old); err != nil {
			return nil, fmt.Errorf("settings of connection %v: %w", c.ID, err)
		}
	}

	return w.checkNames(ctx, c.AppID, in.Body.Settings, old), nil
}

// refuseNames returns the refusal of settings, with the issues of names; nil for nothing.
func refuseNames(refused error, issues []apierr.Issue) error {
	if len(issues) == 0 {
		return refused
	}

	return joinRefusals(refused, apierr.BadRequest.At(issues...))
}
