package file

import (
	"stayledger/platform/blob"
	"stayledger/platform/parts"
)

// Part returns the endpoints, periodic tasks and tables of stored files and attachments.
func Part(store blob.Store, signer *blob.Signer) parts.Part {
	return parts.Part{
		Endpoints: endpoints(store, signer), Every: every(store), Outside: outside(store),
		Tables: parts.Owns("file", "file_draft", "transaction_attachment"),
	}
}
