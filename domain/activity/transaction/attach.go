package transaction

import (
	"context"

	"stayledger/domain/record/file"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// checkAttachments refuses files that the team does not have with the issue attachmentNotFound, and with 409 those of
// another transaction. The files are locked first, so that of two transactions that want one only the first gets it.
func checkAttachments(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	wanted := idSet{}

	for _, d := range drafts {
		for _, a := range d.attach {
			wanted.add(a)
		}
	}

	if len(wanted) == 0 {
		return nil
	}

	holder, err := file.HoldAttachments(ctx, tx, wanted.list())
	if err != nil {
		return err
	}

	for _, d := range drafts {
		var issues []apierr.Issue

		for i, a := range d.attach {
			if _, known := holder[a]; !known {
				issues = append(issues, apierr.IssueAttachmentNotFound.InBody("attachmentIds", i))
			}
		}

		if issues != nil {
			return apierr.BadRequest.At(issues...)
		}

		for i, a := range d.attach {
			if by := holder[a]; !by.IsZero() && by != d.ID {
				return errLinked.At(apierr.IssueAttachmentLinked.InBody("attachmentIds", i))
			}

			holder[a] = d.ID
		}
	}

	return nil
}

// linkStatements make the attachments of drafts those that they are to have.
func linkStatements(tx *db.Tx, drafts []*draft) (stmts []db.Stmt) {
	for _, d := range drafts {
		if d.attach != nil {
			stmts = append(stmts, file.Attach(tx, d.ID, d.attach)...)
		}
	}

	return stmts
}
