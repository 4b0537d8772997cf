package statement

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// MailKind is the kind of the job that tells the owners by e-mail of a statement that was published. Package delivery handles it.
var MailKind = job.NewKind("statement.mail")

// MailArgs name the published statement.
type MailArgs struct {
	StatementID id.ID `json:"statementId"`
}

// mail asks for the e-mails of statements that were just published.
func mail(ctx context.Context, tx *db.Tx, statements []id.ID) error {
	jobs := make([]job.New, len(statements))
	for i, s := range statements {
		jobs[i] = job.New{Kind: MailKind, Args: MailArgs{StatementID: s}}
	}
	ask, err := job.Statement(tx, jobs...)
	if err == nil {
		err = tx.Pipeline(ctx, ask)
	}
	if err != nil {
		return fmt.Errorf("ask for e-mails: %w", err)
	}
	return nil
}
