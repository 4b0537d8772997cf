package apierr

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

// Use is something that may refer to a record.
type Use struct {
	Holds bool
	Name  string
}

// Uses returns the names of the uses that hold, in the given order, or nil.
func Uses(all ...Use) []string {
	var held []string

	for _, u := range all {
		if u.Holds {
			held = append(held, u.Name)
		}
	}

	return held
}
