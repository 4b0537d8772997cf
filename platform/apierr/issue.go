package apierr

import "slices"

// Issue is one finding about one place of a request. Only an IssueCode makes one. Rule ERR-10.
type Issue struct {
	// Message is the sentence of the code.
	Message string `json:"message"`
	// Path leads to the field: names are strings, indexes of arrays are integers.
	Path []any `json:"path,omitempty"`
	// Code is the fault.
	Code IssueCode `json:"code,omitempty"`
	// Schema is the part of the request, or the location of the violated schema in the interface description.
	Schema string `json:"schema,omitempty"`
}

// IssueCode is a fault that a field can have. The codes are a closed set, see IssueCodes. Rule ERR-11.
type IssueCode string

// InBody returns the issue at a place of the body. The parts of the path are names and indexes; a part that is
// itself a path stands for its parts. Without any, the issue is about the body as a whole.
func (c IssueCode) InBody(path ...any) Issue { return c.In("body", path...) }

// InQuery returns the issue of a query parameter.
func (c IssueCode) InQuery(path ...any) Issue { return c.In("query", path...) }

// InPath returns the issue of a path parameter.
func (c IssueCode) InPath(name string) Issue { return c.In("path", name) }

// InHeader returns the issue of a header.
func (c IssueCode) InHeader(name string) Issue { return c.In("header", name) }

// In returns the issue in another part of a request, such as one that is known only while it is read (ERR-83).
func (c IssueCode) In(schema string, path ...any) Issue {
	issue := Issue{Message: c.Message(), Code: c, Schema: schema}

	for _, part := range path {
		// The contract's paths are flat lists, so spread out a path that leads to an item.
		if parts, ok := part.([]any); ok {
			issue.Path = append(issue.Path, parts...)
		} else {
			issue.Path = append(issue.Path, part)
		}
	}

	return issue
}

// Message returns the sentence of the code, or "" for one that is not in the set.
func (c IssueCode) Message() string { return issueMessages[c] }

// IssueCodes lists the codes by name.
func IssueCodes() []IssueCode { return slices.Clone(issueCodes) }

// Enum lists the codes by name.
func (IssueCode) Enum() []string {
	names := make([]string, len(issueCodes))
	for i, c := range issueCodes {
		names[i] = string(c)
	}

	return names
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

// ValidIssueCode reports whether a code has the form that all have: lower camel case, or one of the five exceptions.
// Rule ERR-11.
func ValidIssueCode(code string) bool {
	if slices.Contains(nativeIssueCodes, code) {
		return true
	}

	for i, c := range []byte(code) {
		// Digits and capitals may follow a lower-case letter, but not begin a code; other characters are refused.
		lower, rest := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !lower && (i == 0 || !rest) {
			return false
		}
	}

	return code != ""
}
