package pms

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"stayledger/platform/money"
)

// Fault is a kind of fault of a field of a record.
type Fault string

// The faults.
const (
	Missing    Fault = "missing"
	Unknown    Fault = "unknown"    // such as a status that the description does not have
	BadForm    Fault = "form"       // not of the type that the description has
	NotAmount  Fault = "notAmount"  // no decimal
	OutOfRange Fault = "outOfRange" // an amount or a sum that no ledger holds
	NoNight    Fault = "noNight"    // the check-out is not after the check-in
	TooMany    Fault = "tooMany"
	TooLong    Fault = "tooLong"
	WrongSign  Fault = "wrongSign" // a discount above zero, or a fee below
)

// FormError names the field of a record that differs from the description of the system. Members of lists have a
// number, as in lines.0.amount. Without a field, the record as a whole is at fault.
type FormError struct {
	Field string
	Fault Fault
}

// Error returns the field and the fault.
func (e *FormError) Error() string {
	return strings.TrimSpace(e.Field+" "+string(e.Fault)) + ": not of the form that the system describes"
}

// Wrong returns a FormError.
func Wrong(field string, fault Fault) error { return &FormError{field, fault} }

// Unreadable is a record that differs from the description of its system.
type Unreadable struct { //nolint:errname // It is a record, and no error by itself.
	ID string
	FormError
}

// NewUnreadable returns a record with its error, a FormError or any other.
func NewUnreadable(id string, err error) Unreadable {
	out := Unreadable{ID: id, FormError: FormError{Fault: BadForm}}
	if e, is := errors.AsType[*FormError](err); is {
		out.FormError = *e
	}

	return out
}

// ReadForm reads a record by the rules of encoding/json. It fails with a FormError.
func ReadForm(content json.RawMessage, into any) error {
	err := jsonv2.Unmarshal(content, into, jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false))
	if err == nil {
		return nil
	}

	// A decoder of ours, such as for amounts, names the fault; any other error is one of the form.
	out := &FormError{Fault: BadForm}
	if e, is := errors.AsType[*jsonv2.SemanticError](err); is {
		out.Field = strings.Join(slices.Collect(e.JSONPointer.Tokens()), ".")
	}

	if e, is := errors.AsType[*FormError](err); is {
		out.Fault = e.Fault
	}

	return out
}

// ReadRows reads the rows of a page. It returns readable and unreadable rows separately. If rows have the same id, the
// last one counts. It fails with the error of id: a row without an id could be about any record.
func ReadRows[Row any](
	list []json.RawMessage,
	id func(content json.RawMessage) (string, error),
	read func(id string, content json.RawMessage) (Row, error),
) ([]Row, []Unreadable, error) {
	var (
		rows       = make([]Row, 0, len(list))
		unreadable []Unreadable
		seen       = make(map[string]bool, len(list))
	)

	// Read from the end, so that the last row of an id comes first.
	for _, content := range slices.Backward(list) {
		name, err := id(content)
		if err != nil {
			return nil, nil, err
		}

		if seen[name] {
			continue
		}

		seen[name] = true

		// One unreadable row must not keep the others from being read.
		row, err := read(name, content)
		if err != nil {
			unreadable = append(unreadable, NewUnreadable(name, err))
			continue
		}

		rows = append(rows, row)
	}

	slices.Reverse(rows)
	slices.Reverse(unreadable)

	return rows, unreadable, nil
}

// ReadEach reads records by id, each id once. A record with a FormError is unreadable; any other error of read ends the
// reading.
func ReadEach[Row any](
	ids []string, read func(id string) (Row, error),
) (rows []Row, unreadable []Unreadable, err error) {
	asked := make(map[string]bool, len(ids))

	for _, id := range ids {
		if asked[id] {
			continue
		}

		asked[id] = true

		row, err := read(id)

		// Only a fault of this record is passed over. A refused call would fail for the next id as well.
		switch _, isForm := errors.AsType[*FormError](err); {
		case isForm:
			unreadable = append(unreadable, NewUnreadable(id, err))
		case err != nil:
			return nil, nil, err
		default:
			rows = append(rows, row)
		}
	}

	return rows, unreadable, nil
}

// ReadCurrency reads the currency code of a record in a field. Case does not matter. It fails with a FormError.
func ReadCurrency(field, code string) (money.Currency, error) {
	if code == "" {
		return "", Wrong(field, Missing)
	}

	out, err := money.ParseCurrency(strings.ToLower(code))
	if err != nil {
		return "", Wrong(field, Unknown)
	}

	return out, nil
}
