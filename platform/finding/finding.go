// Package finding defines findings: faults that resources, previews and checks report for a person to look at.
package finding

// Severity is the severity of a finding.
type Severity string

// The severities. The package that reports an error documents its effect, such as that a statement cannot be saved.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// InactiveReference is the code of a reference to an archived record. The context has the path of the field, and type
// and id of the archived record.
const InactiveReference = "inactiveReference"

// Inactive returns the finding for a field with an archived record of a type, such as listing.
func Inactive(s Severity, of string, id any, path ...any) Finding {
	return Finding{
		Code: InactiveReference, Severity: s, Context: map[string]any{"path": path, "type": of, "id": id},
	}
}

// Enum lists the severities, the worse one first.
func (Severity) Enum() []string { return []string{string(Error), string(Warning)} }

// Finding is a fault for a person to look at. It stays until it is corrected, unlike an apierr.Issue, which is a fault
// of one request.
type Finding struct {
	Code     string         `json:"code" doc:"Stable name of the finding."`
	Severity Severity       `json:"severity"`
	Context  map[string]any `json:"context"`
}
