package statement

import (
	"context"
	"fmt"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Attachment is a file of an expense on the statement.
type Attachment struct {
	ID                id.ID  `json:"id"`
	TransactionID     id.ID  `json:"transactionId"`
	Filename          string `json:"filename"`
	ContentType       string `json:"contentType"`
	ByteSize          int64  `json:"byteSize"`
	IsOwnerAccessible bool   `json:"isOwnerAccessible"`
	URL               string `json:"url" db:"-" doc:"Where the file is downloaded; a signed link stops working after 15 minutes."`
}

// Linker makes an address from which anyone who has it can download a file of a team until it expires.
type Linker func(team, file id.ID, expires time.Time) string

// linkLife is how long a link to an attachment works.
const linkLife = 15 * time.Minute

// attachments are files by the transaction that they belong to.
type attachments map[id.ID][]Attachment

// loadAttachments loads the files of the expenses among the entries of statements, by transaction. An owner gets only
// the files that are accessible to owners. Rules ATT-15 and ATT-16.
func loadAttachments(ctx context.Context, tx *db.Tx, entries map[id.ID][]entry, asOwner bool) (attachments, error) {
	// Only expenses show their files, so most statements end here without a query.
	var expenses []id.ID
	for _, own := range entries {
		expenses = append(expenses, expenseTransactions(own)...)
	}

	if len(expenses) == 0 {
		return nil, nil
	}

	found, err := db.Select[Attachment](ctx, tx, `
		select a.id, a.transaction_id, f.filename, f.content_type, f.byte_size, a.is_owner_accessible
		from transaction_attachment a join file f on f.team_id = a.team_id and f.id = a.id
		where a.team_id = @team and a.transaction_id = any(@transactions) and (a.is_owner_accessible or not @as_owner::boolean)
		order by a.transaction_id, a.position, a.id`,
		db.Args{"team": tx.Team, "transactions": id.Distinct(expenses), "as_owner": asOwner})
	if err != nil {
		return nil, fmt.Errorf("read attachments: %w", err)
	}

	// The address needs a credential of the team; sign replaces it for readers who have none.
	out := attachments{}

	for i := range found {
		found[i].URL = operation.DownloadPath(found[i].ID)
		out[found[i].TransactionID] = append(out[found[i].TransactionID], found[i])
	}

	return out, nil
}

// forEntries returns the files of the entries of one statement, each transaction's once.
func (a attachments) forEntries(entries []entry) []Attachment {
	out := []Attachment{}
	for _, transaction := range id.Distinct(expenseTransactions(entries)) {
		out = append(out, a[transaction]...)
	}

	return out
}

// expenseTransactions returns the transactions behind the expenses among entries.
func expenseTransactions(entries []entry) []id.ID {
	var out []id.ID

	for i := range entries {
		// Entries without a transaction, as of imported statements, have no files.
		if e := &entries[i]; e.Section == Expenses && e.TransactionID != nil {
			out = append(out, *e.TransactionID)
		}
	}

	return out
}

// sign replaces the addresses, which need a credential of the team, by links that work for any reader of the
// statement. Without a linker the addresses stay.
func (l Linker) sign(tx *db.Tx, attachments []Attachment) {
	if l == nil {
		return
	}

	for i := range attachments {
		attachments[i].URL = l(tx.Team, attachments[i].ID, tx.Now.Add(linkLife))
	}
}
