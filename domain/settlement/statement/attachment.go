package statement

import (
	"maps"
	"slices"
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

// noFiles is the SQL of the files of entries where they are not asked for.
const noFiles = `null::jsonb`

// entryFilesSQL returns the SQL of the files of an entry e, as JSON of Attachment. Only expenses show their files: entries
// without a transaction, as of imported statements, have none. An owner gets only the files that are accessible to owners.
// Rules ATT-15 and ATT-16.
func entryFilesSQL(asOwner bool) string {
	accessible := ""
	if asOwner {
		accessible = " and f.is_owner_accessible"
	}

	return `case when e.section = 'expenses' and e.transaction_id is not null then (
		select jsonb_agg(jsonb_build_object('id', f.id, 'transactionId', f.transaction_id, 'filename', c.filename, 'contentType', c.content_type,
			'byteSize', c.byte_size, 'isOwnerAccessible', f.is_owner_accessible) order by f.position, f.id)
		from transaction_attachment f join file c on c.team_id = @team and c.id = f.id
		where f.team_id = @team and f.transaction_id = e.transaction_id` + accessible + `) end`
}

// expenseFiles returns the files of the expenses among the entries of a statement, those of each transaction once and in
// the order of their ids.
func expenseFiles(entries []entry) []Attachment {
	files := map[id.ID][]Attachment{}

	for i := range entries {
		if e := &entries[i]; e.TransactionID != nil && len(e.Files) > 0 {
			files[*e.TransactionID] = e.Files
		}
	}

	out := []Attachment{}
	for _, transaction := range id.Distinct(slices.Collect(maps.Keys(files))) {
		out = append(out, files[transaction]...)
	}

	// The address needs a credential of the team; sign replaces it for readers who have none.
	for i := range out {
		out[i].URL = operation.DownloadPath(out[i].ID)
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
