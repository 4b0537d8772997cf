package intake

import (
	"fmt"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// Outcome says how a sync dealt with a record.
type Outcome string

// The outcomes of a record.
const (
	Done     Outcome = "completed"
	Skipped  Outcome = "skipped"
	Rejected Outcome = "failed"
	Waits    Outcome = "queued"
)

// Enum lists the outcomes.
func (Outcome) Enum() []string {
	return []string{string(Done), string(Skipped), string(Rejected), string(Waits)}
}

// Reason says why a record was skipped or failed: one listed here, or for a failure the reason or issue code with which
// the noun refused it.
type Reason string

// The reasons of the intake itself. Sources add others for records they leave out.
const (
	// Unchanged: the source repeats itself, or says nothing that differs from the record here.
	Unchanged Reason = "unchanged"
	// Older: the source has said something newer already.
	Older Reason = "older"
	// InConflict: a field was changed here and at the source; the value here was kept.
	InConflict Reason = "conflict"
	// Locked: a lock holds the record here; it is tried again when the lock goes.
	Locked Reason = "locked"
	// Unmapped: the record names another source record which is not known here; it is tried again with every sync.
	Unmapped Reason = "unmapped"
	// StatusIgnored: records with this status, such as inquiries, are not taken in.
	StatusIgnored Reason = "statusIgnored"
	// Pending: the record is not final at the source yet.
	Pending Reason = "pending"
	// Ambiguous: several records here match, or the only match belongs to another record of the source.
	Ambiguous Reason = "ambiguous"
	// Malformed: the values do not have the form of the kind.
	Malformed Reason = "malformed"
	// Deleted: a person has deleted the record here, and the source cannot bring it back.
	Deleted Reason = "deleted"
	// Unknown: the source no longer has a record, but the record was never taken in.
	Unknown Reason = "unknown"
)

// item is the outcome of one change.
type item struct {
	change   *Change
	entityID *id.ID
	outcome  Outcome
	reason   Reason
	// field is the field that a refusal names and fault its explanation; both may be empty.
	field, fault string
	// refusal is what the noun refused the record with, nil for none.
	refusal *apierr.Error
	// isNew says that the record here was made, before has the former values of the fields that were changed.
	isNew  bool
	before Values
	// isSame says that the source said nothing new, so that the record was not looked at.
	isSame bool
}

// addItem adds the outcome of a change.
func (in *intake) addItem(c *Change, entity *id.ID, o Outcome, why Reason) {
	in.items = append(in.items, item{change: c, entityID: entity, outcome: o, reason: why})
}

// addRefusal adds the outcome of a change which its source already marked as refused.
func (in *intake) addRefusal(c *Change, entity *id.ID) {
	in.addItem(c, entity, Rejected, c.Refused.Reason)

	it := &in.items[len(in.items)-1]
	it.field, it.fault = c.Refused.Field, c.Refused.Fault
}

// addRejection adds the outcome of a change which the noun refused.
func (in *intake) addRejection(c *Change, entity *id.ID, refusal *apierr.Error) {
	// The most specific cause is the reason: a reason of the error, else its first issue, else its code.
	why := Reason(refusal.Reason())
	if issues := refusal.Issues(); why == "" && len(issues) > 0 {
		why = Reason(issues[0].Code)
	}

	if why == "" {
		why = Reason(refusal.Code())
	}

	in.addItem(c, entity, Rejected, why)
	in.items[len(in.items)-1].field, in.items[len(in.items)-1].refusal = firstIssuePath(refusal), refusal
}

// firstIssuePath returns the path of the field in the first issue, such as lines.0.amount, or "" without issues.
func firstIssuePath(refusal *apierr.Error) string {
	issues := refusal.Issues()
	if len(issues) == 0 {
		return ""
	}

	path := make([]string, len(issues[0].Path))
	for i, part := range issues[0].Path {
		path[i] = fmt.Sprint(part)
	}

	return strings.Join(path, ".")
}
