package file

import (
	"stayledger/platform/blob"
	"stayledger/platform/parts"
)

// Part returns the endpoints, periodic tasks and tables of stored files and attachments.
func Part(store blob.Store, signer *blob.Signer) parts.Part {
	return parts.Part{
		Endpoints: endpoints(store, signer), Every: every(store), Outside: outside(store), Checks: checks(store),
		Tables: append(parts.Owns("transaction_attachment"), parts.Table{Name: "file_draft", Archived: parts.Left}, parts.Table{
			Name: "file", Instead: map[string]string{
				"blob_key":  "'files/' || @team::uuid || '/' || s.id",
				"purged_at": "case when s.kind in ('export', 'archive') then coalesce(s.purged_at, now()) else s.purged_at end", // they can be made again
			},
		}),
	}
}
