package operation

import (
	"context"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// endpoints returns the reads of operations. There is no control: an operation can be neither retried nor cancelled
// (OPS-90).
func endpoints(poll time.Duration) []api.Endpoint {
	waiting := newWaiting(poll)
	readers := []api.Credential{api.TeamKey, api.PartnerKey, api.User, api.Owner}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/operations",
			ID:      "listOperations",
			Tag:     "Operations",
			Summary: "List operations, newest first",
			Doc: "counts apply every filter but status; total applies all. Owners see the operations they may read " +
				"singly. Fails with 400 when resourceId comes without resourceType, or the cursor belongs to other " +
				"filters or another team.",
			Scopes:    []string{"operations:read"},
			Open:      readers,
			Selection: api.OneTeamOrPartner,
			Region:    true,
			OneTrip:   true,
		}, listOperations),
		api.External(api.Endpoint{
			Method:  "GET",
			Path:    "/operations/{id}",
			ID:      "getOperation",
			Tag:     "Operations",
			Summary: "Read an operation",
			Doc: "Takes a uuid, an op_ identifier, or the act_ identifier of the audit action that started the " +
				"operation. With waitSeconds it answers as soon as the operation has settled, at the latest after " +
				"that time, or when the service is about to stop.",
			Scopes:    []string{"operations:read"},
			Open:      readers,
			Selection: api.OneTeamOrPartner,
			Region:    true,
			Deleted:   true, // (OPEN-81)
		}, waiting.getOperation),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/operations/{id}/progress",
			ID:      "getOperationProgress",
			Tag:     "Operations",
			Summary: "Read how far an operation is",
			Doc: "What is done of how much, about a second old. Takes the identifiers that the single read takes. " +
				"Exports count rows or documents; other work may count nothing.",
			Scopes:    []string{"operations:read"},
			Open:      readers,
			Selection: api.OneTeamOrPartner,
			Region:    true,
			Deleted:   true,
		}, getProgress),
	}
}

type listInput struct {
	Filter
	Cursor api.Cursor `query:"cursor" doc:"nextCursor of the page before, unchanged, with the same filters."`
	Limit  int64      `query:"limit" minimum:"1" maximum:"100" default:"50"`
}

// Resolve checks what belongs together (OPEN-33).
func (in *listInput) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	if in.ResourceID != nil && in.ResourceType == "" {
		issues = append(issues, apierr.IssueRequired.InQuery("resourceType"))
	}

	if _, err := id.Parse(in.InitiatedBy); err != nil && in.InitiatedBy != "" && in.InitiatedBy != "me" {
		issues = append(issues, apierr.IssueUUID.InQuery("initiatedBy"))
	}

	return issues
}

// listOperations returns a page of operations, the newest first, after the one that the cursor names.
func listOperations(ctx context.Context, tx *db.Tx, in *listInput) (*List, error) {
	before := id.Zero

	if in.Cursor.Position != "" {
		var err error
		if before, err = id.Parse(in.Cursor.Position); err != nil {
			return nil, err
		}
	}

	out, err := list(ctx, tx, in.Filter, before, in.Limit)
	if err != nil {
		return nil, err
	}

	if out.NextCursor != nil {
		out.NextCursor = in.Cursor.Next(*out.NextCursor)
	}

	return out, nil
}

type getInput struct {
	Ref
	WaitSeconds int64 `query:"waitSeconds" minimum:"0" maximum:"20" default:"0" doc:"How long to wait for the operation to settle."`
}

// getOperation reads an operation and, if the caller asked to wait and it has not settled, reads it again once it
// has.
func (w *waiting) getOperation(ctx context.Context, d *db.DB, scope db.Scope, in *getInput) (*Detail, error) {
	read := func() (out *Detail, err error) {
		err = d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			out, err = Find(ctx, tx, &in.Ref)
			return err
		})

		return out, err
	}

	// First read without waiting: this also refuses operations that the caller may not see.
	out, err := read()
	if err != nil || out.FinishedAt != nil || in.WaitSeconds == 0 {
		return out, err
	}

	// No transaction is open during the wait, so waiting requests hold no connection.
	if err := w.wait(ctx, d, awaited{scope.Team, out.ID}, time.Duration(in.WaitSeconds)*time.Second); err != nil {
		return nil, err
	}

	return read()
}
