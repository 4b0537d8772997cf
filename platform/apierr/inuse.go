package apierr

import "stayledger/platform/id"

// InUse is the context of a refusal because others still refer to a record. A noun with more to tell embeds it. Rules
// ERR-72, ERR-73.
type InUse struct {
	// LockReasons name what refers to it.
	LockReasons []string `json:"lockReasons"`
	// SuggestedOnLocked names the possible alternative: Archive, or nothing.
	SuggestedOnLocked string `json:"suggestedOnLocked,omitempty"`
}

// Archive is the value of the parameter onLocked, and of the suggestion in place of a deletion.
const Archive = "archive"

// Duplicate is the context of a conflict with another record.
type Duplicate struct {
	// ID is the record that has what the request wanted.
	ID id.ID `json:"id"`
}
