package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// checkNames returns an issue for each address setting with a host name that resolves to private addresses only.
// (checkValues refuses private IP addresses.) Settings equal to the old ones were checked before. It asks the name
// service, so it must run outside any transaction. An unknown name is no issue, because it may be registered later.
func (w writer) checkNames(ctx context.Context, app AppID, given, old map[string]string) []apierr.Issue {
	if w.Private || !w.Apps.hasApp(app) {
		return nil
	}

	var issues []apierr.Issue

	for _, f := range w.Apps.find(app).Settings {
		text := given[f.Name]
		if !f.Address || text == old[f.Name] || f.checkText(text, w.Private) != "" {
			continue // checkValues refuses it, or accepted it before
		}

		if !w.isPublic(ctx, text) {
			issues = append(issues, apierr.IssueAddressNotAllowed.InBody("settings", f.Name))
		}
	}

	return issues
}

// isPublic reports whether the host of a URL has a public address, or addresses that are not known.
func (w writer) isPublic(ctx context.Context, text string) bool {
	u, err := url.Parse(text)

	return err != nil || w.Lookup.IsPublic(ctx, u.Hostname())
}

// lookCreated looks up the addresses of a connection before it is created.
func (w writer) lookCreated(ctx context.Context, _ *db.DB, _ db.Scope, in *createInput) ([]apierr.Issue, error) {
	return w.checkNames(ctx, in.Body.AppID, in.Body.Settings, nil), nil
}

// lookChanged looks up the changed addresses of a connection. It fails with apierr.NotFound.
func (w writer) lookChanged(
	ctx context.Context, d *db.DB, scope db.Scope, in *putInput,
) (issues []apierr.Issue, err error) {
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

	// Only changed addresses need a look-up. A connection that was moved here may have no settings.
	old := map[string]string{}
	if c.Settings != nil {
		if err := json.Unmarshal(c.Settings, &old); err != nil {
			return nil, fmt.Errorf("settings of connection %v: %w", c.ID, err)
		}
	}

	return w.checkNames(ctx, c.AppID, in.Body.Settings, old), nil
}

// refuseNames joins the refusal of settings with the issues of their host names. It returns nil if there is neither.
func refuseNames(refused error, issues []apierr.Issue) error {
	if len(issues) == 0 {
		return refused
	}

	return joinRefusals(refused, apierr.BadRequest.At(issues...))
}
