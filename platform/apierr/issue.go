package apierr

import "slices"

// Issue is one finding about one place of a request. Rule ERR-10.
type Issue struct {
	// Message is static text, like that of an Error.
	Message string `json:"message"`
	// Path leads to the field: names are strings, indexes of arrays are integers.
	Path []any `json:"path,omitempty"`
	// Code is one of a finite set, see ValidIssueCode.
	Code string `json:"code,omitempty"`
	// Schema is the location of the violated schema in the interface description.
	Schema string `json:"schema,omitempty"`
}

// Links leads the sender of a strict query-validation error to the reference; both are set. Rules ERR-16, ERR-17.
type Links struct {
	Docs   string `json:"docs"`
	Schema string `json:"schema"`
}

// nativeIssueCodes keep a form that is not lower camel case. Rules ERR-112 to ERR-116.
var nativeIssueCodes = []string{
	"balanceMismatch_start", "balanceMismatch_end", "line_unassignedAccount", "transactions_updates", "item_logins",
}

// ValidIssueCode reports whether an issue can carry the code: lower camel case or one of the five exceptions. Error.At does not
// ask, because a request must not fail over a misspelt code; tests of responses do. Rule ERR-11.
func ValidIssueCode(code string) bool {
	if slices.Contains(nativeIssueCodes, code) {
		return true
	}
	for i, c := range []byte(code) {
		lower, rest := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !lower && (i == 0 || !rest) {
			return false
		}
	}
	return code != ""
}
