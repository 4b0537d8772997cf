// Package finding has the form in which resources, previews and checks tell what somebody should look at.
package finding

// Severity says how grave a finding is.
type Severity string

// The severities. What an error means, such as that a statement is not saved, is said where it is found.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// InactiveReference is the code of the finding that a record names an archived one: its context has the path of the field,
// and the type and id of what it names.
const InactiveReference = "inactiveReference"

// Inactive returns the finding that a field names an archived record of a type, such as listing.
func Inactive(s Severity, of string, id any, path ...any) Finding {
	return Finding{
		Code: InactiveReference, Severity: s, Context: map[string]any{"path": path, "type": of, "id": id},
	}
}

// Enum lists the severities, the graver first.
func (Severity) Enum() []string { return []string{string(Error), string(Warning)} }

// Finding is something that somebody should look at. Unlike an apierr.Issue, which is a fault of a request, it stays
// until it is mended.
type Finding struct {
	Code     string         `json:"code" doc:"Stable name of the finding."`
	Severity Severity       `json:"severity"`
	Context  map[string]any `json:"context"`
}
