package statement

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"iter"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// statementSelection is the selector of the documents: the filters of GET /statements, and the language of the
// document.
type statementSelection struct {
	Filter
	Locale string `query:"locale" json:"locale,omitempty" pattern:"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}$" maxLength:"35" doc:"Language tag such as en-GB: writes amounts and dates, chooses the paper. en-US when absent."`
}

// statementsPDF declares EXP-P11, all selected statements in one document.
func statementsPDF() export.Declaration[statementSelection] {
	return export.Declaration[statementSelection]{
		Path: "/statements/pdf", ID: "StatementsPDF", Tag: "Statements", Summary: "Export owner statements as PDF",
		Doc: "All selected statements in one document, drafts included, each with its own page numbers. " +
			"" + documentRefusals,
		Format: export.PDF, Scopes: []string{"statements:export"}, Name: "owner-statements",
		Errors: apierr.List{errWithoutOwners},
		Check:  checkStatements,
		Count:  countStatements,
		Render: renderStatements,
	}
}

// statementsPDFBatch declares EXP-P12, the selected statements as separate documents in an archive.
func statementsPDFBatch() export.Declaration[statementSelection] {
	return export.Declaration[statementSelection]{
		Path:    "/statements/pdf/batch",
		ID:      "StatementsPDFBatch",
		Tag:     "Statements",
		Summary: "Export owner statements as PDFs in a ZIP",
		Doc: "One PDF per selected statement. Every valid GET answers with EXPORT_REQUIRES_POST. " +
			"" + documentRefusals,
		Format:   export.ZIP,
		Scopes:   []string{"statements:export"},
		Name:     "owner-statements",
		PostOnly: true,
		Errors:   apierr.List{errWithoutOwners},
		Check:    checkStatements,
		Count:    countStatements,
		Render:   renderStatementBatch,
	}
}

const documentRefusals = "Fails with 400 and context.reason ownershipPeriodsWithoutOwners when an ownership period " +
	"that the selection names has no owner, and with 400 and the issue selectionEmpty when it selects nothing."

// checkStatements refuses a selection with ownership periods without an owner, and an empty one with the issue
// selectionEmpty.
func checkStatements(ctx context.Context, tx *db.Tx, s *statementSelection) error {
	if err := checkOwners(ctx, tx, &s.Filter); err != nil {
		return err
	}

	ids, err := Select(ctx, tx, s.Filter)
	if err == nil && len(ids) == 0 {
		err = apierr.BadRequest.At(apierr.IssueSelectionEmpty.In(""))
	}

	return err
}

// linesPerPage is about how many lines of a statement fit on a page.
const linesPerPage = 40

// countStatements returns the size of the documents: a page for every statement and one more for each forty of
// their lines.
func countStatements(ctx context.Context, tx *db.Tx, s *statementSelection) (export.Size, error) {
	n, err := Count(ctx, tx, s.Filter)
	if err != nil {
		return export.Size{}, err
	}

	lines, err := CountLines(ctx, tx, s.Filter)

	return export.Size{Documents: n.Statements, Pages: n.Statements + lines/linesPerPage}, err
}

// documents yields the selected statements. It reads a hundred at a time, and counts one as done when the next is
// asked for.
func documents(
	ctx context.Context,
	tx *db.Tx,
	s *statementSelection,
	out *export.Sink,
) iter.Seq2[paper.StatementDoc, error] {
	return func(yield func(paper.StatementDoc, error) bool) {
		// All statements have the same letterhead.
		sender, err := contact.LoadLetterhead(ctx, tx)
		if err == nil {
			// Statements are read as owners see them, whoever exports them.
			err = eachDetails(ctx, tx, s.Filter, true, func(all []Detail) error {
				// Addresses and the like come in a constant number of queries per hundred.
				b, err := loadBackground(ctx, tx, all)
				if err != nil {
					return err
				}

				for i := range all {
					doc := b.document(&all[i], &sender)

					doc.Locale = s.Locale
					if !yield(doc, nil) {
						return errEnough
					}

					// The next one is asked for: this document is written.
					if err := out.Count(1); err != nil {
						return err
					}
				}

				return nil
			})
		}

		// The loop may have ended early; any other error goes to it.
		if err != nil && !errors.Is(err, errEnough) {
			yield(paper.StatementDoc{}, err)
		}
	}
}

// renderStatements writes all statements into one document.
func renderStatements(ctx context.Context, tx *db.Tx, s *statementSelection, out *export.Sink) error {
	return paper.OwnerStatements(out, documents(ctx, tx, s, out))
}

// renderStatementBatch writes a document per statement into an archive.
func renderStatementBatch(ctx context.Context, tx *db.Tx, s *statementSelection, out *export.Sink) error {
	archive := zip.NewWriter(out)
	names := fileNames{}

	for doc, err := range documents(ctx, tx, s, out) {
		if err != nil {
			return err
		}

		// A PDF is compressed already, so store it as it is. Its date comes from the statement, not from the clock.
		entry, err := archive.CreateHeader(&zip.FileHeader{
			Name:     names.unique(&doc),
			Method:   zip.Store,
			Modified: doc.Created,
		})
		if err != nil {
			return fmt.Errorf("begin a statement in the archive: %w", err)
		}

		if err := paper.OwnerStatement(entry, doc); err != nil {
			return err
		}
	}

	// Closing writes the directory of the archive, without which it cannot be opened.
	if err := archive.Close(); err != nil {
		return fmt.Errorf("finish the archive: %w", err)
	}

	return nil
}
