// Package proof keeps the append-only Merkle log of audit events: each revision of an event is a leaf, a salted
// commitment that does not show its values. A periodic task appends the events that were committed since, signs the tree
// as a checkpoint, and puts that into the file store too, out of reach of the database.
//
// Whoever has a checkpoint can find any later change of the trail: Verify recomputes the leaves and the tree, and Check
// proves one event without the database. The tree is that of golang.org/x/mod/sumdb/tlog, checkpoints are notes of
// golang.org/x/mod/sumdb/note.
//
// The page docs/decisions/audit.md says what the contract leaves open and how it is answered here.
package proof

import (
	"time"

	"stayledger/platform/blob"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Config has what the log needs from the service.
type Config struct {
	// Box seals the key that signs checkpoints.
	Box *seal.Box
	// Store keeps checkpoints outside the database.
	Store blob.Store
}

// Part returns the endpoint, the tasks and the tables of the log.
func Part(c Config) parts.Part {
	return parts.Part{
		Endpoints: c.endpoints(),
		Every: []job.Every{
			{Name: "audit-seal", Interval: 5 * time.Second, Do: c.sealDue},
			{Name: "audit-sweep", Interval: 24 * time.Hour, Do: c.sweep},
		},
		// Leaves outlive their team: without them the tree could not be checked.
		Tables: []parts.Table{
			{Name: "audit_log", Archived: parts.Left, Keep: "true"},
			{Name: "audit_leaf", Archived: parts.Left, Keep: "true"},
		},
	}
}

// label returns the name under which the key of the log is sealed.
func label(log id.ID) string { return "audit-log:" + log.String() }

// SealedColumn returns the column of the signing key.
func SealedColumn() seal.Column { return seal.Column{Table: "audit_log", Name: "key", Label: label} }
