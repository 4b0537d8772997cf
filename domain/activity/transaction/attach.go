package transaction

import (
	"context"

	"stayledger/domain/record/file"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// checkAttachments refuses files that the team does not have with the issue attachmentNotFound, and files of
// another transaction with 409. The files are locked first, so that of two transactions that want one only the
// first gets it.
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

	// First lock the files of all drafts at once.
	holder, err := file.HoldAttachments(ctx, tx, wanted.list())
	if err != nil {
		return err
	}

	// Then check each draft, files that do not exist before files that are taken.
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

			// A later draft of the same batch must not take the file as well.
			holder[a] = d.ID
		}
	}

	return nil
}

// attachStatements returns the statements that link the attachments of drafts and unlink all others. Drafts that
// leave their attachments as they are have none.
func attachStatements(tx *db.Tx, drafts []*draft) (stmts []db.Stmt) {
	for _, d := range drafts {
		if d.attach != nil {
			stmts = append(stmts, file.Attach(tx, d.ID, d.attach)...)
		}
	}

	return stmts
}
